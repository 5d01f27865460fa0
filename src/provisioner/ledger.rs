//! What a provisioner remembers from one sync to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::create::Standing;
use super::csi::{CreateVolumeRequest, TopologyRequirement};
use super::sync_claim::over;
use super::{
    Backoff, ClaimEnd, ClaimNext, ClaimOutcome, Config, CreateVolume, Progress, ProvisionError,
    VolumeOutcome, continue_claim, sync_claim,
};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::plan::Plan;
use crate::view::{ClusterView, Held};

/// What a provisioner remembers from one sync to the next: the claims that are
/// in progress, and when what failed is to be tried again.
///
/// It has no clock: every call takes the time, in milliseconds on any clock
/// that does not run backwards. It need not outlive the process: after a
/// restart everything is tried at once, and asks the driver under the same
/// names as before. What is forgotten then is a claim that was in progress and
/// was deleted before the restart; upstream forgets it too, and the driver must
/// clean up.
///
/// Follows the queues and `claimsInProgress` of
/// sig-storage-lib-external-provisioner 13, and its delay of infeasible claims.
///
/// # Differences
/// An infeasible claim is tried again after [`Backoff::cap`], as upstream does it.
/// It is due at once if its class is another one or has another version, or if
/// the claim names another VolumeAttributesClass; upstream looks at the class's uid
/// alone.
///
/// # Cost
/// Each call is logarithmic in the number of claims or volumes remembered.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::{Backoff, ClaimEnd, Ledger, Progress, ProvisionError};
/// use pvbind::view::Snapshot;
/// let view = Snapshot::new();
/// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{"metadata": {"uid": "u-1"}}"#)?;
/// let claim = Arc::new(claim);
/// let mut ledger = Ledger::new(Backoff::default());
/// let failed = ClaimEnd {
///     outcome: Err(ProvisionError::Failed { message: "backend down".into() }),
///     progress: Progress::InBackground,
/// };
/// assert_eq!(ledger.claim_ended(&view, &claim, &failed, 10_000), Some(11_000));
/// assert_eq!(ledger.claim_ended(&view, &claim, &failed, 11_000), Some(13_000));
/// assert_eq!(ledger.claim_due(&view, &claim), 13_000);
/// assert!(ledger.is_in_progress(&claim));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    backoff: Backoff,
    /// By uid.
    in_progress: BTreeMap<String, Asked>,
    /// By uid.
    claims: BTreeMap<String, Retry>,
    /// By uid.
    volumes: BTreeMap<String, Retry>,
}

/// A claim for which the driver was called, and may still be at it.
#[derive(Clone, Debug)]
struct Asked {
    claim: Arc<PersistentVolumeClaim>,
    /// Where its volume was to be.
    places: Option<TopologyRequirement>,
    /// Whether nothing but the call that this sync makes speaks for it.
    is_first: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Retry {
    failures: u32,
    due: u64,
    /// If the last failure was that it is infeasible: with what class. With
    /// another, it is due at once.
    infeasible_with: Option<ClassVersion>,
}

/// What a change of the class shows in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClassVersion {
    name: String,
    uid: String,
    version: String,
    attributes_class: String,
}

impl ClassVersion {
    fn of<V: ClusterView + ?Sized>(view: &V, claim: &PersistentVolumeClaim) -> Self {
        let name = claim.class_name();
        let class = view.class(name);
        let metadata = class.as_ref().map(|class| &class.metadata);
        ClassVersion {
            name: name.to_owned(),
            uid: metadata.map_or("", |metadata| metadata.uid()).to_owned(),
            version: metadata
                .map_or("", |metadata| metadata.resource_version())
                .to_owned(),
            attributes_class: claim.attributes_class_name().to_owned(),
        }
    }
}

