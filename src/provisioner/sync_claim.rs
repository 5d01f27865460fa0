//! One sync of a claim: up to where the driver is called.

use std::sync::Arc;

use super::claim::class_to_provision;
use super::error::NO_BLOCK_SUPPORT;
use super::next::other_holder;
use super::{
    ClaimEnd, ClaimNext, ClaimOutcome, Config, CreateVolume, NotNow, Progress, ProvisionError,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim, VolumeMode};
use crate::plan::{Event, EventReason, Plan, Step};
use crate::view::{ClusterView, Held};

/// One sync of a claim: nothing, or the call to the driver.
///
/// Carry out the plan, then answer what its verdict, a [`ClaimNext`], asks for;
/// that gives the next plan, until it is [`ClaimNext::Over`]. The end says
/// whether the claim is to be tried again, and whether it is still in progress:
/// see [`Ledger`](super::Ledger). No two syncs of one claim may run at once.
/// [`run_claim`](super::run_claim) is that loop.
///
/// It knows nothing of earlier syncs. Whoever keeps a ledger begins with
/// [`Ledger::sync_claim`](super::Ledger::sync_claim) instead.
///
/// In order: is the claim [ours, and now](super::check_claim)? Is its volume
/// known already? Can the driver make a raw device, if that is asked for? Is
/// the class's provisioner ours? Then the event Provisioning, and the driver is
/// called.
///
/// Follows `syncClaim` and `provisionClaimOperation` of
/// sig-storage-lib-external-provisioner 13.
///
/// # Differences
/// - The volume that is looked for has the name that [`Config::volume_names`]
///   gives; upstream's library looks for `pvc-UID`, unless it is told another.
/// - A volume that has the name by a shortened uid and belongs to another claim
///   is an error, [`ProvisionError::NameTaken`], with an event, whether it is
///   known or found when the object is to be created; upstream takes it for the
///   claim's own.
/// - Creating the volume object is tried once; if it fails, the claim stays in
///   progress and the next sync asks the driver again, which gives the same
///   volume. Upstream tries to create the object again by itself.
///
/// # Cost
/// Two look-ups, and a copy of the claim if it was given as a plain reference.
///
/// ```
/// use pvbind::api::{PersistentVolumeClaim, read_objects};
/// use pvbind::provisioner::{ClaimNext, Config, RequestInputs, csi, sync_claim};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(
///     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
/// )?
/// .into_iter()
/// .collect();
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
///     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
///         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
///     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
///         "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// let config = Config::new("disk.csi");
/// // The event "External provisioner is provisioning volume for claim".
/// let plan = sync_claim(&config, &snapshot, &claim);
/// assert_eq!(plan.steps.len(), 1);
///
/// let ClaimNext::CreateVolume(operation) = plan.verdict else { panic!() };
/// let request = operation.request(&config, &snapshot, &RequestInputs::default())?;
/// assert_eq!(request.name, "pvc-u-1");
/// assert_eq!(request.capacity_range.unwrap().required_bytes, 5 << 30);
///
/// // The driver answers; the volume is created.
/// let volume = csi::Volume { volume_id: "h-1".into(), ..csi::Volume::default() };
/// let plan = operation.created(&config, &request, &volume);
/// assert!(plan.has_writes() && matches!(plan.verdict, ClaimNext::Over(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sync_claim<'a, V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    claim: impl Into<Held<'a, PersistentVolumeClaim>>,
) -> Plan<ClaimNext> {
    let claim = claim.into();
    let class = match class_to_provision(config, view, &claim) {
        Ok(class) => class,
        Err(NotNow::ClassNotFound { class }) => {
            let error = ProvisionError::ClassNotFound { class };
            return over(Err(error), Progress::Unchanged);
        }
        Err(refusal) => {
            // It has a volume, and nobody would ever ask for it again.
            let progress = match refusal {
                NotNow::HasVolume { .. } => Progress::Finished,
                _ => Progress::Unchanged,
            };
            return over(Ok(ClaimOutcome::NotNow(refusal)), progress);
        }
    };
    let volume_name = config.volume_names.name_for(&claim);
    if let Some(volume) = view.volume(&volume_name) {
        let outcome = known(config, &claim, &volume);
        let failure = outcome.as_ref().err().map(|error| {
            let reason = EventReason::ProvisioningFailed;
            Step::Event(Event::on_claim(&claim, reason, error.to_string()))
        });
        return Plan {
            steps: failure.into_iter().collect(),
            ..over(outcome, Progress::Finished)
        };
    }
    if *claim.volume_mode() == VolumeMode::Block && !config.supports_block {
        let driver = &config.driver;
        let message = format!("{driver}{NO_BLOCK_SUPPORT}");
        let event = Event::on_claim(&claim, EventReason::ProvisioningFailed, message);
        return Plan {
            steps: vec![Step::Event(event)],
            ..over(Ok(ClaimOutcome::NoBlockSupport), Progress::Finished)
        };
    }
    if !config.answers_to(class.provisioner()) {
        let provisioner = class.provisioner().to_owned();
        let outcome = ClaimOutcome::ClassOfAnother { provisioner };
        return over(Ok(outcome), Progress::Finished);
    }
    let key = claim.metadata.key();
    let message = format!("External provisioner is provisioning volume for claim {key:?}");
    let event = Event::on_claim(&claim, EventReason::Provisioning, message);
    Plan {
        steps: vec![Step::Event(event)],
        verdict: ClaimNext::CreateVolume(CreateVolume::new(
            claim.into_arc(),
            class.into_arc(),
            volume_name,
        )),
    }
}

