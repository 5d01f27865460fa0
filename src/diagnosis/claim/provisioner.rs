//! What the external provisioner of a claim would say, or said.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use super::Examination;
use crate::api::{ObjectReference, PersistentVolume, PersistentVolumeClaim, VolumeMode, names};
use crate::controller::volume_name_for;
use crate::diagnosis::external::provisioner_config;
use crate::diagnosis::parts::Rule;
use crate::diagnosis::{ClaimFacts, Finding, Remedy};
use crate::matching::MatchReport;
use crate::provisioner::{
    ClaimNext, ClaimOutcome, DataSource, NO_BLOCK_SUPPORT, ProvisionError, RequestError,
    RequestInputs, TopologyError, TopologyQuery, csi, sync_claim, topology_requirement,
};
use crate::view::{DiagnosticView, ProvisioningView};

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// Whether the driver can be asked for the volume at all: what the
    /// provisioner would say, with a driver that can do everything and whose
    /// topology is what the CSINodes have of it.
    pub(super) fn provisioner_refuses(&self, provisioner: &str) -> Option<Finding> {
        let config = provisioner_config(self.survey.config, provisioner);
        // The controller is about to name the provisioner, if it has not.
        let mut claim = PersistentVolumeClaim::clone(self.claim);
        let metadata = &mut claim.metadata;
        metadata.set_annotation(names::STORAGE_PROVISIONER, provisioner);
        let claim = Arc::new(claim);
        let view = self.survey.view;
        let operation = match sync_claim(&config, view, &claim).verdict {
            ClaimNext::CreateVolume(operation) => operation,
            ClaimNext::Over(end) => {
                let Ok(ClaimOutcome::VolumeKnown { volume }) = end.outcome else {
                    return None;
                };
                return Some(self.made_volume_unusable(volume));
            }
            _ => return None,
        };
        // What this view cannot know is taken as found.
        let content_source = match operation.data_source() {
            Some(DataSource::Snapshot { name, .. }) => {
                Some(csi::VolumeContentSource::Snapshot { snapshot_id: name })
            }
            _ => None,
        };
        let inputs = RequestInputs {
            content_source,
            attributes: Some(BTreeMap::new()),
        };
        let error = match operation.request(&config, view, &inputs) {
            Err(error) => error,
            Ok(_) => self.no_place(provisioner)?.into(),
        };
        self.refusal(provisioner, &error)
    }

    /// The volume that has the name of the claim's own is there, and the
    /// controller did not take it.
    fn made_volume_unusable(&self, volume: String) -> Finding {
        let refused = |volume: &PersistentVolume| {
            let report = MatchReport::new(self.claim, [volume], &self.options());
            let judged = report.volumes.iter();
            judged
                .flat_map(|one| one.refusals.iter().map(Rule::of))
                .collect()
        };
        let found = self.survey.view.volume(&volume);
        let is_own = found.as_deref().is_some_and(|volume| {
            let uid = volume.claim_ref().map(ObjectReference::uid);
            uid.is_some_and(|uid| !uid.is_empty() && uid == self.claim.metadata.uid())
        });
        // One that is the claim's goes with it, and not before.
        let remedy = match is_own {
            true => Remedy::new(
                "delete the claim and create it again",
                "a volume is made for the new claim, and this one's goes by its reclaim policy",
            ),
            false => Remedy::new(
                format!("see what is in volume `{volume}`; if nothing is to be kept, delete it"),
                "the claim's volume is then made anew",
            ),
        };
        let facts = ClaimFacts::MadeVolumeUnusable {
            rules: found.as_deref().map(refused).unwrap_or_default(),
            volume,
        };
        Finding::from(facts).with(remedy)
    }

    /// The same, for a plugin of the controller's own.
    pub(super) fn is_made_already(&self) -> Option<Finding> {
        let volume = volume_name_for(self.claim);
        let is_there = self.survey.view.volume(&volume).is_some();
        is_there.then(|| self.made_volume_unusable(volume))
    }

    /// Why the driver cannot be told where the volume must be reachable from.
    /// Only what can fail is looked at: of the many claims that a cluster may
    /// have, none goes through all nodes by itself.
    fn no_place(&self, provisioner: &str) -> Option<TopologyError> {
        let view = self.survey.view;
        let class = view.class(self.claim.class_name())?;
        let allowed = class.allowed_topologies();
        let node = self.selected_node();
        let places = self.places(provisioner);
        if !places.are_known {
            return None;
        }
        if node.is_empty() && allowed.is_empty() {
            return places.error;
        }
        let query = TopologyQuery {
            allowed,
            selected_node: Some(node),
            // If the class allows every place, all else is in the requisite.
            is_strict: allowed.is_empty(),
            ..TopologyQuery::new(provisioner, self.claim.metadata.name())
        };
        topology_requirement(&query, view).err()
    }

    /// Whether the provisioner may make nothing where no such node is: a driver
    /// that is there and knows no places does not ask.
    pub(super) fn goes_by_node(&self, driver: &str) -> bool {
        let survey = self.survey;
        let is_known = survey.known.csi_nodes && survey.view.csi_driver(driver).is_some();
        !is_known || self.selected_node().is_empty() || self.places(driver).are_known
    }

    fn places(&self, driver: &str) -> Places {
        let known = self.survey.places.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = known.get(driver) {
            return places.clone();
        }
        let places = Places::of(driver, self.survey.view);
        known.insert(driver.to_owned(), places.clone());
        places
    }

    fn refusal(&self, provisioner: &str, error: &RequestError) -> Option<Finding> {
        let known = &self.survey.known;
        let knows_claims = known.claims && known.claims_in.is_none();
        match error {
            // Told with more words by the rule itself.
            RequestError::Selector => None,
            // A claim that the API server has not seen.
            RequestError::NoUid => None,
            RequestError::CannotCopy { .. } if !(knows_claims && known.volumes) => None,
            RequestError::ForPopulator { kind, name } => {
                let facts = ClaimFacts::WaitsForPopulator {
                    data_source_kind: kind.clone(),
                    data_source: name.clone(),
                };
                Some(facts.into())
            }
            RequestError::Topology(mismatch) if !self.selected_node().is_empty() => {
                self.topology_mismatch(provisioner, mismatch)
            }
            RequestError::Topology(_) if !(known.nodes && known.csi_nodes) => None,
            error => {
                let (reason, message) = (error.code(), error.to_string());
                let finding = request_refused(provisioner, reason, message);
                Some(finding.with(self.ask_again(error)))
            }
        }
    }

    fn selected_node(&self) -> &str {
        let selected = self.claim.metadata.annotation(names::SELECTED_NODE);
        selected.unwrap_or_default()
    }

    /// Neither claims nor classes can be changed in this.
    fn ask_again(&self, error: &RequestError) -> Remedy {
        if let RequestError::Topology(TopologyError::KeysOnNoNode { keys }) = error {
            let keys = keys.join("`, `");
            return Remedy::new(
                format!("see whether any node has the driver's labels `{keys}`"),
                "the driver says which labels it goes by, in the CSINodes",
            );
        }
        let is_class = matches!(
            error,
            RequestError::UnknownReservedKey { .. }
                | RequestError::TwoFsTypes { .. }
                | RequestError::SecretIncomplete { .. }
                | RequestError::SecretTemplate { .. }
                | RequestError::Topology(
                    TopologyError::TooManyAllowed { .. } | TopologyError::AllowedTooLong { .. }
                )
        );
        if is_class {
            let class = self.claim.class_name();
            return Remedy::new(
                format!("delete class `{class}` and create it again with other parameters"),
                "claims and volumes of the class stay as they are",
            );
        }
        Remedy::new(
            "delete the claim and create it again without what is refused",
            "the claim has no data yet",
        )
    }

    fn topology_mismatch(&self, provisioner: &str, error: &TopologyError) -> Option<Finding> {
        let survey = self.survey;
        let node = self.selected_node();
        let is_known = survey.known.nodes && survey.known.csi_nodes;
        // That the node is gone is told by itself.
        if !is_known || survey.view.node(node).is_none() {
            return None;
        }
        let facts = ClaimFacts::TopologyMismatch {
            provisioner: provisioner.to_owned(),
            node: node.to_owned(),
            message: error.to_string(),
        };
        let driver = Remedy::new(
            format!("see whether driver `{provisioner}` runs on node `{node}`, and its labels"),
            "",
        );
        Some(
            Finding::from(facts)
                .with(self.select_again("it may select the same node again"))
                .with(driver),
        )
    }

    /// What the provisioner said the last time, if it was heard.
    pub(super) fn provisioner_failed(&self, provisioner: &str) -> Option<Finding> {
        let said = self.survey.provisioner_said(self.claim)?;
        let provisioner = provisioner.to_owned();
        match said {
            // The provisioner does not try again after this.
            ProvisionError::Failed { message }
                if *self.claim.volume_mode() == VolumeMode::Block
                    && message.ends_with(NO_BLOCK_SUPPORT) =>
            {
                let finding = request_refused(&provisioner, "block", message.clone());
                Some(finding.with(Remedy::new(
                    "delete the claim and create it again with volumeMode Filesystem",
                    "the claim has no data yet",
                )))
            }
            ProvisionError::Infeasible { message } => {
                let message = message.clone();
                let facts = ClaimFacts::Infeasible {
                    provisioner,
                    message,
                };
                Some(Finding::from(facts).with(Remedy::new(
                    "delete the claim and create it again with what the driver makes",
                    "the claim has no data yet",
                )))
            }
            error => {
                let message = error.to_string();
                let facts = ClaimFacts::DriverFails {
                    provisioner,
                    message,
                };
                Some(Finding::from(facts).with(Remedy::new(
                    "mend what the driver says",
                    "the provisioner tries again by itself, ever more slowly",
                )))
            }
        }
    }
}

