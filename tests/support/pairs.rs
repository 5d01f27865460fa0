//! The data set `pairs-N`: a settled cluster.

use std::sync::Arc;

use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass};
use pvbind::view::Snapshot;

/// N volumes, each bound to one of N claims in 20 namespaces, as a CSI driver's
/// provisioner and the controller leave them: nothing is to be done. And one
/// class. The objects are read from text, as a cluster's are.
pub(crate) fn pairs(n: usize) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for i in 0..n {
        let (volume, claim) = pair(i);
        snapshot.apply(Arc::new(volume));
        snapshot.apply(Arc::new(claim));
    }
    let class: StorageClass = serde_json::from_str(CLASS).unwrap();
    snapshot.apply(Arc::new(class));
    snapshot
}

fn pair(i: usize) -> (PersistentVolume, PersistentVolumeClaim) {
    let text = |template: &str| {
        template
            .replace("NAMESPACE", &format!("shop-{}", i % 20))
            .replace("CLAIM-UID", &uid(i as u64))
            .replace("CLAIM", &format!("data-mysql-{i}"))
            .replace("VOLUME-UID", &uid(i as u64 + (1 << 32)))
    };
    (
        serde_json::from_str(&text(VOLUME)).unwrap(),
        serde_json::from_str(&text(BOUND_CLAIM)).unwrap(),
    )
}

const CLASS: &str = r#"{"metadata": {"name": "fast"}, "provisioner": "disk.csi.example.com",
    "volumeBindingMode": "Immediate"}"#;

const VOLUME: &str = r#"{
    "apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"name": "pvc-CLAIM-UID", "uid": "VOLUME-UID", "resourceVersion": "7",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "annotations": {"pv.kubernetes.io/provisioned-by": "disk.csi.example.com",
            "volume.kubernetes.io/provisioner-deletion-secret-name": "",
            "volume.kubernetes.io/provisioner-deletion-secret-namespace": ""},
        "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer",
            "kubernetes.io/pv-protection"]},
    "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
        "storageClassName": "fast", "volumeMode": "Filesystem",
        "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "disk.csi.example.com", "volumeHandle": "h-CLAIM-UID"},
        "claimRef": {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "uid": "CLAIM-UID",
            "namespace": "NAMESPACE", "name": "CLAIM", "resourceVersion": "3"}},
    "status": {"phase": "Bound"}}"#;

const BOUND_CLAIM: &str = r#"{
    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"namespace": "NAMESPACE", "name": "CLAIM", "uid": "CLAIM-UID",
        "resourceVersion": "9", "creationTimestamp": "2026-01-02T03:04:05Z",
        "annotations": {"pv.kubernetes.io/bind-completed": "yes",
            "pv.kubernetes.io/bound-by-controller": "yes",
            "volume.beta.kubernetes.io/storage-provisioner": "disk.csi.example.com",
            "volume.kubernetes.io/storage-provisioner": "disk.csi.example.com"},
        "finalizers": ["kubernetes.io/pvc-protection"]},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}},
        "volumeName": "pvc-CLAIM-UID", "storageClassName": "fast", "volumeMode": "Filesystem"},
    "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "5Gi"}}}"#;

/// A uid that looks like one: spread over all values, and the same on every
/// machine.
fn uid(i: u64) -> String {
    let spread = |i: u64| {
        let i = (i ^ (i >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (i ^ (i >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    };
    let (high, low) = (spread(i + 1), spread(i + 77));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}
