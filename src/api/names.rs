//! The well-known names: annotations, finalizers, labels, provisioners.
//!
//! Where only the presence of an annotation matters, controllers write the
//! value [`YES`].
//!
//! ```
//! use pvbind::api::{PersistentVolume, PersistentVolumeClaim, StorageClass, names};
//! # let (mut claim, mut volume, mut class) =
//! #     (PersistentVolumeClaim::default(), PersistentVolume::default(), StorageClass::default());
//! // The controller has bound the claim, and it was the one that chose the volume:
//! claim.metadata.set_annotation(names::BIND_COMPLETED, names::YES);
//! volume.metadata.set_annotation(names::BOUND_BY_CONTROLLER, names::YES);
//! assert!(claim.is_bind_completed());
//! // Who made the volume, and whom it needs before it may go:
//! volume.metadata.set_annotation(names::PROVISIONED_BY, "csi.example.com");
//! volume.metadata.add_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER);
//! // Here only the value `true` counts, not `yes`:
//! class.metadata.set_annotation(names::IS_DEFAULT_CLASS, names::YES);
//! assert!(!class.is_marked_default());
//! ```

/// The value that controllers write where only presence matters.
pub const YES: &str = "yes";

/// Annotation on a claim: the controller has finished binding it.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Annotation on a claim: the controller chose the volume; on a volume: the
/// controller chose the claim. Without it the user did.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Annotation on a volume: who made it.
pub const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Annotation on a claim or volume: the CSI driver that took over from an
/// in-tree plugin.
pub const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";
/// Annotation on a claim: the node that its first consumer was scheduled to.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Annotation on a claim: who is to make its volume.
pub const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
/// The old key of [`STORAGE_PROVISIONER`].
pub const BETA_STORAGE_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// Annotation on a claim or volume: its class; goes before the field.
pub const BETA_STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// Annotation on a class: it is the default class.
pub const IS_DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// The old key of [`IS_DEFAULT_CLASS`].
pub const BETA_IS_DEFAULT_CLASS: &str = "storageclass.beta.kubernetes.io/is-default-class";
/// Annotation on a volume: the capacity that its claim had before a resize
/// began.
pub const PRE_RESIZE_CAPACITY: &str = "volume.alpha.kubernetes.io/pre-resize-capacity";
/// Annotation on a volume: the name of the secret that deletes it in the
/// backend.
pub const DELETION_SECRET_NAME: &str = "volume.kubernetes.io/provisioner-deletion-secret-name";
/// Annotation on a volume: the namespace of that secret.
pub const DELETION_SECRET_NAMESPACE: &str =
    "volume.kubernetes.io/provisioner-deletion-secret-namespace";

/// Finalizer on a volume: an in-tree plugin must delete it in the backend
/// first.
pub const PV_CONTROLLER_FINALIZER: &str = "kubernetes.io/pv-controller";
/// Finalizer on a volume: an external provisioner must delete it in the backend
/// first.
pub const EXTERNAL_PROVISIONER_FINALIZER: &str =
    "external-provisioner.volume.kubernetes.io/finalizer";
/// Finalizer on a volume: it must not go while a claim is bound to it.
pub const PV_PROTECTION_FINALIZER: &str = "kubernetes.io/pv-protection";
/// Finalizer on a claim: it must not go while a pod uses it.
pub const PVC_PROTECTION_FINALIZER: &str = "kubernetes.io/pvc-protection";

/// Label on a node: its host name.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
/// Label on a node: its zone.
pub const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// Label on a node: its region.
pub const REGION_LABEL: &str = "topology.kubernetes.io/region";
/// The node field that `matchFields` knows.
pub const NODE_NAME_FIELD: &str = "metadata.name";

/// The provisioner of a class whose volumes are made by hand.
pub const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// What the names of in-tree plugins begin with.
pub const IN_TREE_PREFIX: &str = "kubernetes.io/";
