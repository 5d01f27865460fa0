//! What can be found out about a pod.

use std::fmt;

use serde::Serialize;

use super::parts::Counted;
use super::words::{Count, Cut, Name, Names, NamesOf, Parts};
use crate::api::ClaimKey;

/// A claim of a pod, and how it stands.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #          "spec": {"storageClassName": "fasst"}}
/// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
/// #          "spec": {
/// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}
/// #     {"kind": "Node", "metadata": {"name": "node-1"}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_pod;
/// # let pod = snapshot.pods().next().ok_or("no pod")?;
/// # let diagnosis = diagnose_pod(&Config::default(), &snapshot, pod);
/// use pvbind::diagnosis::{ClaimStanding, Code, Facts, PodFacts};
/// // Why the pod waits, by way of why its claim does.
/// let Facts::Pod(PodFacts::ClaimUnbindable { claims }) = &diagnosis.main().facts else { panic!() };
/// let standing: &ClaimStanding = &claims[0];
/// assert_eq!(standing.code, Code::ClaimClassMissing);
/// assert_eq!(standing.to_string(), "claim `shop/data` has class `fasst`, which does not exist");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClaimStanding {
    /// The claim.
    pub claim: ClaimKey,
    /// The code of its main finding.
    pub code: super::Code,
    /// Its main finding.
    pub text: String,
}

impl fmt::Display for ClaimStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {} {}", Name(&self.claim.to_string()), self.text)
    }
}

