//! What is lost when a volume's object goes.

use super::Examination;
use crate::api::{ClaimKey, VolumePhase, names};
use crate::diagnosis::words::Name;
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The volume was deleted while a claim has it. A deletion cannot be taken
    /// back.
    pub(super) fn going(&self) -> Option<Finding> {
        let metadata = &self.volume.metadata;
        let reference = self.volume.claim_ref()?;
        if !metadata.is_being_deleted()
            || !self.is_phase(&VolumePhase::Bound)
            || reference.uid().is_empty()
        {
            return None;
        }
        let facts = VolumeFacts::Going {
            volume: self.volume.name().to_owned(),
            claim: ClaimKey::referred(reference),
            is_protected: metadata.has_finalizer(names::PV_PROTECTION_FINALIZER),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "copy the data to another claim while it can be read",
            format!("a deletion cannot be taken back{}", self.whereabouts()),
        )))
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
