//! Volumes that are, or were meant to be, reserved for a claim.

use std::collections::BTreeSet;

use serde_json::json;

use super::Examination;
use crate::api::{
    ClaimKey, ObjectReference, PersistentVolume, VolumeBindingMode, VolumePhase, names,
};
use crate::diagnosis::parts::Rule;
use crate::diagnosis::words::NAMED;
use crate::diagnosis::{ClaimFacts, Facts, Finding, Kind, ObjectName, Patch, Remedy, volume};
use crate::matching::{Bucket, FindOptions, MatchReport, Refusal};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// Why the volumes that people expect the claim to get are not taken.
    pub(super) fn reservations(&self, report: &MatchReport<'_>) -> Vec<Finding> {
        let mut findings = self.reserved_in_vain(report);
        findings.extend(self.released_by_earlier(report));
        findings
    }

    /// Volumes that are, or were meant to be, reserved for a claim for which one
    /// is made.
    pub(super) fn reserved_in_vain_for_made(&self) -> Vec<Finding> {
        let metadata = &self.claim.metadata;
        let census = &self.survey.census;
        let own = census.claimed_by(metadata.namespace(), metadata.name());
        match own.is_empty() {
            true => self.incomplete(),
            false => self.reserved_in_vain(&self.report().0),
        }
    }

    /// Volumes that are, or were meant to be, reserved for the claim, and that it
    /// does not get.
    pub(super) fn reserved_in_vain(&self, report: &MatchReport<'_>) -> Vec<Finding> {
        let unusable = report.bucket(Bucket::ReservedUnusable).map(|report| {
            let facts = ClaimFacts::ReservedUnusable {
                volume: report.volume.name().to_owned(),
                rules: report.refusals.iter().map(Rule::of).collect(),
            };
            Finding::from(facts)
        });
        let mut findings: Vec<_> = unusable.collect();
        findings.extend(self.incomplete());
        findings
    }

    /// Volumes of an earlier claim of the same name that would fit if they were
    /// free.
    fn released_by_earlier(&self, report: &MatchReport<'_>) -> Vec<Finding> {
        let would_fit = |refusals: &[Refusal<'_>]| {
            let is_of_earlier = |refusal: &Refusal<'_>| {
                matches!(
                    refusal,
                    Refusal::ClaimedByOther {
                        earlier_claim: true,
                        ..
                    }
                )
            };
            refusals.iter().any(is_of_earlier)
                && refusals.iter().all(|refusal| {
                    is_of_earlier(refusal) || matches!(refusal, Refusal::Phase { .. })
                })
        };
        let volumes = report.volumes.iter();
        let volumes = volumes.filter(|report| would_fit(&report.refusals));
        volumes
            .flat_map(|report| self.leftover(report.volume))
            .collect()
    }

    /// A volume of an earlier claim of the same name, and whether its data is
    /// about to go.
    pub(super) fn leftover(&self, volume: &PersistentVolume) -> Vec<Finding> {
        let risk = volume::data_at_risk(self.survey, volume);
        let uid = volume.claim_ref().map(|reference| reference.uid());
        let phase = volume.phase();
        let facts = ClaimFacts::ReleasedByEarlier {
            volume: volume.name().to_owned(),
            phase: phase.map(|phase| phase.to_string()).unwrap_or_default(),
            earlier_uid: uid.unwrap_or_default().to_owned(),
            uid: self.claim.metadata.uid().to_owned(),
        };
        let whole = reference_patch(
            volume,
            risk.as_ref(),
            json!(null),
            (
                format!("clear the whole claimRef of `{}`", volume.name()),
                "whichever claim fits first takes it, and gets the data of the earlier one",
            ),
        );
        // One that is being deleted goes, whomever it is reserved for.
        let is_kept_from_it = volume.metadata.is_being_deleted() || self.is_bound_elsewhere(volume);
        let finding = match is_kept_from_it {
            true => Finding::from(facts),
            false => Finding::from(facts)
                .with(uid_only(volume, risk.as_ref()))
                .with(whole),
        };
        std::iter::once(finding).chain(risk).collect()
    }

    /// Volumes of earlier claims of this name, where nothing else is said of
    /// them: another volume is taken, or made empty, while one of them has the
    /// data.
    pub(super) fn earlier(&self, told: &[Finding]) -> Vec<Finding> {
        let metadata = &self.claim.metadata;
        let census = &self.survey.census;
        let volumes = census.claimed_by(metadata.namespace(), metadata.name());
        let told: BTreeSet<_> = told
            .iter()
            .filter_map(|finding| match &finding.facts {
                Facts::Claim(
                    ClaimFacts::ReleasedByEarlier { volume, .. }
                    | ClaimFacts::NamesTakenVolume { volume, .. }
                    | ClaimFacts::Misbound { volume, .. },
                ) => Some(volume.as_str()),
                _ => None,
            })
            .collect();
        let is_earlier = |volume: &PersistentVolume| {
            let uid = volume.claim_ref().map(|reference| reference.uid());
            uid.is_some_and(|uid| !uid.is_empty() && uid != metadata.uid())
        };
        let left = volumes.iter().filter(|volume| {
            is_earlier(volume)
                && !volume.metadata.is_being_deleted()
                && !told.contains(volume.name())
        });
        let left: Vec<_> = left.take(NAMED).collect();
        let is_open = !self.claim.is_bind_completed() && !metadata.is_being_deleted();
        let report = (is_open && !left.is_empty()).then(|| self.report().0);
        let findings = left.into_iter().flat_map(|volume| {
            let risk = volume::data_at_risk(self.survey, volume);
            let report = report.as_ref();
            let left = report.map(|report| self.earlier_volume(volume, risk.as_ref(), report));
            left.into_iter().chain(risk)
        });
        findings.collect()
    }

    fn earlier_volume(
        &self,
        volume: &PersistentVolume,
        risk: Option<&Finding>,
        report: &MatchReport<'_>,
    ) -> Finding {
        let reference = volume.claim_ref();
        let reserved = self.if_reserved(volume, report);
        let phase = volume.phase();
        let facts = ClaimFacts::EarlierVolume {
            volume: volume.name().to_owned(),
            phase: phase.map(|phase| phase.to_string()).unwrap_or_default(),
            earlier_uid: reference
                .map(|reference| reference.uid().to_owned())
                .unwrap_or_default(),
            rules: reserved.rules,
        };
        Finding::from(facts).with_all(reserved.is_taken.then(|| uid_only(volume, risk)))
    }

    /// What becomes of a volume of an earlier claim once it is reserved for this
    /// one: the search skips it if it does not fit, and goes through volumes of
    /// fewer access modes first.
    fn if_reserved(&self, volume: &PersistentVolume, report: &MatchReport<'_>) -> IfReserved {
        let reserved = self.reserved(volume);
        let claim = self.claim;
        let class = self.survey.view.class(claim.class_name());
        let mode = class.map(|class| class.volume_binding_mode.clone());
        let options = FindOptions {
            delay_binding: mode == Some(Some(VolumeBindingMode::WaitForFirstConsumer)),
            ..self.options()
        };
        let others = report.chosen().into_iter();
        let found = MatchReport::new(claim, others.chain([&reserved]), &options);
        let is_found = found.chosen().map(PersistentVolume::name) == Some(volume.name());
        // Nothing is searched for a class without a mode, nor for a claim that
        // names a volume.
        let is_searched = mode != Some(None) && claim.volume_name().is_empty();
        IfReserved {
            is_taken: is_found && is_searched && !self.is_bound_elsewhere(volume),
            rules: self.refused(&reserved),
        }
    }

    /// The volume if it were reserved for the claim.
    fn reserved(&self, volume: &PersistentVolume) -> PersistentVolume {
        let metadata = &self.claim.metadata;
        let mut reserved = volume.clone();
        reserved.spec.claim_ref = Some(ObjectReference {
            namespace: Some(metadata.namespace().to_owned()),
            name: Some(metadata.name().to_owned()),
            ..ObjectReference::default()
        });
        reserved.status.phase = Some(VolumePhase::Available);
        reserved
    }

    /// What keeps the claim from a volume that is reserved for it.
    fn refused(&self, reserved: &PersistentVolume) -> Vec<Rule> {
        let report = MatchReport::new(self.claim, [reserved], &self.options());
        let refusals = report.volumes.iter().flat_map(|report| &report.refusals);
        // The scheduler does not look at the modes of what is reserved.
        let is_delayed = self.survey.is_delayed(self.claim.class_name());
        let is_selected = self.claim.metadata.has_annotation(names::SELECTED_NODE);
        let matters = |refusal: &&Refusal<'_>| {
            let is_of_modes = matches!(refusal, Refusal::AccessModes { .. });
            !is_of_modes || !is_delayed || is_selected
        };
        refusals.filter(matters).map(Rule::of).collect()
    }

    /// Volumes whose claimRef lacks a part, and was surely meant for this claim.
    pub(super) fn incomplete(&self) -> Vec<Finding> {
        let key = ClaimKey::of(self.claim);
        let volumes = incomplete_for(self.survey, &key, self.claim.metadata.uid());
        let findings = volumes.into_iter().flat_map(|volume| {
            let reference = volume.claim_ref();
            let has_uid = reference.is_some_and(|reference| !reference.uid().is_empty());
            // With a uid it is not reserved: no such claim is found, and the volume
            // is released.
            let risk = has_uid.then(|| volume::data_at_risk(self.survey, volume));
            let risk = risk.flatten();
            let reference = reference.map(ClaimKey::referred);
            // Who names a volume gets it once it is reserved, fitting or not.
            let rules = match self.claim.volume_name() == volume.name() {
                true => Vec::new(),
                false => self.refused(&self.reserved(volume)),
            };
            let is_of_use = rules.is_empty() && !volume.metadata.is_being_deleted();
            let completed = is_of_use.then(|| completed(volume, risk.as_ref(), &key));
            let facts = ClaimFacts::ReservationIncomplete {
                volume: volume.name().to_owned(),
                reference: reference.unwrap_or_else(|| ClaimKey::new("", "")),
                rules,
            };
            std::iter::once(Finding::from(facts).with_all(completed)).chain(risk)
        });
        findings.collect()
    }
}

