use serde_json::{Value, json};

use super::*;
use crate::api::Object;
use crate::matching::Features;
use crate::scheduling::find_pod_volumes;
use crate::view::Snapshot;

/// A world with the class `local`, whose volumes are made by hand, and the
/// class `csi`, whose volumes are provisioned from pools.
fn world(objects: &[Value]) -> Snapshot {
    let classes = [
        json!({"kind": "StorageClass", "metadata": {"name": "local"},
               "volumeBindingMode": "WaitForFirstConsumer"}),
        json!({"kind": "StorageClass", "metadata": {"name": "csi"}, "provisioner": "csi.example.com",
               "volumeBindingMode": "WaitForFirstConsumer"}),
        json!({"kind": "CSIDriver", "metadata": {"name": "csi.example.com"},
               "spec": {"storageCapacity": true}}),
    ];
    let objects = classes.iter().chain(objects);
    objects
        .map(|value| Object::from_value(value.clone()).unwrap())
        .collect()
}

fn claim(name: &str, class: &str, size: &str) -> Value {
    json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": name},
           "spec": {"storageClassName": class, "resources": {"requests": {"storage": size}}}})
}

fn choosy(name: &str, class: &str, size: &str) -> Value {
    let mut claim = claim(name, class, size);
    claim["spec"]["selector"] = json!({"matchLabels": {"x": "y"}});
    claim
}

fn volume(name: &str, class: &str, size: &str) -> Value {
    json!({"kind": "PersistentVolume", "metadata": {"name": name, "labels": {}},
           "spec": {"storageClassName": class, "capacity": {"storage": size}},
           "status": {"phase": "Available"}})
}

fn labelled(name: &str, class: &str, size: &str) -> Value {
    let mut volume = volume(name, class, size);
    volume["metadata"]["labels"] = json!({"x": "y"});
    volume
}

fn pool(name: &str, capacity: Option<&str>, largest: Option<&str>) -> Value {
    json!({"kind": "CSIStorageCapacity", "metadata": {"namespace": "shop", "name": name},
           "storageClassName": "csi", "nodeTopology": {},
           "capacity": capacity, "maximumVolumeSize": largest})
}

fn claims(snapshot: &Snapshot, names: &[&str]) -> PodClaims {
    let volumes: Vec<_> = names
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let pod =
        json!({"metadata": {"namespace": "shop", "name": "web"}, "spec": {"volumes": volumes}});
    PodClaims::of(&serde_json::from_value(pod).unwrap(), snapshot).unwrap()
}

fn faithful(snapshot: &Snapshot, names: &[&str]) -> PodVolumes {
    find_pod_volumes(
        &claims(snapshot, names),
        &Node::default(),
        snapshot,
        Features::default(),
    )
    .unwrap()
}

fn better(snapshot: &Snapshot, names: &[&str]) -> PodVolumes {
    let claims = claims(snapshot, names);
    assign_pod_volumes(
        &claims,
        &Node::default(),
        snapshot,
        Features::default(),
        PoolRoom::Shared,
    )
    .unwrap()
}

/// `CLAIM=VOLUME` for bindings, `CLAIM@POOL` for provisions.
fn shown(volumes: &PodVolumes) -> String {
    let bindings = volumes.static_bindings.iter().map(|binding| {
        let claim = binding.claim.metadata.name();
        format!("{claim}={}", binding.volume.name())
    });
    let provisions = volumes.dynamic_provisions.iter().map(|provision| {
        let pool = provision.capacity.as_ref().map(|pool| pool.metadata.name());
        format!(
            "{}@{}",
            provision.claim.metadata.name(),
            pool.unwrap_or("-")
        )
    });
    bindings.chain(provisions).collect::<Vec<_>>().join(" ")
}

fn reasons(volumes: &PodVolumes) -> Vec<UnfitReason> {
    volumes.reasons().collect()
}

#[test]
fn a_small_claim_leaves_the_volume_that_a_larger_one_needs() {
    let world = world(&[
        claim("any", "local", "5Gi"),
        choosy("choosy", "local", "10Gi"),
        labelled("pv-10", "local", "10Gi"),
        volume("pv-20", "local", "20Gi"),
    ]);
    let greedy = faithful(&world, &["any", "choosy"]);
    assert_eq!(reasons(&greedy), [UnfitReason::NoVolume]);
    assert_eq!(shown(&greedy), "any=pv-10");
    assert_eq!(
        shown(&better(&world, &["any", "choosy"])),
        "any=pv-20 choosy=pv-10"
    );
}

#[test]
fn a_volume_that_is_there_comes_before_a_provision_for_as_many_claims_as_can_be() {
    let world = world(&[
        claim("any", "csi", "5Gi"),
        choosy("choosy", "csi", "10Gi"),
        labelled("pv-10", "csi", "10Gi"),
        volume("pv-20", "csi", "20Gi"),
        pool("p", Some("1Ti"), None),
    ]);
    assert_eq!(
        shown(&faithful(&world, &["any", "choosy"])),
        "any=pv-10 choosy@p"
    );
    assert_eq!(
        shown(&better(&world, &["any", "choosy"])),
        "any=pv-20 choosy=pv-10"
    );
}

