//! The syntax of label keys and values.

use std::fmt;

/// The most bytes that a label's name or value may have.
pub(super) const NAME_LIMIT: usize = 63;

/// The most bytes that the prefix of a label key may have.
const PREFIX_LIMIT: usize = 253;

/// Checks that a text is a label key (what Kubernetes calls a *qualified
/// name*): an optional prefix and `/`, then a name.
///
/// The prefix is a DNS subdomain of at most 253 bytes: parts joined by `.`,
/// each of lower-case letters, digits and `-`, beginning and ending with a
/// letter or digit. The name has 1 to 63 bytes of letters, digits, `-`, `_`
/// and `.`, and begins and ends with a letter or digit. Letters are those of
/// ASCII.
///
/// Follows `IsQualifiedName` of Kubernetes 1.36.
///
/// # Differences
/// Only the first broken rule is reported; upstream lists several.
///
/// # Errors
/// Says which part breaks which rule.
///
/// Cost: linear in the text.
///
/// ```
/// use pvbind::selector::check_label_key;
/// assert!(check_label_key("topology.kubernetes.io/zone").is_ok());
/// assert!(check_label_key("Disk_Type.v2").is_ok());
/// let error = check_label_key("Example.com/disk").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the prefix has `E` at byte 0, which is not a lower-case letter, digit, `-` or `.`",
/// );
/// ```
pub fn check_label_key(key: &str) -> Result<(), LabelSyntaxError> {
    let name = match key.split_once('/') {
        None => key,
        Some((_, rest)) if rest.contains('/') => {
            return LabelPart::Key.breaks(LabelRule::TooManySlashes);
        }
        Some((prefix, name)) => {
            check_prefix(prefix)?;
            name
        }
    };
    if name.is_empty() {
        return LabelPart::Name.breaks(LabelRule::Empty);
    }
    check_name(LabelPart::Name, name)
}

/// Checks that a text is a label value: empty, or a name as in a label key.
///
/// Follows `IsValidLabelValue` of Kubernetes 1.36.
///
/// # Errors
/// Says which rule is broken.
///
/// Cost: linear in the text.
///
/// ```
/// use pvbind::selector::check_label_value;
/// assert!(check_label_value("").is_ok());
/// assert!(check_label_value("v1.2_3").is_ok());
/// assert_eq!(
///     check_label_value("-5").unwrap_err().to_string(),
///     "the value does not begin and end with a letter or digit",
/// );
/// ```
pub fn check_label_value(value: &str) -> Result<(), LabelSyntaxError> {
    if value.is_empty() {
        return Ok(());
    }
    check_name(LabelPart::Value, value)
}

/// Why a text is not a label key or value.
///
/// ```
/// use pvbind::selector::{LabelPart, LabelRule, check_label_key};
/// let error = check_label_key(&"x".repeat(64)).unwrap_err();
/// assert_eq!(error.part, LabelPart::Name);
/// assert_eq!(error.rule, LabelRule::TooLong { length: 64, limit: 63 });
/// assert_eq!(error.to_string(), "the name has 64 bytes, more than 63");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("the {part} {rule}")]
#[non_exhaustive]
pub struct LabelSyntaxError {
    /// The part that breaks the rule.
    pub part: LabelPart,
    /// The rule that it breaks.
    pub rule: LabelRule,
}

/// A part of a label. The enumeration is complete.
///
/// ```
/// use pvbind::selector::{LabelPart, check_label_key};
/// assert_eq!(check_label_key("/disk").unwrap_err().part, LabelPart::Prefix);
/// assert_eq!(check_label_key("example.com/").unwrap_err().part, LabelPart::Name);
/// assert_eq!(check_label_key("a/b/c").unwrap_err().part, LabelPart::Key);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LabelPart {
    /// The whole key.
    Key,
    /// What stands before the `/` of a key.
    Prefix,
    /// What stands after the `/` of a key, or the key without `/`.
    Name,
    /// The value.
    Value,
}

impl LabelPart {
    fn breaks(self, rule: LabelRule) -> Result<(), LabelSyntaxError> {
        Err(LabelSyntaxError { part: self, rule })
    }
}

impl fmt::Display for LabelPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LabelPart::Key => "key",
            LabelPart::Prefix => "prefix",
            LabelPart::Name => "name",
            LabelPart::Value => "value",
        })
    }
}

