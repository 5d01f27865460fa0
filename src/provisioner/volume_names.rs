//! How volumes are named.

use super::object_name::is_object_name;
use crate::api::PersistentVolumeClaim;

/// How many bytes the CSI specification allows a name to have.
const LONGEST: usize = 128;

/// How volumes are named: `PREFIX-UID`, with the uid of the claim. Nothing else
/// goes into a name, so that the same claim always has the same.
///
/// Follows `makeVolumeName` of external-provisioner 6, with the flags
/// `--volume-name-prefix` and `--volume-name-uuid-length`.
///
/// # Shortened uids
/// Some backends allow only short names. A shortened uid is no longer unique,
/// and a driver that is asked for a volume under a name that it knows gives the
/// volume that it has. So a claim whose name another claim's volume has is
/// refused ([`ProvisionError::NameTaken`](super::ProvisionError::NameTaken)),
/// whether that is seen before the driver is asked or only when the object is
/// to be created ([`ClaimNext::ReadVolume`](super::ClaimNext::ReadVolume)).
/// What no check here can see are two such claims of which neither has its
/// volume's object yet, if the driver gives the second a volume that does not
/// serve it, which the CSI specification forbids (ALREADY_EXISTS): the first
/// claim's volume would be cleaned up with it. Sixteen characters make
/// such a pair less likely than one in a billion among 100,000 claims; four make
/// it all but certain.
///
/// # Differences
/// - A length of 0, with which all claims would have one name, is refused.
/// - A length beyond that of the uid takes the whole of it.
///
/// ```
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::provisioner::VolumeNames;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"metadata": {"uid": "1b4e28ba-2fa1-11d2-883f"}}"#)?;
/// let names = VolumeNames::default();
/// assert_eq!(names.name_for(&claim), "pvc-1b4e28ba-2fa1-11d2-883f");
/// let short = VolumeNames::new("k8s", Some(10))?;
/// assert_eq!(short.name_for(&claim), "k8s-1b4e28ba2f");
///
/// assert_eq!(
///     VolumeNames::new("", None).unwrap_err().to_string(),
///     "the prefix of volume names is empty"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
// INVARIANT (names): `PREFIX-0` can be the name of an object, and the uid's
// length is not 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeNames {
    prefix: String,
    uid_length: Option<usize>,
}

/// Why volumes cannot be named so.
///
/// ```
/// use pvbind::provisioner::{VolumeNames, VolumeNamesError};
/// // Backends take underscores; names of objects do not.
/// let prefix = "k8s_prod".to_owned();
/// let error = VolumeNamesError::Prefix { prefix };
/// assert_eq!(error.to_string(), "no volume's name can begin with `k8s_prod-`");
/// assert_eq!(VolumeNames::new("k8s_prod", None), Err(error));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeNamesError {
    /// Nothing would stand in front of the uid.
    #[error("the prefix of volume names is empty")]
    NoPrefix,
    /// No object can have a name that begins so: it takes lower-case letters,
    /// digits, dashes and dots, and at most 126 bytes.
    #[error("no volume's name can begin with `{prefix}-`")]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// All claims would have one name.
    #[error("volume names hold 0 characters of the uid")]
    NoUid,
}

impl Default for VolumeNames {
    fn default() -> Self {
        VolumeNames {
            prefix: "pvc".to_owned(),
            uid_length: None,
        }
    }
}

impl VolumeNames {
    /// Names of this prefix, made of so many characters of the uid, dashes left
    /// out; `None` for the uid as it is. By default `pvc` and `None`.
    ///
    /// # Errors
    /// A prefix with which no object can be named, or a length of 0.
    ///
    /// ```
    /// use pvbind::provisioner::{VolumeNames, VolumeNamesError};
    /// // --volume-name-prefix=k8s --volume-name-uuid-length=16
    /// let names = VolumeNames::new("k8s", Some(16))?;
    /// assert_eq!((names.prefix(), names.uid_length()), ("k8s", Some(16)));
    /// // The sidecar takes -1 for the whole uid, and 0 for none of it.
    /// assert_eq!(VolumeNames::new("pvc", Some(0)), Err(VolumeNamesError::NoUid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        prefix: impl Into<String>,
        uid_length: Option<usize>,
    ) -> Result<Self, VolumeNamesError> {
        let prefix = prefix.into();
        if prefix.is_empty() {
            return Err(VolumeNamesError::NoPrefix);
        }
        if !can_be_named(&format!("{prefix}-0")) {
            return Err(VolumeNamesError::Prefix { prefix });
        }
        if uid_length == Some(0) {
            return Err(VolumeNamesError::NoUid);
        }
        Ok(VolumeNames { prefix, uid_length })
    }

    /// The name of the volume for a claim.
    ///
    /// ```
    /// # use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::provisioner::VolumeNames;
    /// # let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::json!({
    /// #     "metadata": {"name": "data", "uid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427"}}))?;
    /// // The claim's name does not show in it, only its uid.
    /// let name = VolumeNames::default().name_for(&claim);
    /// assert_eq!(name, "pvc-1b4e28ba-2fa1-11d2-883f-0016d3cca427");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name_for(&self, claim: &PersistentVolumeClaim) -> String {
        let (prefix, uid) = (&self.prefix, claim.metadata.uid());
        match self.uid_length {
            None => format!("{prefix}-{uid}"),
            Some(length) => {
                let short: String = uid.chars().filter(|&c| c != '-').take(length).collect();
                format!("{prefix}-{short}")
            }
        }
    }

    /// What stands in front.
    ///
    /// ```
    /// use pvbind::provisioner::VolumeNames;
    /// assert_eq!(VolumeNames::default().prefix(), "pvc"); // without the dash
    /// ```
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Of how many characters of the uid a name is made; `None` for the uid as
    /// it is.
    ///
    /// ```
    /// use pvbind::provisioner::VolumeNames;
    /// // The whole uid, so that no two claims have one name.
    /// assert_eq!(VolumeNames::default().uid_length(), None);
    /// ```
    pub fn uid_length(&self) -> Option<usize> {
        self.uid_length
    }
}

/// Whether a driver can be asked for a volume of this name, and its object can
/// have it.
pub(super) fn can_be_named(name: &str) -> bool {
    is_object_name(name, LONGEST, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_uid_is_counted_without_its_dashes() {
        let claim = r#"{"metadata": {"uid": "1b-4e-28"}}"#;
        let claim: PersistentVolumeClaim = serde_json::from_str(claim).unwrap();
        let name = |length| VolumeNames::new("k", length).unwrap().name_for(&claim);
        assert_eq!(name(Some(3)), "k-1b4");
        assert_eq!(name(Some(6)), "k-1b4e28");
        assert_eq!(name(Some(usize::MAX)), "k-1b4e28");
        assert_eq!(name(None), "k-1b-4e-28");
    }

    #[test]
    fn names_that_no_object_can_have_are_refused_before_there_is_a_claim() {
        let refused = |prefix: &str, length| VolumeNames::new(prefix, length).unwrap_err();
        assert_eq!(refused("", None), VolumeNamesError::NoPrefix);
        assert_eq!(refused("pvc", Some(0)), VolumeNamesError::NoUid);
        let long = "a".repeat(127);
        for prefix in ["-a", "A", "a b", "a.", "a\u{7}", "é", &long] {
            let prefix = prefix.to_owned();
            assert_eq!(refused(&prefix, None), VolumeNamesError::Prefix { prefix });
        }
        for prefix in ["a", "9", "a-", "a.b", &"a".repeat(126)] {
            assert!(VolumeNames::new(prefix, Some(1)).is_ok(), "{prefix}");
        }
    }
}
