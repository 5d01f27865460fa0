//! The API server: each write to the right place with the right version.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use k8s_openapi::api::core::v1 as core;
use kube::Resource;
use kube::api::{DeleteParams, GetParams, Patch, PatchParams, PostParams, Preconditions};
use kube::client::Client;
use pvbind::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim};
use pvbind::plan::{ApiError, ApiErrorKind, Write, Written};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use crate::failures::with_causes;
use crate::term::Term;
use crate::watches::{Lean, Read, Unreadable};

/// How long an answer may take. Whether the request was carried out is unknown
/// then; the next sync goes by what the watch says.
const PATIENCE: Duration = Duration::from_secs(30);

/// Who writes, as `metadata.managedFields` tells.
pub(crate) const MANAGER: &str = "pvbind-controller";

/// The API server, asked in the objects of `pvbind`, so that nothing is lost
/// that k8s-openapi's types do not know.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    term: Term,
    /// How many requests may be under way at once.
    at_once: Arc<Semaphore>,
}

/// What the API server answered to a write, or to a question.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object as it is now.
    Written(Written),
    /// The volume is deleted: it is gone, or goes when its last finalizer does.
    Deleted {
        /// The volume as it was.
        volume: Arc<PersistentVolume>,
        /// The volume as it is now, if it is there still.
        left: Option<Arc<PersistentVolume>>,
    },
    /// It has an older version of a volume than the one that is held.
    Older {
        /// The name of the volume.
        volume: String,
    },
}

/// Why an object could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The API server did not answer with the object.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// It is there, and not understood.
    #[error("it is not understood: {}", .0.message)]
    NotUnderstood(Box<Unreadable>),
}

impl Answer {
    /// What a plan wants to hear of it.
    pub fn for_plan(&self) -> Written {
        match self {
            Answer::Written(written) => written.clone(),
            Answer::Deleted { .. } | Answer::Older { .. } => Written::Nothing,
        }
    }
}

impl ApiServer {
    /// The API server behind this client, which is written to while the term
    /// goes on, with so many requests at once at most. Each of them has a
    /// connection of its own, as kube speaks HTTP/1.1.
    pub fn new(client: Client, term: Term, at_once: usize) -> Self {
        ApiServer {
            client,
            term,
            at_once: Arc::new(Semaphore::new(at_once)),
        }
    }

    /// The same one, for who is not to stand in line with the requests of others:
    /// with so many at once at most of its own.
    pub fn beside(&self, at_once: usize) -> Self {
        ApiServer {
            at_once: Arc::new(Semaphore::new(at_once)),
            ..self.clone()
        }
    }

    /// The term in which it may be written to.
    pub fn term(&self) -> &Term {
        &self.term
    }

