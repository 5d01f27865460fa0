//! PersistentVolumeClaim and the templates of claims.

use k8s_openapi::api::core::v1 as core;

use crate::api::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
    PersistentVolumeClaimTemplate, ResourceRequirements,
};

foreign_object! { checked PersistentVolumeClaim = core::PersistentVolumeClaim {
    metadata = "metadata": present,
    spec = "spec": whole,
    status = "status": whole,
} }

part! { checked PersistentVolumeClaimSpec = core::PersistentVolumeClaimSpec {
    access_modes = "accessModes": optional,
    selector = "selector": optional,
    resources = "resources": whole,
    volume_name = "volumeName": optional,
    storage_class_name = "storageClassName": optional,
    volume_mode = "volumeMode": optional,
    data_source = "dataSource": optional,
    data_source_ref = "dataSourceRef": optional,
    volume_attributes_class_name = "volumeAttributesClassName": optional,
} }

part! { checked ResourceRequirements = core::VolumeResourceRequirements {
    requests = "requests": optional,
    limits = "limits": optional,
} }

part! { checked PersistentVolumeClaimStatus = core::PersistentVolumeClaimStatus {
    phase = "phase": optional,
    access_modes = "accessModes": optional,
    capacity = "capacity": optional,
    current_volume_attributes_class_name = "currentVolumeAttributesClassName": optional,
} }

// The template of a pod's ephemeral volume has no kind there.
part! { checked PersistentVolumeClaimTemplate = core::PersistentVolumeClaimTemplate {
    metadata = "metadata": whole,
    spec = "spec": present,
} }

// The template of a StatefulSet is a claim there.
part! { checked PersistentVolumeClaimTemplate = core::PersistentVolumeClaim {
    metadata = "metadata": present,
    spec = "spec": whole,
} typed }
