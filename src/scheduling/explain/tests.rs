//! The facts behind each of upstream's reasons.

use serde_json::{Value, json};

use super::*;
use crate::api::Object;
use crate::matching::{Features, MatchReport, Refusal};
use crate::scheduling::{PodClaims, UnfitReason};
use crate::selector::Unmet;
use crate::view::Snapshot;

fn claim(name: &str, class: &str, size: Option<&str>) -> Value {
    let requests = size.map(|size| json!({"storage": size}));
    json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": name},
           "spec": {"storageClassName": class, "resources": {"requests": requests}}})
}

fn bound(name: &str, volume: &str) -> Value {
    let mut claim = claim(name, "local", None);
    claim["spec"]["volumeName"] = json!(volume);
    claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
    claim
}

fn selected(mut claim: Value, node: &str) -> Value {
    claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": node});
    claim
}

fn volume(name: &str, terms: Value) -> Value {
    json!({"kind": "PersistentVolume", "metadata": {"name": name},
           "spec": {"storageClassName": "local", "capacity": {"storage": "5Gi"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
           "status": {"phase": "Available"}})
}

fn term(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
           "volumeBindingMode": "WaitForFirstConsumer"})
}

fn driver() -> Value {
    json!({"kind": "CSIDriver", "metadata": {"name": "csi.example.com"},
           "spec": {"storageCapacity": true}})
}

/// The obstacles of a pod with these claims on `node-a` (zone `z`, disk `ssd`).
fn obstacles(claims: &[&str], objects: Vec<Value>) -> Vec<Obstacle> {
    let snapshot: Snapshot = objects
        .into_iter()
        .map(|value| Object::from_value(value).unwrap())
        .collect();
    let used = claims
        .iter()
        .map(|name| json!({"persistentVolumeClaim": {"claimName": name}}));
    let pod =
        json!({"metadata": {"namespace": "shop"}, "spec": {"volumes": used.collect::<Vec<_>>()}});
    let claims = PodClaims::of(&serde_json::from_value(pod).unwrap(), &snapshot).unwrap();
    let search = PodSearch::new(&claims, &snapshot, Features::default());
    let node: Node = serde_json::from_value(json!({"metadata": {
        "name": "node-a", "labels": {"zone": "z", "disk": "ssd"}}}))
    .unwrap();
    let obstacles = search.explain(&node);
    let told: Vec<_> = search.on_node(&node).unwrap().reasons().collect();
    for obstacle in &obstacles {
        assert!(told.contains(&obstacle.reason()), "{obstacle}: {told:?}");
    }
    obstacles
}

fn only(obstacles: Vec<Obstacle>) -> Obstacle {
    let [obstacle] = <[_; 1]>::try_from(obstacles).unwrap();
    obstacle
}

fn refusal(obstacles: Vec<Obstacle>) -> ProvisionRefusal {
    match only(obstacles) {
        Obstacle::NoVolume { refusal, .. } => refusal,
        other => panic!("{other}"),
    }
}

#[test]
fn a_bound_claim_names_its_missing_volume() {
    let found = only(obstacles(
        &["data"],
        vec![class("local", ""), bound("data", "pv-9")],
    ));
    assert_eq!(
        found,
        Obstacle::VolumeMissing {
            claim: ClaimKey::new("shop", "data"),
            volume: "pv-9".to_owned(),
        }
    );
    assert_eq!(found.reason(), UnfitReason::VolumeMissing);
}

#[test]
fn an_unreachable_volume_tells_which_expression_of_which_term_failed_with_which_label() {
    let terms = json!([
        term("zone", "In", &["x", "y"]),
        {"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["z"]},
            {"key": "disk", "operator": "NotIn", "values": ["ssd"]},
            {"key": "rack", "operator": "Exists"}]},
        {},
        term("zone", "Near", &["z"])
    ]);
    let objects = vec![
        class("local", ""),
        bound("data", "pv-1"),
        volume("pv-1", terms),
    ];
    let Obstacle::VolumeUnreachable {
        claim,
        volume,
        terms,
    } = only(obstacles(&["data"], objects))
    else {
        panic!()
    };
    assert_eq!(
        (claim.to_string().as_str(), volume.as_str()),
        ("shop/data", "pv-1")
    );
    assert_eq!(terms.len(), 4);
    let unmet = |term: usize| match &terms[term] {
        TermOutcome::Unmet(unmet) => unmet
            .iter()
            .map(|unmet| match unmet {
                Unmet::Label { requirement, found } => (
                    requirement.key().to_owned(),
                    found.as_deref().map(str::to_owned),
                ),
                other => panic!("{other}"),
            })
            .collect::<Vec<_>>(),
        other => panic!("{other}"),
    };
    assert_eq!(unmet(0), [("zone".to_owned(), Some("z".to_owned()))]);
    assert_eq!(
        unmet(1),
        [
            ("disk".to_owned(), Some("ssd".to_owned())),
            ("rack".to_owned(), None),
        ]
    );
    assert_eq!(
        terms[0].to_string(),
        "`zone in (x,y)` fails: the label is `z`"
    );
    assert!(
        !matches!(terms[2], TermOutcome::Unmet(_)),
        "an empty term: {}",
        terms[2]
    );
    assert!(
        !matches!(terms[3], TermOutcome::Unmet(_)),
        "no such operator: {}",
        terms[3]
    );
}

