//! The object of a volume that the driver made.

use serde_json::{Value, json};

use super::request::fs_type;
use super::{ClassParameters, Config, CreateVolume, RequestError, SecretUse, csi};
use crate::api::{
    AccessMode, CsiVolumeSource, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement,
    NodeSelectorTerm, PersistentVolume, PersistentVolumeReclaimPolicy, PersistentVolumeSpec,
    ResourceList, VolumeMode, VolumeNodeAffinity, names,
};
use crate::quantity::Quantity;

/// In bytes.
const LONGEST_VOLUME_ID: usize = 4096;

/// Why a driver's answer does not serve. [`CleanUp`](super::CleanUp) has it.
///
/// ```
/// use pvbind::provisioner::AnswerError;
/// assert_eq!(
///     AnswerError::TooSmall { has: 1, asked: 2 }.to_string(),
///     "created volume capacity 1 less than requested capacity 2"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The volume is smaller than asked for. The text is upstream's.
    #[error("created volume capacity {has} less than requested capacity {asked}")]
    TooSmall {
        /// How many bytes it has.
        has: i64,
        /// How many were asked for.
        asked: i64,
    },
    /// The claim was to be filled, and the driver does not say that it is. The
    /// text is upstream's.
    #[error("volume content source missing")]
    NoContentSource,
    /// The volume was filled with something else.
    #[error("volume content source is {has}, not {asked}")]
    OtherContentSource {
        /// With what.
        has: csi::VolumeContentSource,
        /// What was asked for.
        asked: csi::VolumeContentSource,
    },
    /// The volume has no name by which the driver would know it again.
    #[error("the driver made a volume without a volume_id")]
    NoVolumeId,
    /// The driver's name for the volume is longer than any object could hold with
    /// ease. The CSI specification allows 128 bytes; drivers that use more are
    /// let through up to this limit.
    #[error("the driver made a volume with a volume_id of {bytes} bytes, more than {limit}")]
    VolumeIdTooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The claim or the class is not one that the driver can be asked for.
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// The object of a volume, but for what every volume of ours has: see
/// [`CreateVolume::provisioned`].
pub(super) fn volume_object(
    config: &Config,
    operation: &CreateVolume,
    asked: &csi::CreateVolumeRequest,
    made: &csi::Volume,
) -> Result<PersistentVolume, AnswerError> {
    if made.volume_id.is_empty() {
        return Err(AnswerError::NoVolumeId);
    }
    let bytes = made.volume_id.len();
    if bytes > LONGEST_VOLUME_ID {
        let limit = LONGEST_VOLUME_ID;
        return Err(AnswerError::VolumeIdTooLong { bytes, limit });
    }
    let capacity = capacity(asked, made)?;
    check_content_source(asked, made)?;
    let (claim, class) = (operation.claim(), operation.class());
    let parameters = ClassParameters::read(class)?;
    let mut volume = PersistentVolume {
        spec: PersistentVolumeSpec {
            capacity: Some(ResourceList::of_storage(capacity)),
            access_modes: claim.spec.access_modes.clone(),
            volume_mode: claim.spec.volume_mode.clone(),
            // A volume may not have the empty name that a claim may have.
            volume_attributes_class_name: Some(claim.attributes_class_name().to_owned())
                .filter(|name| !name.is_empty()),
            node_affinity: config.topology.and_then(|_| affinity(made)),
            persistent_volume_reclaim_policy: Some(match &class.reclaim_policy {
                Some(policy) => policy.clone(),
                None => PersistentVolumeReclaimPolicy::Delete,
            }),
            mount_options: class.mount_options.clone(),
            csi: Some(source(config, operation, &parameters, made)?),
            ..PersistentVolumeSpec::default()
        },
        ..PersistentVolume::default()
    };
    // Empty if there is none: a secret that the class names later is not the one
    // that this volume was made with.
    let secret = operation.secret(&parameters, SecretUse::Provisioner)?;
    let (namespace, name) =
        secret.map_or_else(Default::default, |secret| (secret.namespace, secret.name));
    let metadata = &mut volume.metadata;
    metadata.set_annotation(names::DELETION_SECRET_NAME, &name);
    metadata.set_annotation(names::DELETION_SECRET_NAMESPACE, &namespace);
    Ok(volume)
}

