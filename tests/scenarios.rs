//! A scenario for every code: a small cluster in which an object has it, and a
//! change of that cluster after which it has not, though only just. They are in
//! `tests/scenarios`, each named by its code; where a code has several forms,
//! with two dashes and what this one is about behind it:
//!
//! ```yaml
//! code: claim-no-volume-fits
//! of: claim shop/data            # the object
//! as: note                       # if the finding is not the main cause
//! sentence: "…"
//! remedy: "…"                    # the sentence of one of its remedies
//! remedies: 1                    # how many it has
//! config: {dynamicProvisioning: false, attributesClasses: false, hostPathProvisions: true}
//! known: {classes: false, claimsIn: [shop]} # of what the cluster does not hold all
//! cluster: […]                   # the objects
//! nearMiss:
//!   change: […]                  # merge patches of objects, or new objects, or `gone: true`
//!   main: claim-would-bind       # the main cause then
//! ```
//!
//! Of every diagnosis on the way, each remedy's patch is applied.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "support/remedies.rs"]
mod remedies;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pvbind::controller::Config;
use pvbind::diagnosis::{Code, Diagnosis, Kind, Known, ObjectName, TextStyle};
use pvbind::plan::apply_merge_patch;
use serde_json::Value;

use remedies::{Objects, key};

struct Scenario {
    yaml: Value,
}

fn scenarios() -> BTreeMap<String, Scenario> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let files = fs::read_dir(folder).unwrap();
    let read = files.map(|file| {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let yaml = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, Scenario { yaml })
    });
    read.collect()
}

impl Scenario {
    fn text(&self, field: &str) -> &str {
        self.yaml[field].as_str().unwrap_or_default()
    }

    fn object(&self) -> ObjectName {
        let (kind, key) = self.text("of").split_once(' ').unwrap();
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        ObjectName {
            kind: match kind {
                "claim" => Kind::Claim,
                "volume" => Kind::Volume,
                "pod" => Kind::Pod,
                other => panic!("{other} is not diagnosed"),
            },
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    fn config(&self) -> Config {
        let mut config = Config::kube_controller_manager();
        let is_on = |field: &str| self.yaml["config"][field] != false;
        config.dynamic_provisioning = is_on("dynamicProvisioning");
        config.features.volume_attributes_class = is_on("attributesClasses");
        if self.yaml["config"]["hostPathProvisions"] == true {
            config.plugins[0].can_provision = true;
        }
        config
    }

    fn known(&self) -> Known {
        let is_known = |kind: &str| self.yaml["known"][kind] != false;
        let mut known = Known::default();
        known.volumes = is_known("volumes");
        known.claims = is_known("claims");
        known.classes = is_known("classes");
        known.nodes = is_known("nodes");
        known.csi_storage_capacities = is_known("csiStorageCapacities");
        let namespaces = |field: &str| {
            let names = self.yaml["known"][field].as_array()?.iter();
            Some(
                names
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect(),
            )
        };
        known.claims_in = namespaces("claimsIn");
        known.pods_in = namespaces("podsIn");
        known
    }

    fn cluster(&self) -> Objects {
        let mut objects = Objects::default();
        for object in self.yaml["cluster"].as_array().unwrap() {
            objects.insert(object.clone());
        }
        objects
    }

    fn near_miss(&self) -> Objects {
        let mut objects = self.cluster();
        for change in self.yaml["nearMiss"]["change"].as_array().unwrap() {
            if change["gone"] == true {
                objects.0.remove(&key(change)).unwrap();
            } else {
                let object = objects.0.entry(key(change)).or_default();
                apply_merge_patch(object, change);
            }
        }
        objects
    }

    /// The diagnosis of a cluster; every patch in it is applied.
    fn diagnosis(&self, objects: &Objects) -> Diagnosis {
        let (config, known) = (self.config(), self.known());
        let diagnosis = objects.diagnosis(&config, &known, &self.object());
        objects.check_remedies(&config, &known, &diagnosis, true);
        diagnosis
    }
}

#[test]
fn every_code_has_a_scenario_and_a_near_miss() {
    let scenarios = scenarios();
    let of_code = scenarios.keys().filter(|name| !name.contains("--"));
    let named: Vec<_> = of_code.map(String::as_str).collect();
    let mut codes: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
    codes.sort_unstable();
    assert_eq!(named, codes);
    for (name, scenario) in &scenarios {
        let code = name
            .split_once("--")
            .map_or(name.as_str(), |(code, _)| code);
        assert_eq!(scenario.text("code"), code);
        let change = &scenario.yaml["nearMiss"]["change"];
        assert!(!change.as_array().unwrap().is_empty(), "{name}");
    }
}

#[test]
fn every_scenario_has_its_code_and_sentence() {
    let mut wrong = Vec::new();
    for (name, scenario) in scenarios() {
        let diagnosis = scenario.diagnosis(&scenario.cluster());
        let findings = diagnosis.findings().iter();
        let mut found = findings
            .enumerate()
            .filter(|(_, one)| one.code().as_str() == scenario.text("code"));
        let Some((place, finding)) = found.next() else {
            wrong.push(format!(
                "{name}: not found:\n{}",
                diagnosis.text(TextStyle::default())
            ));
            continue;
        };
        let is_note = scenario.text("as") == "note";
        if is_note != (place > 0) {
            wrong.push(format!(
                "{name}: at place {place}:\n{}",
                diagnosis.text(TextStyle::default())
            ));
        }
        let remedy = scenario.text("remedy");
        let mut remedies = finding.remedies.iter();
        if !remedy.is_empty() && !remedies.any(|one| one.sentence == remedy) {
            wrong.push(format!("{name}: remedies are {:?}", finding.remedies));
        }
        let count = scenario.yaml["remedies"].as_u64();
        if count.is_some_and(|count| count != finding.remedies.len() as u64) {
            wrong.push(format!("{name}: remedies are {:?}", finding.remedies));
        }
        let sentence = finding.to_string();
        if sentence != scenario.text("sentence") {
            wrong.push(format!("{name}: says\n  {sentence}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_near_miss_has_the_code() {
    let mut wrong = Vec::new();
    for (name, scenario) in scenarios() {
        let diagnosis = scenario.diagnosis(&scenario.near_miss());
        let has = diagnosis
            .findings()
            .iter()
            .any(|finding| finding.code().as_str() == scenario.text("code"));
        let main = diagnosis.main().code().as_str();
        let expected = scenario.yaml["nearMiss"]["main"].as_str().unwrap();
        if has || main != expected {
            wrong.push(format!(
                "{name}: expected {expected}:\n{}",
                diagnosis.text(TextStyle::default())
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
