//! The annotation that says which CSI driver took over from an in-tree plugin.

use super::Config;
use crate::api::{ObjectMeta, PersistentVolume, PersistentVolumeClaim, names};
use crate::binding::Edit;

/// How `pv.kubernetes.io/migrated-to` must change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Migration<'a> {
    /// It becomes the driver's name.
    To(&'a str),
    /// It goes.
    Back,
}

/// How the annotation must change for an object of this provisioner; `None` if
/// it need not. The provisioner is looked for only where it matters.
///
/// Follows `updateMigrationAnnotations` of Kubernetes 1.36.
pub(super) fn migration<'c, 'o>(
    config: &'c Config,
    metadata: &ObjectMeta,
    provisioner: impl FnOnce() -> Option<&'o str>,
) -> Option<Migration<'c>> {
    let written = metadata.annotation(names::MIGRATED_TO);
    if written.is_none() && config.migrated_plugins.is_empty() {
        return None;
    }
    match config.migrated_to(provisioner()?) {
        Some(driver) => (written != Some(driver)).then_some(Migration::To(driver)),
        None => written
            .is_some_and(|driver| !driver.is_empty())
            .then_some(Migration::Back),
    }
}

impl Migration<'_> {
    pub(super) fn apply_to(self, metadata: &mut ObjectMeta) {
        match self {
            Migration::To(driver) => {
                metadata.set_annotation(names::MIGRATED_TO, driver);
            }
            Migration::Back => {
                metadata.remove_annotation(names::MIGRATED_TO);
            }
        }
    }
}

/// The provisioner that a claim was given: under the new key, then the old.
pub(super) fn claim_provisioner(claim: &PersistentVolumeClaim) -> Option<&str> {
    let annotation = |key| claim.metadata.annotation(key);
    annotation(names::STORAGE_PROVISIONER).or_else(|| annotation(names::BETA_STORAGE_PROVISIONER))
}

/// The provisioner that made a volume.
pub(super) fn volume_provisioner(volume: &PersistentVolume) -> Option<&str> {
    volume.metadata.annotation(names::PROVISIONED_BY)
}

/// Step 0 of a claim's sync.
pub(super) fn migrate_claim(
    config: &Config,
    claim: &PersistentVolumeClaim,
) -> Edit<PersistentVolumeClaim> {
    match migration(config, &claim.metadata, || claim_provisioner(claim)) {
        None => Edit::Unchanged,
        Some(migration) => {
            let mut claim = claim.clone();
            migration.apply_to(&mut claim.metadata);
            Edit::Changed(claim)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(migrated_to: Option<&str>) -> ObjectMeta {
        let mut metadata = ObjectMeta::default();
        if let Some(driver) = migrated_to {
            metadata.set_annotation(names::MIGRATED_TO, driver);
        }
        metadata
    }

    #[test]
    fn the_annotation_follows_the_provisioner() {
        let mut config = Config::default();
        config
            .migrated_plugins
            .insert("kubernetes.io/old".into(), "new.csi".into());
        let old = Some("kubernetes.io/old");
        for (migrated_to, provisioner, expected) in [
            (None, None, None),
            (Some("x"), None, None),
            (None, old, Some(Migration::To("new.csi"))),
            (Some("x"), old, Some(Migration::To("new.csi"))),
            (Some("new.csi"), old, None),
            (Some("x"), Some("other"), Some(Migration::Back)),
            (Some("x"), Some(""), Some(Migration::Back)),
            (Some(""), Some("other"), None),
            (None, Some("other"), None),
        ] {
            let found = migration(&config, &metadata(migrated_to), || provisioner);
            assert_eq!(found, expected, "{migrated_to:?} {provisioner:?}");
        }
    }
}
