//! For people.

use std::fmt::Write as _;

use pvbind::api::{AccessMode, ClassOrigin, PersistentVolumeClaim};
use pvbind::matching::{Bucket, VolumeReport};

use crate::cluster::Cluster;
use crate::outcome::{outcome, report};

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
            claim.metadata.key(),
            phase(claim),
            class(claim),
            request(claim),
            what,
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
    let _ = write!(
        text,
        "\n{} claims, {} volumes",
        claims.len(),
        cluster.volumes.len()
    );
    if !cluster.skipped.is_empty() {
        let skipped: Vec<_> = cluster
            .skipped
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let _ = write!(text, "; skipped: {}", skipped.join(", "));
    }
    text.push('\n');
    text
}

pub fn full_report(cluster: &Cluster, claim: &PersistentVolumeClaim) -> String {
    let outcome = outcome(cluster, claim);
    let report = report(cluster, claim);
    let mut text = format!("Claim    {}\n", claim.metadata.key());
    let asked = [
        request(claim),
        modes(claim.access_modes()),
        claim.volume_mode().to_string(),
    ];
    let _ = writeln!(text, "Phase    {}", phase(claim));
    let _ = writeln!(text, "Class    {}", class(claim));
    let _ = writeln!(text, "Asks     {}", asked.join(", "));
    let _ = write!(text, "Outcome  {}", outcome.kind.title());
    if let Some(volume) = &outcome.volume {
        let _ = write!(text, " {volume}");
    }
    text.push('\n');
    if !outcome.sentence.is_empty() {
        let _ = writeln!(text, "         {}", outcome.sentence);
    }
    let _ = writeln!(text, "Search   {report}");
    for bucket in [
        Bucket::Chosen,
        Bucket::FitsLarger,
        Bucket::FitsSearchedLater,
        Bucket::ReservedUnusable,
        Bucket::Refused,
    ] {
        let mut volumes = report.bucket(bucket).peekable();
        if volumes.peek().is_some() {
            let _ = writeln!(text, "\n{}:", capitalized(&bucket.to_string()));
        }
        for volume in volumes {
            text.push_str(&volume_lines(volume));
        }
    }
    text
}

fn volume_lines(report: &VolumeReport<'_>) -> String {
    let volume = report.volume;
    let size = volume.storage();
    let modes = modes(volume.access_modes());
    let mut text = format!("  {} ({size}, {modes})\n", volume.name());
    for refusal in &report.refusals {
        let _ = writeln!(text, "    {refusal} [{}]", refusal.code());
    }
    if let Some(shortfall) = report.shortfall() {
        let _ = writeln!(
            text,
            "    misses {} ({:.1} %)",
            shortfall.bytes, shortfall.percent
        );
    }
    text
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
