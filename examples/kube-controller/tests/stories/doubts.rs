//! What a list lacks, and cannot be read by itself either.

use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::Instant;

use crate::cluster::{Controller, claim, volume};
use crate::fake::{CLAIMS, Fake, Fault, State, VOLUMES, key_of};

/// A cluster with two volumes, of which the claim `named` is bound to the one, and
/// a list that is older than both; the watch that follows it is silent for 20 s.
async fn begin(meanwhile: impl FnOnce(&mut State)) -> (Fake, Controller) {
    let fake = Fake::new();
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let before = fake.lock().list(VOLUMES);
    fake.create(volume("odd", "5Gi", json!({})));
    fake.create(claim("named", "5Gi", json!({"volumeName": "odd"})));
    fake.create(volume("pv", "6Gi", json!({})));
    fake.quiet().await;
    fake.act(|state| {
        meanwhile(state);
        state.old_list = Some((VOLUMES.to_owned(), before));
    });
    fake.until("listed", |state| state.old_list.is_none()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    (fake, controller)
}

async fn is_bound(fake: &Fake) {
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_doubt_is_over_when_the_watch_tells_of_the_object() {
    for is_deleted in [false, true] {
        let (fake, controller) = begin(|state| {
            state.faults = Some(Box::new(|request| match &*request.target.name {
                "odd" if request.method == Method::GET => Fault::Refused(403, "Forbidden", None),
                _ => Fault::None,
            }));
            if is_deleted {
                let key = key_of(VOLUMES, "odd");
                state
                    .patch(&key, "", &json!({"metadata": {"finalizers": null}}))
                    .unwrap();
                state.delete(&key, &json!({})).unwrap();
            }
        })
        .await;
        let listed = Instant::now();
        fake.create(claim("data", "6Gi", json!({})));
        let writes = fake.lock().writes.len();
        tokio::time::sleep(Duration::from_secs(15)).await;
        assert_eq!(fake.lock().writes.len(), writes, "nothing was synced");
        is_bound(&fake).await;
        assert!(listed.elapsed() < Duration::from_secs(22));
        fake.quiet().await;
        let phase = fake.lock().at(CLAIMS, "shop/named", "/status/phase");
        assert_eq!(phase, if is_deleted { "Lost" } else { "Bound" });
        assert_eq!(
            controller.health.answer("/readyz"),
            (200, "ok, leads".into())
        );
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_may_not_be_read_is_asked_for_seldom_and_health_tells() {
    let (fake, controller) = begin(|state| {
        // The watch does not tell of it, either.
        let lag = Duration::from_secs(3600);
        state.lags.insert(VOLUMES, lag);
        state.faults = Some(Box::new(|request| match &*request.target.name {
            "odd" if request.method == Method::GET => Fault::Refused(403, "Forbidden", None),
            _ => Fault::None,
        }));
    })
    .await;
    fake.create(claim("data", "6Gi", json!({})));
    let writes = fake.lock().writes.len();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(controller.health.answer("/readyz").0, 200);
    tokio::time::sleep(Duration::from_secs(110)).await;
    let waits = (503, "cannot read volume odd, and nothing is synced".into());
    assert_eq!(controller.health.answer("/readyz"), waits);
    assert_eq!(controller.health.answer("/healthz").0, 200);
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(600)).await;
    {
        let state = fake.lock();
        let asked = state.requests_since(begun, "GET", VOLUMES);
        assert!((19..=21).contains(&asked), "{asked} times in ten minutes");
        assert_eq!(state.writes.len(), writes, "nothing was synced");
    }
    fake.faults(|_| Fault::None);
    is_bound(&fake).await;
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_failed_before_a_doubt_does_not_keep_the_worker_busy_while_it_stands() {
    let (fake, controller) = begin(|state| {
        state.faults = Some(Box::new(|request| match &*request.target.name {
            "odd" if request.method == Method::GET => Fault::Refused(403, "Forbidden", None),
            "pv" if request.method == Method::PATCH => Fault::Refused(400, "BadRequest", None),
            _ => Fault::None,
        }));
        // Its sync fails at once, and comes back while the list is doubted.
        let named = claim("data", "6Gi", json!({"volumeName": "pv"}));
        state.create(CLAIMS, named).unwrap();
    })
    .await;
    // This would never end if the worker did not wait for the time to come.
    tokio::time::sleep(Duration::from_secs(15)).await;
    fake.faults(|_| Fault::None);
    is_bound(&fake).await;
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn many_objects_that_nobody_tells_of_are_asked_about_in_turns_and_health_tells() {
    let fake = Fake::new();
    for number in 0..40 {
        fake.create(volume(&format!("pv-{number}"), "5Gi", json!({})));
    }
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.faults(|request| {
        let is_read = request.method == Method::GET && !request.target.name.is_empty();
        match is_read && request.target.resource == VOLUMES {
            true => Fault::Hangs,
            false => Fault::None,
        }
    });
    fake.act(|state| {
        state.objects.retain(|(kind, ..), _| kind != VOLUMES);
        state.old_list = Some((VOLUMES.to_owned(), state.list(VOLUMES)));
    });
    tokio::time::sleep(Duration::from_secs(200)).await;
    let waits = (503, "cannot read volume pv-0, and nothing is synced".into());
    assert_eq!(controller.health.answer("/readyz"), waits);
    assert_eq!(controller.health.answer("/healthz").0, 200);
    fake.faults(|_| Fault::None);
    fake.create(volume("new", "6Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    is_bound(&fake).await;
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn questions_do_not_stand_in_line_behind_operations() {
    let fake = Fake::new();
    let deleted = |number: usize| {
        let reference =
            json!({"namespace": "shop", "name": "gone", "uid": format!("uid-{number}")});
        json!({"persistentVolumeReclaimPolicy": "Delete", "nfs": null, "claimRef": reference,
            "hostPath": {"path": "/elsewhere"}})
    };
    for number in 0..200 {
        fake.create(volume(&format!("going-{number}"), "5Gi", deleted(number)));
    }
    fake.create(volume("odd", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    // Operations hang, many of them, and one object is doubted.
    fake.faults(|request| match request.target.name.starts_with("going-") {
        true => Fault::Hangs,
        false => Fault::None,
    });
    tokio::time::sleep(Duration::from_secs(130)).await;
    fake.patch(
        VOLUMES,
        "odd",
        json!({"metadata": {"labels": {"a": "new"}}}),
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = |state: &State| {
        let mut requests = state.requests.iter();
        requests.any(|request| request.method == Method::GET && request.target.name == "odd")
    };
    assert!(!asked(&fake.lock()));
    fake.act(|state| {
        let mut list = state.list(VOLUMES);
        let items = list["items"].as_array_mut().unwrap();
        items.retain(|item| item["metadata"]["name"] != "odd");
        state.old_list = Some((VOLUMES.to_owned(), list));
    });
    fake.until("listed", |state| state.old_list.is_none()).await;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(controller.health.answer("/healthz").0, 200);
    }
    assert!(asked(&fake.lock()));
    controller.kill().await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_version_that_a_watch_tells_of_late_does_not_make_an_object_understood() {
    let strange = json!({"spec": {"capacity": {"storage": "five"}}});
    let (fake, controller) = begin(|state| {
        let key = key_of(VOLUMES, "odd");
        state.patch(&key, "", &strange).unwrap();
        // What was before is told soon, and this later.
        state.lags.insert(VOLUMES, Duration::from_secs(60));
    })
    .await;
    tokio::time::sleep(Duration::from_secs(25)).await;
    let before = fake.lock().writes.len();
    fake.delete(CLAIMS, "shop/named");
    tokio::time::sleep(Duration::from_secs(25)).await;
    {
        let state = fake.lock();
        assert!(state.get(CLAIMS, "shop/named").is_none());
        assert_eq!(state.writes[before..], [] as [&str; 0]);
    }
    let plain = json!({"spec": {"capacity": {"storage": "6Gi"}}});
    fake.patch(VOLUMES, "odd", plain);
    fake.quiet().await;
    fake.quiet().await;
    let phase = fake.lock().at(VOLUMES, "odd", "/status/phase");
    assert_eq!(phase, "Released");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_not_understood_when_it_is_asked_for_stops_only_what_depends_on_it() {
    let strange = json!({"spec": {"capacity": {"storage": "five"}}});
    let (fake, controller) = begin(|state| {
        let key = key_of(VOLUMES, "odd");
        state.patch(&key, "", &strange).unwrap();
    })
    .await;
    let begun = Instant::now();
    fake.create(claim("data", "6Gi", json!({})));
    is_bound(&fake).await;
    assert!(
        begun.elapsed() < Duration::from_secs(15),
        "before the watch speaks"
    );
    let told = |state: &State| state.events_about("odd");
    fake.until("told", |state| !told(state).is_empty()).await;
    assert_eq!(told(&fake.lock()), ["FailedBinding"]);
    fake.quiet().await;
    let phase = |key: &str| fake.lock().at(CLAIMS, key, "/status/phase");
    assert_eq!(phase("shop/named"), "Bound");
    assert_eq!(
        controller.health.answer("/readyz"),
        (200, "ok, leads".into())
    );
    // Once it can be read, all goes on.
    let plain = json!({"spec": {"capacity": {"storage": "6Gi"}}});
    fake.patch(VOLUMES, "odd", plain);
    fake.delete(CLAIMS, "shop/named");
    fake.quiet().await;
    let phase = fake.lock().at(VOLUMES, "odd", "/status/phase");
    assert_eq!(phase, "Released");
    fake.assert_no_wrongs();
    controller.stop().await;
}
