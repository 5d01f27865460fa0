//! For programs.

use pvbind::api::Pod;
use pvbind::scheduling::{Obstacle, PodVolumes, wasted_bytes};
use serde_json::{Value, json};

use crate::cluster::Cluster;
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
    format!("{document:#}\n")
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
            "volumes": bindings(volumes),
            "score": score,
            "wastedBytes": wasted_bytes(&volumes.static_bindings).to_string(),
            "advice": advice.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        NodeVerdict::Unfit(reasons) => json!({
            "nodes": group.nodes,
            "fits": false,
            "reasons": reasons,
            "obstaclesOnFirst": group.obstacles.iter().map(obstacle).collect::<Vec<_>>(),
        }),
    }
}

fn obstacle(obstacle: &Obstacle) -> Value {
    json!({
        "code": obstacle.code(),
        "reason": obstacle.reason().code(),
        "claim": obstacle.claim().to_string(),
        "text": obstacle.to_string(),
    })
}

fn bindings(volumes: &PodVolumes) -> Value {
    let found = volumes.static_bindings.iter().map(|binding| {
        json!({
            "claim": binding.claim.metadata.name(),
            "volume": binding.volume.name(),
            "capacity": binding.volume.storage(),
        })
    });
    let made = volumes.dynamic_provisions.iter().map(|provision| {
        json!({
            "claim": provision.claim.metadata.name(),
            "provisionedBy": provision.claim.class_name(),
            "pool": provision.capacity.as_ref().map(|pool| pool.metadata.key()),
        })
    });
    found.chain(made).collect()
}

fn what_if(report: &Report, what_if: &WhatIf) -> Value {
    let WhatIf {
        addition,
        before,
        after,
    } = what_if;
    let place = |place: &Place| match place {
        Some((node, volumes)) => json!({"node": node, "volumes": bindings(volumes)}),
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
