//! A class's parameters: which are the driver's, and what the reserved ones do.

use std::collections::BTreeMap;

use super::secret::{SecretReference, SecretTemplate};
use super::{RequestError, SecretNames};
use crate::api::StorageClass;

/// What the keys begin with that are the provisioner's and not the driver's:
/// see [`ClassParameters`].
pub const RESERVED_PREFIX: &str = "csi.storage.k8s.io/";

/// What a secret is for. Each has two reserved keys, `USE-secret-name` and
/// `USE-secret-namespace`, after [`RESERVED_PREFIX`].
///
/// ```
/// use pvbind::api::StorageClass;
/// use pvbind::provisioner::{ClassParameters, SecretNames, SecretUse};
/// let class: StorageClass = serde_json::from_str(r#"{"parameters": {
///     "csi.storage.k8s.io/node-stage-secret-name": "luks",
///     "csi.storage.k8s.io/node-stage-secret-namespace": "keys"}}"#)?;
/// let parameters = ClassParameters::read(&class)?;
/// let mut used = Vec::new();
/// for usage in SecretUse::ALL {
///     if let Some(secret) = parameters.secret(usage, &SecretNames::default())? {
///         used.push(format!("{}: {secret}", usage.as_str()));
///     }
/// }
/// assert_eq!(used, ["node-stage: keys/luks"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// ```
    /// use pvbind::provisioner::{RESERVED_PREFIX, SecretUse};
    /// let key = format!("{RESERVED_PREFIX}{}-secret-name", SecretUse::ControllerExpand.as_str());
    /// assert_eq!(key, "csi.storage.k8s.io/controller-expand-secret-name");
    /// ```
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
/// | `secret-name`, `secret-namespace` | the secret of every use that has none of its own |
/// | any other | refused, so that a slip of the pen is not sent to the driver |
///
/// All other keys are the driver's. A secret's name may hold `${pv.name}`,
/// `${pvc.namespace}`, `${pvc.name}` and `${pvc.annotations['KEY']}`, its
/// namespace the first two: who may write a claim must not choose whose
/// secrets are read. A secret needs both its keys.
///
/// Follows the documentation of external-provisioner 6 (“StorageClass
/// Secrets”; the secret for every use came with version 1.6, annotations in
/// the name of the provisioner's secret with 5.0).
///
/// # Differences
/// - The secrets' keys without prefix that were reserved before version 1.0
///   (`csiProvisionerSecretName` …) are the driver's here.
/// - `controller-modify-secret-…` is accepted whatever the version; 6.0 and 6.1
///   refuse it as unknown.
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
///     "failed to strip CSI Parameters of prefixed keys: found unknown parameter key \
///      \"csi.storage.k8s.io/fs-type\" with reserved namespace csi.storage.k8s.io/"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassParameters {
    for_driver: BTreeMap<String, String>,
    fs_type: Option<String>,
    secrets: ClassSecrets,
}

impl ClassParameters {
    /// Reads a class's parameters.
    ///
    /// # Errors
    /// A reserved key that there is not; a file system under two keys; a secret
    /// with a name and no namespace or the other way round.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use pvbind::provisioner::ClassParameters;
    /// let class: StorageClass = serde_json::from_value(serde_json::json!({"parameters": {
    ///     "csi.storage.k8s.io/node-stage-secret-name": "luks"}}))?;
    /// assert_eq!(
    ///     ClassParameters::read(&class).map_err(|error| error.to_string()),
    ///     Err("the class's node-stage secret needs both a name and a namespace".to_owned())
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(class: &StorageClass) -> Result<Self, RequestError> {
        let mut parameters = ClassParameters::default();
        for (key, value) in class.parameters.iter().flatten() {
            match reserved(key) {
                Ok(None) => {
                    if key.eq_ignore_ascii_case("fstype") {
                        parameters.set_fs_type(value)?;
                    }
                    parameters.for_driver.insert(key.clone(), value.clone());
                }
                Ok(Some(Reserved::FsType)) => parameters.set_fs_type(value)?,
                Ok(Some(Reserved::SecretName(_) | Reserved::SecretNamespace(_))) => {}
                Err(()) => return Err(RequestError::UnknownReservedKey { key: key.clone() }),
            }
        }
        parameters.secrets = ClassSecrets::read(class)?;
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
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use pvbind::provisioner::ClassParameters;
    /// let class: StorageClass = serde_json::from_value(serde_json::json!({"parameters": {
    ///     "iops": "3000", "fsType": "xfs",
    ///     "csi.storage.k8s.io/provisioner-secret-name": "backend",
    ///     "csi.storage.k8s.io/provisioner-secret-namespace": "storage"}}))?;
    /// let parameters = ClassParameters::read(&class)?;
    /// // The old key for the file system means something to both.
    /// assert!(parameters.for_driver().keys().eq(["fsType", "iops"]));
    /// assert_eq!(parameters.fs_type(), Some("xfs"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_driver(&self) -> &BTreeMap<String, String> {
        &self.for_driver
    }

