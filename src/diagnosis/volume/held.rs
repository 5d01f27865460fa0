//! Whose a volume is.

use std::sync::Arc;

use serde_json::json;

use super::Examination;
use crate::api::{ClaimKey, ObjectReference, PersistentVolumeClaim, VolumePhase};
use crate::controller::{ClaimEvidence, sync_volume};
use crate::diagnosis::claim::{complete, meant_by};
use crate::diagnosis::words::Name;
use crate::diagnosis::{ClaimFacts, Code, Facts, Finding, Reclaim, Remedy, VolumeFacts};
use crate::plan::{EventReason, Plan, Step, Verdict, Write};
use crate::view::{DiagnosticView, Held};

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// What the controller makes of the volume and its claim.
    pub(super) fn held(&self) -> Vec<Finding> {
        if let Some(finding) = self.unclaimed() {
            return vec![finding];
        }
        match self.volume.claim_ref() {
            None if self.is_phase(&VolumePhase::Available) => vec![self.available()],
            None => vec![self.not_available_yet()],
            Some(reference) if reference.uid().is_empty() => self.reserved(reference),
            Some(reference) => {
                let finding = self.claimed(reference);
                let is_going = match finding.code() {
                    Code::VolumeClaimGone | Code::VolumeReclaiming => true,
                    Code::VolumeBound => self.is_claim_going(reference),
                    _ => false,
                };
                let risk = is_going.then(|| self.data_at_risk()).flatten();
                std::iter::once(finding).chain(risk).collect()
            }
        }
    }

    fn available(&self) -> Finding {
        let offers = self.survey.offers(self.volume);
        let (count, stopped) = (offers.count, offers.stopped.clone());
        if count > 0 {
            VolumeFacts::Wanted {
                claims: offers.fitting.clone(),
                count,
                stopped,
            }
            .into()
        } else if stopped.is_empty() {
            let class = self.volume.class_name().to_owned();
            VolumeFacts::Available { class }.into()
        } else {
            VolumeFacts::NotTaken { stopped }.into()
        }
    }

    fn reserved(&self, reference: &ObjectReference) -> Vec<Finding> {
        let key = ClaimKey::referred(reference);
        let finding = if key.namespace.is_empty() || key.name.is_empty() {
            self.incomplete(key)
        } else if let Some(claim) = self.survey.view.claim(&key.namespace, &key.name) {
            self.reserved_for(key, &claim)
        } else if !self.survey.known.has_claims_of(&key.namespace) {
            let standing = "is not among the claims that are known".to_owned();
            VolumeFacts::Reserved {
                claim: key,
                standing,
            }
            .into()
        } else {
            let elsewhere = self.survey.elsewhere(&key);
            let mut similar: Vec<_> = elsewhere
                .iter()
                .map(|namespace| ClaimKey::new(namespace.as_str(), key.name.as_str()).to_string())
                .collect();
            for other in self.survey.similar_claims(&key) {
                if !similar.contains(&other) {
                    similar.push(other);
                }
            }
            let remedies = match self.volume.metadata.is_being_deleted() {
                true => Vec::new(),
                false => self.unreserve(&key, &elsewhere),
            };
            let claim = key;
            Finding::from(VolumeFacts::ReservedForNobody { claim, similar }).with_all(remedies)
        };
        let is_available = self.is_phase(&VolumePhase::Available);
        std::iter::once(finding)
            .chain((!is_available).then(|| self.not_available_yet()))
            .collect()
    }

    /// What to do with a volume whose claim does not exist.
    fn unreserve(&self, key: &ClaimKey, elsewhere: &[String]) -> Vec<Remedy> {
        let meant = match elsewhere {
            [namespace] if self.is_free(namespace, &key.name) => {
                Some(self.reserve_in(namespace, key))
            }
            _ => None,
        };
        let own = self.survey.similar_claims(key);
        let in_namespace = format!("{}/", key.namespace);
        let own = own.iter().filter_map(|one| one.strip_prefix(&in_namespace));
        let own: Vec<_> = own
            .filter(|name| self.is_free(&key.namespace, name))
            .collect();
        let misspelt = match own.as_slice() {
            [name] if meant.is_none() => Some(self.reserve_as(name, key)),
            _ => None,
        };
        let create = Remedy::new(
            format!("create claim `{key}`"),
            "it gets the volume, if size and modes fit",
        );
        let given = misspelt.into_iter().chain(meant);
        given.chain([create, self.free()]).collect()
    }

    fn free(&self) -> Remedy {
        let remedy = Remedy::new(
            "clear the claimRef",
            "whichever claim fits first takes the volume",
        );
        remedy.patching(self.patch(json!({"spec": {"claimRef": null}})))
    }

    /// Whether there is such a claim, and it has no volume yet.
    fn is_free(&self, namespace: &str, name: &str) -> bool {
        let claim = self.survey.view.claim(namespace, name);
        claim.is_some_and(|claim| !claim.is_bind_completed())
    }

    /// The claim that was meant may be one of a similar name.
    fn reserve_as(&self, name: &str, key: &ClaimKey) -> Remedy {
        let patch = self.patch(json!({"spec": {"claimRef": {"name": name}}}));
        let remedy = Remedy::new(
            format!(
                "if claim `{}/{name}` was meant, correct the name",
                key.namespace
            ),
            format!("claim `{key}`, if it is created later, no longer gets the volume"),
        );
        remedy.patching(patch)
    }

    /// The claim that was meant may be that of another namespace.
    fn reserve_in(&self, namespace: &str, key: &ClaimKey) -> Remedy {
        let patch = self.patch(json!({"spec": {"claimRef": {"namespace": namespace}}}));
        let remedy = Remedy::new(
            format!(
                "if claim `{namespace}/{}` was meant, correct the namespace",
                key.name
            ),
            format!("claim `{key}`, if it is created later, no longer gets the volume"),
        );
        remedy.patching(patch)
    }

    fn reserved_for(&self, key: ClaimKey, claim: &PersistentVolumeClaim) -> Finding {
        let main = self.survey.claim_main(claim);
        VolumeFacts::Reserved {
            claim: key,
            standing: main.to_string(),
        }
        .into()
    }

    fn incomplete(&self, reference: ClaimKey) -> Finding {
        let meant = meant_by(self.survey, &reference);
        let facts = VolumeFacts::ReservationIncomplete {
            reference,
            meant: meant.cloned(),
        };
        let remedy = match meant {
            _ if self.volume.metadata.is_being_deleted() => None,
            Some(meant) => complete(self.survey, self.volume, meant),
            None => Some(self.free()),
        };
        Finding::from(facts).with_all(remedy)
    }

    /// The claimRef names one claim, by its uid.
    fn claimed(&self, reference: &ObjectReference) -> Finding {
        let key = ClaimKey::referred(reference);
        let (config, view) = (self.survey.config, self.survey.view);
        let found = view.claim(&key.namespace, &key.name);
        let found = found.filter(|claim| claim.metadata.uid() == reference.uid());
        match found {
            Some(claim) => {
                let plan = sync_volume(config, view, Held::Borrowed(self.volume), None);
                self.followed(key, &claim, &plan)
            }
            None => self.orphaned(key, reference),
        }
    }

    /// Its claim is there.
    fn followed(&self, key: ClaimKey, claim: &PersistentVolumeClaim, plan: &Plan) -> Finding {
        let mut message = None;
        let mut is_enqueued = false;
        for step in &plan.steps {
            match step {
                Step::Event(event) if event.reason == EventReason::VolumeMismatch => {
                    message.get_or_insert_with(|| event.message.clone());
                }
                Step::EnqueueClaim(_) => is_enqueued = true,
                _ => {}
            }
        }
        if let Some(message) = message {
            return VolumeFacts::ModeMismatch {
                claim: key,
                message,
            }
            .into();
        }
        let is_settled =
            plan.verdict == Verdict::Settled && claim.volume_name() == self.volume.name();
        if is_enqueued && !self.is_chosen_by(claim) {
            return self.reserved_for(key, claim);
        }
        if is_enqueued || (is_settled && !self.is_phase(&VolumePhase::Bound)) {
            return VolumeFacts::Binding { claim: key }.into();
        }
        if is_settled {
            return VolumeFacts::Bound { claim: key }.into();
        }
        VolumeFacts::ClaimElsewhere {
            claim: key,
            other: claim.volume_name().to_owned(),
            then: self.unbound(plan),
        }
        .into()
    }

    /// Whether the claim, which names no volume, is about to be bound to this one.
    fn is_chosen_by(&self, claim: &PersistentVolumeClaim) -> bool {
        match &self.survey.claim_main(claim).facts {
            Facts::Claim(ClaimFacts::WouldBind { volume, .. }) => volume == self.volume.name(),
            _ => false,
        }
    }

    /// What a plan does with a volume whose claim has another.
    fn unbound(&self, plan: &Plan) -> String {
        let is_released = plan.steps.iter().any(|step| {
            matches!(step, Step::Write { write: Write::VolumeStatus(change), .. }
                if change.to.status.phase == Some(VolumePhase::Released))
        });
        let is_started = plan.steps.iter().any(|step| matches!(step, Step::Start(_)));
        if is_released || is_started {
            return format!("it will be released, then {}", self.reclaim());
        }
        let is_reserved = plan.steps.iter().any(|step| {
            matches!(step, Step::Write { write: Write::Volume(change), .. }
                if change.to.claim_ref().is_some_and(|reference| reference.uid().is_empty()))
        });
        let taken = match is_reserved {
            true => "clears only the uid of its claimRef, so that it stays reserved for the claim",
            false => "takes it from the claim",
        };
        let then = match self.volume.metadata.is_being_deleted() {
            true => "",
            false if is_reserved => ", and makes it Available",
            false => " and makes it Available",
        };
        format!("the next sync {taken}{then}")
    }

    /// Its claim is gone, as far as the view knows.
    fn orphaned(&self, key: ClaimKey, reference: &ObjectReference) -> Finding {
        let was_released =
            self.is_phase(&VolumePhase::Released) || self.is_phase(&VolumePhase::Failed);
        if !self.is_claim_gone() && !was_released {
            return VolumeFacts::Bound { claim: key }.into();
        }
        let then = self.reclaim();
        if self.is_phase(&VolumePhase::Failed) {
            return self.failed(then);
        }
        if self.is_phase(&VolumePhase::Released) {
            return self.released(key, reference, then);
        }
        let now = self.survey.view.claim(&key.namespace, &key.name);
        VolumeFacts::ClaimGone {
            claim: key,
            uid: reference.uid().to_owned(),
            now: now.map(|claim| claim.metadata.uid().to_owned()),
            then,
        }
        .into()
    }

    fn released(&self, key: ClaimKey, reference: &ObjectReference, then: Reclaim) -> Finding {
        match then {
            Reclaim::Kept => {
                // The uid counts, whatever name stands beside it.
                if let Some(taker) = self.taker() {
                    let claim = taker.claim;
                    return VolumeFacts::Binding { claim }.into();
                }
                let is_going = self.volume.metadata.is_being_deleted();
                let facts = VolumeFacts::Released {
                    claim: key.clone(),
                    uid: reference.uid().to_owned(),
                    is_going,
                };
                if is_going {
                    return facts.into();
                }
                let clear = self.patch(json!({"spec": {"claimRef": null}}));
                let reserve = json!({"spec": {"claimRef": {"uid": null, "resourceVersion": null}}});
                Finding::from(facts)
                    .with(
                        Remedy::new(
                            format!("clear only the uid of the claimRef, which reserves the volume for claim {}", Name(&key.to_string())),
                            "the next claim of this name gets the data of the earlier one",
                        )
                        .patching(self.patch(reserve)),
                    )
                    .with(
                        Remedy::new(
                            "clear the claimRef",
                            "whichever claim fits first takes the volume, and gets its data",
                        )
                        .patching(clear),
                    )
                    .with(Remedy::new(
                        "delete the volume's object",
                        "the data stays in the backend, and nothing in the cluster knows of it",
                    ))
            }
            Reclaim::Fails(message) => {
                Finding::from(VolumeFacts::ReclaimFails { message }).with(self.retain())
            }
            then => {
                let is_left = matches!(then, Reclaim::LeftExternally(_));
                let is_kept_anyway = is_left && self.volume.metadata.is_being_deleted();
                let finding = Finding::from(VolumeFacts::Reclaiming { then });
                finding.with_all((!is_kept_anyway).then(|| self.retain()))
            }
        }
    }

    fn failed(&self, retry: Reclaim) -> Finding {
        let message = self.volume.status.message.clone().unwrap_or_default();
        let is_going = self.volume.metadata.is_being_deleted();
        let delete = match is_going {
            false => Remedy::new(
                "delete the volume in the backend, then its object",
                "its data is gone",
            ),
            true => Remedy::new(
                "delete the volume in the backend",
                "its data is gone; its object goes when no finalizer holds it",
            ),
        };
        if retry == Reclaim::Kept {
            let clear = Remedy::new(
                "clear the claimRef",
                "whichever claim fits first takes the volume, and gets its data",
            );
            let clear = clear.patching(self.patch(json!({"spec": {"claimRef": null}})));
            let finding = Finding::from(VolumeFacts::FailedKept { message, is_going });
            return finding.with_all((!is_going).then_some(clear)).with(delete);
        }
        let is_over = matches!(retry, Reclaim::LeftExternally(_));
        let facts = VolumeFacts::Failed { message, retry };
        if is_over {
            return Finding::from(facts).with(delete);
        }
        if is_going {
            return Finding::from(facts).with(self.retain()).with(delete);
        }
        let patch = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        let retain = Remedy::new(
            "set the policy to Retain, so that nothing is tried again",
            "the volume stays Failed, with its data, until somebody clears its claimRef or \
             deletes it",
        );
        let retain = retain.patching(self.patch(patch));
        Finding::from(facts).with(retain).with(delete)
    }

    pub(super) fn data_at_risk(&self) -> Option<Finding> {
        let then = self.reclaim();
        let is_lost = matches!(
            then,
            Reclaim::DeletedBy(_)
                | Reclaim::DeletedExternally(_)
                | Reclaim::RecycledBy(_)
                | Reclaim::RecycledAfter { .. }
        );
        is_lost.then(|| {
            let volume = self.volume.name().to_owned();
            Finding::from(VolumeFacts::DataAtRisk { volume, then }).with(self.retain())
        })
    }

    /// Keeping what is about to be reclaimed.
    fn retain(&self) -> Remedy {
        let patch = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        let remedy = match self.volume.metadata.is_being_deleted() {
            false => Remedy::new(
                "set the policy to Retain to keep the data",
                "the volume is kept until somebody clears its claimRef or deletes it",
            ),
            true => Remedy::new(
                "set the policy to Retain, so that the data stays in the backend",
                format!(
                    "the volume's object goes all the same, as it was deleted, and nothing in the \
                     cluster knows of the data then{}",
                    self.whereabouts()
                ),
            ),
        };
        remedy.patching(self.patch(patch))
    }

    /// Whether the volume's claim is being deleted.
    fn is_claim_going(&self, reference: &ObjectReference) -> bool {
        let claim = self
            .survey
            .view
            .claim(reference.namespace(), reference.name());
        claim.is_some_and(|claim| claim.metadata.is_being_deleted())
    }

    /// Evidence that the volume's claim is gone.
    pub(super) fn gone(&self, key: ClaimKey) -> Arc<ClaimEvidence> {
        Arc::new(ClaimEvidence { key, claim: None })
    }
}

