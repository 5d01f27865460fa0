//! The codes of all findings.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// How much a finding matters. The order is that of urgency.
///
/// ```
/// use pvbind::diagnosis::Severity;
/// assert!(Severity::Fine < Severity::Waiting && Severity::Risk < Severity::Fault);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// As it should be, or worth knowing.
    Fine,
    /// Somebody has to act, and is expected to.
    Waiting,
    /// It works, and something may go wrong or be other than meant.
    Risk,
    /// It does not work, and will not until somebody changes something.
    Fault,
}

impl Severity {
    /// Every severity, the least urgent first.
    pub const ALL: [Severity; 4] = [
        Severity::Fine,
        Severity::Waiting,
        Severity::Risk,
        Severity::Fault,
    ];

    /// The name, in lower case.
    ///
    /// ```
    /// use pvbind::diagnosis::Severity;
    /// assert_eq!(Severity::Waiting.as_str(), "waiting");
    /// // `Display` is the same, and can be padded.
    /// assert_eq!(format!("{:<8}pv-1", Severity::Risk), "risk    pv-1");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Fine => "fine",
            Severity::Waiting => "waiting",
            Severity::Risk => "risk",
            Severity::Fault => "fault",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads what [`Display`](fmt::Display) writes.
///
/// ```
/// use pvbind::diagnosis::Severity;
/// assert_eq!("risk".parse(), Ok(Severity::Risk));
/// ```
impl FromStr for Severity {
    type Err = SeverityError;