/// The claim's volume is known already.
fn known(
    config: &Config,
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) -> Result<ClaimOutcome, ProvisionError> {
    let is_shortened = config.volume_names.uid_length().is_some();
    match other_holder(volume, claim.metadata.uid()) {
        Some(error) if is_shortened => Err(error),
        _ => Ok(ClaimOutcome::VolumeKnown {
            volume: volume.name().to_owned(),
        }),
    }
}

pub(super) fn over(
    outcome: Result<ClaimOutcome, ProvisionError>,
    progress: Progress,
) -> Plan<ClaimNext> {
    Plan::empty(ClaimNext::Over(ClaimEnd { outcome, progress }))
}

/// Continues a claim that is in progress although it may be gone: as
/// [`sync_claim`], with the claim as it was when the driver was last asked.
///
/// Only for claims that are [in progress](super::Ledger::is_in_progress): for any
/// other that is gone a volume would be made that nobody asks for.
/// [`Ledger::sync_claim`](super::Ledger::sync_claim) sees to that.
///
/// A claim that was deleted while the driver worked must be continued, or else
/// the volume that comes out belongs to nobody. Its volume object is created
/// all the same; the binding controller then finds its claim gone, releases it,
/// and it is deleted like any other. If the view has the claim, of that uid, it is
/// taken from there.
///
/// Follows the handling of `claimsInProgress` of
/// sig-storage-lib-external-provisioner 13. Costs one look-up more than
/// [`sync_claim`].
///
/// ```
/// use std::sync::Arc;
/// use pvbind::provisioner::{ClaimNext, Config, continue_claim, sync_claim};
/// # use pvbind::api::{PersistentVolumeClaim, read_objects};
/// # use pvbind::view::Snapshot;
/// # let view: Snapshot = read_objects(
/// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
/// # )?.into_iter().collect();
/// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
/// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
/// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
/// #         "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// # let config = Config::new("disk.csi");
/// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
/// #     panic!()
/// # };
/// // The claim is gone from the view, and the driver is asked all the same.
/// let plan = continue_claim(&config, &view, &Arc::new(claim));
/// assert!(matches!(plan.verdict, ClaimNext::CreateVolume(again) if again == operation));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn continue_claim<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    in_progress: &Arc<PersistentVolumeClaim>,
) -> Plan<ClaimNext> {
    let metadata = &in_progress.metadata;
    let current = view.claim(metadata.namespace(), metadata.name());
    let current = current.filter(|current| current.metadata.uid() == metadata.uid());
    match current {
        Some(current) => sync_claim(config, view, current),
        None => sync_claim(config, view, in_progress),
    }
}
