//! The finalizers that keep a volume until its backend is clean.

use super::Config;
use super::migration::{migration, volume_provisioner};
use crate::api::{PersistentVolume, PersistentVolumeReclaimPolicy as Policy, names};
use crate::binding::Edit;

/// How a volume's finalizers must change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FinalizerChanges {
    add_controller: bool,
    remove_controller: bool,
    remove_external: bool,
}

/// Step 0 of a volume's sync: migration annotation and finalizers, one edit.
pub(super) fn migrate_volume(config: &Config, volume: &PersistentVolume) -> Edit<PersistentVolume> {
    let provisioner = volume_provisioner(volume);
    let migration = migration(config, &volume.metadata, || provisioner);
    let finalizers = provisioner
        .map(|provisioner| finalizer_changes(config, volume, provisioner))
        .unwrap_or_default();
    if migration.is_none() && finalizers == FinalizerChanges::default() {
        return Edit::Unchanged;
    }
    let mut volume = volume.clone();
    if let Some(migration) = migration {
        migration.apply_to(&mut volume.metadata);
    }
    if finalizers.remove_controller {
        let metadata = &mut volume.metadata;
        metadata.remove_finalizer(names::PV_CONTROLLER_FINALIZER);
    }
    if finalizers.remove_external {
        let metadata = &mut volume.metadata;
        metadata.remove_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER);
    }
    if finalizers.add_controller {
        let metadata = &mut volume.metadata;
        metadata.add_finalizer(names::PV_CONTROLLER_FINALIZER);
    }
    Edit::Changed(volume)
}

/// A migrated volume is the external side's to keep; an in-tree one is the
/// controller's, as long as deleting it is its policy.
///
/// Follows `modifyDeletionFinalizers` of Kubernetes 1.36.
fn finalizer_changes(
    config: &Config,
    volume: &PersistentVolume,
    provisioner: &str,
) -> FinalizerChanges {
    let has_controller = volume
        .metadata
        .has_finalizer(names::PV_CONTROLLER_FINALIZER);
    if config.migrated_to(provisioner).is_some() {
        return FinalizerChanges {
            remove_controller: has_controller,
            ..FinalizerChanges::default()
        };
    }
    if !provisioner.starts_with(names::IN_TREE_PREFIX) {
        return FinalizerChanges::default();
    }
    let policy = volume.reclaim_policy();
    FinalizerChanges {
        add_controller: policy == Some(&Policy::Delete) && !has_controller,
        remove_controller: has_controller
            && matches!(policy, Some(Policy::Retain | Policy::Recycle)),
        remove_external: volume
            .metadata
            .has_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CONTROLLER: &str = names::PV_CONTROLLER_FINALIZER;
    const EXTERNAL: &str = names::EXTERNAL_PROVISIONER_FINALIZER;

    fn finalizers_after(provisioner: &str, policy: &str, finalizers: &[&str]) -> Vec<String> {
        let mut config = Config::default();
        config
            .migrated_plugins
            .insert("kubernetes.io/old".into(), "new.csi".into());
        let volume: PersistentVolume = serde_json::from_value(json!({
            "metadata": {"finalizers": finalizers, "deletionTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {names::PROVISIONED_BY: provisioner}},
            "spec": {"persistentVolumeReclaimPolicy": policy}}))
        .unwrap();
        let migrated = migrate_volume(&config, &volume).applied_to(&volume);
        migrated.metadata.finalizers.unwrap_or_default()
    }

    #[test]
    fn an_in_tree_volume_is_kept_only_while_its_policy_is_delete() {
        let unknown_plugin = "kubernetes.io/no-such-plugin";
        let after = |policy, finalizers| finalizers_after(unknown_plugin, policy, finalizers);
        assert_eq!(after("Delete", &["x", EXTERNAL]), ["x", CONTROLLER]);
        assert_eq!(after("Retain", &[CONTROLLER, "x"]), ["x"]);
        assert_eq!(after("Recycle", &[CONTROLLER, EXTERNAL]), [] as [&str; 0]);
        assert_eq!(after("Unheard", &[CONTROLLER, EXTERNAL]), [CONTROLLER]);
    }

    #[test]
    fn a_migrated_volume_loses_the_controllers_finalizer_alone() {
        let after = finalizers_after("kubernetes.io/old", "Delete", &[CONTROLLER, EXTERNAL]);
        assert_eq!(after, [EXTERNAL]);
    }

    #[test]
    fn other_provisioners_volumes_are_left_alone() {
        let all = [CONTROLLER, EXTERNAL];
        assert_eq!(finalizers_after("disk.csi", "Delete", &all), all);
        assert_eq!(finalizers_after("", "Delete", &all), all);
    }
}
