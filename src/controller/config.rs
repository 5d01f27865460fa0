//! How the controller is set up.

use std::collections::BTreeMap;

use crate::api::PersistentVolume;
use crate::matching::Features;

/// The in-tree plugins that CSI drivers have taken over from in Kubernetes 1.36,
/// each with its driver: what [`Config::migrated_plugins`] holds unless you say
/// otherwise.
pub const MIGRATED_PLUGINS: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// How the controller is set up: what is a flag, a feature gate or a built-in
/// plugin upstream.
///
/// The default is a controller of Kubernetes 1.36 without in-tree plugins of its
/// own, as one that embeds this crate begins. To say what Kubernetes' own
/// controller does, begin with
/// [`kube_controller_manager`](Config::kube_controller_manager).
///
/// ```
/// use pvbind::controller::{Config, InTreePlugin};
/// let mut config = Config::default();
/// assert_eq!(config.migrated_to("kubernetes.io/gce-pd"), Some("pd.csi.storage.gke.io"));
/// config.plugins.push(InTreePlugin {
///     can_recycle: true,
///     ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
/// });
/// assert!(config.dynamic_provisioning);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Whether volumes are made for claims. On by default.
    pub dynamic_provisioning: bool,
    /// The feature gates of the cluster. Those of Kubernetes 1.36 by default.
    pub features: Features,
    /// The in-tree plugins. Where several support a volume's source, the first
    /// one serves it. None by default.
    pub plugins: Vec<InTreePlugin>,
    /// The in-tree plugins that a CSI driver took over from, by name, each with
    /// the driver's name. [`MIGRATED_PLUGINS`] by default.
    pub migrated_plugins: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            dynamic_provisioning: true,
            features: Features::default(),
            plugins: Vec::new(),
            migrated_plugins: BTreeMap::from(
                MIGRATED_PLUGINS.map(|(plugin, driver)| (plugin.into(), driver.into())),
            ),
        }
    }
}

impl Config {
    /// The controller in the kube-controller-manager of Kubernetes 1.36, with the
    /// in-tree plugins that are left there. `kubernetes.io/host-path` makes no
    /// volumes, as without the flag `--enable-hostpath-provisioner`.
    ///
    /// ```
    /// use pvbind::controller::Config;
    /// let config = Config::kube_controller_manager();
    /// let host_path = config.plugin("kubernetes.io/host-path").unwrap();
    /// assert!(host_path.can_delete && !host_path.can_provision);
    /// assert!(config.plugin("kubernetes.io/gce-pd").is_none());
    /// ```
    pub fn kube_controller_manager() -> Self {
        let plugins = vec![
            InTreePlugin {
                can_delete: true,
                can_recycle: true,
                ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
            },
            InTreePlugin {
                can_recycle: true,
                ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
            },
            InTreePlugin::new("kubernetes.io/local-volume", ["local"]),
            InTreePlugin::new("kubernetes.io/iscsi", ["iscsi"]),
            InTreePlugin::new("kubernetes.io/fc", ["fc"]),
        ];
        Config {
            plugins,
            ..Config::default()
        }
    }

    /// The in-tree plugin of this name; `None` for one that is not set up, and for a
    /// CSI driver, which is no plugin. Linear in the number of plugins.
    ///
    /// ```
    /// use pvbind::controller::Config;
    /// let config = Config::kube_controller_manager();
    /// assert!(config.plugin("kubernetes.io/nfs").unwrap().can_recycle);
    /// // CSI drivers have taken over from these:
    /// assert_eq!(config.plugin("kubernetes.io/aws-ebs"), None);
    /// assert_eq!(config.plugin("ebs.csi.aws.com"), None);
    /// ```
    pub fn plugin(&self, name: &str) -> Option<&InTreePlugin> {
        self.plugins.iter().find(|plugin| plugin.name == name)
    }

