//! Says for every claim of a cluster which volume it gets, or why none.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,pods -A -o json | cargo run --example pvbind -- -
//! cargo run --example pvbind -- examples/clusters/pending.json
//! cargo run --example pvbind -- examples/clusters/released.json --claim default/shared-data
//! ```
//!
//! Exit codes: 0 when all input was read, 2 when some could not be, or when
//! the claim asked for is not there.
#![allow(
    clippy::indexing_slicing,
    reason = "rows and pairs have their length by construction"
)]

mod cluster;
mod json;
mod outcome;
mod text;

use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use cluster::Cluster;

/// Say for every claim which volume it gets, or why none
#[derive(Parser)]
#[command(name = "pvbind")]
struct Arguments {
    /// Files as `kubectl get pv,pvc,sc,nodes,pods -A -o json` prints them; `-` is standard input
    #[arg(required = true)]
    files: Vec<String>,
    /// Report on this one claim, with every volume and every reason
    #[arg(long, value_name = "NAMESPACE/NAME")]
    claim: Option<String>,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(output) => print(&output),
        Err(message) => {
            // One line, whatever the input held.
            eprintln!("pvbind: {}", text::printable(&message, 1000));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let cluster = Cluster::read(&arguments.files)?;
    let claims = match &arguments.claim {
        None => cluster.claims.values().collect(),
        Some(key) => vec![cluster.claim(key)?],
    };
    let is_full = arguments.claim.is_some();
    Ok(match arguments.output {
        Output::Json => json::render(&cluster, &claims, is_full),
        Output::Text if is_full => claims
            .into_iter()
            .map(|claim| text::full_report(&cluster, claim))
            .collect(),
        Output::Text => text::table(&cluster, &claims),
    })
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str) -> ExitCode {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("pvbind: standard output: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}
