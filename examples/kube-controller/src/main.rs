//! The command line of the controller.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{CommandFactory as _, Parser, ValueEnum};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kube_controller::failures::with_causes;
use kube_controller::health::{self, Health};
use kube_controller::host_path::HostPath;
use kube_controller::leader::LeaseSettings;
use kube_controller::provisioner::Provisioner;
use kube_controller::run::{Clients, Settings, run};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{info, warn};
use tracing_subscriber::EnvFilter;

/// The binding controller of Kubernetes: binds claims to volumes, has volumes
/// made and reclaimed. Stands in for the controller
/// `persistentvolume-binder-controller` of kube-controller-manager, which must
/// be off.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The kubeconfig file; else what kubectl would take, or the service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// How often every claim and volume is looked at again: a number of seconds,
    /// or with a unit (500ms, 15s, 2m, 1h)
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    resync: Duration,
    /// An in-tree plugin to serve: host-path, or host-path=FOLDER; can be given
    /// several times
    #[arg(long = "provisioner", value_name = "NAME[=FOLDER]", value_parser = provisioner)]
    provisioners: Vec<Named>,
    /// Write nothing: tell what would be done
    #[arg(long)]
    dry_run: bool,
    /// Act without asking whether another one leads
    #[arg(long)]
    no_leader_election: bool,
    /// The namespace of the Lease
    #[arg(long, value_name = "NAMESPACE", default_value = "kube-system",
        value_parser = NonEmptyStringValueParser::new())]
    lease_namespace: String,
    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = "pvbind-controller",
        value_parser = NonEmptyStringValueParser::new())]
    lease_name: String,
    /// How long the Lease is good after it was renewed last, in whole seconds
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = time)]
    leader_elect_lease_duration: Duration,
    /// After how long without renewal the leader stops; less than the Lease is
    /// good
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    leader_elect_renew_deadline: Duration,
    /// How often it is tried to take or renew the Lease; well less than the
    /// deadline
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = time)]
    leader_elect_retry_period: Duration,
    /// Who this is among several, no two with one name; by default the host and
    /// the process
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    identity: Option<String>,
    /// Where /healthz and /readyz are answered, `none` for nowhere; by default
    /// 127.0.0.1:10277, or any port if that is in use
    #[arg(long, value_name = "ADDRESS", value_parser = health_address)]
    health_address: Option<HealthAddress>,
    /// How the log is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy)]
enum HealthAddress {
    Nowhere,
    At(SocketAddr),
}

#[derive(Clone)]
struct Named(Arc<dyn Provisioner>);

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    let lease = match arguments.lease() {
        Ok(lease) => lease,
        Err(message) => {
            let kind = clap::error::ErrorKind::ValueValidation;
            Arguments::command().error(kind, message).exit()
        }
    };
    match start(arguments, lease).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not `eprintln!`, which panics when nobody reads it.
            let _ = writeln!(std::io::stderr(), "error: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    /// The Lease that they mean; the identity is settled from here on.
    fn lease(&mut self) -> Result<LeaseSettings, String> {
        let identity = self.identity.get_or_insert_with(default_identity);
        LeaseSettings::new(&*self.lease_namespace, &*self.lease_name, &**identity).with_times(
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        )
    }
}

async fn start(arguments: Arguments, lease: LeaseSettings) -> Result<(), Box<dyn Error>> {
    start_log(arguments.log_format);
    let kubeconfig = arguments.kubeconfig.as_deref();
    let clients = Clients {
        lease: client(kubeconfig).await?,
        work: client(kubeconfig).await?,
    };
    let stop = stop_on_signal()?;
    info!(
        version = env!("CARGO_PKG_VERSION"),
        dry_run = arguments.dry_run,
        "starts"
    );
    let health = Health::default();
    let address = match arguments.health_address {
        Some(HealthAddress::Nowhere) => None,
        Some(HealthAddress::At(address)) => Some(Some(address)),
        None => Some(None),
    };
    if let Some(address) = address {
        let listener = health::listen(address).await?;
        tokio::spawn(health.clone().serve(listener));
    }
    let settings = Settings {
        resync: arguments.resync,
        provisioners: arguments
            .provisioners
            .into_iter()
            .map(|Named(provisioner)| provisioner)
            .collect(),
        identity: lease.identity.clone(),
        lease: (!arguments.no_leader_election).then_some(lease),
        dry_run: arguments.dry_run,
    };
    run(clients, settings, health, stop).await;
    Ok(())
}

fn start_log(format: LogFormat) {
    // What kube says about failed requests is said here, too, with its object.
    let usual = || EnvFilter::new("info,kube_client::client::builder=off");
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| usual());
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    let is_terminal = std::io::stderr().is_terminal();
    let log = log.with_writer(std::io::stderr).with_ansi(is_terminal);
    // A log that nobody reads any more is no reason to panic.
    let log = log.log_internal_errors(false);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
}

