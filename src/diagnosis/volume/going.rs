//! What is lost when a volume's object goes.

use super::Examination;
use crate::api::{VolumePhase, names};
use crate::diagnosis::words::Name;
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The volume was deleted while a claim has it. A deletion cannot be taken
    /// back.
    pub(super) fn going(&self) -> Option<Finding> {
        let is_going = self.volume.metadata.is_being_deleted();
        if !is_going || !self.is_phase(&VolumePhase::Bound) {
            return None;
        }
        let keeper = self.keeper().filter(|keeper| keeper.has_it)?;
        let facts = VolumeFacts::Going {
            volume: self.volume.name().to_owned(),
            claim: keeper.claim,
            is_protected: self.is_protected(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "copy the data to another claim while it can be read",
            format!("a deletion cannot be taken back{}", self.whereabouts()),
        )))
    }

    /// Whether a finalizer keeps the volume that is removed only after its claim
    /// is gone.
    fn is_protected(&self) -> bool {
        let metadata = &self.volume.metadata;
        let has = |finalizer: &str| metadata.has_finalizer(finalizer);
        if has(names::PV_PROTECTION_FINALIZER) {
            return true;
        }
        let removed = self.removed_by_sync();
        let stays = |finalizer: &str| has(finalizer) && !removed.iter().any(|one| one == finalizer);
        stays(names::PV_CONTROLLER_FINALIZER)
            || (stays(names::EXTERNAL_PROVISIONER_FINALIZER) && !self.is_let_go())
    }

    /// The object goes, and the data stays.
    pub(super) fn note_down(&self) -> Remedy {
        Remedy::new(
            "note down where the data is",
            format!(
                "the volume's object goes, its data stays in the backend, and nothing in the \
                 cluster knows of it then{}",
                self.whereabouts()
            ),
        )
    }

    /// Where the data is, as far as the object tells in one word.
    pub(super) fn whereabouts(&self) -> String {
        let csi = self.volume.spec.csi.as_ref();
        let handle = csi.and_then(|csi| csi.volume_handle.as_deref());
        match handle {
            Some(handle) if !handle.is_empty() => {
                let driver = csi.and_then(|csi| csi.driver.as_deref());
                let driver = driver.unwrap_or_default();
                format!(" (driver {}, volumeHandle {})", Name(driver), Name(handle))
            }
            _ => String::new(),
        }
    }
}
