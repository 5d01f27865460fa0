//! What a volume is to be filled with.

use serde_json::Value;

use super::csi::VolumeContentSource;
use super::{Config, RequestError};
use crate::api::{ClaimKey, ClaimPhase, PersistentVolumeClaim};
use crate::view::ClusterView;

/// What the volume of a claim is to be filled with.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::DataSource;
/// let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({"spec": {
///     "dataSourceRef": {"apiGroup": "vm.example.com", "kind": "Image", "name": "debian"}}}))?;
/// match DataSource::of(&claim).ok_or("an empty volume")? {
///     DataSource::Snapshot { namespace, name } => println!("look up {namespace}/{name}"),
///     DataSource::Claim(key) => println!("copy {key}"),
///     // Its populator makes the volume.
///     DataSource::Other { kind, .. } => assert_eq!(kind, "vm.example.com/Image"),
///     _ => {}
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DataSource {
    /// A VolumeSnapshot. The driver's name for it stands in its
    /// VolumeSnapshotContent, which the embedder looks up; what it must check
    /// there says [`RequestInputs::content_source`](super::RequestInputs::content_source).
    Snapshot {
        /// The snapshot's namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Another claim, whose volume is copied.
    Claim(ClaimKey),
    /// Anything else: a populator of that kind makes the volume, and the
    /// provisioner leaves the claim alone.
    Other {
        /// The kind, with the group before it.
        kind: String,
        /// The name.
        name: String,
    },
}

impl DataSource {
    /// What a claim asks to be filled with: `spec.dataSource`, or else
    /// `spec.dataSourceRef`; `None` for an empty volume.
    ///
    /// A reference by which a claim reads from another namespace comes out as it
    /// stands. Whether a ReferenceGrant there allows that is for the embedder to
    /// check before it looks anything up: this crate does not know ReferenceGrants.
    /// A claim is not copied from another namespace in any case.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::provisioner::DataSource;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
    ///     "metadata": {"namespace": "shop", "name": "copy"},
    ///     "spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "data"}}}"#)?;
    /// let source = DataSource::of(&claim).unwrap();
    /// assert!(matches!(source, DataSource::Claim(key) if key.to_string() == "shop/data"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of(claim: &PersistentVolumeClaim) -> Option<DataSource> {
        let spec = &claim.spec;
        let source = spec
            .data_source
            .as_ref()
            .or(spec.data_source_ref.as_ref())?;
        let text = |field: &str| {
            source
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (group, kind, name) = (text("apiGroup"), text("kind"), text("name").to_owned());
        let namespace = match text("namespace") {
            "" => claim.metadata.namespace().to_owned(),
            other => other.to_owned(),
        };
        Some(match (group, kind) {
            ("snapshot.storage.k8s.io", "VolumeSnapshot") => {
                DataSource::Snapshot { namespace, name }
            }
            // By its kind alone, as upstream has it.
            (_, "PersistentVolumeClaim") => DataSource::Claim(ClaimKey { namespace, name }),
            _ => DataSource::Other {
                kind: match group {
                    "" => kind.to_owned(),
                    group => format!("{group}/{kind}"),
                },
                name,
            },
        })
    }
}

/// The volume to copy for a claim that is to be filled from another.
///
/// The other claim must be bound to a volume of the same driver and volume
/// mode, ask for no more than this one, and not be on its way out. How large its
/// volume came out does not matter, as upstream has it.
///
/// # Errors
/// Which of these fails.
pub(super) fn volume_to_copy<V: ClusterView + ?Sized>(
    config: &Config,
    view: &V,
    claim: &PersistentVolumeClaim,
    source: &ClaimKey,
) -> Result<VolumeContentSource, RequestError> {
    let refuse = |problem| RequestError::CannotCopy {
        source_claim: source.clone(),
        problem,
    };
    // Whether a claim may read another namespace stands in a ReferenceGrant,
    // which this crate does not know.
    if source.namespace != claim.metadata.namespace() {
        return Err(refuse("it is in another namespace"));
    }
    let held = view.claim(&source.namespace, &source.name);
    let from = held.ok_or_else(|| refuse("it does not exist"))?;
    if from.metadata.is_being_deleted() {
        return Err(refuse("it is being deleted"));
    }
    if from.status.phase != Some(ClaimPhase::Bound) || from.volume_name().is_empty() {
        return Err(refuse("it is not bound"));
    }
    if from.volume_mode() != claim.volume_mode() {
        return Err(refuse("it has another volume mode"));
    }
    let volume = view.volume(from.volume_name());
    let volume = volume.ok_or_else(|| refuse("its volume does not exist"))?;
    if !volume.is_bound_to(&from) {
        return Err(refuse("its volume is another claim's"));
    }
    let csi = volume.spec.csi.as_ref();
    let csi = csi.filter(|csi| csi.driver.as_deref() == Some(&config.driver));
    let csi = csi.ok_or_else(|| refuse("its volume is of another driver"))?;
    if claim.requested_storage() < from.requested_storage() {
        return Err(refuse(
            "it asks for more than the claim that is to be filled",
        ));
    }
    match csi.volume_handle.as_deref() {
        None | Some("") => Err(refuse("its volume has no handle")),
        Some(handle) => Ok(VolumeContentSource::Volume {
            volume_id: handle.to_owned(),
        }),
    }
}
