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
//! could not be read, or when the object asked for is not there.
#![allow(
    clippy::indexing_slicing,
    reason = "setting a field of a JSON object cannot fail"
)]

mod cluster;
mod document;
mod events;
mod input;
mod search;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use pvbind::controller::Config;
use pvbind::diagnosis::{Diagnosis, Severity, Survey, TextStyle, ViewDiagnosis, printable};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use cluster::Cluster;

/// Say of every claim, volume and pod what is wrong with it, and what can be done
#[derive(Parser)]
#[command(
    name = "pvbind",
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
    /// How wide lines may be [default: $COLUMNS, or 100]
    #[arg(long)]
    width: Option<usize>,
    /// The input holds everything there is: what is not in it does not exist
    #[arg(long)]
    complete: bool,
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
        Ok((output, has_faults)) => print(&output, has_faults),
        Err(message) => {
            // One line, whatever the input held.
            let message: String = message.chars().take(1000).collect();
            eprintln!("pvbind: {}", printable(&message));
            ExitCode::from(2)
        }
    }
}

/// The text to be printed, and whether there are faults.
fn run(mut arguments: Arguments) -> Result<(String, bool), String> {
    let subject = match arguments.claim.take() {
        Some(key) => Subject::Claim(key),
        None => subject(&mut arguments.files),
    };
    let config = Config::kube_controller_manager();
    let cluster = Cluster::read(&arguments.files, arguments.complete, &config)?;
    let survey = cluster.survey(&config);
    match subject {
        Subject::Everything => {
            let view = survey.view();
            let output = match arguments.output {
                Output::Json => document(&json!(view), &cluster),
                Output::Text => overview(&view, &cluster, style(&arguments)),
            };
            Ok((output, view.has_faults()))
        }
        Subject::Claim(key) => {
            let claim = cluster.claim(&key)?;
            one(&survey, &cluster, &survey.claim(claim), &arguments)
        }
        Subject::Volume(name) => {
            let volume = cluster.volume(&name)?;
            one(&survey, &cluster, &survey.volume(volume), &arguments)
        }
        Subject::Pod(key) => {
            let pod = cluster.pod(&key)?;
            one(&survey, &cluster, &survey.pod(pod), &arguments)
        }
    }
}

/// The last two words, if they name an object.
fn subject(files: &mut Vec<String>) -> Subject {
    let subject = match files.as_slice() {
        [_, .., kind, key] => match kind.as_str() {
            "claim" | "pvc" => Subject::Claim(key.clone()),
            "volume" | "pv" => Subject::Volume(key.clone()),
            "pod" => Subject::Pod(key.clone()),
            _ => return Subject::Everything,
        },
        _ => return Subject::Everything,
    };
    files.truncate(files.len() - 2);
    subject
}

fn one(
    survey: &Survey<'_, Snapshot>,
    cluster: &Cluster,
    diagnosis: &Diagnosis,
    arguments: &Arguments,
) -> Result<(String, bool), String> {
    let object = &diagnosis.object;
    let is_claim = object.kind == pvbind::diagnosis::Kind::Claim;
    let is_pod = object.kind == pvbind::diagnosis::Kind::Pod;
    let has_faults = diagnosis.severity() == Severity::Fault;
    // What belongs to the object, in full.
    let mut uses = Vec::new();
    if is_pod {
        let pod = cluster.pod(&object.key())?;
        for used in pod.claims() {
            let key = format!("{}/{}", object.namespace, used.claim);
            if let Ok(claim) = cluster.claim(&key) {
                uses.push(survey.claim(claim));
            }
        }
    }
    let is_fault = |used: &Diagnosis| used.severity() == Severity::Fault;
    let has_faults = has_faults || uses.iter().any(is_fault);
    if arguments.output == Output::Json {
        let mut value = json!(diagnosis);
        if is_claim {
            value["search"] = search::json(cluster, cluster.claim(&object.key())?);
        }
        if is_pod {
            value["claims"] = json!(uses);
        }
        return Ok((document(&value, cluster), has_faults));
    }
    let style = style(arguments);
    let mut text = diagnosis.text(style);
    for diagnosis in &uses {
        text.push('\n');
        text.push_str(&diagnosis.text(style));
    }
    let kind = json!(object.kind);
    let kind = kind.as_str().unwrap_or_default();
    let events = cluster.events.of(kind, &object.namespace, &object.name);
    if !events.is_empty() {
        text.push_str("\nRecorded events:\n");
    }
    for event in events {
        text.push_str(&format!("  {}\n", printable(&event)));
    }
    if is_claim {
        text.push('\n');
        text.push_str(&search::text(cluster, cluster.claim(&object.key())?));
    }
    text.push_str(&remarks(cluster));
    Ok((text, has_faults))
}

fn overview(view: &ViewDiagnosis, cluster: &Cluster, style: TextStyle) -> String {
    view.text(style) + &remarks(cluster)
}

/// What should be known about the input.
fn remarks(cluster: &Cluster) -> String {
    let mut text = String::new();
    if cluster.without_status > 0 {
        let count = cluster.without_status;
        let objects = if count == 1 {
            "object has"
        } else {
            "objects have"
        };
        text.push_str(&format!(
            "{count} {objects} no status: taken as just created\n"
        ));
    }
    if !cluster.skipped.is_empty() {
        let skipped = cluster.skipped.iter();
        let skipped: Vec<_> = skipped
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let skipped: String = skipped.join(", ").chars().take(1000).collect();
        text.push_str(&format!("skipped: {}\n", printable(&skipped)));
    }
    text
}

fn document(diagnosis: &Value, cluster: &Cluster) -> String {
    let mut document = diagnosis.clone();
    document["withoutStatus"] = json!(cluster.without_status);
    document["skipped"] = json!(cluster.skipped);
    document::escaped(&document)
}

fn style(arguments: &Arguments) -> TextStyle {
    let columns = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let width = arguments.width.or(columns).unwrap_or(100);
    TextStyle::wide(width).colored(std::io::stdout().is_terminal() && !no_color)
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str, has_faults: bool) -> ExitCode {
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("pvbind: standard output: {error}");
            ExitCode::from(2)
        }
        _ if has_faults => ExitCode::from(1),
        _ => ExitCode::SUCCESS,
    }
}
