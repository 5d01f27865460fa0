//! What can be found out about a claim.

use serde::Serialize;

use super::parts::{Counted, Holder, Miss, PodStanding, Rule};
use crate::api::{AccessMode, ClaimKey, VolumeMode};
use crate::quantity::Quantity;

facts! {
    /// What was found out about a claim. `Display` is the sentence.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// use pvbind::diagnosis::{ClaimFacts, Facts};
    /// let Facts::Claim(ClaimFacts::WouldBind { volume, size, asked }) = &diagnosis.main().facts else {
    ///     panic!()
    /// };
    /// assert_eq!(volume, "pv-1");
    /// assert_eq!((size.to_string(), asked.to_string()), ("8Gi".into(), "5Gi".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub enum ClaimFacts {
        /// See [`Code::ClaimBound`](super::Code::ClaimBound).
        Bound: ClaimBound {
            /// The volume.
            volume: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What it was given.
            granted: Quantity,
            /// By how much the volume is larger; zero if it is not.
            surplus: Quantity,
            /// The access modes that it asks for.
            asked_modes: Vec<AccessMode>,
            /// Those of the volume.
            modes: Vec<AccessMode>,
            /// Whether it is a file system or a raw device.
            volume_mode: VolumeMode,
        },
        /// See [`Code::ClaimVolumeUnclaimed`](super::Code::ClaimVolumeUnclaimed).
        VolumeUnclaimed: ClaimVolumeUnclaimed {
            /// The volume.
            volume: String,
            /// Pending claims that may take it first, of many the first few.
            rivals: Vec<ClaimKey>,
            /// How many there are.
            count: usize,
        },
        /// See [`Code::ClaimVolumeUnreachable`](super::Code::ClaimVolumeUnreachable).
        VolumeUnreachable: ClaimVolumeUnreachable {
            /// The volume.
            volume: String,
            /// Whether the claim is bound to it; if not, it fits.
            is_bound: bool,
            /// What is said of the volume.
            text: String,
        },
        /// See [`Code::ClaimCompetes`](super::Code::ClaimCompetes).
        Competes: ClaimCompetes {
            /// The volume.
            volume: String,
            /// The other claims that may take it, of many the first few.
            rivals: Vec<ClaimKey>,
            /// How many there are.
            count: usize,
            /// How many volumes fit this one.
            fitting: usize,
        },
        /// See [`Code::ClaimWouldBind`](super::Code::ClaimWouldBind).
        WouldBind: ClaimWouldBind {
            /// The volume.
            volume: String,
            /// Its size.
            size: Quantity,
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimResizePending`](super::Code::ClaimResizePending).
        ResizePending: ClaimResizePending {
            /// The volume.
            volume: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What its status says that it has.
            granted: Quantity,
            /// The volume's size.
            volume_size: Quantity,
            /// Whether the volume is as large already, so that only its file
            /// system is still to grow.
            only_file_system: bool,
            /// Whether the class allows it; `None` if the class is not known.
            class_allows: Option<bool>,
        },
        /// See [`Code::ClaimResizeNotAllowed`](super::Code::ClaimResizeNotAllowed).
        ResizeNotAllowed: ClaimResizeNotAllowed {
            /// The volume.
            volume: String,
            /// The class.
            class: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What its status says that it has.
            granted: Quantity,
        },
        /// See [`Code::ClaimResizeInfeasible`](super::Code::ClaimResizeInfeasible).
        ResizeInfeasible: ClaimResizeInfeasible {
            /// The volume.
            volume: String,
            /// What the claim asks for.
            asked: Quantity,
            /// What its status says that it has.
            granted: Quantity,
            /// What the driver answered, by the claim's status; "" if there is no
            /// driver that could.
            status: String,
            /// The volume's source.
            source: String,
        },
        /// See [`Code::ClaimModifyInfeasible`](super::Code::ClaimModifyInfeasible).
        ModifyInfeasible: ClaimModifyInfeasible {
            /// The VolumeAttributesClass that the claim asks for.
            asked: String,
            /// That of the volume, "" if none.
            current: String,
        },
        /// See [`Code::ClaimNoVolumeFits`](super::Code::ClaimNoVolumeFits).
        NoVolumeFits: ClaimNoVolumeFits {
            /// The sentence of the [`MatchReport`](crate::matching::MatchReport)
            /// on all volumes.
            summary: String,
            /// How many volumes are refused, by main reason; in the order of the
            /// rules that [`Summary`](crate::matching::Summary) has, not of the
            /// counts.
            refused: Vec<Counted>,
            /// The volumes that miss by least.
            nearest: Vec<Miss>,
        },
        /// See [`Code::ClaimDecimalAgainstBinary`](super::Code::ClaimDecimalAgainstBinary).
        DecimalAgainstBinary: ClaimDecimalAgainstBinary {
            /// The volume.
            volume: String,
            /// Its size.
            has: Quantity,
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimUnitMissing`](super::Code::ClaimUnitMissing).
        UnitMissing: ClaimUnitMissing {
            /// What the claim asks for.
            asked: Quantity,
        },
        /// See [`Code::ClaimAccessModeUnknown`](super::Code::ClaimAccessModeUnknown).
        AccessModeUnknown: ClaimAccessModeUnknown {
            /// What it lists.
            mode: String,
            /// What was surely meant.
            meant: AccessMode,
        },
        /// See [`Code::ClaimSelectorInvalid`](super::Code::ClaimSelectorInvalid).
        SelectorInvalid: ClaimSelectorInvalid {
            /// Where it is wrong, and how.
            mistake: String,
        },
        /// See [`Code::ClaimAttributesClassDisabled`](super::Code::ClaimAttributesClassDisabled).
        AttributesClassDisabled: ClaimAttributesClassDisabled {
            /// The VolumeAttributesClass.
            name: String,
        },
        /// See [`Code::ClaimClassEmpty`](super::Code::ClaimClassEmpty).
        ClassEmpty: ClaimClassEmpty {
            /// How many volumes have no class.
            volumes: usize,
        },
        /// See [`Code::ClaimClassUnset`](super::Code::ClaimClassUnset).
        ClassUnset: ClaimClassUnset {
            /// The classes that there are, of many the first few.
            classes: Vec<String>,
        },
        /// See [`Code::ClaimDefaultClassRefused`](super::Code::ClaimDefaultClassRefused).
        DefaultClassRefused: ClaimDefaultClassRefused {
            /// The default class.
            class: String,
            /// How many volumes have no class.
            volumes: usize,
        },
        /// See [`Code::ClaimDefaultClass`](super::Code::ClaimDefaultClass).
        DefaultClass: ClaimDefaultClass {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimDefaultClassAmbiguous`](super::Code::ClaimDefaultClassAmbiguous).
        DefaultClassAmbiguous: ClaimDefaultClassAmbiguous {
            /// The class that counts.
            class: String,
            /// How many classes are marked.
            count: usize,
            /// The others, of many the first few.
            others: Vec<String>,
            /// Whether it counts because it is newer than all others; if not,
            /// by its name.
            is_newest: bool,
        },
        /// See [`Code::ClaimClassAnnotation`](super::Code::ClaimClassAnnotation).
        ClassAnnotation: ClaimClassAnnotation {
            /// The class of the annotation, which counts.
            annotation: String,
            /// That of the field.
            field: String,
        },
        /// See [`Code::ClaimClassMissing`](super::Code::ClaimClassMissing).
        ClassMissing: ClaimClassMissing {
            /// The class.
            class: String,
            /// Classes of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::ClaimNoProvisioner`](super::Code::ClaimNoProvisioner).
        NoProvisioner: ClaimNoProvisioner {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimProvisionerGone`](super::Code::ClaimProvisionerGone).
        ProvisionerGone: ClaimProvisionerGone {
            /// The class.
            class: String,
            /// The provisioner.
            provisioner: String,
            /// The CSI driver that took its place, where there is one.
            successor: Option<String>,
        },
        /// See [`Code::ClaimNoBindingMode`](super::Code::ClaimNoBindingMode).
        NoBindingMode: ClaimNoBindingMode {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimWaitsForConsumer`](super::Code::ClaimWaitsForConsumer).
        WaitsForConsumer: ClaimWaitsForConsumer {
            /// The class.
            class: String,
            /// A volume that is too small by a slip of the pen.
            slip: Option<Miss>,
        },
        /// See [`Code::ClaimWaitsForPods`](super::Code::ClaimWaitsForPods).
        WaitsForPods: ClaimWaitsForPods {
            /// The pods, of many the first few.
            pods: Vec<PodStanding>,
            /// How many pods there are.
            count: usize,
            /// A volume that is too small by a slip of the pen.
            slip: Option<Miss>,
        },
        /// See [`Code::ClaimPodsUnschedulable`](super::Code::ClaimPodsUnschedulable).
        PodsUnschedulable: ClaimPodsUnschedulable {
            /// The pods, of many the first few.
            pods: Vec<PodStanding>,
            /// How many pods there are.
            count: usize,
            /// A volume that is too small by a slip of the pen.
            slip: Option<Miss>,
        },
        /// See [`Code::ClaimPodBypassedScheduler`](super::Code::ClaimPodBypassedScheduler).
        PodBypassedScheduler: ClaimPodBypassedScheduler {
            /// The pod.
            pod: String,
            /// Its node.
            node: String,
        },
        /// See [`Code::ClaimPodOtherScheduler`](super::Code::ClaimPodOtherScheduler).
        PodOtherScheduler: ClaimPodOtherScheduler {
            /// The pod.
            pod: String,
            /// Its scheduler.
            scheduler: String,
        },
        /// See [`Code::ClaimSelectedNodeGone`](super::Code::ClaimSelectedNodeGone).
        SelectedNodeGone: ClaimSelectedNodeGone {
            /// The node.
            node: String,
        },
        /// See [`Code::ClaimSelectedNodeBlocks`](super::Code::ClaimSelectedNodeBlocks).
        SelectedNodeBlocks: ClaimSelectedNodeBlocks {
            /// The node.
            node: String,
            /// The class.
            class: String,
            /// The volume that would fit best, were no node selected.
            volume: Option<String>,
        },
        /// See [`Code::ClaimNamesVolumeDelayed`](super::Code::ClaimNamesVolumeDelayed).
        NamesVolumeDelayed: ClaimNamesVolumeDelayed {
            /// The volume.
            volume: String,
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimWaitsForProvisioner`](super::Code::ClaimWaitsForProvisioner).
        WaitsForProvisioner: ClaimWaitsForProvisioner {
            /// The CSI driver, other provisioner or in-tree plugin.
            provisioner: String,
            /// Whether it is an in-tree plugin.
            is_in_tree: bool,
            /// The node that was selected.
            node: Option<String>,
        },
        /// See [`Code::ClaimProvisioningFails`](super::Code::ClaimProvisioningFails).
        ProvisioningFails: ClaimProvisioningFails {
            /// The controller's own text.
            message: String,
        },
        /// See [`Code::ClaimDriverUnknown`](super::Code::ClaimDriverUnknown).
        DriverUnknown: ClaimDriverUnknown {
            /// The driver.
            driver: String,
        },
        /// See [`Code::ClaimSelectorRefused`](super::Code::ClaimSelectorRefused).
        SelectorRefused: ClaimSelectorRefused {
            /// The provisioner.
            provisioner: String,
            /// Whether the selector has no entries, and is refused all the same.
            is_empty: bool,
        },
        /// See [`Code::ClaimTopologyMismatch`](super::Code::ClaimTopologyMismatch).
        TopologyMismatch: ClaimTopologyMismatch {
            /// The provisioner.
            provisioner: String,
            /// The node that was selected.
            node: String,
            /// The provisioner's own text.
            message: String,
        },
        /// See [`Code::ClaimRequestRefused`](super::Code::ClaimRequestRefused).
        RequestRefused: ClaimRequestRefused {
            /// The provisioner.
            provisioner: String,
            /// What it refuses: see
            /// [`RequestError::code`](crate::provisioner::RequestError::code).
            reason: String,
            /// The provisioner's own text.
            message: String,
        },
        /// See [`Code::ClaimInfeasible`](super::Code::ClaimInfeasible).
        Infeasible: ClaimInfeasible {
            /// The provisioner.
            provisioner: String,
            /// What the driver said.
            message: String,
        },
        /// See [`Code::ClaimDriverFails`](super::Code::ClaimDriverFails).
        DriverFails: ClaimDriverFails {
            /// The provisioner.
            provisioner: String,
            /// What the driver said.
            message: String,
        },
        /// See [`Code::ClaimMadeVolumeUnusable`](super::Code::ClaimMadeVolumeUnusable).
        MadeVolumeUnusable: ClaimMadeVolumeUnusable {
            /// The volume.
            volume: String,
            /// Every rule that refuses; none if the volume only is not reserved
            /// for the claim.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimWaitsForPopulator`](super::Code::ClaimWaitsForPopulator).
        WaitsForPopulator: ClaimWaitsForPopulator {
            /// The kind of the data source, with its group.
            data_source_kind: String,
            /// Its name.
            data_source: String,
        },
        /// See [`Code::ClaimTopologyUnsatisfied`](super::Code::ClaimTopologyUnsatisfied).
        TopologyUnsatisfied: ClaimTopologyUnsatisfied {
            /// The class.
            class: String,
            /// How many nodes were looked at.
            nodes: usize,
            /// Why one of them is not allowed, term by term.
            example: Vec<String>,
            /// The label that they ask for, where it is one, and its values on
            /// nodes, of many the first few.
            there_are: Option<(String, Vec<String>)>,
        },
        /// See [`Code::ClaimNoCapacityPool`](super::Code::ClaimNoCapacityPool).
        NoCapacityPool: ClaimNoCapacityPool {
            /// The class.
            class: String,
            /// The driver.
            driver: String,
            /// What the claim asks for.
            asked: Quantity,
            /// How many pools there are.
            pools: usize,
            /// The largest volume that one of them has room for.
            largest: Option<Quantity>,
        },
        /// See [`Code::ClaimProvisioningOff`](super::Code::ClaimProvisioningOff).
        ProvisioningOff: ClaimProvisioningOff {
            /// The class.
            class: String,
        },
        /// See [`Code::ClaimNamesMissingVolume`](super::Code::ClaimNamesMissingVolume).
        NamesMissingVolume: ClaimNamesMissingVolume {
            /// The volume.
            volume: String,
            /// Volumes of similar names.
            similar: Vec<String>,
        },
        /// See [`Code::ClaimNamesTakenVolume`](super::Code::ClaimNamesTakenVolume).
        NamesTakenVolume: ClaimNamesTakenVolume {
            /// The volume's phase, "" if it has none.
            phase: String,
            /// The volume.
            volume: String,
            /// The claim that it is bound to or reserved for.
            owner: ClaimKey,
            /// That claim's uid; empty if the volume is only reserved.
            owner_uid: String,
            /// Whether that claim is known to be there.
            has_owner: bool,
            /// Whether the owner is an earlier claim of the same name.
            is_earlier: bool,
            /// Whether the controller once chose the volume for this claim.
            was_chosen: bool,
        },
        /// See [`Code::ClaimNamesMismatchedVolume`](super::Code::ClaimNamesMismatchedVolume).
        NamesMismatchedVolume: ClaimNamesMismatchedVolume {
            /// The volume.
            volume: String,
            /// The controller's own text.
            message: String,
            /// Every rule that refuses, the one of the text first.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimNeverProvisioned`](super::Code::ClaimNeverProvisioned).
        NeverProvisioned: ClaimNeverProvisioned {
            /// The volume that it names.
            volume: String,
            /// Its class.
            class: String,
        },
        /// See [`Code::ClaimReservedUnusable`](super::Code::ClaimReservedUnusable).
        ReservedUnusable: ClaimReservedUnusable {
            /// The volume.
            volume: String,
            /// Every rule that refuses.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimReservedPassedOver`](super::Code::ClaimReservedPassedOver).
        ReservedPassedOver: ClaimReservedPassedOver {
            /// The volume that is reserved.
            volume: String,
            /// Its access modes.
            modes: Vec<AccessMode>,
            /// The volume that is taken.
            taken: String,
            /// Its access modes.
            taken_modes: Vec<AccessMode>,
        },
        /// See [`Code::ClaimReservationIncomplete`](super::Code::ClaimReservationIncomplete).
        ReservationIncomplete: ClaimReservationIncomplete {
            /// The volume.
            volume: String,
            /// What its claimRef says.
            reference: ClaimKey,
            /// Every rule that refuses the volume all the same.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimReleasedByEarlier`](super::Code::ClaimReleasedByEarlier).
        ReleasedByEarlier: ClaimReleasedByEarlier {
            /// The volume.
            volume: String,
            /// Its phase.
            phase: String,
            /// The uid of the earlier claim.
            earlier_uid: String,
            /// The uid of this claim.
            uid: String,
        },
        /// See [`Code::ClaimEarlierVolume`](super::Code::ClaimEarlierVolume).
        EarlierVolume: ClaimEarlierVolume {
            /// The volume.
            volume: String,
            /// Its phase, "" if it has none.
            phase: String,
            /// The uid of the earlier claim.
            earlier_uid: String,
            /// Every rule that refuses the volume even if it is reserved for this
            /// claim.
            rules: Vec<Rule>,
        },
        /// See [`Code::ClaimLostVolumeName`](super::Code::ClaimLostVolumeName).
        LostVolumeName: ClaimLostVolumeName {
            /// The volumes whose claimRef has its uid.
            volumes: Vec<String>,
        },
        /// See [`Code::ClaimLostVolume`](super::Code::ClaimLostVolume).
        LostVolume: ClaimLostVolume {
            /// The volume.
            volume: String,
            /// Whether it was looked for; if not, the claim's status says it.
            is_known: bool,
        },
        /// See [`Code::ClaimMisbound`](super::Code::ClaimMisbound).
        Misbound: ClaimMisbound {
            /// The volume.
            volume: String,
            /// The claim that it belongs to.
            owner: ClaimKey,
            /// That claim's uid; empty if the volume is only reserved.
            owner_uid: String,
        },
        /// See [`Code::ClaimVolumeWithoutCapacity`](super::Code::ClaimVolumeWithoutCapacity).
        VolumeWithoutCapacity: ClaimVolumeWithoutCapacity {
            /// The volume.
            volume: String,
        },
        /// See [`Code::ClaimDataSourceIgnored`](super::Code::ClaimDataSourceIgnored).
        DataSourceIgnored: ClaimDataSourceIgnored {
            /// The source, `KIND NAME`.
            source: String,
            /// The volume that it takes.
            volume: String,
        },
        /// See [`Code::ClaimBindingImported`](super::Code::ClaimBindingImported).
        BindingImported: ClaimBindingImported {
            /// The annotations.
            annotations: Vec<String>,
            /// The volume that it names, "" if none.
            volume: String,
        },
        /// See [`Code::ClaimTerminating`](super::Code::ClaimTerminating).
        Terminating: ClaimTerminating {
            /// Who holds each finalizer.
            holders: Vec<Holder>,
        },
        /// See [`Code::ClaimNotKnown`](super::Code::ClaimNotKnown).
        NotKnown: ClaimNotKnown {
            /// What is not known: `classes`, `volumes`, `pods`.
            what: String,
            /// The object that the answer depends on, "" if none in particular.
            name: String,
        },
    }

    /// The code that the facts belong to.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "Immediate"}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// use pvbind::diagnosis::{ClaimFacts, Code, Facts};
    /// let Facts::Claim(facts) = &diagnosis.main().facts else { panic!() };
    /// // The variant is called as the code is, without its kind.
    /// assert!(matches!(facts, ClaimFacts::ClassMissing { .. }));
    /// assert_eq!(facts.code(), Code::ClaimClassMissing);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn code;
}
