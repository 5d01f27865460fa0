//! The search over a slice: the definition of a match.

use std::collections::BTreeMap;

use super::Features;
use super::rules::{
    check_access_modes, check_attributes_class, check_capacity, check_claim_ref, check_class,
    check_node_affinity, check_not_being_deleted, check_not_excluded, check_phase, check_reserved,
    check_selector, check_volume_mode,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::selector::{CompiledLabelSelector, SelectorError};

/// How the controller searches for a claim.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{SearchOptions, find_best_match_for_claim};
/// # use serde_json::json;
/// # let claim: PersistentVolumeClaim =
/// #     serde_json::from_value(json!({"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
/// # let volume = |spec| serde_json::from_value::<PersistentVolume>(
/// #     json!({"metadata": {"name": "pv-1"}, "spec": spec, "status": {"phase": "Available"}}));
/// let free = volume(json!({}))?;
/// let reserved = volume(json!({"claimRef": {"namespace": "shop", "name": "data"}}))?;
/// let is_taken = |volume: &PersistentVolume, delay_binding| {
///     let options = SearchOptions { delay_binding, ..SearchOptions::default() };
///     find_best_match_for_claim(&claim, [volume], options).map(|found| found.is_some())
/// };
/// // A class with Immediate; and WaitForFirstConsumer, where the scheduler is to choose.
/// assert_eq!(is_taken(&free, false), Ok(true));
/// assert_eq!(is_taken(&free, true), Ok(false));
/// // It has chosen, or somebody did by hand.
/// assert_eq!(is_taken(&reserved, true), Ok(true));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// Whether binding waits for the first consumer, as the claim's class says:
    /// then only a volume that is reserved for the claim is taken.
    pub delay_binding: bool,
    /// The feature gates of the cluster. Those of Kubernetes 1.36 by default.
    pub features: Features,
}

impl Default for SearchOptions {
    /// Immediate binding, the feature gates of Kubernetes 1.36.
    fn default() -> Self {
        SearchOptions {
            delay_binding: false,
            features: Features::default(),
        }
    }
}

/// Who searches, and how.
///
/// ```
/// use std::collections::BTreeMap;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, find_matching_volume};
/// let volume = |name: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name}, "status": {"phase": "Available"}})).unwrap()
/// };
/// let (claim, volumes) = (PersistentVolumeClaim::default(), [volume("pv-1"), volume("pv-2")]);
/// let find = |options: FindOptions<'_>| {
///     let found = find_matching_volume(&claim, &volumes, &options).unwrap();
///     found.map(PersistentVolume::name)
/// };
/// // The controller, while binding waits for a pod: nothing is reserved for the claim.
/// assert_eq!(find(FindOptions { delay_binding: true, ..FindOptions::default() }), None);
/// // The scheduler, for a node, when another claim of the pod has taken pv-1.
/// let labels = BTreeMap::new();
/// let for_node = FindOptions {
///     node_labels: Some(&labels),
///     excluded: &["pv-1"],
///     delay_binding: true,
///     ..FindOptions::default()
/// };
/// assert_eq!(find(for_node), Some("pv-2"));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FindOptions<'a> {
    /// The labels of the node that must be able to reach the volume. The
    /// scheduler gives them; the controller does not.
    pub node_labels: Option<&'a BTreeMap<String, String>>,
    /// Names of volumes that must not be taken, such as those already chosen
    /// for another claim of the same pod.
    pub excluded: &'a [&'a str],
    /// Whether binding waits for the first consumer. Without a node, only
    /// volumes that are reserved for the claim are taken then.
    pub delay_binding: bool,
    /// The feature gates of the cluster. Those of Kubernetes 1.36 by default.
    pub features: Features,
}

impl Default for FindOptions<'_> {
    /// No node, nothing excluded, immediate binding, the feature gates of
    /// Kubernetes 1.36.
    fn default() -> Self {
        FindOptions {
            node_labels: None,
            excluded: &[],
            delay_binding: false,
            features: Features::default(),
        }
    }
}

/// The controller's search: no node, nothing excluded.
impl From<SearchOptions> for FindOptions<'_> {
    fn from(options: SearchOptions) -> Self {
        FindOptions {
            node_labels: None,
            excluded: &[],
            delay_binding: options.delay_binding,
            features: options.features,
        }
    }
}

/// Why no search can be made for a claim. `Display` is upstream's text, but for
/// what follows the claim in that of [`Selector`](FindError::Selector): the
/// place and the mistake, in this crate's words.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::matching::{FindOptions, find_matching_volume};
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"},
///     "spec": {"selector": {"matchExpressions": [{"key": "disk", "operator": "Like"}]}}}))?;
/// let error = find_matching_volume(&claim, [], &FindOptions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "error creating internal label selector for claim: shop/data: matchExpressions[0].operator: \
///      `Like` is not one of the operators `In`, `NotIn`, `Exists`, `DoesNotExist`",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The claim names a VolumeAttributesClass while the feature is off.
    #[error(
        "unsupported volumeAttributesClassName is set on claim {claim} when the feature-gate \
         VolumeAttributesClass is disabled"
    )]
    AttributesClassDisabled {
        /// The claim, `NAMESPACE/NAME`.
        claim: String,
        /// The VolumeAttributesClass that it names.
        name: String,
    },
    /// The claim's selector cannot be parsed.
    #[error("error creating internal label selector for claim: {claim}: {error}")]
    Selector {
        /// The claim, `NAMESPACE/NAME`.
        claim: String,
        /// Where it is wrong, and how.
        error: SelectorError,
    },
}

