//! One node, by looking at every volume: the definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::provision::has_provisioner;
use super::{
    DynamicProvision, FindVolumesError, PodClaims, PodVolumes, StaticBinding, UnfitReason,
};
use crate::api::{ClaimKey, CsiStorageCapacity, Node, PersistentVolumeClaim, StorageClass, names};
use crate::matching::{Features, FindOptions, check_node_affinity, find_matching_volume};
use crate::selector::{label_selector_matches, topology_terms_match};
use crate::view::{Held, SchedulingView};

/// What one node offers the claims of a pod, from top to bottom: the definition
/// of [`find_pod_volumes`](super::find_pod_volumes).
///
/// 1. Bound claims, in pod order: the volume must exist, and the node must
///    reach it. The first that fails is one reason; the rest still runs.
/// 2. A delayed claim for which another node was selected: no volume, and
///    nothing else is looked at. One for which this node was selected must be
///    provisioned.
/// 3. The other delayed claims, smallest first:
///    [`find_matching_volume`] among the volumes of the class, without those
///    chosen before. A miss must be provisioned.
/// 4. What must be provisioned, one after another; the first that cannot be
///    ends it with one reason, and then nothing is provisioned.
///
/// # Errors
/// The node has no answer: see [`FindVolumesError`].
///
/// # Cost
/// Linear in the number of volumes for each delayed claim, and in the number of
/// capacity pools of its class.
///
/// Follows `FindPodVolumes` of Kubernetes 1.36.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, find_pod_volumes, find_pod_volumes_plain};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "local"}, "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {"storageClassName": "local"}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "local"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
/// let (claims, node) = (PodClaims::of(&pod, &snapshot)?, Node::default());
/// let plain = find_pod_volumes_plain(&claims, &node, &snapshot, Features::default())?;
/// assert_eq!(plain.static_bindings[0].volume.name(), "pv-1");
/// assert_eq!(plain, find_pod_volumes(&claims, &node, &snapshot, Features::default())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn find_pod_volumes_plain<V: SchedulingView + ?Sized>(
    claims: &PodClaims,
    node: &Node,
    view: &V,
    features: Features,
) -> Result<PodVolumes, FindVolumesError> {
    let labels = node.metadata.labels();
    let mut volumes = PodVolumes::default();
    for claim in &claims.bound {
        let refused = match view.volume(claim.volume_name()) {
            None => Some(UnfitReason::VolumeMissing),
            Some(volume) if check_node_affinity(&volume, labels).is_err() => {
                Some(UnfitReason::NodeAffinity)
            }
            Some(_) => None,
        };
        if let Some(reason) = refused {
            volumes.reasons.insert(reason);
            break;
        }
    }

    let (mut missed, mut open) = (Vec::new(), Vec::new());
    for claim in &claims.delayed {
        match claim.metadata.annotation(names::SELECTED_NODE) {
            Some(selected) if selected != node.metadata.name() => {
                volumes.reasons.insert(UnfitReason::NoVolume);
                return Ok(volumes);
            }
            Some(_) => missed.push(claim),
            None => open.push(claim),
        }
    }

    open.sort_by(|a, b| a.requested_storage().cmp(b.requested_storage()));
    let mut excluded = Vec::new();
    for claim in open {
        let candidates = view.volume_layers().of_class(claim.class_name());
        let options = FindOptions {
            node_labels: Some(labels),
            excluded: &excluded,
            delay_binding: true,
            features,
        };
        let volumes_of_class = candidates.iter().map(|volume| &***volume);
        let found = find_matching_volume(claim, volumes_of_class, &options)?;
        let found = found.and_then(|found| {
            let mut same = candidates.iter();
            same.find(|volume| std::ptr::eq(&****volume, found))
        });
        match found {
            Some(volume) => {
                excluded.push(volume.name());
                volumes.static_bindings.push(StaticBinding {
                    claim: Arc::clone(claim),
                    volume: Arc::clone(volume),
                });
            }
            None => missed.push(claim),
        }
    }

    let mut provisions = Vec::new();
    for claim in missed {
        let class = claim.class_name();
        if class.is_empty() {
            return Err(FindVolumesError::NoClass {
                claim: ClaimKey::of(claim),
            });
        }
        let Some(class) = view.class(class) else {
            return Err(FindVolumesError::ClassMissing {
                class: class.to_owned(),
            });
        };
        let terms = class.allowed_topologies();
        if !has_provisioner(&class) || !topology_terms_match(terms, labels) {
            volumes.reasons.insert(UnfitReason::NoVolume);
            return Ok(volumes);
        }
        let Ok(capacity) = enough_capacity(claim, &class, labels, view) else {
            volumes.reasons.insert(UnfitReason::NotEnoughSpace);
            return Ok(volumes);
        };
        provisions.push(DynamicProvision {
            claim: Arc::clone(claim),
            capacity,
        });
    }
    volumes.dynamic_provisions = provisions;
    Ok(volumes)
}

struct NotEnough;

/// The first pool that has room for the claim, where one is needed.
fn enough_capacity<V: SchedulingView + ?Sized>(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    labels: &BTreeMap<String, String>,
    view: &V,
) -> Result<Option<Arc<CsiStorageCapacity>>, NotEnough> {
    let Some(request) = claim.storage_request() else {
        return Ok(None);
    };
    let driver = view.csi_driver(class.provisioner());
    if driver.is_none_or(|driver| driver.spec.storage_capacity != Some(true)) {
        return Ok(None);
    }
    let is_suitable = |pool: &Held<'_, CsiStorageCapacity>| {
        let has_room = pool
            .limit()
            .is_some_and(|limit| limit.value() >= request.value());
        let topology = pool.node_topology.as_ref();
        has_room
            && topology.is_some_and(|topology| label_selector_matches(topology, labels) == Ok(true))
    };
    let mut pools = view.capacities_of_class(class.name()).into_iter();
    let first = pools.find(is_suitable);
    first.map_or(Err(NotEnough), |pool| Ok(Some(pool.into_arc())))
}
