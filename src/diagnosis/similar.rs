//! Names that somebody may have meant.

/// Names to choose from.
#[derive(Debug)]
pub(super) struct NamesToMean {
    /// In order.
    forward: Vec<String>,
    /// Written backwards, in order.
    backward: Vec<String>,
}

/// So many neighbours on each side are looked at, in either order.
const NEIGHBOURS: usize = 4;
/// So many differences are a slip.
const DIFFERENCES: usize = 2;
/// Names beyond this length are not compared.
const LONGEST: usize = 256;
/// How many are told.
const TOLD: usize = 3;

impl NamesToMean {
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Self {
        let mut forward: Vec<String> = names.into_iter().collect();
        let mut backward: Vec<String> = forward.iter().map(|name| reversed(name)).collect();
        forward.sort_unstable();
        backward.sort_unstable();
        NamesToMean { forward, backward }
    }

    /// The names that differ from this one by a slip or two, the nearest first:
    /// of those that share its beginning or its end. Logarithmic in the number
    /// of names.
    pub(super) fn similar(&self, name: &str) -> Vec<String> {
        if name.is_empty() || name.len() > LONGEST {
            return Vec::new();
        }
        let forward = neighbours(&self.forward, name).map(str::to_owned);
        let from_end = reversed(name);
        let backward = neighbours(&self.backward, &from_end).map(reversed);
        let mut found: Vec<_> = forward
            .chain(backward)
            .filter(|other| other != name && other.len() <= LONGEST)
            .filter_map(|other| Some((differences(name, &other)?, other)))
            .collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(TOLD).map(|(_, name)| name).collect()
    }
}

fn reversed(name: &str) -> String {
    name.chars().rev().collect()
}

fn neighbours<'n>(names: &'n [String], name: &str) -> impl Iterator<Item = &'n str> {
    let place = names.partition_point(|other| other.as_str() < name);
    let around = names.iter().skip(place.saturating_sub(NEIGHBOURS));
    // On the far side one more, for the name itself may be there.
    around
        .take(NEIGHBOURS.saturating_mul(2).saturating_add(1))
        .map(String::as_str)
}

/// How many insertions, deletions and replacements lead from one name to the
/// other, if few do.
fn differences(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    // In a short name two differences leave nothing of it.
    let most = DIFFERENCES.min(a.len().min(b.len()) / 2);
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (place, from) in a.iter().enumerate() {
        let mut diagonal = place;
        let mut left = place.saturating_add(1);
        for (to, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal.saturating_add(usize::from(from != to));
            diagonal = *cell;
            left = replaced
                .min(left.saturating_add(1))
                .min(cell.saturating_add(1));
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = place.saturating_add(1);
        }
    }
    row.last()
        .copied()
        .filter(|differences| *differences <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_at_either_end_is_found_and_the_nearest_told_first() {
        let names = ["pv-data-1", "pv-data-2", "pv-dato-1", "qv-data-3", "other"];
        let names = NamesToMean::new(names.map(str::to_owned));
        assert_eq!(
            names.similar("pv-data-3"),
            ["pv-data-1", "pv-data-2", "qv-data-3"]
        );
        assert_eq!(
            names.similar("pv-dataa-1"),
            ["pv-data-1", "pv-data-2", "pv-dato-1"]
        );
        assert_eq!(names.similar("nothing-alike"), [] as [&str; 0]);
        assert_eq!(names.similar(""), [] as [&str; 0]);
    }

    #[test]
    fn differences_are_counted_as_edits() {
        assert_eq!(differences("data", "data"), Some(0));
        assert_eq!(differences("data", "dat"), Some(1));
        assert_eq!(differences("data", "adta"), Some(2));
        assert_eq!(differences("data", "logs"), None);
        assert_eq!(differences("a", "b"), None);
    }
}
