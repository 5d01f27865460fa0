//! The doctor for claims: says of every claim, volume and pod of a cluster what
//! is wrong with it, and what can be done.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,pods,csidrivers,csinodes,csistoragecapacities,events -A -o json | cargo run --example pvbind -- -
//! cargo run --example pvbind -- examples/clusters/pending.json
//! cargo run --example pvbind -- examples/clusters/released.json claim default/shared-data
//! cargo run --example pvbind -- claim.yaml volumes.yaml -o json
//! ```
//!
//! Exit codes: 0 when there is no fault, 1 when there is one, 2 when some input
//! could not be read, when nothing in it was understood, or when the object asked
//! for is not there. `--fail-on risk` makes risks count as faults do.
#![allow(
    clippy::indexing_slicing,
    reason = "setting a field of a JSON object cannot fail"
)]

mod cluster;
#[path = "../common/document.rs"]
mod document;
mod events;
#[path = "../common/input.rs"]
mod input;
mod manifest;
mod screens;
mod search;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use pvbind::controller::Config;
use pvbind::diagnosis::{Diagnosis, Severity, TextStyle, printable};
use serde_json::json;

use cluster::Cluster;
use screens::Screen;

const EXIT_CODES: &str = "\
Exit codes:
  0  no fault (risks do not count, see --fail-on)
  1  there is a fault
  2  the input could not be read, nothing in it was understood, or the object is not there";

/// Say of every claim, volume and pod what is wrong with it, and what can be done
#[derive(Parser)]
#[command(
    name = "pvbind",
    version,
    after_help = EXIT_CODES,
    override_usage = "pvbind [OPTIONS] FILE... [claim NS/NAME | volume NAME | pod NS/NAME]"
)]
struct Arguments {
    /// JSON as `kubectl get … -o json` prints it, or YAML manifests; `-` is standard input. Then,
    /// if one object is meant: `claim NS/NAME`, `volume NAME` or `pod NS/NAME`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The same as `claim NS/NAME`
    #[arg(long, value_name = "NS/NAME")]
    claim: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// How wide lines may be, 40 at least [default: $COLUMNS, or 100]
    #[arg(long)]
    width: Option<usize>,
    /// The input holds everything there is: what is not in it does not exist. Without it, a kind of
    /// which the input has no object is not known
    #[arg(long)]
    complete: bool,
    /// What makes the exit code 1
    #[arg(long, value_enum, default_value_t = FailOn::Fault)]
    fail_on: FailOn,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FailOn {
    /// What does not work, and will not until somebody changes something
    Fault,
    /// That, what works now and may go wrong, and manifests that an API server refuses
    Risk,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

/// What to look into.
enum Subject {
    Everything,
    Claim(String),
    Volume(String),
    Pod(String),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok((output, fails)) => print(&output, fails),
        Err(message) => {
            // One line, whatever the input held.
            let message: String = message.chars().take(1000).collect();
            eprintln!("pvbind: {}", printable(&message));
            ExitCode::from(2)
        }
    }
}

/// The text to be printed, and whether there is what the exit code is to tell.
fn run(mut arguments: Arguments) -> Result<(String, bool), String> {
    let subject = match arguments.claim.take() {
        Some(key) => Subject::Claim(key),
        None => subject(&mut arguments.files)?,
    };
    let least = match arguments.fail_on {
        FailOn::Fault => Severity::Fault,
        FailOn::Risk => Severity::Risk,
    };
    let config = Config::kube_controller_manager();
    let cluster = Cluster::read(&arguments.files, arguments.complete, &config)?;
    let is_refused = least == Severity::Risk && !cluster.refusals.is_empty();
    let survey = cluster.survey(&config);
    let diagnosis = match subject {
        Subject::Everything => {
            let view = survey.view();
            let output = match arguments.output {
                Output::Json => screens::for_programs(&json!(view), view.iter(), &cluster),
                Output::Text => screens::everything(&view, &cluster, style(&arguments)),
            };
            let worst = view.iter().next().map(Diagnosis::severity);
            return Ok((output, is_refused || worst >= Some(least)));
        }
        Subject::Claim(key) => survey.claim(cluster.claim(&key)?),
        Subject::Volume(name) => survey.volume(cluster.volume(&name)?),
        Subject::Pod(key) => survey.pod(cluster.pod(&key)?),
    };
    let screen = Screen::new(&survey, &cluster, diagnosis)?;
    let output = match arguments.output {
        Output::Json => screen.json()?,
        Output::Text => screen.text(style(&arguments))?,
    };
    Ok((output, is_refused || screen.worst() >= least))
}

/// The words after the files, if they name an object.
fn subject(files: &mut Vec<String>) -> Result<Subject, String> {
    let words = ["claim", "pvc", "volume", "pv", "pod"];
    // The first is a file, whatever it is called.
    let mut place = 1..files.len();
    let is_word = |place: &usize| {
        files
            .get(*place)
            .is_some_and(|file| words.contains(&&**file))
    };
    let Some(place) = place.find(is_word) else {
        return Ok(Subject::Everything);
    };
    let mut named = files.drain(place..);
    let kind = named.next().unwrap_or_default();
    let needs = match kind.as_str() {
        "volume" | "pv" => "NAME",
        _ => "NAMESPACE/NAME",
    };
    let Some(key) = named.next() else {
        return Err(format!("{kind} needs {needs}"));
    };
    if let Some(more) = named.next() {
        return Err(format!(
            "one object only, and it stands last: what is `{more}` after `{kind} {key}`?"
        ));
    }
    if needs != "NAME" && !key.contains('/') {
        return Err(format!("{kind} needs {needs}, found `{key}`"));
    }
    Ok(match kind.as_str() {
        "claim" | "pvc" => Subject::Claim(key),
        "volume" | "pv" => Subject::Volume(key),
        _ => Subject::Pod(key),
    })
}

fn style(arguments: &Arguments) -> TextStyle {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    screens::style(arguments.width, variable, std::io::stdout().is_terminal())
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str, fails: bool) -> ExitCode {
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("pvbind: standard output: {error}");
            ExitCode::from(2)
        }
        _ if fails => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}
