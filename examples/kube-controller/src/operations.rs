//! Slow work in a backend: each operation is a task of its own, at most one of
//! each name at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pvbind::api::{ClaimKey, ObjectReference, PersistentVolume};
use pvbind::controller::{Config, DeleteError, Next, begin};
use pvbind::plan::{
    ApiError, ApiErrorKind, Done, End, Event, EventReason, EventType, Execution, FollowUp,
    Operation, Plan, Provisioner as Who, Report, Step, Write, Written,
};
use pvbind::view::Snapshot;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::events::Publisher;
use crate::permit::{Names, Permit};
use crate::provisioner::Provisioner;
use crate::queue::{Key, delay_after};
use crate::server::{Answer, ApiServer};
use crate::worker::is_from_before;

/// How long to wait before a creation is tried again, and before it is asked
/// what became of it; as upstream.
const BETWEEN_CREATIONS: Duration = Duration::from_secs(10);

/// What carries plans out.
#[derive(Clone)]
pub struct Hands {
    /// Where writes go.
    pub server: ApiServer,
    /// Where events go.
    pub events: Publisher,
}

impl Hands {
    /// Carries out a plan in order, up to the first failure that stops it, and
    /// shows each answer of the API server. It is cut off when the term is over,
    /// and when nobody knows whether a volume was created.
    pub async fn carry_out<V: FollowUp>(
        &self,
        plan: Plan<V>,
        mut heard: impl FnMut(&Answer),
    ) -> Report<V> {
        let mut execution = Execution::new(plan);
        let mut failed_creations = 0;
        while let Some(step) = execution.step() {
            let result = match step {
                Step::Write { write, .. } => {
                    if let Err(error) = self.server.term().check() {
                        warn!(object = write.key(), %error, "not written");
                        break;
                    }
                    let Some(result) = self.write(write, &mut failed_creations).await else {
                        break;
                    };
                    result.map(|answer| {
                        heard(&answer);
                        answer.for_plan()
                    })
                }
                Step::Event(event) => {
                    self.events.publish(event);
                    Ok(Written::Nothing)
                }
                // These stand in the report.
                Step::EnqueueClaim(_) | Step::Start(_) => Ok(Written::Nothing),
                // A step of a later version must not count as done.
                step => Err(unknown(step)),
            };
            execution.answer(result);
        }
        execution.finish()
    }

    /// Sends a write; `None` if nobody knows what became of it, and it matters.
    async fn write(
        &self,
        write: &Write,
        failed_creations: &mut u32,
    ) -> Option<Result<Answer, ApiError>> {
        let result = self.server.send(write).await;
        let (resource, object) = (write.resource(), write.key());
        let part = write.subresource();
        match &result {
            Ok(_) => info!(resource, object, part, "written"),
            Err(error) => warn!(resource, object, part, %error, "not written"),
        }
        let (Write::CreateVolume { volume, attempts }, Err(error)) = (write, &result) else {
            return Some(result);
        };
        if error.kind == ApiErrorKind::AlreadyExists {
            return Some(result);
        }
        *failed_creations = failed_creations.saturating_add(1);
        tokio::time::sleep(BETWEEN_CREATIONS).await;
        match *failed_creations < *attempts {
            true => Some(result),
            false => self.creation_failed(volume, error).await,
        }
    }

    /// A creation failed as often as it may. The plan that follows deletes the
    /// volume in the backend, so it must be sure that there is no object: the
    /// answer may have been lost on its way.
    async fn creation_failed(
        &self,
        volume: &PersistentVolume,
        error: &ApiError,
    ) -> Option<Result<Answer, ApiError>> {
        let uid = |volume: &PersistentVolume| {
            let claim = volume.claim_ref();
            claim.map(|claim| claim.uid().to_owned())
        };
        let name = volume.name();
        let doubt = match self.server.read_volume(name).await {
            Ok(None) => return Some(Err(error.clone())),
            Ok(Some(found)) if uid(&found) == uid(volume) => {
                info!(volume = name, "was created, but the answer was lost");
                return Some(Ok(Answer::Written(Written::Volume(Arc::new(found)))));
            }
            Ok(Some(_)) => "there is another volume of this name".to_owned(),
            Err(error) => error.to_string(),
        };
        warn!(volume = name, %error, doubt, "may exist or not: its backend is kept");
        if let Some(claim) = volume.claim_ref() {
            self.events.publish(&Event {
                regarding: ObjectReference {
                    resource_version: None,
                    ..claim.clone()
                },
                event_type: EventType::Warning,
                reason: EventReason::ProvisioningFailed,
                message: format!(
                    "It is not known whether the provisioned PV object {name} was created: \
                     {error}. The volume is kept, and taken when provisioning is tried again."
                ),
            });
        }
        None
    }
}

