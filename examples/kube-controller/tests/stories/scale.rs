//! Many objects: how many requests they cost.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::cluster::{Controller, claim, class, settings, volume};
use crate::fake::{CLAIMS, EVENTS, Fake, State, VOLUMES, key_of};

#[tokio::test(start_paused = true)]
async fn two_thousand_new_claims_are_handed_over_a_few_at_a_time() {
    let fake = Fake::new();
    fake.create(class("fast", "csi.example.com", "Immediate"));
    for number in 0..2000 {
        let name = format!("data-{number}");
        fake.create(claim(&name, "5Gi", json!({"storageClassName": "fast"})));
    }
    fake.act(|state| state.takes = Duration::from_millis(10));
    let controller = Controller::start(&fake, "a");
    let provisioner = "/metadata/annotations/volume.kubernetes.io~1storage-provisioner";
    fake.until("all are handed over", |state| {
        state
            .all(CLAIMS)
            .iter()
            .all(|claim| claim.pointer(provisioner).is_some())
    })
    .await;
    let most = fake.lock().most_under_way;
    // Sixteen of operations, five watches, and one each of the worker, the
    // events and the Lease.
    assert!(most <= 24, "{most} at once");
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_claims_that_wait_cost_few_requests() {
    let fake = Fake::new();
    fake.create(class("waits", "csi.example.com", "WaitForFirstConsumer"));
    for number in 0..1000 {
        let name = format!("data-{number}");
        let spec = match number % 2 {
            0 => json!({"storageClassName": "waits"}),
            _ => json!({}),
        };
        fake.create(claim(&name, "5Gi", spec));
    }
    let controller = Controller::start(&fake, "a");
    tokio::time::sleep(Duration::from_secs(900)).await;
    let begun = Instant::now();
    let minutes = 10;
    tokio::time::sleep(Duration::from_secs(60 * minutes)).await;
    {
        let state = fake.lock();
        let events = state.requests_since(begun, "", EVENTS);
        let all = state.requests_since(begun, "", "");
        // Upstream: one in five minutes for each.
        assert!(events <= 200 * 10, "{events} about events in ten minutes");
        // And two about the Lease every two seconds.
        assert!(all - events <= 60 * 10 + 10, "{all} in ten minutes");
        assert_eq!(state.all(EVENTS).len(), 1000);
        for event in state.all(EVENTS) {
            let count = event["series"]["count"].as_i64().unwrap();
            assert!(count > 50, "{count}");
        }
    }
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_thousand_volumes_that_a_list_lacks_are_asked_about_a_few_at_a_time() {
    let fake = Fake::new();
    for number in 0..2000 {
        fake.create(volume(&format!("pv-{number}"), "5Gi", json!({})));
    }
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.act(|state| {
        // They went while the watch was not looking.
        state
            .objects
            .retain(|(resource, ..), _| resource != VOLUMES);
        state.takes = Duration::from_millis(10);
        let empty = state.list(VOLUMES);
        state.old_list = Some((VOLUMES.to_owned(), empty));
    });
    let begun = Instant::now();
    fake.until("all are asked about", |state| {
        state.requests_since(begun, "GET", VOLUMES) > 2000
    })
    .await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(volume("new", "5Gi", json!({})));
    fake.until("the work goes on", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_volumes_cost_nothing_but_their_list() {
    let fake = Fake::new();
    let mut made = fake.create(volume("pv", "5Gi", json!({})));
    made["status"]["phase"] = json!("Available");
    fake.act(|state| {
        state.objects.clear();
        for number in 0..100_000 {
            let name = format!("pv-{number}");
            let mut volume = made.clone();
            volume["metadata"]["name"] = json!(name);
            volume["metadata"]["uid"] = json!(format!("uid-{name}"));
            volume["spec"]["storageClassName"] = json!(format!("class-{}", number % 100));
            state.objects.insert(key_of(VOLUMES, &name), volume);
        }
    });
    for number in 0..100 {
        let class = json!({"storageClassName": format!("class-{number}")});
        fake.create(claim(&format!("data-{number}"), "5Gi", class));
    }
    let mut settings = settings("a");
    // Looking at all of them again costs this test more time than anything else.
    settings.resync = Duration::from_secs(3600);
    let controller = Controller::with(&fake, settings);
    let bound = |state: &State| {
        let claims = state.all(CLAIMS).into_iter();
        claims
            .filter(|claim| claim["status"]["phase"] == "Bound")
            .count()
    };
    fake.until("all claims are bound", |state| bound(state) == 100)
        .await;
    let begun = Instant::now();
    // Each watch ends and begins anew.
    tokio::time::sleep(Duration::from_secs(70)).await;
    let state = fake.lock();
    assert_eq!(state.writes.len(), 400, "four for each claim");
    assert_eq!(state.requests_since(begun, "GET", VOLUMES), 0);
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    drop(state);
    fake.assert_no_wrongs();
    controller.stop().await;
}
