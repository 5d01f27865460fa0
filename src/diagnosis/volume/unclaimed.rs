//! Volumes whose claimRef is gone while a claim still has them.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use crate::diagnosis::words::NamesOf;
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
        let owners = survey.naming().owners(volume.name());
        let owner = owners.first()?;
        let claim = survey.view.claim(&owner.namespace, &owner.name)?;
        let offers = survey.offers(volume);
        let facts = VolumeFacts::Unclaimed {
            volume: volume.name().to_owned(),
            claim: owner.clone(),
            rivals: offers.fitting.iter().take(TOLD).cloned().collect(),
            count: offers.count,
        };
        Some(Finding::from(facts).with(claim_again(volume, &claim, owners)))
    }
}

/// Writing the claimRef that a volume should have. Where more claims than this
/// one were bound to it, only a look at the data tells which.
pub(in crate::diagnosis) fn claim_again(
    volume: &PersistentVolume,
    claim: &PersistentVolumeClaim,
    owners: &[ClaimKey],
) -> Remedy {
    if owners.len() > 1 {
        let told = owners.iter().take(TOLD).map(ClaimKey::to_string);
        let told: Vec<_> = told.collect();
        return Remedy::new(
            format!(
                "see which of {} has its data in volume `{}`, and write that one's claimRef back",
                NamesOf(&told, owners.len()),
                volume.name()
            ),
            "the others are Lost then",
        );
    }
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
