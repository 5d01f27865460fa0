//! Claims that name a volume.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume, VolumePhase};
use crate::diagnosis::parts::Rule;
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy, volume};
use crate::matching::{
    Refusal, check_access_modes, check_attributes_class, check_class, check_not_being_deleted,
    check_volume_mode, volume_satisfies_claim,
};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    pub(super) fn wish_missing(&self) -> Vec<Finding> {
        let volume = self.claim.volume_name();
        if !self.survey.known.volumes {
            return vec![self.not_known("volumes", volume)];
        }
        let facts = ClaimFacts::NamesMissingVolume {
            volume: volume.to_owned(),
            similar: self.survey.similar_volumes(volume),
        };
        let finding = Finding::from(facts).with(again("naming a volume that exists, or none"));
        let mut findings = vec![finding];
        findings.extend(self.wish_notes());
        findings
    }

    pub(super) fn taken(&self, was_chosen: bool) -> Vec<Finding> {
        let Some(volume) = self.survey.view.volume(self.claim.volume_name()) else {
            return Vec::new();
        };
        let Some(reference) = volume.claim_ref() else {
            return Vec::new();
        };
        let owner = ClaimKey::referred(reference);
        let is_own = owner == ClaimKey::of(self.claim);
        let held_by = self.survey.view.claim(&owner.namespace, &owner.name);
        let has_owner = held_by.as_ref().is_some_and(|claim| {
            let has_another =
                !claim.volume_name().is_empty() && claim.volume_name() != volume.name();
            reference.uid().is_empty() || (claim.metadata.uid() == reference.uid() && !has_another)
        }) || self.is_bound_elsewhere(&volume);
        let is_gone = held_by.is_none()
            && !has_owner
            && !owner.namespace.is_empty()
            && !owner.name.is_empty()
            && self.survey.known.has_claims_of(&owner.namespace);
        let facts = ClaimFacts::NamesTakenVolume {
            volume: volume.name().to_owned(),
            owner,
            owner_uid: reference.uid().to_owned(),
            has_owner,
            is_earlier: is_own,
            was_chosen,
            phase: volume
                .status
                .phase
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        };
        let is_over = [VolumePhase::Released, VolumePhase::Failed];
        let is_over = is_over.iter().any(|phase| volume.phase() == Some(phase));
        let is_reserved = reference.uid().is_empty();
        let given = match volume.metadata.is_being_deleted() {
            // It goes, whomever it is given to.
            true => None,
            false if is_reserved => Some(self.hand_over(&volume, reference.key())),
            false if is_over && is_gone => Some(self.take_over(&volume, reference.key())),
            false => None,
        };
        let finding = Finding::from(facts)
            .with(again("naming another volume, or none"))
            .with_all(given);
        let mut findings = Vec::new();
        if is_own {
            findings.extend(self.leftover(&volume));
        } else if reference.namespace().is_empty() || reference.name().is_empty() {
            findings.extend(self.incomplete());
        }
        // What explains it comes first.
        findings.push(finding);
        findings.extend(self.wish_notes());
        findings
    }

    /// A reservation can be changed in favour of this claim.
    pub(super) fn hand_over(&self, volume: &PersistentVolume, from: String) -> Remedy {
        let key = ClaimKey::of(self.claim);
        let patch = Patch::of(
            ObjectName::of(Kind::Volume, &volume.metadata),
            &volume.metadata,
            json!({"spec": {"claimRef": {"namespace": key.namespace, "name": key.name}}}),
        );
        let remedy = Remedy::new(
            format!("reserve volume `{}` for this claim instead", volume.name()),
            format!("claim {from} no longer gets it"),
        );
        remedy.patching(patch)
    }

    /// A volume that was released can be given to this claim, with what is in it.
    pub(super) fn take_over(&self, released: &PersistentVolume, from: String) -> Remedy {
        let risk = volume::data_at_risk(self.survey, released);
        let key = ClaimKey::of(self.claim);
        let reference = json!({"namespace": key.namespace, "name": key.name, "uid": null,
            "resourceVersion": null});
        let (first, patch) =
            volume::rescued(risk.as_ref(), json!({"spec": {"claimRef": reference}}));
        let metadata = &released.metadata;
        let patch = Patch::of(ObjectName::of(Kind::Volume, metadata), metadata, patch);
        let name = released.name();
        let remedy = Remedy::new(
            format!("{first}reserve volume `{name}` for this claim instead"),
            format!("this claim gets the data of claim {from}"),
        );
        remedy.patching(patch)
    }

    pub(super) fn mismatch(&self, message: String) -> Vec<Finding> {
        let Some(volume) = self.survey.view.volume(self.claim.volume_name()) else {
            return Vec::new();
        };
        let facts = ClaimFacts::NamesMismatchedVolume {
            volume: volume.name().to_owned(),
            message,
            rules: self.mismatches(&volume),
        };
        let finding = Finding::from(facts).with(again("so that it fits, or naming no volume"));
        let mut findings = vec![finding];
        findings.extend(self.wish_notes());
        findings
    }

    /// The rule of the controller's text first, then every other that refuses.
    fn mismatches(&self, volume: &PersistentVolume) -> Vec<Rule> {
        let (claim, features) = (self.claim, self.survey.config.features);
        let first = volume_satisfies_claim(volume, claim, features).err();
        let is_small = first.is_some_and(|first| matches!(first.refusal, Refusal::TooSmall { .. }));
        let others = [
            check_not_being_deleted(volume),
            check_class(volume, claim),
            check_attributes_class(volume, claim, features),
            check_volume_mode(volume, claim),
            check_access_modes(volume, claim),
        ];
        let others = others.into_iter().filter_map(Result::err);
        let size = crate::matching::check_capacity(volume, claim).err();
        let size = size.filter(|_| !is_small);
        let mut refusals: Vec<Refusal<'_>> = first.map(|first| first.refusal).into_iter().collect();
        for refusal in others.chain(size) {
            if !refusals.iter().any(|has| has.code() == refusal.code()) {
                refusals.push(refusal);
            }
        }
        refusals.iter().map(Rule::of).collect()
    }

    fn wish_notes(&self) -> Vec<Finding> {
        let mut notes: Vec<_> = self.names_volume_delayed().into_iter().collect();
        let class = self.survey.view.class(self.claim.class_name());
        let is_dynamic = class.is_some_and(|class| {
            !matches!(class.provisioner(), "" | crate::api::names::NO_PROVISIONER)
        });
        if is_dynamic {
            let facts = ClaimFacts::NeverProvisioned {
                volume: self.claim.volume_name().to_owned(),
                class: self.claim.class_name().to_owned(),
            };
            notes.push(facts.into());
        }
        notes
    }

    /// Until it is bound, the claim's pods see an unbound immediate claim.
    pub(super) fn names_volume_delayed(&self) -> Option<Finding> {
        let class = self.claim.class_name();
        let is_bound = self.claim.is_fully_bound();
        let volume = self.claim.volume_name();
        (!is_bound && !volume.is_empty() && self.survey.is_delayed(class)).then(|| {
            let facts = ClaimFacts::NamesVolumeDelayed {
                volume: volume.to_owned(),
                class: class.to_owned(),
            };
            Finding::from(facts).with(again(
                "without spec.volumeName, and reserve the volume by its claimRef",
            ))
        })
    }
}

fn again(how: &str) -> Remedy {
    Remedy::new(
        format!("delete the claim and create it again, {how}"),
        "the claim has no data yet",
    )
}
