//! Whether a claim is ours to provision, now.

use super::Config;
use crate::api::{PersistentVolumeClaim, StorageClass, VolumeBindingMode, names};
use crate::view::{ClusterView, Held};

/// Why a claim is not to be provisioned, or not now.
///
/// The first rule that refuses is told, in the order of the variants.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::{Config, NotNow, check_claim};
/// use pvbind::view::Snapshot;
/// let mut claim = PersistentVolumeClaim::default();
/// claim.metadata.set_annotation("volume.kubernetes.io/storage-provisioner", "nfs.example.com");
/// let refusal = check_claim(&Config::new("csi.example.com"), &Snapshot::new(), &claim);
/// let provisioner = "nfs.example.com".to_owned();
/// assert_eq!(refusal, Err(NotNow::OtherProvisioner { provisioner }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotNow {
    /// It names a volume already.
    #[error("the claim names the volume `{volume}` already")]
    HasVolume {
        /// The volume.
        volume: String,
    },
    /// The binding controller has not said who is to make its volume.
    #[error("the claim has no provisioner yet")]
    NoProvisioner,
    /// Somebody else is to make its volume.
    #[error("the claim is for the provisioner `{provisioner}`")]
    OtherProvisioner {
        /// Who.
        provisioner: String,
    },
    /// Its class is missing. Alone among these it counts as an error: the claim
    /// is tried again. The text is upstream's.
    #[error("storageClass {class:?} not found")]
    ClassNotFound {
        /// The class.
        class: String,
    },
    /// It waits for a pod that uses it to be scheduled.
    #[error("the claim waits for a node: its class `{class}` binds when a pod is scheduled")]
    NoNodeSelected {
        /// The class.
        class: String,
    },
}

impl NotNow {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::NotNow;
    /// let refusal = NotNow::HasVolume { volume: "pv-1".into() };
    /// assert_eq!(refusal.code(), "has-volume");
    /// assert_eq!(refusal.to_string(), "the claim names the volume `pv-1` already");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            NotNow::HasVolume { .. } => "has-volume",
            NotNow::NoProvisioner => "no-provisioner",
            NotNow::OtherProvisioner { .. } => "other-provisioner",
            NotNow::ClassNotFound { .. } => "class-not-found",
            NotNow::NoNodeSelected { .. } => "no-node-selected",
        }
    }

    /// Whether it counts as an error, so that the claim is tried again without
    /// anything having changed.
    ///
    /// ```
    /// use pvbind::provisioner::NotNow;
    /// // The scheduler will select a node, which changes the claim. Nobody says so when
    /// // the class comes.
    /// assert!(!NotNow::NoNodeSelected { class: "fast".into() }.is_error());
    /// assert!(NotNow::ClassNotFound { class: "fast".into() }.is_error());
    /// ```
    pub fn is_error(&self) -> bool {
        matches!(self, NotNow::ClassNotFound { .. })
    }
}

/// Whether a claim is ours and its volume should be made now.
///
/// Follows `shouldProvision` of sig-storage-lib-external-provisioner 13.
///
/// # Errors
/// The first [`NotNow`] that stands against it.
///
/// # Cost
/// One look-up of the class.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::provisioner::{Config, NotNow, check_claim};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi",
///      "volumeBindingMode": "WaitForFirstConsumer"}"#)?
/// .into_iter()
/// .collect();
/// let mut claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "fast"}}"#)?;
/// let config = Config::new("disk.csi");
/// assert_eq!(check_claim(&config, &snapshot, &claim), Err(NotNow::NoProvisioner));
///
/// claim.metadata.set_annotation("volume.kubernetes.io/storage-provisioner", "disk.csi");
/// let refusal = check_claim(&config, &snapshot, &claim).unwrap_err();
/// assert_eq!(refusal.code(), "no-node-selected");
///
/// claim.metadata.set_annotation("volume.kubernetes.io/selected-node", "n1");
/// assert_eq!(check_claim(&config, &snapshot, &claim), Ok(()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_claim<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    claim: &PersistentVolumeClaim,
) -> Result<(), NotNow> {
    class_to_provision(config, view, claim).map(drop)
}

/// The claim's class, if the claim is to be provisioned now.
pub(super) fn class_to_provision<'v, V: ClusterView + ?Sized>(
    config: &Config,
    view: &'v V,
    claim: &PersistentVolumeClaim,
) -> Result<Held<'v, StorageClass>, NotNow> {
    if !claim.volume_name().is_empty() {
        let volume = claim.volume_name().to_owned();
        return Err(NotNow::HasVolume { volume });
    }
    match provisioner_of(claim) {
        None => return Err(NotNow::NoProvisioner),
        Some(provisioner) if !config.answers_to(provisioner) => {
            let provisioner = provisioner.to_owned();
            return Err(NotNow::OtherProvisioner { provisioner });
        }
        Some(_) => {}
    }
    let name = claim.class_name();
    let class = view.class(name).ok_or_else(|| NotNow::ClassNotFound {
        class: name.to_owned(),
    })?;
    let waits = class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer);
    if waits && selected_node(claim).is_empty() {
        let class = name.to_owned();
        return Err(NotNow::NoNodeSelected { class });
    }
    Ok(class)
}

/// Who is to make the claim's volume: under the new key, then the old.
fn provisioner_of(claim: &PersistentVolumeClaim) -> Option<&str> {
    let annotation = |key| claim.metadata.annotation(key);
    annotation(names::STORAGE_PROVISIONER).or_else(|| annotation(names::BETA_STORAGE_PROVISIONER))
}

/// The node that the claim's first consumer was scheduled to, "" if none.
pub(super) fn selected_node(claim: &PersistentVolumeClaim) -> &str {
    let selected = claim.metadata.annotation(names::SELECTED_NODE);
    selected.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Snapshot;

    #[test]
    fn the_newer_annotation_says_whose_a_claim_is_even_if_it_is_empty() {
        let checked = |annotations: &[(&str, &str)]| {
            let mut claim = PersistentVolumeClaim::default();
            for (key, value) in annotations {
                claim.metadata.set_annotation(key, value);
            }
            let config = Config::new("disk.csi");
            check_claim(&config, &Snapshot::new(), &claim)
                .unwrap_err()
                .code()
        };
        let (new, old) = (names::STORAGE_PROVISIONER, names::BETA_STORAGE_PROVISIONER);
        assert_eq!(checked(&[]), "no-provisioner");
        // Ours, and then its class is missed.
        assert_eq!(checked(&[(old, "disk.csi")]), "class-not-found");
        assert_eq!(
            checked(&[(new, "disk.csi"), (old, "other")]),
            "class-not-found"
        );
        for other in ["other", ""] {
            assert_eq!(
                checked(&[(new, other), (old, "disk.csi")]),
                "other-provisioner"
            );
        }
    }
}
