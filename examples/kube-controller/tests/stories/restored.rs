//! An API server that goes back in time, and never refuses a connection: no watch
//! breaks off, and none tells of it.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use crate::cluster::{Controller, claim, settings, volume};
use crate::fake::{Backup, CLAIMS, Fake, Fault, LEASES, Request, State, VOLUMES};

/// A controller without a Lease, by which it would find out.
fn start(fake: &Fake) -> Controller {
    let mut settings = settings("a");
    settings.lease = None;
    Controller::with(fake, settings)
}

fn label(fake: &Fake, resource: &str, name: &str, label: &str) {
    let labels = json!({"metadata": {"labels": {"a": label}}});
    fake.patch(resource, name, labels);
}

/// Others write until the watches, which wait for that version, speak again.
fn comes_up_to(fake: &Fake, version: u64) {
    while fake.lock().version() < version {
        let name = format!("n-{}", fake.lock().version());
        fake.create(json!({"kind": "Node", "apiVersion": "v1", "metadata": {"name": name}}));
    }
}

/// How many single volumes and claims were read, and how often volumes listed.
fn reads_and_lists(state: &State, since: Instant) -> (usize, usize) {
    let since = state.requests.iter().filter(|request| request.at >= since);
    let gets = since.filter(|request| request.method == Method::GET);
    let (lists, reads): (Vec<_>, Vec<_>) = gets.partition(|request| request.target.name.is_empty());
    let of = |requests: &[&Request], resource: &str| {
        let requests = requests.iter();
        requests
            .filter(|request| request.target.resource == resource)
            .count()
    };
    (
        of(&reads, VOLUMES) + of(&reads, CLAIMS),
        of(&lists, VOLUMES),
    )
}

