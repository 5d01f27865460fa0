//! The library decides and does nothing else: it uses nothing that is missing
//! where there is no operating system, as in WebAssembly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// What the library must not name.
const MISSING: [&str; 12] = [
    "std::time",
    "std::thread",
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::os",
    "SystemTime",
    "Instant::",
    "println!",
    "thread_local!",
];

#[test]
fn the_library_uses_no_time_threads_files_or_network() {
    let mut found = Vec::new();
    let mut files = 0;
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
        files += 1;
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            // Tests of a module stand at its end, and run where there are files.
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            let is_comment = line.trim_start().starts_with("//");
            if !is_comment && MISSING.iter().any(|name| line.contains(name)) {
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
        }
    }
    assert!(files > 100, "only {files} files were looked at");
    assert!(found.is_empty(), "{found:#?}");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
