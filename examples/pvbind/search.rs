//! The search for one claim: every volume and every reason.

use std::fmt::Write as _;
use std::sync::Arc;

use pvbind::api::{AccessMode, PersistentVolumeClaim};
use pvbind::diagnosis::printable;
use pvbind::matching::{Bucket, FindOptions, MatchReport, VolumeReport};
use serde_json::{Value, json};

use crate::cluster::Cluster;

const BUCKETS: [Bucket; 5] = [
    Bucket::Chosen,
    Bucket::FitsLarger,
    Bucket::FitsSearchedLater,
    Bucket::ReservedUnusable,
    Bucket::Refused,
];
/// So many volumes of a bucket are listed.
const LISTED: usize = 50;

fn report<'c>(cluster: &'c Cluster, claim: &'c PersistentVolumeClaim) -> MatchReport<'c> {
    let volumes = cluster.snapshot.volumes().iter().map(Arc::as_ref);
    MatchReport::new(claim, volumes, &FindOptions::default())
}

pub fn text(cluster: &Cluster, claim: &PersistentVolumeClaim) -> String {
    let report = report(cluster, claim);
    let mut text = format!("Search: {}\n", printable(&report.to_string()));
    for bucket in BUCKETS {
        let count = report.bucket(bucket).count();
        for (place, volume) in report.bucket(bucket).take(LISTED).enumerate() {
            if place == 0 {
                let _ = writeln!(text, "  {bucket}:");
            }
            volume_lines(&mut text, volume);
        }
        if count > LISTED {
            let _ = writeln!(text, "    and {} more", count - LISTED);
        }
    }
    text
}

fn volume_lines(text: &mut String, report: &VolumeReport<'_>) {
    let volume = report.volume;
    let written = |mode: &AccessMode| match mode.is_unknown() {
        true => format!("`{mode}`"),
        false => mode.abbreviation().to_owned(),
    };
    let modes: Vec<_> = volume.access_modes().iter().map(written).collect();
    let head = format!(
        "{} ({}, {})",
        volume.name(),
        volume.storage(),
        modes.join(",")
    );
    let _ = writeln!(text, "    {}", printable(&head));
    for refusal in &report.refusals {
        let _ = writeln!(
            text,
            "      {} [{}]",
            printable(&refusal.to_string()),
            refusal.code()
        );
    }
    if let Some(shortfall) = report.shortfall() {
        let _ = writeln!(
            text,
            "      misses {} ({:.1} %)",
            shortfall.bytes, shortfall.percent
        );
    }
}

pub fn json(cluster: &Cluster, claim: &PersistentVolumeClaim) -> Value {
    json!(report(cluster, claim))
}
