//! External provisioners, as far as they can be known from a cluster's objects.

use crate::{controller, provisioner};

/// The provisioner of a CSI driver. It answers to the in-tree plugins that have
/// migrated to the driver, and the driver is taken to be able to do everything.
pub(super) fn provisioner_config(
    controller: &controller::Config,
    driver: &str,
) -> provisioner::Config {
    let mut config = provisioner::Config::new(driver);
    let migrated = controller.migrated_plugins.iter();
    config.additional_names = migrated
        .filter(|(_, to)| to.as_str() == driver)
        .map(|(plugin, _)| plugin.clone())
        .collect();
    config.knows_single_node_modes = true;
    config.modifies_volumes = true;
    config
}