fn unknown(step: &Step) -> ApiError {
    ApiError {
        kind: ApiErrorKind::Other,
        message: format!("a step of a later version of pvbind: {step:?}"),
    }
}

/// The cluster as it is known, for the worker and the operations.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Snapshot>>);

impl Shared {
    /// The snapshot, for a decision; never held while anything is awaited.
    pub fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What every operation works with.
pub struct Backend {
    /// How the decisions are set up.
    pub config: Config,
    /// The in-tree plugins.
    pub provisioners: Vec<Arc<dyn Provisioner>>,
    /// What carries plans out.
    pub hands: Hands,
    /// The cluster as it is known.
    pub snapshot: Shared,
    /// Who is told of what the API server answered.
    pub answers: UnboundedSender<Answer>,
    /// The names of what is going on in this process.
    pub names: Names,
}

/// The operations that are going on.
pub struct Operations {
    backend: Arc<Backend>,
    tasks: JoinSet<bool>,
    going_on: HashMap<Id, (String, Key)>,
    /// The objects that they work on.
    busy: HashSet<Key>,
    rests: HashMap<String, Rest>,
    /// The objects that wait for an operation to end.
    put_off: HashSet<Key>,
}

/// An operation that failed is not started again for a while.
struct Rest {
    failures: u32,
    until: Instant,
}

impl Operations {
    const SHORTEST: Duration = Duration::from_millis(500);
    const LONGEST: Duration = Duration::from_secs(122);

    /// None are going on.
    pub fn new(backend: Arc<Backend>) -> Self {
        Operations {
            backend,
            tasks: JoinSet::new(),
            going_on: HashMap::new(),
            busy: HashSet::new(),
            rests: HashMap::new(),
            put_off: HashSet::new(),
        }
    }

    /// Starts an operation, unless one of its name is going on, or failed just
    /// now; the next sync of the object asks again.
    pub fn start(&mut self, operation: Operation) {
        let name = operation.name();
        if let Some(rest) = self.rests.get(&name)
            && rest.until > Instant::now()
        {
            debug!(operation = name, "failed, and is not started again yet");
            return;
        }
        let backend = Arc::clone(&self.backend);
        let Some(permit) = backend.names.take(&name, backend.hands.server.term()) else {
            debug!(operation = name, "is going on already");
            return;
        };
        match &operation {
            // Of these nothing is done here but to tell, at each resync.
            Operation::Provision {
                provisioner: Who::External(_),
                ..
            } => debug!(operation = name, "starts"),
            _ => info!(operation = name, "starts"),
        }
        let key = key_of(&operation);
        let task = self.tasks.spawn(run(backend, operation, permit));
        self.busy.insert(key.clone());
        self.going_on.insert(task.id(), (name, key));
    }

    /// Waits for an operation to end, and says when to sync its object again.
    /// Waits forever while none is going on.
    pub async fn ended(&mut self) -> Option<(Key, Instant)> {
        match self.tasks.join_next_with_id().await {
            None => std::future::pending().await,
            Some(Ok((id, failed))) => self.note(id, failed),
            Some(Err(error)) => {
                warn!(%error, "an operation broke off");
                self.note(error.id(), true)
            }
        }
    }

    /// Whether one on this object is going on; then the object is to be synced
    /// when it ends.
    pub fn put_off(&mut self, key: &Key) -> bool {
        let is_busy = self.busy.contains(key);
        if is_busy {
            self.put_off.insert(key.clone());
        }
        is_busy
    }

    /// How many are going on.
    pub fn len(&self) -> usize {
        self.going_on.len()
    }

    /// Whether none is going on.
    pub fn is_empty(&self) -> bool {
        self.going_on.is_empty()
    }

