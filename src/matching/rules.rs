//! The rules, one function each.
//!
//! Each is a step of `FindMatchingVolume` of Kubernetes 1.36 (the access modes
//! as groups, one of `findBestMatchForClaim`), is total, costs no allocation on
//! objects that are not hostile, and returns its refusal with the facts.

use std::collections::BTreeMap;

use super::{AccessModeSet, Refusal};
use crate::api::{PersistentVolume, PersistentVolumeClaim, VolumePhase};
use crate::selector::{CompiledLabelSelector, node_selector_matches};

/// The volume is not among the names that the caller excludes. Linear in the
/// number of those names.
///
/// # Errors
/// [`Refusal::Excluded`].
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
pub fn check_attributes_class<'a>(
    volume: &'a PersistentVolume,
    claim: &'a PersistentVolumeClaim,
    attributes_classes: bool,
) -> Result<(), Refusal<'a>> {
    let (has, asked) = (
        volume.attributes_class_name(),
        claim.attributes_class_name(),
    );
    let is_named = !has.is_empty() || !asked.is_empty();
    if is_named && !attributes_classes {
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
pub fn check_phase(volume: &PersistentVolume) -> Result<(), Refusal<'_>> {
    match volume.status.phase.as_ref() {
        Some(VolumePhase::Available) => Ok(()),
        has => Err(Refusal::Phase { has }),
    }
}

/// The volume's labels satisfy the claim's selector, if there is one.
///
/// # Errors
/// [`Refusal::Selector`].
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
