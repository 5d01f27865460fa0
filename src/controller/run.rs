//! Operations carried out: the synchronous driver.

use std::sync::Arc;

use super::{Config, Next, begin};
use crate::api::{Node, PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::plan::{ApiServer, Done, End, Operation, Plan, carry_out};
use crate::view::ClusterView;

/// What in-tree plugins do in their backend.
pub trait Backend {
    /// Whether a plugin can make volumes of a class at all.
    ///
    /// # Errors
    /// A text that says why not.
    fn start_provisioner(&mut self, plugin: &str, class: &StorageClass) -> Result<(), String>;

    /// Makes a volume. Of what it returns, name, claimRef, phase and class are
    /// overwritten.
    ///
    /// # Errors
    /// A text that says why it cannot.
    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String>;

    /// Deletes a volume; one that is not there is deleted.
    ///
    /// # Errors
    /// Why it is not deleted.
    fn delete(&mut self, plugin: &str, volume: &PersistentVolume) -> Result<(), DeleteError>;

    /// Deletes a volume's files.
    ///
    /// # Errors
    /// A text that says why it cannot.
    fn recycle(&mut self, plugin: &str, volume: &PersistentVolume) -> Result<(), String>;
}

/// A volume to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct ProvisionRequest {
    /// The plugin that is to make it.
    pub plugin: String,
    /// The name that it will have.
    pub volume_name: String,
    /// The claim that it is for.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The claim's class.
    pub class: Arc<StorageClass>,
    /// The node that the claim's first consumer was scheduled to.
    pub node: Option<Arc<Node>>,
}

/// Why a volume is not deleted in the backend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeleteError {
    /// The plugin cannot delete volumes at all now.
    #[error("{0}")]
    CannotStart(String),
    /// Somebody still uses it.
    #[error("{0}")]
    InUse(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// What was done in an operation.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct OperationReport {
    /// The steps that were tried, in order.
    pub done: Vec<Done>,
    /// What ended the operation early, for the log: a write that failed, or a
    /// read. A backend that failed is no error here: the operation went to its
    /// end and told about it in an event, which stands in `done`.
    pub error: Option<String>,
}

/// Runs an operation to its end: carries out its plans, and answers what it
/// waits for from the API server and the backend.
///
/// It is synchronous and waits nowhere; an embedder that wants to wait between
/// attempts, or that is asynchronous, writes the same loop.
pub fn run_operation<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    server: &mut (impl ApiServer + ?Sized),
    backend: &mut (impl Backend + ?Sized),
    operation: Operation,
) -> OperationReport {
    let mut done = Vec::new();
    let mut plan = begin(config, operation);
    let error = loop {
        let report = carry_out(server, plan);
        done.extend(report.done);
        let next = match report.end {
            End::Finished(next) => next,
            End::Stopped(failure) | End::StoppedSilently(failure) => {
                break Some(failure.to_string());
            }
        };
        plan = match next {
            Next::Finished => break None,
            Next::AfterWrite(next) => next.proceed(),
            Next::ReadVolume(next) => match server.read_volume(next.name()) {
                Ok(volume) => next.answer(config, view, volume),
                Err(error) => break Some(error.to_string()),
            },
            next => ask_backend(view, backend, next),
        };
    };
    OperationReport { done, error }
}

fn ask_backend<V: ClusterView + ?Sized>(
    view: &V,
    backend: &mut (impl Backend + ?Sized),
    next: Next,
) -> Plan<Next> {
    match next {
        Next::StartProvisioner(next) => {
            match backend.start_provisioner(next.plugin(), next.class()) {
                Ok(()) => next.started(view),
                Err(message) => next.cannot_start(&message),
            }
        }
        Next::Provision(next) => match backend.provision(&next.request()) {
            Ok(volume) => next.provisioned(volume),
            Err(message) => next.failed(&message),
        },
        Next::CleanUp(next) => match backend.delete(next.plugin(), next.volume()) {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message) | DeleteError::Failed(message)) => {
                next.failed(&message)
            }
        },
        Next::Delete(next) => match backend.delete(next.plugin(), next.volume()) {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message)) => next.in_use(&message),
            Err(DeleteError::Failed(message)) => next.failed(&message),
        },
        Next::Recycle(next) => match backend.recycle(next.plugin(), next.volume()) {
            Ok(()) => next.recycled(),
            Err(message) => next.failed(&message),
        },
        Next::Finished | Next::AfterWrite(_) | Next::ReadVolume(_) => Plan::empty(Next::Finished),
    }
}
