//! The API server as a plan sees it, and the synchronous driver.

use std::sync::Arc;

use super::{ApiError, Change, Event, Execution, FollowUp, Plan, Report, Step, Write};
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};

/// The calls to the API server that plans need.
///
/// An update is sent either as a whole ([`Change::to`]) or as a merge patch
/// ([`Change::merge_patch`]); both hold the resourceVersion, so that the API
/// server refuses what is based on an old version. Each update and creation
/// returns the object as the API server then has it.
///
/// An API server in memory, for tests and simulations:
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, read_objects};
/// use pvbind::controller::{Config, run_volume_sync};
/// use pvbind::plan::{ApiError, ApiServer, Change, Event};
/// use pvbind::view::{ClusterView, Snapshot};
///
/// struct Memory(Snapshot);
///
/// impl Memory {
///     fn keep_volume(&mut self, volume: PersistentVolume) -> Result<PersistentVolume, ApiError> {
///         self.0.apply(Arc::new(volume.clone()));
///         Ok(volume)
///     }
///     fn keep_claim(
///         &mut self,
///         claim: PersistentVolumeClaim,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.0.apply(Arc::new(claim.clone()));
///         Ok(claim)
///     }
/// }
///
/// impl ApiServer for Memory {
///     fn update_volume(
///         &mut self,
///         change: &Change<PersistentVolume>,
///     ) -> Result<PersistentVolume, ApiError> {
///         self.keep_volume(PersistentVolume::clone(&change.to))
///     }
///     fn update_claim(
///         &mut self,
///         change: &Change<PersistentVolumeClaim>,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.keep_claim(PersistentVolumeClaim::clone(&change.to))
///     }
///     // A real one writes nothing but the status here, and nothing of it above.
///     fn update_volume_status(
///         &mut self,
///         change: &Change<PersistentVolume>,
///     ) -> Result<PersistentVolume, ApiError> {
///         self.update_volume(change)
///     }
///     fn update_claim_status(
///         &mut self,
///         change: &Change<PersistentVolumeClaim>,
///     ) -> Result<PersistentVolumeClaim, ApiError> {
///         self.update_claim(change)
///     }
///     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
///         self.keep_volume(volume.clone())
///     }
///     fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
///         self.0.delete(volume);
///         Ok(())
///     }
///     fn record_event(&mut self, event: &Event) {
///         println!("{event}");
///     }
///     fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
///         Ok(self.0.claim(&key.namespace, &key.name).map(|claim| PersistentVolumeClaim::clone(&claim)))
///     }
///     fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
///         Ok(self.0.volume(name).map(|volume| PersistentVolume::clone(&volume)))
///     }
/// }
///
/// // A bound volume whose claim nobody has: it is released.
/// let cluster: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
///      "spec": {"persistentVolumeReclaimPolicy": "Retain",
///               "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?
/// .into_iter()
/// .collect();
/// let volume = cluster.find::<PersistentVolume>("", "pv-1").cloned().unwrap();
/// let mut server = Memory(cluster);
/// let report = run_volume_sync(&Config::default(), &Snapshot::new(), &mut server, &volume)?;
/// assert_eq!(report.writes(), 1);
/// let phase = server.read_volume("pv-1")?.unwrap().status.phase;
/// assert_eq!(phase.unwrap().as_str(), "Released");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ApiServer {
    /// Updates a volume's metadata and spec. An API server takes nothing of the
    /// status here, and says nothing about that.
    ///
    /// # Errors
    /// What the API server answers instead: [`Conflict`](super::ApiErrorKind::Conflict)
    /// if the volume was written since. The plan ends with it, as its step says.
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, sync_claim, sync_volume};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event, apply_merge_patch, carry_out};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::{Value, json};
    /// # #[derive(Default)]
    /// # struct Client { objects: BTreeMap<String, Value>, log: Vec<String> }
    /// # impl Client {
    /// #     fn patch<T: serde::de::DeserializeOwned>(&mut self, path: &str, patch: Value) -> Result<T, ApiError> {
    /// #         self.log.push(format!("PATCH {path} {patch}"));
    /// #         let object = self.objects.entry(path.trim_end_matches("/status").to_owned()).or_default();
    /// #         apply_merge_patch(object, &patch);
    /// #         serde_json::from_value(object.clone()).map_err(|error| ApiError::new(ApiErrorKind::Other, error.to_string()))
    /// #     }
    /// # }
    /// impl ApiServer for Client {
    ///     fn update_volume(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> {
    ///         let path = format!("/api/v1/persistentvolumes/{}", change.to.name());
    ///         self.patch(&path, change.merge_patch())
    ///     }
    /// #     fn update_volume_status(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*change.to).clone()) }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let volume: PersistentVolume = serde_json::from_value(json!({
    /// #     "metadata": {"name": "pv-1", "resourceVersion": "7"}, "status": {"phase": "Bound"},
    /// #     "spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}, "spec": {"volumeName": "pv-2"}}))?;
    /// # let mut view = Snapshot::new();
    /// # view.apply(std::sync::Arc::new(claim));
    /// # let mut client = Client::default();
    /// # client.objects.insert("/api/v1/persistentvolumes/pv-1".to_owned(), serde_json::to_value(&volume)?);
    /// // A volume that was reserved by hand for a claim, which took another one:
    /// let plan = sync_volume(&Config::default(), &view, &volume, None);
    /// let report = carry_out(&mut client, plan);
    /// let patch = r#"{"metadata":{"resourceVersion":"7"},"spec":{"claimRef":{"uid":null}}}"#;
    /// assert_eq!(client.log, [format!("PATCH /api/v1/persistentvolumes/pv-1 {patch}")]);
    /// # assert_eq!(report.error(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a volume's status, of which alone an API server takes anything here.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, sync_claim, sync_volume};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event, apply_merge_patch, carry_out};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::{Value, json};
    /// # #[derive(Default)]
    /// # struct Client { objects: BTreeMap<String, Value>, log: Vec<String> }
    /// # impl Client {
    /// #     fn patch<T: serde::de::DeserializeOwned>(&mut self, path: &str, patch: Value) -> Result<T, ApiError> {
    /// #         self.log.push(format!("PATCH {path} {patch}"));
    /// #         let object = self.objects.entry(path.trim_end_matches("/status").to_owned()).or_default();
    /// #         apply_merge_patch(object, &patch);
    /// #         serde_json::from_value(object.clone()).map_err(|error| ApiError::new(ApiErrorKind::Other, error.to_string()))
    /// #     }
    /// # }
    /// impl ApiServer for Client {
    ///     fn update_volume_status(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> {
    ///         let path = format!("/api/v1/persistentvolumes/{}/status", change.to.name());
    ///         self.patch(&path, change.merge_patch())
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let volume: PersistentVolume = serde_json::from_value(json!({
    /// #     "metadata": {"name": "pv-1", "resourceVersion": "7"}}))?;
    /// # let mut client = Client::default();
    /// // A volume that was just created:
    /// let plan = sync_volume(&Config::default(), &Snapshot::new(), &volume, None);
    /// let report = carry_out(&mut client, plan);
    /// let patch = r#"{"metadata":{"resourceVersion":"7"},"status":{"phase":"Available"}}"#;
    /// assert_eq!(client.log, [format!("PATCH /api/v1/persistentvolumes/pv-1/status {patch}")]);
    /// # assert_eq!(report.error(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError>;

    /// Updates a claim's metadata and spec; as with a volume, nothing of its status.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, sync_claim, sync_volume};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event, apply_merge_patch, carry_out};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::{Value, json};
    /// # #[derive(Default)]
    /// # struct Client { objects: BTreeMap<String, Value>, log: Vec<String> }
    /// # impl Client {
    /// #     fn patch<T: serde::de::DeserializeOwned>(&mut self, path: &str, patch: Value) -> Result<T, ApiError> {
    /// #         self.log.push(format!("PATCH {path} {patch}"));
    /// #         let object = self.objects.entry(path.trim_end_matches("/status").to_owned()).or_default();
    /// #         apply_merge_patch(object, &patch);
    /// #         serde_json::from_value(object.clone()).map_err(|error| ApiError::new(ApiErrorKind::Other, error.to_string()))
    /// #     }
    /// # }
    /// impl ApiServer for Client {
    ///     fn update_claim(&mut self, change: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> {
    ///         let claim = change.to.key();
    ///         let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.namespace, claim.name);
    ///         self.patch(&path, change.merge_patch())
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let view: Snapshot = pvbind::api::read_objects(r#"{"kind": "StorageClass", "metadata": {
    /// #     "name": "fast", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let mut client = Client::default();
    /// // A claim without class, in a cluster that has a default class by now:
    /// let report = carry_out(&mut client, sync_claim(&Config::default(), &view, &claim));
    /// assert_eq!(client.log, [
    ///     r#"PATCH /api/v1/namespaces/shop/persistentvolumeclaims/data {"spec":{"storageClassName":"fast"}}"#,
    /// ]);
    /// # assert_eq!(report.error(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Updates a claim's status, and nothing else of it.
    ///
    /// # Errors
    /// As of [`update_volume`](Self::update_volume).
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, sync_claim, sync_volume};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event, apply_merge_patch, carry_out};
    /// # use pvbind::view::Snapshot;
    /// # use serde_json::{Value, json};
    /// # #[derive(Default)]
    /// # struct Client { objects: BTreeMap<String, Value>, log: Vec<String> }
    /// # impl Client {
    /// #     fn patch<T: serde::de::DeserializeOwned>(&mut self, path: &str, patch: Value) -> Result<T, ApiError> {
    /// #         self.log.push(format!("PATCH {path} {patch}"));
    /// #         let object = self.objects.entry(path.trim_end_matches("/status").to_owned()).or_default();
    /// #         apply_merge_patch(object, &patch);
    /// #         serde_json::from_value(object.clone()).map_err(|error| ApiError::new(ApiErrorKind::Other, error.to_string()))
    /// #     }
    /// # }
    /// impl ApiServer for Client {
    ///     fn update_claim_status(&mut self, change: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> {
    ///         let claim = change.to.key();
    ///         let path = format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.namespace, claim.name);
    ///         self.patch(&format!("{path}/status"), change.merge_patch())
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}))?;
    /// # let mut client = Client::default();
    /// // A claim that no volume fits:
    /// let report = carry_out(&mut client, sync_claim(&Config::default(), &Snapshot::new(), &claim));
    /// assert_eq!(client.log, [
    ///     r#"PATCH /api/v1/namespaces/shop/persistentvolumeclaims/data/status {"status":{"phase":"Pending"}}"#,
    /// ]);
    /// # assert_eq!(report.error(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError>;

    /// Creates a volume. It is called again, at once, as often as the step says; say
    /// [`AlreadyExists`](super::ApiErrorKind::AlreadyExists) where that is so, which counts
    /// as success.
    ///
    /// # Errors
    /// What the API server answers instead.
    ///
    /// ```
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::*;
    /// struct Client { answers: Vec<(u16, &'static str)> }
    /// impl ApiServer for Client {
    ///     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
    ///         let Some((code, reason)) = self.answers.pop() else { return Ok(volume.clone()) };
    ///         Err(ApiError::new(ApiErrorKind::of_status(code, reason), "not created"))
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let write = Write::CreateVolume { volume: Box::new(PersistentVolume::default()), attempts: 5 };
    /// # let step = Step::Write { write, on_failure: OnFailure::Stop(WriteContext::Plain) };
    /// # let plan = Plan { steps: vec![step], verdict: Verdict::Settled };
    /// // The first request times out, although the volume was created:
    /// let mut client = Client { answers: vec![(409, "AlreadyExists"), (504, "Timeout")] };
    /// let report = carry_out(&mut client, plan);
    /// assert_eq!((report.done.len(), report.error()), (2, None));
    /// ```
    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError>;

    /// Deletes a volume, with its uid and resourceVersion as preconditions: what was
    /// decided holds for this object, and not for one that has taken its name or was
    /// written since.
    ///
    /// # Errors
    /// What the API server answers instead. An operation ignores it: the next sync
    /// of the volume starts it again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::plan::*;
    /// # use serde_json::json;
    /// # struct Client { log: Vec<String> }
    /// impl ApiServer for Client {
    ///     fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
    ///         let metadata = &volume.metadata;
    ///         let conditions = json!({"uid": metadata.uid, "resourceVersion": metadata.resource_version});
    ///         let options = json!({"preconditions": conditions});
    ///         self.log.push(format!("DELETE /api/v1/persistentvolumes/{} {options}", volume.name()));
    ///         Ok(())
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let mut client = Client { log: Vec::new() };
    /// # let volume: PersistentVolume = serde_json::from_value(json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1", "resourceVersion": "7"}}))?;
    /// # let write = Write::DeleteVolume(Arc::new(volume));
    /// # let step = Step::Write { write, on_failure: OnFailure::Ignore };
    /// # let report = carry_out(&mut client, Plan { steps: vec![step], verdict: Verdict::Settled });
    /// # assert_eq!(report.error(), None);
    /// let options = r#"{"preconditions":{"resourceVersion":"7","uid":"u-1"}}"#;
    /// assert_eq!(client.log, [format!("DELETE /api/v1/persistentvolumes/pv-1 {options}")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError>;

    /// Records an event. Nothing depends on whether that succeeds.
    ///
    /// A claim that waits is told about at every sync, so count what repeats, as
    /// Kubernetes' own recorder does:
    ///
    /// ```
    /// # use std::collections::BTreeMap;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, sync_claim};
    /// # use pvbind::plan::{ApiError, ApiServer, Change, Event, carry_out};
    /// # use pvbind::view::Snapshot;
    /// # #[derive(Default)]
    /// struct Client { events: BTreeMap<String, u32> }
    /// impl ApiServer for Client {
    ///     fn record_event(&mut self, event: &Event) {
    ///         *self.events.entry(format!("{} {}", event.reason, event.key())).or_default() += 1;
    ///     }
    /// #     fn update_claim_status(&mut self, change: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { Ok((*change.to).clone()) }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let (config, view, mut client) = (Config::default(), Snapshot::new(), Client::default());
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}, "status": {"phase": "Pending"}}))?;
    /// for _ in 0..2 {
    ///     let report = carry_out(&mut client, sync_claim(&config, &view, &claim));
    /// #   assert_eq!(report.error(), None);
    /// }
    /// assert_eq!(client.events["FailedBinding shop/data"], 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn record_event(&mut self, event: &Event);

    /// Reads a claim, from the API server itself and not from a cache; `None` if it
    /// answers that there is none.
    ///
    /// # Errors
    /// Any other answer, or none: the sync of the volume ends then, and nothing is
    /// written.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
    /// # use pvbind::controller::{Config, run_volume_sync};
    /// # use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event};
    /// # use pvbind::view::Snapshot;
    /// struct Client { code: u16, reason: &'static str }
    /// impl ApiServer for Client {
    ///     fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
    ///         match ApiErrorKind::of_status(self.code, self.reason) {
    ///             ApiErrorKind::NotFound => Ok(None),
    ///             kind => Err(ApiError::new(kind, format!("claim {key} cannot be read"))),
    ///         }
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, change: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { Ok((*change.to).clone()) }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { panic!() }
    /// }
    /// # let (config, view) = (Config::default(), Snapshot::new());
    /// # let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"}, "spec": {
    /// #         "persistentVolumeReclaimPolicy": "Retain",
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}))?;
    /// # let volume = Arc::new(volume);
    /// let mut sync = |code, reason| run_volume_sync(&config, &view, &mut Client { code, reason }, &volume);
    /// assert_eq!(sync(404, "NotFound")?.writes(), 1); // phase Released
    /// // A proxy in between that knows no such path says nothing about the claim.
    /// assert_eq!(sync(404, "").unwrap_err().to_string(), "claim shop/data cannot be read");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError>;

    /// Reads a volume, from the API server itself and not from a cache; `None` if it
    /// answers that there is none. An operation asks so, right before it has data
    /// deleted.
    ///
    /// # Errors
    /// Any other answer, or none: the operation ends then, and the next sync of the
    /// object starts it again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, StorageClass};
    /// # use pvbind::controller::{Backend, Config, DeleteError, InTreePlugin, ProvisionRequest, run_operation};
    /// # use pvbind::plan::{ApiError, ApiServer, Change, Event, Operation};
    /// # use pvbind::view::Snapshot;
    /// # struct Client { volumes: Vec<PersistentVolume> }
    /// impl ApiServer for Client {
    ///     fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
    ///         Ok(self.volumes.iter().find(|volume| volume.name() == name).cloned())
    ///     }
    /// #     fn update_volume(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_volume_status(&mut self, _: &Change<PersistentVolume>) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn update_claim(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn update_claim_status(&mut self, _: &Change<PersistentVolumeClaim>) -> Result<PersistentVolumeClaim, ApiError> { panic!() }
    /// #     fn create_volume(&mut self, _: &PersistentVolume) -> Result<PersistentVolume, ApiError> { panic!() }
    /// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { panic!() }
    /// #     fn record_event(&mut self, _: &Event) {}
    /// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { panic!() }
    /// }
    /// # struct NeverAsked;
    /// # impl Backend for NeverAsked {
    /// #     fn start_provisioner(&mut self, _: &str, _: &StorageClass) -> Result<(), String> { panic!() }
    /// #     fn provision(&mut self, _: &ProvisionRequest) -> Result<PersistentVolume, String> { panic!() }
    /// #     fn delete(&mut self, _: &str, _: &PersistentVolume) -> Result<(), DeleteError> { panic!() }
    /// #     fn recycle(&mut self, _: &str, _: &PersistentVolume) -> Result<(), String> { panic!() }
    /// # }
    /// # let (mut config, view, mut backend) = (Config::default(), Snapshot::new(), NeverAsked);
    /// # config.plugins.push(InTreePlugin { can_delete: true, ..InTreePlugin::new("kubernetes.io/nfs", ["nfs"]) });
    /// # let mut volume: PersistentVolume = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "pv-1", "uid": "u-1"}, "status": {"phase": "Released"}, "spec": {
    /// #         "persistentVolumeReclaimPolicy": "Delete", "nfs": {"path": "/exports/1"},
    /// #         "claimRef": {"namespace": "shop", "name": "data", "uid": "u-2"}}}))?;
    /// let delete = Operation::Delete { volume: Arc::new(volume.clone()) };
    /// // Meanwhile somebody has cleared the volume's claimRef, to keep the data.
    /// volume.spec.claim_ref = None;
    /// let mut client = Client { volumes: vec![volume] };
    /// let report = run_operation(&config, &view, &mut client, &mut backend, delete);
    /// assert_eq!(report.done, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError>;
}

