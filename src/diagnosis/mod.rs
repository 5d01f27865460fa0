//! Why a claim is pending or lost, why a volume is not used again, why a pod is
//! not scheduled: for people and for programs.
//!
//! | question | function |
//! | --- | --- |
//! | what about this claim, volume, pod? | [`diagnose_claim`], [`diagnose_volume`], [`diagnose_pod`] |
//! | what about all of them, the worst first? | [`diagnose_view`] |
//! | the same for many objects of one view | [`Survey`] |
//!
//! Each of the functions looks over the whole view first, which costs time in
//! proportion to it; a [`Survey`] does so once. Kubernetes has nothing like them.
//!
//! The answer is a [`Diagnosis`]: a list of [`Finding`]s, of which the first is
//! the main cause and the others are notes. A finding has a stable [`Code`], a
//! [`Severity`], its facts as typed fields, one sentence, and [`Remedy`]s: what
//! to do, the patch for it where there is one, and what follows from it.
//! Everything can be serialized, and [`Diagnosis::text`] prints it for a
//! terminal.
//!
//! **A diagnosis never contradicts the decision.** It holds no rule of its own:
//! it calls [`sync_claim`](crate::controller::sync_claim),
//! the provisioner's [`sync_claim`](crate::provisioner::sync_claim),
//! [`sync_volume`](crate::controller::sync_volume),
//! [`pre_filter`](crate::scheduling::pre_filter) and the searches, reads what
//! they decided, and asks [`matching`](crate::matching) for the reasons.
//!
//! Beside that it knows what stands outside of this crate's decisions and keeps
//! people awake all the same: the zone and region labels of volumes, which the
//! scheduler's plugin `VolumeZone` looks at; scheduling gates; the plugin for
//! host paths, which deletes nothing but what is below `/tmp`; and what API
//! servers refuse, as an access mode `RWO`, which a manifest may still hold.
//!
//! What a cluster is asked is in [`DiagnosticView`](crate::view::DiagnosticView);
//! of what a view does not hold, see [`Known`].

#[macro_use]
mod parts;
pub use parts::{ClaimStop, Counted, Holder, Miss, PodStanding, Rule, Slip};

mod code;
pub use code::{Code, CodeError, Severity, SeverityError};

mod finding;
pub use finding::{Diagnosis, Facts, Finding, Kind, ObjectName, Patch, Remedy};

mod claim_facts;
mod claim_sentences;
pub use claim_facts::ClaimFacts;

mod volume_facts;
mod volume_sentences;
pub use volume_facts::{Reclaim, VolumeFacts};

mod pod_facts;
pub use pod_facts::{ClaimStanding, PodFacts};

mod external;

mod known;
pub use known::Known;

mod survey;
pub use survey::{Survey, diagnose_claim, diagnose_pod, diagnose_view, diagnose_volume};

mod overview;
pub use overview::ViewDiagnosis;

mod text;
pub use text::{TextStyle, printable};

mod census;
mod claim;
mod demand;
mod naming;
mod pod;
mod reach;
mod similar;
mod volume;
mod words;
mod zone;
