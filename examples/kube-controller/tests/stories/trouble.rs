//! An API server that is away, and one that says what is not so.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, settings, volume};
use crate::fake::{CLAIMS, Fake, State, VOLUMES, key_of};
use crate::killed::{begin, end, outsiders, untroubled};

/// The objects without what depends on how many writes there were.
pub(crate) fn picture(state: &State) -> Vec<Value> {
    let objects = state.all(VOLUMES).into_iter().chain(state.all(CLAIMS));
    objects
        .map(|object| {
            let mut object = object.clone();
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.remove("resourceVersion");
            if object["kind"] == "PersistentVolume" {
                object["metadata"].as_object_mut().unwrap().remove("uid");
            }
            if let Some(reference) = object.pointer_mut("/spec/claimRef") {
                reference.as_object_mut().unwrap().remove("resourceVersion");
            }
            object
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_for_a_minute_loses_nothing() {
    let fake = Fake::new();
    begin(&fake);
    let _outsiders = outsiders(&fake);
    let controller = Controller::start(&fake, "a");
    let (bound, released, ..) = untroubled().await;
    for writes_before in [1, 4, 9, 20] {
        fake.until("some writes", |state| state.writes.len() >= writes_before)
            .await;
        fake.act(|state| state.away = true);
        tokio::time::sleep(Duration::from_secs(60)).await;
        fake.act(|state| state.away = false);
    }
    fake.quiet().await;
    assert_eq!(picture(&fake.lock()), bound);
    // Claims are deleted while nobody can see it.
    fake.act(|state| state.away = true);
    tokio::time::sleep(Duration::from_secs(30)).await;
    end(&fake);
    tokio::time::sleep(Duration::from_secs(30)).await;
    let begun = Instant::now();
    fake.act(|state| state.away = false);
    fake.until("the lead is taken again, and the work done", |state| {
        picture(state) == released
    })
    .await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(45), "{took:?}");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_while_volumes_are_reclaimed_loses_nothing() {
    let (_, released, ..) = untroubled().await;
    for writes_before in [1, 5, 8, 11, 14] {
        let fake = Fake::new();
        begin(&fake);
        let _outsiders = outsiders(&fake);
        let controller = Controller::start(&fake, "a");
        fake.quiet().await;
        let bound = fake.lock().writes.len();
        end(&fake);
        fake.until("some writes", |state| {
            state.writes.len() >= bound + writes_before
        })
        .await;
        fake.act(|state| state.away = true);
        tokio::time::sleep(Duration::from_secs(60)).await;
        fake.act(|state| state.away = false);
        fake.quiet().await;
        assert_eq!(picture(&fake.lock()), released, "after {writes_before}");
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn watches_that_lag_behind_change_nothing_about_the_end() {
    let (bound, released, ..) = untroubled().await;
    for (volumes, claims) in [(10, 0), (0, 10), (3, 7)] {
        let fake = Fake::new();
        begin(&fake);
        let _outsiders = outsiders(&fake);
        let lags = [(VOLUMES, volumes), (CLAIMS, claims)];
        let lags = lags.map(|(resource, seconds)| (resource, Duration::from_secs(seconds)));
        fake.act(|state| state.lags = lags.into_iter().collect());
        let controller = Controller::start(&fake, "a");
        fake.quiet().await;
        assert_eq!(picture(&fake.lock()), bound);
        end(&fake);
        fake.quiet().await;
        assert_eq!(picture(&fake.lock()), released);
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_something_in_between_does_not_release_a_volume() {
    let fake = Fake::new();
    let reference = json!({"claimRef": {"namespace": "shop", "name": "unseen", "uid": "uid-7"}});
    fake.create(volume("pv", "5Gi", reference));
    fake.act(|state| state.misrouted = true);
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    assert_eq!(fake.lock().writes, [] as [&str; 0]);
    fake.act(|state| state.misrouted = false);
    fake.quiet().await;
    assert_eq!(fake.lock().at(VOLUMES, "pv", "/status/phase"), "Released");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_than_an_own_write_takes_nothing_away() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let before = fake.lock().list(VOLUMES);
    let made = fake.create(claim(
        "old-list",
        "5Gi",
        json!({"storageClassName": "local"}),
    ));
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/old-list", "/status/phase"),
        "Bound"
    );
    let writes = fake.lock().writes.len();
    fake.act(|state| state.old_list = Some((VOLUMES.to_owned(), before)));
    fake.quiet().await;
    let state = fake.lock();
    assert!(state.old_list.is_none(), "it was listed again");
    assert_eq!(state.writes.len(), writes, "{:?}", state.writes);
    assert!(
        !state
            .events_about("old-list")
            .contains(&"ClaimLost".to_owned())
    );
    drop(state);
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    std::fs::remove_dir_all(folder().join(name)).unwrap();
    controller.stop().await;
}

/// A time that is right for the API server, and too late for the library of
/// times here.
const TOO_LATE: &str = "9999-12-31T23:59:59Z";

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_stops_only_what_depends_on_it() {
    let fake = Fake::new();
    // Whoever may change an object may write this; nobody looks at it.
    let odd_field = json!({"metadata": {"managedFields": [{"manager": "me", "time": TOO_LATE}]}});
    let odd_status = json!({"status": {"conditions": [{"type": "Resizing", "status": "True",
        "lastTransitionTime": TOO_LATE}]}});
    let make = |name: &str| {
        for part in ["", "-field", "-status"] {
            let (name, class) = (format!("{name}{part}"), json!({"storageClassName": part}));
            fake.create(volume(&name, "5Gi", class.clone()));
            fake.create(claim(&name, "5Gi", class));
        }
        fake.create(json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"namespace": "elsewhere", "name": name},
            "spec": {"containers": [{"name": "c"}]}, "status": {"startTime": TOO_LATE}}));
        fake.patch(CLAIMS, &format!("shop/{name}-field"), odd_field.clone());
        let key = key_of(CLAIMS, &format!("shop/{name}-status"));
        let patched = fake.act(|state| state.patch(&key, "status", &odd_status));
        patched.unwrap();
    };
    let phase = |name: &str| {
        fake.lock()
            .at(CLAIMS, &format!("shop/{name}"), "/status/phase")
    };
    // Some are there before it lists, some come while it watches.
    make("listed");
    let controller = Controller::start(&fake, "a");
    fake.until("the first are bound", |state| {
        state.at(CLAIMS, "shop/listed-field", "/status/phase") == "Bound"
    })
    .await;
    make("watched");
    fake.quiet().await;
    for name in ["listed", "watched"] {
        assert_eq!(phase(name), "Bound");
        assert_eq!(phase(&format!("{name}-field")), "Bound");
    }
    assert_eq!(phase("listed-status"), "Pending");
    let events = fake.lock().events_about("listed-status");
    assert_eq!(events, ["FailedBinding"]);
    assert_eq!(controller.health.answer("/readyz").0, 200);
    // Once it can be read again, it is bound.
    let mend = json!({"status": {"conditions": null}});
    let key = key_of(CLAIMS, "shop/listed-status");
    fake.act(|state| state.patch(&key, "status", &mend))
        .unwrap();
    fake.quiet().await;
    assert_eq!(phase("listed-status"), "Bound");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_cannot_be_read_keeps_only_the_volumes_of_its_namespace() {
    let fake = Fake::new();
    let of = |namespace: &str, size: &str| {
        let mut claim = claim("data", size, json!({}));
        claim["metadata"]["namespace"] = json!(namespace);
        claim
    };
    for (namespace, size) in [("mart", "1Gi"), ("shop", "2Gi"), ("yard", "3Gi")] {
        fake.create(volume(namespace, size, json!({})));
        fake.create(of(namespace, size));
    }
    for namespace in ["camp", "shop", "zoo"] {
        for name in ["a", "z"] {
            fake.create(json!({"kind": "Pod", "apiVersion": "v1",
                "metadata": {"namespace": namespace, "name": name, "creationTimestamp": TOO_LATE,
                    "deletionTimestamp": TOO_LATE}}));
        }
    }
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let phase = |name: &str| fake.lock().at(VOLUMES, name, "/status/phase");
    for namespace in ["mart", "shop", "yard"] {
        fake.delete(CLAIMS, &format!("{namespace}/data"));
    }
    fake.quiet().await;
    let phases = ["mart", "shop", "yard"].map(phase);
    assert_eq!(phases, ["Released", "Bound", "Released"]);
    // It may have used the claim, and be there still.
    fake.delete("pods", "shop/a");
    fake.quiet().await;
    assert_eq!(phase("shop"), "Bound");
    fake.delete("pods", "shop/z");
    fake.quiet().await;
    assert_eq!(phase("shop"), "Released");
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_was_restored_from_a_backup_is_followed() {
    for (away, has_lease) in [(2, false), (2, true), (40, false), (40, true)] {
        let fake = Fake::new();
        let class = |name: &str| json!({"storageClassName": name});
        fake.create(volume("early", "5Gi", class("early")));
        let mut settings = settings("a");
        settings.lease = settings.lease.filter(|_| has_lease);
        let controller = Controller::with(&fake, settings);
        fake.quiet().await;
        let backup = fake.lock().backup();
        // All this will not have been.
        fake.create(claim("early", "5Gi", class("early")));
        fake.create(volume("never", "5Gi", class("never")));
        fake.create(claim("never", "5Gi", class("never")));
        fake.quiet().await;
        assert_eq!(fake.lock().at(VOLUMES, "never", "/status/phase"), "Bound");
        for number in 0..1000 {
            fake.create(json!({"kind": "Node", "apiVersion": "v1",
                "metadata": {"name": format!("n-{number}")}}));
        }
        fake.act(|state| state.away = true);
        tokio::time::sleep(Duration::from_secs(away)).await;
        fake.act(|state| {
            state.restore(backup);
            state.away = false;
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        fake.create(claim("other", "3Gi", class("early")));
        fake.create(volume("new", "5Gi", class("new")));
        fake.create(claim("new", "5Gi", class("new")));
        fake.quiet().await;
        let state = fake.lock();
        assert_eq!(state.at(VOLUMES, "new", "/status/phase"), "Bound");
        let bound = state.at(VOLUMES, "early", "/spec/claimRef/name");
        assert_eq!(bound, "other", "away {away} s, lease {has_lease}");
        assert_eq!(state.at(CLAIMS, "shop/other", "/status/phase"), "Bound");
        assert!(state.get(VOLUMES, "never").is_none());
        drop(state);
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_whose_watches_outlive_it_loses_nothing() {
    let (bound, released, ..) = untroubled().await;
    let fake = Fake::new();
    begin(&fake);
    let _outsiders = outsiders(&fake);
    let controller = Controller::start(&fake, "a");
    // It says what happens elsewhere, and takes nothing; then it is gone.
    let leave = |seconds| {
        let fake = fake.clone();
        async move {
            fake.act(|state| state.leaving = true);
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            fake.act(|state| (state.leaving, state.away) = (false, true));
            tokio::time::sleep(Duration::from_secs(2)).await;
            fake.act(|state| state.away = false);
        }
    };
    for (writes_before, seconds) in [(1, 3), (9, 30)] {
        fake.until("some writes", |state| state.writes.len() >= writes_before)
            .await;
        leave(seconds).await;
    }
    fake.quiet().await;
    assert!(picture(&fake.lock()) == bound);
    end(&fake);
    leave(4).await;
    fake.quiet().await;
    assert!(picture(&fake.lock()) == released);
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_comes_too_late_begins_with_a_list() {
    // The real one says 410 in the watch; some proxies say it at once, and again
    // each time.
    for at_once in [false, true] {
        let fake = Fake::new();
        let class = |name: &str| json!({"storageClassName": name});
        fake.create(volume("gone", "5Gi", class("a")));
        fake.create(claim("gone", "5Gi", class("a")));
        let mut settings = settings("a");
        settings.lease = None;
        let controller = Controller::with(&fake, settings);
        fake.quiet().await;
        assert_eq!(
            fake.lock().at(CLAIMS, "shop/gone", "/status/phase"),
            "Bound"
        );
        fake.act(|state| state.away = true);
        tokio::time::sleep(Duration::from_secs(1)).await;
        fake.delete(CLAIMS, "shop/gone");
        fake.create(volume("new", "5Gi", class("b")));
        fake.create(claim("new", "5Gi", class("b")));
        fake.act(|state| {
            state.compacted = state.version();
            state.gone_at_once = at_once;
            state.away = false;
        });
        fake.quiet().await;
        let state = fake.lock();
        assert_eq!(state.at(VOLUMES, "gone", "/status/phase"), "Released");
        assert_eq!(state.at(CLAIMS, "shop/new", "/status/phase"), "Bound");
        drop(state);
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_rests_is_not_listed_again_for_what_others_do() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let begun = Instant::now();
    for number in 0..20 {
        // Nobody but the bookmarks tells the watch of classes how far it is.
        fake.create(volume(&format!("v-{number}"), "5Gi", json!({})));
        tokio::time::sleep(Duration::from_secs(30)).await;
        fake.act(|state| state.compacted = state.version().saturating_sub(30));
    }
    let state = fake.lock();
    assert!(state.bookmarks >= 20, "{}", state.bookmarks);
    let lists = state.requests_since(begun, "GET", "storageclasses");
    assert_eq!(lists, 0, "lists of classes");
    drop(state);
    controller.stop().await;
}

#[tokio::test]
async fn health_is_answered_over_http() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let health = kube_controller::health::Health::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(health.clone().serve(listener));
    let ask = |path: &'static str| async move {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let question = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all(question.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    assert!(ask("/healthz").await.starts_with("HTTP/1.1 200 "));
    // Nobody knows yet whether the Lease may even be read.
    assert!(ask("/readyz").await.starts_with("HTTP/1.1 503 "));
    health.lease_answered();
    assert!(
        ask("/readyz?verbose")
            .await
            .ends_with("ok, another one leads\n")
    );
    health.leads();
    assert!(ask("/readyz").await.starts_with("HTTP/1.1 503 "));
    health.ready();
    assert!(ask("/readyz").await.ends_with("ok, leads\n"));
    assert!(ask("/secret").await.starts_with("HTTP/1.1 404 "));
}
