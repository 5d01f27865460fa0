//! What a driver is asked for.

use std::collections::BTreeMap;

use super::csi::{
    self, AccessType, BlockVolume, CapacityRange, CreateVolumeRequest, MountVolume,
    VolumeCapability, VolumeContentSource,
};
use super::source::volume_to_copy;
use super::volume_names::can_be_named;
use super::{
    ClassParameters, Config, CreateVolume, DataSource, RequestError, SecretUse, TopologyQuery,
    topology_requirement,
};
use crate::api::{AccessMode, PersistentVolumeClaim, VolumeMode};
use crate::quantity::{Format, Quantity};
use crate::view::ProvisioningView;
use std::cmp::Ordering;

/// What a request needs from objects that this crate does not know. The
/// default serves every claim that has neither a snapshot as data source nor a
/// VolumeAttributesClass.
///
/// ```
/// use pvbind::provisioner::{RequestInputs, csi::VolumeContentSource};
/// let inputs = RequestInputs {
///     content_source: Some(VolumeContentSource::Snapshot { snapshot_id: "snap-1".into() }),
///     ..RequestInputs::default()
/// };
/// assert_eq!(inputs.attributes, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestInputs {
    /// What to fill the volume with: the snapshot that
    /// [`CreateVolume::data_source`] names. Needed for snapshots alone.
    ///
    /// What is given is taken as it is: it goes before what would be found and
    /// before every check of a claim that is to be copied. The embedder answers
    /// for it, and must refuse, as the sidecar does:
    /// - a source in another namespace, unless a ReferenceGrant there allows it:
    ///   or anybody reads anybody's data;
    /// - a snapshot whose VolumeSnapshotContent does not refer back to its uid,
    ///   or is of another driver than the class's;
    /// - one that is not `readyToUse`, or is being deleted (unless the claim is in
    ///   progress already);
    /// - one whose `restoreSize` is more than the claim asks for;
    /// - one of another volume mode, unless its content allows the change.
    pub content_source: Option<VolumeContentSource>,
    /// The parameters of the VolumeAttributesClass that the claim names. That its
    /// `driverName` is this driver's is for the embedder to check.
    pub attributes: Option<BTreeMap<String, String>>,
}