/// What a step returned.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::plan::{Write, Written};
/// /// What a client that changes nothing answers, as in a dry run.
/// fn pretend(write: &Write) -> Written {
///     match write {
///         Write::Volume(change) | Write::VolumeStatus(change) => Written::Volume(Arc::clone(&change.to)),
///         Write::Claim(change) | Write::ClaimStatus(change) => Written::Claim(Arc::clone(&change.to)),
///         Write::CreateVolume { volume, .. } => Written::Volume(Arc::new((**volume).clone())),
///         _ => Written::Nothing,
///     }
/// }
/// # let volume = Arc::new(pvbind::api::PersistentVolume::default());
/// # assert_eq!(pretend(&Write::DeleteVolume(volume)), Written::Nothing);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Written {
    /// Nothing, as for an event or a deletion.
    Nothing,
    /// A volume as the API server has it now.
    Volume(Arc<PersistentVolume>),
    /// A claim as the API server has it now.
    Claim(Arc<PersistentVolumeClaim>),
}

/// Carries out a plan in order, up to the first failure that stops it.
///
/// Enqueued claims and started operations are left to the caller: they stand in
/// the [`Report`].
///
/// Cost: see [`Execution`].
///
/// ```
/// use pvbind::api::*;
/// use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::*;
/// use pvbind::view::Snapshot;
/// #[derive(Default)]
/// struct Server { events: Vec<String> }
/// # macro_rules! echo { ($($name:ident($T:ty)),*) => {$(
/// #     fn $name(&mut self, change: &Change<$T>) -> Result<$T, ApiError> { Ok((*change.to).clone()) }
/// # )*} }
/// # impl ApiServer for Server {
/// #     echo!(update_volume(PersistentVolume), update_volume_status(PersistentVolume));
/// #     echo!(update_claim(PersistentVolumeClaim), update_claim_status(PersistentVolumeClaim));
/// #     fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> { Ok(volume.clone()) }
/// #     fn delete_volume(&mut self, _: &PersistentVolume) -> Result<(), ApiError> { Ok(()) }
/// #     fn record_event(&mut self, event: &Event) { self.events.push(event.to_string()); }
/// #     fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> { Ok(None) }
/// #     fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> { Ok(None) }
/// # }
/// // `impl ApiServer for Server`: see `ApiServer`.
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv-1"}}))?;
/// let mut server = Server::default();
/// let plan = sync_claim(&Config::default(), &Snapshot::new(), &claim);
/// let report = carry_out(&mut server, plan);
/// // The volume that the claim names is not there yet: it waits, without a word.
/// assert_eq!(report.writes(), 1);
/// assert_eq!(server.events, [] as [&str; 0]);
/// let Ok(Written::Claim(claim)) = &report.done[0].result else { panic!() };
/// assert_eq!(claim.status.phase, Some(ClaimPhase::Pending));
/// assert_eq!(report.end, End::Finished(Verdict::Settled));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn carry_out<V: FollowUp>(server: &mut (impl ApiServer + ?Sized), plan: Plan<V>) -> Report<V> {
    let mut execution = Execution::new(plan);
    while let Some(step) = execution.step() {
        let result = match step {
            Step::Write { write, .. } => send(server, write),
            Step::Event(event) => {
                server.record_event(event);
                Ok(Written::Nothing)
            }
            Step::EnqueueClaim(_) | Step::Start(_) => Ok(Written::Nothing),
        };
        execution.answer(result);
    }
    execution.finish()
}

fn send(server: &mut (impl ApiServer + ?Sized), write: &Write) -> Result<Written, ApiError> {
    let volume = |volume| Written::Volume(Arc::new(volume));
    let claim = |claim| Written::Claim(Arc::new(claim));
    match write {
        Write::Volume(change) => server.update_volume(change).map(volume),
        Write::VolumeStatus(change) => server.update_volume_status(change).map(volume),
        Write::Claim(change) => server.update_claim(change).map(claim),
        Write::ClaimStatus(change) => server.update_claim_status(change).map(claim),
        Write::CreateVolume {
            volume: created, ..
        } => server.create_volume(created).map(volume),
        Write::DeleteVolume(volume) => server.delete_volume(volume).map(|()| Written::Nothing),
    }
}
