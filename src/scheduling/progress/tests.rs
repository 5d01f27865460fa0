//! The stories of a bind: each changes one thing of a cluster in which all is
//! bound.

use serde_json::{Value, json};

use super::*;
use crate::api::Object;
use crate::view::Snapshot;

/// A pod with the claim `data`, bound to `pv-1`, and the claim `more`, for which
/// `pv-2` was made; all of it as it is when the bind is done.
struct Story {
    objects: Vec<Value>,
}

impl Story {
    fn new() -> Self {
        let volume = |name: &str, claim: &str| {
            json!({"kind": "PersistentVolume",
                "metadata": {"name": name, "resourceVersion": "8"},
                "spec": {"claimRef": {"namespace": "shop", "name": claim, "uid": "u"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["z"]}]}]}}}})
        };
        let claim = |name: &str, volume: &str| {
            json!({"kind": "PersistentVolumeClaim",
                "metadata": {"namespace": "shop", "name": name, "resourceVersion": "8",
                    "annotations": {"pv.kubernetes.io/bind-completed": "yes",
                                    "volume.kubernetes.io/selected-node": "node-a"}},
                "spec": {"volumeName": volume}})
        };
        Story {
            objects: vec![
                json!({"kind": "Pod",
                    "metadata": {"namespace": "shop", "name": "web", "uid": "pod-1"}}),
                json!({"kind": "Node", "metadata": {"name": "node-a", "labels": {"zone": "z"}}}),
                volume("pv-1", "data"),
                claim("data", "pv-1"),
                volume("pv-2", "more"),
                claim("more", "pv-2"),
            ],
        }
    }

    /// Another value at a place (a JSON pointer) of an object, or none there.
    fn with(mut self, name: &str, place: &str, value: Value) -> Self {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let parent = self.object(name).pointer_mut(parent).unwrap();
        let key = key.replace("~1", "/");
        match value {
            Value::Null => {
                parent.as_object_mut().unwrap().remove(&key);
            }
            value => parent[&key] = value,
        }
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.objects
            .retain(|object| object["metadata"]["name"] != name);
        self
    }

    fn object(&mut self, name: &str) -> &mut Value {
        let mut objects = self.objects.iter_mut();
        objects
            .find(|object| object["metadata"]["name"] == name)
            .unwrap()
    }

    /// What comes of a bind whose objects were written as version 7.
    fn progress(self) -> BindProgress {
        let mut written = Story::new();
        for name in ["pv-1", "more"] {
            written.object(name)["metadata"]["resourceVersion"] = json!("7");
        }
        let volume = serde_json::from_value(written.object("pv-1").clone()).unwrap();
        let provision = serde_json::from_value(written.object("more").clone()).unwrap();
        let pending = PendingBind {
            namespace: "shop".into(),
            pod: "web".into(),
            uid: "pod-1".into(),
            node: "node-a".into(),
            bindings: vec![(Arc::new(volume), ClaimKey::new("shop", "data"))],
            provisions: vec![Arc::new(provision)],
        };
        let objects = self.objects.into_iter();
        let snapshot: Snapshot = objects
            .map(|value| Object::from_value(value).unwrap())
            .collect();
        bind_progress(&pending, &snapshot)
    }

    fn reason(self) -> RescheduleReason {
        match self.progress() {
            BindProgress::ScheduleAgain(reason) => reason,
            other => panic!("{other:?}"),
        }
    }
}

const SELECTED: &str = "/metadata/annotations/volume.kubernetes.io~1selected-node";
const COMPLETED: &str = "/metadata/annotations/pv.kubernetes.io~1bind-completed";

#[test]
fn all_is_bound() {
    assert_eq!(Story::new().progress(), BindProgress::Bound);
}

#[test]
fn nothing_to_wait_for_is_bound() {
    let pending = PendingBind::new(&Pod::default(), "");
    let mut snapshot = Snapshot::new();
    snapshot.apply(Arc::new(Pod::default()));
    snapshot.apply(Arc::new(Node::default()));
    assert_eq!(bind_progress(&pending, &snapshot), BindProgress::Bound);
}

#[test]
fn a_claim_that_is_not_marked_as_bound_yet_is_waited_for() {
    for claim in ["data", "more"] {
        let story = Story::new().with(claim, COMPLETED, Value::Null);
        assert_eq!(story.progress(), BindProgress::Wait, "{claim}");
    }
    let story = Story::new().with("more", "/spec/volumeName", json!(""));
    assert_eq!(story.progress(), BindProgress::Wait);
}

