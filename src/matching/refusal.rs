//! Why a volume does not fit.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use crate::api::{
    AccessMode, NodeSelector, ObjectReference, PersistentVolume, VolumeMode, VolumePhase,
};
use crate::quantity::Quantity;

/// Why a volume does not fit a claim, with the facts.
///
/// The facts are borrowed from the volume and the claim, so that a refusal
/// costs nothing to make. `Display` is half a sentence that goes on from the
/// volume's name ("is too small: has 5Gi, asked 10Gi"); [`Refusal::code`] is
/// for programs and never changes.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Refusal, check_capacity};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "5Gi"}}}"#)?;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"resources": {"requests": {"storage": "10Gi"}}}}"#)?;
/// let refusal = check_capacity(&volume, &claim).unwrap_err();
/// let Refusal::TooSmall { has, asked } = refusal else { panic!() };
/// assert!(has < asked);
/// assert_eq!(refusal.to_string(), "is too small: has 5Gi, asked 10Gi");
/// assert_eq!(refusal.code(), "too-small");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal<'a> {
    /// The caller excluded the volume by name.
    Excluded,
    /// The volume is bound to another claim or reserved for it.
    ClaimedByOther {
        /// The volume's claimRef.
        by: &'a ObjectReference,
        /// The claimRef has this claim's namespace and name and another uid:
        /// it was bound to an earlier claim of the same name, which is gone.
        earlier_claim: bool,
    },
    /// The volume is smaller than the claim's request.
    TooSmall {
        /// The volume's capacity in bytes; zero if it does not say.
        has: &'a Quantity,
        /// The claim's request in bytes.
        asked: &'a Quantity,
    },
    /// The one is a file system, the other a raw device.
    VolumeMode {
        /// The volume's mode.
        has: &'a VolumeMode,
        /// The claim's mode.
        asked: &'a VolumeMode,
    },
    /// The VolumeAttributesClass differs.
    AttributesClass {
        /// The volume's VolumeAttributesClass, "" if none.
        has: &'a str,
        /// The claim's VolumeAttributesClass, "" if none.
        asked: &'a str,
    },
    /// The volume or the claim names a VolumeAttributesClass, while the feature
    /// is off.
    AttributesClassDisabled {
        /// The volume's VolumeAttributesClass, "" if none.
        has: &'a str,
        /// The claim's VolumeAttributesClass, "" if none.
        asked: &'a str,
    },
    /// Somebody asked for the volume's deletion.
    BeingDeleted {
        /// The volume's name.
        volume: &'a str,
    },
    /// The volume cannot be reached from the node.
    NodeAffinity {
        /// What the volume requires of a node.
        required: &'a NodeSelector,
        /// Whether the requirement cannot be parsed, which counts as not
        /// matching.
        unparsable: bool,
    },
    /// Binding waits for the first consumer, so that the controller itself only
    /// takes a volume that is reserved for the claim.
    NotReserved,
    /// The volume's phase is not Available.
    Phase {
        /// The phase, if the volume has one.
        has: Option<&'a VolumePhase>,
    },
    /// The volume's labels do not satisfy the claim's selector.
    Selector,
    /// The claim's selector cannot be parsed.
    SelectorUnparsable,
    /// The class differs.
    Class {
        /// The volume's class, "" if none.
        has: &'a str,
        /// The claim's class, "" if none.
        asked: &'a str,
    },
    /// The volume lacks a mode that the claim asks for.
    AccessModes {
        /// The volume's modes.
        has: &'a [AccessMode],
        /// The claim's modes.
        asked: &'a [AccessMode],
    },
}

