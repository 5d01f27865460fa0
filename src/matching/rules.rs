//! The rules, one function each.
//!
//! What they promise stands in the documentation of the module
//! [`matching`](super).

use std::collections::BTreeMap;

use super::{AccessModeSet, Refusal};
use crate::api::{PersistentVolume, PersistentVolumeClaim, VolumePhase};
use crate::matching::Features;
use crate::selector::{CompiledLabelSelector, node_selector_matches};

/// The volume is not among the names that the caller excludes. Cost: linear in
/// the number of those names.
///
/// # Errors
/// [`Refusal::Excluded`].
///
/// Follows the parameter `excludedVolumes` of `FindMatchingVolume` of Kubernetes
/// 1.36.
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// use pvbind::matching::{Refusal, check_not_excluded};
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
/// assert_eq!(check_not_excluded(&volume, &["pv-2"]), Ok(()));
/// assert_eq!(check_not_excluded(&volume, &["pv-2", "pv-1"]), Err(Refusal::Excluded));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_not_excluded<'a>(
    volume: &'a PersistentVolume,
    excluded: &[&str],
) -> Result<(), Refusal<'a>> {
    if excluded.contains(&volume.name()) {
        Err(Refusal::Excluded)
    } else {
        Ok(())
    }
}

/// The volume is not bound to another claim or reserved for one: it has no
/// claimRef, or is bound to this claim
/// ([`is_bound_to`](PersistentVolume::is_bound_to)).
///
/// # Errors
/// [`Refusal::ClaimedByOther`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::check_claim_ref;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?;
/// let claim = |name: &str, uid: &str| -> PersistentVolumeClaim {
///     serde_json::from_value(serde_json::json!({"metadata": {"namespace": "shop", "name": name, "uid": uid}})).unwrap()
/// };
/// assert!(check_claim_ref(&volume, &claim("data", "u-1")).is_ok());
/// let other = claim("other", "u-3");
/// assert_eq!(check_claim_ref(&volume, &other).unwrap_err().to_string(), "belongs to shop/data");
/// // The claim was deleted and made again under its name.
/// let again = claim("data", "u-2");
/// assert_eq!(
///     check_claim_ref(&volume, &again).unwrap_err().to_string(),
///     "still belongs to an earlier claim named shop/data (uid u-1)",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_claim_ref<'a>(
    volume: &'a PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    match volume.claim_ref() {
        Some(by) if !volume.is_bound_to(claim) => Err(Refusal::ClaimedByOther {
            by,
            earlier_claim: by.name() == claim.metadata.name()
                && by.namespace() == claim.metadata.namespace(),
        }),
        _ => Ok(()),
    }
}

/// The volume's capacity is at least the claim's request. Both are compared
/// exactly; a missing one counts as zero.
///
/// # Errors
/// [`Refusal::TooSmall`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost, as
/// long as the amounts are not hostile.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::check_capacity;
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "10G"}}}"#)?;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "10Gi"}}}}"#)?;
/// // The usual mistake: ten billion bytes are less than ten times 2^30.
/// let refusal = check_capacity(&volume, &claim).unwrap_err();
/// assert_eq!(refusal.to_string(), "is too small: has 10G, asked 10Gi");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_capacity<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.storage(), claim.requested_storage());
    if has < asked {
        Err(Refusal::TooSmall { has, asked })
    } else {
        Ok(())
    }
}

/// Both are file systems or both are raw devices; absent means a file system.
///
/// Follows `CheckVolumeModeMismatches` of Kubernetes 1.36.
///
/// # Errors
/// [`Refusal::VolumeMode`].
///
/// Constant cost.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::check_volume_mode;
/// let volume = PersistentVolume::default();
/// let file_system: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"volumeMode": "Filesystem"}}"#)?;
/// assert_eq!(check_volume_mode(&volume, &file_system), Ok(()));
/// let block: PersistentVolumeClaim = serde_json::from_str(r#"{"spec": {"volumeMode": "Block"}}"#)?;
/// let refusal = check_volume_mode(&volume, &block).unwrap_err();
/// assert_eq!(refusal.to_string(), "has volume mode Filesystem, asked Block");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_volume_mode<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.volume_mode(), claim.volume_mode());
    if has == asked {
        Ok(())
    } else {
        Err(Refusal::VolumeMode { has, asked })
    }
}

