//! What an edit gives.

/// An edit of an object: a changed copy, or nothing where nothing had to
/// change. An object that stays as it is is not copied. This enum is complete.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::binding::{Edit, mark_volume_available};
/// let volume = PersistentVolume::default();
/// let edit = mark_volume_available(&volume)?;
/// assert!(edit.is_changed());
/// let available = edit.applied_to(&volume);
/// // Asked again it has nothing to say, and copies nothing.
/// assert_eq!(mark_volume_available(&available)?, Edit::Unchanged);
/// # Ok::<(), pvbind::binding::VolumeLifeRefusal>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum Edit<T> {
    /// The object is as it should be.
    Unchanged,
    /// The object as it should be.
    Changed(T),
}

impl<T> Edit<T> {
    /// Whether anything changed, so that there is something to write.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::binding::unbind_volume;
    /// use serde_json::json;
    /// let volume = |claim_ref| serde_json::from_value::<PersistentVolume>(
    ///     json!({"metadata": {"name": "pv-1"}, "spec": {"claimRef": claim_ref}}));
    /// let held = volume(json!({"namespace": "shop", "name": "data", "uid": "u-1"}))?;
    /// assert!(unbind_volume(&held).is_changed());
    /// // A volume that somebody reserved stays reserved, and has nothing to lose.
    /// let reserved = volume(json!({"namespace": "shop", "name": "data"}))?;
    /// assert!(!unbind_volume(&reserved).is_changed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_changed(&self) -> bool {
        matches!(self, Edit::Changed(_))
    }

    /// The changed copy, if anything changed.
    ///
    /// ```
    /// use pvbind::binding::Edit;
    /// assert_eq!(Edit::Changed(2).changed(), Some(2));
    /// assert_eq!(Edit::<i32>::Unchanged.changed(), None);
    /// ```
    pub fn changed(self) -> Option<T> {
        match self {
            Edit::Unchanged => None,
            Edit::Changed(object) => Some(object),
        }
    }
}

impl<T: Clone> Edit<T> {
    /// The object after the edit, given the object before it.
    ///
    /// ```
    /// use pvbind::binding::Edit;
    /// assert_eq!(Edit::Changed(2).applied_to(&1), 2);
    /// assert_eq!(Edit::Unchanged.applied_to(&1), 1);
    /// ```
    pub fn applied_to(self, original: &T) -> T {
        self.changed().unwrap_or_else(|| original.clone())
    }
}
