//! Remedies, applied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pvbind::api::{ClaimKey, Object, PersistentVolume};
use pvbind::controller::{ClaimEvidence, Config, sync_volume};
use pvbind::diagnosis::{
    ClaimFacts, Code, Diagnosis, Facts, Finding, Kind, Known, ObjectName, Patch, Remedy, Severity,
    Survey, ViewDiagnosis, VolumeFacts,
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
    /// if it `looks_around` and everything is known: no other object has a fault
    /// that it had not, but for those of [`is_told`], and a claim that is said to
    /// get a volume gets it. How many patches there are.
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
        let before =
            looks_around.then(|| Before::of(&self.survey(config, known, &snapshot), &snapshot));
        let faults = before
            .as_ref()
            .map(|before| faults_of(&before.view, &of.object));
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
            let Some((before, faults)) = before.as_ref().zip(faults.as_ref()) else {
                continue;
            };
            for fault in faults_of(&survey.view(), &of.object).difference(faults) {
                assert!(
                    is_told(finding.code(), fault, before, &patch.object),
                    "after {patch}:\n{finding:?}\nnew {fault:?}\nof {}",
                    Value::from_iter(self.0.values().cloned())
                );
            }
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

/// Faults that a remedy may give another object. None becomes Lost.
fn is_told(remedied: Code, fault: &Fault, before: &Before, patched: &ObjectName) -> bool {
    let is_of_volume = fault.volume == patched.name;
    match (remedied, fault.code) {
        (_, Code::ClaimMisbound | Code::ClaimLostVolume | Code::ClaimLostVolumeName) => false,
        // What was at fault is told of the next one, where there are several.
        _ if before.has_fault(&fault.object) => true,
        // Who might have taken the volume that is given away does not get it.
        _ if before.rivals(patched).contains(&fault.object) => true,
        // It is given to every claim that sets no class.
        (Code::ClaimClassUnset, _) => true,
        // What its claims then have, or have not, a pod is told, and through it
        // other claims of the pod; that is judged itself.
        _ if fault.object.starts_with("pod ") => true,
        (_, Code::ClaimPodsUnschedulable) => true,
        // A claim is told what else keeps it from a volume, now that it has a
        // claim to it, or what is odd about it.
        (
            _,
            Code::ClaimReservedUnusable
            | Code::ClaimReservationIncomplete
            | Code::ClaimNamesMismatchedVolume
            | Code::ClaimNamesTakenVolume
            | Code::ClaimVolumeUnreachable
            | Code::ClaimVolumeWithoutCapacity
            | Code::ClaimResizeInfeasible
            | Code::ClaimResizeNotAllowed,
        ) => is_of_volume,
        _ => false,
    }
}

/// What was said of a cluster before a patch.
struct Before {
    view: ViewDiagnosis,
    /// The pods that use a claim.
    users: BTreeMap<String, BTreeSet<String>>,
}

impl Before {
    fn of(survey: &Survey<'_, Snapshot>, snapshot: &Snapshot) -> Self {
        let mut users: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for pod in snapshot.pods() {
            for claim in pod.claims() {
                let claim = ClaimKey::new(pod.namespace(), &*claim.claim);
                let users = users.entry(format!("claim {claim}")).or_default();
                users.insert(format!("pod {}/{}", pod.namespace(), pod.name()));
            }
        }
        Before {
            view: survey.view(),
            users,
        }
    }

    fn has_fault(&self, object: &str) -> bool {
        let mut view = self.view.iter();
        view.any(|one| one.object.to_string() == object && one.severity() == Severity::Fault)
    }

    /// The claims that might have taken a volume, and the pods that use them.
    fn rivals(&self, volume: &ObjectName) -> BTreeSet<String> {
        let mut claims = BTreeSet::new();
        for diagnosis in self.view.iter() {
            let is_volume = diagnosis.object == *volume;
            for finding in diagnosis.findings() {
                match &finding.facts {
                    Facts::Volume(
                        VolumeFacts::Wanted { claims: keys, .. }
                        | VolumeFacts::Unclaimed { rivals: keys, .. },
                    ) if is_volume => claims.extend(keys.iter().map(|key| format!("claim {key}"))),
                    Facts::Claim(ClaimFacts::WouldBind { volume: taken, .. })
                        if volume.kind == Kind::Volume && *taken == volume.name =>
                    {
                        claims.insert(diagnosis.object.to_string());
                    }
                    _ => {}
                }
            }
        }
        let users = claims.iter().filter_map(|claim| self.users.get(claim));
        let users: Vec<_> = users.flatten().cloned().collect();
        claims.extend(users);
        claims
    }
}

/// The faults of all objects but one.
fn faults_of(view: &ViewDiagnosis, but: &ObjectName) -> BTreeSet<Fault> {
    let others = view.iter().filter(|diagnosis| diagnosis.object != *but);
    let faults = others.flat_map(|diagnosis| {
        let findings = diagnosis.findings().iter();
        let faults = findings.filter(|finding| finding.severity() == Severity::Fault);
        faults.map(|fault| Fault {
            object: diagnosis.object.to_string(),
            code: fault.code(),
            volume: topic(fault).1.as_str().unwrap_or_default().to_owned(),
        })
    });
    faults.collect()
}

/// What is wrong with an object.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    object: String,
    code: Code,
    volume: String,
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
