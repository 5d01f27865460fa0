//! StatefulSet.

use k8s_openapi::api::apps::v1 as apps;

use crate::api::{StatefulSet, StatefulSetOrdinals, StatefulSetSpec};

k8s_openapi::k8s_if_le_1_36! {
    foreign_object! { checked StatefulSet = apps::StatefulSet {
        metadata = "metadata": present,
        spec = "spec": whole,
    } }
}

// Kubernetes 1.37 made the spec a required field.
k8s_openapi::k8s_if_ge_1_37! {
    foreign_object! { checked StatefulSet = apps::StatefulSet {
        metadata = "metadata": present,
        spec = "spec": present,
    } }
}

part! { checked StatefulSetSpec = apps::StatefulSetSpec {
    replicas = "replicas": optional,
    ordinals = "ordinals": whole,
    volume_claim_templates = "volumeClaimTemplates": optional,
} }

part! { total StatefulSetOrdinals = apps::StatefulSetOrdinals {
    start = "start": optional,
} }