async fn is_bound(fake: &Fake) {
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_that_has_an_older_version_of_a_volume_or_a_claim_is_followed() {
    for (resource, key) in [(VOLUMES, "pv"), (CLAIMS, "shop/data")] {
        let fake = Fake::new();
        match resource {
            VOLUMES => fake.create(volume("pv", "5Gi", json!({}))),
            _ => fake.create(claim("data", "5Gi", json!({}))),
        };
        let controller = start(&fake);
        fake.quiet().await;
        let backup = fake.lock().backup();
        label(&fake, resource, key, "not to be");
        fake.quiet().await;
        let version = fake.lock().version();
        fake.act(|state| state.restore(backup));
        comes_up_to(&fake, version);
        let restored = Instant::now();
        match resource {
            VOLUMES => fake.create(claim("data", "5Gi", json!({}))),
            _ => fake.create(volume("pv", "5Gi", json!({}))),
        };
        is_bound(&fake).await;
        fake.quiet().await;
        let state = fake.lock();
        assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Bound");
        assert_eq!(state.at(resource, key, "/metadata/labels"), json!(null));
        drop(state);
        // What is known of others may be of a time that never was, too.
        assert_eq!(reads_and_lists(&fake.lock(), restored), (1, 1));
        assert_eq!(
            controller.health.answer("/readyz"),
            (200, "ok, leads".into())
        );
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_whose_lease_is_of_before_is_found_out_without_any_write() {
    is_found_out_by_the_lease(|_| {}).await;
}

#[tokio::test(start_paused = true)]
async fn one_that_has_no_lease_is_found_out_by_its_leader() {
    is_found_out_by_the_lease(|(_, objects)| {
        objects.retain(|(resource, ..), _| resource != LEASES);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_whose_lease_nobody_holds_is_found_out_by_its_leader() {
    is_found_out_by_the_lease(|(_, objects)| {
        let leases = objects.iter_mut();
        for (_, lease) in leases.filter(|((resource, ..), _)| resource == LEASES) {
            lease["spec"]["holderIdentity"] = json!(null);
        }
    })
    .await;
}

async fn is_found_out_by_the_lease(change: impl FnOnce(&mut Backup)) {
    let fake = Fake::new();
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let mut backup = fake.lock().backup();
    change(&mut backup);
    for number in 0..10 {
        fake.create(volume(&format!("never-{number}"), "5Gi", json!({})));
    }
    fake.quiet().await;
    let version = fake.lock().version();
    fake.act(|state| state.restore(backup));
    // No watch tells of these.
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    assert!(fake.lock().version() < version);
    is_bound(&fake).await;
    fake.quiet().await;
    let bound = fake.lock().at(CLAIMS, "shop/data", "/spec/volumeName");
    assert_eq!(bound, "pv");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_has_a_volume_no_more_or_made_it_again_is_followed() {
    for is_made_again in [false, true] {
        let fake = Fake::new();
        fake.create(volume("large", "50Gi", json!({})));
        let controller = start(&fake);
        fake.quiet().await;
        let backup = fake.lock().backup();
        fake.create(volume("small", "5Gi", json!({})));
        for number in 0..10 {
            label(&fake, VOLUMES, "small", &number.to_string());
        }
        fake.quiet().await;
        let version = fake.lock().version();
        fake.act(|state| state.restore(backup));
        if is_made_again {
            fake.create(volume("small", "6Gi", json!({})));
        }
        comes_up_to(&fake, version);
        fake.create(claim("data", "5Gi", json!({})));
        is_bound(&fake).await;
        let bound = fake.lock().at(CLAIMS, "shop/data", "/spec/volumeName");
        let wanted = if is_made_again { "small" } else { "large" };
        assert_eq!(bound, wanted);
        fake.quiet().await;
        assert_eq!(fake.lock().at(VOLUMES, wanted, "/status/phase"), "Bound");
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_has_a_volume_no_more_or_a_newer_one_that_no_watch_tells_of_is_followed() {
    for is_made_again in [false, true] {
        let fake = Fake::new();
        fake.create(claim("data", "5Gi", json!({})));
        let controller = start(&fake);
        fake.quiet().await;
        let backup = fake.lock().backup();
        // They are about to bind when it goes back.
        fake.faults(|request| match &*request.target.name {
            "small" if request.method == Method::PATCH => Fault::Refused(400, "BadRequest", None),
            _ => Fault::None,
        });
        let small = fake.create(volume("small", "5Gi", json!({})));
        let small = small["metadata"]["resourceVersion"].as_str().unwrap();
        let small: u64 = small.parse().unwrap();
        for number in 0..100 {
            fake.create(volume(&format!("never-{number}"), "1Gi", json!({})));
        }
        fake.quiet().await;
        let version = fake.lock().version();
        fake.act(|state| {
            state.restore(backup);
            state.faults = None;
        });
        if is_made_again {
            comes_up_to(&fake, small + 1);
            fake.create(volume("small", "6Gi", json!({})));
        }
        let class = json!({"storageClassName": "other"});
        fake.create(volume("hidden", "9Gi", class.clone()));
        fake.create(claim("hidden", "9Gi", class));
        let restored = Instant::now();
        fake.until("found out", |state| {
            state.at(CLAIMS, "shop/hidden", "/status/phase") == "Bound"
        })
        .await;
        let took = restored.elapsed();
        assert!(took < Duration::from_secs(150), "{took:?}");
        assert!(fake.lock().version() < version);
        fake.quiet().await;
        let phase = fake.lock().at(CLAIMS, "shop/data", "/status/phase");
        assert_eq!(phase, if is_made_again { "Bound" } else { "Pending" });
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_made_again_in_an_older_version_is_not_hidden_by_the_one_that_was() {
    let fake = Fake::new();
    let controller = start(&fake);
    fake.quiet().await;
    let backup = fake.lock().backup();
    for number in 0..10 {
        fake.create(volume(&format!("never-{number}"), "5Gi", json!({})));
    }
    fake.create(volume("small", "5Gi", json!({})));
    fake.quiet().await;
    let version = fake.lock().version();
    fake.act(|state| state.restore(backup));
    fake.create(volume("small", "6Gi", json!({})));
    fake.create(claim("data", "6Gi", json!({})));
    comes_up_to(&fake, version);
    // The list has others that are newer than the one that was.
    fake.create(volume("tiny", "1Gi", json!({})));
    fake.act(|state| state.away = true);
    tokio::time::sleep(Duration::from_secs(2)).await;
    fake.act(|state| state.away = false);
    is_bound(&fake).await;
    fake.quiet().await;
    let bound = fake.lock().at(CLAIMS, "shop/data", "/spec/volumeName");
    assert_eq!(bound, "small");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_that_has_an_older_version_of_a_volume_to_be_deleted_is_followed() {
    let fake = Fake::new();
    // Not under a folder where anything is deleted, so it is tried again and again.
    let spec = json!({"persistentVolumeReclaimPolicy": "Delete", "nfs": null,
        "hostPath": {"path": "/elsewhere"},
        "claimRef": {"namespace": "shop", "name": "gone", "uid": "uid-7"}});
    fake.create(volume("pv", "5Gi", spec));
    let controller = start(&fake);
    let is_failed = |fake: &Fake| fake.lock().at(VOLUMES, "pv", "/status/phase") == "Failed";
    fake.quiet().await;
    assert!(is_failed(&fake));
    let backup = fake.lock().backup();
    label(&fake, VOLUMES, "pv", "not to be");
    fake.quiet().await;
    fake.act(|state| state.restore(backup));
    let restored = Instant::now();
    fake.until("everything is listed again", |state| {
        reads_and_lists(state, restored).1 > 0
    })
    .await;
    fake.quiet().await;
    assert!(is_failed(&fake));
    assert_eq!(reads_and_lists(&fake.lock(), restored).1, 1);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_comes_before_the_news_costs_no_question() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let lags = [VOLUMES, CLAIMS].map(|resource| (resource, Duration::from_secs(3)));
    fake.act(|state| {
        state.meddling = 7;
        state.lags = lags.into_iter().collect();
    });
    let controller = start(&fake);
    let begun = Instant::now();
    is_bound(&fake).await;
    fake.quiet().await;
    assert_eq!(fake.lock().meddling, 0);
    assert_eq!(reads_and_lists(&fake.lock(), begun), (0, 1));
    fake.assert_no_wrongs();
    controller.stop().await;
}