/// A rule of label syntax that is broken.
///
/// ```
/// use pvbind::selector::{LabelRule, check_label_value};
/// let error = check_label_value("two words").unwrap_err();
/// assert_eq!(error.rule, LabelRule::Character { character: ' ', position: 3 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LabelRule {
    /// It must not be empty.
    #[error("is empty")]
    Empty,
    /// It must not have more bytes than the limit.
    #[error("has {length} bytes, more than {limit}")]
    TooLong {
        /// The bytes that it has.
        length: usize,
        /// The most that it may have.
        limit: usize,
    },
    /// Every character must be a letter, digit, `-`, `_` or `.`.
    #[error("has `{character}` at byte {position}, which is not a letter, digit, `-`, `_` or `.`")]
    Character {
        /// The first character that is not.
        character: char,
        /// Where it stands in the part, in bytes from 0.
        position: usize,
    },
    /// Every character of a prefix must be a lower-case letter, digit, `-` or
    /// `.`.
    #[error(
        "has `{character}` at byte {position}, which is not a lower-case letter, digit, `-` or `.`"
    )]
    PrefixCharacter {
        /// The first character that is not.
        character: char,
        /// Where it stands in the prefix, in bytes from 0.
        position: usize,
    },
    /// It must begin and end with a letter or digit.
    #[error("does not begin and end with a letter or digit")]
    Edge,
    /// Every part of a prefix between dots must begin and end with a letter or
    /// digit.
    #[error("does not begin and end with a letter or digit between all its dots")]
    PrefixEdge,
    /// A key has at most one `/`.
    #[error("has more than one `/`")]
    TooManySlashes,
}

fn check_name(part: LabelPart, name: &str) -> Result<(), LabelSyntaxError> {
    check_length(part, name, NAME_LIMIT)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if let Some((position, character)) = name.char_indices().find(|&(_, c)| !allowed(c)) {
        return part.breaks(LabelRule::Character {
            character,
            position,
        });
    }
    if !has_good_edges(name) {
        return part.breaks(LabelRule::Edge);
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<(), LabelSyntaxError> {
    let part = LabelPart::Prefix;
    if prefix.is_empty() {
        return part.breaks(LabelRule::Empty);
    }
    check_length(part, prefix, PREFIX_LIMIT)?;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    if let Some((position, character)) = prefix.char_indices().find(|&(_, c)| !allowed(c)) {
        return part.breaks(LabelRule::PrefixCharacter {
            character,
            position,
        });
    }
    if !prefix.split('.').all(has_good_edges) {
        return part.breaks(LabelRule::PrefixEdge);
    }
    Ok(())
}

fn check_length(part: LabelPart, text: &str, limit: usize) -> Result<(), LabelSyntaxError> {
    let length = text.len();
    if length > limit {
        return part.breaks(LabelRule::TooLong { length, limit });
    }
    Ok(())
}

/// Whether a text begins and ends with a letter or digit; the empty one does
/// not.
fn has_good_edges(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_error(key: &str) -> String {
        check_label_key(key).unwrap_err().to_string()
    }

    #[test]
    fn keys_at_the_limits_are_good() {
        let longest = format!("{}/{}", "a".repeat(253), "K".repeat(63));
        for key in ["a", "0", "n_-.9", "1.2/n", "a-b.c/A.b", &longest] {
            assert_eq!(check_label_key(key), Ok(()), "{key}");
        }
    }

    #[test]
    fn a_key_must_be_a_qualified_name() {
        assert_eq!(key_error(""), "the name is empty");
        assert_eq!(key_error("prefix/"), "the name is empty");
        assert_eq!(key_error("/name"), "the prefix is empty");
        assert_eq!(key_error("a/b/c"), "the key has more than one `/`");
        assert_eq!(key_error("a//c"), "the key has more than one `/`");
        assert_eq!(
            key_error(&"k".repeat(64)),
            "the name has 64 bytes, more than 63"
        );
        assert_eq!(
            key_error(&format!("{}/n", "a".repeat(254))),
            "the prefix has 254 bytes, more than 253"
        );
        for key in ["_n", "n.", "-", "."] {
            assert_eq!(
                key_error(key),
                "the name does not begin and end with a letter or digit"
            );
        }
        for key in ["a-/n", "-a/n", "a..b/n", ".a/n", "a./n", "a.-b/n"] {
            assert_eq!(
                key_error(key),
                "the prefix does not begin and end with a letter or digit between all its dots"
            );
        }
        assert!(key_error("bad key!").starts_with("the name has ` ` at byte 3, "));
        assert!(key_error("ex_ample.com/n").starts_with("the prefix has `_` at byte 2, "));
    }

    #[test]
    fn only_ascii_letters_and_digits_count() {
        for text in ["é", "٣", "ａ", "a\n", "a\0b"] {
            assert!(check_label_key(text).is_err(), "{text:?}");
            assert!(check_label_value(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_is_empty_or_a_name() {
        for value in ["", "a", "A.b_c-9", &"v".repeat(63)] {
            assert_eq!(check_label_value(value), Ok(()), "{value}");
        }
        for value in ["-a", "a.", "a b", "a/b", "+4", &"v".repeat(64)] {
            assert!(check_label_value(value).is_err(), "{value}");
        }
    }
}