    /// The first in-tree plugin that supports the volume's source: who deletes a
    /// volume that nobody claims to have made, and who recycles any. Linear in the
    /// number of plugins and their sources.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::controller::Config;
    /// use serde_json::json;
    /// let config = Config::kube_controller_manager();
    /// let plugin_for = |spec| -> Result<_, serde_json::Error> {
    ///     let volume: PersistentVolume = serde_json::from_value(json!({"spec": spec}))?;
    ///     Ok(config.plugin_for(&volume).map(|plugin| plugin.name.clone()))
    /// };
    /// let nfs = plugin_for(json!({"nfs": {"server": "10.0.0.7", "path": "/exports/1"}}))?;
    /// assert_eq!(nfs.as_deref(), Some("kubernetes.io/nfs"));
    /// // The volumes of CSI drivers are theirs.
    /// assert_eq!(plugin_for(json!({"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}}))?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plugin_for(&self, volume: &PersistentVolume) -> Option<&InTreePlugin> {
        self.plugins
            .iter()
            .find(|plugin| plugin.sources.support(volume))
    }

    /// The CSI driver that took over from this plugin, if one did.
    ///
    /// ```
    /// use pvbind::controller::Config;
    /// let mut config = Config::default();
    /// config.migrated_plugins.clear();
    /// assert_eq!(config.migrated_to("kubernetes.io/gce-pd"), None);
    /// config.migrated_plugins.insert("kubernetes.io/gce-pd".into(), "pd.csi.storage.gke.io".into());
    /// assert_eq!(config.migrated_to("kubernetes.io/gce-pd"), Some("pd.csi.storage.gke.io"));
    /// ```
    pub fn migrated_to(&self, plugin: &str) -> Option<&str> {
        self.migrated_plugins.get(plugin).map(String::as_str)
    }
}

/// An in-tree plugin, and what it can do.
///
/// ```
/// use pvbind::controller::{InTreePlugin, VolumeSources};
/// let plugin = InTreePlugin {
///     can_delete: true,
///     ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
/// };
/// assert_eq!(plugin.sources, VolumeSources::These(vec!["hostPath".to_owned()]));
/// assert!(!plugin.can_provision);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTreePlugin {
    /// Its name, which usually begins with `kubernetes.io/`.
    pub name: String,
    /// The volumes that it serves.
    pub sources: VolumeSources,
    /// Whether it can make volumes.
    pub can_provision: bool,
    /// Whether it can delete volumes.
    pub can_delete: bool,
    /// Whether it can delete the files of a volume.
    pub can_recycle: bool,
    /// Whether its volumes can have mount options.
    pub has_mount_options: bool,
}

impl InTreePlugin {
    /// A plugin that serves volumes with these sources, and can do nothing yet: set
    /// what it can, or the operations that need it fail.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::PersistentVolume;
    /// use pvbind::controller::{Config, InTreePlugin, Next, begin};
    /// # use pvbind::plan::{Operation, Step};
    /// # use pvbind::view::Snapshot;
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"},
    /// #     "spec": {"persistentVolumeReclaimPolicy": "Recycle", "nfs": {"path": "/exports/1"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// let mut config = Config::default();
    /// config.plugins.push(InTreePlugin::new("kubernetes.io/nfs", ["nfs"]));
    /// // A released NFS volume with the policy Recycle:
    /// # let operation = Operation::Recycle { volume: Arc::new(volume.clone()) };
    /// let Next::ReadVolume(next) = begin(&config, operation).verdict else { panic!() };
    /// let plan = next.answer(&config, &Snapshot::new(), Some(volume));
    /// // The plugin knows the source, and `can_recycle` is false.
    /// let Some(Step::Event(event)) = plan.steps.last() else { panic!() };
    /// assert_eq!(event.message, "No recycler plugin found for the volume!");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        sources: impl IntoIterator<Item = S>,
    ) -> Self {
        InTreePlugin {
            name: name.into(),
            sources: VolumeSources::These(sources.into_iter().map(Into::into).collect()),
            can_provision: false,
            can_delete: false,
            can_recycle: false,
            has_mount_options: false,
        }
    }
}

/// The volume sources that a plugin serves.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::controller::{Config, InTreePlugin, VolumeSources};
/// let mut config = Config::default();
/// config.plugins.push(InTreePlugin::new("kubernetes.io/nfs", ["nfs"]));
/// config.plugins.push(InTreePlugin {
///     sources: VolumeSources::Every, // as the fallback of a test
///     ..InTreePlugin::new("example.com/any", [] as [&str; 0])
/// });
/// let volume: PersistentVolume = serde_json::from_str(r#"{"spec": {"nfs": {"path": "/"}}}"#)?;
/// assert_eq!(config.plugin_for(&volume).unwrap().name, "kubernetes.io/nfs");
/// assert_eq!(config.plugin_for(&PersistentVolume::default()).unwrap().name, "example.com/any");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeSources {
    /// Every source there is.
    Every,
    /// Those of these names, as they stand in a volume's spec (`nfs`,
    /// `hostPath`, …).
    These(Vec<String>),
}

impl VolumeSources {
    fn support(&self, volume: &PersistentVolume) -> bool {
        match self {
            VolumeSources::Every => true,
            VolumeSources::These(names) => volume
                .source()
                .is_some_and(|source| names.iter().any(|name| name == source)),
        }
    }
}
