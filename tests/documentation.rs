//! What the documentation of every public function must hold, so that none is
//! added without.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/sources.rs"]
mod sources;

use std::fs;

/// A function that is `pub`, with the lines that document it.
struct Function {
    place: String,
    is_method: bool,
    signature: String,
    documentation: String,
}

#[test]
fn every_public_function_shows_its_use() {
    let all = functions();
    let free = all.iter().filter(|function| !function.is_method);
    let silent: Vec<_> = free
        .filter(|function| !function.documentation.contains("/// ```\n"))
        .map(|function| &function.place)
        .collect();
    assert!(silent.is_empty(), "without example: {silent:#?}");
}

#[test]
fn every_public_function_that_can_fail_says_when() {
    let silent: Vec<_> = functions()
        .into_iter()
        .filter(|function| function.signature.contains("-> Result<"))
        .filter(|function| !function.documentation.contains("/// # Errors\n"))
        .map(|function| function.place)
        .collect();
    assert!(silent.is_empty(), "without `# Errors`: {silent:#?}");
}

fn functions() -> Vec<Function> {
    let mut found = Vec::new();
    for path in sources::of_the_library() {
        let text = fs::read_to_string(&path).unwrap();
        let mut documentation = String::new();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let trimmed = line.trim_start();
            // Tests of a module stand at its end.
            if line.starts_with("#[cfg(test)]") {
                break;
            }
            if trimmed.starts_with("///") {
                documentation.push_str(trimmed);
                documentation.push('\n');
            } else if trimmed.starts_with("pub fn ") || trimmed.starts_with("pub const fn ") {
                let mut signature = trimmed.to_owned();
                while !signature.contains(['{', ';']) {
                    signature.push_str(lines.next().unwrap().1);
                }
                found.push(Function {
                    place: format!("{}:{}", path.display(), number + 1),
                    is_method: line != trimmed,
                    signature,
                    documentation: std::mem::take(&mut documentation),
                });
            } else if !is_between(trimmed) {
                documentation.clear();
            }
        }
    }
    assert!(found.len() > 400, "only {} functions found", found.len());
    found
}

/// Whether a line may stand between the documentation of a function and it: an
/// attribute, a comment.
fn is_between(line: &str) -> bool {
    line.starts_with("//") || line.starts_with(['#', ')']) || line.contains("reason = ")
}
