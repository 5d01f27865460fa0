//! A plan in the making.

use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::binding::{Edit, VolumeLifeRefusal, mark_volume_failed};
use crate::plan::{
    Change, Event, EventReason, OnFailure, Operation, Plan, Step, SyncError, Verdict, Write,
    WriteContext,
};
use crate::view::Held;

/// A plan in the making. Each write gives back the object as it will be, from
/// which later edits are made.
pub(super) struct Draft {
    steps: Vec<Step>,
    on_failure: OnFailure,
}

impl Draft {
    /// For a sync: a failed write ends it with the write's error.
    pub(super) fn of_sync() -> Self {
        Draft {
            steps: Vec::new(),
            on_failure: OnFailure::Stop(WriteContext::Plain),
        }
    }

    /// For an operation: a failed write ends it silently.
    pub(super) fn of_operation() -> Self {
        Draft {
            steps: Vec::new(),
            on_failure: OnFailure::StopSilently,
        }
    }

    /// The plan of a sync.
    pub(super) fn end(self, result: Result<(), SyncError>) -> Plan {
        self.with(match result {
            Ok(()) => Verdict::Settled,
            Err(error) => Verdict::Retry(error),
        })
    }

    pub(super) fn with<V>(self, verdict: V) -> Plan<V> {
        Plan {
            steps: self.steps,
            verdict,
        }
    }

    pub(super) fn volume<'a>(
        &mut self,
        volume: Held<'a, PersistentVolume>,
        edit: Edit<PersistentVolume>,
    ) -> Held<'a, PersistentVolume> {
        self.write(volume, edit, Write::Volume, self.on_failure)
    }

    pub(super) fn volume_or<'a>(
        &mut self,
        on_failure: OnFailure,
        volume: Held<'a, PersistentVolume>,
        edit: Edit<PersistentVolume>,
    ) -> Held<'a, PersistentVolume> {
        self.write(volume, edit, Write::Volume, on_failure)
    }

    pub(super) fn volume_status<'a>(
        &mut self,
        volume: Held<'a, PersistentVolume>,
        edit: Edit<PersistentVolume>,
    ) -> Held<'a, PersistentVolume> {
        self.write(volume, edit, Write::VolumeStatus, self.on_failure)
    }

    pub(super) fn claim<'a>(
        &mut self,
        claim: Held<'a, PersistentVolumeClaim>,
        edit: Edit<PersistentVolumeClaim>,
    ) -> Held<'a, PersistentVolumeClaim> {
        self.write(claim, edit, Write::Claim, self.on_failure)
    }

    pub(super) fn claim_or<'a>(
        &mut self,
        on_failure: OnFailure,
        claim: Held<'a, PersistentVolumeClaim>,
        edit: Edit<PersistentVolumeClaim>,
    ) -> Held<'a, PersistentVolumeClaim> {
        self.write(claim, edit, Write::Claim, on_failure)
    }

    pub(super) fn claim_status<'a>(
        &mut self,
        claim: Held<'a, PersistentVolumeClaim>,
        edit: Edit<PersistentVolumeClaim>,
    ) -> Held<'a, PersistentVolumeClaim> {
        self.write(claim, edit, Write::ClaimStatus, self.on_failure)
    }

    /// The volume could not be reclaimed: phase Failed, then a warning; neither
    /// if it is Failed already.
    pub(super) fn reclaim_failed(
        &mut self,
        volume: Held<'_, PersistentVolume>,
        reason: EventReason,
        message: &str,
    ) -> Result<(), VolumeLifeRefusal> {
        let edit = mark_volume_failed(&volume, message)?;
        if edit.is_changed() {
            let volume = self.volume_status(volume, edit);
            self.event(Event::on_volume(&volume, reason, message));
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: Event) {
        self.steps.push(Step::Event(event));
    }

    pub(super) fn start(&mut self, operation: Operation) {
        self.steps.push(Step::Start(operation));
    }

    pub(super) fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn write<'a, T: Clone>(
        &mut self,
        object: Held<'a, T>,
        edit: Edit<T>,
        write: fn(Change<T>) -> Write,
        on_failure: OnFailure,
    ) -> Held<'a, T> {
        let Edit::Changed(to) = edit else {
            return object;
        };
        let to = std::sync::Arc::new(to);
        let change = Change {
            from: object.into_arc(),
            to: std::sync::Arc::clone(&to),
        };
        self.steps.push(Step::Write {
            write: write(change),
            on_failure,
        });
        Held::Shared(to)
    }
}
