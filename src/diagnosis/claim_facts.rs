//! What can be found out about a claim.

use std::fmt;

use serde::Serialize;

use super::parts::{Counted, Holder, Miss, PodStanding, Rule};
use super::words::{Count, Cut, Modes, Name, Names, Parts};
use crate::api::{AccessMode, ClaimKey, VolumeMode};
use crate::quantity::Quantity;

facts! {
    /// What was found out about a claim. `Display` is the sentence.
    pub enum ClaimFacts {
        /// See [`Code::ClaimBound`](super::Code::ClaimBound).
        Bound: ClaimBound {
            /// The volume.
            volume: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What it was given.
            granted: Quantity,
            /// By how much the volume is larger; zero if it is not.
            surplus: Quantity,
            /// The access modes that it asks for.
            asked_modes: Vec<AccessMode>,
            /// Those of the volume.
            modes: Vec<AccessMode>,
            /// Whether it is a file system or a raw device.
            volume_mode: VolumeMode,
        },
        /// See [`Code::ClaimWouldBind`](super::Code::ClaimWouldBind).
        WouldBind: ClaimWouldBind {
            /// The volume.
            volume: String,
            /// Its size.
            size: Quantity,
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimResizePending`](super::Code::ClaimResizePending).
        ResizePending: ClaimResizePending {
            /// The volume.
            volume: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What its status says that it has.
            granted: Quantity,
            /// The volume's size.
            volume_size: Quantity,
            /// Whether the volume is as large already, so that only its file
            /// system is still to grow.
            only_file_system: bool,
            /// Whether the class allows it; `None` if the class is not known.
            class_allows: Option<bool>,
        },
        /// See [`Code::ClaimNoVolumeFits`](super::Code::ClaimNoVolumeFits).
        NoVolumeFits: ClaimNoVolumeFits {
            /// The sentence of the [`MatchReport`](crate::matching::MatchReport)
            /// on all volumes.
            summary: String,
            /// How many volumes are refused, by main reason.
            refused: Vec<Counted>,
            /// The volumes that miss by least.
            nearest: Vec<Miss>,
        },
        /// See [`Code::ClaimDecimalAgainstBinary`](super::Code::ClaimDecimalAgainstBinary).
        DecimalAgainstBinary: ClaimDecimalAgainstBinary {
            /// The volume.
            volume: String,
            /// Its size.
            has: Quantity,
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimUnitMissing`](super::Code::ClaimUnitMissing).
        UnitMissing: ClaimUnitMissing {
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimSelectorInvalid`](super::Code::ClaimSelectorInvalid).
        SelectorInvalid: ClaimSelectorInvalid {
            /// Where it is wrong, and how.
            mistake: String,
        },
        /// See [`Code::ClaimAttributesClassDisabled`](super::Code::ClaimAttributesClassDisabled).
        AttributesClassDisabled: ClaimAttributesClassDisabled {
            /// The VolumeAttributesClass.
            name: String,
        },
        /// See [`Code::ClaimClassEmpty`](super::Code::ClaimClassEmpty).
        ClassEmpty: ClaimClassEmpty {
            /// How many volumes have no class.
            volumes: usize,
        },
        /// See [`Code::ClaimClassUnset`](super::Code::ClaimClassUnset).
        ClassUnset: ClaimClassUnset {
            /// The classes that there are, of many the first few.
            classes: Vec<String>,
        },
        /// See [`Code::ClaimDefaultClass`](super::Code::ClaimDefaultClass).
        DefaultClass: ClaimDefaultClass {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimDefaultClassAmbiguous`](super::Code::ClaimDefaultClassAmbiguous).
        DefaultClassAmbiguous: ClaimDefaultClassAmbiguous {
            /// The class that counts.
            class: String,
            /// How many classes are marked.
            count: usize,
            /// The others, of many the first few.
            others: Vec<String>,
            /// Whether it counts because it is newer than all others; if not,
            /// by its name.
            is_newest: bool,
        },
        /// See [`Code::ClaimClassAnnotation`](super::Code::ClaimClassAnnotation).
        ClassAnnotation: ClaimClassAnnotation {
            /// The class of the annotation, which counts.
            annotation: String,
            /// That of the field.
            field: String,
        },
        /// See [`Code::ClaimClassMissing`](super::Code::ClaimClassMissing).
        ClassMissing: ClaimClassMissing {
            /// The class.
            class: String,
            /// Classes of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::ClaimNoProvisioner`](super::Code::ClaimNoProvisioner).
        NoProvisioner: ClaimNoProvisioner {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimProvisionerGone`](super::Code::ClaimProvisionerGone).
        ProvisionerGone: ClaimProvisionerGone {
            /// The class.
            class: String,
            /// The provisioner.
            provisioner: String,
            /// The CSI driver that took its place, where there is one.
            successor: Option<String>,
        },
        /// See [`Code::ClaimNoBindingMode`](super::Code::ClaimNoBindingMode).
        NoBindingMode: ClaimNoBindingMode {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimWaitsForConsumer`](super::Code::ClaimWaitsForConsumer).
        WaitsForConsumer: ClaimWaitsForConsumer {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimWaitsForPods`](super::Code::ClaimWaitsForPods).
        WaitsForPods: ClaimWaitsForPods {
            /// The pods, of many the first few.
            pods: Vec<PodStanding>,
            /// How many pods there are.
            count: usize,
        },
        /// See [`Code::ClaimPodsUnschedulable`](super::Code::ClaimPodsUnschedulable).
        PodsUnschedulable: ClaimPodsUnschedulable {
            /// The pods, of many the first few.
            pods: Vec<PodStanding>,
            /// How many pods there are.
            count: usize,
        },
        /// See [`Code::ClaimPodBypassedScheduler`](super::Code::ClaimPodBypassedScheduler).
        PodBypassedScheduler: ClaimPodBypassedScheduler {
            /// The pod.
            pod: String,
            /// Its node.
            node: String,
        },
        /// See [`Code::ClaimPodOtherScheduler`](super::Code::ClaimPodOtherScheduler).
        PodOtherScheduler: ClaimPodOtherScheduler {
            /// The pod.
            pod: String,
            /// Its scheduler.
            scheduler: String,
        },
        /// See [`Code::ClaimSelectedNodeGone`](super::Code::ClaimSelectedNodeGone).
        SelectedNodeGone: ClaimSelectedNodeGone {
            /// The node.
            node: String,
        },
        /// See [`Code::ClaimNamesVolumeDelayed`](super::Code::ClaimNamesVolumeDelayed).
        NamesVolumeDelayed: ClaimNamesVolumeDelayed {
            /// The volume.
            volume: String,
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimWaitsForProvisioner`](super::Code::ClaimWaitsForProvisioner).
        WaitsForProvisioner: ClaimWaitsForProvisioner {
            /// The CSI driver, other provisioner or in-tree plugin.
            provisioner: String,
            /// Whether it is an in-tree plugin.
            is_in_tree: bool,
            /// The node that was selected.
            node: Option<String>,
        },
        /// See [`Code::ClaimProvisioningFails`](super::Code::ClaimProvisioningFails).
        ProvisioningFails: ClaimProvisioningFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::ClaimDriverUnknown`](super::Code::ClaimDriverUnknown).
        DriverUnknown: ClaimDriverUnknown {
            /// The driver.
            driver: String,
        },
        /// See [`Code::ClaimSelectorRefused`](super::Code::ClaimSelectorRefused).
        SelectorRefused: ClaimSelectorRefused {
            /// The provisioner.
            provisioner: String,
            /// Whether the selector has no entries, and is refused all the same.
            is_empty: bool,
        },
        /// See [`Code::ClaimTopologyMismatch`](super::Code::ClaimTopologyMismatch).
        TopologyMismatch: ClaimTopologyMismatch {
            /// The provisioner.
            provisioner: String,
            /// The node that was selected.
            node: String,
            /// The provisioner's own text.
            message: String,
        },
        /// See [`Code::ClaimRequestRefused`](super::Code::ClaimRequestRefused).
        RequestRefused: ClaimRequestRefused {
            /// The provisioner.
            provisioner: String,
            /// What it refuses: see
            /// [`RequestError::code`](crate::provisioner::RequestError::code).
            reason: String,
            /// The provisioner's own text.
            message: String,
        },
        /// See [`Code::ClaimInfeasible`](super::Code::ClaimInfeasible).
        Infeasible: ClaimInfeasible {
            /// The provisioner.
            provisioner: String,
            /// What the driver said.
            message: String,
        },
        /// See [`Code::ClaimDriverFails`](super::Code::ClaimDriverFails).
        DriverFails: ClaimDriverFails {
            /// The provisioner.
            provisioner: String,
            /// What the driver said.
            message: String,
        },
        /// See [`Code::ClaimWaitsForPopulator`](super::Code::ClaimWaitsForPopulator).
        WaitsForPopulator: ClaimWaitsForPopulator {
            /// The kind of the data source, with its group.
            data_source_kind: String,
            /// Its name.
            data_source: String,
        },
        /// See [`Code::ClaimTopologyUnsatisfied`](super::Code::ClaimTopologyUnsatisfied).
        TopologyUnsatisfied: ClaimTopologyUnsatisfied {
            /// The class.
            class: String,
            /// How many nodes were looked at.
            nodes: usize,
            /// Why one of them is not allowed, term by term.
            example: Vec<String>,
        },
        /// See [`Code::ClaimNoCapacityPool`](super::Code::ClaimNoCapacityPool).
        NoCapacityPool: ClaimNoCapacityPool {
            /// The class.
            class: String,
            /// The driver.
            driver: String,
            /// What the claim asks for.
            asked: Quantity,
            /// How many pools there are.
            pools: usize,
            /// The largest volume that one of them has room for.
            largest: Option<Quantity>,
        },
        /// See [`Code::ClaimProvisioningOff`](super::Code::ClaimProvisioningOff).
        ProvisioningOff: ClaimProvisioningOff {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimNamesMissingVolume`](super::Code::ClaimNamesMissingVolume).
        NamesMissingVolume: ClaimNamesMissingVolume {
            /// The volume.
            volume: String,
            /// Volumes of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::ClaimNamesTakenVolume`](super::Code::ClaimNamesTakenVolume).
        NamesTakenVolume: ClaimNamesTakenVolume {
            /// The volume.
            volume: String,
            /// The claim that it is bound to or reserved for.
            owner: ClaimKey,
            /// That claim's uid; empty if the volume is only reserved.
            owner_uid: String,
            /// Whether the owner is an earlier claim of the same name.
            is_earlier: bool,
            /// Whether the controller once chose the volume for this claim.
            was_chosen: bool,
        },
        /// See [`Code::ClaimNamesMismatchedVolume`](super::Code::ClaimNamesMismatchedVolume).
        NamesMismatchedVolume: ClaimNamesMismatchedVolume {
            /// The volume.
            volume: String,
            /// The controller's own text.
            message: String,
            /// Every rule that refuses, the one of the text first.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimNeverProvisioned`](super::Code::ClaimNeverProvisioned).
        NeverProvisioned: ClaimNeverProvisioned {
            /// The volume that it names.
            volume: String,
            /// Its class.
            class: String,
        },
        /// See [`Code::ClaimReservedUnusable`](super::Code::ClaimReservedUnusable).
        ReservedUnusable: ClaimReservedUnusable {
            /// The volume.
            volume: String,
            /// Every rule that refuses.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimReservedPassedOver`](super::Code::ClaimReservedPassedOver).
        ReservedPassedOver: ClaimReservedPassedOver {
            /// The volume that is reserved.
            volume: String,
            /// Its access modes.
            modes: Vec<AccessMode>,
            /// The volume that is taken.
            taken: String,
            /// Its access modes.
            taken_modes: Vec<AccessMode>,
        },
        /// See [`Code::ClaimReservationIncomplete`](super::Code::ClaimReservationIncomplete).
        ReservationIncomplete: ClaimReservationIncomplete {
            /// The volume.
            volume: String,
            /// What its claimRef says.
            reference: ClaimKey,
        },
        /// See [`Code::ClaimReleasedByEarlier`](super::Code::ClaimReleasedByEarlier).
        ReleasedByEarlier: ClaimReleasedByEarlier {
            /// The volume.
            volume: String,
            /// Its phase.
            phase: String,
            /// The uid of the earlier claim.
            earlier_uid: String,
            /// The uid of this claim.
            uid: String,
        },
        /// See [`Code::ClaimLostVolumeName`](super::Code::ClaimLostVolumeName).
        LostVolumeName: ClaimLostVolumeName {
            /// The volumes whose claimRef has its uid.
            volumes: Vec<String>,
        },
        /// See [`Code::ClaimLostVolume`](super::Code::ClaimLostVolume).
        LostVolume: ClaimLostVolume {
            /// The volume.
            volume: String,
        },
        /// See [`Code::ClaimMisbound`](super::Code::ClaimMisbound).
        Misbound: ClaimMisbound {
            /// The volume.
            volume: String,
            /// The claim that it belongs to.
            owner: ClaimKey,
            /// That claim's uid; empty if the volume is only reserved.
            owner_uid: String,
        },
        /// See [`Code::ClaimVolumeWithoutCapacity`](super::Code::ClaimVolumeWithoutCapacity).
        VolumeWithoutCapacity: ClaimVolumeWithoutCapacity {
            /// The volume.
            volume: String,
        },
        /// See [`Code::ClaimDataSourceIgnored`](super::Code::ClaimDataSourceIgnored).
        DataSourceIgnored: ClaimDataSourceIgnored {
            /// The source, `KIND NAME`.
            source: String,
            /// The volume that it takes.
            volume: String,
        },
        /// See [`Code::ClaimBindingImported`](super::Code::ClaimBindingImported).
        BindingImported: ClaimBindingImported {
            /// The annotations.
            annotations: Vec<String>,
            /// The volume that it names, "" if none.
            volume: String,
        },
        /// See [`Code::ClaimTerminating`](super::Code::ClaimTerminating).
        Terminating: ClaimTerminating {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::ClaimNotKnown`](super::Code::ClaimNotKnown).
        NotKnown: ClaimNotKnown {
            /// What is not known: `classes`, `volumes`, `pods`.
            what: String,
            /// The object that the answer depends on, "" if none in particular.
            name: String,
        },
    }
}

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