/// What a driver knows of places.
#[derive(Clone, Debug)]
pub(in crate::diagnosis) struct Places {
    /// Whether any CSINode has topology keys of it.
    are_known: bool,
    /// Why it cannot be told of a place where no node is selected.
    error: Option<TopologyError>,
}

impl Places {
    fn of<V: ProvisioningView + ?Sized>(driver: &str, view: &V) -> Places {
        let query = TopologyQuery {
            is_immediate: true,
            ..TopologyQuery::new(driver, "")
        };
        let error = topology_requirement(&query, view).err();
        Places {
            are_known: error != Some(TopologyError::NoTopology),
            error,
        }
    }
}

fn request_refused(provisioner: &str, reason: &str, message: String) -> Finding {
    ClaimFacts::RequestRefused {
        provisioner: provisioner.to_owned(),
        reason: reason.to_owned(),
        message,
    }
    .into()
}

#[cfg(test)]
mod tests {
    use crate::api::{ClaimKey, read_objects};
    use crate::controller;
    use crate::diagnosis::{Code, Diagnosis, Survey};
    use crate::plan::apply_merge_patch;
    use crate::provisioner::ProvisionError;
    use crate::view::{ClusterView as _, Snapshot};
    use serde_json::{Value, json};

    /// A driver on one of two nodes, a class, and the claim.
    fn cluster(class: Value, claim: &Value) -> Snapshot {
        let mut text = r#"
            {"kind": "CSIDriver", "metadata": {"name": "disk.csi"}}
            {"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
            {"kind": "Node", "metadata": {"name": "n2", "labels": {"zone": "b"}}}
            {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
                {"name": "disk.csi", "nodeID": "1", "topologyKeys": ["zone"]}]}}"#
            .to_owned();
        let mut object = json!({"kind": "StorageClass", "metadata": {"name": "fast"},
            "provisioner": "disk.csi", "volumeBindingMode": "Immediate"});
        apply_merge_patch(&mut object, &class);
        text += &object.to_string();
        let mut object = json!({"kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
            "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "5Gi"}}}});
        apply_merge_patch(&mut object, claim);
        text += &object.to_string();
        read_objects(&text).unwrap().into_iter().collect()
    }

    fn hearing(snapshot: &Snapshot, said: Option<ProvisionError>) -> Diagnosis {
        let config = controller::Config::default();
        let key = ClaimKey::new("shop", "data");
        let claim = snapshot.claim("shop", "data").unwrap();
        let mut survey = Survey::new(&config, snapshot);
        if let Some(said) = said {
            survey = survey.hearing(key, said);
        }
        survey.claim(&claim)
    }

    fn diagnose(class: Value, claim: &Value) -> Diagnosis {
        hearing(&cluster(class, claim), None)
    }

    fn is_well(diagnosis: &Diagnosis) -> bool {
        let codes: Vec<_> = diagnosis.findings().iter().map(|f| f.code()).collect();
        codes == [Code::ClaimWaitsForProvisioner]
    }

    #[test]
    fn a_claim_without_fault_waits_for_its_driver_alone() {
        let found = diagnose(json!({}), &json!({}));
        assert!(is_well(&found), "{found:?}");
        assert_eq!(
            found.main().to_string(),
            "waits for external provisioner `disk.csi` to make a volume"
        );
    }

    #[test]
    fn a_selected_node_without_the_driver_is_told_and_the_patch_removes_it() {
        let selects = |node: &str| {
            json!({"metadata": {"annotations": {
            "volume.kubernetes.io/selected-node": node}}})
        };
        assert!(is_well(&diagnose(json!({}), &selects("n1"))));
        let found = diagnose(json!({}), &selects("n2"));
        assert_eq!(found.main().code(), Code::ClaimTopologyMismatch);
        assert_eq!(
            found.main().to_string(),
            "is to be provisioned by `disk.csi` for node `n2`, which does not fit: failed to get \
             selected CSINode n2: csinode.storage.k8s.io \"n2\" not found"
        );
        let patch = found.main().remedies[0].patch.as_ref().unwrap();
        let mut claim = selects("n2");
        apply_merge_patch(&mut claim, &patch.merge_patch);
        assert!(is_well(&diagnose(json!({}), &claim)));
        // A node that is gone has its own finding, and this one is silent.
        let found = diagnose(json!({}), &selects("n3"));
        assert_eq!(found.main().code(), Code::ClaimSelectedNodeGone);
        assert_eq!(found.finding(Code::ClaimTopologyMismatch), None);
    }

    #[test]
    fn what_the_driver_cannot_be_asked_for_is_told() {
        let fine = json!({"parameters": {"csi.storage.k8s.io/fstype": "xfs"}});
        assert!(is_well(&diagnose(fine, &json!({}))));
        let wrong = json!({"parameters": {"csi.storage.k8s.io/fs-type": "xfs"}});
        let found = diagnose(wrong, &json!({}));
        assert_eq!(found.main().code(), Code::ClaimRequestRefused);
        assert_eq!(
            found.main().to_string(),
            "asks for what provisioner `disk.csi` refuses: failed to strip CSI Parameters of \
             prefixed keys: found unknown parameter key \"csi.storage.k8s.io/fs-type\" with \
             reserved namespace csi.storage.k8s.io/"
        );
        let modes = json!({"spec": {"accessModes": ["ReadNever"]}});
        let found = diagnose(json!({}), &modes);
        assert_eq!(found.main().code(), Code::ClaimRequestRefused);
        // A mode that only some drivers know is no fault that is seen from here.
        let modes = json!({"spec": {"accessModes": ["ReadWriteOncePod"]}});
        assert!(is_well(&diagnose(json!({}), &modes)));
    }

    #[test]
    fn a_populators_claim_does_not_wait_for_the_driver_first() {
        let source = |group: &str, kind: &str| {
            json!({"spec": {"dataSourceRef": {
            "apiGroup": group, "kind": kind, "name": "image"}}})
        };
        let found = diagnose(json!({}), &source("images.example.com", "Image"));
        assert_eq!(found.main().code(), Code::ClaimWaitsForPopulator);
        assert_eq!(
            found.main().to_string(),
            "waits for a populator to make a volume from `images.example.com/Image` `image`"
        );
        let snapshot = source("snapshot.storage.k8s.io", "VolumeSnapshot");
        assert!(is_well(&diagnose(json!({}), &snapshot)));
    }

    #[test]
    fn what_the_provisioner_said_is_told_as_long_as_the_claim_waits_for_it() {
        let infeasible = "Volume provisioning failed with infeasible error. Retries will be delayed. \
            no such type";
        for (message, code, sentence) in [
            (
                infeasible,
                Code::ClaimInfeasible,
                "asks for what provisioner `disk.csi` says it never makes: no such type",
            ),
            (
                "quota exceeded",
                Code::ClaimDriverFails,
                "waits for provisioner `disk.csi`, which failed the last time: quota exceeded",
            ),
        ] {
            let said = || Some(ProvisionError::of_event(message));
            let found = hearing(&cluster(json!({}), &json!({})), said());
            assert_eq!(found.main().code(), code);
            assert_eq!(found.main().to_string(), sentence);
            let waits = json!({"volumeBindingMode": "WaitForFirstConsumer"});
            let found = hearing(&cluster(waits, &json!({})), said());
            assert_eq!(found.finding(code), None);
        }
    }
}
