//! Volumes whose labels tie them to a zone in which there is no node.

use serde_json::json;

use super::Examination;
use crate::diagnosis::zone::{ZoneLabel, ZoneLabels};
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
        if zones.is_empty() || nodes.is_empty() || !self.survey.known.nodes {
            return None;
        }
        let rarest = nodes.any_in(&zones).err()?;
        let told = |zone: &ZoneLabel| (zone.label.to_owned(), zone.value.clone());
        let there_are = nodes.values(rarest.label).take(TOLD);
        let facts = VolumeFacts::ZoneElsewhere {
            labels: zones.iter().map(told).collect(),
            nodes: nodes.len(),
            label: rarest.label.to_owned(),
            there_are: there_are.map(str::to_owned).collect(),
        };
        let labels = zones
            .iter()
            .map(|zone| (zone.label.to_owned(), json!(null)));
        let labels: serde_json::Map<_, _> = labels.collect();
        let remedy = Remedy::new(
            "if the volume is within reach all the same, remove its zone and region labels",
            "the scheduler then goes by the volume's node affinity alone",
        );
        let patch = self.patch(json!({"metadata": {"labels": labels}}));
        Some(Finding::from(facts).with(remedy.patching(patch)))
    }
}