    fn note(&mut self, id: Id, failed: bool) -> Option<(Key, Instant)> {
        let (name, key) = self.going_on.remove(&id)?;
        self.busy.remove(&key);
        self.put_off.retain(|waiting| *waiting != key || !failed);
        debug!(operation = name, failed, "ends");
        let now = Instant::now();
        if !failed {
            self.rests.remove(&name);
            return self.put_off.remove(&key).then_some((key, now));
        }
        let longest = Operations::LONGEST.saturating_mul(2);
        self.rests.retain(|_, rest| rest.until + longest > now);
        let rest = self.rests.entry(name).or_insert(Rest {
            failures: 0,
            until: now,
        });
        rest.failures = rest.failures.saturating_add(1);
        rest.until = now + delay_after(rest.failures, Operations::SHORTEST, Operations::LONGEST);
        Some((key, rest.until))
    }
}

/// The object whose sync starts the operation.
fn key_of(operation: &Operation) -> Key {
    match operation {
        Operation::Provision { claim, .. } => Key::Claim(ClaimKey::of(claim)),
        Operation::Delete { volume } | Operation::Recycle { volume } => {
            Key::Volume(volume.name().to_owned())
        }
        other => Key::Volume(other.name()),
    }
}

/// Runs an operation to its end; whether it failed.
async fn run(backend: Arc<Backend>, operation: Operation, permit: Permit) -> bool {
    let name = operation.name();
    let mut failed = false;
    let mut plan = begin(&backend.config, operation);
    loop {
        let report = backend.hands.carry_out(plan, |answer| {
            let _nobody_listens_at_the_end = backend.answers.send(answer.clone());
        });
        let report = report.await;
        failed |= report.done.iter().any(is_failure);
        let next = match report.end {
            End::Finished(next) => next,
            End::Stopped(failure) | End::StoppedSilently(failure) => {
                warn!(operation = name, error = %failure, "is given up for now");
                return true;
            }
            _ => return true,
        };
        plan = match next {
            Next::Finished => return failed,
            Next::AfterWrite(next) => next.proceed(),
            Next::ReadVolume(next) => match backend.hands.server.read_volume(next.name()).await {
                // What is known of claims is of a time that never was, and nothing
                // may be deleted by it.
                Ok(Some(volume)) if is_from_before(&backend.snapshot.lock(), &volume) => {
                    let error = "the API server has an older version of the volume than it had";
                    warn!(operation = name, error, "is given up for now");
                    let volume = volume.name().to_owned();
                    let _nobody_listens_at_the_end = backend.answers.send(Answer::Older { volume });
                    return true;
                }
                Ok(volume) => next.answer(&backend.config, &*backend.snapshot.lock(), volume),
                Err(error) => {
                    warn!(operation = name, %error, "is given up for now");
                    return true;
                }
            },
            next => {
                if let Err(error) = permit.check() {
                    warn!(operation = name, %error, "is given up for now");
                    return true;
                }
                ask(&backend, next, permit.clone()).await
            }
        };
    }
}

fn is_failure(done: &Done) -> bool {
    match &done.step {
        Step::Event(event) => event.event_type == EventType::Warning,
        _ => done.error().is_some(),
    }
}

/// Asks the in-tree plugin.
async fn ask(backend: &Backend, next: Next, permit: Permit) -> Plan<Next> {
    match next {
        Next::StartProvisioner(next) => {
            let started = match backend.provisioner(next.plugin()) {
                Ok(provisioner) => provisioner.start(next.class()),
                Err(message) => Err(message),
            };
            match started {
                Ok(()) => next.started(&*backend.snapshot.lock()),
                Err(message) => next.cannot_start(&message),
            }
        }
        Next::Provision(next) => {
            let request = next.request();
            let made = match backend.provisioner(&request.plugin) {
                Ok(provisioner) => provisioner.provision(request, permit).await,
                Err(message) => Err(message),
            };
            match made {
                Ok(volume) => next.provisioned(volume),
                Err(message) => next.failed(&message),
            }
        }
        // Upstream asks five times even if the backend deleted it; here once
        // is enough.
        Next::CleanUp(next) if next.is_confirmed() => Plan::empty(Next::Finished),
        Next::CleanUp(next) => match backend.delete(next.plugin(), next.volume(), permit).await {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(error) => next.failed(&error.to_string()),
        },
        Next::Delete(next) => match backend.delete(next.plugin(), next.volume(), permit).await {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message)) => next.in_use(&message),
            Err(error) => next.failed(&error.to_string()),
        },
        Next::Recycle(next) => {
            let recycled = match backend.provisioner(next.plugin()) {
                Ok(provisioner) => provisioner.recycle(next.volume().clone(), permit).await,
                Err(message) => Err(message),
            };
            match recycled {
                Ok(()) => next.recycled(),
                Err(message) => next.failed(&message),
            }
        }
        _ => Plan::empty(Next::Finished),
    }
}

impl Backend {
    fn provisioner(&self, plugin: &str) -> Result<&Arc<dyn Provisioner>, String> {
        let mut provisioners = self.provisioners.iter();
        let found = provisioners.find(|provisioner| provisioner.plugin().name == plugin);
        found.ok_or_else(|| format!("no provisioner for plugin {plugin:?}"))
    }

    async fn delete(
        &self,
        plugin: &str,
        volume: &PersistentVolume,
        permit: Permit,
    ) -> Result<(), DeleteError> {
        let provisioner = self.provisioner(plugin).map_err(DeleteError::CannotStart)?;
        provisioner.delete(volume.clone(), permit).await
    }
}
