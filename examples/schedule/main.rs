//! Says for every pending pod of a cluster which nodes its volumes allow, and
//! why not the others.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,pods,csidrivers,csistoragecapacities -A -o json \
//!     | cargo run --example schedule -- -
//! cargo run --example schedule -- examples/clusters/scheduled.json
//! cargo run --example schedule -- examples/clusters/scheduled.json --pod default/local-pod-huge
//! cargo run --example schedule -- examples/clusters/scheduled.json --what-if 2 --node node-b
//! ```
//!
//! Volumes are the reason, and the pod's own node selector and required node
//! affinity. What else a scheduler looks at, such as taints, CPU and memory, is
//! not.
//!
//! Exit codes: 0 when all input was read, 2 when some could not be, or when
//! the pod or node asked for is not there.
#![allow(
    clippy::indexing_slicing,
    reason = "rows and pairs have their length by construction"
)]

#[path = "../common/input.rs"]
mod input;
mod place;
mod text;
mod what_if;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use pvbind::api::{Pod, read_objects};
use pvbind::view::{Applied, Snapshot};

/// Say for every pending pod which nodes its volumes allow, and why not the others
#[derive(Parser)]
#[command(name = "schedule")]
struct Arguments {
    /// Files as `kubectl get pv,pvc,sc,nodes,pods -A -o json` prints them; `-` is standard input
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
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(output) => print(&output),
        Err(message) => {
            eprintln!("schedule: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let snapshot = read(&arguments.files)?;
    let pods = match &arguments.pod {
        Some(key) => vec![pod(&snapshot, key)?],
        None => pending(&snapshot),
    };
    let mut output = String::new();
    if pods.is_empty() {
        output.push_str("no pod is pending\n");
    }
    for pod in &pods {
        let verdict = place::verdict(pod, &snapshot, arguments.together);
        output.push_str(&text::verdict(pod, &verdict));
    }
    if let Some(copies) = arguments.what_if {
        let addition = what_if::copies(&snapshot, arguments.node.as_deref(), copies)?;
        let before = place::one_after_another(&pods, &snapshot, arguments.together);
        let larger = addition.added_to(&snapshot);
        let after = place::one_after_another(&pods, &larger, arguments.together);
        output.push_str(&text::what_if(&addition, &pods, &before, &after));
    }
    Ok(output)
}

fn read(files: &[String]) -> Result<Snapshot, String> {
    if files.iter().filter(|file| *file == "-").count() > 1 {
        return Err("standard input (`-`) is named twice".to_owned());
    }
    let mut snapshot = Snapshot::new();
    let mut seen = BTreeSet::new();
    for file in files {
        let (place, text) = input::read_text(file)?;
        let objects = read_objects(&text).map_err(|error| format!("{place}: {error}"))?;
        for object in objects {
            let kind = object.kind().unwrap_or_default().to_owned();
            let key = object.metadata().map(|metadata| metadata.key());
            let key = key.unwrap_or_default();
            if snapshot.apply_object(object) == Applied::OtherKind {
                continue;
            }
            if !seen.insert((kind.clone(), key.clone())) {
                return Err(format!("{place}: {kind} `{key}` was given twice"));
            }
        }
    }
    Ok(snapshot)
}

fn pod(snapshot: &Snapshot, key: &str) -> Result<Arc<Pod>, String> {
    let found = snapshot.pods().find(|pod| pod.metadata.key() == key);
    found
        .cloned()
        .ok_or_else(|| format!("there is no pod `{key}` (pods are named NAMESPACE/NAME)"))
}

/// The pods that no node was found for, by namespace and name.
fn pending(snapshot: &Snapshot) -> Vec<Arc<Pod>> {
    let pods = snapshot.pods();
    let is_pending = |pod: &&Arc<Pod>| pod.node_name().is_empty() && !pod.is_finished();
    pods.filter(is_pending).cloned().collect()
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
