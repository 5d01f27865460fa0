//! Files as most examples read them: JSON.

#[path = "file.rs"]
mod file;

/// The text of a file and how errors name it.
pub fn read_text(file: &str) -> Result<(String, String), String> {
    let (place, text) = file::read_file(file, "JSON as `kubectl get … -o json` prints it")?;
    match text.trim_start().starts_with('{') {
        true => Ok((place, text)),
        false => Err(format!(
            "{place}: line 1, column 1: not a JSON object, expected what `kubectl get … -o json` prints"
        )),
    }
}
