//! Remedies, applied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pvbind::api::{ClaimKey, Object, PersistentVolume};
use pvbind::controller::{ClaimEvidence, Config, sync_volume};
use pvbind::diagnosis::{
    Code, Diagnosis, Finding, Kind, Known, ObjectName, Patch, Remedy, Survey, ViewDiagnosis,
};
use pvbind::plan::{Step, Verdict, Write, apply_merge_patch};
use pvbind::provisioner::ProvisionError;
use pvbind::view::{ClusterView, Snapshot};
use serde_json::Value;

/// The objects of a cluster as JSON, by kind, namespace and name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects(pub(crate) BTreeMap<(String, String, String), Value>);

pub(crate) fn key(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    (
        text(&object["kind"]),
        text(&metadata["namespace"]),
        text(&metadata["name"]),
    )
}

impl Objects {
    pub(crate) fn insert(&mut self, object: Value) {
        self.0.insert(key(&object), object);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let objects = self.0.values().cloned();
        objects
            .map(|object| Object::from_value(object).unwrap())
            .collect()
    }

    /// The diagnosis of an object, which must be there.
    pub(crate) fn diagnosis(&self, config: &Config, known: &Known, of: &ObjectName) -> Diagnosis {
        let snapshot = self.snapshot();
        diagnosed(&self.survey(config, known, &snapshot), &snapshot, of)
    }

    /// A survey of these objects that has heard what their events say.
    fn survey<'a>(
        &self,
        config: &'a Config,
        known: &Known,
        snapshot: &'a Snapshot,
    ) -> Survey<'a, Snapshot> {
        let mut survey = Survey::knowing(config, snapshot, known.clone());
        for event in self.0.values().filter(|object| object["kind"] == "Event") {
            if event["reason"] == "ProvisioningFailed" {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let claim = &event["involvedObject"];
                let claim = ClaimKey::new(text(&claim["namespace"]), text(&claim["name"]));
                let said = ProvisionError::of_event(&text(&event["message"]));
                survey = survey.hearing(claim, said);
            }
        }
        survey
    }

    pub(crate) fn patched(&self, patch: &Patch) -> Objects {
        let kind = serde_json::to_value(patch.object.kind).unwrap();
        let kind = kind.as_str().unwrap().to_owned();
        let object = &patch.object;
        let key = (kind, object.namespace.clone(), object.name.clone());
        let mut objects = self.clone();
        let held = objects
            .0
            .get_mut(&key)
            .unwrap_or_else(|| panic!("no {key:?} to be patched"));
        apply_merge_patch(held, &patch.merge_patch);
        objects
    }

    /// After a sync of a volume that nobody starts to delete.
    fn synced(&self, config: &Config, volume: &str) -> Objects {
        let snapshot = self.snapshot();
        let held: &Arc<PersistentVolume> = snapshot.volumes().get(volume).unwrap();
        let mut plan = sync_volume(config, &snapshot, held, None);
        let evidence;
        if let Verdict::AskApiServer(key) = plan.verdict {
            let claim = snapshot
                .claim(&key.namespace, &key.name)
                .map(|claim| claim.into_arc());
            evidence = ClaimEvidence { key, claim };
            plan = sync_volume(config, &snapshot, held, Some(&evidence));
        }
        let mut objects = self.clone();
        for step in plan.steps {
            match step {
                Step::Write {
                    write: Write::Volume(change) | Write::VolumeStatus(change),
                    ..
                } => {
                    let mut volume = serde_json::to_value(&*change.to).unwrap();
                    volume["kind"] = "PersistentVolume".into();
                    objects.insert(volume);
                }
                Step::Start(operation) => panic!("volume {volume} is lost: {operation:?}"),
                _ => {}
            }
        }
        objects
    }

    /// Applies each patch of a diagnosis by itself. What it was for is gone; and
    /// if it `looks_around` and everything is known: no other claim loses its
    /// volume by it, and a claim that is said to get a volume gets it. How many
    /// patches there are.
    pub(crate) fn check_remedies(
        &self,
        config: &Config,
        known: &Known,
        of: &Diagnosis,
        looks_around: bool,
    ) -> usize {
        let remedies = of.findings().iter().flat_map(|finding| {
            let remedies = finding.remedies.iter();
            remedies.filter_map(move |remedy| Some((finding, remedy, remedy.patch.as_ref()?)))
        });
        let remedies: Vec<_> = remedies.collect();
        let snapshot = self.snapshot();
        let looks_around = looks_around && *known == Known::default() && !remedies.is_empty();
        let before = looks_around
            .then(|| losses_of(&self.survey(config, known, &snapshot).view(), &of.object));
        for (finding, remedy, patch) in &remedies {
            let after = self.patched(patch);
            let later_snapshot = after.snapshot();
            let survey = after.survey(config, known, &later_snapshot);
            let later = diagnosed(&survey, &later_snapshot, &of.object);
            let mut left = later.findings().iter();
            assert!(
                !left.any(|left| topic(left) == topic(finding)),
                "after {patch}:\nbefore {finding:?}\nafter {later:?}"
            );
            let Some(before) = &before else {
                continue;
            };
            let losses = losses_of(&survey.view(), &of.object);
            let new: Vec<_> = losses.difference(before).collect();
            assert!(
                new.is_empty(),
                "after {patch}:\n{finding:?}\nlost: {new:?}\nof {}",
                Value::from_iter(self.0.values().cloned())
            );
            if let Some(volume) = promised(remedy) {
                after.check_bound(config, of, &volume, &format!("{patch}: {finding:?}"));
            }
        }
        remedies.len()
    }

    /// The claim has the volume or gets it, once the volume is synced too.
    fn check_bound(&self, config: &Config, claim: &Diagnosis, volume: &str, after: &str) {
        let synced = self.synced(config, volume);
        let later = synced.diagnosis(config, &Known::default(), &claim.object);
        // No API server admits a volume that does not say how large it is.
        let gets = |finding: &Finding| {
            matches!(
                finding.code(),
                Code::ClaimBound | Code::ClaimWouldBind | Code::ClaimVolumeWithoutCapacity
            ) && topic(finding).1 == volume
        };
        assert!(
            later.findings().iter().any(gets),
            "after {after}\nthe claim does not get `{volume}`: {later:?}"
        );
    }
}

