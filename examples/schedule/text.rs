//! For people.

use std::fmt::Write as _;
use std::sync::Arc;

use pvbind::api::Pod;
use pvbind::quantity::Quantity;
use pvbind::scheduling::{PodVolumes, wasted_bytes};

use crate::place::{NodeVerdict, Verdict};
use crate::what_if::Addition;

type Place = Option<(String, PodVolumes)>;

pub fn verdict(pod: &Pod, verdict: &Verdict) -> String {
    let mut text = format!("pod {}", pod.metadata.key());
    match verdict {
        Verdict::Refused(reason) => text.push_str(&format!(": on no node: {reason}\n")),
        Verdict::NoClaims => text.push_str(": uses no claims\n"),
        Verdict::Nodes(nodes) => {
            let fits = |verdict: &NodeVerdict| matches!(verdict, NodeVerdict::Fits { .. });
            let count = nodes.iter().filter(|(_, verdict)| fits(verdict)).count();
            let _ = writeln!(text, ": {count} of {} nodes will do", nodes.len());
            let width = nodes.iter().map(|(node, _)| node.name().chars().count());
            let width = width.max().unwrap_or(0);
            for (node, verdict) in nodes {
                let _ = write!(text, "  {:width$}  ", node.name());
                on_node(&mut text, verdict, &" ".repeat(width + 4));
            }
        }
    }
    text
}

fn on_node(text: &mut String, verdict: &NodeVerdict, indent: &str) {
    match verdict {
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
                let _ = writeln!(text, "{indent}but {conflict}");
            }
        }
        NodeVerdict::Unfit(reasons, facts) => {
            let _ = writeln!(text, "no: {}", reasons.join("; "));
            for fact in facts {
                let _ = writeln!(text, "{indent}{fact}");
            }
        }
    }
}

fn bytes(count: i128) -> String {
    match u64::try_from(count) {
        Ok(count) => Quantity::from_bytes(count).to_string(),
        Err(_) => count.to_string(),
    }
}

fn bindings(volumes: &PodVolumes) -> String {
    let found = volumes.static_bindings.iter().map(|binding| {
        let (claim, volume) = (&binding.claim.metadata, &binding.volume);
        format!(
            "{} gets {} ({})",
            claim.name(),
            volume.name(),
            volume.storage()
        )
    });
    let made = volumes.dynamic_provisions.iter().map(|provision| {
        let class = provision.claim.class_name();
        let name = provision.claim.metadata.name();
        match &provision.capacity {
            None => format!("{name} is provisioned by class {class}"),
            Some(pool) => {
                format!(
                    "{name} is provisioned by class {class} from {}",
                    pool.metadata.key()
                )
            }
        }
    });
    let all: Vec<_> = found.chain(made).collect();
    if all.is_empty() {
        return "nothing to do, all claims are bound".to_owned();
    }
    all.join(", ")
}

pub fn what_if(
    addition: &Addition,
    pods: &[Arc<Pod>],
    before: &[Place],
    after: &[Place],
) -> String {
    let mut text = format!(
        "\nwith {} of {}, {} of local volumes:\n",
        counted(addition.nodes.len(), "copy", "copies"),
        addition.original,
        counted(addition.volumes.len(), "copy", "copies"),
    );
    for ((pod, before), after) in pods.iter().zip(before).zip(after) {
        let place = |place: &Place| match place {
            Some((node, volumes)) => format!("{node}: {}", bindings(volumes)),
            None => "no node".to_owned(),
        };
        let (was, is) = (place(before), place(after));
        let _ = match was == is {
            true => writeln!(text, "  {}  {is}, as before", pod.metadata.key()),
            false => writeln!(text, "  {}  {is} (before: {was})", pod.metadata.key()),
        };
    }
    let count = |places: &[Place]| places.iter().flatten().count();
    let _ = writeln!(
        text,
        "{} of {} would find a node, {} without",
        count(after),
        counted(pods.len(), "pod", "pods"),
        count(before),
    );
    text
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
