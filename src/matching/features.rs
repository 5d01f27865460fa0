/// The feature gates of Kubernetes that change what is decided here, as one value.
///
/// The searches of [`matching`](crate::matching) and
/// [`scheduling`](crate::scheduling) take it as an argument or in their options,
/// [`controller`](crate::controller) and [`diagnosis`](crate::diagnosis) in their
/// configuration. What a CSI driver can do, such as change the attributes of a
/// volume, is no gate: see [`provisioner::Config`](crate::provisioner::Config).
///
/// `Default` is what a cluster of 1.36 has when nobody sets a gate. A cluster
/// whose components run with `--feature-gates` needs the same here, or the
/// answers are those of another cluster.
///
/// ```
/// use pvbind::matching::{Features, SearchOptions};
///
/// assert!(Features::default().volume_attributes_class);
/// // A cluster of 1.33, where the gate was off unless somebody set it.
/// let options = SearchOptions {
///     features: Features::default().with_volume_attributes_class(false),
///     ..SearchOptions::default()
/// };
/// assert!(!options.features.volume_attributes_class);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Features {
    /// `VolumeAttributesClass`: a claim and its volume must have the same
    /// attributes class, and a claim's is noted in its status. Where the gate is
    /// off a claim that names one finds no volume.
    pub volume_attributes_class: bool,
}

impl Default for Features {
    /// As in Kubernetes 1.36: VolumeAttributesClass on.
    fn default() -> Self {
        Features {
            volume_attributes_class: true,
        }
    }
}

impl Features {
    /// The same gates, with `VolumeAttributesClass` as given.
    ///
    /// ```
    /// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
    /// use pvbind::matching::{Features, SearchOptions, find_best_match_for_claim};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"},
    ///     "spec": {"volumeAttributesClassName": "gold"}, "status": {"phase": "Available"}}"#)?;
    /// let claim: PersistentVolumeClaim =
    ///     serde_json::from_str(r#"{"spec": {"volumeAttributesClassName": "gold"}}"#)?;
    /// let find = |is_on| {
    ///     let features = Features::default().with_volume_attributes_class(is_on);
    ///     let options = SearchOptions { features, ..SearchOptions::default() };
    ///     find_best_match_for_claim(&claim, [&volume], options)
    /// };
    /// assert_eq!(find(true), Ok(Some(&volume)));
    /// // Off, as in a cluster of 1.33: the claim asks for what that cluster does not have.
    /// assert!(find(false).is_err());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn with_volume_attributes_class(self, is_on: bool) -> Self {
        Features {
            volume_attributes_class: is_on,
        }
    }
}
