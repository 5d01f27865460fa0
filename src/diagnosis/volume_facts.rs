//! What can be found out about a volume.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::parts::{ClaimStop, Holder};
use super::words::{Cut, Name, NamesOf};
use crate::api::{AccessMode, ClaimKey};
use crate::quantity::Quantity;

/// What happens to a volume whose claim is gone.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
/// #          "status": {"phase": "Bound"},
/// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Delete",
/// #              "csi": {"driver": "csi.example.com", "volumeHandle": "vol-1"},
/// #              "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_volume;
/// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
/// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
/// use pvbind::diagnosis::{Facts, Reclaim, VolumeFacts};
/// // Its claim was deleted.
/// let Facts::Volume(VolumeFacts::ClaimGone { then, .. }) = &diagnosis.main().facts else { panic!() };
/// assert_eq!(*then, Reclaim::DeletedExternally("csi.example.com".into()));
/// assert_eq!(
///     then.to_string(),
///     "deleted with its data by external provisioner `csi.example.com`, if that runs"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reclaim {
    /// It is kept, with its data.
    Kept,
    /// An in-tree plugin deletes it, in the backend too.
    DeletedBy(String),
    /// An external provisioner deletes it, in the backend too.
    DeletedExternally(String),
    /// It is an external provisioner's to delete, which leaves it as it is.
    LeftExternally(String),
    /// An in-tree plugin deletes its files, and it is Available again.
    RecycledBy(String),
    /// The same, once pods that name the claim, though it is gone, are finished.
    RecycledAfter {
        /// The plugin.
        plugin: String,
        /// The pods, of many the first few.
        pods: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// It cannot be reclaimed: the controller's own text.
    Fails(String),
}

impl fmt::Display for Reclaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reclaim::Kept => f.write_str("kept, with its data"),
            Reclaim::DeletedBy(plugin) => {
                write!(f, "deleted with its data by plugin {}", Name(plugin))
            }
            Reclaim::DeletedExternally(driver) => write!(
                f,
                "deleted with its data by external provisioner {}, if that runs",
                Name(driver)
            ),
            Reclaim::LeftExternally(driver) if driver.is_empty() => {
                f.write_str("left as it is, with its data, as no provisioner made it")
            }
            Reclaim::LeftExternally(driver) => write!(
                f,
                "left as it is, with its data, by external provisioner {}",
                Name(driver)
            ),
            Reclaim::RecycledBy(plugin) => write!(
                f,
                "recycled by plugin {}: its files are deleted, and it is Available again",
                Name(plugin)
            ),
            Reclaim::RecycledAfter {
                plugin,
                pods,
                count,
            } => write!(
                f,
                "recycled by plugin {} once no unfinished pod names its claim ({}): its files are \
                 deleted then, and it is Available again",
                Name(plugin),
                NamesOf(pods, *count)
            ),
            Reclaim::Fails(message) => write!(f, "Failed: {}", Cut(message)),
        }
    }
}

