//! Why a driver cannot be asked for a volume.

use super::{RESERVED_PREFIX, SecretProblem, SecretUse, TopologyError};
use crate::api::ClaimKey;
use crate::quantity::Quantity;

/// Why a driver cannot be asked for the volume of a claim, or asked to delete
/// one. The first that is found is told.
///
/// ```
/// use pvbind::provisioner::{RequestError, SecretUse};
/// let error = RequestError::SecretIncomplete { usage: Some(SecretUse::NodeStage) };
/// assert_eq!(error.code(), "secret");
/// assert_eq!(
///     error.to_string(),
///     "the class's node-stage secret needs both a name and a namespace"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The claim has no uid, from which the volume's name would be made.
    #[error("the claim has no uid")]
    NoUid,
    /// The claim's uid makes a name that no volume can have, or that is longer
    /// than the CSI specification allows.
    #[error("no volume can have the name `{name}`")]
    VolumeName {
        /// The name.
        name: String,
    },
    /// The claim has a selector, if only an empty one: a new volume has no
    /// labels to select. The text is upstream's.
    #[error("claim Selector is not supported")]
    Selector,
    /// The claim asks for no access mode.
    #[error("the claim asks for no access mode")]
    NoAccessMode,
    /// The driver cannot be told of an access mode.
    #[error("driver `{driver}` does not know the access mode `{mode}`")]
    AccessMode {
        /// The driver.
        driver: String,
        /// The mode.
        mode: String,
    },
    /// The claim's volume mode is none that there is.
    #[error("there is no volume mode `{mode}`")]
    VolumeMode {
        /// The mode.
        mode: String,
    },
    /// The claim's storage request is negative or beyond 64 bits of bytes.
    #[error("the claim asks for `{asked}` of storage, which is no size of a volume")]
    Size {
        /// What is asked for.
        asked: Quantity,
    },
    /// The class has a reserved parameter that there is not. The text is
    /// upstream's.
    #[error(
        "failed to strip CSI Parameters of prefixed keys: found unknown parameter key {key:?} \
         with reserved namespace {RESERVED_PREFIX}"
    )]
    UnknownReservedKey {
        /// Its key.
        key: String,
    },
    /// The class names a file system under two keys.
    #[error("the class names a file system twice: `{}` and `{}`", these[0], these[1])]
    TwoFsTypes {
        /// What it names, in the order of the keys.
        these: [String; 2],
    },
    /// The class names a secret without its namespace, or the other way round.
    #[error(
        "the class's {} secret needs both a name and a namespace",
        usage.map_or("default", SecretUse::as_str)
    )]
    SecretIncomplete {
        /// Which secret; `None` for the one for every use.
        usage: Option<SecretUse>,
    },
    /// The class's name for a secret cannot be filled in.
    #[error("the class's {} secret: {part} `{template}`: {problem}", usage.as_str())]
    SecretTemplate {
        /// Which secret.
        usage: SecretUse,
        /// `name` or `namespace`.
        part: &'static str,
        /// What the class says.
        template: String,
        /// What is wrong with it.
        #[source]
        problem: SecretProblem,
    },
    /// It cannot be said where the volume must be reachable from.
    #[error("error generating accessibility requirements: {0}")]
    Topology(#[from] TopologyError),
    /// The claim is filled by a populator, which makes its volume.
    #[error("`{kind}` `{name}` fills the volume: its populator is to make it")]
    ForPopulator {
        /// The data source's kind, with its group.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The claim is to be filled from a snapshot of a group that has none. The
    /// text is upstream's.
    #[error(
        "the PVC source does not belong to the right APIGroup. \
         Expected snapshot.storage.k8s.io, Got {group}"
    )]
    SnapshotGroup {
        /// The group, "" for the core.
        group: String,
    },
    /// The claim is to be filled from a snapshot, which was not looked up.
    #[error("snapshot `{snapshot}` is not ready to be read from")]
    SnapshotNotGiven {
        /// `NAMESPACE/NAME` of the snapshot.
        snapshot: String,
    },
    /// The claim is to be filled from another claim, and cannot be.
    #[error("claim `{source_claim}` cannot be copied: {problem}")]
    CannotCopy {
        /// The other claim.
        source_claim: ClaimKey,
        /// Why not.
        problem: &'static str,
    },
    /// The claim names a VolumeAttributesClass, and the driver takes none.
    #[error("the driver takes no VolumeAttributesClass, and the claim names `{class}`")]
    AttributesClass {
        /// The class.
        class: String,
    },
    /// The claim names a VolumeAttributesClass, which was not looked up.
    #[error("VolumeAttributesClass `{class}` was not found")]
    AttributesNotGiven {
        /// The class.
        class: String,
    },
    /// A volume that is to be deleted has no CSI source with a handle.
    #[error("the volume has no CSI source with a handle")]
    NoHandle,
}

impl RequestError {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::{RequestError, TopologyError};
    /// // One code for all that can be wrong with topology; the text tells which.
    /// let error = RequestError::Topology(TopologyError::NoTopology);
    /// assert_eq!(error.code(), "topology");
    /// assert_eq!(
    ///     error.to_string(),
    ///     "error generating accessibility requirements: no available topology found"
    /// );
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            RequestError::NoUid => "no-uid",
            RequestError::VolumeName { .. } => "volume-name",
            RequestError::Selector => "selector",
            RequestError::NoAccessMode | RequestError::AccessMode { .. } => "access-mode",
            RequestError::VolumeMode { .. } => "volume-mode",
            RequestError::Size { .. } => "size",
            RequestError::UnknownReservedKey { .. } => "reserved-parameter",
            RequestError::TwoFsTypes { .. } => "file-system",
            RequestError::SecretIncomplete { .. } | RequestError::SecretTemplate { .. } => "secret",
            RequestError::Topology(_) => "topology",
            RequestError::ForPopulator { .. } => "for-populator",
            RequestError::SnapshotGroup { .. }
            | RequestError::SnapshotNotGiven { .. }
            | RequestError::CannotCopy { .. } => "data-source",
            RequestError::AttributesClass { .. } | RequestError::AttributesNotGiven { .. } => {
                "attributes-class"
            }
            RequestError::NoHandle => "no-handle",
        }
    }
}
