//! Claims that have lost their volume.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, ClaimPhase, PersistentVolume};
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy, volume};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    pub(super) fn lost(&self) -> Vec<Finding> {
        let name = self.claim.volume_name();
        if name.is_empty() {
            return vec![self.lost_volume_name()];
        }
        match self.survey.view.volume(name) {
            None => vec![self.lost_volume(name)],
            Some(volume) => self.misbound(&volume),
        }
    }

    fn lost_volume_name(&self) -> Finding {
        let metadata = &self.claim.metadata;
        let volumes = self
            .survey
            .census
            .claimed_by(metadata.namespace(), metadata.name());
        let is_own = |volume: &&&PersistentVolume| {
            let uid = volume.claim_ref().map(|reference| reference.uid());
            uid == Some(metadata.uid())
        };
        let own: Vec<_> = volumes
            .iter()
            .filter(is_own)
            .map(|volume| volume.name().to_owned())
            .collect();
        let remedies: Vec<_> = own
            .iter()
            .map(|volume| {
                let patch = Patch::of(
                    ObjectName::of(Kind::Claim, metadata),
                    metadata,
                    json!({"spec": {"volumeName": volume}}),
                );
                let remedy = Remedy::new(
                    format!("name volume `{volume}` in the claim's spec.volumeName"),
                    "the claim is bound to that volume again, with its data",
                );
                remedy.patching(patch)
            })
            .collect();
        Finding::from(ClaimFacts::LostVolumeName { volumes: own }).with_all(remedies)
    }

    fn lost_volume(&self, volume: &str) -> Finding {
        // Who wrote that it is lost knew.
        let is_written = self.claim.status.phase == Some(ClaimPhase::Lost);
        if !self.survey.known.volumes && !is_written {
            return self.not_known("volumes", volume);
        }
        let facts = ClaimFacts::LostVolume {
            volume: volume.to_owned(),
            is_known: self.survey.known.volumes,
        };
        let look = (!self.survey.known.volumes).then(|| {
            Remedy::new(
                format!("see whether volume `{volume}` exists, and whose it is"),
                "if it is another claim's, giving it to this one makes that Lost",
            )
        });
        Finding::from(facts)
            .with_all(look)
            .with(Remedy::new(
                format!(
                    "create volume `{volume}` again, of the same source, with a claimRef of this \
                     claim's namespace, name and uid"
                ),
                "if the backend still has the data, the claim is bound to it again",
            ))
            .with(Remedy::new(
                "delete the claim and create it again",
                "it starts with another volume, and without the data",
            ))
    }

    fn misbound(&self, volume: &PersistentVolume) -> Vec<Finding> {
        let reference = volume.claim_ref();
        let owner = reference.map(ClaimKey::referred);
        let owner = owner.unwrap_or_else(|| ClaimKey::new("", ""));
        let owner_uid = reference
            .map(|reference| reference.uid())
            .unwrap_or_default();
        let facts = ClaimFacts::Misbound {
            volume: volume.name().to_owned(),
            owner: owner.clone(),
            owner_uid: owner_uid.to_owned(),
        };
        let key = ClaimKey::of(self.claim);
        let uid = self.claim.metadata.uid();
        let mut finding = Finding::from(facts);
        let has_owner = owner != key
            && self
                .survey
                .view
                .claim(&owner.namespace, &owner.name)
                .is_some_and(|claim| owner_uid.is_empty() || claim.metadata.uid() == owner_uid);
        let has_owner = has_owner || self.is_bound_elsewhere(volume);
        let knows_owner = self.survey.known.has_claims_of(&owner.namespace);
        let is_owner_unknown = !has_owner && !knows_owner && !owner_uid.is_empty() && owner != key;
        // Nobody keeps the volume from being deleted while it is given away.
        let is_released = !has_owner && !is_owner_unknown && !owner_uid.is_empty();
        let risk = is_released.then(|| volume::data_at_risk(self.survey, volume));
        let risk = risk.flatten();
        if is_owner_unknown {
            finding = finding.with(Remedy::new(
                format!("see whether claim `{owner}` exists, which is not among the claims known"),
                "if it does, giving its volume to this claim makes it Lost",
            ));
        } else if !has_owner && !uid.is_empty() && !volume.metadata.is_being_deleted() {
            let reference = json!({"namespace": key.namespace, "name": key.name, "uid": uid});
            let patch = json!({"spec": {"claimRef": reference}});
            let (first, patch) = volume::rescued(risk.as_ref(), patch);
            let patch = Patch::of(
                ObjectName::of(Kind::Volume, &volume.metadata),
                &volume.metadata,
                patch,
            );
            let remedy = Remedy::new(
                format!(
                    "{first}give volume `{}` to this claim: its namespace, name and uid in the \
                     claimRef",
                    volume.name()
                ),
                "the claim gets whatever data is in the volume",
            );
            finding = finding.with(remedy.patching(patch));
        }
        let finding = finding.with(Remedy::new(
            "delete the claim and create it again without spec.volumeName and binding annotations",
            "it is then searched a volume like any other",
        ));
        std::iter::once(finding).chain(risk).collect()
    }
}
