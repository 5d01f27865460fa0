//! The sentences of claims that have no volume yet, and of their classes, pods
//! and provisioners.

use std::fmt;

use crate::diagnosis::ClaimFacts;
use crate::diagnosis::parts::Miss;
use crate::diagnosis::words::{Count, Cut, Name, Names, Parts};

/// The sentence of one of these; nothing of others.
#[expect(clippy::too_many_lines, reason = "one sentence after the other")]
pub(super) fn sentence(facts: &ClaimFacts, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    use ClaimFacts as Is;
    match facts {
        Is::ClassEmpty { volumes } => write!(
            f,
            "has class \"\": only volumes without class are taken ({}), and none is ever \
                 provisioned",
            Count(*volumes, "volume")
        ),
        Is::ClassUnset { classes } => {
            f.write_str(
                "sets no class, and there is no default class: only volumes without class \
                     are taken, and none is provisioned",
            )?;
            match classes.is_empty() {
                true => Ok(()),
                false => write!(f, "; there is {}", Names(classes)),
            }
        }
        Is::DefaultClassRefused { class, volumes } => write!(
            f,
            "has class \"\", which takes volumes without class only ({}), and switches \
             provisioning off: default class {} is not used",
            Count(*volumes, "volume"),
            Name(class)
        ),
        Is::DefaultClass { class } => write!(
            f,
            "sets no class, and is given default class {} as no volume without class fits",
            Name(class)
        ),
        Is::DefaultClassAmbiguous {
            class,
            count,
            others,
            is_newest,
        } => write!(
            f,
            "takes {} of {} default classes, {}: {} {} marked too",
            Name(class),
            count,
            if *is_newest {
                "the newest"
            } else {
                "of the newest the first by name"
            },
            Names(others),
            if *count == 2 { "is" } else { "are" },
        ),
        Is::ClassAnnotation { annotation, field } => write!(
            f,
            "has class {} by the old annotation, which overrides {} of the field",
            Name(annotation),
            Name(field)
        ),
        Is::ClassMissing { class, similar } => {
            write!(f, "has class {}, which does not exist", Name(class))?;
            match similar.is_empty() {
                true => Ok(()),
                false => write!(f, "; there is {}", Names(similar)),
            }
        }
        Is::NoProvisioner { class } => write!(
            f,
            "has class {}, whose volumes are made by hand: none is provisioned",
            Name(class)
        ),
        Is::ProvisionerGone {
            class,
            provisioner,
            successor,
        } => {
            write!(
                f,
                "has class {}, whose in-tree provisioner {} does not exist in this cluster",
                Name(class),
                Name(provisioner)
            )?;
            match successor {
                Some(driver) => write!(f, "; the CSI driver {} took its place", Name(driver)),
                None => Ok(()),
            }
        }
        Is::NoBindingMode { class } => write!(
            f,
            "has class {}, which does not say when its claims are bound",
            Name(class)
        ),
        Is::WaitsForConsumer { class, slip } => write!(
            f,
            "waits for a pod that uses it, as class {} has it{}",
            Name(class),
            Slipped(slip.as_ref())
        ),
        Is::WaitsForPods { pods, count, slip } => write!(
            f,
            "waits for {} to be scheduled: {}{}{}",
            Count(*count, "pod"),
            Parts(pods),
            More(pods.len(), *count),
            Slipped(slip.as_ref())
        ),
        Is::PodsUnschedulable { pods, count, slip } => write!(
            f,
            "waits for {} that cannot be scheduled: {}{}{}",
            Count(*count, "pod"),
            Parts(pods),
            More(pods.len(), *count),
            Slipped(slip.as_ref())
        ),
        Is::PodBypassedScheduler { pod, node } => write!(
            f,
            "waits for the scheduler to select a node, which pod {} was given without it \
                 (node {})",
            Name(pod),
            Name(node)
        ),
        Is::PodOtherScheduler { pod, scheduler } => write!(
            f,
            "is used by pod {}, which is left to scheduler {}",
            Name(pod),
            Name(scheduler)
        ),
        Is::SelectedNodeGone { node } => write!(
            f,
            "is to be provisioned for node {}, which does not exist",
            Name(node)
        ),
        Is::SelectedNodeBlocks {
            node,
            class,
            volume,
        } => {
            write!(
                f,
                "is to be provisioned for node {}, since that was selected, and class {} \
                 provisions nothing; no volume that exists is searched for",
                Name(node),
                Name(class)
            )?;
            match volume {
                Some(volume) => write!(f, ", though {} fits", Name(volume)),
                None => Ok(()),
            }
        }
        Is::WaitsForProvisioner {
            provisioner,
            is_in_tree,
            node,
        } => {
            let kind = if *is_in_tree {
                "in-tree plugin"
            } else {
                "external provisioner"
            };
            write!(f, "waits for {kind} {} to make a volume", Name(provisioner))?;
            match node {
                Some(node) => write!(f, " for node {}", Name(node)),
                None => Ok(()),
            }
        }
        Is::ProvisioningFails { message } => {
            write!(f, "cannot have a volume made: {}", Cut(message))
        }
        Is::DriverUnknown { driver } => write!(
            f,
            "waits for {}, of which there is no CSIDriver: it is not installed, or no CSI \
                 driver",
            Name(driver)
        ),
        Is::SelectorRefused {
            provisioner,
            is_empty,
        } => write!(
            f,
            "has {} selector: provisioner {} makes no volume for a claim with a selector{}",
            if *is_empty { "an empty" } else { "a" },
            Name(provisioner),
            if *is_empty { ", even an empty one" } else { "" },
        ),
        Is::TopologyMismatch {
            provisioner,
            node,
            message,
        } => write!(
            f,
            "is to be provisioned by {} for node {}, which does not fit: {}",
            Name(provisioner),
            Name(node),
            Cut(message)
        ),
        Is::RequestRefused {
            provisioner,
            message,
            ..
        } => write!(
            f,
            "asks for what provisioner {} refuses: {}",
            Name(provisioner),
            Cut(message)
        ),
        Is::Infeasible {
            provisioner,
            message,
        } => write!(
            f,
            "asks for what provisioner {} says it never makes: {}",
            Name(provisioner),
            Cut(message)
        ),
        Is::DriverFails {
            provisioner,
            message,
        } => write!(
            f,
            "waits for provisioner {}, which failed the last time: {}",
            Name(provisioner),
            Cut(message)
        ),
        Is::MadeVolumeUnusable { volume, rules } => {
            write!(
                f,
                "has no volume made for it, since there is volume {}, which has that name: it ",
                Name(volume)
            )?;
            match rules.is_empty() {
                true => f.write_str("is not reserved for the claim"),
                false => write!(f, "{}", Parts(rules)),
            }
        }
        Is::WaitsForPopulator {
            data_source_kind,
            data_source,
        } => write!(
            f,
            "waits for a populator to make a volume from {} {}",
            Name(data_source_kind),
            Name(data_source)
        ),
        Is::TopologyUnsatisfied {
            class,
            nodes,
            example,
            there_are,
        } => {
            write!(
                f,
                "has class {}, whose allowed topologies none of {} satisfies",
                Name(class),
                Count(*nodes, "node")
            )?;
            if !example.is_empty() {
                write!(f, ": {}", Parts(example))?;
            }
            match there_are {
                Some((label, values)) if values.len() > 1 => {
                    write!(f, "; of {} there is {}", Name(label), Names(values))
                }
                _ => Ok(()),
            }
        }
        Is::NoCapacityPool {
            driver,
            asked,
            pools,
            largest,
            ..
        } => {
            write!(
                f,
                "asks for {asked}, for which driver {} has no room in {}",
                Name(driver),
                Count(*pools, "capacity pool")
            )?;
            match largest {
                Some(largest) => write!(f, ": the largest has {largest}"),
                None => Ok(()),
            }
        }
        Is::ProvisioningOff { class } => write!(
            f,
            "has class {}, of which no volume is made: dynamic provisioning is off",
            Name(class)
        ),
        _ => Ok(()),
    }
}

/// A volume that would do but for a slip of the pen.
struct Slipped<'a>(Option<&'a Miss>);

impl fmt::Display for Slipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(miss) => write!(f, "; nearest is {miss}"),
            None => Ok(()),
        }
    }
}

/// `; and N more` for what is only counted.
struct More(usize, usize);

impl fmt::Display for More {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1.saturating_sub(self.0) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
