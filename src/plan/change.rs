//! A change of an object.

use std::fmt::Debug;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{apply_merge_patch, merge_patch};
use crate::api::{ObjectMeta, PersistentVolume, PersistentVolumeClaim};

/// A change of a volume or a claim: what it was, and what it is to be.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::mark_volume_available;
/// use pvbind::plan::Change;
/// use serde_json::json;
/// let volume: PersistentVolume = serde_json::from_value(json!({
///     "metadata": {"name": "pv-1", "resourceVersion": "7"}, "spec": {"nfs": {"path": "/"}}}))?;
/// let to = mark_volume_available(&volume)?.applied_to(&volume);
/// let change = Change { from: Arc::new(volume), to: Arc::new(to) };
/// // A PUT sends the whole object, fields that this crate has no name for too ...
/// assert_eq!(serde_json::to_value(&*change.to)?["spec"]["nfs"]["path"], "/");
/// // ... and a PATCH only what is new, for the version that it was made from.
/// assert_eq!(
///     change.merge_patch(),
///     json!({"metadata": {"resourceVersion": "7"}, "status": {"phase": "Available"}}),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Change<T> {
    /// The object that the change was made from.
    pub from: Arc<T>,
    /// The whole object as it is to be.
    pub to: Arc<T>,
}

/// What can be changed: a volume or a claim.
pub(super) trait Changeable: Clone + Serialize + DeserializeOwned {
    fn metadata(&self) -> &ObjectMeta;
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

impl Changeable for PersistentVolume {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Changeable for PersistentVolumeClaim {
    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[expect(
    private_bounds,
    reason = "the trait only says which two kinds there are"
)]
impl<T: Changeable> Change<T> {
    /// The JSON merge patch (RFC 7386) that leads from one to the other, with
    /// `metadata.resourceVersion` as precondition if the object has one: the
    /// API server refuses the patch if the object has changed since.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::plan::Change;
    /// let volume = |text: &str| -> Arc<PersistentVolume> { serde_json::from_str(text).map(Arc::new).unwrap() };
    /// let change = Change {
    ///     from: volume(r#"{"metadata": {"resourceVersion": "7"}, "status": {"phase": "Bound", "message": "x"}}"#),
    ///     to: volume(r#"{"metadata": {"resourceVersion": "7"}, "status": {"phase": "Released"}}"#),
    /// };
    /// assert_eq!(
    ///     change.merge_patch(),
    ///     serde_json::json!({
    ///         "metadata": {"resourceVersion": "7"}, "status": {"phase": "Released", "message": null}}),
    /// );
    /// ```
    pub fn merge_patch(&self) -> Value {
        let mut patch = merge_patch(&json(&*self.from), &json(&*self.to));
        if let Some(version) = &self.from.metadata().resource_version {
            let precondition = serde_json::json!({"metadata": {"resourceVersion": version}});
            apply_merge_patch(&mut patch, &precondition);
        }
        patch
    }

    /// Makes the same change of what the API server returned for the write
    /// before.
    pub(super) fn rebase(&mut self, returned: &Arc<T>) {
        let mut patch = merge_patch(&json(&*self.from), &json(&*self.to));
        let version = serde_json::json!({
            "metadata": {"resourceVersion": returned.metadata().resource_version}});
        if patch.is_object() {
            apply_merge_patch(&mut patch, &version);
        }
        let mut to = json(&**returned);
        apply_merge_patch(&mut to, &patch);
        self.from = Arc::clone(returned);
        self.to = match serde_json::from_value(to) {
            Ok(to) => Arc::new(to),
            // What was an object of this kind before and after the edit is one
            // still; should it not be, the version is what matters.
            Err(_) => {
                let mut to = T::clone(&self.to);
                to.metadata_mut().resource_version = returned.metadata().resource_version.clone();
                Arc::new(to)
            }
        };
    }

    pub(super) fn is_of(&self, metadata: &ObjectMeta) -> bool {
        self.to.metadata().is_same_object(metadata)
    }
}

/// An object as JSON. Objects of this crate can always be written; `null`, which
/// patches to nothing, stands for the error that cannot be.
fn json(object: &impl Serialize) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}
