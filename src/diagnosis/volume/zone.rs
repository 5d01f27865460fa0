//! Volumes whose labels tie them to a zone in which there is no node.

use serde_json::json;

use super::Examination;
use crate::diagnosis::zone::ZoneLabels;
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

/// So many values are told.
const TOLD: usize = 10;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// That no node is where the volume's labels say that it is: nothing that
    /// this crate decides, and the scheduler does by its own plugin.
    pub(super) fn zone_elsewhere(&self) -> Option<Finding> {
        let nodes = &self.survey.nodes;
        let zones = ZoneLabels::of(self.volume);
        if zones.is_empty() || !self.survey.known.nodes {
            return None;
        }
        let mut first = None;
        for node in nodes.of_zones() {
            let conflict = zones.conflict(node)?;
            first.get_or_insert(conflict);
        }
        let zone = first?.of;
        let facts = VolumeFacts::ZoneElsewhere {
            label: zone.label.to_owned(),
            value: zone.value.clone(),
            nodes: nodes.len(),
            there_are: nodes
                .values(zone.label)
                .take(TOLD)
                .map(str::to_owned)
                .collect(),
        };
        let labels = zones.labels().map(|label| (label.to_owned(), json!(null)));
        let labels: serde_json::Map<_, _> = labels.collect();
        let remedy = Remedy::new(
            "if the volume is within reach all the same, remove its zone and region labels",
            "the scheduler then goes by the volume's node affinity alone",
        );
        let patch = self.patch(json!({"metadata": {"labels": labels}}));
        Some(Finding::from(facts).with(remedy.patching(patch)))
    }
}
