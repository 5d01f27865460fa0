//! The call that makes a volume, and what follows its answers.

use std::sync::Arc;

use super::claim::selected_node;
use super::error::INFEASIBLE;
use super::volume_object::volume_object;
use super::{
    AnswerError, ClaimEnd, ClaimNext, ClaimOutcome, ClassParameters, CleanUp, Config, DataSource,
    Progress, ProvisionError, RequestError, SecretNames, SecretReference, SecretUse, csi,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim, StorageClass, names};
use crate::binding::claim_reference;
use crate::plan::{Change, Event, EventReason, OnFailure, Plan, Step, Write};

/// The call that makes a volume for a claim: see [`ClaimNext::CreateVolume`].
///
/// Ask for the [`request`](Self::request), add the
/// [secret](Self::provisioner_secret), call the driver, and answer with what it
/// said: [`created`](Self::created), [`infeasible`](Self::infeasible),
/// [`failed`](Self::failed), [`ignored`](Self::ignored), or
/// [`refused`](Self::refused) if there is no request. Each gives the next plan.
/// The call may be given up anywhere: the next sync makes it again, under the
/// same name.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateVolume {
    claim: Arc<PersistentVolumeClaim>,
    class: Arc<StorageClass>,
    volume_name: String,
}

/// Where a failed call left things.
///
/// ```
/// use pvbind::provisioner::CallState;
/// // ABORTED: an operation on the volume is pending.
/// assert_eq!(CallState::after_status(10, false), CallState::InBackground);
/// // RESOURCE_EXHAUSTED: no room in the accessible topology.
/// assert_eq!(CallState::after_status(8, true), CallState::Reschedule);
/// assert_eq!(CallState::after_status(8, false), CallState::Finished);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallState {
    /// It is over; nothing was made.
    Finished,
    /// The driver may still be at it, or the volume may be there: it must be
    /// asked again even if the claim goes.
    InBackground,
    /// It was not made at all; what was in progress still is.
    NoChange,
    /// It is over, and there may be room elsewhere: the scheduler is to choose
    /// another node.
    Reschedule,
}

impl CallState {
    /// The state after a gRPC status of this number other than OK and
    /// INVALID_ARGUMENT (3), by what the CSI specification says of
    /// CreateVolume. An INVALID_ARGUMENT is [infeasible](CreateVolume::infeasible).
    ///
    /// `may_reschedule` is [`CreateVolume::may_reschedule`].
    ///
    /// - CANCELLED (1), DEADLINE_EXCEEDED (4), UNAVAILABLE (14): nobody knows
    ///   whether the driver is still at it; ABORTED (10): it is. In background.
    /// - RESOURCE_EXHAUSTED (8): there is no room where it was asked for, and
    ///   nothing was made; the scheduler is to choose another place, or if it
    ///   cannot, the claim is tried again later: finished.
    /// - any other: finished.
    ///
    /// Follows external-provisioner 6, where RESOURCE_EXHAUSTED became final
    /// with version 3.1.
    pub fn after_status(code: u32, may_reschedule: bool) -> CallState {
        match code {
            8 if may_reschedule => CallState::Reschedule,
            1 | 4 | 10 | 14 => CallState::InBackground,
            _ => CallState::Finished,
        }
    }
}

impl CreateVolume {
    pub(super) fn new(
        claim: Arc<PersistentVolumeClaim>,
        class: Arc<StorageClass>,
        volume_name: String,
    ) -> Self {
        CreateVolume {
            claim,
            class,
            volume_name,
        }
    }

