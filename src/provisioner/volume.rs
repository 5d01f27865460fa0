//! Whether a volume is ours, its finalizer, and whether the backend's is to go.

use super::Config;
use crate::api::{PersistentVolume, PersistentVolumeReclaimPolicy as Policy, VolumePhase, names};
use crate::binding::{Edit, without_finalizer};

/// Why a volume is none of ours.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::provisioner::{Config, NotOurs, check_ours};
/// // The annotation goes before the source, even if that says `csi.example.com`.
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"annotations": {"pv.kubernetes.io/provisioned-by": "by-hand"}},
///     "spec": {"csi": {"driver": "csi.example.com", "volumeHandle": "vol-0a1b"}}}))?;
/// let provisioner = "by-hand".to_owned();
/// assert_eq!(
///     check_ours(&Config::new("csi.example.com"), &volume),
///     Err(NotOurs::MadeByAnother { provisioner })
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotOurs {
    /// It was made by another provisioner, and none of ours took over.
    #[error("the volume was made by `{provisioner}`")]
    MadeByAnother {
        /// Who.
        provisioner: String,
    },
    /// Nobody says who made it, and its CSI source is of another driver.
    #[error("the volume is of the driver `{driver}`")]
    OfAnotherDriver {
        /// Which.
        driver: String,
    },
    /// Nobody says who made it, it has no CSI source, and none of ours took
    /// over.
    #[error("nothing says that a CSI driver made the volume")]
    NotCsi,
}

impl NotOurs {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::NotOurs;
    /// let refusal = NotOurs::OfAnotherDriver { driver: "nfs.example.com".into() };
    /// assert_eq!(refusal.code(), "of-another-driver");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            NotOurs::MadeByAnother { .. } => "made-by-another",
            NotOurs::OfAnotherDriver { .. } => "of-another-driver",
            NotOurs::NotCsi => "not-csi",
        }
    }
}

/// Whether a volume is ours to delete.
///
/// With `pv.kubernetes.io/provisioned-by`, that name or the one in
/// `pv.kubernetes.io/migrated-to` must be one of ours; without, its CSI source
/// must be of one of our names, or, if it has none, migrated-to.
///
/// Follows `ownsVolume`/`isProvisionerForVolume` of
/// sig-storage-lib-external-provisioner 13.
///
/// # Errors
/// Whose it is instead.
///
/// # Cost
/// Two look-ups among the volume's annotations, and a comparison with each of our
/// names.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::provisioner::{Config, check_ours};
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"csi": {"driver": "disk.csi", "volumeHandle": "h-1"}}}"#)?;
/// assert_eq!(check_ours(&Config::new("disk.csi"), &volume), Ok(()));
/// let refusal = check_ours(&Config::new("file.csi"), &volume).unwrap_err();
/// assert_eq!(refusal.to_string(), "the volume is of the driver `disk.csi`");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_ours(config: &Config, volume: &PersistentVolume) -> Result<(), NotOurs> {
    let annotation = |key| volume.metadata.annotation(key);
    let is_ours = |name: Option<&str>| name.is_some_and(|name| config.answers_to(name));
    let made_by = annotation(names::PROVISIONED_BY);
    let taken_over = is_ours(annotation(names::MIGRATED_TO));
    match (made_by, &volume.spec.csi) {
        (Some(_), _) if is_ours(made_by) || taken_over => Ok(()),
        (Some(provisioner), _) => Err(NotOurs::MadeByAnother {
            provisioner: provisioner.to_owned(),
        }),
        (None, Some(csi)) if is_ours(csi.driver.as_deref()) => Ok(()),
        (None, Some(csi)) => Err(NotOurs::OfAnotherDriver {
            driver: csi.driver.clone().unwrap_or_default(),
        }),
        (None, None) if taken_over => Ok(()),
        (None, None) => Err(NotOurs::NotCsi),
    }
}

