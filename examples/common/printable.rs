//! Names and texts of a cluster, made safe and short enough to print.

/// The first characters of a text, so that it does nothing but stand in its
/// line; what is too long ends in `…`.
pub fn printable(text: &str, longest: usize) -> String {
    let end = text.char_indices().nth(longest).map(|(end, _)| end);
    let (kept, more) = match end.and_then(|end| text.split_at_checked(end)) {
        Some((kept, _)) => (kept, "…"),
        None => (text, ""),
    };
    pvbind::diagnosis::printable(kept) + more
}
