//! What the API server answers instead of what was asked for.

/// What the API server answers instead of what was asked for.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::{Config, sync_claim};
/// use pvbind::plan::{ApiError, ApiErrorKind, Execution};
/// # use pvbind::view::{ClusterView, Snapshot};
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
/// #      "spec": {"capacity": {"storage": "5Gi"}}}
/// #     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"}}"#)?
/// # .into_iter()
/// # .collect();
/// # let plan = sync_claim(&Config::default(), &snapshot, snapshot.claim("shop", "data").unwrap());
/// // The plan of a bind; somebody else was faster at its first write, that of the volume.
/// let mut execution = Execution::new(plan);
/// execution.answer(Err(ApiError::new(ApiErrorKind::Conflict, "the object has been modified")));
/// // So the claim is not written, and the sync ends with the API server's words.
/// assert_eq!(execution.step(), None);
/// let error = execution.finish().error().map(|error| error.to_string());
/// assert_eq!(error.as_deref(), Some("the object has been modified"));
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    /// What kind of error it is.
    pub kind: ApiErrorKind,
    /// What the API server said; it reaches events and errors as it is.
    pub message: String,
}

impl ApiError {
    /// The error of this kind, with what the API server said: the `message` of the
    /// `Status` in its answer.
    ///
    /// ```
    /// use pvbind::plan::{ApiError, ApiErrorKind};
    /// # let body = r#"{"kind": "Status", "code": 409, "reason": "Conflict",
    /// #     "message": "the object has been modified"}"#;
    /// let status: serde_json::Value = serde_json::from_str(body)?;
    /// let text = |field: &str| status[field].as_str().unwrap_or_default();
    /// let error = ApiError::new(ApiErrorKind::of_status(409, text("reason")), text("message"));
    /// assert_eq!(error.kind, ApiErrorKind::Conflict);
    /// assert_eq!(error.message, "the object has been modified");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(kind: ApiErrorKind, message: impl Into<String>) -> Self {
        ApiError {
            kind,
            message: message.into(),
        }
    }
}

/// The kinds of errors that plans tell apart.
///
/// [`of_status`](ApiErrorKind::of_status) makes one of an HTTP answer.
///
/// ```
/// use pvbind::plan::ApiErrorKind;
/// // Of these a plan takes one for success: the volume that it wanted created is there.
/// assert_eq!(ApiErrorKind::of_status(409, "AlreadyExists"), ApiErrorKind::AlreadyExists);
/// assert_eq!(ApiErrorKind::of_status(409, "Conflict"), ApiErrorKind::Conflict);
/// assert_eq!(ApiErrorKind::of_status(429, "TooManyRequests"), ApiErrorKind::Other);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ApiErrorKind {
    /// The object was changed since it was read.
    Conflict,
    /// An object of this name exists already.
    AlreadyExists,
    /// There is no such object, or not any more. No plan treats it as anything
    /// but a failure, as upstream does: the next sync sees what is there.
    NotFound,
    /// Anything else.
    Other,
}

impl ApiErrorKind {
    /// The kind of what an API server answered: the HTTP status code and the
    /// field `reason` of the `Status` in the body ("" if there was none).
    ///
    /// A 404 without the reason `NotFound` says that the path is wrong, not that
    /// the object is gone, and is [`Other`](ApiErrorKind::Other): volumes are
    /// released on the answer that a claim is gone.
    ///
    /// ```
    /// use pvbind::plan::ApiErrorKind;
    /// assert_eq!(ApiErrorKind::of_status(404, "NotFound"), ApiErrorKind::NotFound);
    /// assert_eq!(ApiErrorKind::of_status(404, ""), ApiErrorKind::Other);
    /// ```
    pub fn of_status(code: u16, reason: &str) -> Self {
        match (code, reason) {
            (409, "AlreadyExists") => ApiErrorKind::AlreadyExists,
            (409, _) => ApiErrorKind::Conflict,
            (404, "NotFound") => ApiErrorKind::NotFound,
            _ => ApiErrorKind::Other,
        }
    }
}
