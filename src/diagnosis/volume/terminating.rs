//! Volumes that are being deleted.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, VolumePhase, names};
use crate::controller::sync_volume;
use crate::diagnosis::parts::Holder;
use crate::diagnosis::words::Name;
use crate::diagnosis::{Finding, Reclaim, Remedy, VolumeFacts};
use crate::plan::{Step, Write};
use crate::view::{DiagnosticView, Held};

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// Who holds a volume that is being deleted.
    pub(super) fn terminating(&self) -> Option<Finding> {
        let metadata = &self.volume.metadata;
        if !metadata.is_being_deleted() {
            return None;
        }
        let finalizers = || metadata.finalizers.iter().flatten();
        let removed = self.removed_by_sync();
        let holder = |finalizer: &String| {
            let (who, nobody) = match removed.contains(finalizer) {
                true => (
                    "is removed by the next sync of the controller".to_owned(),
                    false,
                ),
                false => self.holder(finalizer),
            };
            Holder {
                finalizer: finalizer.clone(),
                who,
                pods: Vec::new(),
                nobody,
            }
        };
        let holders: Vec<_> = finalizers().map(holder).collect();
        if !holders.iter().any(|holder| holder.nobody) {
            return Some(VolumeFacts::Terminating { holders }.into());
        }
        let kept: Vec<_> = holders.iter().filter(|holder| !holder.nobody).collect();
        let kept: Vec<_> = kept
            .into_iter()
            .map(|holder| holder.finalizer.clone())
            .collect();
        let patch = self.patch(json!({"metadata": {"finalizers": kept}}));
        let remedy = Remedy::new(
            "delete the volume in the backend by hand, then remove the finalizer that nobody removes",
            "removed too early, the volume stays in the backend, and nothing in the cluster knows of it",
        );
        let facts = VolumeFacts::TerminatingStuck { holders };
        Some(Finding::from(facts).with(remedy.patching(patch)))
    }

    /// The finalizers that the controller removes whatever else it decides.
    fn removed_by_sync(&self) -> Vec<String> {
        let (config, view) = (self.survey.config, self.survey.view);
        let key = self.volume.claim_ref().map(ClaimKey::referred);
        let evidence = key.map(|key| self.gone(key));
        let volume = Held::Borrowed(self.volume);
        let plan = sync_volume(config, view, volume, evidence.as_deref());
        let first = plan.steps.into_iter().next();
        let Some(Step::Write {
            write: Write::Volume(change),
            ..
        }) = first
        else {
            return Vec::new();
        };
        let finalizers = change.from.metadata.finalizers.iter().flatten();
        let removed = finalizers.filter(|finalizer| !change.to.metadata.has_finalizer(finalizer));
        removed.cloned().collect()
    }

    /// Who removes a finalizer, and whether that is nobody.
    fn holder(&self, finalizer: &str) -> (String, bool) {
        match finalizer {
            names::PV_PROTECTION_FINALIZER => {
                let claim = self.volume.claim_ref().map(|reference| reference.key());
                let claim = claim.unwrap_or_default();
                let who = match self.is_phase(&VolumePhase::Bound) {
                    true => format!("is removed when claim {} is gone", Name(&claim)),
                    false => "is removed soon, as the volume is not bound".to_owned(),
                };
                (who, false)
            }
            names::PV_CONTROLLER_FINALIZER => match self.reclaim() {
                Reclaim::DeletedBy(plugin) => (
                    format!(
                        "is removed when plugin {} has deleted the volume",
                        Name(&plugin)
                    ),
                    false,
                ),
                _ => (
                    "is removed by nobody: no in-tree plugin deletes the volume".to_owned(),
                    true,
                ),
            },
            names::EXTERNAL_PROVISIONER_FINALIZER => self.external_holder(),
            other if other.starts_with("external-attacher/") => (
                "is removed by the external attacher when the volume is detached".to_owned(),
                false,
            ),
            _ => ("is removed by whoever put it there".to_owned(), false),
        }
    }

    fn external_holder(&self) -> (String, bool) {
        let metadata = &self.volume.metadata;
        let of_source = self
            .volume
            .spec
            .csi
            .as_ref()
            .and_then(|csi| csi.driver.as_deref());
        let provisioner = metadata.annotation(names::PROVISIONED_BY);
        let migrated = metadata.annotation(names::MIGRATED_TO);
        let mut names = [migrated, provisioner, of_source].into_iter().flatten();
        let driver = names.find(|name| !name.is_empty());
        let Some(driver) = driver else {
            let who = "is removed by nobody: the volume names no external provisioner";
            return (who.to_owned(), true);
        };
        let is_csi = of_source.is_some() || migrated.is_some();
        let is_gone = is_csi
            && self.survey.known.csi_drivers
            && self.survey.view.csi_driver(driver).is_none();
        match is_gone {
            true => {
                let driver = Name(driver);
                (
                    format!("is removed by nobody: there is no CSIDriver {driver}"),
                    true,
                )
            }
            false => {
                let driver = Name(driver);
                let who =
                    format!("is removed when external provisioner {driver} has deleted the volume");
                (who, false)
            }
        }
    }
}
