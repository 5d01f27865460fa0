//! The report in one sentence.

use std::fmt;

use super::report::Bucket;
use super::{FindError, MatchReport, Refusal, VolumeReport};
use crate::api::{PersistentVolume, VolumePhase};
use crate::quantity::Quantity;

/// How many volumes fit, and how many do not for which main reason: what
/// [`MatchReport`] prints as a sentence.
///
/// Each volume counts once. Of several refusals the one counts that says most
/// about why the volume was never meant for the claim: another class goes
/// before another size.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport};
/// let volume = |class: &str, size: &str| -> PersistentVolume {
///     serde_json::from_value(serde_json::json!({"status": {"phase": "Available"},
///         "spec": {"capacity": {"storage": size}, "storageClassName": class}})).unwrap()
/// };
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// // The first fails two rules, and counts for its class.
/// let volumes = [volume("slow", "1Gi"), volume("fast", "1Gi"), volume("fast", "2Gi")];
/// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
/// let summary = report.summary();
/// assert_eq!((summary.total, summary.fitting), (3, 0));
/// let counts: Vec<_> = summary.refused.iter()
///     .map(|refused| (refused.refusal.code(), refused.count))
///     .collect();
/// assert_eq!(counts, [("class", 1), ("too-small", 2)]);
/// let (largest, asked) = summary.largest_too_small().unwrap();
/// assert_eq!([largest.to_string(), asked.to_string()], ["2Gi", "5Gi"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary<'a> {
    /// How many volumes there are.
    pub total: usize,
    /// How many fit, the chosen one included.
    pub fitting: usize,
    /// The volume that the claim gets.
    pub chosen: Option<&'a PersistentVolume>,
    /// How many do not fit, by their main reason, in the order of the sentence.
    /// That is one of rules, whatever the counts: an earlier claim's volumes,
    /// class, volume mode, VolumeAttributesClass, access modes, size, selector,
    /// other claims' volumes and reservations, being deleted, phase, and what
    /// depends on the caller.
    pub refused: Vec<RefusedCount<'a>>,
    /// What is wrong with the claim itself.
    pub error: Option<FindError>,
}

/// How many volumes are refused for one main reason.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport};
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"metadata": {"name": "pv-1"}, "status": {"phase": "Released"},
///         "spec": {"claimRef": {"name": "data", "uid": "u-1"}}}"#)?;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"name": "data", "uid": "u-2"}}"#)?;
/// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
/// let refused = &report.summary().refused[0];
/// assert_eq!((refused.count, refused.example.name()), (1, "pv-1"));
/// assert_eq!(
///     refused.to_string(),
///     "1 was released by an earlier claim of this name (pv-1; clear its claimRef to use it again)",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RefusedCount<'a> {
    /// Whether they are reserved for the claim, and yet cannot be taken.
    pub are_reserved: bool,
    /// The refusal of one of them; of those that are too small, the largest.
    pub refusal: Refusal<'a>,
    /// How many there are.
    pub count: usize,
    /// One of them.
    pub example: &'a PersistentVolume,
}

impl<'a> Summary<'a> {
    pub(super) fn of(report: &MatchReport<'a>) -> Self {
        Summary::weighted(report, |_| 1)
    }

    /// The same for a report on a part of the volumes, each of which stands for
    /// so many that have the same main refusal: see `diagnosis`.
    pub(crate) fn weighted(
        report: &MatchReport<'a>,
        weight: impl Fn(&PersistentVolume) -> usize,
    ) -> Self {
        let mut refused: Vec<RefusedCount<'a>> = Vec::new();
        let (mut total, mut fitting) = (0_usize, 0_usize);
        for volume in &report.volumes {
            let weight = weight(volume.volume);
            total = total.saturating_add(weight);
            match main_refusal(volume) {
                _ if weight == 0 => {}
                None => fitting = fitting.saturating_add(weight),
                Some(refusal) => count(&mut refused, refusal, volume, weight),
            }
        }
        refused.sort_by_key(RefusedCount::order);
        Summary {
            total,
            fitting,
            chosen: report.chosen(),
            refused,
            error: report.error.clone(),
        }
    }
}

fn main_refusal<'a>(report: &VolumeReport<'a>) -> Option<Refusal<'a>> {
    if report.bucket == Bucket::Chosen {
        return None;
    }
    report.refusals.iter().copied().min_by_key(rank)
}

/// Which refusal says most about a volume, and the order of the sentence.
/// Refusals of equal rank are counted together.
fn rank(refusal: &Refusal<'_>) -> u8 {
    match refusal {
        Refusal::ClaimedByOther {
            earlier_claim: true,
            ..
        } => 0,
        Refusal::Class { .. } => 1,
        Refusal::VolumeMode { .. } => 2,
        Refusal::AttributesClass { .. } => 3,
        Refusal::AttributesClassDisabled { .. } => 4,
        Refusal::AccessModes { .. } => 5,
        Refusal::TooSmall { .. } => 6,
        Refusal::Selector => 7,
        Refusal::ClaimedByOther { by, .. } if !by.uid().is_empty() => 8,
        Refusal::ClaimedByOther { .. } => 9,
        Refusal::BeingDeleted { .. } => 10,
        Refusal::Phase { .. } => 11,
        Refusal::NodeAffinity { .. } => 12,
        Refusal::Excluded => 13,
        Refusal::NotReserved => 14,
        Refusal::SelectorUnparsable => 15,
    }
}

