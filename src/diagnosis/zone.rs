//! The labels by which the scheduler keeps pods in the zones and regions of
//! their volumes.

use std::collections::BTreeSet;
use std::fmt;

use super::words::Name;
use crate::api::{Node, PersistentVolume, names};

/// The labels that count, and what a node may have in place of the old ones.
pub(super) const ZONE_LABELS: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", names::ZONE_LABEL),
    (
        "failure-domain.beta.kubernetes.io/region",
        names::REGION_LABEL,
    ),
    (names::ZONE_LABEL, names::ZONE_LABEL),
    (names::REGION_LABEL, names::REGION_LABEL),
];

/// The zones and regions that a volume's labels name. No decision of this crate
/// looks at them, and the scheduler does, beside node affinity.
///
/// Follows the plugin `VolumeZone` of Kubernetes 1.36.
#[derive(Debug)]
pub(super) struct ZoneLabels(Vec<ZoneLabel>);

#[derive(Debug)]
pub(super) struct ZoneLabel {
    pub(super) label: &'static str,
    /// What stands in its place on newer nodes.
    newer: &'static str,
    pub(super) value: String,
    pub(super) values: BTreeSet<String>,
}

impl ZoneLabel {
    /// Whether a label of a node may satisfy this one.
    pub(super) fn counts(&self, label: &str) -> bool {
        [self.label, self.newer].contains(&label)
    }
}

/// A node is elsewhere. `Display` goes on from the volume's name.
pub(super) struct Conflict<'z> {
    of: &'z ZoneLabel,
    has: Option<String>,
}

impl ZoneLabels {
    pub(super) fn of(volume: &PersistentVolume) -> Self {
        let labels = volume.metadata.labels();
        let zones = ZONE_LABELS.into_iter().filter_map(|(label, newer)| {
            let value = labels.get(label)?;
            // Several are parted so; a value with an empty part is ignored.
            let values: BTreeSet<_> = value
                .split("__")
                .map(|part| part.trim().to_owned())
                .collect();
            (!values.contains("")).then(|| ZoneLabel {
                label,
                newer,
                value: value.clone(),
                values,
            })
        });
        ZoneLabels(zones.collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ZoneLabel> {
        self.0.iter()
    }

    /// The first label that the node does not satisfy. Nodes without any such
    /// label satisfy all.
    pub(super) fn conflict(&self, node: &Node) -> Option<Conflict<'_>> {
        let labels = node.metadata.labels();
        if !ZONE_LABELS
            .iter()
            .any(|(label, _)| labels.contains_key(*label))
        {
            return None;
        }
        self.0.iter().find_map(|zone| {
            let has = labels.get(zone.label).or_else(|| labels.get(zone.newer));
            let fits = has.is_some_and(|has| zone.values.contains(has));
            (!fits).then(|| Conflict {
                of: zone,
                has: has.cloned(),
            })
        })
    }
}

impl fmt::Display for Conflict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ZoneLabel { label, value, .. } = self.of;
        write!(
            f,
            "whose label {} is {}, and the node's ",
            Name(label),
            Name(value)
        )?;
        match &self.has {
            Some(has) => write!(f, "is {}", Name(has)),
            None => f.write_str("is missing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn conflict(volume: Value, node: Value) -> bool {
        let volume = serde_json::from_value(json!({"metadata": {"labels": volume}})).unwrap();
        let node = serde_json::from_value(json!({"metadata": {"labels": node}})).unwrap();
        ZoneLabels::of(&volume).conflict(&node).is_some()
    }

    #[test]
    fn a_node_must_have_a_zone_of_the_volume_unless_it_has_none_at_all() {
        let new = "topology.kubernetes.io/zone";
        let old = "failure-domain.beta.kubernetes.io/zone";
        assert!(!conflict(json!({new: "a"}), json!({new: "a"})));
        assert!(conflict(json!({new: "a"}), json!({new: "b"})));
        assert!(!conflict(json!({new: "a__b"}), json!({new: "b"})));
        assert!(!conflict(json!({new: "a"}), json!({"disk": "ssd"})));
        assert!(conflict(
            json!({new: "a"}),
            json!({"topology.kubernetes.io/region": "r"})
        ));
        assert!(!conflict(json!({old: "a"}), json!({new: "a"})));
        assert!(conflict(json!({new: "a"}), json!({old: "a"})));
        assert!(!conflict(json!({new: "a__"}), json!({new: "b"})));
        assert!(!conflict(json!({"disk": "a"}), json!({new: "b"})));
    }
}
