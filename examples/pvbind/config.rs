//! The controller as Kubernetes 1.36 sets it up.

use pvbind::controller::{Config, InTreePlugin};

/// The plugins of a kube-controller-manager, and the CSI drivers that took over
/// from others.
pub fn config() -> Config {
    let mut config = Config::default().with_migrated_plugins();
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
