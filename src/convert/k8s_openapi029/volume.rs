//! PersistentVolume.

use k8s_openapi::api::core::v1 as core;

use crate::api::{
    CsiVolumeSource, PersistentVolume, PersistentVolumeSpec, PersistentVolumeStatus,
    VolumeNodeAffinity,
};

foreign_object! { checked PersistentVolume = core::PersistentVolume {
    metadata = "metadata": present,
    spec = "spec": whole,
    status = "status": whole,
} }

part! { checked PersistentVolumeSpec = core::PersistentVolumeSpec {
    claim_ref = "claimRef": optional,
    capacity = "capacity": optional,
    access_modes = "accessModes": optional,
    volume_mode = "volumeMode": optional,
    storage_class_name = "storageClassName": optional,
    volume_attributes_class_name = "volumeAttributesClassName": optional,
    node_affinity = "nodeAffinity": optional,
    persistent_volume_reclaim_policy = "persistentVolumeReclaimPolicy": optional,
    mount_options = "mountOptions": optional,
    csi = "csi": optional,
} }

part! { total PersistentVolumeStatus = core::PersistentVolumeStatus {
    phase = "phase": optional,
    message = "message": optional,
    reason = "reason": optional,
} }

part! { total VolumeNodeAffinity = core::VolumeNodeAffinity {
    required = "required": optional,
} }

part! { total CsiVolumeSource = core::CSIPersistentVolumeSource {
    driver = "driver": required,
    volume_handle = "volumeHandle": required,
} }
