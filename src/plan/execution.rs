//! Leading through a plan, step by step.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{
    ApiError, ApiErrorKind, Done, End, FollowUp, OnFailure, Plan, Report, Step, Verdict, Write,
    WriteContext, WriteFailure, Written,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};

/// Leads through a plan: shows the next step, hears how it went, and carries
/// what the API server returned into the steps after it. It does no input or
/// output, so it serves a synchronous and an asynchronous embedder alike.
///
/// The order of calls: [`step`](Self::step), carry it out,
/// [`answer`](Self::answer), until there is no step; then
/// [`finish`](Self::finish). An execution may be dropped anywhere: what was
/// left is planned again by the next sync.
///
/// What is carried on from a write:
/// - later changes of the same object are made again on what was returned, with
///   its resourceVersion;
/// - a claimRef that a later step sets to the claim just written takes the
///   claim's new resourceVersion;
/// - an operation started later begins from the object returned.
///
/// Cost: that of carrying out the steps, and for each write one conversion to
/// JSON and back for each later change of the same object.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{Execution, Step, Write, Written};
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1", "resourceVersion": "7"},
///      "spec": {"capacity": {"storage": "5Gi"}}, "status": {"phase": "Available"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "uid": "u-1"}}"#)?
/// .into_iter()
/// .collect();
/// let plan = sync_claim(&Config::default(), &snapshot, snapshot.claim("", "data").unwrap());
/// let mut execution = Execution::new(plan);
///
/// // The first write of a bind: the volume. The API server gives it version 8 ...
/// let Some(Step::Write { write: Write::Volume(change), .. }) = execution.step() else { panic!() };
/// let mut returned = PersistentVolume::clone(&change.to);
/// returned.metadata.resource_version = Some("8".to_owned());
/// execution.answer(Ok(Written::Volume(Arc::new(returned))));
/// // ... which the second one, its status, is based on.
/// let Some(Step::Write { write, .. }) = execution.step() else { panic!() };
/// assert_eq!(write.subresource(), "status");
/// assert_eq!(write.merge_patch().unwrap()["metadata"]["resourceVersion"], "8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Execution<V = Verdict> {
    steps: VecDeque<Step>,
    verdict: V,
    done: Vec<Done>,
    failed_attempts: u32,
    stopped: Option<Stop>,
}

#[derive(Clone, Debug)]
enum Stop {
    With(WriteFailure),
    Silently(WriteFailure),
    Told,
}