#[test]
fn every_bound_claim_is_told_where_upstream_stops_at_the_first() {
    let objects = vec![
        class("local", ""),
        bound("gone", "pv-9"),
        bound("far", "pv-1"),
        volume("pv-1", json!([term("zone", "In", &["x"])])),
    ];
    let found = obstacles_without_check(&["gone", "far"], objects);
    let codes: Vec<_> = found.iter().map(Obstacle::code).collect();
    assert_eq!(codes, ["volume-missing", "volume-unreachable"]);
}

/// Upstream tells only the first of these reasons.
fn obstacles_without_check(claims: &[&str], objects: Vec<Value>) -> Vec<Obstacle> {
    let snapshot: Snapshot = objects
        .into_iter()
        .map(|value| Object::from_value(value).unwrap())
        .collect();
    let used = claims
        .iter()
        .map(|name| json!({"persistentVolumeClaim": {"claimName": name}}));
    let pod =
        json!({"metadata": {"namespace": "shop"}, "spec": {"volumes": used.collect::<Vec<_>>()}});
    let claims = PodClaims::of(&serde_json::from_value(pod).unwrap(), &snapshot).unwrap();
    PodSearch::new(&claims, &snapshot, Features::default()).explain(&Node::default())
}

#[test]
fn a_claim_that_is_provisioned_elsewhere_names_the_node() {
    let objects = vec![
        class("fast", "csi.example.com"),
        selected(claim("data", "fast", None), "node-b"),
        claim("more", "fast", None),
    ];
    assert_eq!(
        only(obstacles(&["data", "more"], objects)),
        Obstacle::OtherNodeSelected {
            claim: ClaimKey::new("shop", "data"),
            selected: "node-b".to_owned(),
        }
    );
}

#[test]
fn no_static_match_counts_the_candidates_and_the_report_says_why_none_fits() {
    let objects = vec![
        class("local", "kubernetes.io/no-provisioner"),
        claim("data", "local", Some("8Gi")),
        volume("pv-small", json!([term("zone", "In", &["z"])])),
        volume("pv-far", json!([term("zone", "In", &["x"])])),
    ];
    let found = only(obstacles(&["data"], objects.clone()));
    let Obstacle::NoVolume {
        claim,
        candidates,
        refusal,
    } = &found
    else {
        panic!("{found}")
    };
    assert_eq!(
        (claim.to_string().as_str(), *candidates),
        ("shop/data", Some(2))
    );
    assert_eq!(refusal.code(), "no-provisioner");
    assert_eq!(
        refusal,
        &ProvisionRefusal::NoProvisioner {
            class: "local".to_owned(),
            provisioner: "kubernetes.io/no-provisioner".to_owned(),
        }
    );
    // Volume by volume.
    let snapshot: Snapshot = objects
        .into_iter()
        .map(|value| Object::from_value(value).unwrap())
        .collect();
    let claims = PodClaims {
        delayed: snapshot.claims().cloned().collect(),
        ..PodClaims::default()
    };
    let search = PodSearch::new(&claims, &snapshot, Features::default());
    let claim = &claims.delayed[0];
    let candidates = search.candidates(claim);
    let labels = BTreeMap::from([("zone".to_owned(), "z".to_owned())]);
    let options = crate::matching::FindOptions {
        node_labels: Some(&labels),
        delay_binding: true,
        ..crate::matching::FindOptions::default()
    };
    let report = MatchReport::new(claim, candidates.iter().map(|volume| &***volume), &options);
    let refusals = |name: &str| {
        let mut volumes = report.volumes.iter();
        volumes
            .find(|report| report.volume.name() == name)
            .unwrap()
            .refusals
            .clone()
    };
    assert!(matches!(
        refusals("pv-small")[..],
        [Refusal::TooSmall { .. }]
    ));
    let is_far = |refusal: &Refusal<'_>| matches!(refusal, Refusal::NodeAffinity { .. });
    assert!(refusals("pv-far").iter().any(is_far));
}

