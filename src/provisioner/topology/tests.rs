use super::*;
use crate::api::read_objects;
use crate::view::Snapshot;
use serde_json::{Value, json};

/// Three nodes in the zones a, b and b; the driver runs on the first two.
fn cluster() -> Snapshot {
    read_objects(
        r#"{"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a", "rack": "1"}}}
        {"kind": "Node", "metadata": {"name": "n2", "labels": {"zone": "b", "rack": "1"}}}
        {"kind": "Node", "metadata": {"name": "n3", "labels": {"zone": "b"}}}
        {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
            {"name": "other"}, {"name": "csi", "topologyKeys": ["zone", "rack"]}]}}
        {"kind": "CSINode", "metadata": {"name": "n2"}, "spec": {"drivers": [
            {"name": "csi", "topologyKeys": ["zone"]}]}}
        {"kind": "CSINode", "metadata": {"name": "n3"}, "spec": {"drivers": [{"name": "csi"}]}}
        {"kind": "CSINode", "metadata": {"name": "n4"}, "spec": {"drivers": [
            {"name": "csi", "topologyKeys": ["zone"]}]}}"#,
    )
    .unwrap()
    .into_iter()
    .collect()
}

fn allowed(terms: Value) -> Vec<TopologySelectorTerm> {
    serde_json::from_value(terms).unwrap()
}

/// Both lists in short, or the error.
fn ask(query: &TopologyQuery<'_>) -> Result<Value, String> {
    let found = topology_requirement(query, &cluster());
    assert_eq!(found, topology_requirement_plain(query, &cluster()));
    let lists = |list: Vec<crate::provisioner::csi::Topology>| -> Vec<String> {
        let short = |one: crate::provisioner::csi::Topology| {
            one.segments.into_values().collect::<Vec<_>>().join("/")
        };
        list.into_iter().map(short).collect()
    };
    match found {
        Ok(None) => Ok(Value::Null),
        Ok(Some(found)) => Ok(json!([lists(found.requisite), lists(found.preferred)])),
        Err(error) => Err(error.to_string()),
    }
}

fn on<'a>(node: &'a str) -> TopologyQuery<'a> {
    TopologyQuery {
        selected_node: Some(node),
        ..TopologyQuery::new("csi", "claim")
    }
}

#[test]
fn the_keys_are_those_of_the_selected_node() {
    // Rack before zone, as keys are sorted; n3 has no rack.
    assert_eq!(ask(&on("n1")), Ok(json!([["1/a", "1/b"], ["1/a", "1/b"]])));
    assert_eq!(ask(&on("n2")), Ok(json!([["a", "b"], ["b", "a"]])));
}

#[test]
fn a_selected_node_that_does_not_fit_the_driver_is_an_error() {
    let error = |node| ask(&on(node)).unwrap_err();
    assert_eq!(error("n3"), "no topology key found for node n3");
    assert_eq!(
        error("n4"),
        "topology labels from selected node map[] does not match topology keys from CSINode [zone]"
    );
    assert_eq!(
        error("n5"),
        "failed to get selected CSINode n5: csinode.storage.k8s.io \"n5\" not found"
    );
}

#[test]
fn strict_asks_for_the_selected_place_alone_and_only_if_allowed() {
    let strict = TopologyQuery {
        is_strict: true,
        ..on("n2")
    };
    assert_eq!(ask(&strict), Ok(json!([["b"], ["b"]])));
    let terms = allowed(json!([
        {"matchLabelExpressions": [{"key": "zone", "values": ["c", "a"]}]}, {}]));
    let refused = TopologyQuery {
        allowed: &terms,
        ..strict
    };
    assert_eq!(
        ask(&refused).unwrap_err(),
        "selected node '\"n2\"' topology '[{zone b}]' is not in allowed topologies: \
         [[{zone c}] [{zone a}]]"
    );
    let terms = allowed(json!([{}]));
    let refused = TopologyQuery {
        allowed: &terms,
        ..strict
    };
    assert!(ask(&refused).unwrap_err().ends_with("topologies: []"));
}

#[test]
fn what_a_class_allows_goes_before_the_cluster() {
    let terms =
        allowed(json!([{"matchLabelExpressions": [{"key": "zone", "values": ["b", "a", "b"]}]}]));
    let query = |node| TopologyQuery {
        allowed: &terms,
        ..on(node)
    };
    assert_eq!(ask(&query("n2")), Ok(json!([["a", "b"], ["b", "a"]])));
    assert_eq!(ask(&query("")).unwrap()[0], json!(["a", "b"]));
    let none = allowed(json!([{}]));
    let query = TopologyQuery {
        allowed: &none,
        ..on("n2")
    };
    assert_eq!(ask(&query), Ok(Value::Null));
    let elsewhere = allowed(json!([{"matchLabelExpressions": [{"key": "zone", "values": ["c"]}]}]));
    let query = TopologyQuery {
        allowed: &elsewhere,
        ..on("n2")
    };
    assert_eq!(
        ask(&query).unwrap_err(),
        "topology [{zone b}] from selected node \"n2\" is not in requisite: [[{zone c}]]"
    );
}

#[test]
fn a_part_that_a_class_allows_holds_every_smaller_place_in_it() {
    // The driver goes by zone and rack on n1, and the class by zones.
    let terms =
        allowed(json!([{"matchLabelExpressions": [{"key": "zone", "values": ["b", "a"]}]}]));
    for is_strict in [false, true] {
        let query = TopologyQuery {
            allowed: &terms,
            is_strict,
            ..on("n1")
        };
        let expected = match is_strict {
            false => json!([["a", "b"], ["a", "b"]]),
            true => json!([["1/a"], ["1/a"]]),
        };
        assert_eq!(ask(&query), Ok(expected));
    }
    // But not the other way round.
    let terms = allowed(json!([{"matchLabelExpressions": [
        {"key": "zone", "values": ["b"]}, {"key": "rack", "values": ["1"]}]}]));
    for is_strict in [false, true] {
        let query = TopologyQuery {
            allowed: &terms,
            is_strict,
            ..on("n2")
        };
        assert!(ask(&query).is_err(), "{is_strict}");
    }
}

