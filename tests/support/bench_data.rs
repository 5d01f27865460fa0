//! The data set `bench-N` of the benches.

use std::collections::BTreeMap;

use pvbind::api::{
    AccessMode, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm,
    ObjectMeta, ObjectReference, PersistentVolume, PersistentVolumeClaim, ResourceList,
    VolumeNodeAffinity, VolumePhase, names,
};
use pvbind::quantity::Quantity;

/// N volumes from a fixed seed: half bound to other claims, 8 classes, sizes
/// 1Gi to 1000Gi, ReadWriteOnce, each pinned to one of 1000 hosts.
pub fn bench_volumes(n: usize) -> Vec<PersistentVolume> {
    bench_volumes_on(n, 1000)
}

/// The same, on another number of hosts.
pub fn bench_volumes_on(n: usize, hosts: u64) -> Vec<PersistentVolume> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let volumes = (0..n).map(|i| bench_volume(i, hosts, &mut random));
    volumes.collect()
}

/// ReadWriteOnce, of the class `class-3`.
pub fn bench_claim(size: &str) -> PersistentVolumeClaim {
    let mut claim = PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some("claim".into()),
            namespace: Some("default".into()),
            uid: Some("uid-claim".into()),
            ..ObjectMeta::default()
        },
        ..PersistentVolumeClaim::default()
    };
    claim.spec.access_modes = Some(vec![AccessMode::ReadWriteOnce]);
    claim.spec.storage_class_name = Some("class-3".into());
    claim.spec.resources.requests = Some(ResourceList::of_storage(size.parse().unwrap()));
    claim
}

/// The labels of a host, numbered from 0.
pub fn host_labels(host: u64) -> BTreeMap<String, String> {
    BTreeMap::from([(names::HOSTNAME_LABEL.to_owned(), format!("host-{host}"))])
}

fn bench_volume(i: usize, hosts: u64, random: &mut Random) -> PersistentVolume {
    let mut volume = PersistentVolume {
        metadata: ObjectMeta {
            name: Some(format!("pv-{i:07}")),
            uid: Some(format!("uid-pv-{i:07}")),
            resource_version: Some(i.to_string()),
            ..ObjectMeta::default()
        },
        ..PersistentVolume::default()
    };
    let size: Quantity = format!("{}Gi", random.below(1000) + 1).parse().unwrap();
    let spec = &mut volume.spec;
    spec.capacity = Some(ResourceList::of_storage(size));
    spec.access_modes = Some(vec![AccessMode::ReadWriteOnce]);
    spec.storage_class_name = Some(format!("class-{}", random.below(8)));
    let host = NodeSelectorRequirement {
        key: Some(names::HOSTNAME_LABEL.into()),
        operator: Some(NodeSelectorOperator::In),
        values: Some(vec![format!("host-{}", random.below(hosts))]),
        ..NodeSelectorRequirement::default()
    };
    spec.node_affinity = Some(VolumeNodeAffinity {
        required: Some(NodeSelector {
            node_selector_terms: Some(vec![NodeSelectorTerm {
                match_expressions: Some(vec![host]),
                ..NodeSelectorTerm::default()
            }]),
            ..NodeSelector::default()
        }),
        ..VolumeNodeAffinity::default()
    });
    if random.below(2) == 0 {
        spec.claim_ref = Some(ObjectReference {
            kind: Some("PersistentVolumeClaim".into()),
            api_version: Some("v1".into()),
            namespace: Some("default".into()),
            name: Some(format!("other-{i:07}")),
            uid: Some(format!("uid-other-{i:07}")),
            ..ObjectReference::default()
        });
        volume.status.phase = Some(VolumePhase::Bound);
    } else {
        volume.status.phase = Some(VolumePhase::Available);
    }
    volume
}

/// A small generator of numbers (xorshift), the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
