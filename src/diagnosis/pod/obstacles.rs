//! What keeps a pod's volumes from nodes, in words.

use std::sync::Arc;

use crate::api::{ClaimKey, Node, PersistentVolume, PersistentVolumeClaim};
use crate::diagnosis::Survey;
use crate::diagnosis::words::{Count, NAMED, Name, Parts};
use crate::matching::FindOptions;
use crate::scheduling::{Obstacle, PodClaims, PodSearch};
use crate::selector::CompiledNodeSelector;
use crate::view::DiagnosticView;

/// Of so many unfit nodes the obstacles are told.
const EXPLAINED: usize = 16;
/// So many claims are compared with each other.
const COMPARED: usize = 16;

/// What stands in the way, each thing once.
pub(super) fn obstacles<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claims: &PodClaims,
    search: &PodSearch<'_, V>,
    unfit: &[&Node],
) -> Vec<String> {
    let mut obstacles: Vec<_> = apart(survey, claims).into_iter().collect();
    for node in unfit.iter().take(EXPLAINED) {
        for obstacle in search.explain(node) {
            if obstacles.len() >= NAMED {
                return obstacles;
            }
            let nearer = match &obstacle {
                Obstacle::NoVolume { claim, .. } => fits_but(survey, claims, claim, node),
                _ => None,
            };
            let text = nearer.unwrap_or_else(|| obstacle.to_string());
            let text = format!("node `{}`: {text}", node.name());
            if !obstacles.contains(&text) {
                obstacles.push(text);
            }
        }
    }
    obstacles
}

/// A volume that fits a claim, and why the claim does not get it on the node.
fn fits_but<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claims: &PodClaims,
    key: &ClaimKey,
    node: &Node,
) -> Option<String> {
    let options = FindOptions {
        features: survey.config.features,
        ..FindOptions::default()
    };
    let fitting = |claim: &PersistentVolumeClaim| -> Vec<String> {
        let (report, _) = survey.census.report(claim, &options);
        let fitting = report.volumes.iter().filter(|one| one.refusals.is_empty());
        fitting.map(|one| one.volume.name().to_owned()).collect()
    };
    let delayed = claims.delayed.iter();
    let claim = delayed.clone().find(|claim| ClaimKey::of(claim) == *key)?;
    let names = fitting(claim);
    let mut volumes = names.iter().filter_map(|name| survey.view.volume(name));
    let (first, mut others) = (volumes.next()?, volumes);
    let out_of_reach = |volume: &PersistentVolume| {
        let affinity = CompiledNodeSelector::compile(volume.required_node_affinity()?);
        let labels = node.metadata.labels();
        (affinity.matches(labels, None) != Ok(true)).then(|| {
            let terms = affinity.explain(labels, None);
            match terms.is_empty() {
                true => vec!["its node affinity has no terms".to_owned()],
                false => terms.iter().map(ToString::to_string).collect(),
            }
        })
    };
    if let Some(terms) = out_of_reach(&first) {
        let is_all = others.all(|volume| out_of_reach(&volume).is_some());
        return is_all.then(|| {
            let name = Name(first.name()).to_string();
            format!(
                "claim {key} fits volume {name}, which the node cannot reach: {}",
                Parts(&terms)
            )
        });
    }
    let other = delayed.take(COMPARED).find(|other| {
        ClaimKey::of(other) != *key && fitting(other).iter().any(|name| name == first.name())
    })?;
    let other = ClaimKey::of(other);
    (names.len() == 1).then(|| {
        let name = Name(first.name()).to_string();
        format!("the only volume that fits claim {key}, {name}, is taken by claim {other} of the same pod")
    })
}

/// Two bound volumes that no node reaches both of.
fn apart<V: DiagnosticView + ?Sized>(survey: &Survey<'_, V>, claims: &PodClaims) -> Option<String> {
    let reached = |claim: &Arc<PersistentVolumeClaim>| {
        let volume = survey.view.volume(claim.volume_name())?;
        let affinity = CompiledNodeSelector::compile(volume.required_node_affinity()?);
        let reaches = |node: &&Node| affinity.matches(node.metadata.labels(), None) == Ok(true);
        let nodes: Vec<_> = survey
            .nodes
            .iter()
            .filter(reaches)
            .map(Node::name)
            .collect();
        (!nodes.is_empty()).then(|| (volume.name().to_owned(), nodes))
    };
    let bound = claims.bound.iter().take(COMPARED);
    let reached: Vec<_> = bound.filter_map(reached).collect();
    reached
        .iter()
        .enumerate()
        .find_map(|(place, (one, nodes))| {
            let mut later = reached.iter().skip(place.saturating_add(1));
            let (other, elsewhere) = later.find(|(_, others)| {
                // Both are in the order of their names.
                !nodes.iter().any(|node| others.binary_search(node).is_ok())
            })?;
            let only_on = |nodes: &[&str]| match nodes {
                [only] => format!("only on node {}", Name(only)),
                nodes => format!(
                    "only on {}, such as {}",
                    Count(nodes.len(), "node"),
                    Name(nodes.first().copied().unwrap_or_default())
                ),
            };
            Some(format!(
                "no node reaches both: volume {} is {}, and volume {} {}",
                Name(one),
                only_on(nodes),
                Name(other),
                only_on(elsewhere)
            ))
        })
}
