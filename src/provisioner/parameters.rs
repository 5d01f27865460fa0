//! A class's parameters: which are the driver's, and what the reserved ones do.

use std::collections::BTreeMap;

use super::secret::{SecretReference, SecretTemplate};
use super::{RequestError, SecretNames};
use crate::api::StorageClass;

/// What the keys begin with that are the provisioner's and not the driver's.
pub const RESERVED_PREFIX: &str = "csi.storage.k8s.io/";

/// What a secret is for. Each has two reserved keys, `PREFIX-secret-name` and
/// `PREFIX-secret-namespace`, after [`RESERVED_PREFIX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SecretUse {
    /// `provisioner`: making and deleting the volume.
    Provisioner,
    /// `controller-publish`: attaching it to a node.
    ControllerPublish,
    /// `node-stage`: preparing it on a node.
    NodeStage,
    /// `node-publish`: giving it to a pod.
    NodePublish,
    /// `controller-expand`: making it larger.
    ControllerExpand,
    /// `node-expand`: making its file system larger.
    NodeExpand,
    /// `controller-modify`: changing its attributes. Used by the resizer; no
    /// field of a volume holds it.
    ControllerModify,
}

impl SecretUse {
    /// Every use.
    pub const ALL: [SecretUse; 7] = [
        SecretUse::Provisioner,
        SecretUse::ControllerPublish,
        SecretUse::NodeStage,
        SecretUse::NodePublish,
        SecretUse::ControllerExpand,
        SecretUse::NodeExpand,
        SecretUse::ControllerModify,
    ];

    /// How the reserved keys name the use.
    pub fn as_str(self) -> &'static str {
        match self {
            SecretUse::Provisioner => "provisioner",
            SecretUse::ControllerPublish => "controller-publish",
            SecretUse::NodeStage => "node-stage",
            SecretUse::NodePublish => "node-publish",
            SecretUse::ControllerExpand => "controller-expand",
            SecretUse::NodeExpand => "node-expand",
            SecretUse::ControllerModify => "controller-modify",
        }
    }

    /// The field of a volume's CSI source that names the secret, if there is
    /// one.
    pub(super) fn volume_field(self) -> Option<&'static str> {
        match self {
            SecretUse::Provisioner | SecretUse::ControllerModify => None,
            SecretUse::ControllerPublish => Some("controllerPublishSecretRef"),
            SecretUse::NodeStage => Some("nodeStageSecretRef"),
            SecretUse::NodePublish => Some("nodePublishSecretRef"),
            SecretUse::ControllerExpand => Some("controllerExpandSecretRef"),
            SecretUse::NodeExpand => Some("nodeExpandSecretRef"),
        }
    }
}

/// A class's parameters, read once.
///
/// | reserved key (after `csi.storage.k8s.io/`) | what it does |
/// | --- | --- |
/// | `fstype` | the file system of the volumes, in the request and in the volume; the key `fstype` without prefix, in letters of any case, says the same and is the driver's too; both are refused |
/// | `provisioner-secret-name`, `…-namespace` | the secret sent with CreateVolume and DeleteVolume; noted on the volume for the latter |
/// | `controller-publish-secret-…`, `node-stage-secret-…`, `node-publish-secret-…`, `controller-expand-secret-…`, `node-expand-secret-…` | noted in the volume's CSI source, for whoever makes that call |
/// | `controller-modify-secret-…` | nothing here: the resizer reads it from the class |
/// | any other | refused, so that a slip of the pen is not sent to the driver |
///
/// All other keys are the driver's. A secret's name may hold `${pv.name}`,
/// `${pvc.namespace}`, `${pvc.name}` and `${pvc.annotations['KEY']}`, its
/// namespace the first two: who may write a claim must not choose whose
/// secrets are read.
///
/// Follows the documentation of external-provisioner 6 (“StorageClass
/// Secrets”).
///
/// # Differences
/// The secrets' keys without prefix that were reserved before version 1.0
/// (`csiProvisionerSecretName` …) are the driver's here.
///
/// ```
/// use pvbind::api::StorageClass;
/// use pvbind::provisioner::ClassParameters;
/// let class: StorageClass = serde_json::from_str(r#"{"parameters": {
///     "type": "ssd", "csi.storage.k8s.io/fstype": "xfs"}}"#)?;
/// let parameters = ClassParameters::read(&class)?;
/// assert_eq!(parameters.for_driver().get("type").map(String::as_str), Some("ssd"));
/// assert_eq!(parameters.for_driver().len(), 1);
/// assert_eq!(parameters.fs_type(), Some("xfs"));
///
/// let class: StorageClass =
///     serde_json::from_str(r#"{"parameters": {"csi.storage.k8s.io/fs-type": "xfs"}}"#)?;
/// assert_eq!(
///     ClassParameters::read(&class).unwrap_err().to_string(),
///     "the class's parameter `csi.storage.k8s.io/fs-type` is not one of the reserved that there are"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassParameters {
    for_driver: BTreeMap<String, String>,
    fs_type: Option<String>,
    secrets: BTreeMap<SecretUse, SecretTemplate>,
}

