//! Where things stand in the end.

use std::fmt::Write as _;

use pvbind::diagnosis::printable;

use crate::cluster::Cluster;
use crate::play::Played;

pub fn summary(cluster: &Cluster, played: &Played) -> String {
    let mut text = match (played.is_settled, played.writes) {
        (true, 0) => "At rest from the beginning: no write was needed.\n".to_owned(),
        (true, writes) => format!(
            "At rest after {} rounds and {writes} writes.\n",
            played.rounds
        ),
        (false, writes) => {
            let rounds = played.rounds;
            format!("Still changing after {rounds} rounds and {writes} writes.\n")
        }
    };
    let rows = cluster.server.volumes.values().map(|volume| Row {
        object: format!("volume {}", volume.name()),
        name: printable(volume.name()),
        phase: phase(volume.status.phase.as_ref()),
        partner: printable(
            &volume
                .claim_ref()
                .map(|claim| claim.key())
                .unwrap_or_default(),
        ),
    });
    table(&mut text, "Volumes", rows.collect(), played);
    let rows = cluster.server.claims.values().map(|claim| Row {
        object: format!("claim {}", claim.metadata.key()),
        name: printable(&claim.metadata.key()),
        phase: phase(claim.status.phase.as_ref()),
        partner: printable(claim.volume_name()),
    });
    table(&mut text, "Claims", rows.collect(), played);
    text
}

struct Row {
    /// What the story calls it.
    object: String,
    name: String,
    phase: String,
    /// The claim of a volume, the volume of a claim.
    partner: String,
}

fn phase(phase: Option<&impl ToString>) -> String {
    phase.map_or("(none)".to_owned(), |phase| printable(&phase.to_string()))
}

fn table(text: &mut String, title: &str, rows: Vec<Row>, played: &Played) {
    let width = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).len()).max().unwrap_or(0);
    let (name_width, partner_width) = (width(|row| &row.name), width(|row| &row.partner));
    let _ = writeln!(text, "\n{title} ({}):", rows.len());
    for row in &rows {
        let phase = &row.phase;
        // What a bound object waited for is in the story.
        let is_bound = phase == "Bound";
        let last_words = played.last_words.get(&row.object).filter(|_| !is_bound);
        let words = last_words.map(|words| printable(words)).unwrap_or_default();
        let line = format!(
            "  {:name_width$}  {phase:9}  {:partner_width$}  {words}",
            row.name, row.partner
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
