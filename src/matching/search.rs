//! The controller's search: groups of access modes, narrowest first.

use super::find::{check_before_reservation, check_claim};
use super::{AccessModeSet, FindError, FindOptions, find_matching_volume};
use crate::api::{PersistentVolume, PersistentVolumeClaim};

/// Finds the volume that the binding controller takes for a claim.
///
/// Volumes are grouped by their set of known access modes. The groups whose set
/// contains the claim's modes are searched in the order of [`AccessModeSet`],
/// each with [`find_matching_volume`], until one has a match. So a 100Gi volume
/// with exactly ReadWriteOnce goes before a 10Gi volume that can do more, and
/// an open volume in a narrower group goes before a volume that is reserved for
/// the claim in a wider one.
///
/// A claim that asks for an unknown mode is served by no group, a claim without
/// modes by all.
///
/// Follows `persistentVolumeOrderedIndex.findBestMatchForClaim` of Kubernetes
/// 1.36.
///
/// # Differences
/// Upstream leaves open which of two groups of equal size comes first, and
/// which of two volumes of equal size within a group. Here the first goes by
/// [`AccessModeSet`]'s order; within a group, of several volumes that are bound
/// to the claim the one with the lowest name is taken, otherwise the smallest
/// and then the lowest name.
///
/// # Errors
/// Those of [`find_matching_volume`], but only when a group is searched: a
/// claim that no group serves has no match, even if its selector is invalid.
///
/// # Cost
/// Linear in the number of volumes, and a sort of the candidates by name in
/// each group searched. [`VolumeIndex::best_match`](super::VolumeIndex::best_match)
/// gives the same answer in logarithmic time.
pub fn find_best_match_for_claim<'v>(
    claim: &PersistentVolumeClaim,
    volumes: impl IntoIterator<Item = &'v PersistentVolume>,
    delay_binding: bool,
    vac_enabled: bool,
) -> Result<Option<&'v PersistentVolume>, FindError> {
    let asked = AccessModeSet::of(claim.access_modes());
    let serves =
        |volume: &PersistentVolume| AccessModeSet::of(volume.access_modes()).contains(asked);
    let asks_for_unknown = claim.access_modes().iter().any(|mode| mode.is_unknown());
    if asks_for_unknown {
        return Ok(None);
    }
    if let Err(error) = check_claim(claim, vac_enabled) {
        // An error only shows when a group is searched.
        return match volumes.into_iter().any(serves) {
            true => Err(error),
            false => Ok(None),
        };
    }
    let options = FindOptions {
        delay_binding,
        vac_enabled,
        ..FindOptions::default()
    };
    let mut groups: [Vec<&PersistentVolume>; AccessModeSet::COUNT] = Default::default();
    for volume in volumes {
        // What is no match in any group need not be sorted into one.
        if check_before_reservation(claim, volume, &options).is_err() {
            continue;
        }
        let set = AccessModeSet::of(volume.access_modes());
        if let Some(group) = groups.get_mut(set.index()) {
            group.push(volume);
        }
    }
    let searched = AccessModeSet::all().filter(|set| set.contains(asked));
    for group in searched.filter_map(|set| groups.get(set.index())) {
        if let Some(first) = find_matching_volume(claim, group.iter().copied(), &options)? {
            return lowest_name(claim, first, group, &options).map(Some);
        }
    }
    Ok(None)
}

/// Settles ties by name: of all volumes that the search could have returned
/// instead of `first`, depending on the order, the one with the lowest name.
fn lowest_name<'v>(
    claim: &PersistentVolumeClaim,
    first: &'v PersistentVolume,
    group: &[&'v PersistentVolume],
    options: &FindOptions<'_>,
) -> Result<&'v PersistentVolume, FindError> {
    let is_rival = |volume: &&PersistentVolume| {
        volume.name() < first.name()
            && volume.is_bound_to(claim) == first.is_bound_to(claim)
            && (first.is_bound_to(claim) || volume.storage() == first.storage())
    };
    let mut rivals: Vec<_> = group.iter().copied().filter(is_rival).collect();
    rivals.sort_by_key(|volume| volume.name());
    for rival in rivals {
        if let Some(found) = find_matching_volume(claim, [rival], options)? {
            return Ok(found);
        }
    }
    Ok(first)
}
