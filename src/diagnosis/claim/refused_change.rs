//! Changes of a bound claim that its driver refuses, or that nobody makes.

use serde_json::{Value, json};

use super::Examination;
use crate::api::PersistentVolume;
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy};
use crate::quantity::Quantity;
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The volume never becomes as large as the claim asks for.
    pub(super) fn resize_infeasible(
        &self,
        volume: &PersistentVolume,
        granted: &Quantity,
    ) -> Option<Finding> {
        let asked = self.claim.requested_storage();
        let statuses = self.claim.status.unknown.get("allocatedResourceStatuses");
        let status = statuses.and_then(|statuses| statuses.get("storage"));
        let status = status.and_then(Value::as_str).unwrap_or_default();
        let is_refused = status.ends_with("Infeasible");
        let source = volume.source().unwrap_or_default();
        let migrates = || {
            let provisioner = volume
                .metadata
                .annotation(crate::api::names::PROVISIONED_BY);
            let migrated = volume.metadata.annotation(crate::api::names::MIGRATED_TO);
            migrated.is_some()
                || provisioner.is_some_and(|name| self.survey.config.migrated_to(name).is_some())
        };
        // What is neither of a driver nor migrated to one is made by hand.
        let is_by_hand = BY_HAND.contains(&source) && volume.storage() < asked && !migrates();
        if !is_refused && !is_by_hand {
            return None;
        }
        let facts = ClaimFacts::ResizeInfeasible {
            volume: volume.name().to_owned(),
            asked: asked.clone(),
            granted: granted.clone(),
            status: if is_refused {
                status.to_owned()
            } else {
                String::new()
            },
            source: source.to_owned(),
        };
        let remedy = match is_refused {
            true => Remedy::new(
                format!("ask for less than {asked}, and more than {granted}"),
                "the driver is asked again, for that",
            ),
            false => Remedy::new(
                "make a larger volume, and move the data to a claim of it",
                "the claim stays as it is, and works",
            ),
        };
        Some(Finding::from(facts).with(remedy))
    }

    /// The driver refuses the VolumeAttributesClass that is asked for.
    pub(super) fn modify_infeasible(&self) -> Option<Finding> {
        let modify = self.claim.status.unknown.get("modifyVolumeStatus")?;
        let text = |field: &str| modify.get(field).and_then(Value::as_str);
        let asked = self.claim.attributes_class_name();
        let is_of_this = text("targetVolumeAttributesClassName") == Some(asked);
        if text("status") != Some("Infeasible") || !is_of_this || asked.is_empty() {
            return None;
        }
        let current = self
            .claim
            .status
            .current_volume_attributes_class_name
            .clone();
        let current = current.unwrap_or_default();
        let facts = ClaimFacts::ModifyInfeasible {
            asked: asked.to_owned(),
            current: current.clone(),
        };
        let metadata = &self.claim.metadata;
        let is_back = !current.is_empty() && current != asked;
        let back = is_back.then(|| {
            let patch = json!({"spec": {"volumeAttributesClassName": current}});
            let patch = Patch::of(ObjectName::of(Kind::Claim, metadata), metadata, patch);
            let remedy = Remedy::new(
                format!("ask for `{current}` again, or for a class that the driver takes"),
                "the volume stays as it is",
            );
            remedy.patching(patch)
        });
        Some(Finding::from(facts).with_all(back))
    }
}

/// Sources of volumes that no driver makes larger.
const BY_HAND: [&str; 6] = ["nfs", "hostPath", "local", "iscsi", "fc", "cephfs"];
