//! Volumes that are being deleted.

use serde_json::json;

use super::Examination;
use crate::api::{
    ClaimKey, PersistentVolume, PersistentVolumeReclaimPolicy as Policy, VolumePhase, names,
};
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
            let is_left = matches!(self.reclaim(), Reclaim::Kept | Reclaim::LeftExternally(_));
            let is_released = self.is_phase(&VolumePhase::Released) || self.is_yet_released();
            let stays = is_left || !is_released;
            return Some(finding.with_all(stays.then(|| self.note_down())));
        }
        let remedy = self.removal(&holders);
        Some(Finding::from(VolumeFacts::TerminatingStuck { holders }).with(remedy))
    }

    /// Removing what nobody removes: not while a claim keeps the volume.
    fn removal(&self, holders: &[Holder]) -> Remedy {
        let keeper = self.keeper().or_else(|| self.taker());
        let first = match &keeper {
            Some(keeper) => {
                let claim = keeper.claim.to_string();
                let copied = match keeper.has_it {
                    true => "copy the data to another claim, and ",
                    false => "",
                };
                format!("{copied}when claim {} is gone, ", Name(&claim))
            }
            None => String::new(),
        };
        let remedy = match self.is_to_be_deleted() {
            true => Remedy::new(
                format!(
                    "{first}delete the volume in the backend by hand, then remove the finalizer \
                     that nobody removes"
                ),
                "removed too early, the volume stays in the backend, and nothing in the cluster \
                 knows of it",
            ),
            false => Remedy::new(
                format!("{first}remove the finalizer that nobody removes"),
                format!(
                    "the volume's object goes, the backend keeps what it has, and nothing in the \
                     cluster knows of it then{}",
                    self.whereabouts()
                ),
            ),
        };
        if keeper.is_some() {
            return remedy;
        }
        let kept = holders.iter().filter(|holder| !holder.nobody);
        let kept: Vec<_> = kept.map(|holder| holder.finalizer.as_str()).collect();
        remedy.patching(self.patch(json!({"metadata": {"finalizers": kept}})))
    }

    /// The finalizers that the controller removes whatever else it decides.
    pub(super) fn removed_by_sync(&self) -> Vec<String> {
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
                let who = match self.keeper().filter(|_| self.is_phase(&VolumePhase::Bound)) {
                    Some(keeper) => {
                        let claim = keeper.claim.to_string();
                        format!("is removed when claim {} is gone", Name(&claim))
                    }
                    None if self.is_phase(&VolumePhase::Bound) => {
                        "is removed soon, as the volume does not stay bound".to_owned()
                    }
                    None => "is removed soon, as the volume is not bound".to_owned(),
                };
                (who, false)
            }
            names::PV_CONTROLLER_FINALIZER => match self.reclaim() {
                Reclaim::Fails(message) if self.is_to_be_deleted() => (
                    format!(
                        "is removed by nobody, as deleting the volume fails: {}",
                        Cut(&message)
                    ),
                    true,
                ),
                Reclaim::DeletedBy(plugin) if !self.is_yet_released() => (
                    format!(
                        "is removed by nobody: plugin {} deletes only what a claim has released, \
                         and no claim has the volume",
                        Name(&plugin)
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
        let plan = self.external_plan(&driver);
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
            VolumeNext::Over(Ok(VolumeOutcome::NotOurs(refusal))) => (
                format!("is removed by nobody: for external provisioner {name}, {refusal}"),
                true,
            ),
            _ if !self.is_to_be_deleted() => {
                let policy = self.volume.reclaim_policy();
                let policy = policy.map(Policy::as_str).unwrap_or_default();
                (
                    format!(
                        "is removed by nobody: external provisioner {name} deletes only what has \
                         reclaim policy Delete, and the volume has {}",
                        Name(policy)
                    ),
                    true,
                )
            }
            VolumeNext::Over(Ok(VolumeOutcome::Kept(Kept::NotReleased { phase })))
                if !self.is_yet_released_for_others() =>
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

    fn external_plan(&self, driver: &str) -> Plan<VolumeNext> {
        let config = provisioner_config(self.survey.config, driver);
        provisioner::sync_volume(&config, self.volume)
    }

    /// Whether the external provisioner lets go of the volume whatever its phase.
    pub(super) fn is_let_go(&self) -> bool {
        let driver = self.external();
        !driver.is_empty() && first_edit(&self.external_plan(&driver)).is_some()
    }

    /// Whether the volume becomes Released: one that is Failed does not, unless
    /// its claim names it, which makes it Bound again.
    fn is_yet_released_for_others(&self) -> bool {
        let reference = self.volume.claim_ref();
        let has_uid = reference.is_some_and(|reference| !reference.uid().is_empty());
        let has_claim = self.keeper().is_some_and(|keeper| keeper.has_it);
        let stays_failed = self.is_phase(&VolumePhase::Failed) && has_uid && !has_claim;
        !stays_failed && self.is_yet_released()
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

    fn is_to_be_deleted(&self) -> bool {
        self.volume.reclaim_policy() == Some(&Policy::Delete)
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

#[cfg(test)]
mod tests {
    use crate::api::read_objects;
    use crate::controller::Config;
    use crate::diagnosis::{Code, Remedy, Survey};
    use crate::view::Snapshot;

    fn removal(claim: &str) -> Remedy {
        let text = r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["kubernetes.io/pv-controller"]},
            "spec": {"capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": "/data"},
                "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}},
            "status": {"phase": "Bound"}}"#;
        let objects = read_objects(&format!("{text}{claim}")).unwrap();
        let snapshot: Snapshot = objects.into_iter().collect();
        let config = Config::kube_controller_manager();
        let survey = Survey::new(&config, &snapshot);
        let diagnosis = survey.volume(snapshot.volumes().get("pv-1").unwrap());
        let finding = diagnosis.finding(Code::VolumeTerminatingStuck).unwrap();
        finding.remedies.first().unwrap().clone()
    }

    #[test]
    fn no_finalizer_is_removed_by_a_patch_as_long_as_a_claim_keeps_the_volume() {
        let claim = |uid: &str, volume: &str| {
            removal(&format!(
                r#"{{"kind": "PersistentVolumeClaim",
                    "metadata": {{"namespace": "shop", "name": "data", "uid": "{uid}"}},
                    "spec": {{"storageClassName": "", "volumeName": "{volume}"}}}}"#
            ))
        };
        let last = "delete the volume in the backend by hand, then remove the finalizer that \
            nobody removes";
        let bound = claim("u-1", "pv-1");
        let first = "copy the data to another claim, and when claim `shop/data` is gone, ";
        assert_eq!(bound.sentence, format!("{first}{last}"));
        assert_eq!(bound.patch, None);
        let nameless = claim("u-1", "");
        let first = "when claim `shop/data` is gone, ";
        assert_eq!(nameless.sentence, format!("{first}{last}"));
        assert_eq!(nameless.patch, None);
        for over in [claim("u-2", "pv-1"), claim("u-1", "pv-2"), removal("")] {
            assert_eq!(over.sentence, last);
            assert!(over.patch.is_some());
        }
        // Its claimRef is gone, and the claim's next sync writes it back.
        let unclaimed = removal(
            r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["kubernetes.io/pv-controller"]},
            "spec": {"capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Delete",
                "hostPath": {"path": "/data"}}, "status": {"phase": "Available"}}
            {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data",
                "uid": "u-1", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"storageClassName": "", "volumeName": "pv-1"}, "status": {"phase": "Bound"}}"#,
        );
        let first = "copy the data to another claim, and when claim `shop/data` is gone, ";
        assert_eq!(unclaimed.sentence, format!("{first}{last}"));
        assert_eq!(unclaimed.patch, None);
    }
}
