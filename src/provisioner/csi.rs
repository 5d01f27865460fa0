//! What is asked of a CSI driver and what it answers, named as in the CSI
//! specification (1.9 and later), so that each type maps one to one to the
//! protobuf message of its name.
//!
//! The crate has no gRPC and no generated code; an embedder copies the fields.
//! As JSON the fields have the names of the specification, and what is empty is
//! left out.
//!
//! # Differences
//! - The message `AccessMode` has nothing but its `mode`, which stands in its
//!   place here ([`AccessMode::number`] is what goes over the wire).
//! - `MountVolume.volume_mount_group` is left out: a provisioner never sets it.
//! - Fields marked `csi_secret` are [`Secrets`], which do not show themselves.
//! - A `oneof` is an enumeration, whose variants hold the fields of the messages.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// `CreateVolumeRequest`: make a volume, or give the one that was made under
/// this name before.
///
/// ```
/// use pvbind::provisioner::csi::{CapacityRange, CreateVolumeRequest};
/// let request = CreateVolumeRequest {
///     name: "pvc-u-1".into(),
///     capacity_range: Some(CapacityRange { required_bytes: 1 << 30, limit_bytes: 0 }),
///     ..CreateVolumeRequest::default()
/// };
/// assert_eq!(
///     serde_json::to_string(&request)?,
///     r#"{"name":"pvc-u-1","capacity_range":{"required_bytes":1073741824},"volume_capabilities":[]}"#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreateVolumeRequest {
    /// The name that the volume is asked for under. The same claim always asks
    /// under the same name, which is what makes the call repeatable.
    pub name: String,
    /// How large it must be; `None` leaves it to the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_range: Option<CapacityRange>,
    /// How it must be usable: each of these.
    pub volume_capabilities: Vec<VolumeCapability>,
    /// The class's parameters that are the driver's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Passwords and the like. Not written as JSON.
    #[serde(skip)]
    pub secrets: Secrets,
    /// What to fill the volume with; `None` for an empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_content_source: Option<VolumeContentSource>,
    /// Where it must be reachable from; `None` leaves it to the driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accessibility_requirements: Option<TopologyRequirement>,
    /// The parameters of the VolumeAttributesClass.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mutable_parameters: BTreeMap<String, String>,
}

/// `CapacityRange`: how large a volume must and may be, in bytes. 0 means that
/// there is no such bound.
///
/// ```
/// use pvbind::provisioner::csi::CapacityRange;
/// // 10Gi at least, and as much more as the driver's block size makes it.
/// let range = CapacityRange { required_bytes: 10 << 30, limit_bytes: 0 };
/// // No upper bound is left out of JSON, as in protobuf's.
/// assert_eq!(serde_json::to_string(&range)?, r#"{"required_bytes":10737418240}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CapacityRange {
    /// It must have at least so many bytes.
    pub required_bytes: i64,
    /// It must not have more than so many bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub limit_bytes: i64,
}

/// `VolumeCapability`: one way in which a volume must be usable.
///
/// ```
/// use pvbind::provisioner::csi::{AccessMode, AccessType, VolumeCapability};
/// let capability: VolumeCapability = serde_json::from_value(serde_json::json!({
///     "mount": {"fs_type": "xfs"}, "access_mode": "SINGLE_NODE_WRITER"}))?;
/// assert_eq!(capability.access_mode, AccessMode::SingleNodeWriter);
/// let AccessType::Mount(mount) = capability.access_type else { panic!() };
/// assert_eq!(mount.fs_type, "xfs");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolumeCapability {
    /// As a device or as a file system (the `oneof` of the specification).
    #[serde(flatten)]
    pub access_type: AccessType,
    /// By how many, and for what.
    pub access_mode: AccessMode,
}

/// How a volume is given to a pod.
///
/// ```
/// use pvbind::provisioner::csi::{AccessMode, AccessType, VolumeCapability};
/// /// Of a driver that makes ext4 file systems and no other.
/// fn is_supported(capability: &VolumeCapability) -> bool {
///     match &capability.access_type {
///         AccessType::Block(_) => true,
///         AccessType::Mount(mount) => ["", "ext4"].contains(&mount.fs_type.as_str()),
///         _ => false,
///     }
/// }
/// let access_type = AccessType::Mount(serde_json::from_str(r#"{"fs_type": "zfs"}"#)?);
/// let access_mode = AccessMode::SingleNodeWriter;
/// assert!(!is_supported(&VolumeCapability { access_type, access_mode }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AccessType {
    /// `BlockVolume`: as a raw device.
    Block(BlockVolume),
    /// `MountVolume`: as a mounted file system.
    Mount(MountVolume),
}