    /// The file system that the class names.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use pvbind::provisioner::ClassParameters;
    /// let class: StorageClass = serde_json::from_value(serde_json::json!({"parameters": {
    ///     "csi.storage.k8s.io/fstype": "xfs"}}))?;
    /// assert_eq!(ClassParameters::read(&class)?.fs_type(), Some("xfs"));
    /// // `Config::default_fs_type` is none of the class's.
    /// assert_eq!(ClassParameters::default().fs_type(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fs_type(&self) -> Option<&str> {
        self.fs_type.as_deref()
    }

    /// The secret for a use, for this volume and claim: the one that the class
    /// names for that use, or else the one for every use; `None` if the class
    /// names neither.
    ///
    /// # Errors
    /// A template that cannot be filled in, or gives what cannot be a name.
    ///
    /// ```
    /// use pvbind::api::StorageClass;
    /// use pvbind::provisioner::{ClassParameters, SecretNames, SecretUse};
    /// let class: StorageClass = serde_json::from_str(r#"{"parameters": {
    ///     "csi.storage.k8s.io/secret-name": "${pvc.name}",
    ///     "csi.storage.k8s.io/secret-namespace": "keys",
    ///     "csi.storage.k8s.io/node-stage-secret-name": "luks",
    ///     "csi.storage.k8s.io/node-stage-secret-namespace": "${pvc.namespace}"}}"#)?;
    /// let parameters = ClassParameters::read(&class)?;
    /// let names = SecretNames { namespace: "shop", claim: "data", ..SecretNames::default() };
    /// let secret = |usage| parameters.secret(usage, &names).map(|found| found.unwrap().to_string());
    /// assert_eq!(secret(SecretUse::Provisioner)?, "keys/data");
    /// assert_eq!(secret(SecretUse::NodeStage)?, "shop/luks");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn secret(
        &self,
        usage: SecretUse,
        names: &SecretNames<'_>,
    ) -> Result<Option<SecretReference>, RequestError> {
        self.secrets.fill(usage, names)
    }
}

/// The secrets that a class names. What else stands in its parameters does not
/// matter, so that a volume can be deleted whatever became of them.
// By use; the one for every use under `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClassSecrets(BTreeMap<Option<SecretUse>, SecretTemplate>);

impl ClassSecrets {
    pub(super) fn read(class: &StorageClass) -> Result<Self, RequestError> {
        let mut names = BTreeMap::new();
        let mut namespaces = BTreeMap::new();
        for (key, value) in class.parameters.iter().flatten() {
            match reserved(key) {
                Ok(Some(Reserved::SecretName(usage))) => {
                    names.insert(usage, value);
                }
                Ok(Some(Reserved::SecretNamespace(usage))) => {
                    namespaces.insert(usage, value);
                }
                _ => {}
            }
        }
        let mut secrets = BTreeMap::new();
        for (usage, name) in names {
            let namespace = namespaces.remove(&usage);
            let namespace = namespace.ok_or(RequestError::SecretIncomplete { usage })?;
            let template = SecretTemplate {
                name: name.clone(),
                namespace: namespace.clone(),
            };
            secrets.insert(usage, template);
        }
        match namespaces.into_keys().next() {
            Some(usage) => Err(RequestError::SecretIncomplete { usage }),
            None => Ok(ClassSecrets(secrets)),
        }
    }

    pub(super) fn fill(
        &self,
        usage: SecretUse,
        names: &SecretNames<'_>,
    ) -> Result<Option<SecretReference>, RequestError> {
        let template = self.0.get(&Some(usage)).or_else(|| self.0.get(&None));
        template
            .map(|template| template.fill(usage, names))
            .transpose()
    }
}

enum Reserved {
    FsType,
    /// Of the secret for every use, if there is no use.
    SecretName(Option<SecretUse>),
    SecretNamespace(Option<SecretUse>),
}

/// What a key is reserved for, if it is; an error if there is no such key.
fn reserved(key: &str) -> Result<Option<Reserved>, ()> {
    let Some(key) = key.strip_prefix(RESERVED_PREFIX) else {
        return Ok(None);
    };
    let of = |usage: &str| {
        let mut all = SecretUse::ALL.into_iter();
        all.find(|known| known.as_str() == usage)
            .map(Some)
            .ok_or(())
    };
    match key {
        "fstype" => return Ok(Some(Reserved::FsType)),
        "secret-name" => return Ok(Some(Reserved::SecretName(None))),
        "secret-namespace" => return Ok(Some(Reserved::SecretNamespace(None))),
        _ => {}
    }
    if let Some(usage) = key.strip_suffix("-secret-name") {
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
            let usage = Some(usage);
            for key in [key.clone(), format!("{key}space")] {
                let alone = read(json!({key: "s"}));
                assert_eq!(alone, Err(RequestError::SecretIncomplete { usage }));
            }
        }
    }

    #[test]
    fn the_secret_for_every_use_serves_where_a_use_has_none_of_its_own() {
        let key = |key: &str| format!("{RESERVED_PREFIX}{key}");
        let parameters = read(
            json!({key("secret-name"): "all", key("secret-namespace"): "n",
            key("node-publish-secret-name"): "own", key("node-publish-secret-namespace"): "m"}),
        )
        .unwrap();
        assert!(parameters.for_driver().is_empty());
        for usage in SecretUse::ALL {
            let found = parameters.secret(usage, &SecretNames::default()).unwrap();
            let expected = match usage {
                SecretUse::NodePublish => "m/own",
                _ => "n/all",
            };
            assert_eq!(found.unwrap().to_string(), expected);
        }
        for alone in ["secret-name", "secret-namespace"] {
            assert_eq!(
                read(json!({key(alone): "s"})).unwrap_err().to_string(),
                "the class's default secret needs both a name and a namespace"
            );
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
