//! Controllers that are killed, two at once, and an API server that is away.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{
    Controller, HOST_PATH, claim, class, folder, settings, volume, with_provisioner,
};
use crate::fake::{CLAIMS, Fake, State, VOLUMES};
use crate::provisioning::Slow;

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

/// A claim to be bound, one that has a volume reserved, and one to be
/// provisioned.
fn begin(fake: &Fake) {
    fake.create(class("local", HOST_PATH, "Immediate"));
    fake.create(volume("pv", "5Gi", json!({})));
    let reference = json!({"claimRef": {"namespace": "shop", "name": "reserved"}});
    fake.create(volume("reserved", "5Gi", reference));
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(claim("reserved", "5Gi", json!({})));
    fake.create(claim("made", "5Gi", json!({"storageClassName": "local"})));
}

fn end(fake: &Fake) {
    for claim in ["shop/data", "shop/reserved", "shop/made"] {
        fake.delete(CLAIMS, claim);
    }
}

/// The story without trouble: the pictures after its two halves.
async fn untroubled() -> (Vec<Value>, Vec<Value>, usize, usize) {
    let fake = Fake::new();
    begin(&fake);
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let (bound, writes) = so_far(&fake);
    end(&fake);
    fake.quiet().await;
    let (released, all_writes) = so_far(&fake);
    controller.stop().await;
    (bound, released, writes, all_writes - writes)
}

fn so_far(fake: &Fake) -> (Vec<Value>, usize) {
    let state = fake.lock();
    (picture(&state), state.writes.len())
}

/// Lets a controller run up to the write after which the API server hangs, kills
/// it, and starts another. How many writes there are depends on how long the
/// folders take; a controller that is done before is killed, too.
async fn kill_after(fake: &Fake, controller: Controller, next: &str) -> Controller {
    fake.quiet().await;
    controller.kill().await;
    fake.act(|state| {
        state.hangs = false;
        state.hangs_after = None;
    });
    Controller::start(fake, next)
}

#[tokio::test(start_paused = true)]
async fn a_controller_killed_after_any_write_is_followed_by_one_that_finishes() {
    let (bound, released, binding_writes, releasing_writes) = untroubled().await;
    assert!(binding_writes > 10, "{binding_writes}");
    for write in 1..=binding_writes {
        let fake = Fake::new();
        begin(&fake);
        fake.act(|state| state.hangs_after = Some(write));
        let first = Controller::start(&fake, "first");
        let second = kill_after(&fake, first, "second").await;
        fake.quiet().await;
        assert_eq!(picture(&fake.lock()), bound, "killed after write {write}");
        assert_eq!(fake.lock().wrongs, [] as [&str; 0]);
        second.kill().await;
    }
    for write in 1..=releasing_writes {
        let fake = Fake::new();
        begin(&fake);
        let first = Controller::start(&fake, "first");
        fake.quiet().await;
        fake.act(|state| state.hangs_after = Some(write));
        end(&fake);
        let second = kill_after(&fake, first, "second").await;
        fake.quiet().await;
        assert_eq!(
            picture(&fake.lock()),
            released,
            "killed after write {write}"
        );
        assert_eq!(fake.lock().wrongs, [] as [&str; 0]);
        second.kill().await;
    }
    let left = std::fs::read_dir(folder()).map_or(0, |entries| {
        let made = |name: &str| name.starts_with("pvc-uid-made-");
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| made(name)).count()
    });
    // The folder of the last run of the first half, which was never deleted,
    // has the name that all the others had.
    assert!(left <= 1, "{left} folders are left");
}

#[tokio::test(start_paused = true)]
async fn of_two_controllers_only_the_leader_acts() {
    let fake = Fake::new();
    let slow = Arc::new(Slow {
        takes: Duration::from_secs(5),
        ..Slow::default()
    });
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    let controllers = ["a", "b", "c"].map(|identity| {
        Controller::with(&fake, with_provisioner(settings(identity), slow.clone()))
    });
    for number in 0..5 {
        let name = format!("data-{number}");
        fake.create(claim(&name, "5Gi", json!({"storageClassName": "slow"})));
        fake.quiet().await;
    }
    assert_eq!(slow.calls.load(Ordering::SeqCst), 5);
    let state = fake.lock();
    let creations = state
        .writes
        .iter()
        .filter(|write| write.starts_with("POST"));
    assert_eq!(creations.count(), 5);
    drop(state);
    let ready = controllers
        .iter()
        .map(|controller| controller.health.answer("/readyz").1);
    let mut ready: Vec<_> = ready.collect();
    ready.sort_unstable();
    assert_eq!(
        ready,
        [
            "ok, another one leads",
            "ok, another one leads",
            "ok, leads"
        ]
    );
    for controller in controllers {
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_second_takes_over_when_the_leader_is_killed_and_sooner_when_it_stops() {
    for is_killed in [true, false] {
        let fake = Fake::new();
        let leader = Controller::start(&fake, "a");
        fake.until("a leads", |state| !state.all("leases").is_empty())
            .await;
        let second = Controller::start(&fake, "b");
        tokio::time::sleep(Duration::from_secs(20)).await;
        let begun = Instant::now();
        match is_killed {
            true => leader.kill().await,
            false => leader.stop().await,
        }
        fake.create(volume("pv", "5Gi", json!({})));
        fake.until("b acts", |state| !state.writes.is_empty()).await;
        let took = begun.elapsed();
        match is_killed {
            true => assert!(took > Duration::from_secs(10) && took < Duration::from_secs(20)),
            false => assert!(took < Duration::from_secs(5), "{took:?}"),
        }
        second.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_for_a_minute_loses_nothing() {
    let fake = Fake::new();
    begin(&fake);
    let controller = Controller::start(&fake, "a");
    let (bound, released, ..) = untroubled().await;
    for writes_before in [1, 4, 9] {
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
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(fake.lock().wrongs, [] as [&str; 0]);
    controller.stop().await;
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

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_another_can_lead() {
    let fake = Fake::new();
    let controller = Controller::start(&fake, "a");
    fake.until("a leads", |_| {
        controller.health.answer("/readyz").1 == "ok, leads"
    })
    .await;
    fake.act(|state| state.hangs = true);
    let begun = Instant::now();
    while controller.health.answer("/readyz").1 == "ok, leads" {
        assert!(begun.elapsed() < Duration::from_secs(12));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controller.kill().await;
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