#[test]
fn an_object_older_than_the_one_written_is_waited_for_not_judged() {
    let reset = Story::new()
        .with("pv-1", "/spec/claimRef", Value::Null)
        .with("pv-1", "/metadata/resourceVersion", json!("6"));
    assert_eq!(reset.progress(), BindProgress::Wait);
    let deselected = Story::new().with("more", SELECTED, Value::Null).with(
        "more",
        "/metadata/resourceVersion",
        json!("6"),
    );
    assert_eq!(deselected.progress(), BindProgress::Wait);
    // The version written itself is judged.
    let reset = Story::new()
        .with("pv-1", "/spec/claimRef", Value::Null)
        .with("pv-1", "/metadata/resourceVersion", json!("7"));
    assert_eq!(reset.reason().code(), "claim-ref-reset");
}

#[test]
fn a_provisioned_volume_can_be_heard_of_after_its_claim() {
    assert_eq!(Story::new().without("pv-2").progress(), BindProgress::Wait);
}

#[test]
fn the_pod_is_gone_or_another_has_its_name() {
    let gone = Story::new().without("web").reason();
    assert_eq!(gone.to_string(), "pod shop/web does not exist any more");
    let other = Story::new().with("web", "/metadata/uid", json!("pod-2"));
    assert_eq!(other.reason(), gone);
}

#[test]
fn the_node_is_gone() {
    let reason = Story::new().without("node-a").reason();
    assert_eq!(
        reason.to_string(),
        r#"node "node-a" does not exist any more"#
    );
}

#[test]
fn a_volume_or_claim_is_gone() {
    let reason = Story::new().without("pv-1").reason();
    assert_eq!(reason.to_string(), r#"pv "pv-1" does not exist any more"#);
    for claim in ["data", "more"] {
        let reason = Story::new().without(claim).reason();
        let text = format!(r#"pvc "shop/{claim}" does not exist any more"#);
        assert_eq!(reason.to_string(), text);
    }
}

#[test]
fn the_node_no_longer_reaches_a_volume() {
    for (volume, index) in [("pv-1", 0), ("pv-2", 0)] {
        let place = format!(
            "/spec/nodeAffinity/required/nodeSelectorTerms/{index}/matchExpressions/0/values"
        );
        let reason = Story::new().with(volume, &place, json!(["y"])).reason();
        let text = format!(r#"pv "{volume}" node affinity doesn't match node "node-a""#);
        assert_eq!(reason.to_string(), text);
        let RescheduleReason::NodeAffinity { terms, .. } = reason else {
            panic!()
        };
        assert_eq!(
            terms[0].to_string(),
            "`zone in (y)` fails: the label is `z`"
        );
    }
}

#[test]
fn the_claim_ref_was_reset() {
    for value in [Value::Null, json!({"namespace": "shop", "name": "data"})] {
        let reason = Story::new().with("pv-1", "/spec/claimRef", value).reason();
        assert_eq!(reason.to_string(), r#"ClaimRef got reset for pv "pv-1""#);
    }
}

#[test]
fn the_selected_node_was_removed_or_differs() {
    for (value, selected) in [
        (Value::Null, None),
        (json!("node-b"), Some("node-b".to_owned())),
    ] {
        let reason = Story::new().with("more", SELECTED, value).reason();
        assert_eq!(reason.to_string(), r#"provisioning failed for PVC "more""#);
        let claim = ClaimKey::new("shop", "more");
        assert_eq!(
            reason,
            RescheduleReason::ProvisioningFailed { claim, selected }
        );
    }
}

#[test]
fn a_claim_that_is_not_bound_yet_does_not_hide_a_failure_of_a_later_one() {
    let story =
        Story::new()
            .with("data", COMPLETED, Value::Null)
            .with("more", SELECTED, Value::Null);
    assert_eq!(story.reason().code(), "provisioning-failed");
}

#[test]
fn what_the_api_server_made_of_the_writes_tells_older_from_newer() {
    let mut story = Story::new();
    let read =
        |value: &Value| -> PersistentVolume { serde_json::from_value(value.clone()).unwrap() };
    let volume = read(story.object("pv-1"));
    let mut pending = PendingBind::new(&Pod::default(), "node-a");
    pending.add_binding(&Arc::new(volume.clone()), &PersistentVolumeClaim::default());
    let mut written = volume;
    written.metadata.resource_version = Some("9".into());
    pending.volume_written(&written);
    assert_eq!(pending.bindings[0].0.metadata.resource_version(), "9");
}