facts! {
    /// What was found out about a volume. `Display` is the sentence.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain",
    /// #              "claimRef": {"namespace": "shop", "name": "dta"}}}
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_volume;
    /// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
    /// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
    /// use pvbind::diagnosis::{Facts, VolumeFacts};
    /// // A slip of the pen in the volume's claimRef.
    /// let Facts::Volume(VolumeFacts::ReservedForNobody { claim, similar }) = &diagnosis.main().facts
    /// else {
    ///     panic!()
    /// };
    /// assert_eq!((claim.to_string(), similar.len()), ("shop/dta".into(), 1));
    /// assert_eq!(similar[0], "shop/data");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum VolumeFacts {
        /// See [`Code::VolumeBound`](super::Code::VolumeBound).
        Bound: VolumeBound {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::VolumeBinding`](super::Code::VolumeBinding).
        Binding: VolumeBinding {
            /// The claim.
            claim: ClaimKey,
        },
        /// See [`Code::VolumeAvailable`](super::Code::VolumeAvailable).
        Available: VolumeAvailable {
            /// The volume's class, "" if none.
            class: String,
        },
        /// See [`Code::VolumeWanted`](super::Code::VolumeWanted).
        Wanted: VolumeWanted {
            /// Pending claims that it fits, of many the first few.
            claims: Vec<ClaimKey>,
            /// How many there are.
            count: usize,
            /// Those of its class that a rule stops, by rule.
            stopped: Vec<ClaimStop>,
        },
        /// See [`Code::VolumeNotTaken`](super::Code::VolumeNotTaken).
        NotTaken: VolumeNotTaken {
            /// The pending claims of its class, by the rule that stops them.
            stopped: Vec<ClaimStop>,
        },
        /// See [`Code::VolumeUnclaimed`](super::Code::VolumeUnclaimed).
        Unclaimed: VolumeUnclaimed {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// The claim that was bound to it.
            claim: ClaimKey,
            /// Pending claims that may take it first, of many the first few.
            rivals: Vec<ClaimKey>,
            /// How many there are.
            count: usize,
        },
        /// See [`Code::VolumeNew`](super::Code::VolumeNew).
        New: VolumeNew {
            /// The phase, "" if it has none.
            phase: String,
        },
        /// See [`Code::VolumeReserved`](super::Code::VolumeReserved).
        Reserved: VolumeReserved {
            /// The claim.
            claim: ClaimKey,
            /// What the claim's own main finding is.
            standing: String,
        },
        /// See [`Code::VolumeReservedForNobody`](super::Code::VolumeReservedForNobody).
        ReservedForNobody: VolumeReservedForNobody {
            /// The claim.
            claim: ClaimKey,
            /// Claims of the same name in other namespaces, then of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::VolumeReservationIncomplete`](super::Code::VolumeReservationIncomplete).
        ReservationIncomplete: VolumeReservationIncomplete {
            /// What the claimRef says.
            reference: ClaimKey,
            /// The claim that was surely meant, where there is one.
            meant: Option<ClaimKey>,
        },
        /// See [`Code::VolumeClaimElsewhere`](super::Code::VolumeClaimElsewhere).
        ClaimElsewhere: VolumeClaimElsewhere {
            /// The claim.
            claim: ClaimKey,
            /// The volume that it names.
            other: String,
            /// What the next sync does with this one.
            then: String,
        },
        /// See [`Code::VolumeClaimGone`](super::Code::VolumeClaimGone).
        ClaimGone: VolumeClaimGone {
            /// The claim.
            claim: ClaimKey,
            /// Its uid.
            uid: String,
            /// The uid of the claim of that name that there is now.
            now: Option<String>,
            /// What follows.
            then: Reclaim,
        },
        /// See [`Code::VolumeModeMismatch`](super::Code::VolumeModeMismatch).
        ModeMismatch: VolumeModeMismatch {
            /// The claim.
            claim: ClaimKey,
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeReleased`](super::Code::VolumeReleased).
        Released: VolumeReleased {
            /// The claim that it belonged to.
            claim: ClaimKey,
            /// That claim's uid.
            uid: String,
            /// Whether the volume is being deleted, so that no search finds it again.
            is_going: bool,
        },
        /// See [`Code::VolumeReclaiming`](super::Code::VolumeReclaiming).
        Reclaiming: VolumeReclaiming {
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeReclaimFails`](super::Code::VolumeReclaimFails).
        ReclaimFails: VolumeReclaimFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeFailed`](super::Code::VolumeFailed).
        Failed: VolumeFailed {
            /// What its status says.
            message: String,
            /// What the next sync tries.
            retry: Reclaim,
        },
        /// See [`Code::VolumeFailedKept`](super::Code::VolumeFailedKept).
        FailedKept: VolumeFailedKept {
            /// What its status says.
            message: String,
            /// Whether the volume is being deleted, so that no search finds it again.
            is_going: bool,
        },
        /// See [`Code::VolumeAtRelease`](super::Code::VolumeAtRelease).
        AtRelease: VolumeAtRelease {
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeReleaseFails`](super::Code::VolumeReleaseFails).
        ReleaseFails: VolumeReleaseFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::VolumeTerminating`](super::Code::VolumeTerminating).
        Terminating: VolumeTerminating {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::VolumeTerminatingStuck`](super::Code::VolumeTerminatingStuck).
        TerminatingStuck: VolumeTerminatingStuck {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::VolumeGoing`](super::Code::VolumeGoing).
        Going: VolumeGoing {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// The claim.
            claim: ClaimKey,
            /// Whether a finalizer keeps it as long as the claim is there.
            is_protected: bool,
        },
        /// See [`Code::VolumeUnreachable`](super::Code::VolumeUnreachable).
        Unreachable: VolumeUnreachable {
            /// How many nodes were looked at.
            nodes: usize,
            /// Why one of them cannot reach it, term by term.
            example: Vec<String>,
            /// The label that it asks for, where it is one, and the values that nodes
            /// have of it, of many the first few.
            there_are: Option<(String, Vec<String>)>,
            /// The node that has its data, where it is a node that is gone.
            lost_node: Option<String>,
        },
        /// See [`Code::VolumeAffinityNodeName`](super::Code::VolumeAffinityNodeName).
        AffinityNodeName: VolumeAffinityNodeName {
            /// The label that is asked for.
            label: String,
            /// The name of a node that is asked for as its value.
            node: String,
            /// The value that the node's label has; `None` if it has none.
            has: Option<String>,
        },
        /// See [`Code::VolumeAffinityOldLabel`](super::Code::VolumeAffinityOldLabel).
        AffinityOldLabel: VolumeAffinityOldLabel {
            /// The label that is asked for.
            old: String,
            /// The label that nodes carry.
            new: String,
            /// How many nodes carry it with a value that is asked for.
            nodes: usize,
        },
        /// See [`Code::VolumeDriverUnknown`](super::Code::VolumeDriverUnknown).
        DriverUnknown: VolumeDriverUnknown {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// The driver.
            driver: String,
        },
        /// See [`Code::VolumeLocalAnywhere`](super::Code::VolumeLocalAnywhere).
        LocalAnywhere: VolumeLocalAnywhere {
            /// The volume.
            volume: String,
        },
        /// See [`Code::VolumeSourceGone`](super::Code::VolumeSourceGone).
        SourceGone: VolumeSourceGone {
            /// The source.
            source: String,
            /// The version of Kubernetes that no longer has its plugin.
            since: String,
        },
        /// See [`Code::VolumeHandleShared`](super::Code::VolumeHandleShared).
        HandleShared: VolumeHandleShared {
            /// The driver.
            driver: String,
            /// The handle.
            handle: String,
            /// The other volumes.
            others: Vec<String>,
        },
        /// See [`Code::VolumeZoneElsewhere`](super::Code::VolumeZoneElsewhere).
        ZoneElsewhere: VolumeZoneElsewhere {
            /// The labels for zone and region, with their values.
            labels: BTreeMap<String, String>,
            /// How many nodes were looked at.
            nodes: usize,
            /// The one of the labels that the fewest nodes satisfy.
            label: String,
            /// The values that nodes have of that one, of many the first few.
            there_are: Vec<String>,
        },
        /// See [`Code::VolumeAccessModeUnknown`](super::Code::VolumeAccessModeUnknown).
        AccessModeUnknown: VolumeAccessModeUnknown {
            /// What it lists.
            mode: String,
            /// What was surely meant.
            meant: AccessMode,
        },
        /// See [`Code::VolumeDataAtRisk`](super::Code::VolumeDataAtRisk).
        DataAtRisk: VolumeDataAtRisk {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// What happens to it.
            then: Reclaim,
        },
        /// See [`Code::VolumeRecycleDeprecated`](super::Code::VolumeRecycleDeprecated).
        RecycleDeprecated: VolumeRecycleDeprecated {
            /// The volume's source, "" if it has none that is known.
            source: String,
        },
        /// See [`Code::VolumeUnitMissing`](super::Code::VolumeUnitMissing).
        UnitMissing: VolumeUnitMissing {
            /// The volume, which may be a note to a claim.
            volume: String,
            /// Its size.
            has: Quantity,
        },
    }

    /// The code that the facts belong to.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Bound"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Delete",
    /// #              "csi": {"driver": "csi.example.com", "volumeHandle": "vol-1"},
    /// #              "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_volume;
    /// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
    /// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
    /// use pvbind::diagnosis::{Code, Facts};
    /// // `findings` hold facts of volumes among those of claims and pods, too.
    /// let at_risk = diagnosis.finding(Code::VolumeDataAtRisk).ok_or("not at risk")?;
    /// let Facts::Volume(facts) = &at_risk.facts else { panic!() };
    /// assert_eq!(facts.code(), Code::VolumeDataAtRisk);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn code;
}