facts! {
    /// What was found out about a pod. `Display` is the sentence.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_pod;
    /// # let pod = snapshot.pods().next().ok_or("no pod")?;
    /// # let diagnosis = diagnose_pod(&Config::default(), &snapshot, pod);
    /// use pvbind::diagnosis::{Facts, PodFacts};
    /// let Facts::Pod(PodFacts::ClaimMissing { claim, .. }) = &diagnosis.main().facts else { panic!() };
    /// assert_eq!(claim.to_string(), "shop/data");
    /// assert_eq!(diagnosis.main().to_string(), "uses claim `shop/data`, which does not exist");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum PodFacts {
        /// See [`Code::PodWithoutClaims`](super::Code::PodWithoutClaims).
        WithoutClaims: PodWithoutClaims {
            /// Its node, "" if it has none yet.
            node: String,
        },
        /// See [`Code::PodFinished`](super::Code::PodFinished).
        Finished: PodFinished {
            /// The phase.
            phase: String,
        },
        /// See [`Code::PodTerminating`](super::Code::PodTerminating).
        Terminating: PodTerminating {
            /// Its node, "" if it has none: then it never gets one.
            node: String,
        },
        /// See [`Code::PodGated`](super::Code::PodGated).
        Gated: PodGated {
            /// The scheduling gates.
            gates: Vec<String>,
        },
        /// See [`Code::PodScheduled`](super::Code::PodScheduled).
        Scheduled: PodScheduled {
            /// Its node.
            node: String,
            /// Whether it runs there, and so has its volumes.
            is_running: bool,
        },
        /// See [`Code::PodBypassedScheduler`](super::Code::PodBypassedScheduler).
        BypassedScheduler: PodBypassedScheduler {
            /// Its node.
            node: String,
            /// The claims that wait for the scheduler.
            claims: Vec<ClaimKey>,
        },
        /// See [`Code::PodClaimMissing`](super::Code::PodClaimMissing).
        ClaimMissing: PodClaimMissing {
            /// The claim.
            claim: ClaimKey,
            /// Claims of similar names in its namespace.
            similar: Vec<String>,
            /// Other namespaces that have a claim of this name, of many the first
            /// few.
            elsewhere: Vec<String>,
        },
        /// See [`Code::PodEphemeralClaimMissing`](super::Code::PodEphemeralClaimMissing).
        EphemeralClaimMissing: PodEphemeralClaimMissing {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::PodClaimLost`](super::Code::PodClaimLost).
        ClaimLost: PodClaimLost {
            /// The claim.
            claim: ClaimKey,
            /// The volume that it names, possibly none.
            volume: String,
        },
        /// See [`Code::PodCannotStart`](super::Code::PodCannotStart).
        CannotStart: PodCannotStart {
            /// Its node.
            node: String,
            /// The claims that are not bound, in the order of the pod's volumes,
            /// and how they stand.
            claims: Vec<ClaimStanding>,
        },
        /// See [`Code::PodClaimInUse`](super::Code::PodClaimInUse).
        ClaimInUse: PodClaimInUse {
            /// The claim.
            claim: ClaimKey,
            /// The pods of its namespace that use it.
            pods: Vec<String>,
        },
        /// See [`Code::PodClaimContested`](super::Code::PodClaimContested).
        ClaimContested: PodClaimContested {
            /// The claim.
            claim: ClaimKey,
            /// The other pods of its namespace that wait for it, of many the first
            /// few.
            pods: Vec<String>,
            /// How many there are.
            count: usize,
        },
        /// See [`Code::PodClaimTerminating`](super::Code::PodClaimTerminating).
        ClaimTerminating: PodClaimTerminating {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::PodClaimNotOwned`](super::Code::PodClaimNotOwned).
        ClaimNotOwned: PodClaimNotOwned {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::PodUnboundImmediate`](super::Code::PodUnboundImmediate).
        UnboundImmediate: PodUnboundImmediate {
            /// Those claims, in the order of the pod's volumes, and how they
            /// stand.
            claims: Vec<ClaimStanding>,
        },
        /// See [`Code::PodClaimUnbindable`](super::Code::PodClaimUnbindable).
        ClaimUnbindable: PodClaimUnbindable {
            /// The claims that are not bound, and how they stand.
            claims: Vec<ClaimStanding>,
        },
        /// See [`Code::PodNoBindingMode`](super::Code::PodNoBindingMode).
        NoBindingMode: PodNoBindingMode {
            /// The class.
            class: String,
        },
        /// See [`Code::PodNoNodeFits`](super::Code::PodNoNodeFits).
        NoNodeFits: PodNoNodeFits {
            /// How many nodes there are.
            nodes: usize,
            /// How many nodes are unfit for which reason; a node may be for
            /// several.
            reasons: Vec<Counted>,
            /// What stands in the way, each thing once, of many the first few.
            obstacles: Vec<String>,
        },
        /// See [`Code::PodSomeNodesFit`](super::Code::PodSomeNodesFit).
        SomeNodesFit: PodSomeNodesFit {
            /// How many nodes there are.
            nodes: usize,
            /// How many of them fit.
            fitting: usize,
            /// The first of them by name.
            example: String,
            /// How many of those that fit are cordoned, or have a taint that keeps
            /// pods away; whether the pod tolerates it was not looked at.
            kept_free: usize,
            /// How many of the others are unfit for which reason.
            reasons: Vec<Counted>,
        },
        /// See [`Code::PodWaitsForVolumes`](super::Code::PodWaitsForVolumes).
        WaitsForVolumes: PodWaitsForVolumes {
            /// The node that was selected.
            node: String,
            /// The claims for which volumes are to be made.
            claims: Vec<ClaimKey>,
        },
        /// See [`Code::PodSearchFails`](super::Code::PodSearchFails).
        SearchFails: PodSearchFails {
            /// Why there is no answer.
            message: String,
        },
        /// See [`Code::PodOtherScheduler`](super::Code::PodOtherScheduler).
        OtherScheduler: PodOtherScheduler {
            /// The scheduler.
            scheduler: String,
        },
        /// See [`Code::PodNodesNotKnown`](super::Code::PodNodesNotKnown).
        NodesNotKnown: PodNodesNotKnown {
            /// The claims that must find a volume on a node.
            claims: Vec<ClaimKey>,
        },
        /// See [`Code::PodNotKnown`](super::Code::PodNotKnown).
        NotKnown: PodNotKnown {
            /// The kind of objects, in words.
            what: String,
            /// The object that was not found, "" if it is not one.
            name: String,
        },
    }

    /// The code that the facts belong to.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}
    /// #     {"kind": "Node", "metadata": {"name": "node-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_pod;
    /// # let pod = snapshot.pods().next().ok_or("no pod")?;
    /// # let diagnosis = diagnose_pod(&Config::default(), &snapshot, pod);
    /// use pvbind::diagnosis::{Code, Facts};
    /// let Facts::Pod(facts) = &diagnosis.main().facts else { panic!() };
    /// assert_eq!(facts.code(), Code::PodClaimUnbindable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn code;
}

impl fmt::Display for PodFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PodFacts as Is;
        let named = |claim: &ClaimKey| claim.to_string();
        match self {
            Is::WithoutClaims { node } => match node.as_str() {
                "" => f.write_str("uses no claims"),
                node => write!(f, "uses no claims, and is on node {}", Name(node)),
            },
            Is::Finished { phase } => write!(f, "has finished ({})", Cut(phase)),
            Is::Terminating { node } => match node.as_str() {
                "" => f.write_str("is being deleted, and will not be scheduled"),
                node => write!(f, "is being deleted from node {}", Name(node)),
            },
            Is::Gated { gates } => {
                let gate = if gates.len() == 1 { "gate" } else { "gates" };
                write!(
                    f,
                    "is not scheduled as long as it has scheduling {gate} {}",
                    Names(gates)
                )
            }
            Is::Scheduled { node, is_running } => {
                write!(f, "is on node {}", Name(node))?;
                match is_running {
                    true => Ok(()),
                    false => f.write_str(
                        ", and does not run yet: whether its volumes are attached and mounted \
                         was not looked at",
                    ),
                }
            }
            Is::BypassedScheduler { node, claims } => write!(
                f,
                "was given node {} without the scheduler, for which claim {} still waits",
                Name(node),
                Name(&claims.first().map(named).unwrap_or_default())
            ),
            Is::ClaimMissing {
                claim,
                similar,
                elsewhere,
            } => {
                write!(
                    f,
                    "uses claim {}, which does not exist",
                    Name(&named(claim))
                )?;
                if !similar.is_empty() {
                    write!(f, "; there is {}", Names(similar))?;
                }
                match elsewhere.as_slice() {
                    [] => Ok(()),
                    [namespace] => write!(
                        f,
                        "; namespace {} has one of this name, which no pod of another can use",
                        Name(namespace)
                    ),
                    namespaces => write!(
                        f,
                        "; namespaces {} have one of this name, which no pod of another can use",
                        Names(namespaces)
                    ),
                }
            }
            Is::EphemeralClaimMissing { claim } => write!(
                f,
                "waits for claim {} of its ephemeral volume to be created",
                Name(&named(claim))
            ),
            Is::ClaimLost { claim, volume } => write!(
                f,
                "uses claim {}, which has lost its volume ({})",
                Name(&named(claim)),
                Name(volume)
            ),
            Is::CannotStart { node, claims } => write!(
                f,
                "is on node {}, and cannot start: {}",
                Name(node),
                Parts(claims)
            ),
            Is::ClaimInUse { claim, pods } => write!(
                f,
                "uses claim {}, which is for one pod alone and is used by {}",
                Name(&named(claim)),
                Names(pods)
            ),
            Is::ClaimContested { claim, pods, count } => write!(
                f,
                "uses claim {}, which is for one pod alone and is waited for by {} too: one of \
                 them is scheduled",
                Name(&named(claim)),
                NamesOf(pods, *count)
            ),
            Is::ClaimTerminating { claim } => {
                write!(
                    f,
                    "uses claim {}, which is being deleted",
                    Name(&named(claim))
                )
            }
            Is::ClaimNotOwned { claim } => write!(
                f,
                "has an ephemeral volume whose claim {} belongs to somebody else",
                Name(&named(claim))
            ),
            Is::ClaimUnbindable { claims } => write!(
                f,
                "is not scheduled before its claims are bound, which cannot be: {}",
                Parts(claims)
            ),
            Is::UnboundImmediate { claims } => write!(
                f,
                "waits for claims that must be bound before it is scheduled: {}",
                Parts(claims)
            ),
            Is::NoBindingMode { class } => write!(
                f,
                "uses a claim of class {}, which does not say when its claims are bound",
                Name(class)
            ),
            Is::NoNodeFits {
                nodes,
                reasons,
                obstacles,
            } => {
                write!(
                    f,
                    "fits none of {}: {}",
                    Count(*nodes, "node"),
                    Parts(reasons)
                )?;
                match obstacles.first() {
                    Some(first) => write!(f, "; {}", Cut(first)),
                    None => Ok(()),
                }
            }
            Is::SomeNodesFit {
                nodes,
                fitting,
                reasons,
                kept_free,
                ..
            } => {
                write!(
                    f,
                    "is not scheduled, though its volumes fit {fitting} of {}",
                    Count(*nodes, "node"),
                )?;
                match (*kept_free, *fitting) {
                    (0, _) => {}
                    (1, 1) => f.write_str(", which is cordoned or tainted")?,
                    (kept, fitting) if kept == fitting => {
                        f.write_str(", which are all cordoned or tainted")?;
                    }
                    (kept, _) => write!(f, ", of which {kept} cordoned or tainted")?,
                }
                f.write_str(" (tolerations, room and attach limits were not looked at)")?;
                match reasons.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; {}", Parts(reasons)),
                }
            }
            Is::WaitsForVolumes { node, claims } => {
                let names: Vec<_> = claims.iter().map(ClaimKey::to_string).collect();
                write!(
                    f,
                    "waits for volumes to be made on node {} for {}",
                    Name(node),
                    Names(&names)
                )
            }
            Is::SearchFails { message } => {
                write!(f, "cannot be scheduled: {}", Cut(message))
            }
            Is::OtherScheduler { scheduler } => {
                write!(f, "is left to scheduler {}", Name(scheduler))
            }
            Is::NotKnown { what, name } => match name.as_str() {
                "" => write!(
                    f,
                    "depends on the {what} of the cluster, which are not known"
                ),
                name => write!(
                    f,
                    "depends on {}, and the {what} of the cluster are not known",
                    Name(name)
                ),
            },
            Is::NodesNotKnown { claims } => write!(
                f,
                "is to find volumes for {} on a node, and no nodes are known",
                Count(claims.len(), "claim")
            ),
        }
    }
}
