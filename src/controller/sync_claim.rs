//! The sync of a claim.

use super::Config;
use super::bind::bind;
use super::default_class::assign_default_class;
use super::draft::Draft;
use super::migration::migrate_claim;
use super::provision::provision;
use crate::api::{
    ClaimKey, ClaimPhase, PersistentVolume, PersistentVolumeClaim, VolumeBindingMode, names,
};
use crate::binding::{mark_claim_lost, mark_claim_pending};
use crate::matching::{SearchOptions, volume_satisfies_claim};
use crate::plan::{Event, EventReason, EventType, OnFailure, Plan, SyncError, WriteContext};
use crate::view::{ClusterView, Held};

/// Decides what to do about a claim: bind it, have a volume made, let it wait,
/// or call it lost.
///
/// Call it when the claim was added or changed, when
/// [`sync_volume`](super::sync_volume) enqueues it, when the volume that it
/// names was deleted, and for every claim from time to time (upstream: every 15
/// seconds by default): only so does a claim that waits find a volume that was
/// added since. The claim is given as a plain object, as an `Arc`, or as a
/// view handed it out; see [`Held`].
///
/// Follows `syncClaim` of Kubernetes 1.36.
///
/// # Differences
/// - Where upstream leaves open which of several volumes it takes, the choice
///   is defined: see
///   [`find_best_match_for_claim`](crate::matching::find_best_match_for_claim).
/// - In a claim's status a list of access modes that is empty counts as absent,
///   and so does a capacity that is empty.
/// - Of a bound claim and a volume that both have no uid, as only objects that no
///   API server has seen, the names decide whose the volume is.
///
/// # Cost
/// A settled claim costs a look-up of its volume, and no allocation. An unbound
/// claim costs a search, see [`ClusterView::best_match`], and each write of the
/// plan one copy of the object.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::Step;
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"]}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
///      "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "lost", "uid": "u-2",
///          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
///      "spec": {"volumeName": "pv-9"}, "status": {"phase": "Bound"}}"#)?
/// .into_iter()
/// .collect();
/// let steps = |name| {
///     let plan = sync_claim(&Config::default(), &snapshot, snapshot.claim("shop", name).unwrap());
///     let told = plan.steps.iter().map(|step| match step {
///         Step::Write { write, .. } => format!("{} {}", write.key(), write.subresource()),
///         Step::Event(event) => event.message.clone(),
///         _ => String::new(),
///     });
///     told.collect::<Vec<_>>()
/// };
/// // The volume first, so that no other claim can take it meanwhile.
/// assert_eq!(steps("data"), ["pv-1 ", "pv-1 status", "shop/data ", "shop/data status"]);
/// assert_eq!(
///     steps("lost"),
///     ["shop/lost status", "Bound claim has lost its PersistentVolume. Data on the volume is lost!"],
/// );
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub fn sync_claim<'a, V: ClusterView + ?Sized>(
    config: &'a Config,
    view: &'a V,
    claim: impl Into<Held<'a, PersistentVolumeClaim>>,
) -> Plan {
    let mut draft = Draft::of_sync();
    let sync = ClaimSync {
        config,
        view,
        draft: &mut draft,
    };
    let result = sync.run(claim.into());
    draft.end(result)
}

struct ClaimSync<'a, 'd, V: ?Sized> {
    config: &'a Config,
    view: &'a V,
    draft: &'d mut Draft,
}

type Claim<'a> = Held<'a, PersistentVolumeClaim>;

