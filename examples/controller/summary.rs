//! Where things stand in the end.

use std::fmt::Write as _;

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
        phase: volume.status.phase.as_ref().map(|phase| phase.to_string()),
        partner: volume
            .claim_ref()
            .map(|claim| claim.key())
            .unwrap_or_default(),
    });
    table(&mut text, "Volumes", rows.collect(), played);
    let rows = cluster.server.claims.values().map(|claim| Row {
        object: format!("claim {}", claim.metadata.key()),
        phase: claim.status.phase.as_ref().map(|phase| phase.to_string()),
        partner: claim.volume_name().to_owned(),
    });
    table(&mut text, "Claims", rows.collect(), played);
    text
}

struct Row {
    object: String,
    phase: Option<String>,
    /// The claim of a volume, the volume of a claim.
    partner: String,
}

impl Row {
    fn name(&self) -> &str {
        self.object.split_once(' ').map_or("", |(_, name)| name)
    }
}

fn table(text: &mut String, title: &str, rows: Vec<Row>, played: &Played) {
    let width = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).len()).max().unwrap_or(0);
    let (name_width, partner_width) = (width(Row::name), width(|row| &row.partner));
    let _ = writeln!(text, "\n{title} ({}):", rows.len());
    for row in &rows {
        let phase = row.phase.as_deref().unwrap_or("(none)");
        // What a bound object waited for is in the story.
        let is_bound = phase == "Bound";
        let last_words = played.last_words.get(&row.object).filter(|_| !is_bound);
        let words = last_words.map_or("", String::as_str);
        let line = format!(
            "  {:name_width$}  {phase:9}  {:partner_width$}  {words}",
            row.name(),
            row.partner
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
