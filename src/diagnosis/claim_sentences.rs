//! The sentences of what can be found out about a claim.

use std::fmt;

use super::ClaimFacts;
use super::words::{Count, Cut, Modes, Name, Names, Parts};

impl fmt::Display for ClaimFacts {
    #[expect(clippy::too_many_lines, reason = "one sentence after the other")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ClaimFacts as Is;
        match self {
            Is::Bound {
                volume,
                asked,
                granted,
                surplus,
                asked_modes,
                modes,
                volume_mode,
            } => {
                write!(
                    f,
                    "is bound to {}: asked {asked} {}, has {granted} {} {}",
                    Name(volume),
                    Modes(asked_modes),
                    Modes(modes),
                    Cut(volume_mode.as_str()),
                )?;
                match surplus.is_zero() {
                    true => Ok(()),
                    false => write!(f, ", {surplus} more than asked"),
                }
            }
            Is::WouldBind {
                volume,
                size,
                asked,
            } => write!(
                f,
                "will be bound to {} by the next sync: asked {asked}, has {size}",
                Name(volume)
            ),
            Is::ResizePending {
                volume,
                asked,
                granted,
                only_file_system,
                class_allows,
                ..
            } => {
                write!(f, "asks for {asked} and has {granted}: ")?;
                match (only_file_system, class_allows) {
                    (true, _) => write!(f, "{} has grown, its file system not yet", Name(volume)),
                    (_, Some(false)) => f.write_str("its class does not allow volumes to grow"),
                    _ => write!(f, "{} is still to grow", Name(volume)),
                }
            }
            Is::NoVolumeFits {
                summary, nearest, ..
            } => {
                write!(f, "finds no volume: {summary}")?;
                match nearest.first() {
                    Some(miss) => write!(f, "; nearest is {miss}"),
                    None => Ok(()),
                }
            }
            Is::DecimalAgainstBinary { volume, has, asked } => write!(
                f,
                "asks for {asked} where {} has {has}: the one is a decimal amount, the other a \
                 binary one, and the difference is all that is missing",
                Name(volume)
            ),
            Is::UnitMissing { asked } => {
                write!(
                    f,
                    "asks for {asked} bytes: a unit such as Gi is probably missing"
                )
            }
            Is::SelectorInvalid { mistake } => {
                write!(f, "has a selector that cannot be read: {mistake}")
            }
            Is::AttributesClassDisabled { name } => write!(
                f,
                "names VolumeAttributesClass {}, while the feature is off",
                Name(name)
            ),
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
            Is::WaitsForConsumer { class } => write!(
                f,
                "waits for a pod that uses it, as class {} has it",
                Name(class)
            ),
            Is::WaitsForPods { pods, count } => write!(
                f,
                "waits for {} to be scheduled: {}{}",
                Count(*count, "pod"),
                Parts(pods),
                More(pods.len(), *count)
            ),
            Is::PodsUnschedulable { pods, count } => write!(
                f,
                "waits for {} that cannot be scheduled: {}{}",
                Count(*count, "pod"),
                Parts(pods),
                More(pods.len(), *count)
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
            Is::NamesVolumeDelayed { volume, class } => write!(
                f,
                "names volume {} though class {} waits for the first consumer: until it is bound, \
                 its pods are refused for an unbound immediate claim",
                Name(volume),
                Name(class)
            ),
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
            } => {
                write!(
                    f,
                    "has class {}, whose allowed topologies none of {} satisfies",
                    Name(class),
                    Count(*nodes, "node")
                )?;
                match example.is_empty() {
                    true => Ok(()),
                    false => write!(f, ": {}", Parts(example)),
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
            Is::NamesMissingVolume { volume, similar } => {
                write!(f, "names volume {}, which does not exist", Name(volume))?;
                match similar.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; there is {}", Names(similar)),
                }
            }
            Is::NamesTakenVolume {
                volume,
                owner_uid,
                is_earlier: true,
                ..
            } => write!(
                f,
                "names volume {}, which still belongs to an earlier claim of this name, of uid {}",
                Name(volume),
                Name(owner_uid)
            ),
            Is::NamesTakenVolume {
                volume,
                owner,
                owner_uid,
                was_chosen,
                ..
            } => write!(
                f,
                "names volume {}, which is {} {}{}",
                Name(volume),
                if owner_uid.is_empty() {
                    "reserved for"
                } else {
                    "bound to"
                },
                Name(&owner.to_string()),
                if *was_chosen {
                    ", though the controller once chose it for this claim"
                } else {
                    ""
                },
            ),
            Is::NamesMismatchedVolume { volume, rules, .. } => {
                write!(f, "names volume {}, which {}", Name(volume), Parts(rules))
            }
            Is::NeverProvisioned { class, .. } => write!(
                f,
                "names a volume, so that none of class {} is made for it",
                Name(class)
            ),
            Is::ReservedUnusable { volume, rules } => write!(
                f,
                "cannot use volume {}, which is reserved for it: it {}",
                Name(volume),
                Parts(rules)
            ),
            Is::ReservedPassedOver {
                volume,
                modes,
                taken,
                taken_modes,
            } => write!(
                f,
                "takes volume {} ({}) before volume {} ({}), which is reserved for it: fewer \
                 access modes go first",
                Name(taken),
                Modes(taken_modes),
                Name(volume),
                Modes(modes)
            ),
            Is::ReservationIncomplete { volume, reference } => write!(
                f,
                "is not bound to volume {}, which was meant for it: the {} of its claimRef is \
                 missing",
                Name(volume),
                if reference.namespace.is_empty() {
                    "namespace"
                } else {
                    "name"
                },
            ),
            Is::ReleasedByEarlier {
                volume,
                phase,
                earlier_uid,
                uid,
            } => write!(
                f,
                "cannot take volume {} ({}), which still belongs to an earlier claim of this \
                 name: uid {}, now {}",
                Name(volume),
                Cut(phase),
                Name(earlier_uid),
                Name(uid)
            ),
            Is::LostVolumeName { volumes } => {
                f.write_str("is lost: it was bound, and no longer names its volume")?;
                match volumes.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; {} is bound to it", Names(volumes)),
                }
            }
            Is::LostVolume { volume } => {
                write!(
                    f,
                    "is lost: its volume {} does not exist any more",
                    Name(volume)
                )
            }
            Is::Misbound {
                volume,
                owner,
                owner_uid,
            } => write!(
                f,
                "is lost: its volume {} is {} {}{}",
                Name(volume),
                if owner_uid.is_empty() {
                    "reserved for"
                } else {
                    "bound to"
                },
                Name(&owner.to_string()),
                if owner_uid.is_empty() {
                    ", without a uid".to_owned()
                } else {
                    format!(" of uid {}", Name(owner_uid))
                },
            ),
            Is::VolumeWithoutCapacity { volume } => write!(
                f,
                "cannot be bound to volume {}, which does not say how large it is",
                Name(volume)
            ),
            Is::DataSourceIgnored { source, volume } => write!(
                f,
                "is to be filled from {}, and takes volume {} with whatever is in it",
                Cut(source),
                Name(volume)
            ),
            Is::BindingImported {
                annotations,
                volume,
            } => write!(
                f,
                "was created with {}, as if it had been bound to {} before",
                Names(annotations),
                Name(volume)
            ),
            Is::Terminating { holders } => match holders.is_empty() {
                true => f.write_str("is being deleted, and nothing holds it"),
                false => write!(f, "is being deleted: {}", Parts(holders)),
            },
            Is::NotKnown { what, name } => match name.as_str() {
                "" => write!(f, "cannot be judged without the {what} of the cluster"),
                name => write!(
                    f,
                    "depends on {}, and the {what} of the cluster are not known",
                    Name(name)
                ),
            },
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