impl Ledger {
    /// Remembers nothing yet. What fails is tried again after these delays, in
    /// milliseconds; [`Ledger::default`] has the sidecar's.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::provisioner::{Backoff, Ledger, ProvisionError};
    /// // Tries again after 1 minute, and never later than that.
    /// let mut ledger = Ledger::new(Backoff { base: 60_000, cap: 60_000 });
    /// let failed = Err(ProvisionError::Failed { message: "backend down".into() });
    /// let volume = PersistentVolume::default();
    /// assert_eq!([0, 60_000].map(|now| ledger.volume_ended(&volume, &failed, now)), [
    ///     Some(60_000),
    ///     Some(120_000),
    /// ]);
    /// ```
    pub fn new(backoff: Backoff) -> Self {
        Ledger {
            backoff,
            ..Ledger::default()
        }
    }

    /// One sync of a claim, by what is remembered of it: if it is in progress,
    /// [`continue_claim`], with the topology that was asked for before; if it is
    /// not, and the view has no claim of that name and uid, nothing
    /// ([`ClaimOutcome::Gone`]); else [`sync_claim`], with the view's claim.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::provisioner::{ClaimNext, Config, Ledger};
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # let mut view: Snapshot = read_objects(
    /// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
    /// # )?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}"#)?;
    /// # let (config, claim) = (Config::new("disk.csi"), Arc::new(claim));
    /// let mut ledger = Ledger::default();
    /// let gone = ledger.sync_claim(&config, &view, &claim).verdict;
    /// let ClaimNext::Over(end) = gone else { panic!() };
    /// assert_eq!(end.outcome?.to_string(), "the claim is gone");
    ///
    /// view.apply(Arc::clone(&claim));
    /// let call = ledger.sync_claim(&config, &view, &claim).verdict;
    /// let ClaimNext::CreateVolume(operation) = call else { panic!() };
    /// let request = operation.request(&config, &view, &Default::default())?;
    /// ledger.claim_asked(&operation, &request);
    /// // The process hangs, the claim is deleted, the answer never comes:
    /// view.delete(&*claim);
    /// let again = ledger.sync_claim(&config, &view, &claim).verdict;
    /// assert!(matches!(again, ClaimNext::CreateVolume(_)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync_claim<V: ClusterView + ?Sized>(
        &mut self,
        config: &Config,
        view: &V,
        claim: &Arc<PersistentVolumeClaim>,
    ) -> Plan<ClaimNext> {
        let (plan, standing) = match self.in_progress.get_mut(claim.metadata.uid()) {
            Some(asked) => {
                asked.is_first = false;
                let standing = Standing::InProgress(asked.places.clone());
                (continue_claim(config, view, claim), standing)
            }
            None => match in_view(view, claim) {
                None => return over(Ok(ClaimOutcome::Gone), Progress::Finished),
                Some(claim) => (sync_claim(config, view, claim), Standing::New),
            },
        };
        let verdict = match plan.verdict {
            ClaimNext::CreateVolume(operation) => {
                ClaimNext::CreateVolume(operation.standing(standing))
            }
            other => other,
        };
        let steps = plan.steps;
        Plan { steps, verdict }
    }

    /// The driver is about to be called with this request: until the sync has
    /// [ended](Self::claim_ended), the claim is in progress, and asks for the same
    /// topology whatever becomes of the nodes. So it is not lost if the sync is
    /// given up during the call, as when a future is dropped.
    ///
    /// Call it in every sync that was begun by [`sync_claim`](Self::sync_claim);
    /// [`run_claim`](super::run_claim) does.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::json;
    /// use pvbind::provisioner::{ClaimNext, Config, Ledger, RequestInputs};
    /// # let class = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
    /// #     "provisioner": "csi.example.com"});
    /// # let mut view: Snapshot = read_objects(&class.to_string())?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "csi.example.com"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}))?;
    /// # let config = Config::new("csi.example.com");
    /// # let claim = Arc::new(claim);
    /// # view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::default();
    /// let plan = ledger.sync_claim(&config, &view, &claim);
    /// let ClaimNext::CreateVolume(operation) = plan.verdict else { panic!() };
    /// let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// // Before the call, not after: the future that makes it may be dropped.
    /// ledger.claim_asked(&operation, &request);
    /// assert!(ledger.is_in_progress(&claim));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim_asked(&mut self, operation: &CreateVolume, request: &CreateVolumeRequest) {
        let claim = Arc::clone(operation.claim());
        let uid = claim.metadata.uid().to_owned();
        let asked = Asked {
            is_first: !self.in_progress.contains_key(&uid),
            places: request.accessibility_requirements.clone(),
            claim,
        };
        self.in_progress.insert(uid, asked);
    }

    /// A claim's sync ended at this time (`now`, in milliseconds): notes whether it
    /// is in progress, and says when to try again, in milliseconds on the same
    /// clock; `None` if it is not to be tried until something changes. A claim that
    /// is neither in progress nor in the view is forgotten.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::view::Snapshot;
    /// use pvbind::provisioner::{ClaimEnd, ClaimOutcome, Ledger, Progress, ProvisionError};
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let claim = Arc::new(claim);
    /// # let mut view = Snapshot::new();
    /// # view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::default();
    /// let mut ended = |outcome, now| {
    ///     let end = ClaimEnd { outcome, progress: Progress::Finished };
    ///     ledger.claim_ended(&view, &claim, &end, now)
    /// };
    /// let failed = || Err(ProvisionError::Failed { message: "backend down".into() });
    /// assert_eq!([ended(failed(), 0), ended(failed(), 1_000)], [Some(1_000), Some(3_000)]);
    /// // A success begins anew; only errors are tried again.
    /// assert_eq!(ended(Ok(ClaimOutcome::Provisioned { volume: "pvc-u-1".into() }), 3_000), None);
    /// assert_eq!(ended(failed(), 9_000), Some(10_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim_ended<V: ClusterView + ?Sized>(
        &mut self,
        view: &V,
        claim: &Arc<PersistentVolumeClaim>,
        end: &ClaimEnd,
        now: u64,
    ) -> Option<u64> {
        let uid = claim.metadata.uid();
        match end.progress {
            Progress::Finished => {
                self.in_progress.remove(uid);
            }
            Progress::InBackground => {
                let before = self.in_progress.remove(uid);
                let asked = Asked {
                    claim: Arc::clone(claim),
                    places: before.and_then(|before| before.places),
                    is_first: false,
                };
                self.in_progress.insert(uid.to_owned(), asked);
            }
            Progress::Unchanged => {
                let is_first = self
                    .in_progress
                    .get(uid)
                    .is_some_and(|asked| asked.is_first);
                if is_first {
                    self.in_progress.remove(uid);
                }
            }
        }
        let is_over = !self.in_progress.contains_key(uid) && in_view(view, claim).is_none();
        let error = match &end.outcome {
            Err(error) if !is_over => error,
            _ => {
                self.claims.remove(uid);
                return None;
            }
        };
        let infeasible_with = matches!(error, ProvisionError::Infeasible { .. })
            .then(|| ClassVersion::of(view, claim));
        let retry = self
            .backoff
            .after(self.claims.get(uid), infeasible_with, now);
        let due = retry.due;
        self.claims.insert(uid.to_owned(), retry);
        Some(due)
    }

    /// When a claim may be tried (again), in milliseconds on the clock of
    /// [`claim_ended`](Self::claim_ended); 0 if at once. A claim that was infeasible
    /// is due at once when its class changed.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::{PersistentVolumeClaim, StorageClass};
    /// use pvbind::provisioner::{Backoff, ClaimEnd, Ledger, Progress, ProvisionError};
    /// use pvbind::view::Snapshot;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"uid": "u-1"}, "spec": {"storageClassName": "fast"}}"#)?;
    /// let claim = Arc::new(claim);
    /// let mut view = Snapshot::new();
    /// view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::new(Backoff::default());
    /// let end = ClaimEnd {
    ///     outcome: Err(ProvisionError::Infeasible { message: "no such type".into() }),
    ///     progress: Progress::Finished,
    /// };
    /// ledger.claim_ended(&view, &claim, &end, 10_000);
    /// assert_eq!(ledger.claim_due(&view, &claim), 310_000);
    ///
    /// let class: StorageClass =
    ///     serde_json::from_str(r#"{"metadata": {"name": "fast", "resourceVersion": "2"}}"#)?;
    /// view.apply(Arc::new(class));
    /// assert_eq!(ledger.claim_due(&view, &claim), 0);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn claim_due<V: ClusterView + ?Sized>(
        &self,
        view: &V,
        claim: &PersistentVolumeClaim,
    ) -> u64 {
        let Some(retry) = self.claims.get(claim.metadata.uid()) else {
            return 0;
        };
        match &retry.infeasible_with {
            Some(class) if *class != ClassVersion::of(view, claim) => 0,
            _ => retry.due,
        }
    }

    /// A volume's sync ended at this time (`now`, in milliseconds): says when to try
    /// again, in milliseconds on the same clock; `None` if it is not to be tried
    /// until something changes.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::provisioner::{Ledger, ProvisionError, VolumeOutcome};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// let mut ledger = Ledger::default();
    /// let attached = Err(ProvisionError::Failed { message: "attached to node-1".into() });
    /// assert_eq!(ledger.volume_ended(&volume, &attached, 5_000), Some(6_000));
    /// assert_eq!(ledger.volume_ended(&volume, &attached, 6_000), Some(8_000));
    /// assert_eq!(ledger.volume_ended(&volume, &Ok(VolumeOutcome::Deleted), 8_000), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume_ended(
        &mut self,
        volume: &PersistentVolume,
        outcome: &Result<VolumeOutcome, ProvisionError>,
        now: u64,
    ) -> Option<u64> {
        let uid = volume.metadata.uid();
        if outcome.is_ok() {
            self.volumes.remove(uid);
            return None;
        }
        let retry = self.backoff.after(self.volumes.get(uid), None, now);
        let due = retry.due;
        self.volumes.insert(uid.to_owned(), retry);
        Some(due)
    }

    /// When a volume may be tried (again), in milliseconds on the clock of
    /// [`volume_ended`](Self::volume_ended); 0 if at once.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::provisioner::{Backoff, Ledger, ProvisionError};
    /// let volume = PersistentVolume::default();
    /// let mut ledger = Ledger::new(Backoff::default());
    /// assert_eq!(ledger.volume_due(&volume), 0);
    /// let failed = Err(ProvisionError::Failed { message: "in use".into() });
    /// ledger.volume_ended(&volume, &failed, 5_000);
    /// assert_eq!(ledger.volume_due(&volume), 6_000);
    /// ```
    pub fn volume_due(&self, volume: &PersistentVolume) -> u64 {
        let retry = self.volumes.get(volume.metadata.uid());
        retry.map_or(0, |retry| retry.due)
    }

    /// Whether a claim is in progress.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::view::Snapshot;
    /// use pvbind::provisioner::{ClaimEnd, Ledger, Progress, ProvisionError};
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let claim = Arc::new(claim);
    /// # let mut view = Snapshot::new();
    /// # view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::default();
    /// let end = ClaimEnd {
    ///     outcome: Err(ProvisionError::Failed { message: "timeout".into() }),
    ///     progress: Progress::InBackground,
    /// };
    /// ledger.claim_ended(&view, &claim, &end, 0);
    /// assert!(ledger.is_in_progress(&claim));
    /// // It goes by uid: a later claim of the same name is another.
    /// let mut later = PersistentVolumeClaim::clone(&claim);
    /// later.metadata.uid = Some("u-2".into());
    /// assert!(!ledger.is_in_progress(&later));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_in_progress(&self, claim: &PersistentVolumeClaim) -> bool {
        self.in_progress.contains_key(claim.metadata.uid())
    }

    /// The claims in progress, by uid, each as it was when the driver was last
    /// asked. They are to be synced even if they are gone.
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::view::Snapshot;
    /// use pvbind::provisioner::{ClaimEnd, Ledger, Progress, ProvisionError};
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let claim = Arc::new(claim);
    /// # let mut view = Snapshot::new();
    /// # view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::default();
    /// # let end = ClaimEnd {
    /// #     outcome: Err(ProvisionError::Failed { message: "timeout".into() }),
    /// #     progress: Progress::InBackground,
    /// # };
    /// ledger.claim_ended(&view, &claim, &end, 0);
    /// // The claim is deleted. No watch shows it any more, and the driver may be at it still.
    /// view.delete(&*claim);
    /// let due: Vec<_> = ledger.in_progress().map(|claim| claim.metadata.key()).collect();
    /// assert_eq!(due, ["shop/data"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_progress(&self) -> impl ExactSizeIterator<Item = &Arc<PersistentVolumeClaim>> {
        self.in_progress.values().map(|asked| &asked.claim)
    }

    /// A claim is gone: its failures are forgotten. While it is in progress they
    /// are not; they are when that has ended, see
    /// [`claim_ended`](Self::claim_ended).
    ///
    /// ```
    /// use std::sync::Arc;
    /// # use pvbind::api::PersistentVolumeClaim;
    /// # use pvbind::view::Snapshot;
    /// use pvbind::provisioner::{ClaimEnd, Ledger, Progress, ProvisionError};
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let claim = Arc::new(claim);
    /// # let mut view = Snapshot::new();
    /// # view.apply(Arc::clone(&claim));
    /// let mut ledger = Ledger::default();
    /// let failed = || Err(ProvisionError::Failed { message: "backend down".into() });
    /// let end = ClaimEnd { outcome: failed(), progress: Progress::Finished };
    /// ledger.claim_ended(&view, &claim, &end, 0);
    /// assert_eq!(ledger.claim_due(&view, &claim), 1_000);
    /// ledger.forget_claim("u-1"); // the watch said that it was deleted
    /// assert_eq!(ledger.claim_due(&view, &claim), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_claim(&mut self, uid: &str) {
        if !self.in_progress.contains_key(uid) {
            self.claims.remove(uid);
        }
    }

    /// A volume is gone: its failures are forgotten.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::provisioner::{Ledger, ProvisionError};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"uid": "u-9"}}"#)?;
    /// let mut ledger = Ledger::default();
    /// let failed = Err(ProvisionError::Failed { message: "attached".into() });
    /// ledger.volume_ended(&volume, &failed, 5_000);
    /// ledger.forget_volume("u-9"); // somebody deleted it by hand
    /// assert_eq!(ledger.volume_due(&volume), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_volume(&mut self, uid: &str) {
        self.volumes.remove(uid);
    }
}

