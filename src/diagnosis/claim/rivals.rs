//! Claims that are after the same volume.

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume};
use crate::diagnosis::{ClaimFacts, Facts, Finding, VolumeFacts, volume};
use crate::view::DiagnosticView;

/// So many are told by name.
const TOLD: usize = 5;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The claim was bound to a volume whose claimRef is gone, so that any other
    /// claim may take it.
    pub(super) fn volume_unclaimed(&self, volume: &PersistentVolume) -> Option<Finding> {
        if volume.claim_ref().is_some() {
            return None;
        }
        let (rivals, count) = self.rivals(volume);
        let facts = ClaimFacts::VolumeUnclaimed {
            volume: volume.name().to_owned(),
            rivals,
            count,
        };
        let owners = self.survey.naming().owners(volume.name());
        Some(Finding::from(facts).with(volume::claim_again(volume, self.claim, owners)))
    }

    /// More claims are after the volume than there are volumes for this one:
    /// whichever is synced first gets it.
    pub(super) fn competes(&self, volume: &PersistentVolume) -> Option<Finding> {
        // Nobody else takes a volume that is reserved.
        if volume.claim_ref().is_some() {
            return None;
        }
        let (rivals, count) = self.rivals(volume);
        if count == 0 {
            return None;
        }
        let fitting = match self.claim.volume_name() {
            "" => self.report().1.fitting,
            _ => 1,
        };
        let facts = ClaimFacts::Competes {
            volume: volume.name().to_owned(),
            rivals,
            count,
            fitting,
        };
        (count >= fitting).then(|| facts.into())
    }

    /// The other pending claims that may take a free volume, the first few, and
    /// how many there are.
    fn rivals(&self, volume: &PersistentVolume) -> (Vec<ClaimKey>, usize) {
        let own = ClaimKey::of(self.claim);
        let offers = self.survey.offers(volume);
        let of_view = self.survey.view.claim(&own.namespace, &own.name);
        let is_counted = of_view.is_some_and(|claim| {
            let is_after_it =
                self.survey.is_searched_for(&claim) || claim.volume_name() == volume.name();
            is_after_it && !claim.is_bind_completed() && claim.class_name() == volume.class_name()
        });
        let count = offers.count.saturating_sub(usize::from(is_counted));
        let others = offers.fitting.iter().filter(|claim| **claim != own);
        let rivals = others.take(TOLD.min(count)).cloned().collect();
        (rivals, count)
    }

    /// Whether another claim is bound to the volume by its uid, which counts
    /// whatever name the claimRef says.
    pub(super) fn is_bound_elsewhere(&self, volume: &PersistentVolume) -> bool {
        let own = ClaimKey::of(self.claim);
        let uid = volume.claim_ref().map(|reference| reference.uid());
        let uid = uid.unwrap_or_default();
        let owners = self.survey.naming().owners(volume.name()).iter();
        let mut others = owners.filter(|owner| **owner != own);
        !uid.is_empty()
            && others.any(|owner| {
                let claim = self.survey.view.claim(&owner.namespace, &owner.name);
                claim.is_some_and(|claim| claim.metadata.uid() == uid)
            })
    }

    /// The volume that the claim is about to take is another claim's.
    pub(super) fn takes_from_another(&self, held: &PersistentVolume) -> Option<Finding> {
        let finding = volume::unclaimed(self.survey, held)?;
        match &finding.facts {
            Facts::Volume(VolumeFacts::Unclaimed { claim, .. })
                if *claim != ClaimKey::of(self.claim) =>
            {
                Some(finding)
            }
            _ => None,
        }
    }
}
