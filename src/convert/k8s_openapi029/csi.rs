//! CSIDriver, CSINode and CSIStorageCapacity.

use k8s_openapi::api::storage::v1 as storage;

use crate::api::{
    CsiDriver, CsiDriverSpec, CsiNode, CsiNodeDriver, CsiNodeSpec, CsiStorageCapacity,
};

foreign_object! { total CsiDriver = storage::CSIDriver {
    metadata = "metadata": present,
    spec = "spec": present,
} }

part! { total CsiDriverSpec = storage::CSIDriverSpec {
    storage_capacity = "storageCapacity": optional,
} }

foreign_object! { total CsiNode = storage::CSINode {
    metadata = "metadata": present,
    spec = "spec": present,
} }

part! { total CsiNodeSpec = storage::CSINodeSpec {
    drivers = "drivers": required,
} }

part! { total CsiNodeDriver = storage::CSINodeDriver {
    name = "name": required,
    node_id = "nodeID": required,
    topology_keys = "topologyKeys": optional,
} }

foreign_object! { checked CsiStorageCapacity = storage::CSIStorageCapacity {
    metadata = "metadata": present,
    node_topology = "nodeTopology": optional,
    storage_class_name = "storageClassName": required,
    capacity = "capacity": optional,
    maximum_volume_size = "maximumVolumeSize": optional,
} }
