//! What diagnosis asks of a cluster beyond what scheduling and provisioning ask.

use std::sync::Arc;

use super::{Held, ProvisioningView, SchedulingView, Snapshot};
use crate::api::{Node, PersistentVolumeClaim, Pod, StorageClass};

/// What diagnosis asks of a cluster beyond what scheduling and provisioning ask:
/// everything there is of a kind.
///
/// Decisions look up single objects; why nothing was found is only told by all
/// of them. [`Snapshot`] answers at once; over an embedder's own store each
/// method is a loop.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::view::{DiagnosticView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"}}
///     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}}"#)?
/// .into_iter()
/// .collect();
/// let claims: Vec<_> = snapshot.every_claim().iter().map(|claim| claim.metadata.key()).collect();
/// assert_eq!(claims, ["shop/data"]);
/// assert_eq!(snapshot.every_pod().len(), 1);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub trait DiagnosticView: SchedulingView + ProvisioningView {
    /// Every claim, in any order.
    fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>>;

    /// Every class, in any order.
    fn every_class(&self) -> Vec<Held<'_, StorageClass>>;

    /// Every node, in any order.
    fn every_node(&self) -> Vec<Held<'_, Node>>;

    /// Every pod, in any order.
    fn every_pod(&self) -> Vec<Held<'_, Pod>>;
}

impl DiagnosticView for Snapshot {
    fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>> {
        self.claims().map(Held::Lent).collect()
    }

    fn every_class(&self) -> Vec<Held<'_, StorageClass>> {
        self.classes().map(Held::Lent).collect()
    }

    fn every_node(&self) -> Vec<Held<'_, Node>> {
        self.nodes().map(Held::Lent).collect()
    }

    fn every_pod(&self) -> Vec<Held<'_, Pod>> {
        self.pods().map(Held::Lent).collect()
    }
}

/// A reference to a view, or a shared or boxed one, is a view.
macro_rules! views_behind {
    ($($Pointer:ty),*) => {$(
        impl<V: DiagnosticView + ?Sized> DiagnosticView for $Pointer {
            fn every_claim(&self) -> Vec<Held<'_, PersistentVolumeClaim>> {
                (**self).every_claim()
            }

            fn every_class(&self) -> Vec<Held<'_, StorageClass>> {
                (**self).every_class()
            }

            fn every_node(&self) -> Vec<Held<'_, Node>> {
                (**self).every_node()
            }

            fn every_pod(&self) -> Vec<Held<'_, Pod>> {
                (**self).every_pod()
            }
        }
    )*};
}

views_behind!(&V, Box<V>, Arc<V>);
