//! The library decides and does nothing else: it uses nothing that is missing
//! where there is no operating system, as in WebAssembly.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/sources.rs"]
mod sources;

use std::fs;

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
    for path in sources::of_the_library() {
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
