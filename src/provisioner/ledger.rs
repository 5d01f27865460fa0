//! What a provisioner remembers from one sync to the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Backoff, ClaimEnd, Progress, ProvisionError, VolumeOutcome};
use crate::api::{PersistentVolume, PersistentVolumeClaim};
use crate::view::ClusterView;

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
    in_progress: BTreeMap<String, Arc<PersistentVolumeClaim>>,
    /// By uid.
    claims: BTreeMap<String, Retry>,
    /// By uid.
    volumes: BTreeMap<String, Retry>,
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
    /// Remembers nothing yet.
    pub fn new(backoff: Backoff) -> Self {
        Ledger {
            backoff,
            ..Ledger::default()
        }
    }

    /// A claim's sync ended at this time: notes whether it is in progress, and
    /// says when to try again; `None` if it is not to be tried until something
    /// changes.
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
                self.in_progress.insert(uid.to_owned(), Arc::clone(claim));
            }
            Progress::Unchanged => {}
        }
        let Err(error) = &end.outcome else {
            self.claims.remove(uid);
            return None;
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

    /// When a claim may be tried (again); 0 if at once. A claim that was
    /// infeasible is due at once when its class changed.
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

    /// A volume's sync ended at this time: says when to try again; `None` if it
    /// is not to be tried until something changes.
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

    /// When a volume may be tried (again); 0 if at once.
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
    pub fn is_in_progress(&self, claim: &PersistentVolumeClaim) -> bool {
        self.in_progress.contains_key(claim.metadata.uid())
    }

    /// The claims in progress, by uid, each as it was when the driver was last
    /// asked. They are to be continued even if they are gone, by
    /// [`continue_claim`](super::continue_claim).
    pub fn in_progress(&self) -> impl ExactSizeIterator<Item = &Arc<PersistentVolumeClaim>> {
        self.in_progress.values()
    }

    /// A claim is gone: its failures are forgotten, unless it is in progress.
    pub fn forget_claim(&mut self, uid: &str) {
        if !self.in_progress.contains_key(uid) {
            self.claims.remove(uid);
        }
    }

    /// A volume is gone: its failures are forgotten.
    pub fn forget_volume(&mut self, uid: &str) {
        self.volumes.remove(uid);
    }
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
    use crate::provisioner::ClaimOutcome;
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
        let mut other = (*claim()).clone();
        other.spec.volume_attributes_class_name = Some("gold".into());
        assert_eq!(ledger.claim_due(&view("1"), &other), 0);
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
