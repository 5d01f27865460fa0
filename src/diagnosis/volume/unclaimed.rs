//! Volumes whose claimRef is gone while a claim still has them.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::diagnosis::{Finding, Kind, ObjectName, Patch, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

/// So many claims are told by name.
const TOLD: usize = 5;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// A claim was bound to the volume, and its claimRef is gone: it seems free,
    /// and holds that claim's data.
    pub(super) fn unclaimed(&self) -> Option<Finding> {
        let volume = self.volume;
        if volume.claim_ref().is_some() {
            return None;
        }
        let survey = self.survey;
        let owner = survey.naming().owners(volume.name()).first()?;
        let claim = survey.view.claim(&owner.namespace, &owner.name)?;
        let offers = survey.offers(volume);
        let facts = VolumeFacts::Unclaimed {
            volume: volume.name().to_owned(),
            claim: owner.clone(),
            rivals: offers.fitting.iter().take(TOLD).cloned().collect(),
            count: offers.count,
        };
        Some(Finding::from(facts).with(claim_again(volume, &claim)))
    }
}

/// Writing the claimRef that a volume should have.
pub(in crate::diagnosis) fn claim_again(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
) -> Remedy {
    let key = ClaimKey::of(claim);
    let reference = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": key.namespace, "name": key.name, "uid": claim.metadata.uid});
    let metadata = &volume.metadata;
    let patch = Patch::of(
        ObjectName::of(Kind::Volume, metadata),
        metadata,
        json!({"spec": {"claimRef": reference}}),
    );
    let remedy = Remedy::new(
        format!(
            "write the claimRef of volume `{}` back: claim {key}, with its uid",
            volume.name()
        ),
        "no other claim can take the volume then",
    );
    remedy.patching(patch)
}
