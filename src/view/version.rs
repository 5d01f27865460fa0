//! The order of resource versions.

use std::cmp::Ordering;

/// Whether one resource version is older than another.
///
/// The versions of one object, and of objects of one kind, compare as decimal
/// numbers of any length. Since 1.35 Kubernetes promises that they can be
/// compared so (KEP-5504); before, they were opaque by contract and such numbers
/// in fact. Between kinds there is no order, and this function cannot know of
/// which kind its texts are.
///
/// Of two texts of which one is no such number neither is older.
///
/// # Differences
/// From `CompareResourceVersion` (apimachinery) of Kubernetes 1.36, for which a
/// text that is no number, a number with leading zeros, and 0 are errors: here
/// zeros in front do not count, 0 is the smallest number, and there are no
/// errors.
///
/// # Cost
/// Linear in the length of the texts, without allocation.
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