impl Refusal<'_> {
    /// The stable name of the rule that refused.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{check_class, check_phase};
    /// use serde_json::{from_value, json};
    /// let claim: PersistentVolumeClaim = from_value(json!({"spec": {"storageClassName": "fast"}}))?;
    /// let volumes: Vec<PersistentVolume> = from_value(json!([
    ///     {"spec": {"storageClassName": "slow"}}, {"status": {"phase": "Bound"}}]))?;
    /// let mut counts = BTreeMap::new(); // as labels of a metric
    /// for volume in &volumes {
    ///     for refusal in [check_class(volume, &claim), check_phase(volume)].into_iter().filter_map(Result::err) {
    ///         *counts.entry(refusal.code()).or_insert(0) += 1;
    ///     }
    /// }
    /// assert_eq!(counts, BTreeMap::from([("class", 2), ("phase", 2)])); // no phase is not Available
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Excluded => "excluded",
            Refusal::ClaimedByOther { .. } => "claimed-by-other",
            Refusal::TooSmall { .. } => "too-small",
            Refusal::VolumeMode { .. } => "volume-mode",
            Refusal::AttributesClass { .. } => "attributes-class",
            Refusal::AttributesClassDisabled { .. } => "attributes-class-disabled",
            Refusal::BeingDeleted { .. } => "being-deleted",
            Refusal::NodeAffinity { .. } => "node-affinity",
            Refusal::NotReserved => "not-reserved",
            Refusal::Phase { .. } => "phase",
            Refusal::Selector => "selector",
            Refusal::SelectorUnparsable => "selector-unparsable",
            Refusal::Class { .. } => "class",
            Refusal::AccessModes { .. } => "access-modes",
        }
    }
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Excluded => f.write_str("is excluded by the caller"),
            Refusal::ClaimedByOther {
                by,
                earlier_claim: true,
            } => write!(
                f,
                "still belongs to an earlier claim named {} (uid {})",
                by.key(),
                by.uid()
            ),
            Refusal::ClaimedByOther { by, .. } if by.uid().is_empty() => {
                write!(f, "is reserved for {}", by.key())
            }
            Refusal::ClaimedByOther { by, .. } => write!(f, "belongs to {}", by.key()),
            Refusal::TooSmall { has, asked } => {
                write!(f, "is too small: has {has}, asked {asked}")
            }
            Refusal::VolumeMode { has, asked } => {
                write!(f, "has volume mode {has}, asked {asked}")
            }
            Refusal::AttributesClass { has, asked } => write!(
                f,
                "has VolumeAttributesClass {}, asked {}",
                OrNone(has),
                OrNone(asked)
            ),
            Refusal::AttributesClassDisabled { has, asked } => write!(
                f,
                "VolumeAttributesClass is disabled (volume has {}, asked {})",
                OrNone(has),
                OrNone(asked)
            ),
            Refusal::BeingDeleted { .. } => f.write_str("is being deleted"),
            Refusal::NodeAffinity {
                unparsable: false, ..
            } => f.write_str("cannot be reached from the node"),
            Refusal::NodeAffinity {
                unparsable: true, ..
            } => f.write_str("has a node affinity that cannot be parsed"),
            Refusal::NotReserved => {
                f.write_str("is not reserved for the claim, which waits for its first consumer")
            }
            Refusal::Phase { has: Some(phase) } => write!(f, "is {phase}, not Available"),
            Refusal::Phase { has: None } => f.write_str("has no phase yet"),
            Refusal::Selector => f.write_str("does not satisfy the claim's selector"),
            Refusal::SelectorUnparsable => {
                f.write_str("cannot be judged: the claim's selector is invalid")
            }
            Refusal::Class { has, asked } => {
                write!(f, "has class {}, asked {}", OrNone(has), OrNone(asked))
            }
            Refusal::AccessModes { has, asked } => {
                write!(f, "has access modes {}, asked {}", Modes(has), Modes(asked))
            }
        }
    }
}

impl std::error::Error for Refusal<'_> {}

/// For programs: the code, and the text beside it.
impl Serialize for Refusal<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Refusal", 2)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("text", &self.to_string())?;
        fields.end()
    }
}

/// A name in backticks, or `none`.
struct OrNone<'a>(&'a str);

impl fmt::Display for OrNone<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("none"),
            name => write!(f, "`{name}`"),
        }
    }
}

struct Modes<'a>(&'a [AccessMode]);

impl fmt::Display for Modes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (index, mode) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match mode.is_unknown() {
                // `RWO` is no mode, though it reads like one.
                true => write!(f, "{comma}`{mode}`")?,
                false => write!(f, "{comma}{}", mode.abbreviation())?,
            }
        }
        Ok(())
    }
}

/// Why a claim cannot have the volume that it names: the refusal of
/// [`volume_satisfies_claim`](super::volume_satisfies_claim), whose `Display`
/// is the text that upstream puts into the event.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{Features, volume_satisfies_claim};
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "fast"}}"#)?;
/// let claim = PersistentVolumeClaim::default();
/// let mismatch = volume_satisfies_claim(&volume, &claim, Features::default()).unwrap_err();
/// // To people upstream says that they differ, and not how.
/// assert_eq!(mismatch.to_string(), "storageClassName does not match");
/// assert_eq!(mismatch.refusal.to_string(), "has class `fast`, asked none");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch<'a> {
    /// The first rule that refuses, with the facts.
    pub refusal: Refusal<'a>,
    pub(crate) volume: &'a PersistentVolume,
}

impl fmt::Display for Mismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.refusal {
            Refusal::BeingDeleted { .. } => write!(
                f,
                "the volume is marked for deletion {}",
                serde_json::Value::from(self.volume.name())
            ),
            Refusal::TooSmall { .. } => f.write_str("requested PV is too small"),
            Refusal::Class { .. } => f.write_str("storageClassName does not match"),
            Refusal::AttributesClass { .. } => {
                f.write_str("volumeAttributesClassName does not match")
            }
            Refusal::AttributesClassDisabled { .. } => f.write_str(
                "volumeAttributesClassName is not supported when the feature-gate \
                 VolumeAttributesClass is disabled",
            ),
            Refusal::VolumeMode { .. } => f.write_str("incompatible volumeMode"),
            Refusal::AccessModes { .. } => f.write_str("incompatible accessMode"),
            other => other.fmt(f),
        }
    }
}

impl std::error::Error for Mismatch<'_> {}
