//! Volumes that are being deleted.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume, VolumePhase, names};
use crate::controller::sync_volume;
use crate::diagnosis::external::provisioner_config;
use crate::diagnosis::parts::Holder;
use crate::diagnosis::words::{Cut, Name};
use crate::diagnosis::{Finding, Reclaim, Remedy, VolumeFacts};
use crate::plan::{Change, Plan, Step, Write};
use crate::provisioner::{self, Kept, VolumeNext, VolumeOutcome};
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
            let finding = Finding::from(VolumeFacts::Terminating { holders });
            let stays = matches!(self.reclaim(), Reclaim::Kept | Reclaim::LeftExternally(_));
            return Some(finding.with_all(stays.then(|| self.note_down())));
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
        let Some(change) = first_edit(&plan) else {
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
                Reclaim::Fails(message) => (
                    format!(
                        "is removed by nobody, as deleting the volume fails: {}",
                        Cut(&message)
                    ),
                    true,
                ),
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

    /// What the external provisioner's own sync does with the volume.
    fn external_holder(&self) -> (String, bool) {
        let driver = self.external();
        if driver.is_empty() {
            let who = "is removed by nobody: the volume names no external provisioner";
            return (who.to_owned(), true);
        }
        let config = provisioner_config(self.survey.config, &driver);
        let plan = provisioner::sync_volume(&config, self.volume);
        let name = Name(&driver);
        let edited = first_edit(&plan).is_some();
        match plan.verdict {
            _ if edited => (
                format!(
                    "is removed by external provisioner {name}, if that runs, and the backend \
                     keeps the volume"
                ),
                false,
            ),
            VolumeNext::Over(Ok(VolumeOutcome::Kept(Kept::NotReleased { phase })))
                if !self.is_yet_released() =>
            {
                let phase = match phase.as_str() {
                    "" => "has no phase".to_owned(),
                    phase => format!("is {}", Cut(phase)),
                };
                (
                    format!(
                        "is removed by nobody: external provisioner {name} deletes only what is \
                         Released, and the volume {phase}"
                    ),
                    true,
                )
            }
            VolumeNext::Over(Ok(VolumeOutcome::NotOurs(refusal))) => (
                format!("is removed by nobody: for external provisioner {name}, {refusal}"),
                true,
            ),
            _ if self.has_no_driver(&driver) && self.is_on_no_node(&driver) => (
                format!(
                    "is removed by nobody, as there is no CSIDriver {name}, and no node has the \
                     driver"
                ),
                true,
            ),
            _ if self.has_no_driver(&driver) => (
                format!(
                    "is removed when external provisioner {name} has deleted the volume; there is \
                     no CSIDriver of that name, so see whether it runs"
                ),
                false,
            ),
            _ => (
                format!("is removed when external provisioner {name} has deleted the volume"),
                false,
            ),
        }
    }

    /// Whether the volume has a claim whose end releases it.
    fn is_yet_released(&self) -> bool {
        let reference = self.volume.claim_ref();
        !self.is_phase(&VolumePhase::Failed)
            && reference.is_some_and(|reference| !reference.uid().is_empty())
    }

    /// A driver may do without a CSIDriver; one that is on no node is not there.
    pub(super) fn is_on_no_node(&self, driver: &str) -> bool {
        let mut is_there = false;
        self.survey.view.visit_csi_nodes(&mut |csi_node| {
            is_there = csi_node.driver(driver).is_some();
            !is_there
        });
        self.survey.known.csi_nodes && !is_there
    }

    fn has_no_driver(&self, driver: &str) -> bool {
        let metadata = &self.volume.metadata;
        let made_by = metadata.annotation(names::PROVISIONED_BY);
        // The next sync writes down that its plugin has migrated.
        let migrated = made_by.and_then(|plugin| self.survey.config.migrated_to(plugin));
        let is_migrated = metadata.has_annotation(names::MIGRATED_TO) || migrated.is_some();
        let is_csi = self.volume.spec.csi.is_some() || is_migrated;
        is_csi && self.survey.known.csi_drivers && self.survey.view.csi_driver(driver).is_none()
    }
}

/// What the first step of a plan makes of the volume's object.
fn first_edit<T>(plan: &Plan<T>) -> Option<&Change<PersistentVolume>> {
    match plan.steps.first()? {
        Step::Write {
            write: Write::Volume(change),
            ..
        } => Some(change),
        _ => None,
    }
}
