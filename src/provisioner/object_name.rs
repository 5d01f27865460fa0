//! What can be the name of an object.

/// Whether an object can have this name: labels of lower-case letters, digits
/// and dashes, which neither begin nor end with a dash; with dots between them,
/// if it may have dots. `longest` is in bytes.
pub(super) fn is_object_name(text: &str, longest: usize, may_have_dots: bool) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.iter().all(|&byte| is_plain(byte) || byte == b'-')
            && bytes.first().copied().is_some_and(is_plain)
            && bytes.last().copied().is_some_and(is_plain)
    };
    text.len() <= longest
        && match may_have_dots {
            true => text.split('.').all(is_label),
            false => is_label(text),
        }
}