#[cfg(test)]
mod tests {
    use crate::api::read_objects;
    use crate::controller::Config;
    use crate::diagnosis::{Code, Finding, Survey};
    use crate::plan::apply_merge_patch;
    use crate::view::Snapshot;
    use serde_json::{Value, json};

    /// What is found of this code about a volume with these changes.
    fn find(code: Code, change: &Value, is_deleted: bool) -> Finding {
        let mut volume = json!({"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Retain",
                "nfs": {"server": "nas", "path": "/pv-1"}},
            "status": {"phase": "Available"}});
        apply_merge_patch(&mut volume, change);
        if is_deleted {
            let deleted = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z",
                "finalizers": ["example.com/mine"]}});
            apply_merge_patch(&mut volume, &deleted);
        }
        let snapshot: Snapshot = read_objects(&volume.to_string())
            .unwrap()
            .into_iter()
            .collect();
        let config = Config::kube_controller_manager();
        let survey = Survey::new(&config, &snapshot);
        let diagnosis = survey.volume(snapshot.volumes().get("pv-1").unwrap());
        diagnosis.finding(code).unwrap().clone()
    }

    #[test]
    fn nothing_makes_a_volume_free_that_is_being_deleted() {
        let claimed = |reference: Value, phase: &str| json!({"spec": {"claimRef": reference}, "status": {"phase": phase}});
        let of = |uid: Value| json!({"namespace": "shop", "name": "data", "uid": uid});
        for (code, change) in [
            (
                Code::VolumeReservedForNobody,
                claimed(of(json!(null)), "Available"),
            ),
            (
                Code::VolumeReservationIncomplete,
                claimed(json!({"name": "data"}), "Available"),
            ),
            (Code::VolumeReleased, claimed(of(json!("u-0")), "Released")),
        ] {
            assert_ne!(find(code, &change, false).remedies, []);
            assert_eq!(find(code, &change, true).remedies, []);
        }
        let failed = claimed(of(json!("u-0")), "Failed");
        let remedies = |is_deleted| find(Code::VolumeFailedKept, &failed, is_deleted).remedies;
        assert!(remedies(false).iter().any(|remedy| remedy.patch.is_some()));
        assert!(remedies(true).iter().all(|remedy| remedy.patch.is_none()));
    }
}
