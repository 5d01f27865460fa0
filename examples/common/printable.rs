//! Names and texts of a cluster, made safe to print.

/// Makes a text that does nothing but stand in its line: control characters,
/// and those that change the direction of writing, are escaped; what is too long
/// ends in `…`.
pub fn printable(text: &str, longest: usize) -> String {
    let is_harmful = |char: char| {
        char.is_control()
            || matches!(char, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut printable = String::new();
    for (index, char) in text.chars().enumerate() {
        if index == longest {
            printable.push('…');
            break;
        }
        match is_harmful(char) {
            true => printable.extend(char.escape_default()),
            false => printable.push(char),
        }
    }
    printable
}
