//! What happens to a volume when its claim is gone.

use std::sync::Arc;

use super::Examination;
use crate::api::{
    ClaimKey, CsiDriver, Node, ObjectReference, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeReclaimPolicy as Policy, Pod, StorageClass, VolumePhase, names,
};
use crate::controller::{Next, begin, sync_volume};
use crate::diagnosis::external::provisioner_config;
use crate::diagnosis::words::NAMED;
use crate::diagnosis::{Finding, Reclaim, Remedy, VolumeFacts};
use crate::matching::{FindError, SearchOptions};
use crate::plan::{Operation, Plan, Step};
use crate::provisioner::{check_deletable, check_ours};
use crate::view::{ClusterView, DiagnosticView, Held};

/// The in-tree plugin for directories of nodes.
const HOST_PATH_PLUGIN: &str = "kubernetes.io/host-path";

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// What happens to the volume when its claim is deleted: a note to one that
    /// was not released yet.
    pub(super) fn at_release(&self) -> Option<Finding> {
        let is_over = [VolumePhase::Released, VolumePhase::Failed];
        if is_over.iter().any(|phase| self.is_phase(phase)) {
            return None;
        }
        let is_going = self.volume.metadata.is_being_deleted();
        if is_going && !self.is_yet_released() {
            return None;
        }
        Some(match self.reclaim() {
            // Its claim is gone, and what follows is told with that.
            _ if self.is_claim_gone() => return None,
            Reclaim::Fails(message) => {
                let patch =
                    serde_json::json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
                let remedy = Remedy::new("set the policy to Retain", self.kept_at_release());
                let finding = Finding::from(VolumeFacts::ReleaseFails { message });
                finding.with(remedy.patching(self.patch(patch)))
            }
            // Its object is not kept, only its data: told with the deletion.
            Reclaim::Kept if is_going => return None,
            then => VolumeFacts::AtRelease { then }.into(),
        })
    }

    /// What policy Retain does.
    pub(super) fn kept_at_release(&self) -> &'static str {
        match self.volume.metadata.is_being_deleted() {
            false => "when its claim is deleted, the volume is kept until somebody clears it",
            true => {
                "when its claim is deleted, its data stays in the backend; the volume's object \
                 goes, as it was deleted"
            }
        }
    }

    /// Lets the controller decide about the volume as if its claim were gone,
    /// and follows the operation that it starts up to where a backend is asked.
    pub(super) fn reclaim(&self) -> Reclaim {
        let volume = Arc::new(self.as_bound());
        let key = volume.claim_ref().map(ClaimKey::referred);
        let evidence = key.map(|key| self.gone(key));
        let config = self.survey.config;
        let view = WithoutClaims(self.survey.view);
        let plan = sync_volume(config, &view, Held::Lent(&volume), evidence.as_deref());
        if let Some(message) = failure(&plan) {
            return Reclaim::Fails(message);
        }
        let operation = plan.steps.into_iter().find_map(|step| match step {
            Step::Start(operation) => Some(operation),
            _ => None,
        });
        let Some(operation) = operation else {
            return self.left_alone();
        };
        let released = match &operation {
            Operation::Delete { volume } | Operation::Recycle { volume } => Arc::clone(volume),
            Operation::Provision { .. } => volume,
        };
        let mut plan = begin(config, operation);
        if let Next::ReadVolume(next) = plan.verdict {
            let volume = PersistentVolume::clone(&released);
            plan = next.answer(config, &view, Some(volume));
        }
        if let Some(message) = failure(&plan) {
            return Reclaim::Fails(message);
        }
        match plan.verdict {
            Next::Delete(next) => match host_path_refusal(next.plugin(), &released) {
                Some(message) => Reclaim::Fails(message),
                None => Reclaim::DeletedBy(next.plugin().to_owned()),
            },
            Next::Recycle(next) => self.recycled(next.plugin().to_owned()),
            _ => self.left_to_provisioner(),
        }
    }

    /// Pods that name a claim which is gone keep its volume from being recycled.
    fn recycled(&self, plugin: String) -> Reclaim {
        let survey = self.survey;
        let claim = self.volume.claim_ref().map(ClaimKey::referred);
        let is_missing =
            |claim: &ClaimKey| survey.view.claim(&claim.namespace, &claim.name).is_none();
        let claim = claim.filter(|claim| self.is_claim_gone() && is_missing(claim));
        let pods = claim.map(|claim| survey.unfinished_pods(&claim));
        match pods {
            Some(pods) if !pods.is_empty() => Reclaim::RecycledAfter {
                plugin,
                pods: pods.iter().take(NAMED).cloned().collect(),
                count: pods.len(),
            },
            _ => Reclaim::RecycledBy(plugin),
        }
    }

    /// The volume with a claim, whether it has one or not.
    fn as_bound(&self) -> PersistentVolume {
        let mut volume = self.volume.clone();
        let reference = volume
            .spec
            .claim_ref
            .get_or_insert_with(ObjectReference::default);
        if reference.uid().is_empty() {
            reference.uid = Some("some claim".to_owned());
        }
        if !self.is_phase(&VolumePhase::Failed) {
            volume.status.phase = Some(VolumePhase::Bound);
        }
        volume
    }

    /// The controller does nothing: the volume is to be kept, or is somebody
    /// else's.
    fn left_alone(&self) -> Reclaim {
        match self.volume.reclaim_policy() {
            Some(Policy::Delete) => self.left_to_provisioner(),
            _ => Reclaim::Kept,
        }
    }

    /// What its external provisioner does with the volume once it is released.
    fn left_to_provisioner(&self) -> Reclaim {
        let driver = self.external();
        let mut released = self.volume.clone();
        if !self.is_phase(&VolumePhase::Failed) {
            released.status.phase = Some(VolumePhase::Released);
        }
        let config = provisioner_config(self.survey.config, &driver);
        let is_ours = !driver.is_empty() && check_ours(&config, &released).is_ok();
        match is_ours && check_deletable(&config, &released).is_ok() {
            true => Reclaim::DeletedExternally(driver),
            false => Reclaim::LeftExternally(driver),
        }
    }

    /// Who deletes the volume if the controller does not.
    pub(super) fn external(&self) -> String {
        let metadata = &self.volume.metadata;
        let csi = self.volume.spec.csi.as_ref();
        let of_source = csi.and_then(|csi| csi.driver.as_deref());
        let migrated = metadata.annotation(names::MIGRATED_TO);
        let migrated = migrated.filter(|driver| !driver.is_empty());
        let names = match metadata.annotation(names::PROVISIONED_BY) {
            Some(made_by) => {
                let migrated = migrated.or_else(|| self.survey.config.migrated_to(made_by));
                [migrated, Some(made_by), of_source]
            }
            // Its source says whose it is, before anything else.
            None => [of_source, migrated, None],
        };
        let mut names = names.into_iter().flatten().filter(|name| !name.is_empty());
        names.next().unwrap_or_default().to_owned()
    }
}

