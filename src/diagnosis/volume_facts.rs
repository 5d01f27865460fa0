//! What can be found out about a volume.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::parts::{ClaimStop, Holder};
use super::words::{Count, Cut, Name, Names, Parts};
use crate::api::{AccessMode, ClaimKey};
use crate::quantity::Quantity;

/// What happens to a volume whose claim is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reclaim {
    /// It is kept, with its data.
    Kept,
    /// An in-tree plugin deletes it, in the backend too.
    DeletedBy(String),
    /// An external provisioner deletes it, in the backend too.
    DeletedExternally(String),
    /// It is an external provisioner's to delete, which leaves it as it is.
    LeftExternally(String),
    /// An in-tree plugin deletes its files, and it is free again.
    RecycledBy(String),
    /// It cannot be reclaimed: the controller's own text.
    Fails(String),
}

impl fmt::Display for Reclaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reclaim::Kept => f.write_str("kept, with its data"),
            Reclaim::DeletedBy(plugin) => {
                write!(f, "deleted with its data by plugin {}", Name(plugin))
            }
            Reclaim::DeletedExternally(driver) => write!(
                f,
                "deleted with its data by external provisioner {}, if that runs",
                Name(driver)
            ),
            Reclaim::LeftExternally(driver) => write!(
                f,
                "left as it is, with its data, by external provisioner {}",
                Name(driver)
            ),
            Reclaim::RecycledBy(plugin) => write!(
                f,
                "recycled by plugin {}: its files are deleted, and it is free again",
                Name(plugin)
            ),
            Reclaim::Fails(message) => write!(f, "Failed: {}", Cut(message)),
        }
    }
}

facts! {
    /// What was found out about a volume. `Display` is the sentence.
    pub enum VolumeFacts {
        /// See [`Code::VolumeBound`](super::Code::VolumeBound).
        Bound: VolumeBound {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::VolumeBinding`](super::Code::VolumeBinding).
        Binding: VolumeBinding {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::VolumeAvailable`](super::Code::VolumeAvailable).
        Available: VolumeAvailable {
            /// The volume's class, "" if none.
            class: String,
        },
        /// See [`Code::VolumeWanted`](super::Code::VolumeWanted).
        Wanted: VolumeWanted {
            /// Pending claims that it fits, of many the first few.
            claims: Vec<ClaimKey>,
            /// How many there are.
            count: usize,
            /// Those of its class that a rule stops, by rule.
            stopped: Vec<ClaimStop>,
        },
        /// See [`Code::VolumeNotTaken`](super::Code::VolumeNotTaken).
        NotTaken: VolumeNotTaken {
            /// The pending claims of its class, by the rule that stops them.
            stopped: Vec<ClaimStop>,
        },
        /// See [`Code::VolumeNew`](super::Code::VolumeNew).
        New: VolumeNew {
            /// The phase, "" if it has none.
            phase: String,
        },
        /// See [`Code::VolumeReserved`](super::Code::VolumeReserved).
        Reserved: VolumeReserved {
            /// The claim.
            claim: ClaimKey,
            /// What the claim's own main finding is.
            standing: String,
        },
        /// See [`Code::VolumeReservedForNobody`](super::Code::VolumeReservedForNobody).
        ReservedForNobody: VolumeReservedForNobody {
            /// The claim.
            claim: ClaimKey,
            /// Claims of the same name in other namespaces, then of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::VolumeReservationIncomplete`](super::Code::VolumeReservationIncomplete).
        ReservationIncomplete: VolumeReservationIncomplete {
            /// What the claimRef says.
            reference: ClaimKey,
            /// The claim that was surely meant, where there is one.
            meant: Option<ClaimKey>,
        },
        /// See [`Code::VolumeClaimElsewhere`](super::Code::VolumeClaimElsewhere).
        ClaimElsewhere: VolumeClaimElsewhere {
            /// The claim.
            claim: ClaimKey,
            /// The volume that it names.
            other: String,
            /// What the next sync does with this one.
            then: String,
        },
        /// See [`Code::VolumeClaimGone`](super::Code::VolumeClaimGone).
        ClaimGone: VolumeClaimGone {
            /// The claim.
            claim: ClaimKey,
            /// Its uid.
            uid: String,
            /// The uid of the claim of that name that there is now.
            now: Option<String>,
            /// What follows.
            then: Reclaim,
        },
        /// See [`Code::VolumeModeMismatch`](super::Code::VolumeModeMismatch).
        ModeMismatch: VolumeModeMismatch {
            /// The claim.
            claim: ClaimKey,
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeReleased`](super::Code::VolumeReleased).
        Released: VolumeReleased {
            /// The claim that it belonged to.
            claim: ClaimKey,
            /// That claim's uid.
            uid: String,
        },
        /// See [`Code::VolumeReclaiming`](super::Code::VolumeReclaiming).
        Reclaiming: VolumeReclaiming {
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeReclaimFails`](super::Code::VolumeReclaimFails).
        ReclaimFails: VolumeReclaimFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeFailed`](super::Code::VolumeFailed).
        Failed: VolumeFailed {
            /// What its status says.
            message: String,
            /// What the next sync tries.
            retry: Reclaim,
        },
        /// See [`Code::VolumeFailedKept`](super::Code::VolumeFailedKept).
        FailedKept: VolumeFailedKept {
            /// What its status says.
            message: String,
        },
        /// See [`Code::VolumeAtRelease`](super::Code::VolumeAtRelease).
        AtRelease: VolumeAtRelease {
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeReleaseFails`](super::Code::VolumeReleaseFails).
        ReleaseFails: VolumeReleaseFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeTerminating`](super::Code::VolumeTerminating).
        Terminating: VolumeTerminating {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::VolumeTerminatingStuck`](super::Code::VolumeTerminatingStuck).
        TerminatingStuck: VolumeTerminatingStuck {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::VolumeUnreachable`](super::Code::VolumeUnreachable).
        Unreachable: VolumeUnreachable {
            /// How many nodes were looked at.
            nodes: usize,
            /// Why one of them cannot reach it, term by term.
            example: Vec<String>,
        },
        /// See [`Code::VolumeAffinityNodeName`](super::Code::VolumeAffinityNodeName).
        AffinityNodeName: VolumeAffinityNodeName {
            /// The label that is asked for.
            label: String,
            /// The name of a node that is asked for as its value.
            node: String,
            /// The value that the node's label has; `None` if it has none.
            has: Option<String>,
        },
        /// See [`Code::VolumeAffinityOldLabel`](super::Code::VolumeAffinityOldLabel).
        AffinityOldLabel: VolumeAffinityOldLabel {
            /// The label that is asked for.
            old: String,
            /// The label that nodes carry.
            new: String,
            /// How many nodes carry it with a value that is asked for.
            nodes: usize,
        },
        /// See [`Code::VolumeZoneElsewhere`](super::Code::VolumeZoneElsewhere).
        ZoneElsewhere: VolumeZoneElsewhere {
            /// The labels for zone and region, with their values.
            labels: BTreeMap<String, String>,
            /// How many nodes were looked at.
            nodes: usize,
            /// The one of the labels that the fewest nodes satisfy.
            label: String,
            /// The values that nodes have of that one, of many the first few.
            there_are: Vec<String>,
        },
        /// See [`Code::VolumeAccessModeUnknown`](super::Code::VolumeAccessModeUnknown).
        AccessModeUnknown: VolumeAccessModeUnknown {
            /// What it lists.
            mode: String,
            /// What was surely meant.
            meant: AccessMode,
        },
        /// See [`Code::VolumeDataAtRisk`](super::Code::VolumeDataAtRisk).
        DataAtRisk: VolumeDataAtRisk {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeRecycleDeprecated`](super::Code::VolumeRecycleDeprecated).
        RecycleDeprecated: VolumeRecycleDeprecated {
            /// The volume's source, "" if it has none that is known.
            source: String,
        },
        /// See [`Code::VolumeUnitMissing`](super::Code::VolumeUnitMissing).
        UnitMissing: VolumeUnitMissing {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// Its size.
            has: Quantity,
        },
    }
}

