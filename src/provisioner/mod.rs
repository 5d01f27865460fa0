//! The external (CSI) provisioner as decisions: what the sidecar beside a CSI
//! driver decides, for drivers that are written in Rust and for everybody who
//! wants to know what it would do.
//!
//! | call | on | upstream |
//! | --- | --- | --- |
//! | [`sync_claim`], then the answers to [`ClaimNext`] | a claim that was added or changed, or is due again | `syncClaim` of sig-storage-lib-external-provisioner 13 |
//! | [`CreateVolume::request`] | what the driver is asked for | `prepareProvision` of external-provisioner 6 |
//! | [`sync_volume`], then the answers to [`VolumeNext`] | a volume that was added or changed, or is due again | `syncVolume` of the library |
//! | [`topology_requirement`] | where a volume must be reachable from | `GenerateAccessibilityRequirements` |
//! | [`Ledger`] | between syncs: what is in progress, what is due when | its queues |
//!
//! Each sync looks at one object and a [view](crate::view::ProvisioningView) of
//! the cluster, and gives a [`Plan`](crate::plan::Plan); the call to the driver
//! is a value that waits for its answer. Events and errors are upstream's to
//! the letter where it has any. What is asked of the driver are plain types, in
//! [`csi`], that map one to one to the messages of the CSI specification; there
//! is no gRPC here.
//!
//! # What is held
//! - The same claim always asks under the same name, and on the same cluster for
//!   the same topology.
//! - A claim is never provisioned twice, whatever is retried or cut short: what
//!   was made before is asked for again under its name.
//! - No volume is deleted unless its policy is Delete, it is Released, and it
//!   is ours.
//!
//! # What is left to the embedder
//! Calling the driver, reading secrets, VolumeSnapshots and
//! VolumeAttributesClasses, waiting until what is due; translating classes and
//! volumes of in-tree plugins that the driver took over
//! ([`CreateVolume::provisioned`] takes such an object); refusing to delete a
//! volume that is attached still; publishing CSIStorageCapacities.
//!
//! [`run_claim`] and [`run_volume`] are the loops for a synchronous [`Driver`];
//! the example is at [`run_claim`].

pub mod csi;

mod config;
pub use config::{Config, TopologyConfig};

mod volume_names;
pub use volume_names::{VolumeNames, VolumeNamesError};

mod object_name;

mod claim;
pub use claim::{NotNow, check_claim};

mod error;
pub(crate) use error::NO_BLOCK_SUPPORT;
pub use error::ProvisionError;

mod sync_claim;
pub use sync_claim::{continue_claim, sync_claim};

mod next;
pub use next::{ClaimEnd, ClaimNext, ClaimOutcome, CleanUp, Progress, ReadHolder};

mod create;
pub use create::{CallState, CreateVolume};

mod request;
pub use request::RequestInputs;

mod request_error;
pub use request_error::RequestError;

mod parameters;
pub use parameters::{ClassParameters, RESERVED_PREFIX, SecretUse};

mod secret;
pub use secret::{SecretNames, SecretProblem, SecretReference};

mod source;
pub use source::DataSource;

mod volume_object;
pub use volume_object::AnswerError;

mod volume;
pub use volume::{Kept, NotOurs, check_deletable, check_ours};

mod sync_volume;
pub use sync_volume::{DeleteVolume, ReadVolume, VolumeNext, VolumeOutcome, sync_volume};

mod backoff;
pub use backoff::Backoff;

mod ledger;
pub use ledger::Ledger;

mod run;
pub use run::{
    ClaimReport, CreateAnswer, DeleteAnswer, Driver, VolumeReport, run_claim, run_volume,
};

mod topology;
pub use topology::{
    Segment, TopologyError, TopologyQuery, topology_requirement, topology_requirement_plain,
};

#[cfg(test)]
mod tests;