impl<V: FollowUp> Execution<V> {
    /// Begins to carry out a plan, of a sync or of an operation. Nothing is done yet.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::PersistentVolume;
    /// use pvbind::controller::{Config, Next, begin, sync_volume};
    /// use pvbind::plan::{Execution, Operation};
    /// # use pvbind::view::Snapshot;
    /// # let (config, view) = (Config::default(), Snapshot::new());
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "spec": {"nfs": {"path": "/exports/1"}}}))?;
    /// let sync: Execution = Execution::new(sync_volume(&config, &view, &volume, None));
    /// assert!(sync.step().is_some()); // the volume is new: phase Available
    /// // The first plan of a deletion writes nothing; what to do next is its verdict.
    /// let operation = Operation::Delete { volume: Arc::new(volume) };
    /// let execution: Execution<Next> = Execution::new(begin(&config, operation));
    /// assert_eq!(execution.step(), None);
    /// assert!(matches!(execution.finish().end.finished()?, Next::ReadVolume(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(plan: Plan<V>) -> Self {
        Execution {
            steps: plan.steps.into(),
            verdict: plan.verdict,
            done: Vec::new(),
            failed_attempts: 0,
            stopped: None,
        }
    }

    /// The step to carry out now, the same until it is answered; `None` if there is
    /// no more, or none is to be done because a write failed. Constant cost.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::{Config, sync_claim};
    /// # use pvbind::view::{ClusterView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1", "resourceVersion": "7"},
    /// #      "spec": {"capacity": {"storage": "5Gi"}}, "status": {"phase": "Available"}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let claim = snapshot.claim("shop", "data").unwrap();
    /// # use pvbind::plan::{ApiError, ApiErrorKind, Execution};
    /// // A bind: four writes, of which the first is refused.
    /// let mut execution = Execution::new(sync_claim(&Config::default(), &snapshot, &*claim));
    /// assert_eq!(execution.step().unwrap().to_string(), "update persistentvolumes pv-1");
    /// execution.answer(Err(ApiError::new(ApiErrorKind::Conflict, "the object has been modified")));
    /// // The claim must not be bound to a volume that may be another's by now.
    /// assert_eq!(execution.step(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn step(&self) -> Option<&Step> {
        self.steps.front()
    }

    /// Says how the step went. For an update and a creation, give the object
    /// that the API server returned; for anything else,
    /// [`Written::Nothing`]. Without a step left it does nothing.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::*;
    /// let write = Write::CreateVolume { volume: Box::new(PersistentVolume::default()), attempts: 2 };
    /// let step = Step::Write { write, on_failure: OnFailure::Stop(WriteContext::Plain) };
    /// let mut execution = Execution::new(Plan { steps: vec![step], verdict: Verdict::Settled });
    /// let error = |kind| Err(ApiError { kind, message: String::new() });
    /// // A creation is tried again as often as the step says ...
    /// execution.answer(error(ApiErrorKind::Other));
    /// assert!(execution.step().is_some());
    /// // ... and one that was there already is as good as done.
    /// execution.answer(error(ApiErrorKind::AlreadyExists));
    /// assert!(execution.step().is_none());
    /// assert_eq!(execution.finish().end, End::Finished(Verdict::Settled));
    /// ```
    pub fn answer(&mut self, result: Result<Written, ApiError>) {
        let Some(step) = self.steps.pop_front() else {
            return;
        };
        match result {
            Ok(written) => {
                if step.is_write() {
                    self.verdict.write_done();
                    self.written(&written);
                }
                self.record(step, Ok(written));
            }
            Err(error) => self.failed(step, error),
        }
    }

    /// What was done. If steps are left, the end is [`End::CutOff`].
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::{Config, sync_claim};
    /// use std::sync::Arc;
    /// use pvbind::plan::{End, Execution, Step, Write, Written};
    /// # use pvbind::view::{ClusterView, Snapshot};
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
    /// #      "spec": {"capacity": {"storage": "5Gi"}}}
    /// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let claim = snapshot.claim("shop", "data").unwrap();
    /// // A controller is told to stop when it has made the first of the four writes of a bind.
    /// let mut execution = Execution::new(sync_claim(&Config::default(), &snapshot, claim));
    /// let Some(Step::Write { write: Write::Volume(change), .. }) = execution.step() else { panic!() };
    /// let returned = Arc::clone(&change.to);
    /// execution.answer(Ok(Written::Volume(returned)));
    /// let report = execution.finish();
    /// assert_eq!((report.done.len(), report.end), (1, End::CutOff));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Report<V> {
        let end = match self.stopped {
            None if !self.steps.is_empty() => End::CutOff,
            None | Some(Stop::Told) => End::Finished(self.verdict),
            Some(Stop::With(failure)) => End::Stopped(failure),
            Some(Stop::Silently(failure)) => End::StoppedSilently(failure),
        };
        Report {
            done: self.done,
            end,
        }
    }

    fn record(&mut self, step: Step, result: Result<Written, ApiError>) {
        self.failed_attempts = 0;
        self.done.push(Done { step, result });
    }

    fn failed(&mut self, step: Step, error: ApiError) {
        let Step::Write { write, on_failure } = &step else {
            // An event that cannot be recorded is no reason to stop.
            return self.record(step, Err(error));
        };
        let (object, on_failure) = (write.key(), *on_failure);
        if let Write::CreateVolume { volume, attempts } = write {
            if error.kind == ApiErrorKind::AlreadyExists {
                self.verdict.already_exists(volume);
                self.verdict.write_done();
                return self.record(step, Err(error));
            }
            let again = step.clone();
            let attempts = *attempts;
            let failed_attempts = self.failed_attempts.saturating_add(1);
            self.record(step, Err(error.clone()));
            if failed_attempts < attempts {
                self.failed_attempts = failed_attempts;
                self.steps.push_front(again);
                return;
            }
        } else {
            self.record(step, Err(error.clone()));
        }
        let failure = |context| WriteFailure {
            context,
            object,
            message: error.message.clone(),
        };
        let stop = match on_failure {
            OnFailure::Ignore => return,
            OnFailure::Stop(context) => Stop::With(failure(context)),
            OnFailure::StopSilently => Stop::Silently(failure(WriteContext::Plain)),
            OnFailure::Tell => {
                self.verdict.write_failed(&error.message);
                Stop::Told
            }
        };
        self.steps.clear();
        self.stopped = Some(stop);
    }

    fn written(&mut self, written: &Written) {
        match written {
            Written::Nothing => {}
            Written::Volume(volume) => {
                self.verdict.volume_written(volume);
                for step in &mut self.steps {
                    volume_written(step, volume);
                }
            }
            Written::Claim(claim) => {
                self.verdict.claim_written(claim);
                for step in &mut self.steps {
                    claim_written(step, claim);
                }
            }
        }
    }
}

