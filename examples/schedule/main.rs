//! Says for every pending pod of a cluster which nodes its volumes allow, and
//! why not the others.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,pods,csidrivers,csistoragecapacities -A -o json \
//!     | cargo run --example schedule -- -
//! cargo run --example schedule -- examples/clusters/scheduled.json
//! cargo run --example schedule -- examples/clusters/scheduled.json --pod default/local-pod-huge
//! cargo run --example schedule -- examples/clusters/scheduled.json --what-if 2 --node node-b
//! cargo run --example schedule -- examples/clusters/pending.json -o json
//! ```
//!
//! Volumes are the reason, and the pod's own node selector and required node
//! affinity. What else a scheduler looks at, such as taints, CPU and memory, is
//! not; how many nodes are cordoned or have taints is said beside.
//!
//! In a cluster of more than ten nodes those with the same verdict stand
//! together, and the facts are told of one of them; `--all` tells each.
//!
//! Exit codes: 0 when all input was read, 2 when some could not be, or when
//! the pod or node asked for is not there.
#![allow(
    clippy::indexing_slicing,
    reason = "rows and pairs have their length by construction"
)]

mod cluster;
#[path = "../common/document.rs"]
mod document;
#[path = "../common/input.rs"]
mod input;
mod json;
mod place;
#[path = "../common/printable.rs"]
mod printable;
mod report;
mod text;
mod what_if;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use pvbind::api::Pod;

use crate::cluster::Cluster;
use crate::printable::printable;
use crate::report::{Report, WhatIf};

/// Say for every pending pod which nodes its volumes allow, and why not the others
#[derive(Parser)]
#[command(name = "schedule")]
struct Arguments {
    /// JSON as `kubectl get pv,pvc,sc,nodes,pods -A -o json` prints it, or YAML manifests; `-` is
    /// standard input
    #[arg(required = true)]
    files: Vec<String>,
    /// Report on this one pod, pending or not
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pod: Option<String>,
    /// Choose the volumes of a pod together, which Kubernetes does not
    #[arg(long)]
    together: bool,
    /// Add so many copies of a node with its local volumes, and say what would then fit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    what_if: Option<u32>,
    /// The node to copy; by default the first that volumes are pinned to, else the first
    #[arg(long, value_name = "NAME", requires = "what_if")]
    node: Option<String>,
    /// Tell each node by itself, however many there are
    #[arg(long)]
    all: bool,
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
            eprintln!("schedule: {}", printable(&message, 1000));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let cluster = Cluster::read(&arguments.files)?;
    let snapshot = &cluster.snapshot;
    let pods = match &arguments.pod {
        Some(key) => vec![cluster.pod(key)?],
        None => cluster.pending(),
    };
    let what_if = match arguments.what_if {
        None => None,
        Some(copies) => {
            let addition = what_if::copies(snapshot, arguments.node.as_deref(), copies)?;
            let larger = addition.added_to(snapshot);
            Some(WhatIf {
                before: place::one_after_another(&pods, snapshot, arguments.together),
                after: place::one_after_another(&pods, &larger, arguments.together),
                addition,
            })
        }
    };
    let verdict = |pod: Arc<Pod>| {
        let verdict = place::verdict(&pod, snapshot, arguments.together, arguments.all);
        (pod, verdict)
    };
    let report = Report {
        pods: pods.into_iter().map(verdict).collect(),
        what_if,
    };
    Ok(match arguments.output {
        Output::Text => text::render(&cluster, &report),
        Output::Json => json::render(&cluster, &report),
    })
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str) -> ExitCode {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("schedule: standard output: {error}");
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}