/// What becomes of a volume that is reserved for a claim.
struct IfReserved {
    /// Whether the claim gets it.
    is_taken: bool,
    /// What refuses it all the same.
    rules: Vec<Rule>,
}

/// Reserving a volume of an earlier claim for that of its name.
fn uid_only(volume: &PersistentVolume, risk: Option<&Finding>) -> Remedy {
    let sentence = format!(
        "clear only the uid of the claimRef of `{}`, which reserves it for this claim",
        volume.name()
    );
    let consequence = "this claim gets the data of the earlier one";
    let reference = json!({"uid": null, "resourceVersion": null});
    reference_patch(volume, risk, reference, (sentence, consequence))
}

fn reference_patch(
    volume: &PersistentVolume,
    risk: Option<&Finding>,
    reference: serde_json::Value,
    (sentence, consequence): (String, &str),
) -> Remedy {
    let (first, patch) = volume::rescued(risk, json!({"spec": {"claimRef": reference}}));
    let metadata = &volume.metadata;
    let patch = Patch::of(ObjectName::of(Kind::Volume, metadata), metadata, patch);
    Remedy::new(format!("{first}{sentence}"), consequence).patching(patch)
}

/// The volumes whose claimRef lacks namespace or name, and was surely meant for
/// this claim: it has the claim's uid; or it lacks the namespace alone, and no
/// other namespace has a claim of this name.
fn incomplete_for<'a, V: DiagnosticView + ?Sized>(
    survey: &crate::diagnosis::Survey<'a, V>,
    key: &ClaimKey,
    uid: &str,
) -> Vec<&'a PersistentVolume> {
    if key.namespace.is_empty() || key.name.is_empty() {
        return Vec::new();
    }
    let of_uid = survey.census.incomplete_of(uid).iter();
    let is_alone = survey.naming().named(&key.name).len() <= 1;
    let of_name = is_alone.then(|| survey.census.claimed_by("", &key.name).iter());
    let has_uid = |volume: &PersistentVolume| {
        let reference = volume.claim_ref();
        reference.is_some_and(|reference| !reference.uid().is_empty())
    };
    let of_name = of_name.into_iter().flatten();
    let of_name = of_name.filter(|volume| !has_uid(volume));
    of_uid.chain(of_name).copied().collect()
}

