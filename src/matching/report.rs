//! The report: for one claim, every volume and every reason.

use std::fmt;

use super::find::check_claim;
use super::rules::{
    check_access_modes, check_attributes_class, check_capacity, check_claim_ref, check_class,
    check_known_access_modes, check_node_affinity, check_not_being_deleted, check_not_excluded,
    check_phase, check_reserved, check_selector, check_volume_mode,
};
use super::summary::Summary;
use super::{
    AccessModeSet, FindError, FindOptions, Refusal, SearchOptions, find_best_match_for_claim,
    find_matching_volume,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::quantity::Quantity;
use crate::selector::CompiledLabelSelector;

/// Where a volume stands in the search for a claim. Every volume is in exactly
/// one of these buckets.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Bucket, FindOptions, MatchReport};
/// let volume = |name: &str, size: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name}, "status": {"phase": "Available"},
///         "spec": {"capacity": {"storage": size}}})).unwrap()
/// };
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// let volumes = [volume("a", "8Gi"), volume("b", "5Gi"), volume("c", "1Gi")];
/// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
/// let buckets: Vec<_> = report.volumes.iter()
///     .map(|report| (report.volume.name(), report.bucket.code()))
///     .collect();
/// assert_eq!(buckets, [("b", "chosen"), ("a", "fits-larger"), ("c", "refused")]);
/// assert_eq!(report.bucket(Bucket::Refused).count(), 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bucket {
    /// The claim gets it.
    Chosen,
    /// It fits, and stands behind the chosen one in the same group: it is
    /// larger, or as large with a higher name.
    FitsLarger,
    /// It fits, but the search ends before it: a narrower group of access modes
    /// has a match, or a volume that is reserved for the claim goes first.
    FitsSearchedLater,
    /// It is bound to the claim or reserved for it, and yet cannot be taken.
    ReservedUnusable,
    /// It does not fit.
    Refused,
}

impl Bucket {
    /// The stable name of the bucket.
    ///
    /// ```
    /// use pvbind::matching::Bucket;
    /// assert_eq!(Bucket::FitsSearchedLater.code(), "fits-searched-later");
    /// assert_eq!(Bucket::FitsSearchedLater.to_string(), "fits, but is searched later"); // for people
    /// ```
    pub fn code(self) -> &'static str {
        match self {
            Bucket::Chosen => "chosen",
            Bucket::FitsLarger => "fits-larger",
            Bucket::FitsSearchedLater => "fits-searched-later",
            Bucket::ReservedUnusable => "reserved-unusable",
            Bucket::Refused => "refused",
        }
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bucket::Chosen => "chosen",
            Bucket::FitsLarger => "fits, but is larger",
            Bucket::FitsSearchedLater => "fits, but is searched later",
            Bucket::ReservedUnusable => "reserved for this claim, but unusable",
            Bucket::Refused => "refused",
        })
    }
}

/// One volume of a [`MatchReport`].
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport};
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"storageClassName": "fast"}, "status": {"phase": "Released"}}"#)?;
/// let claim = PersistentVolumeClaim::default();
/// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
/// // All that stands in the way, not only what is met first.
/// let codes: Vec<_> = report.volumes[0].refusals.iter().map(|refusal| refusal.code()).collect();
/// assert_eq!(codes, ["phase", "class"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VolumeReport<'a> {
    /// The volume.
    pub volume: &'a PersistentVolume,
    /// Where it stands in the search.
    pub bucket: Bucket,
    /// Whether it is bound to the claim or reserved for it.
    pub is_reserved: bool,
    /// All rules that refuse it, in upstream's order; none if it fits.
    ///
    /// A volume that is bound to the claim need not satisfy phase, selector,
    /// class and access modes, so those are not judged on it.
    pub refusals: Vec<Refusal<'a>>,
}

/// By how much a volume is too small: see [`VolumeReport::shortfall`].
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport, Shortfall};
/// use serde_json::{from_value, json};
/// let volume: PersistentVolume = from_value(json!({"spec": {"capacity": {"storage": "5G"}}}))?;
/// let claim: PersistentVolumeClaim =
///     from_value(json!({"spec": {"resources": {"requests": {"storage": "5Gi"}}}}))?;
/// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
/// let Shortfall { bytes, percent } = report.volumes[0].shortfall().unwrap();
/// // The old trap: powers of ten and powers of two.
/// assert_eq!(bytes.value(), 368_709_120);
/// assert_eq!(format!("{percent:.1} %"), "6.9 %");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Shortfall {
    /// The bytes that are missing, as a quantity: `2Gi`.
    pub bytes: Quantity,
    /// What is missing, in percent of what is asked for: more than 100 only if
    /// the volume's capacity is negative, and 100 where sizes are beyond all
    /// measure (more than 10^29 bytes).
    pub percent: f64,
}

