//! Answers as JSON, for programs.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::{DynamicProvision, Obstacle, PodVolumes, StaticBinding, UnfitReason, UnfitReasons};

/// Whether the node `fits`, the `reasons` as codes, and what the claims get.
///
/// ```
/// use pvbind::api::{Node, Pod, read_objects};
/// use pvbind::matching::Features;
/// use pvbind::scheduling::{PodClaims, find_pod_volumes};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "WaitForFirstConsumer"}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Available"},
///      "spec": {"storageClassName": "fast", "capacity": {"storage": "10Gi"}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"storageClassName": "fast"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs"},
///      "spec": {"storageClassName": "fast"}}"#)?
/// .into_iter()
/// .collect();
/// let pod: Pod = serde_json::from_str(r#"{"metadata": {"namespace": "shop"}, "spec": {"volumes": [
///     {"persistentVolumeClaim": {"claimName": "data"}},
///     {"persistentVolumeClaim": {"claimName": "logs"}}]}}"#)?;
/// let claims = PodClaims::of(&pod, &snapshot)?;
/// let volumes = find_pod_volumes(&claims, &Node::default(), &snapshot, Features::default())?;
/// assert_eq!(serde_json::to_value(&volumes)?, serde_json::json!({
///     "fits": true,
///     "reasons": [],
///     "staticBindings": [{
///         "claim": {"namespace": "shop", "name": "data"}, "volume": "pv-1", "capacity": "10Gi",
///     }],
///     "dynamicProvisions": [{
///         "claim": {"namespace": "shop", "name": "logs"}, "class": "fast", "pool": null,
///     }],
/// }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for PodVolumes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("PodVolumes", 4)?;
        fields.serialize_field("fits", &self.fits())?;
        fields.serialize_field("reasons", &self.reasons)?;
        fields.serialize_field("staticBindings", &self.static_bindings)?;
        fields.serialize_field("dynamicProvisions", &self.dynamic_provisions)?;
        fields.end()
    }
}

/// The `claim`, the `volume`'s name, and its `capacity`, "0" if it says none. See the example at
/// [`PodVolumes`]'.
impl Serialize for StaticBinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("StaticBinding", 3)?;
        fields.serialize_field("claim", &self.claim.key())?;
        fields.serialize_field("volume", self.volume.name())?;
        fields.serialize_field("capacity", self.volume.storage())?;
        fields.end()
    }
}

/// The `claim`, its `class`, and `namespace` and `name` of the CSIStorageCapacity
/// that promises room, as `pool`, if one was asked for. See the example at [`PodVolumes`]'.
impl Serialize for DynamicProvision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pool = self.capacity.as_ref().map(|pool| Pool {
            namespace: pool.metadata.namespace(),
            name: pool.metadata.name(),
        });
        let mut fields = serializer.serialize_struct("DynamicProvision", 3)?;
        fields.serialize_field("claim", &self.claim.key())?;
        fields.serialize_field("class", self.claim.class_name())?;
        fields.serialize_field("pool", &pool)?;
        fields.end()
    }
}

#[derive(serde::Serialize)]
struct Pool<'a> {
    namespace: &'a str,
    name: &'a str,
}

/// The [code](UnfitReason::code).
impl Serialize for UnfitReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// The codes, in upstream's order.
///
/// ```
/// use pvbind::scheduling::{UnfitReason, UnfitReasons};
/// let mut reasons = UnfitReasons::default();
/// reasons.insert(UnfitReason::NoVolume);
/// assert_eq!(serde_json::to_string(&reasons)?, r#"["no-volume"]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for UnfitReasons {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// The [code](Obstacle::code), the code of the [reason](Obstacle::reason), the
/// claim, and the text.
///
/// ```
/// use pvbind::api::ClaimKey;
/// use pvbind::scheduling::Obstacle;
/// let obstacle = Obstacle::VolumeMissing {
///     claim: ClaimKey::new("shop", "data"),
///     volume: "pv-1".to_owned(),
/// };
/// assert_eq!(serde_json::to_value(&obstacle)?, serde_json::json!({
///     "code": "volume-missing",
///     "reason": "volume-missing",
///     "claim": {"namespace": "shop", "name": "data"},
///     "text": "claim shop/data is bound to volume `pv-1`, which does not exist",
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for Obstacle {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Obstacle", 4)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("reason", &self.reason())?;
        fields.serialize_field("claim", self.claim())?;
        fields.serialize_field("text", &self.to_string())?;
        fields.end()
    }
}
