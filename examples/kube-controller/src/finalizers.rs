//! What upstream plans and the API server refuses: new finalizers on an object
//! that is being deleted.

use std::collections::HashSet;
use std::sync::Arc;

use pvbind::api::PersistentVolume;
use pvbind::plan::{Change, Plan, Step, Write};

/// Leaves the new finalizers of a volume that is being deleted out of a plan.
///
/// Upstream plans them all the same, and as long as the API server refuses them
/// with 422 nothing else is done about the volume: it stays Bound when its claim
/// is gone, and so is never let go.
pub fn without_vain_finalizers(plan: &mut Plan) {
    plan.steps.retain_mut(|step| match step {
        Step::Write {
            write: Write::Volume(change),
            ..
        } if change.from.metadata.deletion_timestamp.is_some() => {
            leave_out_new(change);
            change.from != change.to
        }
        _ => true,
    });
}

fn leave_out_new(change: &mut Change<PersistentVolume>) {
    let before: HashSet<&String> = change.from.metadata.finalizers.iter().flatten().collect();
    let is_new = |finalizer: &String| !before.contains(finalizer);
    if !change.to.metadata.finalizers.iter().flatten().any(is_new) {
        return;
    }
    let to = Arc::make_mut(&mut change.to);
    if let Some(finalizers) = &mut to.metadata.finalizers {
        finalizers.retain(|finalizer| before.contains(finalizer));
        if finalizers.is_empty() {
            to.metadata.finalizers = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pvbind::controller::{Config, sync_volume};
    use pvbind::view::Snapshot;
    use serde_json::{Value, json};

    fn volume(deleted: Value, finalizers: Value) -> Arc<PersistentVolume> {
        serde_json::from_value(json!({
            "metadata": {"name": "pv", "uid": "u-1", "resourceVersion": "7",
                "deletionTimestamp": deleted, "finalizers": finalizers,
                "annotations": {"pv.kubernetes.io/provisioned-by": "kubernetes.io/host-path"}},
            "spec": {"persistentVolumeReclaimPolicy": "Delete"}}))
        .map(Arc::new)
        .unwrap()
    }

    fn plan(volume: &Arc<PersistentVolume>) -> Plan {
        let (config, view) = (Config::default(), Snapshot::new());
        let mut plan = sync_volume(&config, &view, volume, None);
        without_vain_finalizers(&mut plan);
        plan
    }

    #[test]
    fn a_volume_being_deleted_gets_no_finalizer_and_the_rest_is_done() {
        let deleted = volume(json!("2026-01-01T00:00:00Z"), Value::Null);
        let plan_of_deleted = plan(&deleted);
        let [Step::Write { write, .. }] = plan_of_deleted.steps.as_slice() else {
            panic!("{plan_of_deleted:?}");
        };
        let patch = write.merge_patch().unwrap();
        assert_eq!(patch["status"]["phase"], "Available");
        assert_eq!(patch["metadata"], json!({"resourceVersion": "7"}));
        // One that is not deleted gets it.
        let plan_of_other = plan(&volume(Value::Null, Value::Null));
        assert_eq!(plan_of_other.steps.len(), 2);
    }

    #[test]
    fn what_else_is_done_about_finalizers_is_done() {
        let external = "external-provisioner.volume.kubernetes.io/finalizer";
        let deleted = volume(json!("2026-01-01T00:00:00Z"), json!(["x", external]));
        let plan = plan(&deleted);
        let [Step::Write { write, .. }, _] = plan.steps.as_slice() else {
            panic!("{plan:?}");
        };
        let patch = write.merge_patch().unwrap();
        assert_eq!(patch["metadata"]["finalizers"], json!(["x"]));
    }
}
