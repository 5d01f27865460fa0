//! The program as a process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// A cluster whose server nobody is.
const NOBODY: &str = "
apiVersion: v1
kind: Config
current-context: nobody
contexts: [{name: nobody, context: {cluster: nobody, user: nobody}}]
clusters: [{name: nobody, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: nobody, user: {}}]
";

#[test]
fn sigterm_ends_it_even_if_nobody_reads_its_log_any_more() {
    let folder = std::env::temp_dir().join(format!("pvbind-process-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let kubeconfig = folder.join("kubeconfig");
    std::fs::write(&kubeconfig, NOBODY).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_kube-controller"))
        .args(["--dry-run", "--health-address", "none", "--kubeconfig"])
        .arg(&kubeconfig)
        // Neither how loud it is nor how it reaches servers is for others to say.
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It runs, and hears signals from here on.
    let mut log = BufReader::new(program.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("starts") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0, "it ended");
    }
    drop(log);
    let told = Command::new("sh")
        .args(["-c", &format!("kill {}", program.id())])
        .status()
        .unwrap();
    assert!(told.success());
    assert_eq!(program.wait().unwrap().code(), Some(0));
    std::fs::remove_dir_all(&folder).unwrap();
}