fn count<'a>(
    counts: &mut Vec<RefusedCount<'a>>,
    refusal: Refusal<'a>,
    report: &VolumeReport<'a>,
    weight: usize,
) {
    let new = RefusedCount {
        are_reserved: report.is_reserved,
        refusal,
        count: weight,
        example: report.volume,
    };
    match counts
        .iter_mut()
        .find(|counted| counted.order() == new.order())
    {
        None => counts.push(new),
        Some(counted) => {
            let count = counted.count.saturating_add(weight);
            let is_larger = new.example.storage() > counted.example.storage();
            if is_larger && matches!(refusal, Refusal::TooSmall { .. }) {
                *counted = new;
            }
            counted.count = count;
        }
    }
}

impl RefusedCount<'_> {
    /// The place in the sentence; volumes of one place are counted together.
    fn order(&self) -> (bool, u8) {
        (!self.are_reserved, rank(&self.refusal))
    }
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(error) = &self.error {
            return error.fmt(f);
        }
        if self.total == 0 {
            return f.write_str("there are no volumes");
        }
        let (total, fitting) = (self.total, self.fitting);
        let volumes = if total == 1 { "volume" } else { "volumes" };
        let fit = if fitting == 1 { "fits" } else { "fit" };
        write!(f, "{fitting} of {total} {volumes} {fit}")?;
        if let Some(chosen) = self.chosen {
            write!(f, ", best {} ({})", chosen.name(), chosen.storage())?;
        } else if fitting > 0 {
            // The one way to this: see `find_matching_volume`.
            f.write_str(", but one that is reserved for the claim goes first")?;
        }
        for (index, refused) in self.refused.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { ", " })?;
            refused.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for RefusedCount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.reason())
    }
}

/// What is to be read after the number.
pub(crate) struct Reason<'r, 'a>(&'r RefusedCount<'a>);

impl<'a> RefusedCount<'a> {
    /// The sentence without its number.
    pub(crate) fn reason(&self) -> Reason<'_, 'a> {
        Reason(self)
    }
}

impl fmt::Display for Reason<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = self.0;
        let one = refused.count == 1;
        let is = if one { "is" } else { "are" };
        let has = if one { "has" } else { "have" };
        if refused.are_reserved {
            let name = refused.example.name();
            return write!(
                f,
                "{is} reserved for this claim, but unusable ({name} {})",
                refused.refusal
            );
        }
        match &refused.refusal {
            Refusal::Class { .. } => write!(f, "{has} another class"),
            Refusal::VolumeMode { .. } => write!(f, "{has} another volume mode"),
            Refusal::AttributesClass { .. } => {
                write!(f, "{has} another VolumeAttributesClass")
            }
            Refusal::AttributesClassDisabled { .. } => {
                let name = if one { "names" } else { "name" };
                write!(f, "{name} a VolumeAttributesClass, which is disabled")
            }
            Refusal::AccessModes { .. } => {
                let lack = if one { "lacks" } else { "lack" };
                write!(f, "{lack} an access mode")
            }
            Refusal::TooSmall { has, asked } => {
                write!(f, "{is} too small (largest {has}, asked {asked})")
            }
            Refusal::Selector => {
                let fail = if one { "does" } else { "do" };
                write!(f, "{fail} not satisfy the selector")
            }
            Refusal::ClaimedByOther {
                earlier_claim: true,
                ..
            } => refused.fmt_earlier_claim(f),
            Refusal::ClaimedByOther { by, .. } => {
                let how = match (by.uid().is_empty(), one) {
                    (true, true) => "is reserved for",
                    (true, false) => "are reserved for",
                    (false, true) => "belongs to",
                    (false, false) => "belong to",
                };
                if one {
                    write!(f, "{how} {}", by.key())
                } else {
                    write!(f, "{how} other claims")
                }
            }
            Refusal::BeingDeleted { .. } => write!(f, "{is} being deleted"),
            Refusal::Phase { has: Some(phase) } if one => write!(f, "is {phase}"),
            Refusal::Phase { .. } => write!(f, "{is} not Available"),
            Refusal::NodeAffinity { .. } => {
                write!(f, "cannot be reached from the node")
            }
            Refusal::Excluded => write!(f, "{is} excluded"),
            Refusal::NotReserved => write!(
                f,
                "{is} not reserved for the claim, which waits for its first consumer"
            ),
            Refusal::SelectorUnparsable => write!(f, "cannot be judged"),
        }
    }
}

impl RefusedCount<'_> {
    /// A volume that an earlier claim of the same name left behind, which
    /// people expect to be taken again.
    fn fmt_earlier_claim(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.example.name();
        let one = self.count == 1;
        let (was, belong) = if one {
            ("was", "belongs")
        } else {
            ("were", "belong")
        };
        if self.example.status.phase == Some(VolumePhase::Released) {
            write!(
                f,
                "{was} released by an earlier claim of this name ({name}; clear its \
                 claimRef to use it again)"
            )
        } else {
            write!(
                f,
                "still {belong} to an earlier claim of this name ({name})"
            )
        }
    }
}

impl<'a> Summary<'a> {
    /// The largest volume of those that count as too small, with the request;
    /// `None` if there is none. One that is also of another class counts for
    /// its class.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{FindOptions, MatchReport};
    /// use serde_json::{from_value, json};
    /// let volumes: Vec<PersistentVolume> = from_value(json!([
    ///     {"spec": {"storageClassName": "fast", "capacity": {"storage": "2Gi"}}},
    ///     {"spec": {"storageClassName": "slow", "capacity": {"storage": "4Gi"}}}]))?;
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {
    ///     "storageClassName": "fast", "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
    /// let (largest, asked) = report.summary().largest_too_small().unwrap();
    /// assert_eq!(format!("at most {largest} of {asked}"), "at most 2Gi of 5Gi");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn largest_too_small(&self) -> Option<(&'a Quantity, &'a Quantity)> {
        self.refused
            .iter()
            .find_map(|counted| match counted.refusal {
                Refusal::TooSmall { has, asked } => Some((has, asked)),
                _ => None,
            })
    }
}
