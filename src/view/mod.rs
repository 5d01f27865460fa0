//! What decisions may ask of a cluster, and a cluster held in memory.
//!
//! A decision sees a cluster through a trait: [`ClusterView`]. An embedding
//! controller implements it over its own caches, or feeds a [`Snapshot`] from
//! lists and watch events.

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
