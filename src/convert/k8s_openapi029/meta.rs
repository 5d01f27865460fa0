//! Metadata and references.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::api::{ObjectMeta, ObjectReference, OwnerReference};

part! { total ObjectMeta = meta::ObjectMeta {
    name = "name": optional,
    generate_name = "generateName": optional,
    namespace = "namespace": optional,
    uid = "uid": optional,
    resource_version = "resourceVersion": optional,
    creation_timestamp = "creationTimestamp": optional,
    deletion_timestamp = "deletionTimestamp": optional,
    labels = "labels": optional,
    annotations = "annotations": optional,
    finalizers = "finalizers": optional,
    owner_references = "ownerReferences": optional,
} }
public_part!(ObjectMeta = meta::ObjectMeta);

part! { total OwnerReference = meta::OwnerReference {
    api_version = "apiVersion": required,
    kind = "kind": required,
    name = "name": required,
    uid = "uid": required,
    controller = "controller": optional,
    block_owner_deletion = "blockOwnerDeletion": optional,
} }
public_part!(OwnerReference = meta::OwnerReference);

part! { total ObjectReference = core::ObjectReference {
    kind = "kind": optional,
    namespace = "namespace": optional,
    name = "name": optional,
    uid = "uid": optional,
    api_version = "apiVersion": optional,
    resource_version = "resourceVersion": optional,
    field_path = "fieldPath": optional,
} }
public_part!(ObjectReference = core::ObjectReference);
