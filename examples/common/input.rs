//! Files as the examples read them.

use std::io::Read as _;

/// The text of a file and how errors name it.
pub fn read_text(file: &str) -> Result<(String, String), String> {
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
        format!("{place}: byte {at}: not UTF-8, expected JSON as `kubectl get … -o json` prints it")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    match text.trim_start().chars().next() {
        None => Err(format!("{place}: is empty, expected JSON")),
        Some('{') => Ok((place, text.to_owned())),
        Some(_) => Err(format!(
            "{place}: line 1, column 1: not a JSON object, expected what `kubectl get … -o json` prints"
        )),
    }
}
