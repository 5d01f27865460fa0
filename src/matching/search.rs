//! The controller's search: groups of access modes, narrowest first.

use std::cmp::Ordering;

use super::find::{check_claim, matches_alone};
use super::{AccessModeSet, FindError, FindOptions, SearchOptions};
use crate::api::{PersistentVolume, PersistentVolumeClaim};

/// Finds the volume that the binding controller takes for a claim.
///
/// Volumes are grouped by their set of known access modes. The groups whose set
/// contains the claim's modes are searched in the order of [`AccessModeSet`],
/// each with [`find_matching_volume`](super::find_matching_volume), until one
/// has a match. So a 100Gi volume with exactly ReadWriteOnce goes before a 10Gi
/// volume that can do more, and an open volume in a narrower group goes before
/// a volume that is reserved for the claim in a wider one.
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
/// Those of [`find_matching_volume`](super::find_matching_volume), but only when
/// a group is searched: a claim that no group serves has no match, even if its
/// selector is invalid.
///
/// # Cost
/// Linear in the number of volumes, without allocation per volume.
/// [`VolumeIndex::best_match`](super::VolumeIndex::best_match) gives the same
/// answer in logarithmic time.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{SearchOptions, find_best_match_for_claim};
/// use serde_json::json;
/// let volume = |name: &str, size: &str, modes: &[&str]| -> PersistentVolume {
///     serde_json::from_value(json!({
///         "metadata": {"name": name}, "status": {"phase": "Available"},
///         "spec": {"capacity": {"storage": size}, "accessModes": modes}}))
///     .unwrap()
/// };
/// let volumes = [
///     volume("snug", "10Gi", &["ReadWriteOnce", "ReadOnlyMany"]),
///     volume("large", "100Gi", &["ReadWriteOnce"]),
/// ];
/// let claim: PersistentVolumeClaim = serde_json::from_value(json!({"spec": {
///     "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}))?;
/// // The narrowest modes go before the smallest size.
/// let found = find_best_match_for_claim(&claim, &volumes, SearchOptions::default()).unwrap();
/// assert_eq!(found.unwrap().name(), "large");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn find_best_match_for_claim<'v>(
    claim: &PersistentVolumeClaim,
    volumes: impl IntoIterator<Item = &'v PersistentVolume>,
    options: SearchOptions,
) -> Result<Option<&'v PersistentVolume>, FindError> {
    let asked = AccessModeSet::of(claim.access_modes());
    let group = |volume: &PersistentVolume| AccessModeSet::of(volume.access_modes());
    let is_searched = |volume: &&PersistentVolume| group(volume).contains(asked);
    let mut volumes = volumes.into_iter();
    if claim.access_modes().iter().any(|mode| mode.is_unknown()) {
        return Ok(None);
    }
    let selector = match check_claim(claim, options.features) {
        Ok(selector) => selector,
        // Found out when the first group is searched, if there is one.
        Err(error) if volumes.any(|volume| is_searched(&volume)) => return Err(error),
        Err(_) => return Ok(None),
    };
    let options = FindOptions::from(options);
    // Without a node no volume keeps another from being found, so that those
    // that match on their own are all that can be found.
    let candidates = volumes
        .filter(|volume| matches_alone(claim, volume, selector.as_ref(), &options))
        .filter(is_searched);
    let order = |a: &&PersistentVolume, b: &&PersistentVolume| {
        let is_open = |volume: &PersistentVolume| !volume.is_bound_to(claim);
        let by_size = || match is_open(a) {
            true => a.storage().cmp(b.storage()),
            false => Ordering::Equal,
        };
        (group(a).cmp(&group(b)))
            .then_with(|| is_open(a).cmp(&is_open(b)))
            .then_with(by_size)
            .then_with(|| a.name().cmp(b.name()))
    };
    Ok(candidates.min_by(order))
}
