//! For programs.

use pvbind::api::Pod;
use pvbind::scheduling::wasted_bytes;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::document::escaped;
use crate::place::{Group, NodeVerdict, Place, Verdict};
use crate::report::{Report, WhatIf};

pub fn render(cluster: &Cluster, report: &Report) -> String {
    let pods: Vec<_> = report
        .pods
        .iter()
        .map(|(pod, told)| verdict(pod, told))
        .collect();
    let document = json!({
        "pods": pods,
        "whatIf": report.what_if.as_ref().map(|told| what_if(report, told)),
        "nodes": cluster.snapshot.nodes().count(),
        "notLookedAt": {"cordonedNodes": cluster.cordoned, "taintedNodes": cluster.tainted},
    });
    escaped(&document)
}

fn verdict(pod: &Pod, verdict: &Verdict) -> Value {
    let mut value = json!({
        "namespace": pod.metadata.namespace(),
        "name": pod.name(),
    });
    match verdict {
        Verdict::Refused(reason) => value["refused"] = json!(reason),
        Verdict::NoClaims => value["usesClaims"] = json!(false),
        Verdict::Nodes(groups) => value["verdicts"] = groups.iter().map(group).collect(),
    }
    value
}

fn group(group: &Group) -> Value {
    match &group.verdict {
        NodeVerdict::Fits {
            volumes,
            score,
            advice,
        } => json!({
            "nodes": group.nodes,
            "fits": true,
            "volumes": volumes,
            "score": score,
            "wastedBytes": wasted_bytes(&volumes.static_bindings).to_string(),
            "advice": advice.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        NodeVerdict::Unfit(reasons) => json!({
            "nodes": group.nodes,
            "fits": false,
            "reasons": reasons,
            "obstaclesOnFirst": group.obstacles,
        }),
    }
}

fn what_if(report: &Report, what_if: &WhatIf) -> Value {
    let WhatIf {
        addition,
        before,
        after,
    } = what_if;
    let place = |place: &Place| match place {
        Some((node, volumes)) => json!({"node": node, "volumes": volumes}),
        None => Value::Null,
    };
    let pods = report.pods.iter().zip(before).zip(after);
    let pods = pods.map(|(((pod, _), before), after)| {
        json!({
            "namespace": pod.metadata.namespace(),
            "name": pod.name(),
            "before": place(before),
            "after": place(after),
        })
    });
    json!({
        "copiesOf": addition.original,
        "nodes": addition.nodes.iter().map(|node| node.name()).collect::<Vec<_>>(),
        "volumes": addition.volumes.iter().map(|volume| volume.name()).collect::<Vec<_>>(),
        "pods": pods.collect::<Vec<_>>(),
    })
}
