//! Why a volume is as it is.

mod affinity;
mod driver;
mod going;
mod held;
mod keeper;
mod reclaim;
mod terminating;
mod unclaimed;
pub(super) use unclaimed::claim_again;
mod zone;

use serde_json::json;

use super::parts::is_tiny;
use super::words::meant_mode;
use super::{Diagnosis, Finding, Kind, ObjectName, Patch, Reclaim, Remedy, Survey, VolumeFacts};
use crate::api::{PersistentVolume, PersistentVolumeReclaimPolicy as Policy, VolumePhase};
use crate::view::DiagnosticView;

pub(super) fn diagnose<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Diagnosis {
    let examination = Examination { survey, volume };
    let mut findings: Vec<_> = examination.terminating().into_iter().collect();
    findings.extend(examination.access_mode_unknown());
    findings.extend(examination.unreachable());
    findings.extend(examination.held());
    findings.extend(examination.going());
    findings.extend(examination.source_gone());
    findings.extend(examination.local_anywhere());
    findings.extend(examination.driver_unknown());
    findings.extend(examination.handle_shared());
    findings.extend(examination.zone_elsewhere());
    findings.extend(examination.at_release());
    findings.extend(examination.recycle_deprecated());
    findings.extend(examination.unit_missing());
    survey.diagnosis(
        ObjectName::of(Kind::Volume, &volume.metadata),
        findings,
        || examination.not_available_yet(),
    )
}

/// What happens to a volume whose claim is gone.
pub(super) fn reclaim<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Reclaim {
    Examination { survey, volume }.reclaim()
}

/// That the data of a volume goes with its claim, which is gone or going.
pub(super) fn data_at_risk<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Option<Finding> {
    Examination { survey, volume }.data_at_risk()
}

/// That no node can reach a volume, the most telling reason last.
pub(super) fn unreachable<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Vec<Finding> {
    Examination { survey, volume }.unreachable()
}

/// That the driver of a volume is not installed.
pub(super) fn driver_unknown<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Option<Finding> {
    Examination { survey, volume }.driver_unknown()
}

/// That a volume was deleted while a claim has it.
pub(super) fn going<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Option<Finding> {
    Examination { survey, volume }.going()
}

/// That a volume which a claim is about to take is another claim's, whose
/// claimRef is gone.
pub(super) fn unclaimed<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    volume: &PersistentVolume,
) -> Option<Finding> {
    Examination { survey, volume }.unclaimed()
}

/// How a remedy begins that takes over a volume, and its patch: if the volume's
/// data is at risk, whoever deletes it may be faster.
pub(super) fn rescued(
    risk: Option<&Finding>,
    mut patch: serde_json::Value,
) -> (&'static str, serde_json::Value) {
    if risk.is_none() {
        return ("", patch);
    }
    let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
    crate::plan::apply_merge_patch(&mut patch, &retain);
    (
        "set its policy to Retain, lest it is deleted meanwhile, and ",
        patch,
    )
}

/// A volume that is being looked into.
struct Examination<'s, 'a, V: ?Sized> {
    survey: &'s Survey<'a, V>,
    volume: &'s PersistentVolume,
}

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The next sync makes it Available.
    fn not_available_yet(&self) -> Finding {
        let phase = self.volume.phase();
        let phase = phase.map(|phase| phase.to_string()).unwrap_or_default();
        VolumeFacts::New { phase }.into()
    }

    fn is_phase(&self, phase: &VolumePhase) -> bool {
        self.volume.phase() == Some(phase)
    }

    fn recycle_deprecated(&self) -> Option<Finding> {
        let policy = self.volume.reclaim_policy();
        if policy != Some(&Policy::Recycle) {
            return None;
        }
        let facts = VolumeFacts::RecycleDeprecated {
            source: self.volume.source().unwrap_or_default().to_owned(),
        };
        let remedy = Remedy::new(
            "set the policy to Retain, and have volumes made on demand instead",
            self.kept_at_release(),
        );
        let patch = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
        Some(Finding::from(facts).with(remedy.patching(self.patch(patch))))
    }

    fn access_mode_unknown(&self) -> Option<Finding> {
        let modes = self.volume.access_modes();
        let (mode, meant) = modes.iter().find_map(meant_mode)?;
        let facts = VolumeFacts::AccessModeUnknown {
            mode: mode.to_owned(),
            meant: meant.clone(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            format!("write `{meant}`"),
            "the API server refuses the volume until then",
        )))
    }

    fn unit_missing(&self) -> Option<Finding> {
        let has = self.volume.storage();
        is_tiny(has).then(|| {
            let facts = VolumeFacts::UnitMissing {
                volume: self.volume.name().to_owned(),
                has: has.clone(),
            };
            Finding::from(facts).with(Remedy::new(
                "write the volume's capacity with its unit, such as Gi",
                "nothing checks that the volume really is as large",
            ))
        })
    }

    fn patch(&self, patch: serde_json::Value) -> Patch {
        let metadata = &self.volume.metadata;
        Patch::of(ObjectName::of(Kind::Volume, metadata), metadata, patch)
    }
}
