//! Claims that have a volume, or are about to.

use serde_json::json;

use super::Examination;
use crate::api::{PersistentVolume, names};
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy, volume};
use crate::matching::{Bucket, SearchOptions};
use crate::quantity::Quantity;
use crate::view::{DiagnosticView, Held};

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    pub(super) fn bound(&self, volume: &str) -> Vec<Finding> {
        let Some(volume) = self.survey.view.volume(volume) else {
            return Vec::new();
        };
        let claim = self.claim;
        let status = claim.status.capacity.as_ref();
        let granted = status.and_then(|capacity| capacity.storage.as_ref());
        let granted = granted.unwrap_or_else(|| volume.storage());
        let asked = claim.requested_storage();
        let resize = (granted < asked || granted < volume.storage()).then(|| {
            let infeasible = self.resize_infeasible(&volume, granted);
            infeasible.unwrap_or_else(|| self.resize_pending(&volume, granted))
        });
        let surplus = match volume.storage() > asked {
            true => volume.storage().checked_sub(asked).unwrap_or_default(),
            false => Quantity::ZERO,
        };
        let bound = ClaimFacts::Bound {
            volume: volume.name().to_owned(),
            asked: asked.clone(),
            granted: granted.clone(),
            surplus,
            asked_modes: claim.access_modes().to_vec(),
            modes: volume.access_modes().to_vec(),
            volume_mode: volume.volume_mode().clone(),
        };
        let unclaimed = self.volume_unclaimed(&volume);
        let unreachable = self.volume_unreachable(&volume, true);
        let findings = unclaimed.into_iter().chain(unreachable).chain(resize);
        let findings = findings.chain(self.modify_infeasible());
        let going = volume::going(self.survey, &volume);
        let unusable = volume::driver_unknown(self.survey, &volume);
        let findings = findings.chain([bound.into()]);
        findings.chain(going).chain(unusable).collect()
    }

    fn resize_pending(&self, volume: &PersistentVolume, granted: &Quantity) -> Finding {
        let asked = self.claim.requested_storage();
        let class = self.survey.view.class(self.claim.class_name());
        let only_file_system = volume.storage() >= asked;
        if let Some(class) = &class
            && class.allow_volume_expansion != Some(true)
            && !only_file_system
        {
            let facts = ClaimFacts::ResizeNotAllowed {
                volume: volume.name().to_owned(),
                class: class.name().to_owned(),
                asked: asked.clone(),
                granted: granted.clone(),
            };
            let patch = Patch::of(
                ObjectName::of(Kind::Class, &class.metadata),
                &class.metadata,
                json!({"allowVolumeExpansion": true}),
            );
            let remedy = Remedy::new(
                format!("let volumes of class `{}` grow", class.name()),
                "every claim of the class may then ask for more; whether volumes grow is up to \
                 the driver",
            );
            return Finding::from(facts).with(remedy.patching(patch));
        }
        let pod = only_file_system.then(|| {
            Remedy::new(
                "let a pod with this claim run on a node",
                "its node makes the file system larger when the volume is mounted, or while it is",
            )
        });
        let facts = ClaimFacts::ResizePending {
            volume: volume.name().to_owned(),
            asked: asked.clone(),
            granted: granted.clone(),
            volume_size: volume.storage().clone(),
            only_file_system,
            class_allows: class.map(|class| class.allow_volume_expansion == Some(true)),
        };
        Finding::from(facts).with_all(pod)
    }

    pub(super) fn binds(&self, volume: &str) -> Vec<Finding> {
        let Some(volume) = self.survey.view.volume(volume) else {
            return Vec::new();
        };
        let facts = ClaimFacts::WouldBind {
            volume: volume.name().to_owned(),
            size: volume.storage().clone(),
            asked: self.claim.requested_storage().clone(),
        };
        let mut findings = vec![facts.into()];
        findings.extend(self.data_source_ignored(&volume));
        findings.extend(self.competes(&volume));
        findings.extend(self.takes_from_another(&volume));
        if self.claim.volume_name().is_empty() {
            findings.extend(self.passed_over(&volume));
        } else {
            findings.extend(self.names_volume_delayed());
        }
        findings
    }

    /// The volumes that are reserved for the claim, and fit it, but are searched
    /// later.
    fn passed_over(&self, taken: &PersistentVolume) -> Vec<Finding> {
        if taken.is_bound_to(self.claim) {
            return Vec::new();
        }
        let (report, _) = self.survey.census.report(self.claim, &self.options());
        let later = report.bucket(Bucket::FitsSearchedLater);
        let reserved = later.filter(|volume| volume.is_reserved);
        let findings = reserved.map(|report| {
            let volume = report.volume;
            let facts = ClaimFacts::ReservedPassedOver {
                volume: volume.name().to_owned(),
                modes: volume.access_modes().to_vec(),
                taken: taken.name().to_owned(),
                taken_modes: taken.access_modes().to_vec(),
            };
            Finding::from(facts).with(
                Remedy::new(
                    format!(
                        "name volume `{}` in the claim's spec.volumeName",
                        volume.name()
                    ),
                    "the claim then gets that volume or none",
                )
                .patching(Patch::of(
                    ObjectName::of(Kind::Claim, &self.claim.metadata),
                    &self.claim.metadata,
                    json!({"spec": {"volumeName": volume.name()}}),
                )),
            )
        });
        findings.collect()
    }

    /// The claim wants a copy of something, and takes what happens to be in the
    /// volume.
    pub(super) fn data_source_ignored(&self, volume: &PersistentVolume) -> Option<Finding> {
        let spec = &self.claim.spec;
        let source = spec
            .data_source_ref
            .as_ref()
            .or(spec.data_source.as_ref())?;
        let text = |field: &str| source.get(field).and_then(serde_json::Value::as_str);
        let source = format!(
            "{} {}",
            text("kind").unwrap_or("an object"),
            text("name").unwrap_or("without a name")
        );
        // What was made for this claim is filled already.
        let is_own = volume.claim_ref().is_some_and(|reference| {
            !reference.uid().is_empty() && reference.uid() == self.claim.metadata.uid()
        });
        // And what the claim had once is its own.
        if is_own || self.claim.is_bind_completed() {
            return None;
        }
        let facts = ClaimFacts::DataSourceIgnored {
            source,
            volume: volume.name().to_owned(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "give the claim a class of which no volume is free, so that one is made for it",
            "the claim must be deleted and created again, as its class cannot be changed",
        )))
    }

    /// The annotations of a finished bind, on a claim that the volume does not
    /// know: they came with a manifest that was exported.
    pub(super) fn binding_imported(&self) -> Option<Finding> {
        let metadata = &self.claim.metadata;
        let keys = [names::BIND_COMPLETED, names::BOUND_BY_CONTROLLER];
        let keys = keys.into_iter().filter(|key| metadata.has_annotation(key));
        let annotations: Vec<String> = keys.map(str::to_owned).collect();
        let volume = self.survey.view.volume(self.claim.volume_name());
        let reference = volume.as_deref().and_then(PersistentVolume::claim_ref);
        let knows = reference.is_some_and(|reference| {
            !reference.uid().is_empty() && reference.uid() == metadata.uid()
        });
        let same_name = reference.is_some_and(|reference| {
            reference.name() == metadata.name() && reference.namespace() == metadata.namespace()
        });
        let is_new = match self.claim.phase().map(|phase| phase.as_str()) {
            None | Some("Pending") => true,
            Some("Lost") => same_name,
            Some(_) => false,
        };
        let is_known = self.survey.known.volumes || volume.is_some();
        if annotations.is_empty() || knows || !is_new || !is_known {
            return None;
        }
        let changes = annotations.iter().map(|key| (key.clone(), json!(null)));
        let changes: serde_json::Map<_, _> = changes.collect();
        let patch = Patch::of(
            ObjectName::of(Kind::Claim, metadata),
            metadata,
            json!({"metadata": {"annotations": changes}}),
        );
        let facts = ClaimFacts::BindingImported {
            annotations,
            volume: self.claim.volume_name().to_owned(),
        };
        let remedy = Remedy::new(
            "remove the annotations",
            "the claim is then searched a volume like any other, or given the one that it names \
             if that fits",
        );
        Some(Finding::from(facts).with(remedy.patching(patch)))
    }

    pub(super) fn volume_without_capacity(&self) -> Finding {
        let name = match self.claim.volume_name() {
            "" => self.best_match().map(|volume| volume.name().to_owned()),
            name => Some(name.to_owned()),
        };
        let volume = name.unwrap_or_default();
        let facts = ClaimFacts::VolumeWithoutCapacity {
            volume: volume.clone(),
        };
        let held = self.survey.view.volume(&volume);
        let asked = self.claim.storage_request();
        Finding::from(facts).with_all(held.zip(asked).map(|(volume, asked)| {
            let patch = Patch::of(
                ObjectName::of(Kind::Volume, &volume.metadata),
                &volume.metadata,
                json!({"spec": {"capacity": {"storage": asked}}}),
            );
            let remedy = Remedy::new(
                "write the volume's capacity down",
                "nothing checks that the volume really is as large",
            );
            remedy.patching(patch)
        }))
    }

    /// The volume that the controller would take.
    fn best_match(&self) -> Option<Held<'_, PersistentVolume>> {
        let options = SearchOptions {
            delay_binding: self.survey.is_delayed(self.claim.class_name()),
            features: self.survey.config.features,
        };
        let found = self.survey.view.best_match(self.claim, options);
        found.unwrap_or_default()
    }
}
