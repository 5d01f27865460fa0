//! Files, and standard input.

use std::io::Read as _;

/// The text of a file (`-` is standard input), and how errors name it.
pub fn read_file(file: &str, expected: &str) -> Result<(String, String), String> {
    let (place, bytes) = if file == "-" {
        let mut bytes = Vec::new();
        let result = std::io::stdin().lock().read_to_end(&mut bytes);
        ("standard input".to_owned(), result.map(|_| bytes))
    } else {
        (file.to_owned(), std::fs::read(file))
    };
    let bytes = bytes.map_err(|error| format!("{place}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("{place}: byte {at}: not UTF-8, expected {expected}")
    })?;
    let text = match text.strip_prefix('\u{feff}') {
        Some(text) => text.to_owned(),
        None => text,
    };
    if text.trim().is_empty() {
        return Err(format!("{place}: is empty, expected {expected}"));
    }
    Ok((place, text))
}