/// The VolumeAttributesClass is the same, where absent equals "". With the
/// feature off, neither may name one.
///
/// # Errors
/// [`Refusal::AttributesClass`], [`Refusal::AttributesClassDisabled`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, check_attributes_class};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"volumeAttributesClassName": "gold"}}"#)?;
/// let claim = PersistentVolumeClaim::default();
/// let refusal = check_attributes_class(&volume, &claim, Features::default()).unwrap_err();
/// assert_eq!(refusal.to_string(), "has VolumeAttributesClass `gold`, asked none");
/// // With the feature off the name alone is enough.
/// let same: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"volumeAttributesClassName": "gold"}}"#)?;
/// assert_eq!(check_attributes_class(&volume, &same, Features::default()), Ok(()));
/// let refusal = check_attributes_class(&volume, &same, Features::default().with_volume_attributes_class(false)).unwrap_err();
/// assert_eq!(refusal.code(), "attributes-class-disabled");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_attributes_class<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
    features: Features,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (
        volume.attributes_class_name(),
        claim.attributes_class_name(),
    );
    let is_named = !has.is_empty() || !asked.is_empty();
    if is_named && !features.volume_attributes_class {
        Err(Refusal::AttributesClassDisabled { has, asked })
    } else if has != asked {
        Err(Refusal::AttributesClass { has, asked })
    } else {
        Ok(())
    }
}

/// Nobody asked for the volume's deletion.
///
/// # Errors
/// [`Refusal::BeingDeleted`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// use pvbind::matching::check_not_being_deleted;
/// let going: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
///         "status": {"phase": "Available"}}"#)?;
/// let refusal = check_not_being_deleted(&going).unwrap_err();
/// assert_eq!(refusal.to_string(), "is being deleted");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_not_being_deleted(volume: &PersistentVolume) -> Result<(), Refusal<'_>> {
    if volume.metadata.is_being_deleted() {
        Err(Refusal::BeingDeleted {
            volume: volume.name(),
        })
    } else {
        Ok(())
    }
}

/// The volume can be reached from a node with these labels. Only the labels
/// count, not the node's name, so that `matchFields` never refuses; an affinity
/// that cannot be parsed does.
///
/// Follows `CheckNodeAffinity` of Kubernetes 1.36.
///
/// # Errors
/// [`Refusal::NodeAffinity`].
///
/// Cost: that of [`node_selector_matches`](crate::selector::node_selector_matches), which
/// compiles the affinity. For one volume and many nodes compile it once:
/// [`CompiledNodeSelector`](crate::selector::CompiledNodeSelector).
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// use std::collections::BTreeMap;
/// use pvbind::matching::check_node_affinity;
/// let local: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
///         {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]}]}}}}))?;
/// let host = |name: &str| BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.to_owned())]);
/// assert_eq!(check_node_affinity(&local, &host("a")), Ok(()));
/// let refusal = check_node_affinity(&local, &host("b")).unwrap_err();
/// assert_eq!(refusal.to_string(), "cannot be reached from the node");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_node_affinity<'a>(
    volume: &'a PersistentVolume,
    node_labels: &BTreeMap<String, String>,
) -> Result<(), Refusal<'a>> {
    let Some(required) = volume.required_node_affinity() else {
        return Ok(());
    };
    match node_selector_matches(required, node_labels, None) {
        Ok(true) => Ok(()),
        result => Err(Refusal::NodeAffinity {
            required,
            unparsable: result.is_err(),
        }),
    }
}

/// The volume is bound to the claim or reserved for it: what the controller
/// asks of a volume while binding waits for the first consumer.
///
/// # Errors
/// [`Refusal::NotReserved`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Refusal, check_reserved};
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?;
/// // A claimRef without uid reserves the volume.
/// let reserved: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data"}}}"#)?;
/// assert_eq!(check_reserved(&reserved, &claim), Ok(()));
/// assert_eq!(check_reserved(&PersistentVolume::default(), &claim), Err(Refusal::NotReserved));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_reserved<'a>(
    volume: &'a PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    if volume.is_bound_to(claim) {
        Ok(())
    } else {
        Err(Refusal::NotReserved)
    }
}

/// The volume's phase is Available; no phase is not.
///
/// # Errors
/// [`Refusal::Phase`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::PersistentVolume;
/// use pvbind::matching::check_phase;
/// // Made a moment ago: the controller has yet to call it Available.
/// let new = PersistentVolume::default();
/// assert_eq!(check_phase(&new).unwrap_err().to_string(), "has no phase yet");
/// let released: PersistentVolume = serde_json::from_str(r#"{"status": {"phase": "Released"}}"#)?;
/// assert_eq!(check_phase(&released).unwrap_err().to_string(), "is Released, not Available");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_phase(volume: &PersistentVolume) -> Result<(), Refusal<'_>> {
    match volume.phase() {
        Some(VolumePhase::Available) => Ok(()),
        has => Err(Refusal::Phase { has }),
    }
}