async fn client(kubeconfig: Option<&Path>) -> Result<Client, Box<dyn Error>> {
    let mut config = match kubeconfig {
        None => Config::infer().await?,
        Some(file) => {
            let config = async {
                let kubeconfig = Kubeconfig::read_from(file)?;
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
            };
            config.await.map_err(|error| {
                format!("kubeconfig `{}`: {}", file.display(), with_causes(&error))
            })?
        }
    };
    config.connect_timeout = Some(Duration::from_secs(5));
    // Longer than a watch is silent; a server that is dead without a word is
    // left after that.
    config.read_timeout = Some(Duration::from_secs(75));
    Ok(Client::try_from(config)?)
}

/// Becomes true at the first signal; the second one ends the process.
fn stop_on_signal() -> Result<watch::Receiver<bool>, Box<dyn Error>> {
    let (tell, stop) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for is_first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if is_first {
                // Nothing may come before it: whoever reads the log may be gone.
                let _ = tell.send(true);
                info!("stops");
            } else {
                warn!("stops at once");
                std::process::exit(1);
            }
        }
    });
    Ok(stop)
}

fn default_identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host: String = host.trim().chars().take(60).collect();
    let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let started = started.unwrap_or_default().as_millis();
    format!("{host}_{}_{started:x}", std::process::id())
}

/// A time such as `500ms`, `15s`, `2m`, `1h`, or plain seconds.
fn time(text: &str) -> Result<Duration, String> {
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (number, unit) = text.split_at(split.unwrap_or(text.len()));
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(format!("`{unit}` is no unit; use ms, s, m or h")),
    };
    let number: u64 = number.parse().map_err(|_| match number {
        "" => format!("`{text}` has no number"),
        _ => format!("`{text}` is too long"),
    })?;
    match number.checked_mul(millis) {
        Some(0) => Err("it must be more than nothing".to_owned()),
        Some(millis) => Ok(Duration::from_millis(millis)),
        None => Err(format!("`{text}` is too long")),
    }
}

fn health_address(text: &str) -> Result<HealthAddress, String> {
    if text == "none" {
        return Ok(HealthAddress::Nowhere);
    }
    let address = text.parse();
    address.map(HealthAddress::At).map_err(|_| {
        format!("`{text}` is no address such as `127.0.0.1:10277` or `[::]:10277`, and not `none`")
    })
}

fn provisioner(text: &str) -> Result<Named, String> {
    let (name, folder) = match text.split_once('=') {
        Some((name, folder)) => (name, folder),
        None => (text, HostPath::FOLDER),
    };
    match name {
        "host-path" | HostPath::NAME => Ok(Named(Arc::new(HostPath::new(folder)?))),
        _ => Err(format!(
            "no provisioner is named `{name}`; there is `host-path`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        let arguments = ["kube-controller"].iter().chain(arguments);
        Arguments::try_parse_from(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn nobody_is_nameless() {
        for option in ["--identity", "--lease-name", "--lease-namespace"] {
            assert!(parse(&[option, ""]).is_err(), "{option}");
            assert!(parse(&[option, "a"]).is_ok(), "{option}");
        }
    }

    #[test]
    fn the_times_of_the_lease_must_leave_time_to_stop() {
        let lease = |options: &[&str]| parse(options)?.lease();
        let usual = lease(&[]).unwrap();
        assert_eq!(usual.good_for, LeaseSettings::new("", "", "").good_for);
        let slow = [
            "--leader-elect-lease-duration=60s",
            "--leader-elect-renew-deadline=40s",
            "--leader-elect-retry-period=5s",
        ];
        assert_eq!(lease(&slow).unwrap().stop_after, Duration::from_secs(40));
        for wrong in [
            "--leader-elect-lease-duration=10s",
            "--leader-elect-lease-duration=10900ms",
            "--leader-elect-lease-duration=900ms",
            "--leader-elect-lease-duration=1000000h",
            "--leader-elect-renew-deadline=15s",
            "--leader-elect-retry-period=9s",
        ] {
            assert!(lease(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn folders_that_no_volume_can_have_are_refused() {
        for folder in ["", "/", "/srv/../etc", "srv"] {
            let option = format!("--provisioner=host-path={folder}");
            assert!(parse(&[&option]).is_err(), "{folder}");
        }
        assert!(parse(&["--provisioner=host-path=/srv"]).is_ok());
        assert!(parse(&["--provisioner", "host-path", "--health-address", "none"]).is_ok());
        assert!(parse(&["--health-address", "10277"]).is_err());
    }
}
