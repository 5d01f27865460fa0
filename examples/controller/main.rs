//! Plays the binding controller over recorded objects until nothing changes.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,pods -A -o json | cargo run --example controller -- -
//! cargo run --example controller -- examples/clusters/pending.json \
//!     --provision pd.csi.storage.gke.io=ok --select-node default/my-pvc=node-a \
//!     --provision ebs.csi.aws.com=fail:"no capacity"
//! ```
//!
//! Nothing is asked of a real cluster: the objects are written in memory. Each
//! write stands as its merge patch, each event once.
//!
//! Exit codes: 0 when the objects came to rest, 1 when they did not, 2 when the
//! input could not be used.

mod arguments;
mod cluster;
#[path = "../common/input.rs"]
mod input;
mod play;
#[path = "../../tests/support/server.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "shared with the tests, which fail by panicking"
)]
mod server;
mod summary;

use std::process::ExitCode;

use clap::Parser as _;

use arguments::Arguments;
use cluster::Cluster;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok((output, is_settled)) => print(&output, is_settled),
        Err(message) => {
            eprintln!("controller: {}", pvbind::diagnosis::printable(&message));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<(String, bool), String> {
    let mut cluster = Cluster::read(&arguments.files)?;
    for selection in &arguments.select_node {
        cluster.select_node(selection)?;
    }
    let played = play::play(&mut cluster, &arguments.provision);
    let note = cluster::uid_note(&cluster);
    let summary = summary::summary(&cluster, &played);
    let output = format!("{note}{}\n{summary}", played.story);
    Ok((output, played.is_settled))
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str, is_settled: bool) -> ExitCode {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("controller: standard output: {error}");
            ExitCode::from(2)
        }
        _ if is_settled => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}
