//! Having a volume made for a claim: who does it.

use super::Config;
use super::draft::Draft;
use super::migration::migration;
use crate::api::{PersistentVolumeClaim, StorageClass, names};
use crate::binding::Edit;
use crate::plan::{Event, EventReason, Operation, Provisioner};
use crate::view::{ClusterView, Held};

/// Starts the operation that has a volume made, or says why none can be.
///
/// Follows `provisionClaim` of Kubernetes 1.36.
pub(super) fn provision<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    draft: &mut Draft,
    claim: Held<'_, PersistentVolumeClaim>,
) {
    if !config.dynamic_provisioning {
        return;
    }
    let name = claim.class_name();
    let Some(class) = view.class(name) else {
        let message = format!("storageclass.storage.k8s.io \"{name}\" not found");
        draft.event(failed(&claim, message));
        return;
    };
    match provisioner(config, &class) {
        Ok(provisioner) => draft.start(Operation::Provision {
            claim: claim.into_arc(),
            class: class.into_arc(),
            provisioner,
        }),
        Err(message) => draft.event(failed(&claim, message)),
    }
}

/// Who makes volumes of a class.
fn provisioner(config: &Config, class: &StorageClass) -> Result<Provisioner, String> {
    let name = class.provisioner();
    if let Some(driver) = config.migrated_to(name) {
        return Ok(Provisioner::External(driver.to_owned()));
    }
    match config.plugin(name) {
        Some(plugin) if plugin.can_provision => Ok(Provisioner::Internal(name.to_owned())),
        plugin if name.starts_with(names::IN_TREE_PREFIX) => Err(match plugin {
            Some(_) => "no provisionable volume plugin matched".to_owned(),
            None => format!("no volume plugin matched name: {name}"),
        }),
        _ => Ok(Provisioner::External(name.to_owned())),
    }
}

/// Notes on the claim who is to make its volume. Nothing changes if the new key
/// has that name already.
///
/// Follows `setClaimProvisioner` of Kubernetes 1.36.
pub(super) fn set_provisioner(
    config: &Config,
    claim: &PersistentVolumeClaim,
    provisioner: &str,
) -> Edit<PersistentVolumeClaim> {
    if claim.metadata.annotation(names::STORAGE_PROVISIONER) == Some(provisioner) {
        return Edit::Unchanged;
    }
    let mut claim = claim.clone();
    let metadata = &mut claim.metadata;
    metadata.set_annotation(names::STORAGE_PROVISIONER, provisioner);
    metadata.set_annotation(names::BETA_STORAGE_PROVISIONER, provisioner);
    // By the new name: a CSI driver is not migrated, so the annotation goes
    // even where the class names a migrated plugin.
    if let Some(migration) = migration(config, metadata, || Some(provisioner)) {
        migration.apply_to(metadata);
    }
    Edit::Changed(claim)
}

pub(super) fn failed(claim: &PersistentVolumeClaim, message: impl Into<String>) -> Event {
    Event::on_claim(claim, EventReason::ProvisioningFailed, message)
}