    /// Sends one write of a plan. An update goes as a merge patch: it holds
    /// what changes and the resourceVersion, so the API server refuses it if
    /// the object was changed since, and leaves alone what nobody here knows.
    ///
    /// # Errors
    /// What the API server answers instead, or that the term is over: nothing
    /// was sent then.
    pub async fn send(&self, write: &Write) -> Result<Answer, ApiError> {
        let written = match write {
            Write::Volume(change) => {
                let patch = change.merge_patch();
                let request = self.patch(&volumes(), change.to.name(), "", &patch);
                self.ask(request).await.map(Arc::new).map(Written::Volume)
            }
            Write::VolumeStatus(change) => {
                let patch = change.merge_patch();
                let request = self.patch(&volumes(), change.to.name(), "status", &patch);
                self.ask(request).await.map(Arc::new).map(Written::Volume)
            }
            Write::Claim(change) => {
                let (metadata, patch) = (&change.to.metadata, change.merge_patch());
                let path = claims(metadata.namespace());
                let request = self.patch(&path, metadata.name(), "", &patch);
                self.ask(request).await.map(Arc::new).map(Written::Claim)
            }
            Write::ClaimStatus(change) => {
                let (metadata, patch) = (&change.to.metadata, change.merge_patch());
                let path = claims(metadata.namespace());
                let request = self.patch(&path, metadata.name(), "status", &patch);
                self.ask(request).await.map(Arc::new).map(Written::Claim)
            }
            Write::CreateVolume { volume, .. } => {
                let body = serde_json::to_vec(&typed(volume)).map_err(other)?;
                let path = kube::core::Request::new(volumes());
                let request = path.create(&post(), body).map_err(other);
                self.ask(request).await.map(Arc::new).map(Written::Volume)
            }
            Write::DeleteVolume(volume) => {
                let params = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid: volume.metadata.uid.clone(),
                        resource_version: volume.metadata.resource_version.clone(),
                    }),
                    ..DeleteParams::default()
                };
                let path = kube::core::Request::new(volumes());
                let request = path.delete(volume.name(), &params).map_err(other);
                let answer: serde_json::Value = self.ask(request).await?;
                // Once the object is gone, the answer is a `Status`.
                let is_left = answer
                    .pointer("/metadata/deletionTimestamp")
                    .is_some_and(serde_json::Value::is_string);
                let left = match is_left {
                    true => serde_json::from_value(answer).map(Arc::new).ok(),
                    false => None,
                };
                let volume = Arc::clone(volume);
                return Ok(Answer::Deleted { volume, left });
            }
            _ => Err(other("this write is of a later version of pvbind")),
        };
        written.map(Answer::Written)
    }

    /// What the API server, not a cache, has of a claim; `None` only if it
    /// answered that there is none.
    ///
    /// # Errors
    /// It did not answer, or the claim is not understood.
    pub async fn read_claim(
        &self,
        key: &ClaimKey,
    ) -> Result<Option<PersistentVolumeClaim>, ReadError> {
        self.read(&claims(&key.namespace), &key.name).await
    }

    /// What the API server, not a cache, has of a volume; `None` only if it
    /// answered that there is none.
    ///
    /// # Errors
    /// It did not answer, or the volume is not understood.
    pub async fn read_volume(&self, name: &str) -> Result<Option<PersistentVolume>, ReadError> {
        self.read(&volumes(), name).await
    }

    async fn read<T: DeserializeOwned + Lean>(
        &self,
        path: &str,
        name: &str,
    ) -> Result<Option<T>, ReadError> {
        let path = kube::core::Request::new(path);
        let request = path.get(name, &GetParams::default()).map_err(other)?;
        let _one_of_few = self.at_once.acquire().await;
        match within_patience(self.client.request::<Read<T>>(request)).await? {
            Ok(object) if object.name() != name => Err(other("the answer is of another object"))?,
            Ok(object) => object
                .understood()
                .map(Some)
                .map_err(ReadError::NotUnderstood),
            // A 404 that is not the API server's own, but of something in
            // between, says nothing about the object; volumes are deleted on
            // this answer.
            Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => {
                Ok(None)
            }
            Err(error) => Err(api_error(&error))?,
        }
    }

    fn patch(
        &self,
        path: &str,
        name: &str,
        subresource: &str,
        patch: &serde_json::Value,
    ) -> Result<Request<Vec<u8>>, ApiError> {
        let path = kube::core::Request::new(path);
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let request = match subresource {
            "" => path.patch(name, &params, &Patch::Merge(patch)),
            part => path.patch_subresource(part, name, &params, &Patch::Merge(patch)),
        };
        request.map_err(other)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: Result<Request<Vec<u8>>, ApiError>,
    ) -> Result<T, ApiError> {
        let request = request?;
        let _one_of_few = self.at_once.acquire().await;
        // Whoever was stopped does not know it.
        self.term.check().map_err(other)?;
        let answer = within_patience(self.client.request(request)).await?;
        answer.map_err(|error| api_error(&error))
    }
}

fn volumes() -> String {
    core::PersistentVolume::url_path(&(), None)
}

fn claims(namespace: &str) -> String {
    core::PersistentVolumeClaim::url_path(&(), Some(namespace))
}

pub(crate) fn post() -> PostParams {
    PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// The API server wants to read the kind in what it is to create.
fn typed(volume: &PersistentVolume) -> PersistentVolume {
    PersistentVolume {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolume".to_owned()),
        ..volume.clone()
    }
}

async fn within_patience<T>(answer: impl Future<Output = T>) -> Result<T, ApiError> {
    let answer = tokio::time::timeout(PATIENCE, answer).await;
    answer.map_err(|_| other(format!("no answer from the API server in {PATIENCE:?}")))
}

fn api_error(error: &kube::Error) -> ApiError {
    let kube::Error::Api(status) = error else {
        return other(with_causes(error));
    };
    ApiError {
        kind: ApiErrorKind::of_status(status.code, &status.reason),
        message: status.message.clone(),
    }
}

fn other(error: impl ToString) -> ApiError {
    ApiError {
        kind: ApiErrorKind::Other,
        message: error.to_string(),
    }
}
