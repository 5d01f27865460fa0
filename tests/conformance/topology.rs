//! csi_topology: where the volume of a claim must be reachable from.

use std::sync::Arc;

use pvbind::api::{CsiNode, Node, TopologySelectorTerm};
use pvbind::provisioner::{TopologyQuery, topology_requirement, topology_requirement_plain};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::{CaseOutcome, same, text};

pub(crate) fn run(case: &Value) -> Result<CaseOutcome, String> {
    let read = |field: &str| case[field].clone();
    let nodes: Vec<Node> = serde_json::from_value(read("nodes")).map_err(|e| e.to_string())?;
    let csi_nodes: Vec<CsiNode> =
        serde_json::from_value(read("csiNodes")).map_err(|e| e.to_string())?;
    let allowed: Option<Vec<TopologySelectorTerm>> =
        serde_json::from_value(read("allowedTopologies")).map_err(|e| e.to_string())?;
    let mut snapshot = Snapshot::new();
    for node in nodes {
        snapshot.apply(Arc::new(node));
    }
    for csi_node in csi_nodes {
        snapshot.apply(Arc::new(csi_node));
    }
    let flag = |field: &str| case[field].as_bool().ok_or(format!("no `{field}`"));
    let query = TopologyQuery {
        allowed: allowed.as_deref().unwrap_or_default(),
        selected_node: Some(text(case, "selectedNode")?),
        is_strict: flag("strictTopology")?,
        is_immediate: flag("immediateTopology")?,
        ..TopologyQuery::new(text(case, "driver")?, text(case, "claimName")?)
    };
    let found = topology_requirement(&query, &snapshot);
    let plain = topology_requirement_plain(&query, &snapshot);
    same("the fast form and the plain one", &found, &plain)?;
    match (found, case.get("error")) {
        (Err(error), Some(want)) => same("error", &json!(error.to_string()), want)?,
        (Err(error), None) => return Err(format!("error {error}, want {}", case["want"])),
        (Ok(found), Some(error)) => return Err(format!("found {found:?}, want error {error}")),
        (Ok(found), None) => {
            let lists = |segments: &[pvbind::provisioner::csi::Topology]| {
                segments
                    .iter()
                    .map(|one| json!(one.segments))
                    .collect::<Value>()
            };
            let found = found.map(|found| {
                json!({"requisite": lists(&found.requisite), "preferred": lists(&found.preferred)})
            });
            same("requirement", &found.unwrap_or_default(), &case["want"])?;
        }
    }
    Ok(CaseOutcome::default())
}
