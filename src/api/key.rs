//! Claims by namespace and name.

use std::fmt;

use serde::Serialize;

use super::{ObjectReference, PersistentVolumeClaim};

/// The namespace and name of a claim, as decisions name it to their reader.
/// Prints as `NAMESPACE/NAME`.
///
/// ```
/// use pvbind::api::ClaimKey;
/// assert_eq!(ClaimKey::new("shop", "data").to_string(), "shop/data");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ClaimKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ClaimKey {
    /// The key of this namespace and name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        ClaimKey {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The key of a claim.
    pub fn of(claim: &PersistentVolumeClaim) -> Self {
        ClaimKey::new(claim.metadata.namespace(), claim.metadata.name())
    }

    /// The key of the claim that a `claimRef` points to.
    pub fn referred(reference: &ObjectReference) -> Self {
        ClaimKey::new(reference.namespace(), reference.name())
    }
}

impl fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