fn volume_written(step: &mut Step, volume: &Arc<PersistentVolume>) {
    match step {
        Step::Start(operation) => operation.volume_written(volume),
        Step::Write { write, .. } => match write {
            Write::Volume(change) | Write::VolumeStatus(change)
                if change.is_of(&volume.metadata) =>
            {
                change.rebase(volume);
            }
            Write::DeleteVolume(deleted) if deleted.metadata.is_same_object(&volume.metadata) => {
                *deleted = Arc::clone(volume);
            }
            _ => {}
        },
        Step::Event(_) | Step::EnqueueClaim(_) => {}
    }
}

fn claim_written(step: &mut Step, claim: &Arc<PersistentVolumeClaim>) {
    match step {
        Step::Start(operation) => operation.claim_written(claim),
        Step::Write { write, .. } => match write {
            Write::Claim(change) | Write::ClaimStatus(change) if change.is_of(&claim.metadata) => {
                change.rebase(claim);
            }
            Write::Volume(change) if change.from.claim_ref() != change.to.claim_ref() => {
                let volume = Arc::make_mut(&mut change.to);
                renew_claim_ref(volume, claim);
            }
            Write::CreateVolume { volume, .. } => renew_claim_ref(volume, claim),
            _ => {}
        },
        Step::Event(_) | Step::EnqueueClaim(_) => {}
    }
}