/// What the host-path plugin answers for a directory that it does not delete:
/// it is for tests, and its backend removes only what is below `/tmp`.
///
/// Follows `hostPathDeleter.Delete` of Kubernetes 1.36.
fn host_path_refusal(plugin: &str, volume: &PersistentVolume) -> Option<String> {
    const SCRATCH: &str = "/tmp/";
    let made_by = volume.metadata.annotation(names::PROVISIONED_BY);
    // What the plugin made lies where it deletes.
    if plugin != HOST_PATH_PLUGIN || made_by == Some(plugin) {
        return None;
    }
    let source = volume.spec.unknown.get("hostPath")?;
    let path = source.get("path").and_then(serde_json::Value::as_str);
    let path = path.unwrap_or_default();
    // The expression is not anchored, and `.` is no line feed.
    let mut places = path.match_indices(SCRATCH);
    let is_scratch = places.any(|(place, _)| {
        let below = path.get(place.saturating_add(SCRATCH.len())..);
        below.is_some_and(|below| !below.is_empty() && !below.starts_with('\n'))
    });
    (!is_scratch).then(|| {
        format!("host_path deleter only supports {SCRATCH}.+ but received provided {path}")
    })
}

/// What an event says of a failure.
fn failure<V>(plan: &Plan<V>) -> Option<String> {
    plan.steps.iter().find_map(|step| match step {
        Step::Event(event) => Some(event.message.clone()),
        _ => None,
    })
}

/// A view without claims and pods, in which every claim is gone.
struct WithoutClaims<'v, V: ?Sized>(&'v V);

