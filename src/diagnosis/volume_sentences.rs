//! The sentences of what can be found out about a volume.

use std::fmt;

use super::words::{Count, Cut, Name, Names, NamesOf, Parts};
use super::{Reclaim, VolumeFacts};
use crate::api::ClaimKey;

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
                    "is available, and no pending claim looks for volumes of class {}",
                    Name(class)
                ),
            },
            Is::Wanted { claims, count, .. } => {
                let names: Vec<_> = claims.iter().map(ClaimKey::to_string).collect();
                write!(
                    f,
                    "is available, and fits {}: {}",
                    Count(*count, "pending claim"),
                    NamesOf(&names, *count)
                )
            }
            Is::NotTaken { stopped } => write!(
                f,
                "is available, and fits none of the pending claims of its class: {}",
                Parts(stopped)
            ),
            Is::Unclaimed {
                volume,
                claim,
                rivals,
                count,
            } => {
                write!(
                    f,
                    "volume {} belongs to claim {}, and its claimRef, which says so, is gone",
                    Name(volume),
                    Name(&named(claim))
                )?;
                let names: Vec<_> = rivals.iter().map(ClaimKey::to_string).collect();
                match count {
                    0 => Ok(()),
                    count => write!(
                        f,
                        ": {} may take it first, with its data: {}",
                        Count(*count, "pending claim"),
                        NamesOf(&names, *count)
                    ),
                }
            }
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
            Is::Released {
                claim,
                uid,
                is_going,
            } => {
                write!(
                    f,
                    "was released by claim {} of uid {}",
                    Name(&named(claim)),
                    Name(uid)
                )?;
                f.write_str(kept(*is_going))
            }
            Is::Reclaiming { then } => write!(f, "was released, and is to be {then}"),
            Is::ReclaimFails { message } => {
                write!(f, "was released and cannot be reclaimed: {}", Cut(message))
            }
            Is::FailedKept { message, is_going } => {
                failed(f, message)?;
                f.write_str(kept(*is_going))
            }
            Is::Failed { message, retry } => {
                failed(f, message)?;
                match retry {
                    Reclaim::LeftExternally(driver) if driver.is_empty() => {
                        f.write_str(": nothing is tried again, as no provisioner made it")
                    }
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
            Is::Going {
                volume,
                claim,
                is_protected,
            } => write!(
                f,
                "volume {} was deleted while claim {} has it: {}",
                Name(volume),
                Name(&named(claim)),
                match is_protected {
                    true => "it is kept until that claim is gone",
                    false => "nothing keeps it until then, and the claim is Lost when it goes",
                }
            ),
            Is::Unreachable {
                nodes,
                lost_node: Some(lost),
                ..
            } => write!(
                f,
                "can be reached from none of {}: its data is on node {}, which is not in the \
                 cluster",
                Count(*nodes, "node"),
                Name(lost)
            ),
            Is::Unreachable {
                nodes,
                example,
                there_are,
                ..
            } => {
                write!(f, "can be reached from none of {}", Count(*nodes, "node"))?;
                match example.is_empty() {
                    true => f.write_str(": its node affinity has no terms")?,
                    false => write!(f, ": {}", Parts(example))?,
                }
                match there_are {
                    Some((label, values)) if values.len() > 1 => {
                        write!(f, "; of {} there is {}", Name(label), Names(values))
                    }
                    _ => Ok(()),
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
            Is::DriverUnknown { volume, driver } => write!(
                f,
                "volume {} is of driver {}, of which there is no CSIDriver, and which is on no \
                 node: no pod can use it",
                Name(volume),
                Name(driver)
            ),
            Is::LocalAnywhere { volume } => write!(
                f,
                "volume {} lies on a node, and its node affinity, which would say on which, is \
                 missing: API servers refuse it",
                Name(volume)
            ),
            Is::SourceGone { source, since } => write!(
                f,
                "is of {}, whose in-tree plugin is gone since Kubernetes {}: no node mounts it",
                Name(source),
                Cut(since)
            ),
            Is::HandleShared {
                driver,
                handle,
                others,
            } => write!(
                f,
                "is the same volume of driver {} (volumeHandle {}) as {}: two claims may write to \
                 it, and what deletes one deletes the data of all",
                Name(driver),
                Name(handle),
                Names(others)
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
            Is::DataAtRisk {
                volume,
                then: then @ Reclaim::RecycledAfter { .. },
            } => write!(f, "volume {} is to be {then}", Name(volume)),
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

/// How a volume is kept that nothing reclaims.
fn kept(is_going: bool) -> &'static str {
    match is_going {
        false => {
            ", and is kept with its data: no claim gets it before somebody clears its claimRef"
        }
        true => ", and its data is kept: the object alone goes, as it was deleted",
    }
}

fn failed(f: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    f.write_str("could not be reclaimed")?;
    match message {
        "" => Ok(()),
        message => write!(f, " ({})", Cut(message)),
    }
}
