//! JSON that does nothing but stand there, whatever the objects are called.

use serde::Serialize;

/// Pretty JSON. What could deceive the reader of a terminal is escaped, as JSON
/// does it.
pub fn escaped(document: &impl Serialize) -> String {
    let mut text = String::new();
    let pretty = serde_json::to_string_pretty(document).unwrap_or_default();
    for c in pretty.chars() {
        // Outside of strings there is none of these but line feeds.
        let is_plain = c == '\n'
            || pvbind::diagnosis::printable(c.encode_utf8(&mut [0; 4]))
                .chars()
                .eq([c]);
        if is_plain {
            text.push(c);
            continue;
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            text.push_str(&format!("\\u{unit:04x}"));
        }
    }
    text + "\n"
}
