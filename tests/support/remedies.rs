//! Remedies, applied.

use std::collections::BTreeMap;

use pvbind::api::{ClaimKey, Object};
use pvbind::controller::Config;
use pvbind::diagnosis::{Code, Diagnosis, Finding, Kind, Known, ObjectName, Patch, Survey};
use pvbind::plan::apply_merge_patch;
use pvbind::provisioner::ProvisionError;
use pvbind::view::Snapshot;
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
        let mut survey = Survey::knowing(config, &snapshot, known.clone());
        for event in self.0.values().filter(|object| object["kind"] == "Event") {
            if event["reason"] == "ProvisioningFailed" {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                let claim = &event["involvedObject"];
                let claim = ClaimKey::new(text(&claim["namespace"]), text(&claim["name"]));
                let said = ProvisionError::of_event(&text(&event["message"]));
                survey = survey.hearing(claim, said);
            }
        }
        match of.kind {
            Kind::Claim => survey.claim(snapshot.find(&of.namespace, &of.name).unwrap()),
            Kind::Volume => survey.volume(snapshot.find("", &of.name).unwrap()),
            Kind::Pod => survey.pod(snapshot.find(&of.namespace, &of.name).unwrap()),
            kind => panic!("a {kind:?} is not diagnosed"),
        }
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

    /// Applies each patch of a diagnosis by itself: what it was for is gone. How
    /// many there are.
    pub(crate) fn check_remedies(&self, config: &Config, known: &Known, of: &Diagnosis) -> usize {
        let mut patches = 0;
        for finding in of.findings() {
            for patch in finding
                .remedies
                .iter()
                .filter_map(|remedy| remedy.patch.as_ref())
            {
                let later = self.patched(patch).diagnosis(config, known, &of.object);
                let is_there = later
                    .findings()
                    .iter()
                    .any(|later| topic(later) == topic(finding));
                assert!(
                    !is_there,
                    "after {patch}:\nbefore {finding:?}\nafter {later:?}"
                );
                patches += 1;
            }
        }
        patches
    }
}

/// What a finding is about: its code, and the volume that it speaks of.
fn topic(finding: &Finding) -> (Code, Value) {
    let facts = serde_json::to_value(&finding.facts).unwrap();
    (finding.code(), facts["volume"].clone())
}
