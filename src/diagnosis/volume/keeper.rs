//! Whether a claim keeps a volume, or will have it.

use super::Examination;
use crate::api::{ClaimKey, PersistentVolume, PersistentVolumeClaim, VolumePhase};
use crate::controller::{sync_claim, sync_volume};
use crate::plan::{Step, Write};
use crate::view::{DiagnosticView, Held};

/// A claim that keeps a volume from being released as long as it is there.
pub(super) struct Keeper {
    pub(super) claim: ClaimKey,
    /// Whether it has the volume's data.
    pub(super) has_it: bool,
}

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The claim of the volume's claimRef, uid and all, if that names this volume
    /// or none. Where claims are not known, what is Bound is taken to have one.
    pub(super) fn keeper(&self) -> Option<Keeper> {
        let reference = self.volume.claim_ref()?;
        if reference.uid().is_empty() {
            return None;
        }
        let claim = ClaimKey::referred(reference);
        let survey = self.survey;
        // A claim that was bound to the volume is known by its uid alone.
        let mut owners = survey.naming().owners(self.volume.name()).iter();
        let owner = owners.find(|owner| {
            let claim = survey.view.claim(&owner.namespace, &owner.name);
            claim.is_some_and(|claim| claim.metadata.uid() == reference.uid())
        });
        if let Some(claim) = owner.cloned() {
            return Some(Keeper {
                claim,
                has_it: true,
            });
        }
        match survey.view.claim(&claim.namespace, &claim.name) {
            Some(found) => {
                let named = found.volume_name();
                let has_it = named == self.volume.name();
                let is_own = found.metadata.uid() == reference.uid();
                (is_own && (has_it || named.is_empty())).then_some(Keeper { claim, has_it })
            }
            None => {
                let is_unknown = !survey.known.has_claims_of(&claim.namespace);
                let has_it = true;
                (is_unknown && self.is_phase(&VolumePhase::Bound))
                    .then_some(Keeper { claim, has_it })
            }
        }
    }

    /// Whether the volume had a claim that is not there any more, as far as is
    /// known.
    pub(super) fn is_claim_gone(&self) -> bool {
        let reference = self.volume.claim_ref();
        let reference = reference.filter(|reference| !reference.uid().is_empty());
        reference.is_some_and(|reference| {
            let (namespace, view) = (reference.namespace(), self.survey.view);
            match view.claim(namespace, reference.name()) {
                Some(claim) => claim.metadata.uid() != reference.uid(),
                None => self.survey.known.has_claims_of(namespace),
            }
        })
    }

    /// Whether the volume's claim releases it, sooner or later. A volume that is
    /// being deleted is found by no search, but may be named.
    pub(super) fn is_yet_released(&self) -> bool {
        let reference = self.volume.claim_ref();
        let has_uid = reference.is_some_and(|reference| !reference.uid().is_empty());
        (has_uid && !self.is_unbound()) || self.taker().is_some()
    }

    /// Whether the next sync takes the volume from its claim, which has another.
    fn is_unbound(&self) -> bool {
        let (config, view) = (self.survey.config, self.survey.view);
        let plan = sync_volume(config, view, Held::Borrowed(self.volume), None);
        let is_nobodys = |volume: &PersistentVolume| {
            let reference = volume.claim_ref();
            reference.is_none_or(|reference| reference.uid().is_empty())
        };
        plan.steps.iter().any(|step| {
            matches!(step, Step::Write { write: Write::Volume(change), .. }
                if is_nobodys(&change.to))
        })
    }

    /// The claim that names the volume and is bound to it by its next sync.
    pub(super) fn taker(&self) -> Option<Keeper> {
        let survey = self.survey;
        let naming = survey.naming();
        let name = self.volume.name();
        let mut keys = naming.owners(name).iter().chain(naming.wishing(name));
        keys.find_map(|key| {
            let claim = survey.view.claim(&key.namespace, &key.name)?;
            self.is_bound_by(&claim).then(|| Keeper {
                claim: key.clone(),
                has_it: claim.is_bind_completed(),
            })
        })
    }

    fn is_bound_by(&self, claim: &PersistentVolumeClaim) -> bool {
        let plan = sync_claim(self.survey.config, self.survey.view, claim);
        plan.steps.iter().any(|step| match step {
            Step::Write {
                write: Write::Volume(change),
                ..
            } => change.to.name() == self.volume.name(),
            _ => false,
        })
    }
}
