//! What the example `pvbind` says about each claim of the recordings. The
//! scenarios behind them are told by the names of the claims.

use std::path::Path;

use pvbind::api::ClaimPhase;

use crate::cluster::Cluster;
use crate::outcome::{Kind, outcome};

fn recording(name: &str) -> Cluster {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clusters");
    let file = folder.join(format!("{name}.json"));
    Cluster::read(&[file.to_str().unwrap().to_owned()]).unwrap()
}

/// Checks kind, volume, and that the sentence holds a text.
fn check(cluster: &Cluster, claim: &str, kind: Kind, volume: Option<&str>, text: &str) {
    let claim = cluster.claim(&format!("default/{claim}")).unwrap();
    let outcome = outcome(cluster, claim);
    let told = (outcome.kind, outcome.volume.as_deref());
    assert_eq!(told, (kind, volume), "{outcome:?}");
    assert!(outcome.sentence.contains(text), "{outcome:?}");
}

#[test]
fn claims_are_said_to_be_bound_exactly_where_kubernetes_bound_them() {
    for name in ["pending", "scheduled", "released"] {
        let cluster = recording(name);
        for claim in cluster.claims.values() {
            let is_bound = claim.status.phase == Some(ClaimPhase::Bound);
            let outcome = outcome(&cluster, claim);
            assert_eq!(
                outcome.kind == Kind::Bound,
                is_bound,
                "{name}: {}",
                claim.metadata.key()
            );
            if is_bound {
                assert_eq!(outcome.volume.as_deref(), Some(claim.volume_name()));
            }
            // The recordings are settled: nothing is left for the controller.
            assert_ne!(
                outcome.kind,
                Kind::WouldBind,
                "{name}: {}",
                claim.metadata.key()
            );
        }
    }
}

#[test]
fn pending_claims_have_their_reason() {
    let cluster = recording("pending");
    let no = |claim, text| check(&cluster, claim, Kind::NoVolume, None, text);
    no("class-missing", "class gold does not exist");
    no(
        "names-reserved-volume",
        "it asks for pv-reserved, which is reserved for default/reserved-claim",
    );
    no(
        "names-wrong-mode",
        "it asks for pv-manual-5, which has access modes RWO, asked RWX",
    );
    no(
        "no-class-too-big",
        "2 are too small (largest 10Gi, asked 50Gi)",
    );
    no(
        "no-class-unset",
        "no class is set and there is no default class; 0 of 8 volumes fit: 6 have another class, 2 lack an access mode",
    );
    no("selector-mismatch", "2 do not satisfy the selector");
    let waits = |claim, text| check(&cluster, claim, Kind::Waits, None, text);
    waits(
        "names-missing-volume",
        "for volume pv-nowhere, which is not there",
    );
    waits(
        "local-claim",
        "for pod local-pod to be scheduled; 2 of 8 volumes fit, best pv-local-a (100Gi)",
    );
    waits(
        "local-claim-huge",
        "2 are too small (largest 200Gi, asked 500Gi)",
    );
    waits("my-app-gp3-pvc", "for its first consumer");
    waits(
        "immediate-migrated",
        "for pd.csi.storage.gke.io to provision it",
    );
}

#[test]
fn once_scheduled_claims_are_bound_or_provisioned() {
    let cluster = recording("scheduled");
    check(&cluster, "local-claim", Kind::Bound, Some("pv-local-a"), "");
    check(
        &cluster,
        "my-pvc",
        Kind::Waits,
        None,
        "for ebs.csi.aws.com to provision it",
    );
    check(
        &cluster,
        "zone-claim",
        Kind::Waits,
        None,
        "for pod zone-pod-c to be scheduled",
    );
}

#[test]
fn a_released_volume_that_a_new_claim_expects_back_is_recognised() {
    let cluster = recording("released");
    let told = "1 was released by an earlier claim of this name (pv-nfs; clear its claimRef to use it again)";
    check(&cluster, "shared-data", Kind::NoVolume, None, told);
}

#[test]
fn a_bound_claim_whose_volume_is_gone_is_lost() {
    let cluster = recording("released");
    check(
        &cluster,
        "block-claim",
        Kind::NoVolume,
        None,
        "lost: its volume pv-block is gone",
    );
}
