//! Slow work in a backend: each operation is a task of its own, at most one of
//! each name at a time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pvbind::api::{ClaimKey, PersistentVolume};
use pvbind::controller::{Config, DeleteError, Next, begin};
use pvbind::plan::{
    ApiError, Done, End, EventType, Execution, FollowUp, Operation, Plan, Report, Step, Written,
};
use pvbind::view::Snapshot;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::events::Publisher;
use crate::provisioner::Provisioner;
use crate::queue::{Key, delay_after};
use crate::server::ApiServer;

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
    /// shows each object that the API server returned.
    pub async fn carry_out<V: FollowUp>(
        &self,
        plan: Plan<V>,
        mut written: impl FnMut(&Written),
    ) -> Report<V> {
        let mut execution = Execution::new(plan);
        while let Some(step) = execution.step() {
            let result = match step {
                Step::Write { write, .. } => {
                    let result = self.server.send(write).await;
                    let (resource, object) = (write.resource(), write.key());
                    let part = write.subresource();
                    match &result {
                        Ok(now) => {
                            info!(resource, object, part, "written");
                            written(now);
                        }
                        Err(error) => warn!(resource, object, part, %error, "not written"),
                    }
                    result
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
}

fn unknown(step: &Step) -> ApiError {
    ApiError {
        kind: pvbind::plan::ApiErrorKind::Other,
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
    /// Who is told of what was written.
    pub written: UnboundedSender<Written>,
}

/// The operations that are going on.
pub struct Operations {
    backend: Arc<Backend>,
    tasks: JoinSet<bool>,
    names: HashMap<Id, (String, Key)>,
    going_on: HashSet<String>,
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
            names: HashMap::new(),
            going_on: HashSet::new(),
            rests: HashMap::new(),
            put_off: HashSet::new(),
        }
    }

    /// Starts an operation, unless one of its name is going on, or failed just
    /// now; the next sync of the object asks again.
    pub fn start(&mut self, operation: Operation) {
        let name = operation.name();
        if self.going_on.contains(&name) {
            debug!(operation = name, "is going on already");
            return;
        }
        if let Some(rest) = self.rests.get(&name)
            && rest.until > Instant::now()
        {
            debug!(operation = name, "failed, and is not started again yet");
            return;
        }
        info!(operation = name, "starts");
        let key = key_of(&operation);
        let task = self.tasks.spawn(run(self.backend.clone(), operation));
        self.names.insert(task.id(), (name.clone(), key));
        self.going_on.insert(name);
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
        let is_busy = self.names.values().any(|(_, busy)| busy == key);
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
        let (name, key) = self.names.remove(&id)?;
        self.going_on.remove(&name);
        self.put_off.retain(|waiting| *waiting != key || !failed);
        info!(operation = name, failed, "ends");
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
async fn run(backend: Arc<Backend>, operation: Operation) -> bool {
    let name = operation.name();
    let mut failed = false;
    let mut plan = begin(&backend.config, operation);
    loop {
        let report = backend.hands.carry_out(plan, |written| {
            let _nobody_listens_at_the_end = backend.written.send(written.clone());
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
                Ok(volume) => next.answer(&backend.config, &*backend.snapshot.lock(), volume),
                Err(error) => {
                    warn!(operation = name, %error, "is given up for now");
                    return true;
                }
            },
            next => ask(&backend, next).await,
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
async fn ask(backend: &Backend, next: Next) -> Plan<Next> {
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
                Ok(provisioner) => provisioner.provision(request).await,
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
        Next::CleanUp(next) => match backend.delete(next.plugin(), next.volume()).await {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(error) => next.failed(&error.to_string()),
        },
        Next::Delete(next) => match backend.delete(next.plugin(), next.volume()).await {
            Ok(()) => next.deleted(),
            Err(DeleteError::CannotStart(message)) => next.cannot_start(&message),
            Err(DeleteError::InUse(message)) => next.in_use(&message),
            Err(error) => next.failed(&error.to_string()),
        },
        Next::Recycle(next) => {
            let recycled = match backend.provisioner(next.plugin()) {
                Ok(provisioner) => provisioner.recycle(next.volume().clone()).await,
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

    async fn delete(&self, plugin: &str, volume: &PersistentVolume) -> Result<(), DeleteError> {
        let provisioner = self.provisioner(plugin).map_err(DeleteError::CannotStart)?;
        provisioner.delete(volume.clone()).await
    }
}
