//! For people.

use std::fmt::Write as _;

use pvbind::api::Pod;
use pvbind::quantity::Quantity;
use pvbind::scheduling::{PodVolumes, wasted_bytes};

use crate::cluster::Cluster;
use crate::place::{Group, NodeVerdict, Place, Verdict};
use crate::printable::printable;
use crate::report::{Report, WhatIf};

/// The longest name, and the longest line of reasons or facts.
const LONGEST_NAME: usize = 60;
const LONGEST_LINE: usize = 1000;
/// So many groups that fit are told, and so many nodes of each group.
const MOST_FITTING: usize = 10;
const MOST_NAMES: usize = 3;

pub fn render(cluster: &Cluster, report: &Report) -> String {
    let mut text = String::new();
    if report.pods.is_empty() {
        text.push_str("no pod is pending\n");
    }
    for (pod, told) in &report.pods {
        verdict(&mut text, pod, told);
    }
    if let Some(told) = &report.what_if {
        what_if(&mut text, report, told);
    }
    let _ = writeln!(
        text,
        "\nCPU, memory, taints and other pods' affinities were not looked at: {} cordoned, {} \
         with taints that keep pods away",
        match cluster.cordoned {
            1 => "1 node is".to_owned(),
            count => format!("{count} nodes are"),
        },
        cluster.tainted,
    );
    text
}

fn verdict(text: &mut String, pod: &Pod, verdict: &Verdict) {
    let _ = write!(text, "pod {}", name(&pod.metadata.key()));
    match verdict {
        Verdict::Refused(reason) => {
            let _ = writeln!(text, ": on no node: {}", line(reason));
        }
        Verdict::NoClaims => text.push_str(": uses no claims\n"),
        Verdict::Nodes(groups) => {
            let count = |groups: &mut dyn Iterator<Item = &Group>| -> usize {
                groups.map(|group| group.nodes.len()).sum()
            };
            let fitting = count(&mut groups.iter().filter(|group| group.verdict.fits()));
            let total = count(&mut groups.iter());
            let _ = writeln!(text, ": {fitting} of {total} nodes will do");
            let is_folded = groups.iter().any(|group| group.nodes.len() > 1);
            let few_fit =
                groups.iter().filter(|group| group.verdict.fits()).count() <= MOST_FITTING;
            // Many that fit, each in its own way, are folded too.
            let most = if is_folded || !few_fit {
                MOST_FITTING
            } else {
                groups.len()
            };
            let (told, untold) = told_and_untold(groups, most);
            let width = told.iter().map(|group| names(group).chars().count());
            let width = width.max().unwrap_or(0);
            for group in told {
                let _ = write!(text, "  {:width$}  ", names(group));
                one(text, group, &" ".repeat(width + 4));
            }
            if untold > 0 {
                let _ = writeln!(text, "  and {untold} more that will do, with other volumes");
            }
        }
    }
}

/// The groups to tell, and how many nodes that fit are left out.
fn told_and_untold(groups: &[Group], most: usize) -> (Vec<&Group>, usize) {
    let mut fitting = 0;
    let (told, untold): (Vec<_>, Vec<_>) = groups.iter().partition(|group| {
        fitting += usize::from(group.verdict.fits());
        !group.verdict.fits() || fitting <= most
    });
    (told, untold.iter().map(|group| group.nodes.len()).sum())
}

fn names(group: &Group) -> String {
    let shown: Vec<_> = group
        .nodes
        .iter()
        .take(MOST_NAMES)
        .map(|node| name(node))
        .collect();
    match group.nodes.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn one(text: &mut String, group: &Group, indent: &str) {
    match &group.verdict {
        NodeVerdict::Fits {
            volumes,
            score,
            advice,
        } => {
            let _ = write!(text, "yes: {}", bindings(volumes));
            if !volumes.static_bindings.is_empty() {
                let waste = bytes(wasted_bytes(&volumes.static_bindings));
                let _ = write!(text, " (score {score}, {waste} more than asked)");
            }
            text.push('\n');
            for conflict in advice {
                let _ = writeln!(text, "{indent}but {}", line(&conflict.to_string()));
            }
        }
        NodeVerdict::Unfit(reasons) => {
            let _ = writeln!(text, "no: {}", line(&reasons.join("; ")));
            let example = match group.nodes.len() {
                1 => String::new(),
                _ => format!("on {}: ", name(&group.nodes[0])),
            };
            for obstacle in &group.obstacles {
                let _ = writeln!(text, "{indent}{example}{}", line(&obstacle.to_string()));
            }
        }
    }
}

pub fn bytes(count: i128) -> String {
    match u64::try_from(count) {
        Ok(count) => Quantity::from_bytes(count).to_string(),
        Err(_) => count.to_string(),
    }
}

fn bindings(volumes: &PodVolumes) -> String {
    let found = volumes.static_bindings.iter().map(|binding| {
        let (claim, volume) = (&binding.claim.metadata, &binding.volume);
        let size = name(&volume.storage().to_string());
        format!(
            "{} gets {} ({size})",
            name(claim.name()),
            name(volume.name())
        )
    });
    let made = volumes.dynamic_provisions.iter().map(|provision| {
        let class = name(provision.claim.class_name());
        let claim = name(provision.claim.metadata.name());
        match &provision.capacity {
            None => format!("{claim} is provisioned by class {class}"),
            Some(pool) => {
                let pool = name(&pool.metadata.key());
                format!("{claim} is provisioned by class {class} from {pool}")
            }
        }
    });
    let all: Vec<_> = found.chain(made).collect();
    if all.is_empty() {
        return "nothing to do, all claims are bound".to_owned();
    }
    all.join(", ")
}

fn what_if(text: &mut String, report: &Report, what_if: &WhatIf) {
    let WhatIf {
        addition,
        before,
        after,
    } = what_if;
    let _ = writeln!(
        text,
        "\nwith {} of {}, {} of local volumes:",
        counted(addition.nodes.len(), "copy", "copies"),
        name(&addition.original),
        counted(addition.volumes.len(), "copy", "copies"),
    );
    for (((pod, _), before), after) in report.pods.iter().zip(before).zip(after) {
        let place = |place: &Place| match place {
            Some((node, volumes)) => format!("{}: {}", name(node), bindings(volumes)),
            None => "no node".to_owned(),
        };
        let (was, is) = (place(before), place(after));
        let pod = name(&pod.metadata.key());
        let _ = match was == is {
            true => writeln!(text, "  {pod}  {is}, as before"),
            false => writeln!(text, "  {pod}  {is} (before: {was})"),
        };
    }
    let count = |places: &[Place]| places.iter().flatten().count();
    let _ = writeln!(
        text,
        "{} of {} would find a node, {} without",
        count(after),
        counted(report.pods.len(), "pod", "pods"),
        count(before),
    );
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn name(name: &str) -> String {
    printable(name, LONGEST_NAME)
}

fn line(text: &str) -> String {
    printable(text, LONGEST_LINE)
}
