//! The kinds that the server writes, and what an API server fills in.

use crate::api::{
    Object, ObjectMeta, PersistentVolume, PersistentVolumeClaim, PersistentVolumeReclaimPolicy,
    StorageClass, VolumeBindingMode, VolumeMode,
};
use crate::view::Stored;

/// A kind that plans write.
pub(super) trait Kept: Stored + Clone + Default + PartialEq {
    const RESOURCE: &'static str;
    fn meta_mut(&mut self) -> &mut ObjectMeta;
    fn take_status(&mut self, from: &Self);
    /// Fills in what an API server fills in.
    fn fill_in(&mut self);
}

macro_rules! kept {
    ($Kind:ty, $resource:literal, $fill_in:expr) => {
        impl Kept for $Kind {
            const RESOURCE: &'static str = $resource;

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }

            fn take_status(&mut self, from: &Self) {
                self.status.clone_from(&from.status);
            }

            fn fill_in(&mut self) {
                let fill_in: fn(&mut Self) = $fill_in;
                fill_in(self);
                self.spec.volume_mode.get_or_insert(VolumeMode::Filesystem);
                self.status.phase.get_or_insert("Pending".into());
            }
        }
    };
}

kept!(PersistentVolume, "persistentvolumes", |volume| {
    let policy = &mut volume.spec.persistent_volume_reclaim_policy;
    policy.get_or_insert(PersistentVolumeReclaimPolicy::Retain);
});
kept!(PersistentVolumeClaim, "persistentvolumeclaims", |_| {});

/// Fills in what an API server fills in, for the kinds that decisions read.
pub(super) fn fill_in(object: &mut Object) {
    match object {
        Object::PersistentVolume(volume) => volume.fill_in(),
        Object::PersistentVolumeClaim(claim) => claim.fill_in(),
        Object::StorageClass(class) => fill_in_class(class),
        _ => {}
    }
}

fn fill_in_class(class: &mut StorageClass) {
    let policy = &mut class.reclaim_policy;
    policy.get_or_insert(PersistentVolumeReclaimPolicy::Delete);
    let mode = &mut class.volume_binding_mode;
    mode.get_or_insert(VolumeBindingMode::Immediate);
}
