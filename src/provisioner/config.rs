//! How a provisioner is set up.

use super::VolumeNames;

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
    ///
    /// What such a plugin's class and volumes say is not translated: the loop
    /// must be the embedder's own then, as [`run_claim`](super::run_claim) sends
    /// the class as it is, and [`run_volume`](super::run_volume) finds no handle.
    /// Upstream's driver leaves a claim alone that names the plugin and has no
    /// `pv.kubernetes.io/migrated-to`; here it is provisioned.
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
    ///
    /// ```
    /// use pvbind::provisioner::Config;
    /// let config = Config::new("csi.example.com");
    /// assert_eq!(config.driver, "csi.example.com");
    /// // Raw devices and the finalizer are taken for granted, topology is not.
    /// assert!(config.supports_block && config.adds_finalizer);
    /// assert_eq!(config.topology, None);
    /// ```
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
    ///
    /// ```
    /// use pvbind::provisioner::Config;
    /// let mut config = Config::new("pd.csi.storage.gke.io");
    /// config.additional_names.push("kubernetes.io/gce-pd".into());
    /// assert!(config.answers_to("pd.csi.storage.gke.io"));
    /// assert!(config.answers_to("kubernetes.io/gce-pd"));
    /// assert!(!config.answers_to("ebs.csi.aws.com"));
    /// ```
    pub fn answers_to(&self, name: &str) -> bool {
        self.driver == name || self.additional_names.iter().any(|ours| ours == name)
    }
}

/// How a driver is told where volumes must be reachable from.
///
/// ```
/// use pvbind::provisioner::{Config, TopologyConfig};
/// let mut topology = TopologyConfig::default();
/// assert!(topology.is_immediate && !topology.is_strict);
/// topology.is_strict = true;
/// let mut config = Config::new("disk.csi");
/// config.topology = Some(topology);
/// ```
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