impl<'a, V: ClusterView + ?Sized> ClaimSync<'a, '_, V> {
    fn run(self, claim: Claim<'a>) -> Result<(), SyncError> {
        let edit = migrate_claim(self.config, &claim);
        let on_failure = OnFailure::Stop(WriteContext::ClaimMigration);
        let claim = self.draft.claim_or(on_failure, claim, edit);
        if claim.is_bind_completed() {
            self.bound(claim)
        } else if claim.volume_name().is_empty() {
            self.unbound(claim)
        } else {
            self.unbound_with_wish(claim)
        }
    }

    /// The claim has no volume, and none in particular is asked for.
    fn unbound(self, claim: Claim<'a>) -> Result<(), SyncError> {
        let delayed = self.is_delayed(&claim)?;
        let options = SearchOptions {
            delay_binding: delayed,
            features: self.config.features,
        };
        let found = self
            .view
            .best_match(&claim, options)
            .map_err(|error| SyncError::Find {
                claim: ClaimKey::of(&claim),
                error,
            })?;
        if let Some(volume) = found {
            return self.bind(volume, claim);
        }
        let edit = assign_default_class(self.view, &claim);
        if edit.is_changed() {
            let on_failure = OnFailure::Stop(WriteContext::DefaultClass);
            self.draft.claim_or(on_failure, claim, edit);
            return Ok(());
        }
        if delayed && !claim.metadata.has_annotation(names::SELECTED_NODE) {
            let event = waits_for_consumer(self.view, &claim);
            self.draft.event(event);
        } else if !claim.class_name().is_empty() {
            provision(self.config, self.view, self.draft, claim);
            return Ok(());
        } else {
            self.draft.event(Event::on_claim(
                &claim,
                EventReason::FailedBinding,
                "no persistent volumes available for this claim and no storage class is set",
            ));
        }
        self.wait(claim)
    }

    /// The claim has no volume yet, and asks for one by name.
    fn unbound_with_wish(self, claim: Claim<'a>) -> Result<(), SyncError> {
        let Some(volume) = self.view.volume(claim.volume_name()) else {
            return self.wait(claim);
        };
        let Some(reference) = volume.claim_ref() else {
            let checked = volume_satisfies_claim(&volume, &claim, self.config.features);
            if let Err(mismatch) = checked {
                let name = volume.name();
                let message = format!("Cannot bind to requested volume \"{name}\": {mismatch}");
                let event = Event::on_claim(&claim, EventReason::VolumeMismatch, message);
                self.draft.event(event);
                return self.wait(claim);
            }
            return self.bind(volume, claim);
        };
        if volume.is_bound_to(&claim) {
            return self.bind(volume, claim);
        }
        let name = volume.name();
        let message = format!("volume \"{name}\" already bound to a different claim.");
        let event = Event::on_claim(&claim, EventReason::FailedBinding, message);
        self.draft.event(event.with_type(EventType::Warning));
        if claim.metadata.has_annotation(names::BOUND_BY_CONTROLLER) {
            return Err(SyncError::ClaimedByAnother {
                claim: ClaimKey::of(&claim),
                volume: name.to_owned(),
                holder: ClaimKey::referred(reference),
            });
        }
        self.wait(claim)
    }

    /// The claim has its volume, or has lost it.
    fn bound(self, claim: Claim<'a>) -> Result<(), SyncError> {
        if claim.volume_name().is_empty() {
            let message = "Bound claim has lost reference to PersistentVolume. \
                           Data on the volume is lost!";
            return self.lose(claim, EventReason::ClaimLost, message);
        }
        let Some(volume) = self.view.volume(claim.volume_name()) else {
            let message = "Bound claim has lost its PersistentVolume. \
                           Data on the volume is lost!";
            return self.lose(claim, EventReason::ClaimLost, message);
        };
        // Objects that the API server keeps have uids; of those that have none
        // the names decide.
        let is_anothers = volume.claim_ref().is_some_and(|reference| {
            reference.uid() != claim.metadata.uid()
                || (reference.uid().is_empty() && !volume.is_bound_to(&claim))
        });
        if is_anothers {
            let message = "Two claims are bound to the same volume, \
                           this one is bound incorrectly";
            return self.lose(claim, EventReason::ClaimMisbound, message);
        }
        self.bind(volume, claim)
    }

    fn bind(self, volume: Held<'_, PersistentVolume>, claim: Claim<'_>) -> Result<(), SyncError> {
        bind(self.config, self.draft, volume, claim)
    }

    fn wait(self, claim: Claim<'_>) -> Result<(), SyncError> {
        let edit = mark_claim_pending(&claim)?;
        self.draft.claim_status(claim, edit);
        Ok(())
    }

    /// Writes the status, then the event; neither if the claim is lost already.
    fn lose(self, claim: Claim<'_>, reason: EventReason, message: &str) -> Result<(), SyncError> {
        let edit = mark_claim_lost(&claim)?;
        if claim.status.phase != Some(ClaimPhase::Lost) {
            let claim = self.draft.claim_status(claim, edit);
            self.draft.event(Event::on_claim(&claim, reason, message));
        }
        Ok(())
    }

    /// Whether binding waits for a pod that uses the claim.
    fn is_delayed(&self, claim: &PersistentVolumeClaim) -> Result<bool, SyncError> {
        let name = claim.class_name();
        if name.is_empty() {
            return Ok(false);
        }
        let Some(class) = self.view.class(name) else {
            return Ok(false);
        };
        match &class.volume_binding_mode {
            Some(mode) => Ok(*mode == VolumeBindingMode::WaitForFirstConsumer),
            None => Err(SyncError::NoBindingMode {
                class: name.to_owned(),
            }),
        }
    }
}

/// What a claim waits for whose class is bound with its first consumer.
fn waits_for_consumer<V: ClusterView + ?Sized>(view: &V, claim: &PersistentVolumeClaim) -> Event {
    let mut pods = Vec::new();
    let (namespace, name) = (claim.metadata.namespace(), claim.metadata.name());
    view.visit_pods_using_claim(namespace, name, &mut |pod| {
        if !pod.is_finished() && pod.node_name().is_empty() {
            pods.push(pod.name().to_owned());
        }
    });
    pods.sort();
    let message = match pods.as_slice() {
        [] => {
            return Event::on_claim(
                claim,
                EventReason::WaitForFirstConsumer,
                "waiting for first consumer to be created before binding",
            );
        }
        [pod] => format!("waiting for pod {pod} to be scheduled"),
        pods => format!("waiting for pods {} to be scheduled", pods.join(",")),
    };
    Event::on_claim(claim, EventReason::WaitForPodScheduled, message)
}
