//! Claims in progress, and claims and nodes that are gone: what the ledger knows.

use super::run::{Disks, Server};
use super::*;

/// A claim for the node `n1`, with a driver that goes by zones.
fn on_node() -> (Config, Snapshot, Arc<PersistentVolumeClaim>) {
    let mut config = Config::new("disk.csi");
    config.topology = Some(TopologyConfig::default());
    let mut view = view(&class(json!({"volumeBindingMode": "WaitForFirstConsumer"})));
    let node = r#"{"kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "a"}}}
        {"kind": "CSINode", "metadata": {"name": "n1"}, "spec": {"drivers": [
            {"name": "disk.csi", "nodeID": "n1", "topologyKeys": ["zone"]}]}}"#;
    view.extend(read_objects(node).unwrap());
    let mut claim = PersistentVolumeClaim::clone(&claim(json!({})));
    let key = "volume.kubernetes.io/selected-node";
    claim.metadata.set_annotation(key, "n1");
    let claim = Arc::new(claim);
    view.apply(Arc::clone(&claim));
    (config, view, claim)
}

fn node(view: &mut Snapshot) {
    let node = view.find::<crate::api::Node>("", "n1").cloned().unwrap();
    view.delete(&*node);
}

fn csi_node(view: &mut Snapshot) {
    let node = view.find::<crate::api::CsiNode>("", "n1").cloned().unwrap();
    view.delete(&*node);
}

#[test]
fn a_claim_whose_node_is_gone_goes_back_to_the_scheduler() {
    for remove in [node, csi_node] {
        let (config, mut view, claim) = on_node();
        remove(&mut view);
        let (mut server, mut disks) = (Server::default(), Disks::default());
        let mut ledger = Ledger::default();
        let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
        assert!(disks.asked.is_empty());
        assert_eq!(report.end.outcome, Ok(ClaimOutcome::Rescheduled));
        assert_eq!(ledger.claim_ended(&view, &claim, &report.end, 0), None);
        // A sync that knows nothing of earlier ones does not dare.
        let operation = operation(&config, &view, &claim);
        let inputs = RequestInputs::default();
        let error = operation.request(&config, &view, &inputs).unwrap_err();
        assert_eq!(end(operation.refused(&error)).progress, Progress::Unchanged);
    }
}

#[test]
fn a_claim_in_progress_asks_for_the_same_place_whatever_becomes_of_node_and_claim() {
    for remove in [node, csi_node] {
        let (config, mut view, claim) = on_node();
        let (mut server, mut disks) = (Server::default(), Disks::default());
        let mut ledger = Ledger::default();
        server.is_full = true;
        for _ in 0..3 {
            let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
            assert!(ledger.claim_ended(&view, &claim, &report.end, 0).is_some());
            assert!(ledger.is_in_progress(&claim));
            if disks.asked.len() == 1 {
                remove(&mut view);
                view.delete(&*claim);
            }
        }
        server.is_full = false;
        let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
        assert_eq!(ledger.claim_ended(&view, &claim, &report.end, 0), None);
        assert_eq!(report.end.outcome.unwrap().code(), "provisioned");
        assert_eq!(disks.asked.len(), 4);
        assert!(disks.asked.iter().all(|asked| *asked == disks.asked[0]));
        assert!(disks.asked[0].accessibility_requirements.is_some());
        assert_eq!(ledger.in_progress().len(), 0);
    }
}

#[test]
fn a_claim_that_is_gone_is_dropped_unless_it_is_in_progress() {
    let (config, mut view, claim) = on_node();
    let (mut server, mut disks) = (Server::default(), Disks::default());
    let mut ledger = Ledger::default();
    view.delete(&*claim);
    let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
    assert!(report.done.is_empty() && disks.asked.is_empty());
    assert_eq!(report.end.outcome, Ok(ClaimOutcome::Gone));
    // Nor is another of its name taken for it.
    let mut anew = PersistentVolumeClaim::clone(&claim);
    anew.metadata.uid = Some("u-2".to_owned());
    view.apply(Arc::new(anew));
    let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
    assert_eq!(report.end.outcome, Ok(ClaimOutcome::Gone));
}

#[test]
fn a_claim_that_got_a_volume_elsewhere_is_not_in_progress_any_more() {
    let (config, mut view, claim) = on_node();
    let (mut server, mut disks) = (Server::default(), Disks::default());
    let mut ledger = Ledger::default();
    server.is_full = true;
    let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
    assert!(ledger.claim_ended(&view, &claim, &report.end, 0).is_some());
    let mut bound = PersistentVolumeClaim::clone(&claim);
    bound.spec.volume_name = Some("pv".to_owned());
    view.apply(Arc::new(bound));
    let report = run_claim(&config, &view, &mut server, &mut disks, &mut ledger, &claim);
    assert_eq!(ledger.claim_ended(&view, &claim, &report.end, 0), None);
    assert_eq!(ledger.in_progress().len(), 0);
}

#[test]
fn a_call_whose_answer_is_lost_leaves_the_claim_in_progress() {
    let (config, view, claim) = on_node();
    let mut ledger = Ledger::default();
    let ask = |ledger: &mut Ledger| {
        let ClaimNext::CreateVolume(operation) = ledger.sync_claim(&config, &view, &claim).verdict
        else {
            panic!("no call");
        };
        let inputs = RequestInputs::default();
        let request = operation.request(&config, &view, &inputs).unwrap();
        ledger.claim_asked(&operation, &request);
        operation
    };
    // That nothing was made says that of the first call, and not of two.
    let unchanged = end(ask(&mut ledger).failed("full", CallState::NoChange));
    assert!(ledger.is_in_progress(&claim));
    let _due = ledger.claim_ended(&view, &claim, &unchanged, 0);
    assert!(!ledger.is_in_progress(&claim));
    drop(ask(&mut ledger));
    assert!(ledger.is_in_progress(&claim));
    let _plan = ledger.sync_claim(&config, &view, &claim);
    let _due = ledger.claim_ended(&view, &claim, &unchanged, 0);
    assert!(ledger.is_in_progress(&claim));
    let unchanged = end(ask(&mut ledger).failed("full", CallState::NoChange));
    let _due = ledger.claim_ended(&view, &claim, &unchanged, 0);
    assert!(ledger.is_in_progress(&claim));
}

#[test]
fn another_node_is_chosen_only_for_a_driver_that_knows_places() {
    struct Full;
    impl Driver for Full {
        fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
            let (message, state) = ("full".to_owned(), CallState::Reschedule);
            CreateAnswer::Failed { message, state }
        }
        fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
            panic!("called")
        }
    }
    let (mut config, view, claim) = on_node();
    let rescheduled = |config: &Config| {
        let (mut server, mut ledger) = (Server::default(), Ledger::default());
        let report = run_claim(config, &view, &mut server, &mut Full, &mut ledger, &claim);
        assert_eq!(report.end.progress, Progress::Finished);
        report.end.outcome == Ok(ClaimOutcome::Rescheduled)
    };
    assert!(rescheduled(&config));
    config.topology = None;
    assert!(!rescheduled(&config));
}
