//! Volumes of a pod on nodes: what the scheduler decides for claims that wait
//! for their first consumer.
//!
//! Only volumes are looked at: whether a node is cordoned, has taints or fails the
//! pod's own selector and affinity is for the rest of the scheduler.
//!
//! In the order in which a scheduler asks:
//!
//! | question | function | upstream (Kubernetes 1.36, volume binding plug-in) |
//! | --- | --- | --- |
//! | may the pod be scheduled at all? | [`pre_filter`] | `PreFilter` |
//! | which claims, and which of them are bound? | [`PodClaims::of`] | `GetPodVolumeClaims` |
//! | does a node fit, with which volumes? | [`find_pod_volumes`] | `FindPodVolumes` |
//! | the same, for thousands of nodes | [`find_pod_volumes_on_nodes`] | none |
//! | why does a node not fit? | [`PodSearch::explain`] | none |
//! | what to keep in mind, and to write, for the node chosen? | [`Assumptions::assume`] | `AssumePodVolumes` |
//! | does a node fit if the volumes are chosen together? | [`assign_pod_volumes`] | none |
//! | which of the nodes that fit is the better one? | [`utilization_score`], [`least_waste_scores`] | the score of the plug-in |
//! | may one more pod use a claim? | [`check_access`] | the volume restrictions plug-in |
//! | is everything bound? | [`bind_progress`] | `checkBindings` |
//!
//! [`find_pod_volumes_plain`] is the definition of what a node's answer is: it
//! visits every volume and follows the rules from top to bottom. The other two
//! forms give the same answers, from the index.

mod claims;
pub use claims::{PodClaims, SplitError};

mod pre_filter;
pub use pre_filter::{ClaimNotReady, PreFilterRefusal, check_pod_claims, pre_filter};

mod reason;
pub use reason::{UnfitReason, UnfitReasons};

mod json;

mod answer;
pub use answer::{DynamicProvision, FindVolumesError, PodVolumes, StaticBinding};

mod pools;

mod provision;

mod batch;

mod search;
pub use search::{PodSearch, find_pod_volumes, find_pod_volumes_on_nodes};

mod plain;
pub use plain::find_pod_volumes_plain;

mod obstacle;
pub use obstacle::{Obstacle, PoolOutcome, PoolReport, ProvisionRefusal};

mod explain;

mod assume;
pub use assume::{Assumption, Assumptions};

mod assumed_view;
pub use assumed_view::AssumedView;

mod progress;
pub use progress::{BindProgress, PendingBind, RescheduleReason, bind_progress};

mod assignment;
pub use assignment::{PoolRoom, assign_pod_volumes};

mod score;
pub use score::{
    MAX_NODE_SCORE, ScoreShape, ShapeError, ShapePoint, least_waste_scores, utilization_score,
    wasted_bytes,
};

mod access;
pub use access::{AccessConflict, PodInTheWay, Sharing, check_access};
