//! JSON that does nothing but stand there, whatever the objects are called.

use serde_json::Value;

/// Pretty JSON. What could deceive the reader of a terminal is escaped, as JSON
/// does it.
pub fn escaped(document: &Value) -> String {
    let mut text = String::new();
    for c in format!("{document:#}").chars() {
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
