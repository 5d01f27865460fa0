//! Operations: what the controller decides between the answers of a backend.

mod released;

mod next;
pub use next::{AfterWrite, Next, ReadVolume};

mod provision;
pub(crate) use provision::volume_name_for;
pub use provision::{ProvisionVolume, StartProvisioner};

mod clean_up;
pub use clean_up::CleanUpVolume;

mod delete;
pub use delete::DeleteVolume;

mod recycle;
pub use recycle::RecycleVolume;

#[cfg(test)]
mod tests;

use super::Config;
use crate::plan::{Operation, Plan};

/// The first plan of an operation.
///
/// Carry out the plan, then answer what its verdict, a [`Next`], asks for; that
/// gives the next plan, until the verdict is [`Next::Finished`].
/// [`run_operation`](super::run_operation) is that loop.
///
/// An operation may be given up anywhere, as when the embedder ends or a read
/// fails: the next sync of the object starts it again if it is still needed.
///
/// Follows `provisionClaimOperation`, `provisionClaimOperationExternal`,
/// `deleteVolumeOperation` and `recycleVolumeOperation` of Kubernetes 1.36, up to
/// where they first wait.
///
/// # Cost
/// At most one copy of the claim, where the provisioner is to be noted on it.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolumeClaim, StorageClass};
/// use pvbind::controller::{Config, Next, begin};
/// use pvbind::plan::{Execution, Operation, Provisioner, Step, Write, Written};
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?;
/// let mut execution = Execution::new(begin(&Config::default(), Operation::Provision {
///     claim: Arc::new(claim),
///     class: Arc::new(StorageClass::default()),
///     provisioner: Provisioner::External("csi.example.com".to_owned()),
/// }));
/// // First the claim is told who is to make its volume ...
/// let Some(Step::Write { write: Write::Claim(change), .. }) = execution.step() else { panic!() };
/// let provisioner = change.to.metadata.annotation("volume.kubernetes.io/storage-provisioner");
/// assert_eq!(provisioner, Some("csi.example.com"));
/// let written = Written::Claim(Arc::clone(&change.to));
/// execution.answer(Ok(written));
/// // ... and when that is done, people are.
/// let Next::AfterWrite(next) = execution.finish().end.finished()? else { panic!() };
/// let plan = next.proceed();
/// let [Step::Event(event)] = plan.steps.as_slice() else { panic!() };
/// assert_eq!(event.reason.as_str(), "ExternalProvisioning");
/// assert_eq!(plan.verdict, Next::Finished);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn begin(config: &Config, operation: Operation) -> Plan<Next> {
    match operation {
        Operation::Provision {
            claim,
            class,
            provisioner,
        } => provision::begin(config, claim, class, provisioner),
        Operation::Delete { volume } => delete::begin(config, &volume),
        Operation::Recycle { volume } => recycle::begin(&volume),
    }
}