impl fmt::Display for VolumeFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use VolumeFacts as Is;
        let named = |claim: &ClaimKey| claim.to_string();
        match self {
            Is::Bound { claim } => write!(f, "is bound to claim {}", Name(&named(claim))),
            Is::Binding { claim } => write!(
                f,
                "is being bound to claim {}: the next sync goes on",
                Name(&named(claim))
            ),
            Is::Available { class } => match class.as_str() {
                "" => f.write_str("is available, and no pending claim is without class"),
                class => write!(
                    f,
                    "is available, and no pending claim has class {}",
                    Name(class)
                ),
            },
            Is::Wanted { claims, count, .. } => {
                let names: Vec<_> = claims.iter().map(ClaimKey::to_string).collect();
                write!(
                    f,
                    "is available, and fits {}: {}",
                    Count(*count, "pending claim"),
                    Names(&names)
                )?;
                match count.saturating_sub(claims.len()) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Is::NotTaken { stopped } => write!(
                f,
                "is available, and fits none of the pending claims of its class: {}",
                Parts(stopped)
            ),
            Is::New { phase } => match phase.as_str() {
                "" => f.write_str("has no phase yet: the controller has not looked at it"),
                phase => write!(f, "is {}: the next sync makes it Available", Cut(phase)),
            },
            Is::Reserved { claim, standing } => write!(
                f,
                "is reserved for claim {}, which {standing}",
                Name(&named(claim))
            ),
            Is::ReservedForNobody { claim, similar } => {
                write!(
                    f,
                    "is reserved for claim {}, which does not exist",
                    Name(&named(claim))
                )?;
                match similar.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; there is {}", Names(similar)),
                }
            }
            Is::ReservationIncomplete { reference, meant } => {
                let missing = match reference.namespace.is_empty() {
                    true if reference.name.is_empty() => "namespace and name",
                    true => "namespace",
                    false => "name",
                };
                write!(
                    f,
                    "is reserved for nobody: the {missing} of its claimRef is missing"
                )?;
                match meant {
                    Some(meant) => write!(f, "; claim {} was meant", Name(&named(meant))),
                    None => Ok(()),
                }
            }
            Is::ClaimElsewhere { claim, other, then } => write!(
                f,
                "is bound to claim {}, which has volume {}: {then}",
                Name(&named(claim)),
                Name(other)
            ),
            Is::ClaimGone {
                claim,
                uid,
                now,
                then,
            } => {
                write!(
                    f,
                    "belongs to claim {} of uid {}, which ",
                    Name(&named(claim)),
                    Name(uid)
                )?;
                match now {
                    Some(now) => write!(f, "has uid {} now", Name(now))?,
                    None => f.write_str("does not exist")?,
                }
                write!(f, ": it will be released, then {then}")
            }
            Is::ModeMismatch { claim, .. } => write!(
                f,
                "cannot be bound to claim {}: the one is a file system, the other a raw device",
                Name(&named(claim))
            ),
            Is::Released { claim, uid } => write!(
                f,
                "was released by claim {} of uid {}, and is kept with its data: no claim gets it \
                 before somebody clears its claimRef",
                Name(&named(claim)),
                Name(uid)
            ),
            Is::Reclaiming { then } => write!(f, "was released, and is to be {then}"),
            Is::ReclaimFails { message } => {
                write!(f, "was released and cannot be reclaimed: {}", Cut(message))
            }
            Is::FailedKept { message } => {
                failed(f, message)?;
                f.write_str(
                    ", and is kept with its data: no claim gets it before somebody clears its \
                     claimRef",
                )
            }
            Is::Failed { message, retry } => {
                failed(f, message)?;
                match retry {
                    Reclaim::LeftExternally(driver) => write!(
                        f,
                        ": nothing is tried again, as external provisioner {} deletes only what is Released",
                        Name(driver)
                    ),
                    Reclaim::Fails(message) => {
                        write!(f, ": each sync tries again, and fails: {}", Cut(message))
                    }
                    retry => write!(f, ": each sync tries again, to have it {retry}"),
                }
            }
            Is::AtRelease { then } => write!(f, "when its claim is deleted, it is {then}"),
            Is::ReleaseFails { message } => write!(
                f,
                "when its claim is deleted, it becomes Failed, as nothing can reclaim it: {}",
                Cut(message)
            ),
            Is::Terminating { holders } => match holders.is_empty() {
                true => f.write_str("is being deleted, and nothing holds it"),
                false => write!(f, "is being deleted: {}", Parts(holders)),
            },
            Is::TerminatingStuck { holders } => {
                write!(f, "is being deleted and never goes: {}", Parts(holders))
            }
            Is::Unreachable { nodes, example } => {
                write!(f, "can be reached from none of {}", Count(*nodes, "node"))?;
                match example.is_empty() {
                    true => f.write_str(": its node affinity has no terms"),
                    false => write!(f, ": {}", Parts(example)),
                }
            }
            Is::AffinityNodeName { label, node, has } => {
                write!(
                    f,
                    "asks for label {} of the value {}, which is the name of a node whose label ",
                    Name(label),
                    Name(node)
                )?;
                match has {
                    Some(has) => write!(f, "is {}", Name(has)),
                    None => f.write_str("is missing"),
                }
            }
            Is::AffinityOldLabel { old, new, nodes } => write!(
                f,
                "asks for the old label {}: {} {} the new {} with such a value",
                Name(old),
                Count(*nodes, "node"),
                if *nodes == 1 { "carries" } else { "carry" },
                Name(new)
            ),
            Is::ZoneElsewhere {
                labels,
                nodes,
                label,
                there_are,
            } => {
                f.write_str("is labelled")?;
                for (place, (label, value)) in labels.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma} {}: {}", Name(label), Name(value))?;
                }
                write!(
                    f,
                    ", and none of {} is: the scheduler puts no pod there that uses it",
                    Count(*nodes, "node"),
                )?;
                match there_are.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; of {} there is {}", Name(label), Names(there_are)),
                }
            }
            Is::AccessModeUnknown { mode, meant } => write!(
                f,
                "lists access mode {}, which does not exist: {} is meant",
                Name(mode),
                Name(meant.as_str())
            ),
            Is::DataAtRisk { volume, then } => {
                write!(f, "volume {} is about to be {then}", Name(volume))
            }
            Is::RecycleDeprecated { .. } => f.write_str(
                "has reclaim policy Recycle, which is deprecated: its files are deleted, and \
                 whoever comes next gets it",
            ),
            Is::UnitMissing { volume, has } => write!(
                f,
                "volume {} has {has} bytes: a unit such as Gi is probably missing",
                Name(volume)
            ),
        }
    }
}

fn failed(f: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    f.write_str("could not be reclaimed")?;
    match message {
        "" => Ok(()),
        message => write!(f, " ({})", Cut(message)),
    }
}
