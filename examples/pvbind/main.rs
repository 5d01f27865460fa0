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
mod screens;
mod search;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use pvbind::controller::Config;
use pvbind::diagnosis::{TextStyle, printable};
use serde_json::json;

use cluster::Cluster;
use screens::Screen;

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
    let diagnosis = match subject {
        Subject::Everything => {
            let view = survey.view();
            let output = match arguments.output {
                Output::Json => screens::for_programs(&json!(view), &cluster),
                Output::Text => screens::everything(&view, &cluster, style(&arguments)),
            };
            return Ok((output, view.has_faults()));
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
    Ok((output, screen.has_faults()))
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
