//! Operations: what the controller decides between the answers of a backend.

mod released;

mod next;
pub use next::{AfterWrite, Next, ReadVolume};

mod provision;
pub use provision::{CleanUpVolume, ProvisionVolume, StartProvisioner};

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
