//! For people.

use std::fmt::Write as _;

use pvbind::api::{AccessMode, ClassOrigin, PersistentVolumeClaim};
use pvbind::matching::{Bucket, VolumeReport};

use crate::cluster::Cluster;
use crate::outcome::{outcome, report, with_default_class};

/// The longest cell of the table, but for the last column.
const LONGEST_CELL: usize = 60;
/// The longest sentence.
const LONGEST_SENTENCE: usize = 1000;

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

fn cell(text: &str) -> String {
    printable(text, LONGEST_CELL)
}

pub fn table(cluster: &Cluster, claims: &[&PersistentVolumeClaim]) -> String {
    let header = ["CLAIM", "PHASE", "CLASS", "REQUEST", "WHAT HAPPENS"].map(str::to_owned);
    let rows = claims.iter().map(|claim| {
        let outcome = outcome(cluster, claim);
        let volume = outcome.volume.unwrap_or_default();
        let what = [outcome.kind.title(), &volume].join(" ");
        let what = match (outcome.sentence.as_str(), volume.as_str()) {
            ("", _) => what,
            (sentence, "") => format!("{}: {sentence}", what.trim_end()),
            (sentence, _) => format!("{what} ({sentence})"),
        };
        [
            cell(&claim.metadata.key()),
            cell(&phase(claim)),
            cell(&class(claim)),
            cell(&request(claim)),
            printable(&what, LONGEST_SENTENCE),
        ]
    });
    let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..4)
        .map(|column| width(column).unwrap_or_default())
        .collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, &width) in row.iter().zip(&widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", row[4]);
    }
    if claims.is_empty() {
        text.push_str("(no claims)\n");
    }
    let counted = [(claims.len(), "claim"), (cluster.volumes.len(), "volume")];
    let counted = counted.map(|(count, noun)| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {noun}{plural}")
    });
    let _ = write!(text, "\n{}", counted.join(", "));
    if !cluster.skipped.is_empty() {
        let skipped = cluster.skipped.iter();
        let skipped: Vec<_> = skipped
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let skipped = printable(&skipped.join(", "), LONGEST_SENTENCE);
        let _ = write!(text, "; skipped: {skipped}");
    }
    text.push('\n');
    text
}

pub fn full_report(cluster: &Cluster, claim: &PersistentVolumeClaim) -> String {
    let outcome = outcome(cluster, claim);
    let searched = with_default_class(cluster, claim);
    let report = report(cluster, &searched);
    let asked = [
        request(claim),
        modes(claim.access_modes()),
        claim.volume_mode().to_string(),
    ];
    let mut lines = vec![
        format!("Claim    {}", claim.metadata.key()),
        format!("Phase    {}", phase(claim)),
        format!("Class    {}", class(claim)),
        format!("Asks     {}", asked.join(", ")),
        format!(
            "Outcome  {} {}",
            outcome.kind.title(),
            outcome.volume.as_deref().unwrap_or_default()
        ),
    ];
    let search = report.to_string();
    if !outcome.sentence.is_empty() {
        lines.push(format!("         {}", outcome.sentence));
    }
    if !outcome.sentence.contains(&search) {
        lines.push(format!("Search   {search}"));
    }
    lines.extend(events(cluster, claim));
    for bucket in [
        Bucket::Chosen,
        Bucket::FitsLarger,
        Bucket::FitsSearchedLater,
        Bucket::ReservedUnusable,
        Bucket::Refused,
    ] {
        let mut volumes = report.bucket(bucket).peekable();
        if volumes.peek().is_some() {
            lines.push(String::new());
            lines.push(format!("{}:", capitalized(&bucket.to_string())));
        }
        lines.extend(volumes.flat_map(volume_lines));
    }
    let lines = lines
        .iter()
        .map(|line| printable(line.trim_end(), LONGEST_SENTENCE));
    lines.map(|line| line + "\n").collect()
}

/// What the cluster itself said about the claim and the pods that use it.
fn events(cluster: &Cluster, claim: &PersistentVolumeClaim) -> Vec<String> {
    let (namespace, name) = (claim.metadata.namespace(), claim.metadata.name());
    let of_claim = cluster.events_of("PersistentVolumeClaim", namespace, name);
    let mut lines: Vec<_> = of_claim.iter().map(|event| format!("  {event}")).collect();
    for pod in cluster.pods_of(claim) {
        let events = cluster.events_of("Pod", namespace, pod.name());
        lines.extend(
            events
                .iter()
                .map(|event| format!("  pod {}: {event}", pod.name())),
        );
    }
    if !lines.is_empty() {
        lines.splice(
            0..0,
            [
                String::new(),
                "Events of the claim and its pods:".to_owned(),
            ],
        );
    }
    lines
}

fn volume_lines(report: &VolumeReport<'_>) -> Vec<String> {
    let volume = report.volume;
    let size = volume.storage();
    let modes = modes(volume.access_modes());
    let mut lines = vec![format!("  {} ({size}, {modes})", volume.name())];
    for refusal in &report.refusals {
        lines.push(format!("    {refusal} [{}]", refusal.code()));
    }
    if let Some(shortfall) = report.shortfall() {
        lines.push(format!(
            "    misses {} ({:.1} %)",
            shortfall.bytes, shortfall.percent
        ));
    }
    lines
}

fn phase(claim: &PersistentVolumeClaim) -> String {
    claim
        .status
        .phase
        .as_ref()
        .map_or_else(|| "-".to_owned(), ToString::to_string)
}

/// The class and where it came from.
fn class(claim: &PersistentVolumeClaim) -> String {
    let name = match claim.class_name() {
        "" => "\"\"",
        name => name,
    };
    match claim.class_origin() {
        ClassOrigin::Annotation => format!("{name} (annotation)"),
        ClassOrigin::Spec => format!("{name} (spec)"),
        _ => "- (unset)".to_owned(),
    }
}

fn request(claim: &PersistentVolumeClaim) -> String {
    claim
        .storage_request()
        .map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn modes(modes: &[AccessMode]) -> String {
    let names: Vec<_> = modes.iter().map(AccessMode::abbreviation).collect();
    if names.is_empty() {
        "no access mode".to_owned()
    } else {
        names.join(",")
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}