/// `BlockVolume`: nothing more is to be said of a raw device.
///
/// ```
/// use pvbind::provisioner::csi::{AccessType, BlockVolume};
/// // It says nothing, but that it is there says all.
/// let device = AccessType::Block(BlockVolume {});
/// assert_eq!(serde_json::to_string(&device)?, r#"{"block":{}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockVolume {}

/// `MountVolume`: how to mount a file system.
///
/// ```
/// use pvbind::provisioner::csi::MountVolume;
/// let mount = MountVolume {
///     fs_type: "xfs".into(),
///     mount_flags: vec!["noatime".into()], // the class's mountOptions
/// };
/// assert_eq!(serde_json::to_string(&mount)?, r#"{"fs_type":"xfs","mount_flags":["noatime"]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountVolume {
    /// The type of the file system; empty leaves it to the driver.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fs_type: String,
    /// The options to mount with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mount_flags: Vec<String>,
}

/// `VolumeCapability.AccessMode.Mode`: by how many nodes, and for what. The
/// enumeration of the specification is open, and so is this one.
///
/// ```
/// use pvbind::provisioner::csi::AccessMode;
/// // ReadWriteOnce as a driver is told of it: one node, any number of its pods. One with
/// // the capability SINGLE_NODE_MULTI_WRITER is told `SingleNodeMultiWriter`.
/// assert_eq!(serde_json::to_string(&AccessMode::SingleNodeWriter)?, r#""SINGLE_NODE_WRITER""#);
/// // ReadWriteOncePod, which other drivers cannot be told at all.
/// let one_pod: AccessMode = serde_json::from_str(r#""SINGLE_NODE_SINGLE_WRITER""#)?;
/// assert_eq!(one_pod, AccessMode::SingleNodeSingleWriter);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum AccessMode {
    /// By one node, for reading and writing.
    SingleNodeWriter,
    /// By one node, for reading.
    SingleNodeReaderOnly,
    /// By many nodes, for reading.
    MultiNodeReaderOnly,
    /// By many nodes, of which one writes.
    MultiNodeSingleWriter,
    /// By many nodes, for reading and writing.
    MultiNodeMultiWriter,
    /// By one pod, for reading and writing.
    SingleNodeSingleWriter,
    /// By many pods of one node, for reading and writing.
    SingleNodeMultiWriter,
}

impl AccessMode {
    /// The number that stands for the mode on the wire.
    ///
    /// ```
    /// use pvbind::provisioner::csi::AccessMode;
    /// assert_eq!(AccessMode::SingleNodeWriter.number(), 1);
    /// assert_eq!(AccessMode::SingleNodeMultiWriter.number(), 7);
    /// ```
    pub fn number(self) -> i32 {
        match self {
            AccessMode::SingleNodeWriter => 1,
            AccessMode::SingleNodeReaderOnly => 2,
            AccessMode::MultiNodeReaderOnly => 3,
            AccessMode::MultiNodeSingleWriter => 4,
            AccessMode::MultiNodeMultiWriter => 5,
            AccessMode::SingleNodeSingleWriter => 6,
            AccessMode::SingleNodeMultiWriter => 7,
        }
    }
}

/// `VolumeContentSource`: what to fill a volume with (the `oneof` of the
/// specification).
///
/// ```
/// use pvbind::provisioner::csi::VolumeContentSource;
/// let source = VolumeContentSource::Snapshot { snapshot_id: "s-1".into() };
/// assert_eq!(source.to_string(), "snapshot `s-1`");
/// assert_eq!(serde_json::to_string(&source)?, r#"{"snapshot":{"snapshot_id":"s-1"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VolumeContentSource {
    /// `SnapshotSource`: a snapshot.
    Snapshot {
        /// The driver's name for it.
        snapshot_id: String,
    },
    /// `VolumeSource`: another volume.
    Volume {
        /// The driver's name for it.
        volume_id: String,
    },
}

/// `snapshot ID` or `volume ID`, the id in backticks.
impl fmt::Display for VolumeContentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VolumeContentSource::Snapshot { snapshot_id } => write!(f, "snapshot `{snapshot_id}`"),
            VolumeContentSource::Volume { volume_id } => write!(f, "volume `{volume_id}`"),
        }
    }
}

