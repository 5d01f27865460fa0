//! Whether some node reaches the volume of a claim.

use super::Examination;
use crate::api::PersistentVolume;
use crate::diagnosis::{ClaimFacts, Finding, volume};
use crate::matching::MatchReport;
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// No node reaches the claim's volume, or one that it could have.
    pub(super) fn volume_unreachable(
        &self,
        held: &PersistentVolume,
        is_bound: bool,
    ) -> Option<Finding> {
        let nearest = volume::unreachable(self.survey, held).pop()?;
        let facts = ClaimFacts::VolumeUnreachable {
            volume: held.name().to_owned(),
            is_bound,
            text: nearest.to_string(),
        };
        Some(Finding::from(facts).with_all(nearest.remedies))
    }

    /// Of the volumes that fit, all that are told are out of reach.
    pub(super) fn fitting_unreachable(&self, report: &MatchReport<'_>) -> Option<Finding> {
        let fitting = report.volumes.iter().filter(|one| one.refusals.is_empty());
        let mut findings = fitting.map(|one| self.volume_unreachable(one.volume, false));
        let first = findings.next()??;
        findings.all(|finding| finding.is_some()).then_some(first)
    }
}