/// A claimRef that was just set to the claim takes its new version.
fn renew_claim_ref(volume: &mut PersistentVolume, claim: &PersistentVolumeClaim) {
    let Some(reference) = &mut volume.spec.claim_ref else {
        return;
    };
    let metadata = &claim.metadata;
    if reference.uid() == metadata.uid()
        && reference.name() == metadata.name()
        && reference.namespace() == metadata.namespace()
    {
        reference.resource_version = metadata.resource_version.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Change, Event, EventReason, Operation, SyncError};
    use serde_json::{Value, json};

    fn claim(version: &str) -> Arc<PersistentVolumeClaim> {
        serde_json::from_value(json!({"metadata": {
            "namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": version}}))
        .map(Arc::new)
        .unwrap()
    }

    fn volume(value: Value) -> Arc<PersistentVolume> {
        serde_json::from_value(value).map(Arc::new).unwrap()
    }

    fn write(write: Write, on_failure: OnFailure) -> Step {
        Step::Write { write, on_failure }
    }

    fn stop(step: Write) -> Step {
        write(step, OnFailure::Stop(WriteContext::Plain))
    }

    fn event() -> Step {
        Step::Event(Event::on_claim(&claim("1"), EventReason::ClaimLost, "gone"))
    }

    fn conflict() -> ApiError {
        ApiError {
            kind: ApiErrorKind::Conflict,
            message: "changed since".to_owned(),
        }
    }

    fn begin(steps: Vec<Step>) -> Execution {
        Execution::new(Plan {
            steps,
            verdict: Verdict::Settled,
        })
    }

    fn metadata_change(label: &str) -> Change<PersistentVolume> {
        Change {
            from: volume(json!({"metadata": {"name": "pv", "resourceVersion": "1"}})),
            to: volume(json!({"metadata": {"name": "pv", "resourceVersion": "1",
                "labels": {"made": label}}})),
        }
    }

    #[test]
    fn a_plan_that_is_given_up_half_way_does_not_count_as_carried_out() {
        let change = Change {
            from: volume(json!({"metadata": {"name": "pv", "resourceVersion": "1"}})),
            to: volume(
                json!({"metadata": {"name": "pv", "resourceVersion": "1", "labels": {"a": "b"}}}),
            ),
        };
        let plan = Plan {
            steps: vec![event(), stop(Write::Volume(change))],
            verdict: Verdict::Settled,
        };
        let mut execution = Execution::new(plan.clone());
        execution.answer(Ok(Written::Nothing));
        let report = execution.finish();
        assert_eq!(report.end, End::CutOff);
        assert_eq!(report.error(), Some(SyncError::CutOff));
        assert_eq!(Execution::new(plan).finish().end, End::CutOff);
    }

    #[test]
    fn a_volume_is_deleted_in_the_version_that_the_write_before_returned() {
        let object = |version: &str| {
            volume(json!({"metadata": {"name": "pv", "uid": "u-1", "resourceVersion": version}}))
        };
        let change = Change {
            from: object("1"),
            to: volume(
                json!({"metadata": {"name": "pv", "uid": "u-1", "resourceVersion": "1",
                "labels": {"a": "b"}}}),
            ),
        };
        let plan = Plan {
            steps: vec![
                stop(Write::Volume(change)),
                stop(Write::DeleteVolume(object("1"))),
            ],
            verdict: Verdict::Settled,
        };
        let mut execution = Execution::new(plan);
        execution.answer(Ok(Written::Volume(object("2"))));
        let Some(Step::Write {
            write: Write::DeleteVolume(deleted),
            ..
        }) = execution.step()
        else {
            panic!("no deletion");
        };
        assert_eq!(deleted.metadata.resource_version(), "2");
    }

    #[test]
    fn a_volume_is_created_for_the_claim_in_its_new_version() {
        let made = volume(json!({"metadata": {"name": "pv"}, "spec": {"claimRef": {
            "namespace": "shop", "name": "data", "uid": "u-1", "resourceVersion": "1"}}}));
        let create = Write::CreateVolume {
            volume: Box::new((*made).clone()),
            attempts: 1,
        };
        let change = Change {
            from: claim("1"),
            to: claim("1"),
        };
        let plan = Plan {
            steps: vec![stop(Write::Claim(change)), stop(create)],
            verdict: Verdict::Settled,
        };
        let mut execution = Execution::new(plan);
        execution.answer(Ok(Written::Claim(claim("2"))));
        let Some(Step::Write {
            write: Write::CreateVolume { volume, .. },
            ..
        }) = execution.step()
        else {
            panic!("no creation");
        };
        let version = volume.claim_ref().unwrap().resource_version.as_deref();
        assert_eq!(version, Some("2"));
    }

    #[test]
    fn a_later_write_is_made_again_on_what_the_server_returned() {
        let first = metadata_change("here");
        let mut with_phase = (*first.to).clone();
        with_phase.status.phase = Some("Bound".into());
        let second = Change {
            from: Arc::clone(&first.to),
            to: Arc::new(with_phase),
        };
        let mut execution = begin(vec![
            stop(Write::Volume(first)),
            stop(Write::VolumeStatus(second)),
        ]);
        let returned = json!({"metadata": {"name": "pv", "resourceVersion": "2",
            "labels": {"made": "here", "by": "a webhook"}}});
        let returned = volume(returned);
        execution.answer(Ok(Written::Volume(returned.clone())));
        let Some(Step::Write { write, .. }) = execution.step() else {
            panic!("no write");
        };
        let Write::VolumeStatus(change) = write else {
            panic!("another write");
        };
        assert_eq!(change.from, returned);
        assert_eq!(
            serde_json::to_value(&*change.to).unwrap(),
            json!({"metadata": {"name": "pv", "resourceVersion": "2",
                "labels": {"made": "here", "by": "a webhook"}}, "status": {"phase": "Bound"}})
        );
        assert_eq!(
            write.merge_patch().unwrap(),
            json!({"metadata": {"resourceVersion": "2"}, "status": {"phase": "Bound"}})
        );
    }

    #[test]
    fn a_claim_ref_that_is_set_takes_the_claims_new_version_and_an_old_one_stays() {
        let reference = json!({"namespace": "shop", "name": "data", "uid": "u-1",
            "resourceVersion": "1"});
        let bare = volume(json!({"metadata": {"name": "pv"}}));
        let claimed = volume(json!({"metadata": {"name": "pv"}, "spec": {"claimRef": reference}}));
        let labelled = volume(json!({"metadata": {"name": "pv", "labels": {"a": "b"}},
            "spec": {"claimRef": reference}}));
        for (from, to, version) in [(bare, Arc::clone(&claimed), "2"), (claimed, labelled, "1")] {
            let change = Change {
                from: claim("1"),
                to: claim("1"),
            };
            let mut execution = begin(vec![
                stop(Write::Claim(change)),
                stop(Write::Volume(Change { from, to })),
            ]);
            execution.answer(Ok(Written::Claim(claim("2"))));
            let Some(Step::Write {
                write: Write::Volume(change),
                ..
            }) = execution.step()
            else {
                panic!("no write of a volume");
            };
            let reference = change.to.claim_ref().unwrap();
            assert_eq!(reference.resource_version.as_deref(), Some(version));
        }
    }

    #[test]
    fn an_operation_begins_from_the_object_last_written() {
        let operation = Operation::Delete {
            volume: volume(json!({"metadata": {"name": "pv", "resourceVersion": "1"}})),
        };
        let mut execution = begin(vec![
            stop(Write::VolumeStatus(metadata_change("x"))),
            Step::Start(operation),
        ]);
        let returned = volume(json!({"metadata": {"name": "pv", "resourceVersion": "2"}}));
        execution.answer(Ok(Written::Volume(returned.clone())));
        execution.answer(Ok(Written::Nothing));
        let report = execution.finish();
        let operations: Vec<_> = report.operations().cloned().collect();
        assert_eq!(operations, [Operation::Delete { volume: returned }]);
    }

    #[test]
    fn events_before_a_failed_write_stay_and_those_after_it_do_not_appear() {
        let change = metadata_change("x");
        let mut execution = begin(vec![event(), stop(Write::Volume(change)), event()]);
        execution.answer(Ok(Written::Nothing));
        execution.answer(Err(conflict()));
        assert_eq!(execution.step(), None);
        let report = execution.finish();
        assert_eq!(report.done.len(), 2);
        assert_eq!(report.writes(), 0);
        assert_eq!(report.error().unwrap().to_string(), "changed since");
    }

    #[test]
    fn a_failed_write_is_told_in_its_context() {
        for (context, text) in [
            (WriteContext::Plain, "changed since"),
            (
                WriteContext::ClaimMigration,
                "persistent Volume Controller can't anneal migration annotations: changed since",
            ),
            (
                WriteContext::VolumeMigration,
                "persistent Volume Controller can't anneal migration annotations or finalizer: \
                 changed since",
            ),
            (
                WriteContext::DefaultClass,
                "can't update PersistentVolumeClaim[\"shop/data\"]: changed since",
            ),
        ] {
            let change = Change {
                from: claim("1"),
                to: claim("1"),
            };
            let step = write(Write::Claim(change), OnFailure::Stop(context));
            let mut execution = begin(vec![step]);
            execution.answer(Err(conflict()));
            assert_eq!(execution.finish().error().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_write_whose_failure_is_ignored_lets_the_plan_go_on() {
        let step = write(Write::Volume(metadata_change("x")), OnFailure::Ignore);
        let mut execution = begin(vec![step, event()]);
        execution.answer(Err(conflict()));
        assert_eq!(execution.step(), Some(&event()));
        execution.answer(Ok(Written::Nothing));
        let report = execution.finish();
        assert_eq!(report.end, End::Finished(Verdict::Settled));
        assert_eq!(report.done.first().unwrap().error(), Some(&conflict()));
    }

    #[test]
    fn a_creation_is_tried_as_often_as_it_says_and_one_that_exists_is_as_good() {
        let create = || {
            let write = Write::CreateVolume {
                volume: Box::default(),
                attempts: 3,
            };
            begin(vec![stop(write), event()])
        };
        let mut execution = create();
        for _ in 0..3 {
            assert!(execution.step().is_some_and(Step::is_write));
            execution.answer(Err(conflict()));
        }
        assert_eq!(execution.step(), None);
        let report = execution.finish();
        assert_eq!(report.done.len(), 3);
        assert!(matches!(report.end, End::Stopped(_)));

        let mut execution = create();
        execution.answer(Err(conflict()));
        execution.answer(Err(ApiError {
            kind: ApiErrorKind::AlreadyExists,
            message: "exists".to_owned(),
        }));
        assert_eq!(execution.step(), Some(&event()));
    }

    #[test]
    fn an_event_that_cannot_be_recorded_stops_nothing() {
        let mut execution = begin(vec![event(), event()]);
        execution.answer(Err(conflict()));
        assert_eq!(execution.step(), Some(&event()));
    }
}
