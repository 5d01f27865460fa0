//! The node counts in the scheduler's own messages, as far as volumes are the
//! reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pvbind::api::{Node, Pod, read_objects};
use pvbind::matching::Features;
use pvbind::scheduling::{PodSearch, UnfitReason, pre_filter};
use pvbind::selector::{CompiledNodeSelector, Labels as _};
use pvbind::view::Snapshot;
use serde_json::Value;

struct Recording {
    name: &'static str,
    snapshot: Snapshot,
    json: Value,
}

fn recordings() -> [Recording; 3] {
    ["pending", "scheduled", "released"].map(|name| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clusters");
        let text = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
        Recording {
            name,
            snapshot: read_objects(&text).unwrap().into_iter().collect(),
            json: serde_json::from_str(&text).unwrap(),
        }
    })
}

impl Recording {
    /// The scheduler's last word on each pod that it did not place.
    fn last_messages(&self) -> Vec<(&Pod, &str)> {
        let pods = self.items("Pod").filter_map(|pod| {
            let conditions = pod["status"]["conditions"].as_array()?;
            let message = conditions
                .iter()
                .find(|condition| condition["type"] == "PodScheduled")
                .and_then(|condition| condition["message"].as_str())?;
            Some((self.pod(&pod["metadata"])?, message))
        });
        pods.collect()
    }

    /// All that the scheduler said while the recording went on.
    fn all_messages(&self) -> Vec<(&Pod, &str)> {
        let events = self.items("Event").filter_map(|event| {
            let message = event["message"].as_str()?;
            Some((self.pod(&event["involvedObject"])?, message))
        });
        events.collect()
    }

    fn items(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        let items = self.json["items"].as_array().unwrap().iter();
        items.filter(move |item| item["kind"] == kind)
    }

    fn pod(&self, metadata: &Value) -> Option<&Pod> {
        let (namespace, name) = (metadata["namespace"].as_str()?, metadata["name"].as_str()?);
        let pod = self.snapshot.find::<Pod>(namespace, name)?;
        Some(pod)
    }

    /// How many nodes are unfit for each reason, of those that the pod itself
    /// does not refuse.
    fn unfit_nodes(&self, pod: &Pod) -> BTreeMap<UnfitReason, usize> {
        let claims = pre_filter(pod, &self.snapshot).unwrap();
        let search = PodSearch::new(&claims, &self.snapshot, Features::default());
        let mut counts = BTreeMap::new();
        let nodes = self.snapshot.nodes();
        for node in nodes.filter(|node| is_wanted(pod, node)) {
            let found = search.on_node(node).unwrap();
            for reason in found.reasons() {
                *counts.entry(reason).or_default() += 1;
            }
            let explained = search.explain(node);
            assert_eq!(explained.is_empty(), found.fits(), "{explained:?}");
        }
        counts
    }
}

fn is_wanted(pod: &Pod, node: &Node) -> bool {
    let labels = node.metadata.labels();
    let mut asked = pod.spec.node_selector.iter().flatten();
    let affinity = pod.spec.affinity.as_ref();
    let required = affinity
        .and_then(|affinity| affinity.node_affinity.as_ref())
        .and_then(|node| {
            node.required_during_scheduling_ignored_during_execution
                .as_ref()
        });
    asked.all(|(key, value)| labels.label(key) == Some(value))
        && required.is_none_or(|required| {
            CompiledNodeSelector::compile(required).matches(labels, Some(node.name())) == Ok(true)
        })
}

/// `0/3 nodes are available: 1 REASON, 2 REASON. …` as counts by reason.
fn counts(message: &str) -> Option<BTreeMap<&str, usize>> {
    let (_, rest) = message.split_once(" nodes are available: ")?;
    let (reasons, _) = rest.split_once(". ")?;
    let parts = reasons.split(", ").map(|part| {
        let (count, reason) = part.split_once(' ').unwrap();
        (reason, count.parse().unwrap())
    });
    Some(parts.collect())
}

fn of_volumes(counts: &BTreeMap<&str, usize>) -> BTreeMap<UnfitReason, usize> {
    let reasons = UnfitReason::ALL.into_iter();
    reasons
        .filter_map(|reason| Some((reason, *counts.get(reason.text())?)))
        .collect()
}

#[test]
fn the_schedulers_last_word_has_our_counts_where_volumes_are_the_reason() {
    let mut compared = 0;
    for recording in recordings() {
        for (pod, message) in recording.last_messages() {
            let Some(counts) = counts(message) else {
                continue;
            };
            let told = of_volumes(&counts);
            if told.is_empty() {
                // Taints came first, and volumes were not looked at.
                continue;
            }
            let place = format!("{}: {}", recording.name, pod.name());
            assert_eq!(recording.unfit_nodes(pod), told, "{place}");
            let refused = recording
                .snapshot
                .nodes()
                .filter(|node| !is_wanted(pod, node));
            let by_pod = counts.get("node(s) didn't match Pod's node affinity/selector");
            assert_eq!(
                refused.count(),
                by_pod.copied().unwrap_or_default(),
                "{place}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 4, "the recordings hold this many such messages");
}

#[test]
fn no_message_tells_of_more_unfit_nodes_than_we_find() {
    let mut compared = 0;
    for recording in recordings() {
        for (pod, message) in recording.all_messages() {
            let Some(counts) = counts(message) else {
                continue;
            };
            for (reason, told) in of_volumes(&counts) {
                let ours = recording.unfit_nodes(pod);
                let ours = ours.get(&reason).copied().unwrap_or_default();
                assert!(told <= ours, "{}: {message}, ours {ours}", recording.name);
                compared += 1;
            }
        }
    }
    assert!(compared >= 9, "{compared}");
}

#[test]
fn a_pod_fits_the_node_that_the_scheduler_chose() {
    let mut compared = 0;
    for recording in recordings() {
        let pods = recording.snapshot.pods();
        for pod in pods.filter(|pod| !pod.node_name().is_empty()) {
            let claims = match pre_filter(pod, &recording.snapshot) {
                Ok(claims) => claims,
                // It was not yet when the pod was scheduled.
                Err(error) if error.to_string().ends_with("is being deleted") => continue,
                Err(error) => panic!("{}: {error}", recording.name),
            };
            let node = recording
                .snapshot
                .find::<Node>("", pod.node_name())
                .unwrap();
            let search = PodSearch::new(&claims, &recording.snapshot, Features::default());
            assert_eq!(
                search.explain(node),
                [],
                "{}: {}",
                recording.name,
                pod.name()
            );
            compared += 1;
        }
    }
    assert!(compared >= 1, "{compared}");
}
