//! How sentences name things.

use std::fmt;

use crate::api::AccessMode;

/// The length of the longest name that Kubernetes admits.
const LONGEST_NAME: usize = 253;
/// How many things a sentence names.
pub(super) const NAMED: usize = 3;

/// A name in backticks, cut if it is longer than any that Kubernetes admits;
/// `none` if it is empty.
pub(super) struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("none"),
            name => write!(f, "`{}`", Cut(name)),
        }
    }
}

/// A text that is cut if it is longer than any name.
pub(super) struct Cut<'a>(pub &'a str);

impl fmt::Display for Cut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(LONGEST_NAME) {
            Some((end, _)) => write!(f, "{}…", self.0.get(..end).unwrap_or_default()),
            None => f.write_str(self.0),
        }
    }
}

/// Names after each other, of many the first few.
pub(super) struct Names<'a, T>(pub &'a [T]);

impl<T: AsRef<str>> fmt::Display for Names<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NamesOf(self.0, self.0.len()).fmt(f)
    }
}

/// The same, of so many in all.
pub(super) struct NamesOf<'a, T>(pub &'a [T], pub usize);

impl<T: AsRef<str>> fmt::Display for NamesOf<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in self.0.iter().take(NAMED).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            write!(f, "{comma}{}", Name(name.as_ref()))?;
        }
        match self.1.saturating_sub(NAMED.min(self.0.len())) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Things after each other, of many the first few, parted by semicolons.
pub(super) struct Parts<'a, T>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Parts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.iter().take(NAMED).enumerate() {
            let mark = if place > 0 { "; " } else { "" };
            write!(f, "{mark}{part}")?;
        }
        match self.0.len().saturating_sub(NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// Access modes as `kubectl get` abbreviates them; those that do not exist stand
/// in backticks, as they are written.
pub(super) struct Modes<'a>(pub &'a [AccessMode]);

impl fmt::Display for Modes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// More modes than there are.
        const MANY: usize = 8;
        if self.0.is_empty() {
            return f.write_str("no access mode");
        }
        for (place, mode) in self.0.iter().take(MANY).enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match mode.is_unknown() {
                true => write!(f, "{comma}{}", Name(mode.as_str()))?,
                false => write!(f, "{comma}{}", mode.abbreviation())?,
            }
        }
        Ok(())
    }
}

/// An access mode that does not exist, as it is written, and the one that was
/// surely meant: `RWO` is only how `kubectl get` prints `ReadWriteOnce`.
pub(super) fn meant_mode(mode: &AccessMode) -> Option<(&str, &'static AccessMode)> {
    if !mode.is_unknown() {
        return None;
    }
    let text = mode.as_str();
    let meant = AccessMode::KNOWN.iter().find(|known| {
        text.eq_ignore_ascii_case(known.abbreviation()) || text.eq_ignore_ascii_case(known.as_str())
    });
    meant.map(|meant| (text, meant))
}

/// A count and its noun, in the plural where there is not one.
pub(super) struct Count<'a>(pub usize, pub &'a str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} {}{plural}", self.0, self.1)
    }
}

/// A word of a shell command, quoted where it needs to be.
pub(super) fn shell(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:".contains(char);
    let is_option = word.starts_with('-');
    if !word.is_empty() && !is_option && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_name_is_cut_and_none_is_said() {
        assert_eq!(Name("").to_string(), "none");
        let long = "é".repeat(300);
        assert_eq!(Name(&long).to_string(), format!("`{}…`", "é".repeat(253)));
        assert_eq!(
            Names(&["a", "b", "c", "d"]).to_string(),
            "`a`, `b`, `c` and 1 more"
        );
    }

    #[test]
    fn what_reads_like_a_mode_and_is_none_is_told_from_it() {
        let modes = ["ReadWriteOnce", "RWO"].map(AccessMode::from);
        assert_eq!(Modes(&modes).to_string(), "RWO,`RWO`");
        let [known, unknown] = &modes;
        assert_eq!(meant_mode(known), None);
        assert_eq!(meant_mode(unknown), Some(("RWO", known)));
        let other_case = AccessMode::from("readonlymany");
        assert_eq!(
            meant_mode(&other_case).map(|(_, meant)| meant),
            Some(&AccessMode::ReadOnlyMany)
        );
        assert_eq!(meant_mode(&AccessMode::from("ReadNever")), None);
    }

    #[test]
    fn a_word_of_a_command_cannot_leave_its_quotes() {
        assert_eq!(shell("pv-1"), "pv-1");
        assert_eq!(shell("a'; rm -rf /"), r"'a'\''; rm -rf /'");
        assert_eq!(shell("-A"), "'-A'");
        assert_eq!(shell(""), "''");
    }
}