impl VolumeReport<'_> {
    /// By how much the volume is too small; `None` if it is large enough.
    ///
    /// Where more than 10^29 bytes are asked for, all of it counts as missing: a
    /// difference of a million digits helps nobody.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "6Gi"}}}"#)?;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "8Gi"}}}}"#)?;
    /// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
    /// let shortfall = report.volumes[0].shortfall().unwrap();
    /// assert_eq!((shortfall.bytes.to_string().as_str(), shortfall.percent), ("2Gi", 25.0));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn shortfall(&self) -> Option<Shortfall> {
        self.refusals.iter().find_map(|refusal| match refusal {
            Refusal::TooSmall { has, asked } => Some(Shortfall {
                bytes: missing(has, asked).unwrap_or_else(|| (*asked).clone()),
                percent: percent(has, asked),
            }),
            _ => None,
        })
    }
}

fn missing(has: &Quantity, asked: &Quantity) -> Option<Quantity> {
    asked.to_nanos()?;
    asked.checked_sub(has).ok()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a percentage for people needs no more digits"
)]
fn percent(has: &Quantity, asked: &Quantity) -> f64 {
    match (has.to_nanos(), asked.to_nanos()) {
        (Some(has), Some(asked)) if asked > 0 => {
            asked.saturating_sub(has) as f64 * 100.0 / asked as f64
        }
        _ => 100.0,
    }
}

/// Why a claim gets the volume that it gets, or none: every volume in exactly
/// one [`Bucket`], with all of its refusals.
///
/// Without node labels it reports on the controller's search
/// ([`find_best_match_for_claim`]), with them on the search for one node
/// ([`find_matching_volume`] over the volumes in the order of their names). The
/// scheduler makes that search among the volumes of the claim's class alone; to
/// report on it, give only those.
/// The chosen volume is always the one that the search finds.
///
/// `Display` is one sentence that counts each volume once.
///
/// # Cost
/// That of the search, and a sort of the volumes.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport};
/// let volume = |name: &str, class: &str, size: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({
///         "metadata": {"name": name},
///         "spec": {"capacity": {"storage": size}, "storageClassName": class},
///         "status": {"phase": "Available"},
///     }))
///     .unwrap()
/// };
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "50Gi"}}}}"#,
/// )?;
/// let volumes = [
///     volume("pv-1", "slow", "100Gi"),
///     volume("pv-2", "fast", "2Gi"),
///     volume("pv-3", "fast", "1Gi"),
/// ];
/// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
/// assert_eq!(
///     report.to_string(),
///     "0 of 3 volumes fit: 1 has another class, 2 are too small (largest 2Gi, asked 50Gi)"
/// );
/// let nearest = report.near_misses();
/// assert_eq!(nearest[0].volume.name(), "pv-1");
/// assert_eq!(nearest[1].shortfall().unwrap().bytes.to_string(), "48Gi");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatchReport<'a> {
    /// The claim.
    pub claim: &'a PersistentVolumeClaim,
    /// What is wrong with the claim itself, so that no volume can be found.
    ///
    /// The controller's search only finds it out when a group of volumes has
    /// the claim's access modes; the report always says it.
    pub error: Option<FindError>,
    /// Every volume, in the order of the buckets, then of size and name; in the
    /// bucket of the refused the nearest misses first.
    pub volumes: Vec<VolumeReport<'a>>,
}