    /// The driver made this volume when it was asked so: the plan creates its
    /// object.
    ///
    /// A volume that is smaller than asked for, or not filled with what was asked
    /// for, is first to be deleted again, see [`ClaimNext::CleanUp`]; then, as for
    /// one without a name, the sync ends with an error, and the claim stays in
    /// progress.
    ///
    /// The object: the name that was asked for; capacity as the driver says, or
    /// as asked for if it says nothing; the driver's name for it as CSI source,
    /// with context, file system and secrets; node affinity from the accessible
    /// topology, one term for each, if the driver is told of topology; access
    /// modes, volume mode and VolumeAttributesClass of the claim; class; the
    /// class's policy, Delete if it has none, and its mount options; a full
    /// reference to the claim; `pv.kubernetes.io/provisioned-by` := the class's
    /// provisioner; the finalizer if in use.
    ///
    /// Follows `csiProvisioner.Provision` of external-provisioner 6.
    ///
    /// # Differences
    /// - A part of the accessible topology without labels is left out of the
    ///   affinity; as a term it would keep every node away.
    /// - A class without policy counts as Delete, which is what the API server
    ///   writes there.
    /// - Upstream asks only that the driver names some source, if one was asked
    ///   for; here it must be that one, so that no claim is bound to other data
    ///   than it asks for.
    /// - A volume without a name is an error; upstream makes an object that
    ///   nothing can use.
    pub fn created(
        self,
        config: &Config,
        request: &csi::CreateVolumeRequest,
        volume: &csi::Volume,
    ) -> Plan<ClaimNext> {
        match volume_object(config, &self, request, volume) {
            Ok(object) => self.provisioned(config, object),
            // The driver has made the volume: it must not be forgotten.
            Err(AnswerError::Request(error)) => {
                self.failed(&error.to_string(), CallState::InBackground)
            }
            Err(
                error @ (AnswerError::TooSmall { .. }
                | AnswerError::NoContentSource
                | AnswerError::OtherContentSource { .. }),
            ) => {
                let clean_up = CleanUp::new(self, volume.volume_id.clone(), error);
                Plan::empty(ClaimNext::CleanUp(clean_up))
            }
            Err(error @ AnswerError::NoVolumeId) => {
                self.failed(&error.to_string(), CallState::InBackground)
            }
        }
    }

