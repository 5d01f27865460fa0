//! Pod.

use k8s_openapi::api::core::v1 as core;

use crate::api::{
    Affinity, EphemeralVolumeSource, PersistentVolumeClaimVolumeSource, Pod, PodNodeAffinity,
    PodSpec, PodStatus, PodVolume,
};

foreign_object! { checked Pod = core::Pod {
    metadata = "metadata": present,
    spec = "spec": whole,
    status = "status": whole,
} }

part! { checked PodSpec = core::PodSpec {
    volumes = "volumes": optional,
    node_name = "nodeName": optional,
    node_selector = "nodeSelector": optional,
    affinity = "affinity": optional,
} }

part! { total Affinity = core::Affinity {
    node_affinity = "nodeAffinity": optional,
} }

part! { total PodNodeAffinity = core::NodeAffinity {
    required_during_scheduling_ignored_during_execution = "requiredDuringSchedulingIgnoredDuringExecution": optional,
    preferred_during_scheduling_ignored_during_execution = "preferredDuringSchedulingIgnoredDuringExecution": optional,
} }

part! { checked PodVolume = core::Volume {
    name = "name": required,
    persistent_volume_claim = "persistentVolumeClaim": optional,
    ephemeral = "ephemeral": optional,
} }

part! { total PersistentVolumeClaimVolumeSource = core::PersistentVolumeClaimVolumeSource {
    claim_name = "claimName": required,
    read_only = "readOnly": optional,
} }

part! { checked EphemeralVolumeSource = core::EphemeralVolumeSource {
    volume_claim_template = "volumeClaimTemplate": optional,
} }

part! { total PodStatus = core::PodStatus {
    phase = "phase": optional,
} }
