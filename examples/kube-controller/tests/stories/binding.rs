//! Claims and volumes that are there.

use serde_json::json;

use crate::cluster::{Controller, claim, class, settings, volume};
use crate::fake::{CLAIMS, Fake, VOLUMES};

#[tokio::test(start_paused = true)]
async fn a_claim_gets_the_smallest_volume_that_fits() {
    let fake = Fake::new();
    fake.create(volume("large", "10Gi", json!({})));
    fake.create(volume("fitting", "6Gi", json!({})));
    fake.create(volume("small", "1Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    {
        let state = fake.lock();
        assert_eq!(state.at(CLAIMS, "shop/data", "/spec/volumeName"), "fitting");
        assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Bound");
        assert_eq!(
            state.at(CLAIMS, "shop/data", "/status/capacity/storage"),
            "6Gi"
        );
        assert_eq!(state.at(VOLUMES, "fitting", "/spec/claimRef/name"), "data");
        assert_eq!(state.at(VOLUMES, "fitting", "/status/phase"), "Bound");
        assert_eq!(state.at(VOLUMES, "large", "/status/phase"), "Available");
        assert_eq!(state.wrongs, [] as [&str; 0]);
        // Volumes become available, then four writes bind.
        assert_eq!(state.writes.len(), 3 + 4, "{:?}", state.writes);
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_comes_later_is_found_by_the_resync() {
    let fake = Fake::new();
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.until("a word about the claim", |state| {
        state
            .events_about("data")
            .contains(&"FailedBinding".to_owned())
    })
    .await;
    fake.create(volume("late", "5Gi", json!({})));
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_reserved_for_a_claim_is_its_own() {
    let fake = Fake::new();
    fake.create(volume("better", "5Gi", json!({})));
    let reference = json!({"claimRef": {"namespace": "shop", "name": "data"}});
    fake.create(volume("reserved", "50Gi", reference));
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(claim("other", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    {
        let state = fake.lock();
        assert_eq!(
            state.at(CLAIMS, "shop/data", "/spec/volumeName"),
            "reserved"
        );
        assert_eq!(state.at(CLAIMS, "shop/other", "/spec/volumeName"), "better");
        let uid = state.at(CLAIMS, "shop/data", "/metadata/uid");
        assert_eq!(state.at(VOLUMES, "reserved", "/spec/claimRef/uid"), uid);
        assert_eq!(state.wrongs, [] as [&str; 0]);
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_names_a_volume_gets_it_or_waits_for_it() {
    let fake = Fake::new();
    fake.create(volume("wanted", "50Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({"volumeName": "wanted"})));
    fake.create(claim("patient", "5Gi", json!({"volumeName": "later"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/data", "/status/phase"),
        "Bound"
    );
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/patient", "/status/phase"),
        "Pending"
    );
    fake.create(volume("later", "5Gi", json!({})));
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(CLAIMS, "shop/patient", "/status/phase"), "Bound");
    assert_eq!(state.at(VOLUMES, "later", "/status/phase"), "Bound");
    // The user chose, not the controller.
    let chosen = "/metadata/annotations/pv.kubernetes.io~1bound-by-controller";
    assert_eq!(state.at(CLAIMS, "shop/data", chosen), json!(null));
    assert_eq!(state.wrongs, [] as [&str; 0]);
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_class_gets_the_default_class() {
    let fake = Fake::new();
    let mut default = class("fast", "csi.example.com", "Immediate");
    default["metadata"]["annotations"] =
        json!({"storageclass.kubernetes.io/is-default-class": "true"});
    fake.create(default);
    fake.create(claim("data", "5Gi", json!({"storageClassName": null})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert_eq!(
        fake.lock()
            .at(CLAIMS, "shop/data", "/spec/storageClassName"),
        "fast"
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_somebody_else_changes_is_decided_on_again() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    fake.act(|state| state.meddling = 7);
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/data", "/status/phase"),
        "Bound"
    );
    assert_eq!(fake.lock().at(VOLUMES, "pv", "/status/phase"), "Bound");
    assert_eq!(fake.lock().meddling, 0);
    let label = fake.lock().at(VOLUMES, "pv", "/metadata/labels/meddled");
    assert!(label.is_string(), "what somebody else did stays");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn fields_that_no_type_knows_are_left_alone() {
    let fake = Fake::new();
    let mut unknown = volume("pv", "5Gi", json!({"futureField": {"deep": [1, 2]}}));
    unknown["metadata"]["futureMetadata"] = json!("kept");
    fake.create(unknown);
    fake.create(claim("data", "5Gi", json!({"futureField": true})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    {
        let state = fake.lock();
        assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Bound");
        assert_eq!(state.at(CLAIMS, "shop/data", "/spec/futureField"), true);
        assert_eq!(state.at(VOLUMES, "pv", "/spec/futureField/deep/1"), 2);
        assert_eq!(state.at(VOLUMES, "pv", "/metadata/futureMetadata"), "kept");
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_writes_nothing() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let mut settings = settings("a");
    settings.dry_run = true;
    let before = fake.lock().objects.clone();
    let controller = Controller::with(&fake, settings);
    fake.quiet().await;
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    controller.stop().await;
    let state = fake.lock();
    assert_eq!(state.writes, [] as [&str; 0]);
    assert_eq!(state.objects, before);
}

#[tokio::test(start_paused = true)]
async fn of_two_claims_that_name_one_volume_one_gets_it() {
    let fake = Fake::new();
    fake.create(volume("wanted", "5Gi", json!({})));
    fake.create(volume("free", "5Gi", json!({})));
    for name in ["one", "two"] {
        fake.create(claim(name, "5Gi", json!({"volumeName": "wanted"})));
    }
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let state = fake.lock();
    let phases = ["shop/one", "shop/two"].map(|name| state.at(CLAIMS, name, "/status/phase"));
    let bound = phases.iter().filter(|phase| **phase == "Bound");
    assert_eq!(bound.count(), 1, "{phases:?}");
    assert_eq!(state.at(VOLUMES, "free", "/status/phase"), "Available");
    drop(state);
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_reservation_that_does_not_fit_binds_nothing_wrong() {
    let fake = Fake::new();
    let reserved = |claim: &str, more: serde_json::Value| {
        let mut spec = json!({"claimRef": {"namespace": "shop", "name": claim}});
        pvbind::plan::apply_merge_patch(&mut spec, &more);
        spec
    };
    // Too small, of another mode, and for a claim that names another.
    fake.create(volume("small", "1Gi", reserved("large", json!({}))));
    let block = json!({"volumeMode": "Block"});
    fake.create(volume("block", "5Gi", reserved("files", block)));
    fake.create(volume("unwanted", "5Gi", reserved("elsewhere", json!({}))));
    fake.create(volume("other", "5Gi", json!({})));
    fake.create(claim("large", "5Ti", json!({})));
    fake.create(claim("elsewhere", "5Gi", json!({"volumeName": "other"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.create(claim("files", "5Gi", json!({})));
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(CLAIMS, "shop/large", "/status/phase"), "Pending");
    assert_eq!(state.at(CLAIMS, "shop/files", "/status/phase"), "Pending");
    let elsewhere = state.at(CLAIMS, "shop/elsewhere", "/spec/volumeName");
    assert_eq!(elsewhere, "other");
    assert_eq!(state.at(VOLUMES, "other", "/status/phase"), "Bound");
    for name in ["small", "block", "unwanted"] {
        assert_eq!(state.at(VOLUMES, name, "/status/phase"), "Available");
        assert_eq!(state.at(VOLUMES, name, "/spec/claimRef/uid"), json!(null));
    }
    drop(state);
    fake.assert_no_wrongs();
    controller.stop().await;
}