#[test]
fn the_larger_claim_gets_the_volume_and_the_smaller_one_is_provisioned() {
    let world = world(&[
        claim("small", "csi", "1Gi"),
        claim("large", "csi", "9Gi"),
        volume("pv-10", "csi", "10Gi"),
        pool("p", Some("2Gi"), None),
    ]);
    assert_eq!(
        reasons(&faithful(&world, &["small", "large"])),
        [UnfitReason::NotEnoughSpace]
    );
    assert_eq!(
        shown(&better(&world, &["small", "large"])),
        "large=pv-10 small@p"
    );
}

#[test]
fn claims_share_the_room_of_a_pool() {
    let world = world(&[
        claim("a", "csi", "6Gi"),
        claim("b", "csi", "6Gi"),
        pool("p", Some("10Gi"), None),
    ]);
    assert!(faithful(&world, &["a", "b"]).fits());
    assert_eq!(
        reasons(&better(&world, &["a", "b"])),
        [UnfitReason::NotEnoughSpace]
    );
    let alone = assign_pod_volumes(
        &claims(&world, &["a", "b"]),
        &Node::default(),
        &world,
        Features::default(),
        PoolRoom::PerClaim,
    );
    assert_eq!(shown(&alone.unwrap()), "a@p b@p");
}

#[test]
fn claims_spread_over_the_pools_that_serve_the_node() {
    let world = world(&[
        claim("a", "csi", "3Gi"),
        claim("b", "csi", "4Gi"),
        claim("c", "csi", "3Gi"),
        pool("p", Some("6Gi"), None),
        pool("q", Some("4Gi"), Some("4Gi")),
    ]);
    assert_eq!(shown(&better(&world, &["a", "b", "c"])), "a@p c@p b@q");
}

#[test]
fn a_claim_that_the_pod_names_twice_gets_one_volume() {
    let world = world(&[claim("a", "local", "1Gi"), volume("pv-1", "local", "1Gi")]);
    assert_eq!(shown(&better(&world, &["a", "a"])), "a=pv-1");
}

#[test]
fn a_volume_that_is_reserved_for_a_claim_is_its_only_one() {
    let mut reserved = volume("reserved", "local", "50Gi");
    reserved["spec"]["claimRef"] = json!({"namespace": "shop", "name": "a"});
    let world = world(&[
        claim("a", "local", "1Gi"),
        claim("b", "local", "1Gi"),
        volume("pv-1", "local", "1Gi"),
        reserved,
    ]);
    assert_eq!(shown(&better(&world, &["a", "b"])), "a=reserved b=pv-1");
}

#[test]
fn where_all_fit_anyhow_the_answer_is_that_of_the_faithful_policy() {
    let world = world(&[
        claim("a", "local", "3Gi"),
        claim("b", "local", "1Gi"),
        claim("c", "local", "1Gi"),
        volume("pv-3", "local", "3Gi"),
        volume("pv-2b", "local", "2Gi"),
        volume("pv-2a", "local", "2Gi"),
        volume("pv-9", "local", "9Gi"),
    ]);
    let names = ["a", "b", "c"];
    assert_eq!(shown(&better(&world, &names)), "b=pv-2a c=pv-2b a=pv-3");
    assert_eq!(better(&world, &names), faithful(&world, &names));
}

#[test]
fn a_missing_class_is_an_error_only_if_the_claim_must_be_provisioned() {
    let mut objects = vec![claim("a", "local", "1Gi"), volume("pv-1", "local", "1Gi")];
    let split = claims(&world(&objects), &["a"]);
    let mut without_class = world(&objects);
    without_class.replace_all(Vec::<Arc<crate::api::StorageClass>>::new());
    let answer = |snapshot: &Snapshot| {
        assign_pod_volumes(
            &split,
            &Node::default(),
            snapshot,
            Features::default(),
            PoolRoom::Shared,
        )
    };
    assert_eq!(shown(&answer(&without_class).unwrap()), "a=pv-1");
    objects.pop();
    let mut without_both = world(&objects);
    without_both.replace_all(Vec::<Arc<crate::api::StorageClass>>::new());
    assert_eq!(
        answer(&without_both).unwrap_err().to_string(),
        "failed to find storage class \"local\""
    );
}

#[test]
fn sizes_beyond_all_bounds_are_compared_exactly() {
    let world = world(&[
        claim("a", "local", "1e2000000000"),
        claim("b", "local", "1e40"),
        claim("c", "local", "-1"),
        volume("pv-1", "local", "1e2000000000"),
        volume("pv-2", "local", "1e1999999999"),
        volume("pv-3", "local", "0"),
    ]);
    assert_eq!(
        shown(&better(&world, &["a", "b", "c"])),
        "c=pv-3 b=pv-2 a=pv-1"
    );
}

/// A pod whose small claims all choose before a choosy one, and volumes for all
/// of them that the smallest first does not find.
fn crowd(size: usize) -> PodVolumes {
    let mut objects = vec![
        choosy("choosy", "local", "10Gi"),
        labelled("pv", "local", "10Gi"),
    ];
    let mut names = vec!["choosy".to_owned()];
    for place in 1..size {
        let name = format!("c{place:03}");
        objects.push(claim(&name, "local", "5Gi"));
        objects.push(volume(&format!("pv-{place:03}"), "local", "20Gi"));
        names.push(name);
    }
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    better(&world(&objects), &names)
}

#[test]
fn as_many_as_256_claims_are_arranged_and_more_are_served_one_by_one() {
    assert!(crowd(256).fits());
    let apart = crowd(257);
    assert_eq!(reasons(&apart), [UnfitReason::NoVolume]);
    assert_eq!(apart.static_bindings.len(), 256);
}
