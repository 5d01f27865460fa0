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
//!
//! # The way of a claim that waits for its first consumer
//!
//! In a simulation; a scheduler waits for watch events where this one asks again.
//!
//! ```
//! use pvbind::api::{Node, PersistentVolumeClaim, read_objects};
//! use pvbind::controller::{Config, MemoryServer, sync_claim};
//! use pvbind::matching::Features;
//! use pvbind::plan::carry_out;
//! use pvbind::scheduling::{Assumptions, BindProgress, bind_progress, find_pod_volumes, pre_filter};
//! use pvbind::view::{ClusterView, SchedulingView};
//!
//! let objects = read_objects(r#"
//!     {"kind": "StorageClass", "metadata": {"name": "local", "uid": "u-1"},
//!      "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
//!     {"kind": "PersistentVolume", "metadata": {"name": "pv-b", "uid": "u-2"}, "status": {"phase": "Available"},
//!      "spec": {"storageClassName": "local", "capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"],
//!               "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
//!                   {"key": "kubernetes.io/hostname", "operator": "In", "values": ["b"]}]}]}}}}
//!     {"kind": "Node", "metadata": {"name": "a", "uid": "u-3", "labels": {"kubernetes.io/hostname": "a"}}}
//!     {"kind": "Node", "metadata": {"name": "b", "uid": "u-4", "labels": {"kubernetes.io/hostname": "b"}}}
//!     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web", "uid": "u-5"},
//!      "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?;
//! let mut server = MemoryServer::new(objects.into_iter().collect());
//! let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
//!     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"storageClassName": "local",
//!         "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}}}))?;
//! server.create_claim(&claim)?;
//!
//! /// What the controller does about the claim; the claim's phase after it.
//! fn sync(server: &mut MemoryServer) -> Option<String> {
//!     let claim = server.snapshot().claim("shop", "data")?.into_arc();
//!     let plan = sync_claim(&Config::default(), server.snapshot(), &claim);
//!     assert_eq!(carry_out(server, plan).error(), None);
//!     let claim = server.snapshot().claim("shop", "data")?;
//!     claim.phase().map(|phase| phase.to_string())
//! }
//! // A volume fits, and the controller leaves it alone: the choice is the scheduler's.
//! assert_eq!(sync(&mut server).as_deref(), Some("Pending"));
//!
//! // The scheduler: may the pod be scheduled, where, and with which volumes?
//! let pod = server.snapshot().pod("shop", "web").ok_or("no pod")?.into_arc();
//! let claims = pre_filter(&pod, server.snapshot())?;
//! let nodes: Vec<Node> = server.snapshot().nodes().map(|node| Node::clone(node)).collect();
//! let mut chosen = None;
//! for node in &nodes {
//!     let volumes = find_pod_volumes(&claims, node, server.snapshot(), Features::default())?;
//!     if volumes.fits() {
//!         chosen = Some((node.name(), volumes));
//!         break;
//!     }
//! }
//! let (node, volumes) = chosen.ok_or("no node fits")?;
//! assert_eq!(node, "b");
//!
//! // It writes its choice: the volume names the claim now, but not yet the claim the volume.
//! let mut assumptions = Assumptions::new();
//! let (assumption, plan) = assumptions.assume(&pod, &claims, node, &volumes);
//! let pending = carry_out(&mut server, plan).end.finished()?;
//! assumptions.revert(assumption); // the server has it: nothing is to be assumed any more
//! assert_eq!(bind_progress(&pending, server.snapshot()), BindProgress::Wait);
//!
//! // The controller finds the volume that is reserved for the claim, and binds both.
//! assert_eq!(sync(&mut server).as_deref(), Some("Bound"));
//! assert_eq!(bind_progress(&pending, server.snapshot()), BindProgress::Bound);
//! // Now the pod can be bound to its node.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
