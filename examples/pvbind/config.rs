//! The controller as Kubernetes 1.36 sets it up.

use pvbind::controller::{Config, InTreePlugin};

/// The plugins of a kube-controller-manager, and the CSI drivers that took over
/// from others.
pub fn config() -> Config {
    let mut config = Config::default();
    for (plugin, driver) in [
        ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
        ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
        ("kubernetes.io/azure-file", "file.csi.azure.com"),
        ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
        ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
        ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
        ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
    ] {
        let plugins = &mut config.migrated_plugins;
        plugins.insert(plugin.to_owned(), driver.to_owned());
    }
    config.plugins = vec![
        // It provisions only with --enable-hostpath-provisioner, which is off.
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
    config
}
