//! Claims for which no volume fits.

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, VolumeMode, VolumePhase, names};
use crate::diagnosis::census::NEAREST;
use crate::diagnosis::parts::{Counted, Miss, Slip, is_tiny};
use crate::diagnosis::words::Modes;
use crate::diagnosis::{ClaimFacts, Code, Finding, Kind, ObjectName, Patch, Remedy, VolumeFacts};
use crate::matching::{FindOptions, MatchReport, Refusal, Summary, VolumeReport};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// How volumes are judged for the claim: as if it did not wait for its
    /// consumer, since that says nothing of what would fit then.
    pub(super) fn options(&self) -> FindOptions<'static> {
        FindOptions {
            features: self.survey.config.features,
            ..FindOptions::default()
        }
    }

    pub(super) fn report(&self) -> (MatchReport<'_>, Summary<'_>) {
        self.survey.census.report(self.claim, &self.options())
    }

    /// Nothing fits, and nothing is made.
    pub(super) fn no_match(&self) -> Vec<Finding> {
        if !self.survey.known.volumes {
            return vec![self.not_known("volumes", "")];
        }
        let (report, summary) = self.report();
        let mut findings = self.reservations(&report);
        let mut searched = self.nothing_fits(&report, &summary);
        let class = self.class_notes();
        let is_cause = class.as_ref().is_some_and(|class| {
            let code = class.code();
            code == Code::ClaimClassUnset || code == Code::ClaimDefaultClassRefused
        });
        // Where a volume without class is only too small, it was meant.
        let is_cause = is_cause && report.error.is_none() && !is_only_small(&report);
        let place = if is_cause { 0 } else { searched.len() };
        searched.splice(place..place, class).for_each(drop);
        findings.extend(searched);
        findings
    }

    /// The search, and what is odd about the nearest misses.
    pub(super) fn nothing_fits(
        &self,
        report: &MatchReport<'_>,
        summary: &Summary<'_>,
    ) -> Vec<Finding> {
        if let Some(error) = &report.error {
            return vec![self.error(crate::plan::SyncError::Find {
                claim: crate::api::ClaimKey::of(self.claim),
                error: error.clone(),
            })];
        }
        let mut nearest = report.near_misses();
        nearest.truncate(NEAREST);
        let facts = ClaimFacts::NoVolumeFits {
            summary: summary.to_string(),
            refused: summary.refused.iter().map(Counted::of).collect(),
            nearest: nearest.iter().map(|miss| Miss::of(miss)).collect(),
        };
        let given = nearest.iter().find_map(|miss| self.give_class(miss));
        let freed = nearest.iter().find_map(|miss| self.free(miss));
        let finding = Finding::from(facts).with_all(given).with_all(freed);
        let mut findings: Vec<Finding> = vec![finding.with(self.create_volume())];
        findings.extend(
            nearest
                .iter()
                .filter_map(|miss| self.decimal_against_binary(miss)),
        );
        let own_class = nearest
            .iter()
            .filter(|miss| miss.volume.class_name() == self.claim.class_name());
        findings.extend(own_class.filter_map(|miss| {
            let volume = miss.volume;
            is_tiny(volume.storage()).then(|| {
                let facts = VolumeFacts::UnitMissing {
                    volume: volume.name().to_owned(),
                    has: volume.storage().clone(),
                };
                facts.into()
            })
        }));
        findings
    }

    /// A volume that would fit if it had the claim's class, and has none.
    fn give_class(&self, miss: &VolumeReport<'_>) -> Option<Remedy> {
        let (volume, class) = (miss.volume, self.claim.class_name());
        let is_only_class = matches!(miss.refusals.as_slice(), [Refusal::Class { .. }]);
        if !is_only_class || class.is_empty() || !volume.class_name().is_empty() {
            return None;
        }
        let metadata = &volume.metadata;
        let spec = json!({"storageClassName": class});
        // What the annotation says goes before the field, even nothing.
        let patch = match metadata.has_annotation(names::BETA_STORAGE_CLASS) {
            true => {
                let annotations = json!({names::BETA_STORAGE_CLASS: null});
                json!({"metadata": {"annotations": annotations}, "spec": spec})
            }
            false => json!({"spec": spec}),
        };
        let patch = Patch::of(ObjectName::of(Kind::Volume, metadata), metadata, patch);
        let remedy = Remedy::new(
            format!(
                "give volume `{}` the class `{class}`, if it is meant",
                volume.name()
            ),
            "claims without class no longer get it",
        );
        Some(remedy.patching(patch))
    }

    /// A volume that would fit, and is kept for a claim that is gone.
    fn free(&self, miss: &VolumeReport<'_>) -> Option<Remedy> {
        let volume = miss.volume;
        let reference = volume.claim_ref()?;
        let owner = ClaimKey::referred(reference);
        let is_whole = !owner.namespace.is_empty() && !owner.name.is_empty();
        let only_kept = miss.refusals.iter().all(|refusal| {
            matches!(
                refusal,
                Refusal::ClaimedByOther {
                    earlier_claim: false,
                    ..
                } | Refusal::Phase { .. }
            )
        });
        let survey = self.survey;
        let is_gone = survey.view.claim(&owner.namespace, &owner.name).is_none()
            && survey.known.has_claims_of(&owner.namespace);
        let is_released = volume.status.phase == Some(VolumePhase::Released);
        let is_available = volume.status.phase == Some(VolumePhase::Available);
        let is_nobodys = is_gone && !self.is_bound_elsewhere(volume);
        match (only_kept && is_whole && is_nobodys, reference.uid()) {
            (true, "") if is_available => Some(self.hand_over(volume, reference.key())),
            (true, uid) if is_released && !uid.is_empty() => {
                Some(self.take_over(volume, reference.key()))
            }
            _ => None,
        }
    }

    fn create_volume(&self) -> Remedy {
        let claim = self.claim;
        let class = match claim.class_name() {
            "" => "without class".to_owned(),
            class => format!("of class `{class}`"),
        };
        let asked = claim.requested_storage();
        let mut volume = format!(
            "create a volume {class}, of {asked} or more, with {}",
            Modes(claim.access_modes())
        );
        let mut wants: Vec<String> = Vec::new();
        if *claim.volume_mode() != VolumeMode::Filesystem {
            wants.push(format!("volumeMode {}", claim.volume_mode()));
        }
        if !claim.attributes_class_name().is_empty() {
            let class = claim.attributes_class_name();
            wants.push(format!("volumeAttributesClassName `{class}`"));
        }
        if self.selects().is_some_and(|is_empty| !is_empty) {
            wants.push("labels that the claim's selector matches".to_owned());
        }
        for want in wants {
            volume += ", ";
            volume += &want;
        }
        Remedy::new(
            volume,
            "a claim that is not bound takes it, this one or another",
        )
    }

    /// The volume is too small only because one amount is decimal and the other
    /// binary, and nothing else refuses it.
    fn decimal_against_binary(&self, miss: &VolumeReport<'_>) -> Option<Finding> {
        let [Refusal::TooSmall { has, asked }] = miss.refusals.as_slice() else {
            return None;
        };
        if Slip::of(miss) != Some(Slip::DecimalAgainstBinary) {
            return None;
        }
        let volume = miss.volume;
        let facts = ClaimFacts::DecimalAgainstBinary {
            volume: volume.name().to_owned(),
            has: (*has).clone(),
            asked: (*asked).clone(),
        };
        let patch = Patch::of(
            ObjectName::of(Kind::Volume, &volume.metadata),
            &volume.metadata,
            json!({"spec": {"capacity": {"storage": asked}}}),
        );
        let remedy = Remedy::new(
            format!(
                "if volume `{}` really is as large, correct its capacity to {asked}",
                volume.name()
            ),
            "nothing checks that the volume really is as large",
        );
        let again = Remedy::new(
            format!("delete the claim and create it again, asking for {has}"),
            "the claim has no data yet",
        );
        Some(
            Finding::from(facts)
                .with(remedy.patching(patch))
                .with(again),
        )
    }
}

/// Whether the nearest volume has no class, and only is too small.
fn is_only_small(report: &MatchReport<'_>) -> bool {
    let nearest = report.near_misses().into_iter().next();
    nearest.is_some_and(|miss| {
        let mut refusals = miss.refusals.iter();
        refusals.all(|refusal| matches!(refusal, Refusal::TooSmall { .. }))
    })
}
