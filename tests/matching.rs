//! The rules of the search, as stories.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use pvbind::matching::{
    Bucket, Features, FindError, FindOptions, MatchReport, Refusal, SearchOptions, VolumeIndex,
    find_best_match_for_claim, find_matching_volume, volume_satisfies_claim,
};
use serde_json::{Value, json};

/// An open volume of 10Gi, ReadWriteOnce, class `fast`, changed by a patch of
/// its spec.
fn volume(name: &str, spec: Value) -> PersistentVolume {
    let mut object = json!({
        "metadata": {"name": name, "uid": format!("uid-{name}")},
        "spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"},
        "status": {"phase": "Available"},
    });
    let fields = spec.as_object().unwrap().clone();
    object["spec"].as_object_mut().unwrap().extend(fields);
    serde_json::from_value(object).unwrap()
}

/// A claim of 5Gi, ReadWriteOnce, class `fast`, changed by a patch of its spec.
fn claim(spec: Value) -> PersistentVolumeClaim {
    let mut object = json!({
        "metadata": {"namespace": "shop", "name": "data", "uid": "uid-data"},
        "spec": {"resources": {"requests": {"storage": "5Gi"}}, "accessModes": ["ReadWriteOnce"], "storageClassName": "fast"},
    });
    let fields = spec.as_object().unwrap().clone();
    object["spec"].as_object_mut().unwrap().extend(fields);
    serde_json::from_value(object).unwrap()
}

fn reserved_for(namespace: &str, name: &str, uid: &str) -> Value {
    json!({"claimRef": {"namespace": namespace, "name": name, "uid": uid}})
}

fn on_host(host: &str) -> Value {
    json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions":
        [{"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}]}]}}})
}

fn host(name: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("kubernetes.io/hostname".to_owned(), name.to_owned())])
}

/// The controller's answer, which slice search and index must agree on.
fn best(claim: &PersistentVolumeClaim, volumes: &[PersistentVolume]) -> Option<String> {
    let found = find_best_match_for_claim(claim, volumes, SearchOptions::default()).unwrap();
    let index: VolumeIndex = volumes.iter().cloned().map(Arc::new).collect();
    let by_index = index.best_match(claim, SearchOptions::default()).unwrap();
    assert_eq!(found, by_index.map(Arc::as_ref));
    found.map(|volume| volume.name().to_owned())
}

/// The scheduler's answer for a host, which slice search and index must agree
/// on.
fn best_on(
    node: &str,
    claim: &PersistentVolumeClaim,
    volumes: &[PersistentVolume],
) -> Option<String> {
    let labels = host(node);
    let options = FindOptions {
        node_labels: Some(&labels),
        delay_binding: true,
        ..FindOptions::default()
    };
    let found = find_matching_volume(claim, volumes, &options).unwrap();
    let index: VolumeIndex = volumes.iter().cloned().map(Arc::new).collect();
    let by_index = index
        .best_match_on_node(claim, &labels, &[], Features::default())
        .unwrap();
    assert_eq!(found, by_index.map(Arc::as_ref));
    found.map(|volume| volume.name().to_owned())
}

#[test]
fn the_smallest_volume_that_is_large_enough_is_taken() {
    let size = |name, size| volume(name, json!({"capacity": {"storage": size}}));
    let volumes = [
        size("huge", "1Ti"),
        size("snug", "5Gi"),
        size("small", "5119Mi"),
    ];
    assert_eq!(best(&claim(json!({})), &volumes).as_deref(), Some("snug"));
}

#[test]
fn of_equally_large_volumes_the_lowest_name_is_taken() {
    let volumes = ["b", "a", "c"].map(|name| volume(name, json!({})));
    assert_eq!(best(&claim(json!({})), &volumes).as_deref(), Some("a"));
}