impl CreateVolume {
    /// What the driver is to be asked for. Secrets are left out: see
    /// [`provisioner_secret`](Self::provisioner_secret).
    ///
    /// The same claim, class and cluster always give the same request, and the
    /// name depends on the claim's uid alone. For a claim that is in progress the
    /// topology is that of the call before, whatever became of the nodes, if the
    /// [`Ledger`](super::Ledger::claim_asked) was told of it.
    ///
    /// | field | comes from |
    /// | --- | --- |
    /// | `name` | the claim's uid: [`VolumeNames`](super::VolumeNames) |
    /// | `capacity_range` | the claim's storage request, in whole bytes, rounded up; no upper bound |
    /// | `volume_capabilities` | one for each access mode of the claim; block or mount by its volume mode; file system and mount options from the class |
    /// | `parameters` | the class's, without the reserved: [`ClassParameters`] |
    /// | `volume_content_source` | the claim's data source |
    /// | `accessibility_requirements` | [`topology_requirement`], if the driver wants to know |
    /// | `mutable_parameters` | the VolumeAttributesClass |
    ///
    /// Follows `prepareProvision` of external-provisioner 6.
    ///
    /// # Differences
    /// - A request of 0 bytes, or none, gives no capacity range (upstream: one
    ///   with two zeros, which the specification does not allow).
    /// - Parameters of an in-tree class that the driver took over are sent as
    ///   they are; translating them is the embedder's.
    ///
    /// # Errors
    /// What of the claim, its class or the cluster stands against it, names of
    /// secrets that cannot be filled in among it, so that no volume is made whose
    /// object could not be. Answer the operation with [`refused`](Self::refused).
    ///
    /// # Cost
    /// That of the topology; otherwise in proportion to claim and class.
    ///
    /// ```
    /// use pvbind::provisioner::{ClaimNext, Config, RequestInputs, sync_claim};
    /// # use pvbind::api::{PersistentVolumeClaim, read_objects};
    /// # use pvbind::view::Snapshot;
    /// # let view: Snapshot = read_objects(
    /// #     r#"{"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi"}"#,
    /// # )?.into_iter().collect();
    /// # let claim: PersistentVolumeClaim = serde_json::from_str(r#"{
    /// #     "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
    /// #         "annotations": {"volume.kubernetes.io/storage-provisioner": "disk.csi"}},
    /// #     "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #         "resources": {"requests": {"storage": "5Gi"}}}}"#)?;
    /// # let config = Config::new("disk.csi");
    /// # let ClaimNext::CreateVolume(operation) = sync_claim(&config, &view, &claim).verdict else {
    /// #     panic!()
    /// # };
    /// let request = operation.request(&config, &view, &RequestInputs::default())?;
    /// assert_eq!(
    ///     serde_json::to_value(&request)?,
    ///     serde_json::json!({
    ///         "name": "pvc-u-1",
    ///         "capacity_range": {"required_bytes": 5_368_709_120_i64},
    ///         "volume_capabilities": [{"mount": {}, "access_mode": "SINGLE_NODE_WRITER"}]
    ///     })
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn request<V: ProvisioningView + ?Sized>(
        &self,
        config: &Config,
        view: &V,
        inputs: &RequestInputs,
    ) -> Result<CreateVolumeRequest, RequestError> {
        let (claim, class) = (self.claim(), self.class());
        if claim.metadata.uid().is_empty() {
            return Err(RequestError::NoUid);
        }
        if !can_be_named(self.volume_name()) {
            let name = self.volume_name().to_owned();
            return Err(RequestError::VolumeName { name });
        }
        if claim.spec.selector.is_some() {
            return Err(RequestError::Selector);
        }
        let parameters = ClassParameters::read(class)?;
        self.check_secrets(&parameters)?;
        let access_type = self.access_type(config, &parameters)?;
        let mut for_driver = parameters.for_driver().clone();
        if config.tells_names {
            let named = [
                ("csi.storage.k8s.io/pvc/name", claim.metadata.name()),
                (
                    "csi.storage.k8s.io/pvc/namespace",
                    claim.metadata.namespace(),
                ),
                ("csi.storage.k8s.io/pv/name", self.volume_name()),
            ];
            let named = named.map(|(key, value)| (key.to_owned(), value.to_owned()));
            for_driver.extend(named);
        }
        Ok(CreateVolumeRequest {
            name: self.volume_name().to_owned(),
            capacity_range: capacity_range(claim)?,
            volume_capabilities: capabilities(config, claim, &access_type)?,
            parameters: for_driver,
            secrets: csi::Secrets::default(),
            volume_content_source: self.content_source(config, view, inputs)?,
            accessibility_requirements: self.topology(config, view)?,
            mutable_parameters: self.attributes(config, inputs)?,
        })
    }

    /// Every secret that will be sent or noted can be named: once there is a
    /// volume it is too late to find that it cannot.
    fn check_secrets(&self, parameters: &ClassParameters) -> Result<(), RequestError> {
        for usage in SecretUse::ALL {
            if usage == SecretUse::Provisioner || usage.volume_field().is_some() {
                self.secret(parameters, usage)?;
            }
        }
        Ok(())
    }

    fn access_type(
        &self,
        config: &Config,
        parameters: &ClassParameters,
    ) -> Result<AccessType, RequestError> {
        match self.claim().volume_mode() {
            VolumeMode::Block => Ok(AccessType::Block(BlockVolume {})),
            VolumeMode::Filesystem => Ok(AccessType::Mount(MountVolume {
                fs_type: fs_type(config, parameters).to_owned(),
                mount_flags: self.class().mount_options.clone().unwrap_or_default(),
            })),
            other => Err(RequestError::VolumeMode {
                mode: other.to_string(),
            }),
        }
    }

    fn content_source<V: ProvisioningView + ?Sized>(
        &self,
        config: &Config,
        view: &V,
        inputs: &RequestInputs,
    ) -> Result<Option<VolumeContentSource>, RequestError> {
        let source = self.data_source();
        match (source, &inputs.content_source) {
            (None, _) => Ok(None),
            (Some(DataSource::Other { kind, .. }), _)
                if kind.rsplit('/').next() == Some("VolumeSnapshot") =>
            {
                let group = kind.strip_suffix("VolumeSnapshot").unwrap_or_default();
                let group = group.trim_end_matches('/').to_owned();
                Err(RequestError::SnapshotGroup { group })
            }
            (Some(DataSource::Other { kind, name }), _) => {
                Err(RequestError::ForPopulator { kind, name })
            }
            (Some(_), Some(given)) => Ok(Some(given.clone())),
            (Some(DataSource::Claim(key)), None) => {
                volume_to_copy(config, view, self.claim(), &key).map(Some)
            }
            (Some(DataSource::Snapshot { namespace, name }), None) => {
                let snapshot = format!("{namespace}/{name}");
                Err(RequestError::SnapshotNotGiven { snapshot })
            }
        }
    }

