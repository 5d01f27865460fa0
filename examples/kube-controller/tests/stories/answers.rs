//! Answers of the API server that are lost, late, or no.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, volume};
use crate::fake::{CLAIMS, EVENTS, Fake, Fault, Request, VOLUMES};

/// A claim for which the controller makes a folder, and the folder.
fn begin(fake: &Fake, classes: usize) -> std::path::PathBuf {
    // The claim's uid, and so the folder's name, follows from the version.
    for number in 0..classes {
        fake.create(class(&format!("unused-{number}"), HOST_PATH, "Immediate"));
    }
    fake.create(class("local", HOST_PATH, "Immediate"));
    let made = fake.create(claim("data", "5Gi", json!({"storageClassName": "local"})));
    folder().join(format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap()))
}

fn creates_volume(request: &Request) -> bool {
    request.method == Method::POST && request.target.resource == VOLUMES
}

fn reads_volume(request: &Request) -> bool {
    let target = &request.target;
    request.method == Method::GET && target.resource == VOLUMES && !target.name.is_empty()
}

async fn is_bound(fake: &Fake) {
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_creation_whose_answer_is_lost_keeps_the_backend() {
    let fake = Fake::new();
    let folder = begin(&fake, 11);
    let mut is_lost = false;
    fake.faults(move |request| match creates_volume(request) && !is_lost {
        true => {
            is_lost = true;
            Fault::LosesAnswer
        }
        false => Fault::None,
    });
    let controller = Controller::start(&fake, "a");
    is_bound(&fake).await;
    fake.quiet().await;
    assert!(folder.is_dir());
    let events = fake.lock().events_about("data");
    assert_eq!(events, ["ProvisioningSucceeded"]);
    fake.assert_no_wrongs();
    std::fs::remove_dir_all(folder).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_was_created_unheard_is_found_before_anything_is_cleaned_up() {
    let fake = Fake::new();
    let folder = begin(&fake, 12);
    let mut tries = 0;
    fake.faults(move |request| match creates_volume(request) {
        true => {
            tries += 1;
            match tries {
                1 => Fault::LosesAnswer,
                2..=5 => Fault::Lost,
                _ => Fault::None,
            }
        }
        false => Fault::None,
    });
    let controller = Controller::start(&fake, "a");
    fake.until("told", |state| {
        let events = state.events_about("data");
        events.contains(&"ProvisioningSucceeded".to_owned())
    })
    .await;
    is_bound(&fake).await;
    assert!(folder.is_dir());
    let events = fake.lock().events_about("data");
    assert_eq!(events, ["ProvisioningSucceeded"]);
    std::fs::remove_dir_all(folder).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_backend_is_kept_while_nobody_says_whether_its_volume_was_created() {
    let fake = Fake::new();
    let folder = begin(&fake, 13);
    let begun = Instant::now();
    let mut is_created = false;
    fake.faults(move |request| {
        if begun.elapsed() > Duration::from_secs(120) {
            return Fault::None;
        }
        match () {
            () if creates_volume(request) && !is_created => {
                is_created = true;
                Fault::LosesAnswer
            }
            () if creates_volume(request) => Fault::Lost,
            () if reads_volume(request) && is_created => Fault::Lost,
            () => Fault::None,
        }
    });
    let controller = Controller::start(&fake, "a");
    fake.until("given up", |state| {
        let events = state.events_about("data");
        events.contains(&"ProvisioningFailed".to_owned())
    })
    .await;
    assert!(begun.elapsed() > Duration::from_secs(50), "it waited");
    assert!(folder.is_dir());
    {
        let state = fake.lock();
        let event = state.all(EVENTS)[0].clone();
        let note = event["note"].as_str().unwrap().to_owned();
        assert!(note.contains("The volume is kept"), "{note}");
    }
    is_bound(&fake).await;
    fake.quiet().await;
    assert!(folder.is_dir());
    fake.assert_no_wrongs();
    std::fs::remove_dir_all(folder).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_cannot_be_created_is_cleaned_up_and_made_again() {
    let fake = Fake::new();
    let folder = begin(&fake, 14);
    let mut tries = 0;
    fake.faults(move |request| match creates_volume(request) && tries < 5 {
        true => {
            tries += 1;
            Fault::Refused(403, "Forbidden", None)
        }
        false => Fault::None,
    });
    let controller = Controller::start(&fake, "a");
    fake.until("given up", |state| {
        let events = state.events_about("data");
        events.contains(&"ProvisioningFailed".to_owned())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!folder.exists(), "cleaned up");
    is_bound(&fake).await;
    assert!(folder.is_dir());
    std::fs::remove_dir_all(folder).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_server_has_no_time_for_is_sent_again() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let mut count = 0;
    fake.faults(move |request| {
        count += usize::from(request.method != Method::GET);
        match (request.method != Method::GET, count % 4) {
            (true, 1) => Fault::Refused(429, "TooManyRequests", Some(2)),
            (true, 2) => Fault::Refused(503, "ServiceUnavailable", None),
            (true, 3) => Fault::Refused(500, "InternalError", None),
            _ => Fault::None,
        }
    });
    let controller = Controller::start(&fake, "a");
    is_bound(&fake).await;
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_forbidden_is_asked_for_seldom_and_health_tells() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    let lists = |request: &Request| request.method == Method::GET && request.target.name.is_empty();
    fake.faults(move |request| match lists(request) {
        true => Fault::Refused(403, "Forbidden", None),
        false => Fault::None,
    });
    let controller = Controller::start(&fake, "a");
    tokio::time::sleep(Duration::from_secs(30)).await;
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = fake.lock().requests_since(begun, "GET", VOLUMES);
    assert!((10..=13).contains(&asked), "{asked} lists in a minute");
    assert_eq!(controller.health.answer("/readyz").0, 503);
    assert_eq!(controller.health.answer("/healthz").0, 200);
    tokio::time::sleep(Duration::from_secs(300)).await;
    let deaf = (503, "the lists do not come".into());
    assert_eq!(controller.health.answer("/healthz"), deaf);
    fake.faults(|_| Fault::None);
    fake.until("it works", |state| {
        state.at(VOLUMES, "pv", "/status/phase") == "Available"
    })
    .await;
    assert_eq!(controller.health.answer("/healthz").0, 200);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_comes_is_asked_for_again() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    let mut hung = false;
    fake.faults(move |request| {
        let is_list = request.target.name.is_empty() && request.method == Method::GET;
        match is_list && request.target.resource == CLAIMS && !hung {
            true => {
                hung = true;
                Fault::Hangs
            }
            false => Fault::None,
        }
    });
    let controller = Controller::start(&fake, "a");
    fake.until("it works", |state| {
        state.at(VOLUMES, "pv", "/status/phase") == "Available"
    })
    .await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_never_comes_makes_a_leader_not_ready_until_it_does() {
    let fake = Fake::new();
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.faults(|request| {
        let is_list = request.method == Method::GET && request.target.name.is_empty();
        match is_list && request.target.resource == VOLUMES {
            true => Fault::Hangs,
            false => Fault::None,
        }
    });
    fake.act(|state| state.old_list = Some((VOLUMES.to_owned(), state.list(VOLUMES))));
    tokio::time::sleep(Duration::from_secs(100)).await;
    for _ in 0..100 {
        let fails = (503, "a watch fails".into());
        assert_eq!(controller.health.answer("/readyz"), fails);
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    fake.faults(|_| Fault::None);
    fake.until("it is listed", |_| {
        controller.health.answer("/readyz").0 == 200
    })
    .await;
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn health_tells_of_who_waits_for_a_server_that_is_away() {
    let fake = Fake::new();
    fake.act(|state| state.away = true);
    let controller = Controller::start(&fake, "a");
    tokio::time::sleep(Duration::from_secs(45)).await;
    let away = (503, "nothing was learned of the Lease yet".into());
    assert_eq!(controller.health.answer("/readyz"), away);
    fake.act(|state| state.away = false);
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn events_go_on_though_one_hangs_and_no_first_one_is_lost() {
    let fake = Fake::new();
    let mut count = 0;
    fake.faults(move |request| {
        let is_event = request.target.resource == EVENTS;
        count += usize::from(is_event);
        match (is_event, count) {
            (true, 1) => Fault::Hangs,
            (true, 2) => Fault::Lost,
            _ => Fault::None,
        }
    });
    for number in 0..3 {
        fake.create(claim(&format!("data-{number}"), "5Gi", json!({})));
    }
    let controller = Controller::start(&fake, "a");
    tokio::time::sleep(Duration::from_secs(60)).await;
    for number in 0..3 {
        let events = fake.lock().events_about(&format!("data-{number}"));
        assert_eq!(events, ["FailedBinding"]);
    }
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_event_of_an_object_with_any_name_is_published() {
    let fake = Fake::new();
    let name = format!("{}.{}", "a".repeat(219), "b".repeat(20));
    fake.create(claim(&name, "5Gi", json!({})));
    let controller = Controller::start(&fake, &"é".repeat(100));
    fake.until("published", |state| !state.events_about(&name).is_empty())
        .await;
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_understood_stops_only_what_depends_on_it() {
    let fake = Fake::new();
    fake.create(volume("strange", "5Gi", json!({})));
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("named", "5Gi", json!({"volumeName": "strange"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let strange = json!({"spec": {"capacity": {"storage": "five"}}});
    fake.patch(VOLUMES, "strange", strange);
    fake.create(claim("data", "5Gi", json!({})));
    fake.quiet().await;
    is_bound(&fake).await;
    // Nobody took it for deleted.
    let phase = |fake: &Fake| fake.lock().at(CLAIMS, "shop/named", "/status/phase");
    assert_eq!(phase(&fake), "Bound");
    controller.kill().await;

    // One that never understood it does not, either.
    let controller = Controller::start(&fake, "b");
    fake.quiet().await;
    assert_eq!(phase(&fake), "Bound");
    fake.create(volume("more", "5Gi", json!({})));
    fake.create(claim("more", "5Gi", json!({})));
    fake.quiet().await;
    let more = fake.lock().at(CLAIMS, "shop/more", "/status/phase");
    assert_eq!(more, "Bound");
    let plain = json!({"spec": {"capacity": {"storage": "6Gi"}}});
    fake.patch(VOLUMES, "strange", plain);
    fake.delete(CLAIMS, "shop/named");
    fake.quiet().await;
    let phase = fake.lock().at(VOLUMES, "strange", "/status/phase");
    assert_eq!(phase, "Released");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_waits_for_a_volume_that_is_kept_for_it_and_is_not_understood() {
    let fake = Fake::new();
    let kept = json!({"claimRef": {"namespace": "shop", "name": "data"}});
    fake.create(volume("kept", "5Gi", kept));
    let strange = json!({"spec": {"capacity": {"storage": "five"}}});
    fake.patch(VOLUMES, "kept", strange);
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(claim("other", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let bound_to = |name: &str| {
        let key = format!("shop/{name}");
        fake.lock().at(CLAIMS, &key, "/spec/volumeName")
    };
    // Its data may be there.
    assert_eq!(bound_to("data"), Value::Null);
    assert_eq!(bound_to("other"), "pv");
    let plain = json!({"spec": {"capacity": {"storage": "5Gi"}}});
    fake.patch(VOLUMES, "kept", plain);
    fake.quiet().await;
    assert_eq!(bound_to("data"), "kept");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_deleted_and_made_again_while_the_server_is_away_gets_nothing_of_the_old() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.act(|state| state.away = true);
    tokio::time::sleep(Duration::from_secs(20)).await;
    fake.delete(CLAIMS, "shop/data");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(fake.lock().get(CLAIMS, "shop/data").is_none());
    fake.create(claim("data", "5Gi", json!({})));
    tokio::time::sleep(Duration::from_secs(30)).await;
    fake.act(|state| state.away = false);
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Released");
    assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Pending");
    assert_eq!(
        state.at(CLAIMS, "shop/data", "/spec/volumeName"),
        Value::Null
    );
    drop(state);
    fake.assert_no_wrongs();
    controller.stop().await;
}
