//! What decisions may ask of a cluster, and a cluster held in memory.
//!
//! A decision sees a cluster through a trait: [`ClusterView`]. An embedding
//! controller implements it over its own caches, or feeds a [`Snapshot`] from
//! lists and watch events.
//!
//! # From a watch
//! A watch begins with a list and goes on with changes; when it breaks off, it
//! begins again. The events below are those of kube's `watcher` by name. Objects
//! of another crate's types go through [`convert`](crate::convert) first.
//!
//! ```
//! use std::sync::Arc;
//! use pvbind::api::PersistentVolume;
//! use pvbind::view::{ClusterView, Snapshot};
//!
//! enum Event<K> {
//!     Init,
//!     InitApply(K),
//!     InitDone,
//!     Apply(K),
//!     Delete(K),
//! }
//!
//! fn hear(
//!     snapshot: &mut Snapshot,
//!     list: &mut Vec<Arc<PersistentVolume>>,
//!     event: Event<PersistentVolume>,
//! ) {
//!     match event {
//!         Event::Init => list.clear(),
//!         Event::InitApply(volume) => list.push(Arc::new(volume)),
//!         // What the list does not hold any more goes.
//!         Event::InitDone => snapshot.replace_all(std::mem::take(list)),
//!         Event::Apply(volume) => drop(snapshot.apply(Arc::new(volume))),
//!         Event::Delete(volume) => drop(snapshot.delete(&volume)),
//!     }
//! }
//! # let volume = |name: &str| -> PersistentVolume {
//! #     serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
//! # };
//! # let (mut snapshot, mut list) = (Snapshot::new(), Vec::new());
//! # let events = [Event::Init, Event::InitApply(volume("a")), Event::InitDone, Event::Apply(volume("b")),
//! #     Event::Delete(volume("a")), Event::Init, Event::InitApply(volume("c")), Event::InitDone];
//! # for event in events { hear(&mut snapshot, &mut list, event); }
//! # assert!(snapshot.volume("a").is_none() && snapshot.volume("b").is_none());
//! # assert!(snapshot.volume("c").is_some());
//! ```
//!
//! An object that cannot be read or converted must not be left out: without it
//! another looks as if its partner were gone, and a claim is declared lost. Keep
//! the version that is held, and decide nothing about objects of that name, or
//! nothing at all, until it can be read.
//!
//! Decide nothing before every kind was listed once: a volume whose claim is not
//! known yet looks like one whose claim is gone. The answers to one's own writes
//! are applied at once; what a watch still says of the time before is told apart
//! by its resourceVersion.

mod held;
pub use held::Held;

mod cluster;
pub use cluster::{ClusterView, default_class_among};

mod scheduling;
pub use scheduling::SchedulingView;

mod provisioning;
pub use provisioning::ProvisioningView;

mod diagnostic;
pub use diagnostic::DiagnosticView;

mod version;
pub use version::is_older_version;

mod table;

mod stored;
pub use stored::Stored;

mod snapshot;
pub use snapshot::{Applied, Snapshot};

mod pods;

mod capacities;