#[test]
fn a_volume_with_fewer_access_modes_goes_before_a_smaller_one_with_more() {
    let volumes = [
        volume(
            "wide",
            json!({"accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}),
        ),
        volume("narrow", json!({"capacity": {"storage": "100Gi"}})),
    ];
    assert_eq!(best(&claim(json!({})), &volumes).as_deref(), Some("narrow"));
}

#[test]
fn a_volume_reserved_for_the_claim_goes_before_a_smaller_open_one() {
    let mut reserved = volume("reserved", reserved_for("shop", "data", ""));
    reserved.spec.storage_class_name = Some("another".into());
    reserved.status.phase = None;
    let volumes = [
        volume("open", json!({"capacity": {"storage": "5Gi"}})),
        reserved,
    ];
    assert_eq!(
        best(&claim(json!({})), &volumes).as_deref(),
        Some("reserved")
    );
    let selecting = claim(json!({"selector": {"matchLabels": {"disk": "ssd"}}}));
    assert_eq!(best(&selecting, &volumes).as_deref(), Some("reserved"));
}

#[test]
fn a_volume_reserved_in_a_wider_group_loses_to_an_open_one_in_a_narrower() {
    let mut reserved = volume("reserved", reserved_for("shop", "data", "uid-data"));
    reserved.spec.access_modes = Some(vec!["ReadWriteOnce".into(), "ReadWriteMany".into()]);
    let volumes = [reserved, volume("open", json!({}))];
    assert_eq!(best(&claim(json!({})), &volumes).as_deref(), Some("open"));
}

#[test]
fn a_reservation_for_another_claim_or_an_earlier_one_of_the_same_name_refuses() {
    let volumes = [
        volume("other-namespace", reserved_for("office", "data", "")),
        volume("other-name", reserved_for("shop", "logs", "")),
        volume("earlier-claim", reserved_for("shop", "data", "uid-before")),
    ];
    assert_eq!(best(&claim(json!({})), &volumes), None);
    let claim = claim(json!({}));
    let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
    let earlier = report
        .volumes
        .iter()
        .find(|report| report.volume.name() == "earlier-claim");
    let refusal = earlier.unwrap().refusals[0];
    assert!(matches!(
        refusal,
        Refusal::ClaimedByOther {
            earlier_claim: true,
            ..
        }
    ));
    assert_eq!(
        refusal.to_string(),
        "still belongs to an earlier claim named shop/data (uid uid-before)"
    );
}

#[test]
fn a_reserved_volume_that_the_node_cannot_reach_hides_all_others() {
    let claim = claim(json!({}));
    let mut reserved = volume("reserved", on_host("node-a"));
    reserved.spec.claim_ref = volume("x", reserved_for("shop", "data", "")).spec.claim_ref;
    let volumes = [reserved, volume("open", json!({}))];
    assert_eq!(
        best_on("node-a", &claim, &volumes).as_deref(),
        Some("reserved")
    );
    assert_eq!(best_on("node-b", &claim, &volumes), None);
    let labels = host("node-b");
    let options = FindOptions {
        node_labels: Some(&labels),
        ..FindOptions::default()
    };
    let report = MatchReport::new(&claim, &volumes, &options);
    assert_eq!(
        report.to_string(),
        "1 of 2 volumes fits, but one that is reserved for the claim goes first: 1 is reserved \
         for this claim, but unusable (reserved cannot be reached from the node)"
    );
    assert_eq!(report.bucket(Bucket::ReservedUnusable).count(), 1);
}

#[test]
fn a_volume_pinned_to_a_host_is_found_there_only() {
    let volumes = [
        volume("a", on_host("node-a")),
        volume("b", on_host("node-b")),
    ];
    assert_eq!(
        best_on("node-a", &claim(json!({})), &volumes).as_deref(),
        Some("a")
    );
    assert_eq!(
        best_on("node-b", &claim(json!({})), &volumes).as_deref(),
        Some("b")
    );
    assert_eq!(best_on("node-c", &claim(json!({})), &volumes), None);
    // The controller does not look at nodes.
    assert_eq!(best(&claim(json!({})), &volumes).as_deref(), Some("a"));
}

#[test]
fn a_node_affinity_without_terms_accepts_no_node() {
    let terms = |terms: Value| json!({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}});
    for affinity in [terms(json!([])), terms(json!([{}])), terms(json!(null))] {
        assert_eq!(
            best_on("node-a", &claim(json!({})), &[volume("v", affinity)]),
            None
        );
    }
    let anywhere = volume("v", json!({"nodeAffinity": {}}));
    assert_eq!(
        best_on("node-a", &claim(json!({})), &[anywhere]).as_deref(),
        Some("v")
    );
}

#[test]
fn an_unknown_access_mode_compares_by_name_on_a_node_and_is_served_by_no_group() {
    let volumes = [volume(
        "v",
        json!({"accessModes": ["ReadSideways", "ReadWriteOnce"]}),
    )];
    let sideways = claim(json!({"accessModes": ["ReadSideways"]}));
    assert_eq!(best_on("node-a", &sideways, &volumes).as_deref(), Some("v"));
    assert_eq!(best(&sideways, &volumes), None);
    let other = claim(json!({"accessModes": ["ReadUpwards"]}));
    assert_eq!(best_on("node-a", &other, &volumes), None);
}

#[test]
fn an_invalid_selector_is_only_an_error_where_a_group_is_searched() {
    let invalid = claim(json!({"selector": {"matchLabels": {"bad key!": "x"}}}));
    let narrow = [volume("v", json!({}))];
    let error = find_best_match_for_claim(&invalid, &narrow, SearchOptions::default());
    assert!(matches!(error, Err(FindError::Selector { .. })));
    let wide = [volume("v", json!({"accessModes": ["ReadWriteMany"]}))];
    assert_eq!(best(&invalid, &wide), None);
    // A direct search reports it even without volumes.
    let direct = find_matching_volume(&invalid, [], &FindOptions::default());
    assert!(matches!(direct, Err(FindError::Selector { .. })));
}

#[test]
fn an_attributes_class_is_an_error_on_the_claim_and_a_refusal_on_the_volume_while_the_feature_is_off()
 {
    let gold = json!({"volumeAttributesClassName": "gold"});
    let off = FindOptions {
        features: Features::default().with_volume_attributes_class(false),
        ..FindOptions::default()
    };
    let error = find_matching_volume(&claim(gold.clone()), [], &off).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported volumeAttributesClassName is set on claim shop/data when the feature-gate \
         VolumeAttributesClass is disabled"
    );
    let volumes = [volume("v", gold.clone())];
    assert_eq!(
        find_matching_volume(&claim(json!({})), &volumes, &off),
        Ok(None)
    );
    assert_eq!(best(&claim(gold), &volumes).as_deref(), Some("v"));
    // Absent and "" are the same.
    let empty = claim(json!({"volumeAttributesClassName": ""}));
    assert_eq!(
        best(&empty, &[volume("v", json!({}))]).as_deref(),
        Some("v")
    );
}

