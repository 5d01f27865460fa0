//! Claims by namespace and name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{ObjectReference, PersistentVolumeClaim};

/// The namespace and name of a claim, as decisions name it to their reader.
/// Prints as `NAMESPACE/NAME`.
///
/// ```
/// use pvbind::api::ClaimKey;
/// let key = ClaimKey::new("shop", "data");
/// assert_eq!(key.to_string(), "shop/data");
/// // For programs the parts stay apart.
/// assert_eq!(serde_json::to_string(&key)?, r#"{"namespace":"shop","name":"data"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClaimKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ClaimKey {
    /// The key of this namespace and name, neither of which is checked: the
    /// [`FromStr`] of this type does that.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use pvbind::api::ClaimKey;
    /// // Claims of one name in two namespaces are two claims.
    /// let mut sizes = BTreeMap::new();
    /// sizes.insert(ClaimKey::new("shop", "data"), "5Gi");
    /// sizes.insert(ClaimKey::new("bank", "data"), "8Gi");
    /// let keys: Vec<_> = sizes.keys().map(ToString::to_string).collect();
    /// assert_eq!(keys, ["bank/data", "shop/data"]); // by namespace, then by name
    /// ```
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ClaimKey {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of a claim.
    ///
    /// ```
    /// use pvbind::api::{ClaimKey, ObjectReference, PersistentVolumeClaim};
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"metadata": {"namespace": "shop", "name": "data"}}"#)?;
    /// let reference: ObjectReference = serde_json::from_str(r#"{"namespace": "shop", "name": "data"}"#)?;
    /// assert_eq!(ClaimKey::of(&claim), ClaimKey::referred(&reference));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(claim: &PersistentVolumeClaim) -> Self {
        ClaimKey::new(claim.metadata.namespace(), claim.metadata.name())
    }

    /// The key of the claim that a `claimRef` points to.
    ///
    /// ```
    /// use pvbind::api::{ClaimKey, PersistentVolume};
    /// let volume: PersistentVolume = serde_json::from_str(
    ///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?;
    /// let key = volume.claim_ref().map(ClaimKey::referred);
    /// assert_eq!(key, Some(ClaimKey::new("shop", "data")));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn referred(reference: &ObjectReference) -> Self {
        ClaimKey::new(reference.namespace(), reference.name())
    }
}

/// A text that is no `NAMESPACE/NAME`.
///
/// ```
/// use pvbind::api::{ClaimKey, ClaimKeyError};
/// let error: ClaimKeyError = "pvc/shop/data".parse::<ClaimKey>().unwrap_err();
/// assert_eq!(error.text, "pvc/shop/data"); // for a message of one's own
/// assert_eq!(error.to_string(), "claim `pvc/shop/data` is not of the form NAMESPACE/NAME");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("claim `{text}` is not of the form NAMESPACE/NAME")]
pub struct ClaimKeyError {
    /// The text.
    pub text: String,
}

/// Reads what [`Display`](fmt::Display) writes: two names, neither empty, with
/// one slash between them.
///
/// ```
/// use pvbind::api::ClaimKey;
/// assert_eq!("shop/data".parse(), Ok(ClaimKey::new("shop", "data")));
/// let error = "data".parse::<ClaimKey>().unwrap_err();
/// assert_eq!(error.to_string(), "claim `data` is not of the form NAMESPACE/NAME");
/// ```
impl FromStr for ClaimKey {
    type Err = ClaimKeyError;
    fn from_str(text: &str) -> Result<Self, ClaimKeyError> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(ClaimKey::new(namespace, name))
            }
            _ => Err(ClaimKeyError {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
