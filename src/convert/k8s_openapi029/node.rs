//! Node.

use k8s_openapi::api::core::v1 as core;

use crate::api::Node;

foreign_object! { total Node = core::Node {
    metadata = "metadata": present,
} }
