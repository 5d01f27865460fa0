//! An API server that is away, and one that says what is not so.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, volume};
use crate::fake::{CLAIMS, Fake, State, VOLUMES};
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