impl ClassParameters {
    /// Reads a class's parameters.
    ///
    /// # Errors
    /// A reserved key that there is not; a file system under two keys; a secret with a name and no namespace
    /// or the other way round.
    pub fn read(class: &StorageClass) -> Result<Self, RequestError> {
        let mut parameters = ClassParameters::default();
        let mut names = BTreeMap::new();
        let mut namespaces = BTreeMap::new();
        for (key, value) in class.parameters.iter().flatten() {
            let value = value.clone();
            match reserved(key) {
                Ok(None) => {
                    if key.eq_ignore_ascii_case("fstype") {
                        parameters.set_fs_type(&value)?;
                    }
                    parameters.for_driver.insert(key.clone(), value);
                }
                Ok(Some(Reserved::FsType)) => parameters.set_fs_type(&value)?,
                Ok(Some(Reserved::SecretName(usage))) => {
                    names.insert(usage, value);
                }
                Ok(Some(Reserved::SecretNamespace(usage))) => {
                    namespaces.insert(usage, value);
                }
                Err(()) => return Err(RequestError::UnknownReservedKey { key: key.clone() }),
            }
        }
        for usage in SecretUse::ALL {
            match (names.remove(&usage), namespaces.remove(&usage)) {
                (None, None) => {}
                (Some(name), Some(namespace)) => {
                    let template = SecretTemplate { name, namespace };
                    parameters.secrets.insert(usage, template);
                }
                _ => return Err(RequestError::SecretIncomplete { usage }),
            }
        }
        Ok(parameters)
    }

    fn set_fs_type(&mut self, fs_type: &str) -> Result<(), RequestError> {
        match self.fs_type.replace(fs_type.to_owned()) {
            None => Ok(()),
            Some(other) => Err(RequestError::TwoFsTypes {
                these: [other, fs_type.to_owned()],
            }),
        }
    }

    /// The parameters that are the driver's.
    pub fn for_driver(&self) -> &BTreeMap<String, String> {
        &self.for_driver
    }

    /// The file system that the class names.
    pub fn fs_type(&self) -> Option<&str> {
        self.fs_type.as_deref()
    }

    /// The secret for a use, for this volume and claim; `None` if the class
    /// names none.
    ///
    /// # Errors
    /// A template that cannot be filled in, or gives what cannot be a name.
    pub fn secret(
        &self,
        usage: SecretUse,
        names: &SecretNames<'_>,
    ) -> Result<Option<SecretReference>, RequestError> {
        let Some(template) = self.secrets.get(&usage) else {
            return Ok(None);
        };
        template.fill(usage, names).map(Some)
    }
}

enum Reserved {
    FsType,
    SecretName(SecretUse),
    SecretNamespace(SecretUse),
}

/// What a key is reserved for, if it is; an error if there is no such key.
fn reserved(key: &str) -> Result<Option<Reserved>, ()> {
    let Some(key) = key.strip_prefix(RESERVED_PREFIX) else {
        return Ok(None);
    };
    let of = |usage: &str| {
        let mut all = SecretUse::ALL.into_iter();
        all.find(|known| known.as_str() == usage).ok_or(())
    };
    if key == "fstype" {
        Ok(Some(Reserved::FsType))
    } else if let Some(usage) = key.strip_suffix("-secret-name") {
        Ok(Some(Reserved::SecretName(of(usage)?)))
    } else if let Some(usage) = key.strip_suffix("-secret-namespace") {
        Ok(Some(Reserved::SecretNamespace(of(usage)?)))
    } else {
        Err(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(parameters: serde_json::Value) -> Result<ClassParameters, RequestError> {
        let class = serde_json::from_value(json!({"parameters": parameters})).unwrap();
        ClassParameters::read(&class)
    }

    #[test]
    fn every_use_has_its_two_keys() {
        for usage in SecretUse::ALL {
            let key = format!("{RESERVED_PREFIX}{}-secret-name", usage.as_str());
            let parameters = read(json!({&key: "s", format!("{key}space"): "n"})).unwrap();
            assert!(parameters.for_driver().is_empty());
            let found = parameters.secret(usage, &SecretNames::default()).unwrap();
            assert_eq!(found.unwrap().to_string(), "n/s");
            let alone = read(json!({&key: "s"}));
            assert_eq!(alone, Err(RequestError::SecretIncomplete { usage }));
        }
    }

    #[test]
    fn the_file_system_may_stand_under_either_key_but_not_under_both() {
        let parameters = read(json!({"fsType": "ext4"})).unwrap();
        assert_eq!(parameters.fs_type(), Some("ext4"));
        assert_eq!(parameters.for_driver().len(), 1);
        let both = read(json!({"fstype": "ext4", "csi.storage.k8s.io/fstype": "ext4"}));
        assert_eq!(
            both.unwrap_err().to_string(),
            "the class names a file system twice: `ext4` and `ext4`"
        );
    }

    #[test]
    fn a_reserved_key_that_there_is_not_is_refused() {
        let key = "csi.storage.k8s.io/node-publish-secret";
        let key = key.to_owned();
        let refused = read(json!({&key: "x"}));
        assert_eq!(refused, Err(RequestError::UnknownReservedKey { key }));
        assert!(read(json!({"csi.storage.k8s.io/other-secret-name": "x"})).is_err());
    }
}