/// The volume's labels satisfy the claim's selector, if there is one.
///
/// # Errors
/// [`Refusal::Selector`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Cost: one look-up
/// for each requirement.
///
/// ```
/// # use pvbind::api::{LabelSelector, PersistentVolume};
/// use pvbind::matching::{Refusal, check_selector};
/// use pvbind::selector::CompiledLabelSelector;
/// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"labels": {"disk": "hdd"}}}"#)?;
/// let written: LabelSelector = serde_json::from_str(r#"{"matchLabels": {"disk": "ssd"}}"#)?;
/// // Once for the claim, not for each volume.
/// let selector = CompiledLabelSelector::compile(&written)?;
/// assert_eq!(check_selector(&volume, Some(&selector)), Err(Refusal::Selector));
/// assert_eq!(check_selector(&volume, None), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_selector<'a>(
    volume: &'a PersistentVolume,
    selector: Option<&CompiledLabelSelector>,
) -> Result<(), Refusal<'a>> {
    match selector {
        Some(selector) if !selector.matches(volume.metadata.labels()) => Err(Refusal::Selector),
        _ => Ok(()),
    }
}

/// Volume and claim have the same class, by the accessors
/// [`PersistentVolume::class_name`] and [`PersistentVolumeClaim::class_name`].
///
/// # Errors
/// [`Refusal::Class`].
///
/// Follows a step of `FindMatchingVolume` of Kubernetes 1.36. Constant cost.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::check_class;
/// let fast: PersistentVolume = serde_json::from_str(r#"{"spec": {"storageClassName": "fast"}}"#)?;
/// let unset = PersistentVolumeClaim::default();
/// let refusal = check_class(&fast, &unset).unwrap_err();
/// assert_eq!(refusal.to_string(), "has class `fast`, asked none");
/// // To this rule a claim that says no class is one that says "".
/// assert_eq!(check_class(&PersistentVolume::default(), &unset), Ok(()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_class<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.class_name(), claim.class_name());
    if has == asked {
        Ok(())
    } else {
        Err(Refusal::Class { has, asked })
    }
}

/// Every mode that the claim asks for is among the volume's; an unknown mode
/// compares by name. Order and repeats do not matter.
///
/// Follows `CheckAccessModes` of Kubernetes 1.36.
///
/// # Errors
/// [`Refusal::AccessModes`].
///
/// Linear cost in the number of modes; long lists of unknown ones add a logarithm.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::check_access_modes;
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"accessModes": ["ReadWriteMany", "ReadOnlyMany"]}}"#)?;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"accessModes": ["ReadWriteOnce"]}}"#)?;
/// // No mode stands for another: who may write from many nodes may not from one.
/// let refusal = check_access_modes(&volume, &claim).unwrap_err();
/// assert_eq!(refusal.to_string(), "has access modes RWX,ROX, asked RWO");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_access_modes<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.access_modes(), claim.access_modes());
    let known = AccessModeSet::of(has).contains(AccessModeSet::of(asked));
    let unknown = || asked.iter().filter(|mode| mode.is_unknown());
    // Long lists of unknown modes are hostile, so that they get a set.
    let all_there = known
        && unknown().next().is_none_or(|_| {
            let has: std::collections::BTreeSet<_> = has.iter().collect();
            unknown().all(|mode| has.contains(mode))
        });
    if all_there {
        Ok(())
    } else {
        Err(Refusal::AccessModes { has, asked })
    }
}

/// The group of the controller's search that the volume is in serves the
/// claim: the volume's known modes contain the claim's, and the claim asks for
/// no unknown mode.
///
/// Follows `allPossibleMatchingAccessModes` of Kubernetes 1.36.
///
/// # Errors
/// [`Refusal::AccessModes`].
///
/// Linear cost in the number of modes, without allocation.
///
/// ```
/// # use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{check_access_modes, check_known_access_modes};
/// let modes = r#"{"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteSometimes"]}}"#;
/// let volume: PersistentVolume = serde_json::from_str(modes)?;
/// let claim: PersistentVolumeClaim = serde_json::from_str(modes)?;
/// // A scheduler compares by name; the controller has no group for the claim.
/// assert!(check_access_modes(&volume, &claim).is_ok());
/// assert!(check_known_access_modes(&volume, &claim).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_known_access_modes<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (volume.access_modes(), claim.access_modes());
    let served = AccessModeSet::of(has).contains(AccessModeSet::of(asked))
        && !asked.iter().any(|mode| mode.is_unknown());
    if served {
        Ok(())
    } else {
        Err(Refusal::AccessModes { has, asked })
    }
}