    /// The volume was made, and this is its object: for an embedder that makes
    /// the object itself, as for an in-tree class that the driver took over.
    /// Its name, claimRef, class, the annotation and the finalizer are set here;
    /// all else is taken as it is. That the volume is as large as asked for, and
    /// filled with what was asked for, is for the embedder to see to.
    ///
    /// Follows `provisionClaimOperation` of sig-storage-lib-external-provisioner
    /// 13, after the provisioner returned a volume.
    pub fn provisioned(self, config: &Config, mut volume: PersistentVolume) -> Plan<ClaimNext> {
        let metadata = &mut volume.metadata;
        metadata.name = Some(self.volume_name.clone());
        metadata.set_annotation(names::PROVISIONED_BY, self.class.provisioner());
        if config.adds_finalizer {
            metadata.add_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER);
        }
        volume.spec.claim_ref = Some(claim_reference(&self.claim));
        volume.spec.storage_class_name = Some(self.claim.class_name().to_owned());
        let create = Write::CreateVolume {
            volume: Box::new(volume),
            attempts: 1,
        };
        let outcome = ClaimOutcome::Provisioned {
            volume: self.volume_name,
        };
        Plan {
            steps: vec![tell(create)],
            verdict: over(Ok(outcome), Progress::Finished),
        }
    }

    /// The driver says that the claim is not its business: nothing, and it is
    /// not tried again.
    pub fn ignored(self, reason: &str) -> Plan<ClaimNext> {
        let reason = reason.to_owned();
        Plan::empty(over(
            Ok(ClaimOutcome::Ignored { reason }),
            Progress::Finished,
        ))
    }

    /// The driver will never do what is asked for (gRPC INVALID_ARGUMENT). It is
    /// tried again much later, or when the class changes.
    pub fn infeasible(self, message: &str) -> Plan<ClaimNext> {
        let told = format!("{INFEASIBLE}{message}");
        let message = message.to_owned();
        let error = ProvisionError::Infeasible { message };
        Plan {
            steps: vec![self.failure(&told)],
            verdict: over(Err(error), Progress::Finished),
        }
    }

    /// The driver failed.
    pub fn failed(self, message: &str, state: CallState) -> Plan<ClaimNext> {
        let mut steps = vec![self.failure(message)];
        let has_node = self.claim.metadata.has_annotation(names::SELECTED_NODE);
        let progress = match state {
            CallState::Reschedule if has_node => {
                steps.push(tell(self.without_selected_node()));
                let outcome = Ok(ClaimOutcome::Rescheduled);
                let verdict = over(outcome, Progress::Finished);
                return Plan { steps, verdict };
            }
            CallState::Finished | CallState::Reschedule => Progress::Finished,
            CallState::InBackground => Progress::InBackground,
            CallState::NoChange => Progress::Unchanged,
        };
        let message = message.to_owned();
        let error = ProvisionError::Failed { message };
        Plan {
            steps,
            verdict: over(Err(error), progress),
        }
    }

    /// There is no [`request`](Self::request): as if the driver had failed and
    /// finished, or, if a populator makes the volume, had ignored the claim.
    /// Where the reason lies outside the claim and its class and may pass, as
    /// with a node that is not known for a moment, what is in progress stays so:
    /// the driver may still be at work from an earlier call.
    pub fn refused(self, error: &RequestError) -> Plan<ClaimNext> {
        match error {
            RequestError::ForPopulator { .. } => self.ignored(&error.to_string()),
            RequestError::Topology(_)
            | RequestError::SnapshotNotGiven { .. }
            | RequestError::CannotCopy { .. }
            | RequestError::AttributesNotGiven { .. }
            | RequestError::SecretIncomplete { .. }
            | RequestError::SecretTemplate { .. } => {
                self.failed(&error.to_string(), CallState::NoChange)
            }
            _ => self.failed(&error.to_string(), CallState::Finished),
        }
    }

    /// The operation's name; no two of one name may run at once.
    pub fn name(&self) -> String {
        let metadata = &self.claim.metadata;
        format!("provision-{}[{}]", metadata.key(), metadata.uid())
    }

    /// The claim.
    pub fn claim(&self) -> &Arc<PersistentVolumeClaim> {
        &self.claim
    }

    /// Its class.
    pub fn class(&self) -> &Arc<StorageClass> {
        &self.class
    }

    /// The name that the volume will have.
    pub fn volume_name(&self) -> &str {
        &self.volume_name
    }

    /// The node that the claim's first consumer was scheduled to, "" if none,
    /// whatever the class's binding mode.
    pub fn selected_node(&self) -> &str {
        selected_node(&self.claim)
    }

    /// Whether another node may be chosen: the driver is told of topology, and
    /// a node is selected.
    pub fn may_reschedule(&self, config: &Config) -> bool {
        config.topology.is_some() && !self.selected_node().is_empty()
    }

    /// What the volume is to be filled with. A snapshot is to be looked up and
    /// given to [`request`](Self::request); a claim is found there.
    pub fn data_source(&self) -> Option<DataSource> {
        DataSource::of(&self.claim)
    }

    /// The VolumeAttributesClass whose parameters are to be given to
    /// [`request`](Self::request); "" if none.
    pub fn attributes_class_name(&self) -> &str {
        self.claim.attributes_class_name()
    }

    /// The secret to be added to the request, if the class names one.
    ///
    /// # Errors
    /// What is wrong with the class's parameters; [`request`](Self::request)
    /// finds that too.
    pub fn provisioner_secret(&self) -> Result<Option<SecretReference>, RequestError> {
        self.secret(&ClassParameters::read(&self.class)?, SecretUse::Provisioner)
    }

    pub(super) fn secret(
        &self,
        parameters: &ClassParameters,
        usage: SecretUse,
    ) -> Result<Option<SecretReference>, RequestError> {
        let metadata = &self.claim.metadata;
        let names = SecretNames {
            volume: &self.volume_name,
            namespace: metadata.namespace(),
            claim: metadata.name(),
            annotations: Some(metadata),
        };
        parameters.secret(usage, &names)
    }

    fn failure(&self, message: &str) -> Step {
        let reason = EventReason::ProvisioningFailed;
        Step::Event(Event::on_claim(&self.claim, reason, message))
    }

    /// The scheduler is to choose again.
    fn without_selected_node(&self) -> Write {
        let mut claim = PersistentVolumeClaim::clone(&self.claim);
        claim.metadata.remove_annotation(names::SELECTED_NODE);
        Write::Claim(Change {
            from: Arc::clone(&self.claim),
            to: Arc::new(claim),
        })
    }
}

fn over(outcome: Result<ClaimOutcome, ProvisionError>, progress: Progress) -> ClaimNext {
    ClaimNext::Over(ClaimEnd { outcome, progress })
}

fn tell(write: Write) -> Step {
    Step::Write {
        write,
        on_failure: OnFailure::Tell,
    }
}