#[test]
fn an_annotation_names_the_class_before_the_field_does_even_when_empty() {
    let mut asking = claim(json!({}));
    asking
        .metadata
        .set_annotation("volume.beta.kubernetes.io/storage-class", "");
    let mut unclassed = volume("unclassed", json!({}));
    unclassed.spec.storage_class_name = None;
    let volumes = [volume("fast", json!({})), unclassed];
    assert_eq!(best(&asking, &volumes).as_deref(), Some("unclassed"));
}

#[test]
fn a_claim_that_names_its_volume_is_checked_in_whole_bytes() {
    let asking = claim(json!({"resources": {"requests": {"storage": "1500m"}}}));
    let v = volume("v", json!({"capacity": {"storage": "1.2"}}));
    assert_eq!(
        volume_satisfies_claim(&v, &asking, Features::default()),
        Ok(())
    );
    // The search compares exactly.
    assert_eq!(best(&asking, &[v]), None);
    let deleted: PersistentVolume = serde_json::from_value(
        json!({"metadata": {"name": "a\"b", "deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    )
    .unwrap();
    let text = volume_satisfies_claim(&deleted, &asking, Features::default())
        .unwrap_err()
        .to_string();
    assert_eq!(text, r#"the volume is marked for deletion "a\"b""#);
}

#[test]
fn near_misses_come_in_the_order_of_how_little_is_missing() {
    let size = |name, size| volume(name, json!({"capacity": {"storage": size}}));
    let mut hopeless = size("hopeless", "4Gi");
    hopeless.spec.storage_class_name = Some("slow".into());
    let volumes = [
        hopeless,
        size("far", "1Gi"),
        size("near", "4Gi"),
        size("fits", "5Gi"),
    ];
    let claim = claim(json!({}));
    let report = MatchReport::new(&claim, &volumes, &FindOptions::default());
    let misses: Vec<_> = report
        .near_misses()
        .iter()
        .map(|miss| miss.volume.name())
        .collect();
    assert_eq!(misses, ["near", "far", "hopeless"]);
    let shortfall = report.near_misses()[0].shortfall().unwrap();
    assert_eq!(
        (shortfall.bytes.to_string().as_str(), shortfall.percent),
        ("1Gi", 20.0)
    );
    assert_eq!(
        report.to_string(),
        "1 of 4 volumes fits, best fits (5Gi): 1 has another class, 2 are too small (largest 4Gi, \
         asked 5Gi)"
    );
}

#[test]
fn volumes_too_large_for_64_bits_are_still_ordered_exactly() {
    let size = |name, size| volume(name, json!({"capacity": {"storage": size}}));
    let volumes = [
        size("c", "1e100"),
        size("b", "10000000000000000000.5"),
        size("a", "1e2000000000"),
    ];
    let asking = |size| claim(json!({"resources": {"requests": {"storage": size}}}));
    assert_eq!(best(&asking("1"), &volumes).as_deref(), Some("b"));
    assert_eq!(
        best(&asking("10000000000000000000.6"), &volumes).as_deref(),
        Some("c")
    );
    assert_eq!(best(&asking("2e100"), &volumes).as_deref(), Some("a"));
    assert_eq!(best(&asking("2e2000000000"), &volumes), None);
}

#[test]
fn what_is_asked_for_beyond_all_measure_is_missing_as_it_was_written() {
    let asked = claim(json!({"resources": {"requests": {"storage": "1e900000"}}}));
    let small = volume("a", json!({"capacity": {"storage": "5Gi"}}));
    let report = MatchReport::new(&asked, [&small], &FindOptions::default());
    let shortfall = report.volumes[0].shortfall().unwrap();
    assert_eq!(shortfall.bytes.to_string(), "1e900000");
    assert_eq!(shortfall.percent, 100.0);
    assert!(serde_json::to_string(&report).unwrap().len() < 1_000);
}