/// The claim that a claimRef without a uid was surely meant for.
pub(in crate::diagnosis) fn meant_by<'s, V: DiagnosticView + ?Sized>(
    survey: &'s crate::diagnosis::Survey<'_, V>,
    reference: &ClaimKey,
) -> Option<&'s ClaimKey> {
    match survey.naming().named(&reference.name) {
        [only] if reference.namespace.is_empty() && !reference.name.is_empty() => Some(only),
        _ => None,
    }
}

/// Completing a claimRef without a uid, if the claim gets the volume then.
pub(in crate::diagnosis) fn complete<V: DiagnosticView + ?Sized>(
    survey: &crate::diagnosis::Survey<'_, V>,
    volume: &PersistentVolume,
    key: &ClaimKey,
) -> Option<Remedy> {
    let claim = survey.view.claim(&key.namespace, &key.name)?;
    let examination = Examination {
        survey,
        claim: &claim,
        looks_into_pods: false,
    };
    let is_taken = match claim.volume_name() {
        "" => {
            let reserved = examination.reserved(volume);
            !claim.is_bind_completed() && examination.refused(&reserved).is_empty()
        }
        name => name == volume.name(),
    };
    is_taken.then(|| completed(volume, None, key))
}

fn completed(volume: &PersistentVolume, risk: Option<&Finding>, claim: &ClaimKey) -> Remedy {
    let sentence = format!("complete the claimRef of `{}` with {claim}", volume.name());
    let consequence = "no other claim can take the volume then";
    let reference = json!({"namespace": claim.namespace, "name": claim.name});
    reference_patch(volume, risk, reference, (sentence, consequence))
}
