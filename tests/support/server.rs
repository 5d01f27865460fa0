//! An API server and a backend in memory, for tests.
//!
//! The server behaves as the vectors' README says: it raises resourceVersion by
//! one on each real change, refuses what is based on another version, keeps
//! spec and status apart, and writes down everything that it was asked for. It
//! panics on a status write that touches anything else.

use std::collections::{BTreeMap, VecDeque};

use pvbind::api::{ClaimKey, ObjectMeta, PersistentVolume, PersistentVolumeClaim};
use pvbind::controller::{Backend, DeleteError, ProvisionRequest};
use pvbind::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event};
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Server {
    pub(crate) volumes: BTreeMap<String, PersistentVolume>,
    pub(crate) claims: BTreeMap<ClaimKey, PersistentVolumeClaim>,
    /// Everything that it was asked for but reads, in the form of `wantSteps`.
    pub(crate) log: Vec<Value>,
    /// How many writes it was asked for.
    pub(crate) writes: usize,
    /// The writes, counted from 1, that it answers with a conflict.
    pub(crate) failing_writes: Vec<usize>,
    /// Whether an object goes only when its finalizers are gone, as with a real
    /// server; the recorded one let it go at once.
    pub(crate) honours_finalizers: bool,
    /// How it answers the next creations instead of creating.
    pub(crate) failing_creations: VecDeque<ApiErrorKind>,
}

pub(crate) fn error(kind: ApiErrorKind) -> ApiError {
    ApiError {
        kind,
        message: "VersionError".to_owned(),
    }
}

impl Server {
    fn enter(&mut self, step: Value) -> Result<(), ApiError> {
        self.log.push(step);
        self.writes += 1;
        if self.failing_writes.contains(&self.writes) {
            return Err(error(ApiErrorKind::Conflict));
        }
        Ok(())
    }

    /// Lets go of what is being deleted and held by no finalizer.
    fn sweep(&mut self) {
        if self.honours_finalizers {
            let is_held = |metadata: &ObjectMeta| {
                let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
                !metadata.is_being_deleted() || !finalizers.is_empty()
            };
            self.volumes.retain(|_, volume| is_held(&volume.metadata));
        }
    }
}

fn update<T: serde::Serialize>(resource: &str, subresource: &str, object: &T) -> Value {
    json!({"do": "update", "resource": resource, "subresource": subresource,
        "object": serde_json::to_value(object).unwrap()})
}

/// The next version, if the write is based on the one that is stored.
fn next_version(
    stored: Option<&ObjectMeta>,
    sent: &ObjectMeta,
) -> Result<Option<String>, ApiError> {
    let stored = stored.ok_or_else(|| ApiError {
        kind: ApiErrorKind::Other,
        message: "not found".to_owned(),
    })?;
    if stored.resource_version != sent.resource_version || stored.uid != sent.uid {
        return Err(error(ApiErrorKind::Conflict));
    }
    Ok(Some(successor(stored.resource_version())))
}

/// The number after this one, however long it is; "1" after what is no number.
fn successor(version: &str) -> String {
    if version.is_empty() || !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return "1".to_owned();
    }
    let kept = version.trim_end_matches('9');
    let nines = version.len() - kept.len();
    let mut digits: Vec<char> = kept.chars().collect();
    let last = digits
        .pop()
        .and_then(|last| last.to_digit(10))
        .unwrap_or_default();
    let head: String = digits.into_iter().collect();
    format!("{head}{}{}", last + 1, "0".repeat(nines))
}

macro_rules! writes {
    ($update:ident, $update_status:ident, $Object:ty, $resource:literal, $table:ident, $key:expr) => {
        fn $update(&mut self, change: &Change<$Object>) -> Result<$Object, ApiError> {
            self.enter(update($resource, "", &*change.to))?;
            let key = $key(&*change.to);
            let stored = self.$table.get(&key);
            let version = next_version(stored.map(|s| &s.metadata), &change.to.metadata)?;
            let stored = stored.unwrap();
            let mut new = (*change.to).clone();
            new.status = stored.status.clone();
            if new != *stored {
                new.metadata.resource_version = version;
            }
            self.$table.insert(key, new.clone());
            self.sweep();
            Ok(new)
        }

        fn $update_status(&mut self, change: &Change<$Object>) -> Result<$Object, ApiError> {
            self.enter(update($resource, "status", &*change.to))?;
            let key = $key(&*change.to);
            let stored = self.$table.get(&key);
            let version = next_version(stored.map(|s| &s.metadata), &change.to.metadata)?;
            let mut new = stored.unwrap().clone();
            assert_eq!(new.spec, change.to.spec, "a status write touches the spec");
            assert_eq!(
                new.metadata, change.to.metadata,
                "a status write touches metadata"
            );
            if new.status != change.to.status {
                new.metadata.resource_version = version;
            }
            new.status = change.to.status.clone();
            self.$table.insert(key, new.clone());
            Ok(new)
        }
    };
}