/// `TopologyRequirement`: where a volume must be reachable from.
///
/// ```
/// use pvbind::provisioner::csi::TopologyRequirement;
/// let places: TopologyRequirement = serde_json::from_value(serde_json::json!({
///     "requisite": [{"segments": {"zone": "a"}}, {"segments": {"zone": "b"}}],
///     "preferred": [{"segments": {"zone": "b"}}, {"segments": {"zone": "a"}}]}))?;
/// // Zone b while it has room, for the pod is there; zone a is no mistake.
/// assert_eq!(places.preferred[0].segments["zone"], "b");
/// assert!(places.requisite.contains(&places.preferred[1]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TopologyRequirement {
    /// It must be reachable from at least one of these.
    pub requisite: Vec<Topology>,
    /// It should be reachable from the first of these that can be.
    pub preferred: Vec<Topology>,
}

/// `Topology`: a part of a cluster, such as a zone. All the pairs must hold.
///
/// ```
/// use pvbind::provisioner::csi::Topology;
/// let segments = [("zone", "a"), ("rack", "r1")].map(|(key, value)| (key.into(), value.into()));
/// // That rack of that zone: both labels, not one of them.
/// let rack = Topology { segments: segments.into() };
/// assert_eq!(serde_json::to_string(&rack)?, r#"{"segments":{"rack":"r1","zone":"a"}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// The labels of the nodes in it, by key.
    pub segments: BTreeMap<String, String>,
}

/// `Volume`: what a driver says of a volume that it made.
///
/// ```
/// use pvbind::provisioner::csi::Volume;
/// let volume: Volume = serde_json::from_str(
///     r#"{"volume_id": "h-1", "accessible_topology": [{"segments": {"zone": "a"}}]}"#)?;
/// assert_eq!(volume.capacity_bytes, 0); // not known
/// assert_eq!(volume.accessible_topology[0].segments["zone"], "a");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Volume {
    /// How large it is, in bytes; 0 if the driver does not say.
    pub capacity_bytes: i64,
    /// The driver's name for it.
    pub volume_id: String,
    /// What the driver wants to be told whenever the volume is used.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub volume_context: BTreeMap<String, String>,
    /// What it was filled with: what was asked for, if anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_source: Option<VolumeContentSource>,
    /// Where it is reachable from: at least one of these must hold. Empty if
    /// from everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accessible_topology: Vec<Topology>,
}

/// `DeleteVolumeRequest`: delete a volume; one that is not there is deleted.
///
/// ```
/// use pvbind::provisioner::csi::DeleteVolumeRequest;
/// let mut request = DeleteVolumeRequest { volume_id: "vol-0a1b".into(), ..Default::default() };
/// request.secrets.0.insert("token".into(), "hunter2".into());
/// // It can be logged as it is.
/// assert_eq!(serde_json::to_string(&request)?, r#"{"volume_id":"vol-0a1b"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeleteVolumeRequest {
    /// The driver's name for it.
    pub volume_id: String,
    /// Passwords and the like. Not written as JSON.
    #[serde(skip)]
    pub secrets: Secrets,
}

/// Passwords and the like, by name. The specification marks such fields
/// (`csi_secret`); here neither `Debug` nor JSON shows their values.
///
/// ```
/// use pvbind::provisioner::csi::Secrets;
/// let mut secrets = Secrets::default();
/// secrets.0.insert("password".into(), "hunter2".into());
/// assert_eq!(format!("{secrets:?}"), r#"{"password": ***}"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, String>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hidden = self.0.keys().map(|key| (key, format_args!("***")));
        f.debug_map().entries(hidden).finish()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_reads_as_the_specification_names_it() {
        let request = CreateVolumeRequest {
            name: "pvc-1".into(),
            capacity_range: Some(CapacityRange {
                required_bytes: 5,
                limit_bytes: 0,
            }),
            volume_capabilities: vec![
                VolumeCapability {
                    access_type: AccessType::Mount(MountVolume {
                        fs_type: "xfs".into(),
                        mount_flags: vec![],
                    }),
                    access_mode: AccessMode::SingleNodeWriter,
                },
                VolumeCapability {
                    access_type: AccessType::Block(BlockVolume {}),
                    access_mode: AccessMode::MultiNodeMultiWriter,
                },
            ],
            secrets: Secrets(BTreeMap::from([("user".into(), "me".into())])),
            ..CreateVolumeRequest::default()
        };
        let written = json!({"name": "pvc-1", "capacity_range": {"required_bytes": 5},
            "volume_capabilities": [
                {"mount": {"fs_type": "xfs"}, "access_mode": "SINGLE_NODE_WRITER"},
                {"block": {}, "access_mode": "MULTI_NODE_MULTI_WRITER"}]});
        assert_eq!(serde_json::to_value(&request).unwrap(), written);
        let read: CreateVolumeRequest = serde_json::from_value(written).unwrap();
        assert_eq!(read.volume_capabilities, request.volume_capabilities);
    }
}