/// Why the backend's volume is not to be deleted.
///
/// The first rule that refuses is told, in the order of the variants.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::provisioner::{Config, Kept, check_deletable};
/// // `kubectl delete pv` deletes no data: without our finalizer the object just goes.
/// let volume: PersistentVolume = serde_json::from_value(serde_json::json!({
///     "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
///     "spec": {"persistentVolumeReclaimPolicy": "Delete"}, "status": {"phase": "Released"}}))?;
/// let refusal = check_deletable(&Config::new("csi.example.com"), &volume);
/// assert_eq!(refusal, Err(Kept::BeingDeleted));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Kept {
    /// The object is on its way out, and our finalizer is not there, or not in
    /// use: the backend's volume was deleted, or is not to be.
    #[error("the volume's object is being deleted without our finalizer")]
    BeingDeleted,
    /// It is not released.
    #[error("the volume's phase is `{phase}`, not `Released`")]
    NotReleased {
        /// Its phase, "" if it has none.
        phase: String,
    },
    /// Its policy is another.
    #[error("the volume's reclaim policy is `{policy}`, not `Delete`")]
    Policy {
        /// Its policy, "" if it has none.
        policy: String,
    },
}

impl Kept {
    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::Kept;
    /// let refusal = Kept::Policy { policy: "Retain".into() };
    /// assert_eq!(refusal.code(), "policy");
    /// assert_eq!(refusal.to_string(), "the volume's reclaim policy is `Retain`, not `Delete`");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Kept::BeingDeleted => "being-deleted",
            Kept::NotReleased { .. } => "not-released",
            Kept::Policy { .. } => "policy",
        }
    }
}

/// Whether the backend's volume is to be deleted, given that the volume
/// [is ours](check_ours).
///
/// Follows `shouldDelete` of sig-storage-lib-external-provisioner 13.
///
/// # Errors
/// The first [`Kept`] that stands against it.
///
/// # Cost
/// Linear in the number of the volume's finalizers.
///
/// ```
/// use pvbind::api::PersistentVolume;
/// use pvbind::provisioner::{Config, check_deletable};
/// let mut volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"persistentVolumeReclaimPolicy": "Delete"}, "status": {"phase": "Released"}}"#)?;
/// let config = Config::new("disk.csi");
/// assert_eq!(check_deletable(&config, &volume), Ok(()));
/// volume.status.phase = Some("Bound".into());
/// let refusal = check_deletable(&config, &volume).unwrap_err();
/// assert_eq!(refusal.to_string(), "the volume's phase is `Bound`, not `Released`");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn check_deletable(config: &Config, volume: &PersistentVolume) -> Result<(), Kept> {
    let metadata = &volume.metadata;
    let is_held =
        config.adds_finalizer && metadata.has_finalizer(names::EXTERNAL_PROVISIONER_FINALIZER);
    if metadata.is_being_deleted() && !is_held {
        return Err(Kept::BeingDeleted);
    }
    if volume.status.phase != Some(VolumePhase::Released) {
        let phase = volume.phase();
        return Err(Kept::NotReleased {
            phase: phase.map(ToString::to_string).unwrap_or_default(),
        });
    }
    match volume.reclaim_policy() {
        Some(Policy::Delete) => Ok(()),
        policy => Err(Kept::Policy {
            policy: policy.map(ToString::to_string).unwrap_or_default(),
        }),
    }
}

