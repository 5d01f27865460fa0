//! The default class for claims without class.

use crate::api::PersistentVolumeClaim;
use crate::binding::Edit;
use crate::view::ClusterView;

/// Gives a claim without class the default class, if there is one.
///
/// Follows `assignDefaultStorageClass` of Kubernetes 1.36.
pub(super) fn assign_default_class<V: ClusterView + ?Sized>(
    view: &V,
    claim: &PersistentVolumeClaim,
) -> Edit<PersistentVolumeClaim> {
    if claim.has_class() {
        return Edit::Unchanged;
    }
    let Some(class) = view.default_class() else {
        return Edit::Unchanged;
    };
    let mut claim = claim.clone();
    claim.spec.storage_class_name = Some(class.name().to_owned());
    Edit::Changed(claim)
}
