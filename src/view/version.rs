//! The order of resource versions.

use std::cmp::Ordering;

/// Whether one resource version is older than another.
///
/// To Kubernetes' users a resourceVersion is an opaque text. The API server
/// makes them decimal numbers that grow; so two of decimal digits, of any
/// length, compare as numbers. Of any other two neither is older.
///
/// ```
/// use pvbind::view::is_older_version;
/// assert!(is_older_version("9", "10"));
/// assert!(!is_older_version("10", "10"));
/// assert!(!is_older_version("9", "a7") && !is_older_version("a7", "9"));
/// ```
pub fn is_older_version(version: &str, than: &str) -> bool {
    match (significant_digits(version), significant_digits(than)) {
        (Some(version), Some(than)) => {
            let order = version.len().cmp(&than.len());
            order.then_with(|| version.cmp(than)) == Ordering::Less
        }
        _ => false,
    }
}

/// The digits of a decimal number without leading zeros.
fn significant_digits(version: &str) -> Option<&str> {
    let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| version.trim_start_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::is_older_version;

    #[test]
    fn numbers_compare_as_numbers_however_long_they_are() {
        assert!(is_older_version("0009", "10"));
        assert!(is_older_version("0", "1"));
        assert!(!is_older_version("00", "0"));
        let long = "9".repeat(50);
        assert!(is_older_version(&long, &format!("1{long}")));
    }

    #[test]
    fn an_absent_version_is_neither_older_nor_newer() {
        assert!(!is_older_version("", "1"));
        assert!(!is_older_version("1", ""));
    }
}