/// The finalizer that keeps an object until its backend volume is gone: added
/// to a bound volume that is to be deleted one day, taken from one that is not,
/// or if finalizers are not in use.
///
/// Follows `syncVolumeFinalizer` of sig-storage-lib-external-provisioner 13.
pub(super) fn finalizer_edit(config: &Config, volume: &PersistentVolume) -> Edit<PersistentVolume> {
    let finalizer = names::EXTERNAL_PROVISIONER_FINALIZER;
    let policy = volume.reclaim_policy();
    let is_unwanted =
        !config.adds_finalizer || matches!(policy, Some(Policy::Retain | Policy::Recycle));
    let has = volume.metadata.has_finalizer(finalizer);
    if is_unwanted {
        return without_finalizer(volume, finalizer);
    }
    let is_wanted = policy == Some(&Policy::Delete)
        && !volume.metadata.is_being_deleted()
        && volume.status.phase == Some(VolumePhase::Bound);
    if has || !is_wanted {
        return Edit::Unchanged;
    }
    let mut volume = volume.clone();
    volume.metadata.add_finalizer(finalizer);
    Edit::Changed(volume)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const FINALIZER: &str = names::EXTERNAL_PROVISIONER_FINALIZER;

    fn volume(phase: &str, policy: &str, finalizers: &[&str], deleted: bool) -> PersistentVolume {
        let deleted = deleted.then_some("2026-01-01T00:00:00Z");
        serde_json::from_value(json!({
            "metadata": {"name": "pv", "finalizers": finalizers, "deletionTimestamp": deleted},
            "spec": {"persistentVolumeReclaimPolicy": policy}, "status": {"phase": phase}}))
        .unwrap()
    }

    fn config(adds_finalizer: bool) -> Config {
        Config {
            adds_finalizer,
            ..Config::new("disk.csi")
        }
    }

    #[test]
    fn the_finalizer_stands_only_where_the_backend_volume_goes_one_day() {
        for (in_use, volume, expected) in [
            (
                true,
                volume("Bound", "Delete", &["x"], false),
                Some(vec!["x", FINALIZER]),
            ),
            (true, volume("Bound", "Delete", &[FINALIZER], false), None),
            (true, volume("Bound", "Delete", &[], true), None),
            (true, volume("Available", "Delete", &[], false), None),
            (
                true,
                volume("Bound", "Retain", &[FINALIZER, "x"], false),
                Some(vec!["x"]),
            ),
            (
                true,
                volume("Bound", "Recycle", &[FINALIZER], true),
                Some(vec![]),
            ),
            (true, volume("Bound", "Unheard", &[FINALIZER], false), None),
            (
                false,
                volume("Bound", "Delete", &[FINALIZER], false),
                Some(vec![]),
            ),
            (false, volume("Bound", "Delete", &[], false), None),
        ] {
            let edit = finalizer_edit(&config(in_use), &volume).changed();
            let found = edit.map(|edited| edited.metadata.finalizers.unwrap_or_default());
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect());
            assert_eq!(found, expected, "{volume:?}");
        }
    }

    #[test]
    fn only_a_released_volume_of_policy_delete_goes() {
        let refusal = |in_use, volume: &PersistentVolume| {
            let checked = check_deletable(&config(in_use), volume);
            checked.err().map(|refusal| refusal.code())
        };
        let released = |finalizers, deleted| volume("Released", "Delete", finalizers, deleted);
        assert_eq!(refusal(true, &released(&[], false)), None);
        assert_eq!(refusal(true, &released(&[FINALIZER], true)), None);
        assert_eq!(refusal(true, &released(&[], true)), Some("being-deleted"));
        assert_eq!(
            refusal(false, &released(&[FINALIZER], true)),
            Some("being-deleted")
        );
        let failed = volume("Failed", "Delete", &[], false);
        assert_eq!(refusal(true, &failed), Some("not-released"));
        let retained = volume("Released", "Retain", &[], false);
        assert_eq!(refusal(true, &retained), Some("policy"));
    }

    #[test]
    fn a_volume_is_ours_by_annotation_or_else_by_driver() {
        let mut config = config(true);
        config.additional_names.push("kubernetes.io/old".to_owned());
        for (made_by, migrated_to, driver, expected) in [
            (Some("disk.csi"), None, None, None),
            (Some("kubernetes.io/old"), None, Some("other"), None),
            (Some("other"), Some("disk.csi"), None, None),
            (
                Some("other"),
                None,
                Some("disk.csi"),
                Some("made-by-another"),
            ),
            (Some(""), None, Some("disk.csi"), Some("made-by-another")),
            (None, None, Some("disk.csi"), None),
            (
                None,
                Some("disk.csi"),
                Some("other"),
                Some("of-another-driver"),
            ),
            (None, Some("disk.csi"), None, None),
            (None, None, None, Some("not-csi")),
        ] {
            let csi = driver.map(|driver| json!({"driver": driver}));
            let mut volume: PersistentVolume =
                serde_json::from_value(json!({"spec": {"csi": csi}})).unwrap();
            for (key, value) in [
                (names::PROVISIONED_BY, made_by),
                (names::MIGRATED_TO, migrated_to),
            ] {
                if let Some(value) = value {
                    volume.metadata.set_annotation(key, value);
                }
            }
            let found = check_ours(&config, &volume)
                .err()
                .map(|refusal| refusal.code());
            assert_eq!(found, expected, "{volume:?}");
        }
    }
}
