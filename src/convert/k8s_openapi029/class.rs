//! StorageClass.

use k8s_openapi::api::storage::v1 as storage;

use crate::api::StorageClass;

foreign_object! { total StorageClass = storage::StorageClass {
    metadata = "metadata": present,
    provisioner = "provisioner": required,
    parameters = "parameters": optional,
    reclaim_policy = "reclaimPolicy": optional,
    mount_options = "mountOptions": optional,
    allow_volume_expansion = "allowVolumeExpansion": optional,
    volume_binding_mode = "volumeBindingMode": optional,
    allowed_topologies = "allowedTopologies": optional,
} }