impl ApiServer for Server {
    writes!(
        update_volume,
        update_volume_status,
        PersistentVolume,
        "persistentvolumes",
        volumes,
        |volume: &PersistentVolume| volume.name().to_owned()
    );
    writes!(
        update_claim,
        update_claim_status,
        PersistentVolumeClaim,
        "persistentvolumeclaims",
        claims,
        ClaimKey::of
    );

    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
        let failing = self.failing_creations.pop_front();
        let entered = self.enter(
            json!({"do": "create", "resource": "persistentvolumes", "subresource": "",
            "object": serde_json::to_value(volume).unwrap()}),
        );
        if let Some(kind) = failing {
            return Err(error(kind));
        }
        entered?;
        if self.volumes.contains_key(volume.name()) {
            return Err(error(ApiErrorKind::AlreadyExists));
        }
        let mut volume = volume.clone();
        volume.metadata.resource_version = Some("1".to_owned());
        volume.metadata.uid = Some(format!("uid-{}", volume.name()));
        self.volumes
            .insert(volume.name().to_owned(), volume.clone());
        Ok(volume)
    }

    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
        self.enter(
            json!({"do": "delete", "resource": "persistentvolumes", "name": volume.name()}),
        )?;
        let stored = self.volumes.get_mut(volume.name());
        let version = next_version(
            stored.as_deref().map(|stored| &stored.metadata),
            &volume.metadata,
        )?;
        let metadata = &mut stored.unwrap().metadata;
        if !metadata.is_being_deleted() {
            metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".into());
            metadata.resource_version = version;
        }
        match self.honours_finalizers {
            true => self.sweep(),
            false => drop(self.volumes.remove(volume.name())),
        }
        Ok(())
    }

    fn record_event(&mut self, event: &Event) {
        self.log.push(
            json!({"do": "event", "kind": event.regarding.kind, "name": event.key(),
            "type": event.event_type.to_string(), "reason": event.reason.as_str(),
            "message": event.message}),
        );
    }

    fn read_claim(&mut self, key: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
        Ok(self.claims.get(key).cloned())
    }

    fn read_volume(&mut self, name: &str) -> Result<Option<PersistentVolume>, ApiError> {
        Ok(self.volumes.get(name).cloned())
    }
}

/// A plugin that answers as it was told; each answer serves once.
#[derive(Default)]
pub(crate) struct Plugin {
    /// `None`: not set up; an empty text: success; else the failure.
    pub(crate) provision: Option<String>,
    pub(crate) delete: Option<String>,
    pub(crate) delete_in_use: bool,
    pub(crate) recycle: Option<String>,
    /// How many answers were given, here and below.
    pub(crate) provisioned: usize,
    pub(crate) deleted: usize,
    pub(crate) recycled: usize,
}

/// The answer, the first time; afterwards that there is no other.
fn answer(what: &str, answer: &Option<String>, calls: &mut usize) -> Result<(), String> {
    match answer.as_deref() {
        None => Err(format!("Mock plugin error: no {what}Calls configured")),
        Some(_) if *calls > 0 => Err(format!(
            "Mock plugin error: unexpected {what}r call {calls}"
        )),
        Some(message) => {
            *calls = 1;
            match message {
                "" => Ok(()),
                message => Err(message.to_owned()),
            }
        }
    }
}

impl Backend for Plugin {
    fn start_provisioner(
        &mut self,
        _plugin: &str,
        _class: &pvbind::api::StorageClass,
    ) -> Result<(), String> {
        match self.provision {
            Some(_) => Ok(()),
            None => Err("Mock plugin error: no provisionCalls configured".to_owned()),
        }
    }

    fn provision(&mut self, request: &ProvisionRequest) -> Result<PersistentVolume, String> {
        answer("provision", &self.provision, &mut self.provisioned)?;
        let spec = &request.claim.spec;
        let requests = spec.resources.requests.as_ref();
        let storage = requests.and_then(|requests| requests.storage.as_ref());
        let storage = storage.map_or_else(|| json!("0"), |storage| json!(storage));
        Ok(serde_json::from_value(json!({"spec": {
            "capacity": {"storage": storage},
            "accessModes": spec.access_modes, "volumeMode": spec.volume_mode,
            "persistentVolumeReclaimPolicy": request.class.reclaim_policy,
            "gcePersistentDisk": {"pdName": ""}}}))
        .unwrap())
    }

    fn delete(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), DeleteError> {
        if self.delete.is_none() {
            let message = "Mock plugin error: no deleteCalls configured";
            return Err(DeleteError::CannotStart(message.to_owned()));
        }
        let first = self.deleted == 0;
        answer("delete", &self.delete, &mut self.deleted).map_err(|message| {
            if self.delete_in_use && first {
                DeleteError::InUse(message)
            } else {
                DeleteError::Failed(message)
            }
        })
    }

    fn recycle(&mut self, _plugin: &str, _volume: &PersistentVolume) -> Result<(), String> {
        answer("recycle", &self.recycle, &mut self.recycled)
    }
}