impl<'a> MatchReport<'a> {
    /// Judges every volume for the claim. Never fails: what is wrong with the
    /// claim itself stands in [`error`](Self::error).
    ///
    /// ```
    /// use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// use serde_json::{from_value, json};
    /// let volume: PersistentVolume = from_value(json!({
    ///     "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    ///     "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
    ///         {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-a"]}]}]}}}}))?;
    /// let node: Node = from_value(json!({"metadata": {"labels": {"kubernetes.io/hostname": "node-b"}}}))?;
    /// let claim = PersistentVolumeClaim::default();
    /// let on_node = FindOptions { node_labels: Some(node.metadata.labels()), ..FindOptions::default() };
    /// let report = MatchReport::new(&claim, [&volume], &on_node);
    /// assert_eq!(report.to_string(), "0 of 1 volume fit: 1 cannot be reached from the node");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(
        claim: &'a PersistentVolumeClaim,
        volumes: impl IntoIterator<Item = &'a PersistentVolume>,
        options: &FindOptions<'_>,
    ) -> Self {
        let mut all: Vec<&PersistentVolume> = volumes.into_iter().collect();
        all.sort_by(|a, b| a.name().cmp(b.name()));
        let checked = check_claim(claim, options.features);
        let chosen = choose(claim, &all, options);
        let judge = Judge {
            claim,
            selector: checked.as_ref().ok().and_then(Option::as_ref),
            error: checked.as_ref().err(),
            options,
            chosen,
        };
        let mut volumes: Vec<_> = all.into_iter().map(|volume| judge.report(volume)).collect();
        volumes.sort_by(|a, b| a.bucket.cmp(&b.bucket).then_with(|| nearest_first(a, b)));
        MatchReport {
            claim,
            error: checked.err(),
            volumes,
        }
    }

    /// The volume that the claim gets.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// let volume: PersistentVolume =
    ///     serde_json::from_str(r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}}"#)?;
    /// let claim = PersistentVolumeClaim::default();
    /// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
    /// assert_eq!(report.chosen().unwrap().name(), "pv-1");
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn chosen(&self) -> Option<&'a PersistentVolume> {
        let first = self.volumes.first()?;
        (first.bucket == Bucket::Chosen).then_some(first.volume)
    }

    /// The volumes of one bucket.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Bucket, FindOptions, MatchReport};
    /// use serde_json::{from_value, json};
    /// let volumes: Vec<PersistentVolume> = from_value(json!([
    ///     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    ///      "spec": {"capacity": {"storage": "100Gi"}, "accessModes": ["ReadWriteOnce"]}},
    ///     {"metadata": {"name": "pv-2"}, "status": {"phase": "Available"},
    ///      "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}}]))?;
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {"accessModes": ["ReadWriteOnce"]}}))?;
    /// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
    /// // The larger one goes first, since it can do no more than was asked.
    /// assert_eq!(report.chosen().unwrap().name(), "pv-1");
    /// let later: Vec<_> = report.bucket(Bucket::FitsSearchedLater).map(|one| one.volume.name()).collect();
    /// assert_eq!(later, ["pv-2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bucket(&self, bucket: Bucket) -> impl Iterator<Item = &VolumeReport<'a>> {
        self.volumes
            .iter()
            .filter(move |report| report.bucket == bucket)
    }

    /// The volumes that do not fit, those first that miss by least: fewest
    /// refusals, then the smallest shortfall, then the lowest name.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// let volume = |name: &str, phase: &str, size: &str| -> PersistentVolume {
    ///     serde_json::from_value(serde_json::json!({"metadata": {"name": name},
    ///         "spec": {"capacity": {"storage": size}}, "status": {"phase": phase}})).unwrap()
    /// };
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "9Gi"}}}}"#)?;
    /// let volumes = [
    ///     volume("a", "Released", "1Gi"), volume("b", "Available", "1Gi"), volume("c", "Available", "8Gi"),
    /// ];
    /// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
    /// let names: Vec<_> = report.near_misses().iter().map(|miss| miss.volume.name()).collect();
    /// assert_eq!(names, ["c", "b", "a"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn near_misses(&self) -> Vec<&VolumeReport<'a>> {
        let mut misses: Vec<_> = self
            .volumes
            .iter()
            .filter(|report| !report.refusals.is_empty())
            .collect();
        misses.sort_by(|a, b| nearest_first(a, b));
        misses
    }

    /// The counts behind the sentence. Linear in the number of volumes.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// use serde_json::{from_value, json};
    /// let volumes: Vec<PersistentVolume> = from_value(json!([
    ///     {"metadata": {"name": "pv-1"}, "status": {"phase": "Available"}, "spec": {"capacity": {"storage": "9Gi"}}},
    ///     {"metadata": {"name": "pv-2"}, "status": {"phase": "Available"}, "spec": {"capacity": {"storage": "5Gi"}}},
    ///     {"metadata": {"name": "pv-3"}, "status": {"phase": "Bound"}}]))?;
    /// let claim = PersistentVolumeClaim::default();
    /// let summary = MatchReport::new(&claim, &volumes, &FindOptions::default()).summary();
    /// assert_eq!((summary.fitting, summary.total), (2, 3));
    /// assert_eq!(summary.chosen.unwrap().name(), "pv-2");
    /// assert_eq!(summary.to_string(), "2 of 3 volumes fit, best pv-2 (5Gi): 1 is Bound");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn summary(&self) -> Summary<'a> {
        Summary::of(self)
    }
}