#[test]
fn without_a_node_a_place_is_asked_for_only_if_immediate() {
    let query = TopologyQuery::new("csi", "data-web-0");
    assert_eq!(ask(&query), Ok(Value::Null));
    let immediate = TopologyQuery {
        is_immediate: true,
        ..query
    };
    assert_eq!(ask(&immediate).unwrap()[0], json!(["1/a", "1/b"]));
    let unknown = TopologyQuery {
        driver: "other",
        ..immediate
    };
    assert_eq!(ask(&unknown).unwrap_err(), "no available topology found");
}

#[test]
fn replicas_of_a_set_begin_one_after_the_other_and_their_claims_together() {
    let first = |claim_name| {
        let query = TopologyQuery {
            is_immediate: true,
            ..TopologyQuery::new("csi", claim_name)
        };
        ask(&query).unwrap()[1][0].clone()
    };
    assert_eq!(first("data-web-0"), first("logs-web-0"));
    assert_eq!(first("data-web-0"), first("data-web-2"));
    assert_ne!(first("data-web-0"), first("data-web-1"));
}

#[test]
fn values_that_only_look_alike_side_by_side_are_different_places() {
    let cluster: Snapshot = read_objects(
        r#"{"kind": "Node", "metadata": {"name": "n1", "labels": {"a": "xy", "b": "z"}}}
        {"kind": "Node", "metadata": {"name": "n2", "labels": {"a": "x", "b": "yz"}}}
        {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
            {"name": "csi", "topologyKeys": ["a", "b"]}]}}"#,
    )
    .unwrap()
    .into_iter()
    .collect();
    let found = topology_requirement(&on("n1"), &cluster).unwrap().unwrap();
    assert_eq!(found.requisite.len(), 2);
}

#[test]
fn many_places_and_then_many_nodes_in_few_of_them_are_each_place_once() {
    let mut cluster = Snapshot::new();
    for number in 0..600 {
        let place = if number < 300 { number } else { number % 7 };
        let labels = json!({"zone": format!("z{place}")});
        let node = json!({"metadata": {"name": format!("n{number:03}"), "labels": labels}});
        let node: crate::api::Node = serde_json::from_value(node).unwrap();
        cluster.apply(std::sync::Arc::new(node));
    }
    let csi_node = json!({"metadata": {"name": "n000"}, "spec": {"drivers": [
        {"name": "csi", "topologyKeys": ["zone"]}]}});
    let csi_node: CsiNode = serde_json::from_value(csi_node).unwrap();
    cluster.apply(std::sync::Arc::new(csi_node));
    let found = topology_requirement(&on("n000"), &cluster);
    assert_eq!(found, topology_requirement_plain(&on("n000"), &cluster));
    assert_eq!(found.unwrap().unwrap().requisite.len(), 300);
}

#[test]
fn a_driver_with_many_keys_and_a_class_with_many_places_cost_no_product_of_both() {
    const MANY: usize = 100_000;
    let labels: serde_json::Map<_, _> = (0..MANY)
        .map(|key| (format!("k{key:06}"), json!("x")))
        .collect();
    let keys: Vec<_> = labels.keys().cloned().collect();
    let node = json!({"kind": "Node", "metadata": {"name": "n1", "labels": labels}});
    let csi_node = json!({"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
        {"name": "csi", "topologyKeys": keys}]}});
    let cluster: Snapshot = read_objects(&format!("{node}\n{csi_node}"))
        .unwrap()
        .into_iter()
        .collect();
    let values: Vec<_> = (0..MANY).map(|value| format!("y{value}")).collect();
    let terms = allowed(json!([{"matchLabelExpressions": [
        {"key": "k099999", "values": values}]}]));
    for is_strict in [false, true] {
        let query = TopologyQuery {
            allowed: &terms,
            is_strict,
            ..on("n1")
        };
        assert!(topology_requirement(&query, &cluster).is_err());
    }
}

#[test]
fn a_key_that_is_named_many_times_is_looked_for_once_on_each_node() {
    let keys = vec!["zone"; 100_000];
    let csi_node = json!({"kind": "CSINode", "metadata": {"name": "n00001"}, "spec": {"drivers": [
        {"name": "csi", "topologyKeys": keys}]}});
    let mut objects = csi_node.to_string();
    for number in 0..50_000 {
        let metadata = json!({"name": format!("n{number:05}"), "labels": {"zone": "a"}});
        objects += &json!({"kind": "Node", "metadata": metadata}).to_string();
    }
    let cluster: Snapshot = read_objects(&objects).unwrap().into_iter().collect();
    let found = topology_requirement(&on("n00001"), &cluster)
        .unwrap()
        .unwrap();
    assert_eq!(found.requisite.len(), 1);
    let unknown = read_objects(
        r#"{"kind": "CSINode", "metadata": {"name": "n"}, "spec": {"drivers": [
            {"name": "csi", "topologyKeys": ["b", "a", "b"]}]}}"#,
    );
    let cluster: Snapshot = unknown.unwrap().into_iter().collect();
    let query = TopologyQuery {
        is_immediate: true,
        ..TopologyQuery::new("csi", "claim")
    };
    // As upstream has it, as the CSINode says it.
    assert_eq!(
        topology_requirement(&query, &cluster)
            .unwrap_err()
            .to_string(),
        "topologyKeys [b a b] were not found on any nodes"
    );
}
