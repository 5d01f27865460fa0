//! Plays the provisioner of a CSI driver over recorded objects: prints what it
//! would ask the driver for, for each claim that is its own; with `--answer`
//! also what it writes then, and lets the binding controller take over.
//!
//! ```text
//! kubectl get pv,pvc,sc,nodes,csinodes,pods -A -o json | cargo run --example provision -- - --driver ebs.csi.aws.com
//! cargo run --example provision -- examples/clusters/pending.json --driver ebs.csi.aws.com \
//!     --topology-keys topology.kubernetes.io/zone --select-node default/my-pvc=node-a --answer ok
//! ```
//!
//! The binding controller runs first, until rest: it is what tells a claim whose
//! it is. Nothing is asked of a real cluster or driver: the objects are written
//! in memory.
//!
//! Exit codes: 0 when the objects came to rest, 1 when they did not, 2 when the
//! input or an option could not be used. What the driver answers does not matter.

#[path = "../controller/arguments.rs"]
#[allow(dead_code, reason = "the example `controller` uses the rest of it")]
mod arguments;
#[path = "../controller/cluster.rs"]
mod cluster;
#[path = "../common/document.rs"]
mod document;
mod driver;
#[path = "../common/input.rs"]
mod input;
mod options;
#[path = "../controller/play.rs"]
#[allow(dead_code, reason = "the example `controller` uses the rest of it")]
mod play;
#[path = "../common/printable.rs"]
mod printable;
#[path = "../../tests/support/server.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "shared with the tests, which fail by panicking"
)]
mod server;
mod story;
#[path = "../controller/summary.rs"]
mod summary;

use std::process::ExitCode;

use clap::Parser as _;

use options::Options;
use printable::printable;

fn main() -> ExitCode {
    let options = Options::parse();
    match story::story(&options) {
        Ok((output, is_settled)) => print(&output, is_settled),
        Err(message) => {
            eprintln!("provision: {}", printable(&message, 1000));
            ExitCode::from(2)
        }
    }
}

/// Prints the output. A reader that has seen enough (`| head`) is no failure.
fn print(output: &str, is_settled: bool) -> ExitCode {
    use std::io::Write as _;
    match std::io::stdout().lock().write_all(output.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("provision: standard output: {error}");
            ExitCode::from(2)
        }
        _ if is_settled => ExitCode::SUCCESS,
        _ => ExitCode::from(1),
    }
}
