//! For programs.

use pvbind::api::{ClassOrigin, PersistentVolumeClaim};
use pvbind::matching::VolumeReport;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::outcome::{outcome, report, with_default_class};

pub fn render(cluster: &Cluster, claims: &[&PersistentVolumeClaim], is_full: bool) -> String {
    let claims: Vec<_> = claims
        .iter()
        .map(|claim| one(cluster, claim, is_full))
        .collect();
    let document = json!({
        "claims": claims,
        "volumes": cluster.volumes.len(),
        "skipped": cluster.skipped,
    });
    format!("{document:#}\n")
}

fn one(cluster: &Cluster, claim: &PersistentVolumeClaim, is_full: bool) -> Value {
    let outcome = outcome(cluster, claim);
    let searched = with_default_class(cluster, claim);
    let report = report(cluster, &searched);
    let mut value = json!({
        "namespace": claim.metadata.namespace(),
        "name": claim.metadata.name(),
        "phase": claim.status.phase,
        "class": claim.class_name(),
        "classFrom": match claim.class_origin() {
            ClassOrigin::Annotation => "annotation",
            ClassOrigin::Spec => "spec",
            _ => "unset",
        },
        "request": claim.storage_request(),
        "outcome": outcome.kind.code(),
        "volume": outcome.volume,
        "sentence": outcome.sentence,
        "search": report.to_string(),
    });
    if is_full {
        let volumes: Vec<_> = report.volumes.iter().map(volume).collect();
        value["volumes"] = volumes.into();
    }
    value
}

fn volume(report: &VolumeReport<'_>) -> Value {
    json!({
        "name": report.volume.name(),
        "bucket": report.bucket.code(),
        "refusals": report.refusals,
        "shortfall": report.shortfall().map(|shortfall| json!({
            "bytes": shortfall.bytes,
            "percent": shortfall.percent,
        })),
    })
}
