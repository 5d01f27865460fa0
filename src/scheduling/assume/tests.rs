use serde_json::{Value, json};

use super::*;
use crate::api::{Node, Object};
use crate::matching::Features;
use crate::scheduling::{DynamicProvision, StaticBinding, find_pod_volumes};
use crate::view::{ClusterView as _, Snapshot};

fn volume(name: &str, version: &str) -> Value {
    json!({"kind": "PersistentVolume",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": version},
        "spec": {"storageClassName": "local", "capacity": {"storage": "1Gi"}},
        "status": {"phase": "Available"}})
}

fn claim(name: &str, version: &str) -> Value {
    json!({"kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "shop", "name": name, "uid": format!("uid-{name}"),
                     "resourceVersion": version},
        "spec": {"storageClassName": "local", "resources": {"requests": {"storage": "1Gi"}}}})
}

fn world(objects: impl IntoIterator<Item = Value>) -> Snapshot {
    let class = json!({"kind": "StorageClass", "metadata": {"name": "local"},
        "provisioner": "csi.example.com", "volumeBindingMode": "WaitForFirstConsumer"});
    let objects = objects.into_iter().chain([class]);
    objects
        .map(|value| Object::from_value(value).unwrap())
        .collect()
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn pod(name: &str) -> Pod {
    read(json!({"metadata": {"namespace": "shop", "name": name, "uid": format!("uid-{name}")}}))
}

fn waiting(snapshot: &Snapshot, names: &[&str]) -> PodClaims {
    let claim = |name: &&str| snapshot.claim("shop", name).unwrap().into_arc();
    PodClaims {
        delayed: names.iter().map(claim).collect(),
        ..PodClaims::default()
    }
}

/// What the pod's claims find on a node, and the assumption of it.
fn assume(
    assumptions: &mut Assumptions,
    snapshot: &Snapshot,
    names: &[&str],
) -> (PodVolumes, Assumption, Plan<PendingBind>) {
    let claims = waiting(snapshot, names);
    let view = assumptions.over(snapshot);
    let found = find_pod_volumes(&claims, &Node::default(), &view, Features::default()).unwrap();
    let (assumption, plan) = assumptions.assume(&pod("web"), &claims, "node-a", &found);
    (found, assumption, plan)
}

fn chosen(found: &PodVolumes) -> Vec<&str> {
    let bindings = found.static_bindings.iter();
    bindings.map(|binding| binding.volume.name()).collect()
}

fn holder(assumptions: &Assumptions, snapshot: &Snapshot, volume: &str) -> String {
    let view = assumptions.over(snapshot);
    let volume = view.volume(volume).unwrap();
    let reference = volume
        .claim_ref()
        .map(|reference| reference.name().to_owned());
    reference.unwrap_or_default()
}

#[test]
fn an_assumed_volume_stays_until_something_newer_arrives() {
    let snapshot = world([volume("pv-1", "7"), claim("data", "3")]);
    for (version, goes) in [
        ("6", false),
        ("7", false),
        ("8", true),
        ("10", true),
        ("", false),
    ] {
        let mut assumptions = Assumptions::new();
        let (_, kept, _) = assume(&mut assumptions, &snapshot, &["data"]);
        let seen = read(volume("pv-1", version));
        assert_eq!(
            assumptions.observe_volume(&seen),
            goes,
            "version {version:?}"
        );
        assert_eq!(assumptions.is_empty(), goes);
        let expected = if goes { "" } else { "data" };
        assert_eq!(holder(&assumptions, &snapshot, "pv-1"), expected);
        assumptions.revert(kept);
        assert!(assumptions.is_empty());
    }
}

#[test]
fn an_assumed_claim_stays_until_something_newer_arrives() {
    let snapshot = world([claim("data", "7")]);
    for (version, goes) in [("6", false), ("7", false), ("8", true)] {
        let mut assumptions = Assumptions::new();
        let (found, _kept, _) = assume(&mut assumptions, &snapshot, &["data"]);
        assert_eq!(found.dynamic_provisions.len(), 1);
        assert_eq!(
            assumptions.observe_claim(&read(claim("data", version))),
            goes
        );
        let view = assumptions.over(&snapshot);
        let shown = view.claim("shop", "data").unwrap();
        let selected = shown.metadata.annotation(names::SELECTED_NODE);
        assert_eq!(selected, (!goes).then_some("node-a"));
    }
}

#[test]
fn an_object_of_the_same_name_and_another_uid_is_another_object() {
    let snapshot = world([volume("pv-1", "7"), claim("data", "3"), claim("more", "3")]);
    let mut assumptions = Assumptions::new();
    let (_, _kept, _) = assume(&mut assumptions, &snapshot, &["data", "more"]);
    let mut other = volume("pv-1", "1");
    other["metadata"]["uid"] = json!("another");
    assert!(assumptions.observe_volume(&read(other)));
    let mut other = claim("more", "1");
    other["metadata"]["uid"] = json!("another");
    assert!(assumptions.observe_claim(&read(other)));
    assert!(assumptions.is_empty());
}

#[test]
fn what_nothing_is_assumed_of_is_observed_and_forgotten_without_effect() {
    let mut assumptions = Assumptions::new();
    assert!(!assumptions.observe_volume(&read(volume("pv-1", "7"))));
    assert!(!assumptions.observe_claim(&read(claim("data", "7"))));
    assert!(!assumptions.forget_volume("pv-1"));
    assert!(!assumptions.forget_claim(&ClaimKey::new("shop", "data")));
}

#[test]
fn a_deleted_object_takes_what_was_assumed_of_it_along() {
    let snapshot = world([volume("pv-1", "7"), claim("data", "3"), claim("more", "3")]);
    let mut assumptions = Assumptions::new();
    let (_, kept, _) = assume(&mut assumptions, &snapshot, &["data", "more"]);
    assert!(assumptions.forget_volume("pv-1"));
    assert!(assumptions.forget_claim(&ClaimKey::new("shop", "more")));
    assert!(assumptions.is_empty());
    // Reverting what is gone already is no mistake.
    assumptions.revert(kept);
    assert!(assumptions.is_empty());
}

#[test]
fn two_pods_assumed_at_once_get_different_volumes_and_are_reverted_alone() {
    let snapshot = world([
        volume("pv-1", "7"),
        volume("pv-2", "7"),
        claim("a", "3"),
        claim("b", "3"),
    ]);
    let mut assumptions = Assumptions::new();
    let (first, of_first, _) = assume(&mut assumptions, &snapshot, &["a"]);
    let (second, of_second, _) = assume(&mut assumptions, &snapshot, &["b"]);
    assert_eq!(
        (chosen(&first), chosen(&second)),
        (vec!["pv-1"], vec!["pv-2"])
    );
    assumptions.revert(of_first);
    assert_eq!(holder(&assumptions, &snapshot, "pv-1"), "");
    assert_eq!(holder(&assumptions, &snapshot, "pv-2"), "b");
    // The volume is there for the next pod.
    let (third, _, _) = assume(&mut assumptions, &snapshot, &["a"]);
    assert_eq!(chosen(&third), ["pv-1"]);
    assumptions.revert(of_second);
    assert_eq!(holder(&assumptions, &snapshot, "pv-2"), "");
}

#[test]
fn of_two_assumptions_about_one_object_the_later_shows_and_each_can_be_reverted() {
    let snapshot = world([claim("data", "7")]);
    let provision = |assumptions: &mut Assumptions, node: &str| {
        let view = assumptions.over(&snapshot);
        let claim = view.claim("shop", "data").unwrap().into_arc();
        let claims = PodClaims {
            delayed: vec![Arc::clone(&claim)],
            ..PodClaims::default()
        };
        let found = PodVolumes {
            dynamic_provisions: vec![DynamicProvision {
                claim,
                capacity: None,
            }],
            ..PodVolumes::default()
        };
        assumptions.assume(&pod("web"), &claims, node, &found).0
    };
    let selected = |assumptions: &Assumptions| {
        let view = assumptions.over(&snapshot);
        let claim = view.claim("shop", "data").unwrap();
        claim
            .metadata
            .annotation(names::SELECTED_NODE)
            .map(str::to_owned)
    };
    for first_first in [true, false] {
        let mut assumptions = Assumptions::new();
        let first = provision(&mut assumptions, "node-a");
        let second = provision(&mut assumptions, "node-b");
        assert_eq!(selected(&assumptions).as_deref(), Some("node-b"));
        let (goes, stays, left) = match first_first {
            true => (first, second, "node-b"),
            false => (second, first, "node-a"),
        };
        assumptions.revert(goes);
        assert_eq!(selected(&assumptions).as_deref(), Some(left));
        assumptions.revert(stays);
        assert_eq!(selected(&assumptions), None);
        assert!(assumptions.is_empty());
    }
}

#[test]
fn a_layer_over_a_layer_shows_the_front_one_first() {
    let snapshot = world([
        volume("pv-1", "7"),
        volume("pv-2", "7"),
        claim("a", "3"),
        claim("b", "3"),
    ]);
    let (mut behind, mut front) = (Assumptions::new(), Assumptions::new());
    let (_, of_behind, _) = assume(&mut behind, &snapshot, &["a"]);
    let claims = waiting(&snapshot, &["b"]);
    let found = {
        let view = behind.over(&snapshot);
        let view = front.over(&view);
        find_pod_volumes(&claims, &Node::default(), &view, Features::default()).unwrap()
    };
    assert_eq!(chosen(&found), ["pv-2"]);
    let (of_front, _) = front.assume(&pod("web"), &claims, "node-a", &found);
    let holders = |behind: &Assumptions, front: &Assumptions| {
        let view = behind.over(&snapshot);
        let view = front.over(&view);
        ["pv-1", "pv-2"].map(|name| {
            let volume = view.volume(name).unwrap();
            volume
                .claim_ref()
                .map(|by| by.name().to_owned())
                .unwrap_or_default()
        })
    };
    assert_eq!(holders(&behind, &front), ["a", "b"]);
    behind.revert(of_behind);
    assert_eq!(holders(&behind, &front), ["", "b"]);
    front.revert(of_front);
    assert_eq!(holders(&behind, &front), ["", ""]);
}

#[test]
fn the_plan_writes_the_volumes_and_then_the_claims_those_unchanged_included() {
    let mut reserved = volume("pv-1", "7");
    reserved["spec"]["claimRef"] = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop",
               "name": "data", "uid": "uid-data", "resourceVersion": "3"});
    let mut selected = claim("more", "3");
    selected["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "node-a"});
    let snapshot = world([
        reserved,
        volume("pv-2", "7"),
        claim("data", "3"),
        claim("next", "3"),
        selected,
    ]);
    let claims = waiting(&snapshot, &["more", "data", "next"]);
    let node: Node = read(json!({"metadata": {"name": "node-a"}}));
    let found = find_pod_volumes(&claims, &node, &snapshot, Features::default()).unwrap();
    let mut assumptions = Assumptions::new();
    let (_kept, plan) = assumptions.assume(&pod("web"), &claims, "node-a", &found);
    let written = plan.steps.iter().map(|step| match step {
        Step::Write {
            write: Write::Volume(change),
            ..
        } => change.to.name().to_owned(),
        Step::Write {
            write: Write::Claim(change),
            ..
        } => change.to.metadata.name().to_owned(),
        other => panic!("{other:?}"),
    });
    assert_eq!(written.collect::<Vec<_>>(), ["pv-1", "pv-2", "more"]);
    for step in &plan.steps {
        let Step::Write { write, .. } = step else {
            panic!("{step:?}")
        };
        let (from, to) = match write {
            Write::Volume(change) => (&change.from.metadata, &change.to.metadata),
            Write::Claim(change) => (&change.from.metadata, &change.to.metadata),
            other => panic!("{other:?}"),
        };
        assert_eq!(from.resource_version(), to.resource_version());
    }
}

#[test]
fn a_pod_whose_claims_are_all_bound_assumes_and_writes_nothing() {
    let claims = PodClaims {
        bound: vec![Arc::new(read(claim("data", "3")))],
        ..PodClaims::default()
    };
    // Even if somebody hands it bindings.
    let found = PodVolumes {
        static_bindings: vec![StaticBinding {
            claim: Arc::new(read(claim("data", "3"))),
            volume: Arc::new(read(volume("pv-1", "7"))),
        }],
        ..PodVolumes::default()
    };
    let mut assumptions = Assumptions::new();
    let (_kept, plan) = assumptions.assume(&pod("web"), &claims, "node-a", &found);
    assert!(assumptions.is_empty() && plan.steps.is_empty() && plan.verdict.is_empty());
}
