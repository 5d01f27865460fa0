//! What the binding controller would do in the recorded clusters.
//!
//! They are settled: Kubernetes' own controller had nothing left to write. So
//! no sync asks for a write, and an event that one plans is among those that
//! Kubernetes' controller recorded: of the recording's Events, those of the
//! component `persistentvolume-controller`, by kind and name of the object,
//! type, reason and the whole message. Operations that a sync starts are run,
//! and count as part of it; in the recordings those are only external
//! provisioners that have not answered yet. One event was due when a recording
//! ended, see `is_due`.
//!
//! The other way round, an event that Kubernetes recorded need not be planned
//! again: most are about what the objects have left behind.

use std::path::Path;
use std::sync::Arc;

use pvbind::api::{ClaimKey, Object, read_objects};
use pvbind::controller::InTreePlugin;
use serde_json::Value;

use crate::world::World;

/// The recorded cluster, and the events of its controller as `server` logs
/// ours.
fn recorded(name: &str) -> (World, Vec<Value>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clusters");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let mut world = World::default();
    for object in read_objects(&text).unwrap() {
        match object {
            Object::PersistentVolume(volume) => {
                let name = volume.name().to_owned();
                world.server.volumes.insert(name, *volume);
            }
            Object::PersistentVolumeClaim(claim) => {
                world.server.claims.insert(ClaimKey::of(&claim), *claim);
            }
            Object::StorageClass(class) => world.classes.push(Arc::from(class)),
            Object::Node(node) => world.nodes.push(Arc::from(node)),
            Object::Pod(pod) => world.pods.push(Arc::from(pod)),
            _ => {}
        }
    }
    // As the recorded controller was set up.
    world.config.plugins = vec![
        InTreePlugin {
            can_provision: true,
            can_delete: true,
            can_recycle: true,
            ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
        },
        InTreePlugin {
            can_recycle: true,
            ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"])
        },
        InTreePlugin::new("kubernetes.io/local-volume", ["local"]),
    ];
    let recording: Value = serde_json::from_str(&text).unwrap();
    let events = recording["items"].as_array().unwrap().iter();
    let events = events.filter(|item| {
        item["kind"] == "Event" && item["source"]["component"] == "persistentvolume-controller"
    });
    (world, events.map(as_logged).collect())
}

fn as_logged(event: &Value) -> Value {
    let object = &event["involvedObject"];
    let name = object["name"].as_str().unwrap();
    let name = match object["namespace"].as_str() {
        None | Some("") => name.to_owned(),
        Some(namespace) => format!("{namespace}/{name}"),
    };
    serde_json::json!({"do": "event", "kind": object["kind"], "name": name, "type": event["type"],
        "reason": event["reason"], "message": event["message"]})
}

/// The one event that came too late for its recording. Kubernetes' controller
/// looks at every claim each 15 seconds, at `names-wrong-mode` last at 12:54:31;
/// the volume that it names was bound to another claim at 12:54:34, and the
/// recording ends there.
fn is_due(name: &str, event: &Value) -> bool {
    name == "released"
        && event["name"] == "default/names-wrong-mode"
        && event["reason"] == "FailedBinding"
        && event["message"] == "volume \"pv-manual-5\" already bound to a different claim."
}

/// Syncs every object once; how many events that planned.
fn check(name: &str) -> usize {
    let (mut world, recorded) = recorded(name);
    assert!(!recorded.is_empty());
    world.refresh();
    for volume in world.volume_names() {
        world.sync_volume(&volume);
        assert_eq!(
            world.attempts,
            0,
            "{name}: volume {volume}: {:?}",
            world.server.log.last()
        );
    }
    for claim in world.claim_keys() {
        world.sync_claim(&claim);
        assert_eq!(
            world.attempts,
            0,
            "{name}: claim {claim}: {:?}",
            world.server.log.last()
        );
    }
    let is_borne_out = |event: &Value| recorded.contains(event) || is_due(name, event);
    for event in &world.server.log {
        assert!(is_borne_out(event), "{name}: {event} was not recorded");
    }
    world.server.log.len()
}

#[test]
fn a_settled_cluster_asks_for_no_write_and_for_no_event_that_was_not_recorded() {
    for (name, at_least) in [("pending", 15), ("scheduled", 10), ("released", 10)] {
        let events = check(name);
        assert!(events >= at_least, "{name}: only {events} events");
    }
}
