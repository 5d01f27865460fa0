//! Reports as JSON, for programs.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::{Bucket, MatchReport, VolumeReport};

/// `claim` as namespace and name, the sentence as `summary`, the text of the
/// `error` if there is one, and the `volumes`.
///
/// ```
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::matching::{FindOptions, MatchReport};
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///     "spec": {"capacity": {"storage": "6Gi"}}}))?;
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
///     "metadata": {"namespace": "shop", "name": "data"},
///     "spec": {"resources": {"requests": {"storage": "8Gi"}}}}))?;
/// let report = MatchReport::new(&claim, [&volume], &FindOptions::default());
/// assert_eq!(serde_json::to_value(&report)?, serde_json::json!({
///     "claim": {"namespace": "shop", "name": "data"},
///     "summary": "0 of 1 volume fit: 1 is too small (largest 6Gi, asked 8Gi)",
///     "error": null,
///     "volumes": [{
///         "name": "pv-1",
///         "bucket": "refused",
///         "isReserved": false,
///         "refusals": [{"code": "too-small", "text": "is too small: has 6Gi, asked 8Gi"}],
///         "shortfall": {"bytes": "2Gi", "percent": 25.0},
///     }],
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for MatchReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = self.error.as_ref().map(ToString::to_string);
        let mut fields = serializer.serialize_struct("MatchReport", 4)?;
        fields.serialize_field("claim", &self.claim.key())?;
        fields.serialize_field("summary", &self.to_string())?;
        fields.serialize_field("error", &error)?;
        fields.serialize_field("volumes", &self.volumes)?;
        fields.end()
    }
}

/// The volume by `name`, its `bucket`, the `refusals`, and the `shortfall`, null
/// if the volume is large enough. See the example at [`MatchReport`]'s.
impl Serialize for VolumeReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("VolumeReport", 5)?;
        fields.serialize_field("name", self.volume.name())?;
        fields.serialize_field("bucket", &self.bucket)?;
        fields.serialize_field("isReserved", &self.is_reserved)?;
        fields.serialize_field("refusals", &self.refusals)?;
        fields.serialize_field("shortfall", &self.shortfall())?;
        fields.end()
    }
}

/// The [code](Bucket::code).
impl Serialize for Bucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}
