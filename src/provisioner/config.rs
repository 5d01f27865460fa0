//! How a provisioner is set up.

use crate::api::PersistentVolumeClaim;

/// How a provisioner is set up: what is a flag of the sidecar, a capability of
/// the driver or a feature gate upstream.
///
/// ```
/// use pvbind::provisioner::{Config, TopologyConfig};
/// let mut config = Config::new("disk.csi");
/// config.default_fs_type = "ext4".into();
/// config.topology = Some(TopologyConfig::default());
/// assert!(config.answers_to("disk.csi"));
/// assert!(!config.answers_to("kubernetes.io/gce-pd"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The driver's name.
    pub driver: String,
    /// Further names that it answers to: those of the in-tree plugins that it
    /// took over from. None by default.
    pub additional_names: Vec<String>,
    /// Whether volumes are kept from going before the backend's are, by the
    /// finalizer `external-provisioner.volume.kubernetes.io/finalizer`. On by
    /// default.
    pub adds_finalizer: bool,
    /// Whether the driver can give a volume as a raw device. On by default.
    pub supports_block: bool,
    /// Whether the driver knows the access modes `SINGLE_NODE_SINGLE_WRITER`
    /// and `SINGLE_NODE_MULTI_WRITER` (its capability
    /// `SINGLE_NODE_MULTI_WRITER`). Off by default.
    pub knows_single_node_modes: bool,
    /// Whether the driver takes the parameters of a VolumeAttributesClass (its
    /// capability `MODIFY_VOLUME`). Off by default.
    pub modifies_volumes: bool,
    /// How the driver is told where volumes must be reachable from; `None`, the
    /// default, if it does not want to know (it lacks the capability
    /// `VOLUME_ACCESSIBILITY_CONSTRAINTS`).
    pub topology: Option<TopologyConfig>,
    /// How volumes are named.
    pub volume_names: VolumeNames,
    /// The file system of volumes whose class names none. Empty by default:
    /// that leaves it to the driver.
    pub default_fs_type: String,
    /// Whether the driver is told, among the parameters, whom a volume is for
    /// (`--extra-create-metadata`). Off by default.
    pub tells_names: bool,
    /// Whether a volume for reading alone is marked so
    /// (`--controller-publish-readonly`). Off by default.
    pub marks_read_only: bool,
    /// What stands in a volume's attributes under
    /// `storage.kubernetes.io/csiProvisionerIdentity`; `None`, the default, for
    /// nothing. Upstream makes it up when it starts, from the time, a random
    /// number and the driver's name.
    pub identity: Option<String>,
}

impl Config {
    /// For a driver of this name, with the defaults said at each field.
    pub fn new(driver: impl Into<String>) -> Self {
        Config {
            driver: driver.into(),
            additional_names: Vec::new(),
            adds_finalizer: true,
            supports_block: true,
            knows_single_node_modes: false,
            modifies_volumes: false,
            topology: None,
            volume_names: VolumeNames::default(),
            default_fs_type: String::new(),
            tells_names: false,
            marks_read_only: false,
            identity: None,
        }
    }

    /// Whether a name is one of ours: the driver's, or a further one.
    pub fn answers_to(&self, name: &str) -> bool {
        self.driver == name || self.additional_names.iter().any(|ours| ours == name)
    }
}

/// How a driver is told where volumes must be reachable from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopologyConfig {
    /// Nowhere but at the place of the selected node (`--strict-topology`). Off
    /// by default.
    pub is_strict: bool,
    /// Also if no node is selected (`--immediate-topology`). On by default.
    pub is_immediate: bool,
}

impl Default for TopologyConfig {
    fn default() -> Self {
        TopologyConfig {
            is_strict: false,
            is_immediate: true,
        }
    }
}

/// How volumes are named: `PREFIX-UID`, with the uid of the claim. Nothing else
/// goes into a name, so that the same claim always has the same.
///
/// Some backends allow only short names. A shortened uid is no longer unique: a
/// claim whose volume's name another claim's volume has already is refused, see
/// [`ProvisionError::NameTaken`](super::ProvisionError::NameTaken).
///
/// Follows `makeVolumeName` of external-provisioner 6, with the flags
/// `--volume-name-prefix` and `--volume-name-uuid-length`.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::VolumeNames;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"uid": "1b4e28ba-2fa1-11d2-883f"}}"#)?;
/// let names = VolumeNames::default();
/// assert_eq!(names.name_for(&claim), "pvc-1b4e28ba-2fa1-11d2-883f");
/// let short = VolumeNames { prefix: "k8s".into(), uid_length: Some(10) };
/// assert_eq!(short.name_for(&claim), "k8s-1b4e28ba2f");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeNames {
    /// What stands in front; `pvc` by default.
    pub prefix: String,
    /// Of how many characters of the uid the name is made, dashes left out;
    /// `None`, the default, for the uid as it is.
    pub uid_length: Option<usize>,
}

impl Default for VolumeNames {
    fn default() -> Self {
        VolumeNames {
            prefix: "pvc".to_owned(),
            uid_length: None,
        }
    }
}

impl VolumeNames {
    /// The name of the volume for a claim.
    pub fn name_for(&self, claim: &PersistentVolumeClaim) -> String {
        let (prefix, uid) = (&self.prefix, claim.metadata.uid());
        match self.uid_length {
            None => format!("{prefix}-{uid}"),
            Some(length) => {
                let short: String = uid.chars().filter(|&c| c != '-').take(length).collect();
                format!("{prefix}-{short}")
            }
        }
    }
}