fn diagnosed(survey: &Survey<'_, Snapshot>, snapshot: &Snapshot, of: &ObjectName) -> Diagnosis {
    match of.kind {
        Kind::Claim => survey.claim(snapshot.find(&of.namespace, &of.name).unwrap()),
        Kind::Volume => survey.volume(snapshot.find("", &of.name).unwrap()),
        Kind::Pod => survey.pod(snapshot.find(&of.namespace, &of.name).unwrap()),
        kind => panic!("a {kind:?} is not diagnosed"),
    }
}

/// The claims that are Lost or about to be, but for one object.
fn losses_of(view: &ViewDiagnosis, but: &ObjectName) -> BTreeSet<(String, Code)> {
    let others = view.iter().filter(|diagnosis| diagnosis.object != *but);
    let losses = others.flat_map(|diagnosis| {
        let codes = diagnosis.findings().iter().map(Finding::code);
        let losses = codes.filter(|code| {
            matches!(
                code,
                Code::ClaimMisbound | Code::ClaimLostVolume | Code::ClaimLostVolumeName
            )
        });
        losses.map(|code| (diagnosis.object.to_string(), code))
    });
    losses.collect()
}

/// The volume that the claim is said to get.
fn promised(remedy: &Remedy) -> Option<String> {
    let patch = remedy.patch.as_ref()?;
    let said = [
        "this claim gets",
        "the claim gets",
        "the claim is bound to that volume",
    ];
    let is_promised = said.iter().any(|said| remedy.consequence.contains(said));
    let named = &patch.merge_patch["spec"]["volumeName"];
    let volume = match patch.object.kind {
        Kind::Volume => Some(patch.object.name.as_str()),
        _ => named.as_str(),
    };
    is_promised.then(|| volume.unwrap().to_owned())
}

/// What a finding is about: its code, and the volume that it speaks of.
fn topic(finding: &Finding) -> (Code, Value) {
    let facts = serde_json::to_value(&finding.facts).unwrap();
    (finding.code(), facts["volume"].clone())
}