#[test]
fn a_claim_for_this_node_has_no_candidates() {
    let objects = vec![
        class("fast", ""),
        selected(claim("data", "fast", None), "node-a"),
    ];
    let found = only(obstacles(&["data"], objects));
    assert!(
        matches!(
            found,
            Obstacle::NoVolume {
                candidates: None,
                ..
            }
        ),
        "{found}"
    );
}

#[test]
fn a_class_that_does_not_allow_the_node_tells_its_terms() {
    let mut class = class("fast", "csi.example.com");
    class["allowedTopologies"] = json!([
        {"matchLabelExpressions": [{"key": "zone", "values": ["x"]}]},
        {"matchLabelExpressions": [{"key": "rack", "values": ["r"]}]}]);
    let refusal = refusal(obstacles(
        &["data"],
        vec![class, claim("data", "fast", None)],
    ));
    assert_eq!(refusal.code(), "topology-not-allowed");
    assert_eq!(refusal.reason(), UnfitReason::NoVolume);
    let ProvisionRefusal::TopologyNotAllowed { class, terms } = refusal else {
        panic!()
    };
    assert_eq!((class.as_str(), terms.len()), ("fast", 2));
    assert_eq!(
        terms[0].to_string(),
        "`zone in (x)` fails: the label is `z`"
    );
}

#[test]
fn every_pool_is_told_with_why_it_was_rejected() {
    let pool = |name: &str, topology: Value, capacity: Value, largest: Value| {
        json!({"kind": "CSIStorageCapacity", "metadata": {"namespace": "csi", "name": name},
               "storageClassName": "fast", "nodeTopology": topology,
               "capacity": capacity, "maximumVolumeSize": largest})
    };
    let here = || json!({"matchLabels": {"zone": "z"}});
    let objects = vec![
        class("fast", "csi.example.com"),
        driver(),
        claim("data", "fast", Some("8Gi")),
        pool("a-silent", here(), json!(null), json!(null)),
        pool("b-small", here(), json!("5Gi"), json!(null)),
        pool("c-pieces", here(), json!("1Ti"), json!("1Gi")),
        pool("d-nowhere", json!(null), json!("1Ti"), json!(null)),
        pool(
            "e-invalid",
            json!({"matchExpressions": [{"key": "zone", "operator": "In"}]}),
            json!("1Ti"),
            json!(null),
        ),
        pool(
            "f-far",
            json!({"matchLabels": {"zone": "x", "disk": "ssd"}}),
            json!("1Ti"),
            json!(null),
        ),
    ];
    let refusal = refusal(obstacles(&["data"], objects));
    assert_eq!(refusal.code(), "not-enough-capacity");
    assert_eq!(refusal.reason(), UnfitReason::NotEnoughSpace);
    let ProvisionRefusal::NotEnoughCapacity {
        class,
        driver,
        asked,
        pools,
    } = refusal
    else {
        panic!()
    };
    assert_eq!(
        (class.as_str(), driver.as_str(), asked),
        ("fast", "csi.example.com", 8 << 30)
    );
    let names: Vec<_> = pools
        .iter()
        .map(|report| report.pool.metadata.name())
        .collect();
    assert_eq!(
        names,
        [
            "a-silent",
            "b-small",
            "c-pieces",
            "d-nowhere",
            "e-invalid",
            "f-far"
        ]
    );
    let outcome = |place: usize| &pools[place].outcome;
    assert_eq!(outcome(0), &PoolOutcome::NoLimit);
    assert_eq!(outcome(1), &PoolOutcome::TooSmall { limit: 5 << 30 });
    assert_eq!(outcome(2), &PoolOutcome::TooSmall { limit: 1 << 30 });
    assert_eq!(outcome(3), &PoolOutcome::NoTopology);
    assert!(matches!(outcome(4), PoolOutcome::InvalidTopology(_)));
    let PoolOutcome::OtherNodes(unmet) = outcome(5) else {
        panic!("{}", outcome(5))
    };
    assert_eq!(unmet.len(), 1);
    let Unmet::Label { requirement, found } = &unmet[0] else {
        panic!()
    };
    assert_eq!((requirement.key(), found.as_deref()), ("zone", Some("z")));
}

#[test]
fn a_node_that_fits_has_no_obstacles() {
    let objects = vec![
        class("fast", "csi.example.com"),
        claim("data", "fast", Some("8Gi")),
    ];
    assert_eq!(obstacles(&["data"], objects), []);
}
