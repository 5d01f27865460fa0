//! The sentences of what can be found out about a claim.

mod made;

use std::fmt;

use super::ClaimFacts;
use super::words::{Cut, Modes, Name, Names, NamesOf, Parts};
use crate::api::{AccessMode, ClaimKey};

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
                let and = |modes: &[AccessMode]| match modes {
                    [] => String::new(),
                    modes => format!(" {}", Modes(modes)),
                };
                write!(
                    f,
                    "is bound to {}: asked {asked}{}, has {granted}{} {}",
                    Name(volume),
                    and(asked_modes),
                    and(modes),
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
            Is::VolumeUnclaimed {
                volume,
                rivals,
                count,
            } => {
                write!(
                    f,
                    "is bound to {}, whose claimRef is gone: the next sync writes it again",
                    Name(volume)
                )?;
                match count {
                    0 => Ok(()),
                    _ => write!(
                        f,
                        ", unless a pending claim takes the volume first: {}",
                        Keys(rivals, *count)
                    ),
                }
            }
            Is::VolumeUnreachable {
                volume,
                is_bound,
                text,
            } => write!(
                f,
                "{} volume {}, which {text}",
                if *is_bound { "is bound to" } else { "fits" },
                Name(volume)
            ),
            Is::Competes {
                volume,
                rivals,
                count,
                fitting,
            } => write!(
                f,
                "may come too late for {}, which {} as well: {}, and {} it",
                Name(volume),
                match count {
                    1 => "fits another pending claim".to_owned(),
                    count => format!("fits {count} other pending claims"),
                },
                Keys(rivals, *count),
                match fitting {
                    0 | 1 => "no other volume fits".to_owned(),
                    more => format!("only {more} volumes fit"),
                }
            ),
            Is::ResizePending {
                volume,
                asked,
                granted,
                only_file_system,
                ..
            } => {
                write!(f, "asks for {asked} and has {granted}: ")?;
                match only_file_system {
                    true => write!(f, "{} has grown, its file system not yet", Name(volume)),
                    false => write!(f, "{} is still to grow", Name(volume)),
                }
            }
            Is::ResizeNotAllowed {
                class,
                asked,
                granted,
                ..
            } => write!(
                f,
                "asks for {asked} and has {granted}: class {} does not let volumes grow",
                Name(class)
            ),
            Is::ResizeInfeasible {
                volume,
                asked,
                granted,
                status,
                source,
            } => {
                write!(f, "asks for {asked} and has {granted}: ")?;
                match status.as_str() {
                    "" => write!(
                        f,
                        "nobody makes volume {} larger, which is of {}",
                        Name(volume),
                        Name(source)
                    ),
                    status => write!(
                        f,
                        "the driver does not make volume {} larger ({})",
                        Name(volume),
                        Cut(status)
                    ),
                }
            }
            Is::ModifyInfeasible { asked, current } => write!(
                f,
                "asks for VolumeAttributesClass {}, which the driver refuses for good: its volume \
                 has {}",
                Name(asked),
                Name(current)
            ),
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
            Is::AccessModeUnknown { mode, meant } => write!(
                f,
                "lists access mode {}, which does not exist: {} is meant",
                Name(mode),
                Name(meant.as_str())
            ),
            Is::SelectorInvalid { mistake } => {
                write!(f, "has a selector that cannot be read: {mistake}")
            }
            Is::AttributesClassDisabled { name } => write!(
                f,
                "names VolumeAttributesClass {}, while the feature is off",
                Name(name)
            ),
            Is::NamesVolumeDelayed { volume, class } => write!(
                f,
                "names volume {} though class {} waits for the first consumer: until it is bound, \
                 its pods are refused for an unbound immediate claim",
                Name(volume),
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
                has_owner,
                was_chosen,
                phase,
                ..
            } => write!(
                f,
                "names volume {}, which {} {}{}",
                Name(volume),
                match phase.as_str() {
                    _ if owner_uid.is_empty() => "is reserved for",
                    "Released" | "Failed" if !has_owner => "was released by",
                    "Available" => "belongs to",
                    _ => "is bound to",
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
            Is::ReservationIncomplete {
                volume,
                reference,
                rules,
            } => {
                write!(
                    f,
                    "is not bound to volume {}, which was meant for it: the {} of its claimRef is \
                     missing",
                    Name(volume),
                    if reference.namespace.is_empty() {
                        "namespace"
                    } else {
                        "name"
                    },
                )?;
                match rules.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", and it {}", Parts(rules)),
                }
            }
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
            Is::EarlierVolume {
                volume,
                phase,
                earlier_uid,
                rules,
            } if !rules.is_empty() => write!(
                f,
                "cannot take {} ({}), which has the data of an earlier claim of this name, of uid \
                 {}: it {}",
                Name(volume),
                Cut(phase),
                Name(earlier_uid),
                Parts(rules)
            ),
            Is::EarlierVolume {
                volume,
                phase,
                earlier_uid,
                ..
            } => write!(
                f,
                "is to get another volume, while {} ({}) has the data of an earlier claim of this \
                 name, of uid {}",
                Name(volume),
                Cut(phase),
                Name(earlier_uid)
            ),
            Is::LostVolumeName { volumes } => {
                f.write_str("is lost: it was bound, and no longer names its volume")?;
                match volumes.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; {} is bound to it", Names(volumes)),
                }
            }
            Is::LostVolume {
                volume,
                is_known: false,
            } => write!(
                f,
                "is lost, as its status says: its volume {} does not exist any more, or belongs \
                 to another claim",
                Name(volume)
            ),
            Is::LostVolume { volume, .. } => {
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
            Is::ClassEmpty { .. }
            | Is::DefaultClassRefused { .. }
            | Is::ClassUnset { .. }
            | Is::DefaultClass { .. }
            | Is::DefaultClassAmbiguous { .. }
            | Is::ClassAnnotation { .. }
            | Is::ClassMissing { .. }
            | Is::NoProvisioner { .. }
            | Is::ProvisionerGone { .. }
            | Is::NoBindingMode { .. }
            | Is::WaitsForConsumer { .. }
            | Is::WaitsForPods { .. }
            | Is::PodsUnschedulable { .. }
            | Is::PodBypassedScheduler { .. }
            | Is::PodOtherScheduler { .. }
            | Is::SelectedNodeGone { .. }
            | Is::SelectedNodeBlocks { .. }
            | Is::WaitsForProvisioner { .. }
            | Is::ProvisioningFails { .. }
            | Is::DriverUnknown { .. }
            | Is::SelectorRefused { .. }
            | Is::TopologyMismatch { .. }
            | Is::RequestRefused { .. }
            | Is::Infeasible { .. }
            | Is::DriverFails { .. }
            | Is::MadeVolumeUnusable { .. }
            | Is::WaitsForPopulator { .. }
            | Is::TopologyUnsatisfied { .. }
            | Is::NoCapacityPool { .. }
            | Is::ProvisioningOff { .. } => made::sentence(self, f),
        }
    }
}

/// Claims, of so many in all.
struct Keys<'a>(&'a [ClaimKey], usize);

impl fmt::Display for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ClaimKey::to_string).collect();
        NamesOf(&names, self.1).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::VolumeMode;
    use crate::quantity::Quantity;

    #[test]
    fn of_access_modes_that_are_not_there_nothing_is_said() {
        let bound = ClaimFacts::Bound {
            volume: "pv-1".to_owned(),
            asked: Quantity::ZERO,
            granted: "5Gi".parse().unwrap(),
            surplus: "5Gi".parse().unwrap(),
            asked_modes: Vec::new(),
            modes: Vec::new(),
            volume_mode: VolumeMode::Filesystem,
        };
        assert_eq!(
            bound.to_string(),
            "is bound to `pv-1`: asked 0, has 5Gi Filesystem, 5Gi more than asked"
        );
    }
}