/// As the driver says, or as asked for if it says nothing.
fn capacity(asked: &csi::CreateVolumeRequest, made: &csi::Volume) -> Result<Quantity, AnswerError> {
    let asked = asked
        .capacity_range
        .map_or(0, |range| range.required_bytes.max(0));
    let has = match made.capacity_bytes {
        0 => asked,
        has => has,
    };
    match u64::try_from(has) {
        Ok(bytes) if has >= asked => Ok(Quantity::from_bytes(bytes)),
        _ => Err(AnswerError::TooSmall { has, asked }),
    }
}

/// A volume that was to be filled must be said to be, with that.
fn check_content_source(
    asked: &csi::CreateVolumeRequest,
    made: &csi::Volume,
) -> Result<(), AnswerError> {
    match (&asked.volume_content_source, &made.content_source) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(AnswerError::NoContentSource),
        (Some(asked), Some(has)) if asked == has => Ok(()),
        (Some(asked), Some(has)) => Err(AnswerError::OtherContentSource {
            has: has.clone(),
            asked: asked.clone(),
        }),
    }
}

fn source(
    config: &Config,
    operation: &CreateVolume,
    parameters: &ClassParameters,
    made: &csi::Volume,
) -> Result<CsiVolumeSource, RequestError> {
    let mut source = CsiVolumeSource {
        driver: Some(config.driver.clone()),
        volume_handle: Some(made.volume_id.clone()),
        ..CsiVolumeSource::default()
    };
    let fields = &mut source.unknown;
    let claim = operation.claim();
    if config.marks_read_only && claim.access_modes() == [AccessMode::ReadOnlyMany] {
        fields.insert("readOnly", Value::Bool(true));
    }
    let fs_type = fs_type(config, parameters);
    if *claim.volume_mode() != VolumeMode::Block && !fs_type.is_empty() {
        fields.insert("fsType", json!(fs_type));
    }
    let mut context = made.volume_context.clone();
    if let Some(identity) = &config.identity {
        let key = "storage.kubernetes.io/csiProvisionerIdentity".to_owned();
        // What the driver says goes first, as upstream has it.
        context.entry(key).or_insert_with(|| identity.clone());
    }
    if !context.is_empty() {
        fields.insert("volumeAttributes", json!(context));
    }
    for usage in SecretUse::ALL {
        if let Some(field) = usage.volume_field()
            && let Some(secret) = operation.secret(parameters, usage)?
        {
            let secret = json!({"name": secret.name, "namespace": secret.namespace});
            fields.insert(field, secret);
        }
    }
    Ok(source)
}

/// The nodes that can reach the volume: those in any part of its topology.
fn affinity(made: &csi::Volume) -> Option<VolumeNodeAffinity> {
    let terms: Vec<NodeSelectorTerm> = made
        .accessible_topology
        .iter()
        .filter(|part| !part.segments.is_empty())
        .map(term)
        .collect();
    let required = NodeSelector {
        node_selector_terms: Some(terms).filter(|terms| !terms.is_empty()),
        ..NodeSelector::default()
    };
    required
        .node_selector_terms
        .is_some()
        .then(|| VolumeNodeAffinity {
            required: Some(required),
            ..VolumeNodeAffinity::default()
        })
}

fn term(part: &csi::Topology) -> NodeSelectorTerm {
    let expressions = part
        .segments
        .iter()
        .map(|(key, value)| NodeSelectorRequirement {
            key: Some(key.clone()),
            operator: Some(NodeSelectorOperator::In),
            values: Some(vec![value.clone()]),
            ..NodeSelectorRequirement::default()
        });
    NodeSelectorTerm {
        match_expressions: Some(expressions.collect()),
        ..NodeSelectorTerm::default()
    }
}