/// Finds the volume for a claim among volumes that are visited in the order
/// given: a volume that is bound to the claim or reserved for it, else the
/// smallest that fits, of equal ones the first.
///
/// Follows `FindMatchingVolume` of Kubernetes 1.36. What is easily missed:
///
/// - A volume that is bound to the claim (and is large enough, of the right
///   mode and not being deleted) is taken whatever its phase, class, labels and
///   access modes; if the node cannot reach it, the answer is *no match*, even
///   where another volume would fit.
/// - Without a node, access modes are not looked at: the controller's search,
///   [`find_best_match_for_claim`](super::find_best_match_for_claim), groups
///   volumes by them.
///
/// # Errors
/// A [`FindError`] that depends on the claim alone, and is returned even when
/// there are no volumes.
///
/// # Cost
/// Linear in the number of volumes (times that of excluded names), without
/// allocation per volume where no node is given.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, find_matching_volume};
/// let volume = |name: &str, size: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name},
///         "spec": {"capacity": {"storage": size}},
///         "status": {"phase": "Available"},
///     }))
///     .unwrap()
/// };
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}"#,
/// )?;
/// let volumes = [volume("large", "20Gi"), volume("snug", "6Gi"), volume("small", "1Gi")];
/// let found = find_matching_volume(&claim, &volumes, &FindOptions::default()).unwrap();
/// assert_eq!(found.unwrap().name(), "snug");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn find_matching_volume<'v>(
    claim: &PersistentVolumeClaim,
    volumes: impl IntoIterator<Item = &'v PersistentVolume>,
    options: &FindOptions<'_>,
) -> Result<Option<&'v PersistentVolume>, FindError> {
    let selector = check_claim(claim, options.features)?;
    let mut smallest: Option<&PersistentVolume> = None;
    for volume in volumes {
        // Without claimRef it is not reserved, and can only win by its size.
        let is_smaller = || smallest.is_none_or(|best| volume.storage() < best.storage());
        if volume.claim_ref().is_none() && !is_smaller() {
            continue;
        }
        if check_before_reservation(claim, volume, options).is_err() {
            continue;
        }
        let is_reachable = || is_reachable(volume, options);
        if volume.is_bound_to(claim) {
            return Ok(is_reachable().then_some(volume));
        }
        if fits_open(claim, volume, selector.as_ref(), options) && is_reachable() {
            smallest = Some(volume);
        }
    }
    Ok(smallest)
}

/// What can be wrong with the claim itself; its compiled selector.
pub(super) fn check_claim(
    claim: &PersistentVolumeClaim,
    features: Features,
) -> Result<Option<CompiledLabelSelector>, FindError> {
    if !features.volume_attributes_class && !claim.attributes_class_name().is_empty() {
        return Err(FindError::AttributesClassDisabled {
            claim: claim.metadata.key(),
            name: claim.attributes_class_name().to_owned(),
        });
    }
    let compile = |selector| {
        CompiledLabelSelector::compile(selector).map_err(|error| FindError::Selector {
            claim: claim.metadata.key(),
            error,
        })
    };
    claim.spec.selector.as_ref().map(compile).transpose()
}

/// The rules that hold even for a volume that is bound to the claim.
pub(super) fn check_before_reservation<'a>(
    claim: &'a PersistentVolumeClaim,
    volume: &'a PersistentVolume,
    options: &FindOptions<'_>,
) -> Result<(), super::Refusal<'a>> {
    check_not_excluded(volume, options.excluded)?;
    check_claim_ref(volume, claim)?;
    check_capacity(volume, claim)?;
    check_volume_mode(volume, claim)?;
    check_attributes_class(volume, claim, options.features)?;
    check_not_being_deleted(volume)
}

pub(super) fn is_reachable(volume: &PersistentVolume, options: &FindOptions<'_>) -> bool {
    options
        .node_labels
        .is_none_or(|labels| check_node_affinity(volume, labels).is_ok())
}

/// Whether the search without a node finds the volume among no others.
pub(super) fn matches_alone(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
    selector: Option<&CompiledLabelSelector>,
    options: &FindOptions<'_>,
) -> bool {
    // Without claimRef it is not reserved, and the cheap rule that refuses most
    // may go first.
    let may_match = volume.claim_ref().is_some()
        || (check_capacity(volume, claim).is_ok() && check_class(volume, claim).is_ok());
    may_match
        && check_before_reservation(claim, volume, options).is_ok()
        && (volume.is_bound_to(claim) || fits_open(claim, volume, selector, options))
}

/// Whether a volume that is not bound to the claim fits, beside what was
/// checked before.
fn fits_open(
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
    selector: Option<&CompiledLabelSelector>,
    options: &FindOptions<'_>,
) -> bool {
    let for_controller = options.node_labels.is_none();
    !(for_controller && options.delay_binding && check_reserved(volume, claim).is_err())
        && check_phase(volume).is_ok()
        && check_selector(volume, selector).is_ok()
        && check_class(volume, claim).is_ok()
        && (for_controller || check_access_modes(volume, claim).is_ok())
}