impl<V: ClusterView + ?Sized> ClusterView for WithoutClaims<'_, V> {
    fn volume(&self, name: &str) -> Option<Held<'_, PersistentVolume>> {
        self.0.volume(name)
    }

    fn claim(&self, _namespace: &str, _name: &str) -> Option<Held<'_, PersistentVolumeClaim>> {
        None
    }

    fn class(&self, name: &str) -> Option<Held<'_, StorageClass>> {
        self.0.class(name)
    }

    fn default_class(&self) -> Option<Held<'_, StorageClass>> {
        self.0.default_class()
    }

    fn node(&self, name: &str) -> Option<Held<'_, Node>> {
        self.0.node(name)
    }

    fn csi_driver(&self, name: &str) -> Option<Held<'_, CsiDriver>> {
        self.0.csi_driver(name)
    }

    fn visit_pods_using_claim(&self, _namespace: &str, _name: &str, _visit: &mut dyn FnMut(&Pod)) {}

    fn best_match(
        &self,
        claim: &PersistentVolumeClaim,
        options: SearchOptions,
    ) -> Result<Option<Held<'_, PersistentVolume>>, FindError> {
        self.0.best_match(claim, options)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::read_objects;
    use crate::controller::Config;
    use crate::diagnosis::{Known, Reclaim, Survey};
    use crate::view::Snapshot;

    fn reclaim(others: &str, known: Known) -> Reclaim {
        let text = r#"{"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {"capacity": {"storage": "5Gi"}, "persistentVolumeReclaimPolicy": "Recycle",
                "nfs": {"server": "nas", "path": "/pv-1"},
                "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}},
            "status": {"phase": "Released"}}"#;
        let objects = read_objects(&format!("{text}{others}")).unwrap();
        let snapshot: Snapshot = objects.into_iter().collect();
        let config = Config::kube_controller_manager();
        let survey = Survey::knowing(&config, &snapshot, known);
        super::super::reclaim(&survey, snapshot.volumes().get("pv-1").unwrap())
    }

    #[test]
    fn unfinished_pods_with_a_claim_that_is_gone_keep_its_volume_from_being_recycled() {
        let pod = |name: &str, phase: &str| {
            format!(
                r#"{{"kind": "Pod", "metadata": {{"namespace": "shop", "name": "{name}"}},
                    "spec": {{"volumes": [{{"name": "d",
                        "persistentVolumeClaim": {{"claimName": "data"}}}}]}},
                    "status": {{"phase": "{phase}"}}}}"#
            )
        };
        let plugin = || "kubernetes.io/nfs".to_owned();
        let at_once = Reclaim::RecycledBy(plugin());
        let both = format!("{}{}", pod("b", "Running"), pod("a", "Pending"));
        assert_eq!(
            reclaim(&both, Known::default()),
            Reclaim::RecycledAfter {
                plugin: plugin(),
                pods: vec!["a".to_owned(), "b".to_owned()],
                count: 2
            }
        );
        assert_eq!(reclaim(&pod("a", "Failed"), Known::default()), at_once);
        // The pods have a claim of that name, and nobody looks for them.
        let claim = r#"{"kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "shop", "name": "data", "uid": "u-2"}}"#;
        assert_eq!(
            reclaim(&format!("{both}{claim}"), Known::default()),
            at_once
        );
        let known = Known {
            claims: false,
            ..Known::default()
        };
        assert_eq!(reclaim(&both, known), at_once);
    }

    #[test]
    fn an_external_provisioner_deletes_only_what_is_its_own() {
        let of = |annotations: &str, source: &str| {
            let text = format!(
                r#"{{"kind": "PersistentVolume", "metadata": {{"name": "pv-1",
                        "annotations": {annotations}}},
                    "spec": {{"persistentVolumeReclaimPolicy": "Delete", {source}}},
                    "status": {{"phase": "Bound"}}}}"#
            );
            let snapshot: Snapshot = read_objects(&text).unwrap().into_iter().collect();
            let config = Config::kube_controller_manager();
            let survey = Survey::new(&config, &snapshot);
            super::super::reclaim(&survey, snapshot.volumes().get("pv-1").unwrap())
        };
        let disk = r#""csi": {"driver": "disk.csi", "volumeHandle": "h"}"#;
        let deleted = |driver: &str| Reclaim::DeletedExternally(driver.to_owned());
        let left = |driver: &str| Reclaim::LeftExternally(driver.to_owned());
        let migrated = r#"{"pv.kubernetes.io/migrated-to": "other.csi"}"#;
        assert_eq!(of("{}", disk), deleted("disk.csi"));
        assert_eq!(of(migrated, disk), deleted("disk.csi"));
        let nameless = r#"{"pv.kubernetes.io/provisioned-by": ""}"#;
        assert_eq!(of(nameless, disk), left("disk.csi"));
        let unsaid = r#"{"pv.kubernetes.io/migrated-to": ""}"#;
        assert_eq!(of(unsaid, r#""hostPath": {"path": "/x"}"#), left(""));
        assert_eq!(
            of(migrated, r#""hostPath": {"path": "/x"}"#),
            deleted("other.csi")
        );
    }
}