/// The claim as the view has it, if it does.
fn in_view<'v, V: ClusterView + ?Sized>(
    view: &'v V,
    claim: &PersistentVolumeClaim,
) -> Option<Held<'v, PersistentVolumeClaim>> {
    let metadata = &claim.metadata;
    let current = view.claim(metadata.namespace(), metadata.name());
    current.filter(|current| current.metadata.uid() == metadata.uid())
}

impl Backoff {
    fn after(
        &self,
        before: Option<&Retry>,
        infeasible_with: Option<ClassVersion>,
        now: u64,
    ) -> Retry {
        let failures = before.map_or(0, |retry| retry.failures).saturating_add(1);
        let delay = match infeasible_with {
            Some(_) => self.cap,
            None => self.delay(failures),
        };
        Retry {
            failures,
            due: now.saturating_add(delay),
            infeasible_with,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::StorageClass;
    use crate::view::Snapshot;
    use serde_json::json;

    fn claim() -> Arc<PersistentVolumeClaim> {
        let claim = json!({"metadata": {"uid": "u-1"}, "spec": {"storageClassName": "fast"}});
        serde_json::from_value(claim).map(Arc::new).unwrap()
    }

    fn view(version: &str) -> Snapshot {
        let mut view = Snapshot::new();
        let class = json!({"metadata": {"name": "fast", "uid": "c-1", "resourceVersion": version}});
        let class: StorageClass = serde_json::from_value(class).unwrap();
        view.apply(Arc::new(class));
        view.apply(claim());
        view
    }

    fn end(outcome: Result<ClaimOutcome, ProvisionError>, progress: Progress) -> ClaimEnd {
        ClaimEnd { outcome, progress }
    }

    fn failed() -> Result<ClaimOutcome, ProvisionError> {
        let message = "down".to_owned();
        Err(ProvisionError::Failed { message })
    }

    #[test]
    fn an_infeasible_claim_waits_until_its_class_changes() {
        let mut ledger = Ledger::new(Backoff { base: 1, cap: 500 });
        let message = "no such type".to_owned();
        let infeasible = Err(ProvisionError::Infeasible { message });
        let infeasible = end(infeasible, Progress::Finished);
        let due = ledger.claim_ended(&view("1"), &claim(), &infeasible, 100);
        assert_eq!(due, Some(600));
        assert_eq!(ledger.claim_due(&view("1"), &claim()), 600);
        assert_eq!(ledger.claim_due(&view("2"), &claim()), 0);
        assert_eq!(ledger.claim_due(&Snapshot::new(), &claim()), 0);
        // Nor is anything remembered of one that is gone.
        let due = ledger.claim_ended(&Snapshot::new(), &claim(), &infeasible, 100);
        assert_eq!(due, None);
        assert!(ledger.claims.is_empty());
        let mut other = (*claim()).clone();
        other.spec.volume_attributes_class_name = Some("gold".into());
        assert_eq!(ledger.claim_due(&view("1"), &other), 0);
    }

    #[test]
    fn nothing_is_remembered_of_a_claim_that_went_while_it_was_in_progress() {
        let mut ledger = Ledger::default();
        let (view, claim) = (view("1"), claim());
        let background = end(failed(), Progress::InBackground);
        assert!(ledger.claim_ended(&view, &claim, &background, 0).is_some());
        ledger.forget_claim("u-1");
        let gone = Snapshot::new();
        assert!(ledger.claim_ended(&gone, &claim, &background, 0).is_some());
        let finished = end(failed(), Progress::Finished);
        assert_eq!(ledger.claim_ended(&gone, &claim, &finished, 0), None);
        assert!(ledger.claims.is_empty() && ledger.in_progress.is_empty());
    }

    #[test]
    fn success_forgets_failures() {
        let mut ledger = Ledger::new(Backoff { base: 1, cap: 500 });
        let (view, claim) = (view("1"), claim());
        let failure = end(failed(), Progress::Unchanged);
        for due in [1, 2, 4] {
            let found = ledger.claim_ended(&view, &claim, &failure, 0);
            assert_eq!(found, Some(due));
        }
        let volume = "pvc-u-1".to_owned();
        let success = end(Ok(ClaimOutcome::Provisioned { volume }), Progress::Finished);
        assert_eq!(ledger.claim_ended(&view, &claim, &success, 9), None);
        assert_eq!(ledger.claim_due(&view, &claim), 0);
        assert_eq!(ledger.claim_ended(&view, &claim, &failure, 0), Some(1));
    }

    #[test]
    fn no_change_leaves_a_claim_in_progress_where_it_was() {
        let mut ledger = Ledger::default();
        let (view, claim) = (view("1"), claim());
        for (progress, expected) in [
            (Progress::Unchanged, false),
            (Progress::InBackground, true),
            (Progress::Unchanged, true),
            (Progress::Finished, false),
            (Progress::Unchanged, false),
        ] {
            let _due = ledger.claim_ended(&view, &claim, &end(failed(), progress), 0);
            assert_eq!(ledger.is_in_progress(&claim), expected, "{progress:?}");
        }
    }
}
