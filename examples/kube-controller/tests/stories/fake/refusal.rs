//! What the API server says when it does not do what it was asked.

use http::StatusCode;
use serde_json::{Value, json};

use super::Key;

pub(crate) struct Refusal {
    pub(crate) code: StatusCode,
    reason: &'static str,
    message: String,
}

impl std::fmt::Debug for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl Refusal {
    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Refusal {
            code: StatusCode::from_u16(code).unwrap(),
            reason,
            message: message.into(),
        }
    }

    /// 422: the object may not be so.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Refusal::new(422, "Invalid", message)
    }

    pub(crate) fn not_found(key: &Key) -> Self {
        let message = format!("{} \"{}\" not found", key.0, key.2);
        Refusal::new(404, "NotFound", message)
    }

    pub(crate) fn conflict(key: &Key) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{}\": the object has been modified; please \
             apply your changes to the latest version and try again",
            key.0, key.2
        );
        Refusal::new(409, "Conflict", message)
    }

    pub(crate) fn status(&self) -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": self.code.as_u16(), "reason": self.reason, "message": self.message})
    }
}
