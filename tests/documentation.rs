//! What the documentation of every public item must hold, so that none is added
//! without.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "support/sources.rs"]
mod sources;

use std::fs;

/// How an example begins.
const EXAMPLE: &str = "/// ```\n";

/// Something that others can name or call, with the lines that document it.
struct Item {
    place: String,
    declaration: String,
    documentation: String,
}

/// Constants are shown where their module is.
#[test]
fn every_public_item_shows_its_use() {
    let silent: Vec<_> = items()
        .into_iter()
        .filter(|item| !item.documentation.contains(EXAMPLE))
        .map(|item| item.place)
        .collect();
    assert!(silent.is_empty(), "without example: {silent:#?}");
}

#[test]
fn every_public_function_that_can_fail_says_when() {
    let silent: Vec<_> = items()
        .into_iter()
        .filter(|item| item.declaration.contains("-> Result<"))
        .filter(|item| !item.documentation.contains("/// # Errors\n"))
        .map(|item| item.place)
        .collect();
    assert!(silent.is_empty(), "without `# Errors`: {silent:#?}");
}

fn items() -> Vec<Item> {
    let mut found = Vec::new();
    for path in sources::of_the_library() {
        let text = fs::read_to_string(&path).unwrap();
        let mut documentation = String::new();
        let mut is_in_trait = false;
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
            } else if trimmed.starts_with("$(#[") || trimmed.starts_with("#[doc = include_str!(") {
                // It stands elsewhere: where a macro is used, in another file.
                documentation.push_str(EXAMPLE);
            } else if is_item(line) || is_in_trait && line.starts_with("    fn ") {
                let mut declaration = trimmed.to_owned();
                while !declaration.contains(['{', ';']) {
                    declaration.push_str(lines.next().unwrap().1);
                }
                is_in_trait |= line.starts_with("pub trait ") && !declaration.ends_with('}');
                found.push(Item {
                    place: format!("{}:{}", path.display(), number + 1),
                    declaration,
                    documentation: std::mem::take(&mut documentation),
                });
            } else if !is_between(trimmed) {
                documentation.clear();
                is_in_trait &= line != "}";
            }
        }
    }
    assert!(found.len() > 750, "only {} items found", found.len());
    found
}

/// A trait inside of something is a seal.
fn is_item(line: &str) -> bool {
    let kinds = ["fn ", "const fn ", "struct ", "enum "];
    let declared = line.trim_start().strip_prefix("pub ");
    line.starts_with("pub trait ")
        || declared.is_some_and(|declared| kinds.iter().any(|kind| declared.starts_with(kind)))
}

/// Whether a line may stand between the documentation of an item and it: an
/// attribute, a comment.
fn is_between(line: &str) -> bool {
    line.starts_with("//") || line.starts_with(['#', ')']) || line.contains("reason = ")
}