    fn topology<V: ProvisioningView + ?Sized>(
        &self,
        config: &Config,
        view: &V,
    ) -> Result<Option<csi::TopologyRequirement>, RequestError> {
        let Some(topology) = &config.topology else {
            return Ok(None);
        };
        if let Some(places) = self.asked_before() {
            return Ok(Some(places.clone()));
        }
        let query = TopologyQuery {
            driver: &config.driver,
            claim_name: self.claim().metadata.name(),
            allowed: self.class().allowed_topologies(),
            selected_node: Some(self.selected_node()),
            is_strict: topology.is_strict,
            is_immediate: topology.is_immediate,
        };
        Ok(topology_requirement(&query, view)?)
    }

    fn attributes(
        &self,
        config: &Config,
        inputs: &RequestInputs,
    ) -> Result<BTreeMap<String, String>, RequestError> {
        let class = self.claim().attributes_class_name();
        if class.is_empty() {
            return Ok(BTreeMap::new());
        }
        let class = || class.to_owned();
        if !config.modifies_volumes {
            return Err(RequestError::AttributesClass { class: class() });
        }
        let given = inputs.attributes.clone();
        given.ok_or_else(|| RequestError::AttributesNotGiven { class: class() })
    }
}

/// The file system of a class's volumes.
pub(super) fn fs_type<'c>(config: &'c Config, parameters: &'c ClassParameters) -> &'c str {
    let named = parameters.fs_type().filter(|named| !named.is_empty());
    named.unwrap_or(&config.default_fs_type)
}

/// How large the volume must be.
fn capacity_range(claim: &PersistentVolumeClaim) -> Result<Option<CapacityRange>, RequestError> {
    let required_bytes = requested_bytes(claim)?;
    Ok((required_bytes > 0).then_some(CapacityRange {
        required_bytes,
        limit_bytes: 0,
    }))
}

/// The claim's storage request in whole bytes, rounded up; 0 if it has none.
pub(super) fn requested_bytes(claim: &PersistentVolumeClaim) -> Result<i64, RequestError> {
    let most = Quantity::from_i64(i64::MAX, Format::BinarySi);
    let asked = claim.requested_storage();
    if asked.sign() == Ordering::Less || *asked > most {
        return Err(RequestError::Size {
            asked: asked.clone(),
        });
    }
    Ok(asked.value())
}

/// One capability for each access mode, in the claim's order.
fn capabilities(
    config: &Config,
    claim: &PersistentVolumeClaim,
    access_type: &AccessType,
) -> Result<Vec<VolumeCapability>, RequestError> {
    let mut capabilities: Vec<VolumeCapability> = Vec::new();
    for mode in claim.access_modes() {
        let access_mode = access_mode(config, mode)?;
        let is_known = |known: &VolumeCapability| known.access_mode == access_mode;
        if !capabilities.iter().any(is_known) {
            capabilities.push(VolumeCapability {
                access_type: access_type.clone(),
                access_mode,
            });
        }
    }
    match capabilities.is_empty() {
        true => Err(RequestError::NoAccessMode),
        false => Ok(capabilities),
    }
}

/// How a driver is told of an access mode.
///
/// | claim | driver knows the single-node modes | driver does not |
/// | --- | --- | --- |
/// | ReadWriteOnce | `SINGLE_NODE_MULTI_WRITER` | `SINGLE_NODE_WRITER` |
/// | ReadWriteOncePod | `SINGLE_NODE_SINGLE_WRITER` | refused |
/// | ReadOnlyMany | `MULTI_NODE_READER_ONLY` | the same |
/// | ReadWriteMany | `MULTI_NODE_MULTI_WRITER` | the same |
fn access_mode(config: &Config, mode: &AccessMode) -> Result<csi::AccessMode, RequestError> {
    match (mode, config.knows_single_node_modes) {
        (AccessMode::ReadWriteOnce, true) => Ok(csi::AccessMode::SingleNodeMultiWriter),
        (AccessMode::ReadWriteOnce, false) => Ok(csi::AccessMode::SingleNodeWriter),
        (AccessMode::ReadWriteOncePod, true) => Ok(csi::AccessMode::SingleNodeSingleWriter),
        (AccessMode::ReadOnlyMany, _) => Ok(csi::AccessMode::MultiNodeReaderOnly),
        (AccessMode::ReadWriteMany, _) => Ok(csi::AccessMode::MultiNodeMultiWriter),
        (mode, _) => Err(RequestError::AccessMode {
            driver: config.driver.clone(),
            mode: mode.to_string(),
        }),
    }
}