impl fmt::Display for MatchReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary().fmt(f)
    }
}

/// The volume that the search finds among volumes that are sorted by name.
fn choose<'v>(
    claim: &PersistentVolumeClaim,
    volumes: &[&'v PersistentVolume],
    options: &FindOptions<'_>,
) -> Option<&'v PersistentVolume> {
    let candidates = volumes
        .iter()
        .copied()
        .filter(|volume| check_not_excluded(volume, options.excluded).is_ok());
    let found = if options.node_labels.is_some() {
        find_matching_volume(claim, candidates, options)
    } else {
        let options = SearchOptions {
            delay_binding: options.delay_binding,
            features: options.features,
        };
        find_best_match_for_claim(claim, candidates, options)
    };
    found.unwrap_or_default()
}

fn nearest_first(a: &VolumeReport<'_>, b: &VolumeReport<'_>) -> std::cmp::Ordering {
    let by_refusals = a.refusals.len().cmp(&b.refusals.len());
    // The shortfall itself may be a long number; which is smaller shows without
    // writing it out, since all ask for the same.
    let is_small = |refusal: &Refusal<'_>| matches!(refusal, Refusal::TooSmall { .. });
    let too_small = |report: &VolumeReport<'_>| report.refusals.iter().any(is_small);
    by_refusals
        .then_with(|| too_small(a).cmp(&too_small(b)))
        .then_with(|| {
            let by_size = a.volume.storage().cmp(b.volume.storage());
            // The larger of two that are too small is the nearer.
            if too_small(a) {
                by_size.reverse()
            } else {
                by_size
            }
        })
        .then_with(|| a.volume.name().cmp(b.volume.name()))
}

struct Judge<'a, 'j> {
    claim: &'a PersistentVolumeClaim,
    selector: Option<&'j CompiledLabelSelector>,
    error: Option<&'j FindError>,
    options: &'j FindOptions<'j>,
    chosen: Option<&'a PersistentVolume>,
}

impl<'a> Judge<'a, '_> {
    fn report(&self, volume: &'a PersistentVolume) -> VolumeReport<'a> {
        let is_reserved = volume.is_bound_to(self.claim);
        let refusals = self.refusals(volume, is_reserved);
        let bucket = if self
            .chosen
            .is_some_and(|chosen| std::ptr::eq(chosen, volume))
        {
            Bucket::Chosen
        } else if refusals.is_empty() {
            self.bucket_of_fitting(volume, is_reserved)
        } else if is_reserved {
            Bucket::ReservedUnusable
        } else {
            Bucket::Refused
        };
        VolumeReport {
            volume,
            bucket,
            is_reserved,
            refusals,
        }
    }

    fn bucket_of_fitting(&self, volume: &PersistentVolume, is_reserved: bool) -> Bucket {
        let same_group = |chosen: &PersistentVolume| {
            let set = |volume: &PersistentVolume| AccessModeSet::of(volume.access_modes());
            self.options.node_labels.is_some() || set(chosen) == set(volume)
        };
        match self.chosen {
            Some(chosen)
                if !is_reserved && !chosen.is_bound_to(self.claim) && same_group(chosen) =>
            {
                Bucket::FitsLarger
            }
            _ => Bucket::FitsSearchedLater,
        }
    }

    /// All rules that refuse the volume, in upstream's order.
    fn refusals(&self, volume: &'a PersistentVolume, is_reserved: bool) -> Vec<Refusal<'a>> {
        let (claim, options) = (self.claim, self.options);
        let mut refusals = Vec::new();
        let mut judge = |result: Result<(), Refusal<'a>>| refusals.extend(result.err());
        judge(check_not_excluded(volume, options.excluded));
        judge(check_claim_ref(volume, claim));
        judge(check_capacity(volume, claim));
        judge(check_volume_mode(volume, claim));
        judge(check_attributes_class(volume, claim, options.features));
        judge(check_not_being_deleted(volume));
        if let Some(labels) = options.node_labels {
            judge(check_node_affinity(volume, labels));
        } else {
            judge(check_known_access_modes(volume, claim));
        }
        if let Some(FindError::Selector { .. }) = self.error {
            judge(Err(Refusal::SelectorUnparsable));
        }
        if is_reserved {
            return refusals;
        }
        if options.delay_binding && options.node_labels.is_none() {
            judge(check_reserved(volume, claim));
        }
        judge(check_phase(volume));
        judge(check_selector(volume, self.selector));
        judge(check_class(volume, claim));
        if options.node_labels.is_some() {
            judge(check_access_modes(volume, claim));
        }
        refusals
    }
}