    fn from_str(text: &str) -> Result<Self, SeverityError> {
        let known = Severity::ALL.into_iter();
        let mut read = known.filter(|severity| severity.as_str() == text);
        read.next().ok_or_else(|| SeverityError {
            text: text.to_owned(),
        })
    }
}

/// A text that is no [`Severity`].
///
/// ```
/// use pvbind::diagnosis::Severity;
/// assert_eq!(
///     "Risk".parse::<Severity>().unwrap_err().to_string(),
///     "`Risk` is no severity: there are fine, waiting, risk and fault",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no severity: there are fine, waiting, risk and fault")]
pub struct SeverityError {
    /// The text.
    pub text: String,
}

/// A text that is no [`Code`].
///
/// ```
/// use pvbind::diagnosis::Code;
/// let error = "claim-broken".parse::<Code>().unwrap_err();
/// assert_eq!(error.to_string(), "`claim-broken` is no code of a finding");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no code of a finding")]
pub struct CodeError {
    /// The text.
    pub text: String,
}

macro_rules! codes {
    ($( $(#[$meta:meta])* $Code:ident = $text:literal, $Severity:ident $([$($reason:ident),*])?; )*) => {
        /// What was found, for programs. Each has a stable text, a severity, and
        /// facts of its own.
        ///
        /// ```
        /// use pvbind::diagnosis::Code;
        /// /// Whom to call.
        /// fn owner(code: Code) -> &'static str {
        ///     match code {
        ///         Code::ClaimInfeasible | Code::ClaimDriverFails => "storage",
        ///         Code::ClaimClassMissing | Code::ClaimNoVolumeFits => "platform",
        ///         _ => "the team of the namespace",
        ///     }
        /// }
        /// assert_eq!(owner(Code::ClaimDriverFails), "storage");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $( $(#[$meta])* $Code, )*
        }

        impl Code {
            /// Every code: first those of claims, then of volumes, then of pods.
            pub const ALL: &[Code] = &[$( Code::$Code, )*];

            /// The text, which never changes. JSON has it too.
            ///
            /// ```
            /// use pvbind::diagnosis::Code;
            /// assert_eq!(Code::ClaimLostVolume.as_str(), "claim-lost-volume");
            /// // And back, as from a flag `--ignore claim-competes`.
            /// assert_eq!("claim-competes".parse(), Ok(Code::ClaimCompetes));
            /// ```
            pub fn as_str(self) -> &'static str {
                match self {
                    $( Code::$Code => $text, )*
                }
            }

            /// How much it matters.
            ///
            /// ```
            /// use pvbind::diagnosis::{Code, Severity};
            /// assert_eq!(Code::ClaimClassMissing.severity(), Severity::Fault);
            /// // `Pending` is not always wrong: no pod uses it yet.
            /// assert_eq!(Code::ClaimWaitsForConsumer.severity(), Severity::Fine);
            /// ```
            pub fn severity(self) -> Severity {
                match self {
                    $( Code::$Code => Severity::$Severity, )*
                }
            }

            /// The reasons of the events that Kubernetes 1.36 records about an
            /// object with this main cause.
            ///
            /// ```
            /// use pvbind::diagnosis::Code;
            /// let told = Code::ALL.iter().filter(|code| code.event_reasons().contains(&"VolumeMismatch"));
            /// assert!(told.into_iter().any(|code| code.as_str() == "claim-names-mismatched-volume"));
            /// ```
            pub fn event_reasons(self) -> &'static [&'static str] {
                match self {
                    $( Code::$Code => &[$($(stringify!($reason)),*)?], )*
                }
            }
        }
    };
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads what [`Display`](fmt::Display) writes. Linear in the number of codes.
///
/// ```
/// use pvbind::diagnosis::Code;
/// assert_eq!("claim-lost-volume".parse(), Ok(Code::ClaimLostVolume));
/// ```
impl FromStr for Code {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let mut known = Code::ALL.iter().filter(|code| code.as_str() == text);
        known.next().copied().ok_or_else(|| CodeError {
            text: text.to_owned(),
        })
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

codes! {
    /// The claim has its volume.
    ClaimBound = "claim-bound", Fine;
    /// The claim has its volume, which does not say so.
    ClaimVolumeUnclaimed = "claim-volume-unclaimed", Risk;
    /// The next sync binds the claim to a volume.
    ClaimWouldBind = "claim-would-bind", Waiting;
    /// The claim asks for more than it was given before: a resize is going on.
    ClaimResizePending = "claim-resize-pending", Waiting;
    /// The claim asks for more than it was given, and its class does not let
    /// volumes grow.
    ClaimResizeNotAllowed = "claim-resize-not-allowed", Fault;
    /// Nobody will make the claim's volume larger.
    ClaimResizeInfeasible = "claim-resize-infeasible", Fault;
    /// The driver refuses the VolumeAttributesClass that the claim asks for.
    ClaimModifyInfeasible = "claim-modify-infeasible", Fault;
    /// No volume fits, and none will be made.
    ClaimNoVolumeFits = "claim-no-volume-fits", Fault [FailedBinding, ProvisioningFailed];
    /// A volume is too small only because the one amount is decimal and the
    /// other binary.
    ClaimDecimalAgainstBinary = "claim-decimal-against-binary", Fault;
    /// The claim asks for so little that a unit is probably missing.
    ClaimUnitMissing = "claim-unit-missing", Risk;
    /// The claim lists an access mode that does not exist.
    ClaimAccessModeUnknown = "claim-access-mode-unknown", Fault;
    /// The selector of the claim cannot be parsed.
    ClaimSelectorInvalid = "claim-selector-invalid", Fault;
    /// The claim names a VolumeAttributesClass while the feature is off.
    ClaimAttributesClassDisabled = "claim-attributes-class-disabled", Fault;
    /// The claim asks for volumes without class.
    ClaimClassEmpty = "claim-class-empty", Fine;
    /// The claim says nothing of a class, and there is no default class.
    ClaimClassUnset = "claim-class-unset", Fault [FailedBinding];
    /// The claim asks for volumes without class, so that the default class is
    /// not used.
    ClaimDefaultClassRefused = "claim-default-class-refused", Fault [FailedBinding];
    /// The claim says nothing of a class, and is given the default class.
    ClaimDefaultClass = "claim-default-class", Waiting;
    /// Several classes are marked as default.
    ClaimDefaultClassAmbiguous = "claim-default-class-ambiguous", Risk;
    /// The old annotation overrides another class in the field.
    ClaimClassAnnotation = "claim-class-annotation", Risk;
    /// The class does not exist.
    ClaimClassMissing = "claim-class-missing", Fault [ProvisioningFailed];
    /// Volumes of the class are made by hand.
    ClaimNoProvisioner = "claim-no-provisioner", Fine;
    /// The class names an in-tree provisioner that is no more.
    ClaimProvisionerGone = "claim-provisioner-gone", Fault [ProvisioningFailed];
    /// The class does not say when its claims are bound.
    ClaimNoBindingMode = "claim-no-binding-mode", Fault;
    /// No pod uses the claim yet, and it waits for one.
    ClaimWaitsForConsumer = "claim-waits-for-consumer", Fine [WaitForFirstConsumer];
    /// The pods that use the claim are not scheduled yet.
    ClaimWaitsForPods = "claim-waits-for-pods", Waiting [WaitForPodScheduled];
    /// The pods that use the claim cannot be scheduled, for their volumes.
    ClaimPodsUnschedulable = "claim-pods-unschedulable", Fault [WaitForPodScheduled];
    /// A pod was given a node without the scheduler, which alone selects a node
    /// for the claim.
    ClaimPodBypassedScheduler = "claim-pod-bypassed-scheduler", Fault [WaitForFirstConsumer, WaitForPodScheduled];
    /// A pod that uses the claim is left to another scheduler.
    ClaimPodOtherScheduler = "claim-pod-other-scheduler", Risk;
    /// A node was selected for the claim that is gone.
    ClaimSelectedNodeGone = "claim-selected-node-gone", Fault [ExternalProvisioning, ProvisioningFailed];
    /// A node was selected for the claim, so that only a volume that is made for
    /// it there would do, and its class makes none.
    ClaimSelectedNodeBlocks = "claim-selected-node-blocks", Fault [ProvisioningFailed];
    /// A claim that should wait for its consumer names a volume, so that its
    /// pods take it for an unbound immediate claim.
    ClaimNamesVolumeDelayed = "claim-names-volume-delayed", Risk;
    /// Somebody is to make a volume.
    ClaimWaitsForProvisioner = "claim-waits-for-provisioner", Waiting [ExternalProvisioning];
    /// The controller cannot have a volume made.
    ClaimProvisioningFails = "claim-provisioning-fails", Fault [ProvisioningFailed];
    /// No CSIDriver has the provisioner's name.
    ClaimDriverUnknown = "claim-driver-unknown", Risk;
    /// External provisioners refuse claims with a selector.
    ClaimSelectorRefused = "claim-selector-refused", Fault [ExternalProvisioning, ProvisioningFailed];
    /// The selected node does not fit the driver's topology.
    ClaimTopologyMismatch = "claim-topology-mismatch", Fault [ExternalProvisioning, ProvisioningFailed];
    /// The driver cannot be asked for such a volume at all.
    ClaimRequestRefused = "claim-request-refused", Fault [ExternalProvisioning, ProvisioningFailed];
    /// The provisioner said that the driver never makes such a volume.
    ClaimInfeasible = "claim-infeasible", Fault [ProvisioningFailed];
    /// The provisioner said that the driver failed; it tries again.
    ClaimDriverFails = "claim-driver-fails", Fault [ProvisioningFailed];
    /// A volume has the name of the one that is to be made, so that none is made,
    /// and the claim cannot have it.
    ClaimMadeVolumeUnusable = "claim-made-volume-unusable", Fault [ExternalProvisioning];
    /// A populator is to make the volume, and the driver is not asked.
    ClaimWaitsForPopulator = "claim-waits-for-populator", Waiting [ExternalProvisioning];
    /// No node is in the topologies that the class allows.
    ClaimTopologyUnsatisfied = "claim-topology-unsatisfied", Fault [ExternalProvisioning, WaitForFirstConsumer, WaitForPodScheduled];
    /// No capacity pool of the class has room for the claim.
    ClaimNoCapacityPool = "claim-no-capacity-pool", Fault [WaitForFirstConsumer, WaitForPodScheduled];
    /// Volumes are not made in this cluster.
    ClaimProvisioningOff = "claim-provisioning-off", Fault;
    /// The volume that the claim names does not exist.
    ClaimNamesMissingVolume = "claim-names-missing-volume", Fault;
    /// The volume that the claim names is another claim's.
    ClaimNamesTakenVolume = "claim-names-taken-volume", Fault [FailedBinding];
    /// The volume that the claim names does not fit.
    ClaimNamesMismatchedVolume = "claim-names-mismatched-volume", Fault [VolumeMismatch];
    /// No volume is ever made for a claim that names one.
    ClaimNeverProvisioned = "claim-never-provisioned", Fine;
    /// The claim's volume, or the one that it could have, is out of every node's
    /// reach.
    ClaimVolumeUnreachable = "claim-volume-unreachable", Fault [WaitForFirstConsumer, WaitForPodScheduled];
    /// Other claims may take the volume first, and then there is none.
    ClaimCompetes = "claim-competes", Risk;
    /// A volume is reserved for the claim, and cannot be used.
    ClaimReservedUnusable = "claim-reserved-unusable", Fault [FailedBinding, ProvisioningFailed];
    /// A volume is reserved for the claim, which takes another.
    ClaimReservedPassedOver = "claim-reserved-passed-over", Risk;
    /// A volume seems to be reserved for the claim, and its claimRef lacks
    /// namespace or name.
    ClaimReservationIncomplete = "claim-reservation-incomplete", Fault [FailedBinding, ProvisioningFailed];
    /// A volume still belongs to an earlier claim of the same name.
    ClaimReleasedByEarlier = "claim-released-by-earlier", Fault [FailedBinding, ProvisioningFailed];
    /// A volume of an earlier claim of the same name has its data, and this one
    /// gets another, or does not fit that.
    ClaimEarlierVolume = "claim-earlier-volume", Risk;
    /// The claim was bound, and no longer says to what.
    ClaimLostVolumeName = "claim-lost-volume-name", Fault [ClaimLost];
    /// The claim was bound, and its volume is gone.
    ClaimLostVolume = "claim-lost-volume", Fault [ClaimLost];
    /// The claim was bound to a volume that is another claim's.
    ClaimMisbound = "claim-misbound", Fault [ClaimMisbound];
    /// The volume that the claim is to be bound to does not say how large it
    /// is.
    ClaimVolumeWithoutCapacity = "claim-volume-without-capacity", Fault;
    /// The claim wants a copy, and is about to take a volume that is none.
    ClaimDataSourceIgnored = "claim-data-source-ignored", Risk;
    /// The claim was created with the annotations of a finished bind.
    ClaimBindingImported = "claim-binding-imported", Risk;
    /// The claim is being deleted.
    ClaimTerminating = "claim-terminating", Waiting;
    /// The answer depends on objects that are not there to be looked at.
    ClaimNotKnown = "claim-not-known", Waiting;

    /// The volume has its claim.
    VolumeBound = "volume-bound", Fine;
    /// The volume and its claim are about to be bound.
    VolumeBinding = "volume-binding", Waiting;
    /// The volume is free, and no pending claim is of its class.
    VolumeAvailable = "volume-available", Fine;
    /// The volume is free, and pending claims could take it.
    VolumeWanted = "volume-wanted", Waiting;
    /// The volume is free, and no pending claim of its class can take it.
    VolumeNotTaken = "volume-not-taken", Fine;
    /// A claim was bound to the volume, which does not say so.
    VolumeUnclaimed = "volume-unclaimed", Risk;
    /// The controller has not looked at the volume yet.
    VolumeNew = "volume-new", Waiting;
    /// The volume is reserved for a claim that has not taken it.
    VolumeReserved = "volume-reserved", Waiting;
    /// The volume is reserved for a claim that does not exist.
    VolumeReservedForNobody = "volume-reserved-for-nobody", Risk;
    /// The volume's claimRef lacks namespace or name.
    VolumeReservationIncomplete = "volume-reservation-incomplete", Fault;
    /// The claim of the volume names another volume.
    VolumeClaimElsewhere = "volume-claim-elsewhere", Risk;
    /// The claim of the volume is gone; it is to be released.
    VolumeClaimGone = "volume-claim-gone", Waiting;
    /// The volume and its claim are of different modes.
    VolumeModeMismatch = "volume-mode-mismatch", Fault [VolumeMismatch];
    /// The volume was released, and is kept.
    VolumeReleased = "volume-released", Waiting;
    /// The volume was released, and is to be deleted or recycled.
    VolumeReclaiming = "volume-reclaiming", Waiting;
    /// The volume was released and cannot be reclaimed.
    VolumeReclaimFails = "volume-reclaim-fails", Fault [VolumeFailedDelete, VolumeFailedRecycle, VolumeUnknownReclaimPolicy];
    /// Reclaiming the volume failed, and is tried again.
    VolumeFailed = "volume-failed", Fault [VolumeFailedDelete, VolumeFailedRecycle];
    /// Reclaiming the volume failed, and it is kept now.
    VolumeFailedKept = "volume-failed-kept", Waiting [VolumeFailedDelete, VolumeFailedRecycle];
    /// What happens to the volume when its claim is deleted.
    VolumeAtRelease = "volume-at-release", Fine;
    /// When its claim is deleted, the volume cannot be reclaimed.
    VolumeReleaseFails = "volume-release-fails", Risk;
    /// The volume is being deleted.
    VolumeTerminating = "volume-terminating", Waiting;
    /// The volume is being deleted, and nobody will remove a finalizer.
    VolumeTerminatingStuck = "volume-terminating-stuck", Fault;
    /// The volume was deleted while a claim has it.
    VolumeGoing = "volume-going", Risk;
    /// No node can reach the volume.
    VolumeUnreachable = "volume-unreachable", Fault;
    /// The node affinity asks for a node's name where the host label differs.
    VolumeAffinityNodeName = "volume-affinity-node-name", Fault;
    /// The node affinity asks for an old topology label where nodes carry the
    /// new one.
    VolumeAffinityOldLabel = "volume-affinity-old-label", Fault;
    /// The driver of the volume is not installed.
    VolumeDriverUnknown = "volume-driver-unknown", Risk;
    /// The volume lies on a node, and does not say on which.
    VolumeLocalAnywhere = "volume-local-anywhere", Fault;
    /// The volume is of an in-tree plugin that is no more.
    VolumeSourceGone = "volume-source-gone", Fault;
    /// Another volume is the same one of the backend.
    VolumeHandleShared = "volume-handle-shared", Risk;
    /// The labels of the volume name a zone or region in which there is no node.
    VolumeZoneElsewhere = "volume-zone-elsewhere", Risk;
    /// The volume lists an access mode that does not exist.
    VolumeAccessModeUnknown = "volume-access-mode-unknown", Fault;
    /// The claim of the volume is gone or going, and its data with it.
    VolumeDataAtRisk = "volume-data-at-risk", Risk;
    /// The policy `Recycle` is deprecated.
    VolumeRecycleDeprecated = "volume-recycle-deprecated", Risk;
    /// The volume is so small that a unit is probably missing.
    VolumeUnitMissing = "volume-unit-missing", Risk;

    /// The pod uses no claims.
    PodWithoutClaims = "pod-without-claims", Fine;
    /// The pod has finished.
    PodFinished = "pod-finished", Fine;
    /// The pod is being deleted.
    PodTerminating = "pod-terminating", Waiting;
    /// The pod is not to be scheduled before its scheduling gates are removed.
    PodGated = "pod-gated", Waiting;
    /// The pod has its node, and its claims are bound, or will be by the next
    /// sync.
    PodScheduled = "pod-scheduled", Fine;
    /// The pod has its node, and claims that only the scheduler could have had
    /// bound.
    PodBypassedScheduler = "pod-bypassed-scheduler", Fault;
    /// A claim does not exist.
    PodClaimMissing = "pod-claim-missing", Fault [FailedScheduling];
    /// The claim of an ephemeral volume is not made yet.
    PodEphemeralClaimMissing = "pod-ephemeral-claim-missing", Waiting [FailedScheduling];
    /// A claim has lost its volume.
    PodClaimLost = "pod-claim-lost", Fault [FailedScheduling];
    /// The pod has its node, and a claim that is not bound keeps it from starting.
    PodCannotStart = "pod-cannot-start", Fault;
    /// A claim is for one pod alone, and another pod uses it.
    PodClaimInUse = "pod-claim-in-use", Fault [FailedScheduling];
    /// A claim is for one pod alone, and other pods wait for it as well.
    PodClaimContested = "pod-claim-contested", Risk;
    /// A claim is being deleted.
    PodClaimTerminating = "pod-claim-terminating", Fault [FailedScheduling];
    /// The claim of an ephemeral volume is not the pod's.
    PodClaimNotOwned = "pod-claim-not-owned", Fault [FailedScheduling];
    /// Claims must be bound before the pod is scheduled.
    PodUnboundImmediate = "pod-unbound-immediate", Waiting [FailedScheduling];
    /// Claims must be bound before the pod is scheduled, and cannot be.
    PodClaimUnbindable = "pod-claim-unbindable", Fault [FailedScheduling];
    /// A class does not say when its claims are bound.
    PodNoBindingMode = "pod-no-binding-mode", Fault [FailedScheduling];
    /// No node fits, for the pod's volumes.
    PodNoNodeFits = "pod-no-node-fits", Fault [FailedScheduling];
    /// The volumes of some nodes fit.
    PodSomeNodesFit = "pod-some-nodes-fit", Waiting [FailedScheduling];
    /// A node was selected, and volumes are to be made for it.
    PodWaitsForVolumes = "pod-waits-for-volumes", Waiting [FailedScheduling];
    /// For some node there is no answer.
    PodSearchFails = "pod-search-fails", Fault [FailedScheduling];
    /// The pod is left to another scheduler.
    PodOtherScheduler = "pod-other-scheduler", Risk;
    /// There are no nodes to look at.
    PodNodesNotKnown = "pod-nodes-not-known", Waiting;
    /// The answer depends on objects that are not there to be looked at.
    PodNotKnown = "pod-not-known", Waiting;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn texts_are_unique_and_begin_with_the_kind_in_the_order_of_the_kinds() {
        let texts: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        let kind = |code: &&Code| {
            let kinds = ["claim-", "volume-", "pod-"];
            kinds
                .iter()
                .position(|kind| code.as_str().starts_with(kind))
        };
        let kinds: Vec<_> = Code::ALL.iter().map(|code| kind(&code).unwrap()).collect();
        assert!(kinds.is_sorted());
    }

    #[test]
    fn what_is_written_reads_back() {
        for code in Code::ALL {
            assert_eq!(code.to_string().parse(), Ok(*code));
        }
        for severity in Severity::ALL {
            assert_eq!(severity.to_string().parse(), Ok(severity));
        }
        assert!(Severity::ALL.is_sorted());
    }
}
