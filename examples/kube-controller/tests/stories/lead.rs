//! Who leads, and what becomes of the work of who does not any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use kube_controller::events::Publisher;
use kube_controller::health::listen;
use kube_controller::operations::{Backend, Hands, Operations, Shared};
use kube_controller::permit::{Names, Permit};
use kube_controller::provisioner::{Provisioner, config};
use kube_controller::server::ApiServer;
use kube_controller::term::Term;
use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
use pvbind::controller::{Config, InTreePlugin, ProvisionRequest, sync_volume};
use pvbind::plan::{End, Operation, Step};
use pvbind::view::Snapshot;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::cluster::{Controller, claim, class, settings, volume, with_provisioner};
use crate::fake::{CLAIMS, Fake, LEASES, VOLUMES};
use crate::provisioning::Slow;

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

#[tokio::test(start_paused = true)]
async fn a_leader_that_nobody_answers_does_not_say_that_another_one_leads() {
    for hangs in [true, false] {
        let fake = Fake::new();
        let mut settings = settings("a");
        // The last attempt is cut off.
        let lease = settings.lease.unwrap();
        let [good_for, stop_after, every] = [20, 10, 8].map(Duration::from_secs);
        settings.lease = Some(lease.with_times(good_for, stop_after, every).unwrap());
        let controller = Controller::with(&fake, settings);
        let ready = || controller.health.answer("/readyz");
        fake.until("a leads", |_| ready().1 == "ok, leads").await;
        fake.act(|state| match hangs {
            true => state.hangs = true,
            false => state.away = true,
        });
        let mut texts = Vec::new();
        for _ in 0..600 {
            let (code, text) = ready();
            // Without the seconds.
            let text = text.split(" for ").next().unwrap().to_owned();
            if texts.last() != Some(&(code, text.clone())) {
                texts.push((code, text));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let wanted = [
            (200, "ok, leads"),
            (200, "ok, but nothing was learned of the Lease"),
            (503, "nothing was learned of the Lease"),
        ];
        assert_eq!(texts, wanted.map(|(code, text)| (code, text.to_owned())));
        let (_, text) = ready();
        let seconds = text.split(' ').rev().nth(1).unwrap();
        let seconds: u64 = seconds.parse().unwrap();
        assert!((60..=68).contains(&seconds), "{text}");
        controller.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_asks_seldom_and_is_not_answered_is_not_ready_after_half_a_minute() {
    let fake = Fake::new();
    let mut settings = settings("a");
    let lease = settings.lease.unwrap();
    let [good_for, stop_after, every] = [120, 100, 40].map(Duration::from_secs);
    settings.lease = Some(lease.with_times(good_for, stop_after, every).unwrap());
    let controller = Controller::with(&fake, settings);
    let ready = || controller.health.answer("/readyz");
    fake.until("a leads", |_| ready().1 == "ok, leads").await;
    fake.act(|state| state.away = true);
    tokio::time::sleep(Duration::from_secs(50)).await;
    for _ in 0..60 {
        let (code, text) = ready();
        assert_eq!(code, 503, "{text}");
        assert!(text.starts_with("nothing was learned of the Lease for "));
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    fake.act(|state| state.away = false);
    fake.until("a leads", |_| ready().1 == "ok, leads").await;
    controller.stop().await;
}

fn slow(seconds: u64) -> Arc<Slow> {
    Arc::new(Slow {
        takes: Duration::from_secs(seconds),
        ..Slow::default()
    })
}

#[tokio::test(start_paused = true)]
async fn two_of_one_identity_do_not_both_lead() {
    let fake = Fake::new();
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    let slow = slow(5);
    let start = || Controller::with(&fake, with_provisioner(settings("same"), slow.clone()));
    let first = start();
    fake.until("one leads", |state| !state.all(LEASES).is_empty())
        .await;
    let second = start();
    for number in 0..5 {
        let name = format!("data-{number}");
        fake.create(claim(&name, "5Gi", json!({"storageClassName": "slow"})));
        fake.quiet().await;
        let ready = [&first, &second].map(|one| one.health.answer("/readyz").1);
        assert_eq!(ready, ["ok, leads", "ok, another one leads"]);
    }
    assert_eq!(slow.calls.load(Ordering::SeqCst), 5);
    // One that is started again need not wait for its own Lease to run out.
    first.kill().await;
    let begun = Instant::now();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.until("the second acts", |state| {
        state.at(VOLUMES, "pv", "/status/phase") == "Available"
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(8));
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_lets_its_operation_be_and_another_goes_on() {
    let fake = Fake::new();
    fake.create(class("slow", "kubernetes.io/slow", "Immediate"));
    fake.create(claim("data", "5Gi", json!({"storageClassName": "slow"})));
    let slow = slow(60);
    let start = |name| Controller::with(&fake, with_provisioner(settings(name), slow.clone()));
    let first = start("a");
    while slow.calls.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let second = start("b");
    tokio::time::sleep(Duration::from_secs(10)).await;
    fake.act(|state| state.cut_off = Some("a".to_owned()));
    fake.until("b makes it", |_| slow.calls.load(Ordering::SeqCst) == 2)
        .await;
    assert_eq!(slow.going_on.load(Ordering::SeqCst), 1, "a gave it up");
    fake.act(|state| state.cut_off = None);
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    fake.quiet().await;
    assert_eq!(first.health.answer("/readyz").1, "ok, another one leads");
    assert_eq!(slow.most_at_once.load(Ordering::SeqCst), 1);
    assert_eq!(slow.calls.load(Ordering::SeqCst), 2);
    assert_eq!(fake.lock().all(VOLUMES).len(), 1);
    fake.assert_no_wrongs();
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_was_frozen_in_the_middle_of_a_plan_writes_nothing_when_it_wakes() {
    for writes in 1..=12 {
        let fake = Fake::new();
        for number in 0..3 {
            fake.create(volume(&format!("pv-{number}"), "5Gi", json!({})));
            fake.create(claim(&format!("data-{number}"), "5Gi", json!({})));
        }
        // The answer comes when it wakes.
        fake.act(|state| state.takes = Duration::from_secs(1));
        let controller = Controller::start(&fake, "a");
        fake.until("some writes", |state| state.writes.len() >= writes)
            .await;
        // Somebody else's machine went on for so long.
        tokio::time::advance(Duration::from_secs(30)).await;
        fake.quiet().await;
        fake.assert_no_wrongs();
        let state = fake.lock();
        for number in 0..3 {
            let name = format!("shop/data-{number}");
            assert_eq!(state.at(CLAIMS, &name, "/status/phase"), "Bound");
        }
        drop(state);
        controller.kill().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_is_told_to_stop_in_the_middle_of_a_plan_ends_it_and_no_more() {
    for writes in 2..=4 {
        let fake = Fake::new();
        fake.create(volume("pv", "5Gi", json!({})));
        fake.create(claim("data", "5Gi", json!({})));
        fake.act(|state| state.takes = Duration::from_secs(1));
        let controller = Controller::start(&fake, "a");
        fake.until("some writes", |state| state.writes.len() >= writes)
            .await;
        let begun = Instant::now();
        controller.stop().await;
        assert!(begun.elapsed() < Duration::from_secs(15));
        {
            let state = fake.lock();
            assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Bound");
            assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Bound");
            let lease = "kube-system/pvbind-controller";
            let holder = state.at(LEASES, lease, "/spec/holderIdentity");
            assert_eq!(holder, Value::Null, "the lead was given back");
        }
        fake.assert_no_wrongs();
    }
}

#[tokio::test(start_paused = true)]
async fn a_controller_stops_in_time_though_nobody_answers() {
    for hangs in [true, false] {
        let fake = Fake::new();
        fake.create(volume("pv", "5Gi", json!({})));
        fake.create(claim("data", "5Gi", json!({})));
        let mut settings = settings("a");
        settings.lease = hangs.then_some(settings.lease).flatten();
        let controller = Controller::with(&fake, settings);
        fake.until("some writes", |state| state.writes.len() >= 2)
            .await;
        fake.act(|state| state.hangs = true);
        let begun = Instant::now();
        controller.stop().await;
        assert!(begun.elapsed() < Duration::from_secs(38));
    }
}

#[tokio::test]
async fn two_on_one_machine_both_answer_about_health() {
    let first = listen(None).await.unwrap();
    let second = listen(None).await.unwrap();
    let taken = first.local_addr().unwrap();
    assert_ne!(taken, second.local_addr().unwrap());
    // An address that was asked for is this one or none.
    let error = listen(Some(taken)).await.unwrap_err();
    assert!(error.contains(&taken.to_string()), "{error}");
}

/// A plugin whose work cannot be cut off.
#[derive(Default)]
struct Stubborn {
    going_on: Arc<AtomicUsize>,
    most_at_once: AtomicUsize,
    calls: AtomicUsize,
}

impl Provisioner for Stubborn {
    fn plugin(&self) -> InTreePlugin {
        InTreePlugin {
            can_provision: true,
            ..InTreePlugin::new("kubernetes.io/stubborn", ["nfs"])
        }
    }

    fn provision(
        &self,
        _request: ProvisionRequest,
        permit: Permit,
    ) -> BoxFuture<'_, Result<PersistentVolume, String>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::SeqCst);
            let before = self.going_on.fetch_add(1, Ordering::SeqCst);
            self.most_at_once.fetch_max(before + 1, Ordering::SeqCst);
            let going_on = Arc::clone(&self.going_on);
            let work = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(100)).await;
                going_on.fetch_sub(1, Ordering::SeqCst);
                drop(permit);
            });
            work.await.unwrap();
            let made = volume("made", "5Gi", json!({}));
            Ok(serde_json::from_value(made).unwrap())
        })
    }
}

/// A cluster with a claim that a controller has a stubborn plugin make a volume
/// for.
async fn stubborn_at_work() -> (Fake, Arc<Stubborn>, Controller) {
    let fake = Fake::new();
    fake.create(class("stubborn", "kubernetes.io/stubborn", "Immediate"));
    fake.create(claim(
        "data",
        "5Gi",
        json!({"storageClassName": "stubborn"}),
    ));
    let stubborn = Arc::new(Stubborn::default());
    let settings = with_provisioner(settings("a"), stubborn.clone());
    let controller = Controller::with(&fake, settings);
    while stubborn.calls.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    (fake, stubborn, controller)
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_cut_off_is_not_begun_again_beside_itself() {
    let (fake, stubborn, controller) = stubborn_at_work().await;
    // The lead is lost, and held again long before the work ends.
    fake.act(|state| state.away = true);
    tokio::time::sleep(Duration::from_secs(15)).await;
    fake.act(|state| state.away = false);
    fake.until("bound", |state| {
        state.at(CLAIMS, "shop/data", "/status/phase") == "Bound"
    })
    .await;
    assert_eq!(stubborn.most_at_once.load(Ordering::SeqCst), 1);
    assert_eq!(stubborn.calls.load(Ordering::SeqCst), 2);
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_lead_is_not_given_back_while_something_cannot_be_cut_off() {
    let (fake, stubborn, controller) = stubborn_at_work().await;
    let begun = Instant::now();
    controller.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(38));
    assert_eq!(stubborn.going_on.load(Ordering::SeqCst), 1);
    let lease = "kube-system/pvbind-controller";
    let holder = fake.lock().at(LEASES, lease, "/spec/holderIdentity");
    assert_eq!(holder, "a");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_after_the_time_for_which_the_lead_is_surely_held() {
    let fake = Fake::new();
    let volume = fake.create(volume("pv", "5Gi", json!({})));
    let volume: PersistentVolume = serde_json::from_value(volume).unwrap();
    let term = Term::until(Instant::now() + Duration::from_secs(10));
    let server = ApiServer::new(fake.client("a"), term, 1);
    let plan = |view: &Snapshot| sync_volume(&Config::default(), view, &volume, None);
    let plan = plan(&Snapshot::new());
    let Some(Step::Write { write, .. }) = plan.steps.first() else {
        panic!("{plan:?}");
    };
    tokio::time::advance(Duration::from_secs(11)).await;
    let error = server.send(write).await.unwrap_err();
    assert_eq!(error.message, "the lead is not held any more");
    assert_eq!(fake.lock().writes, [] as [&str; 0]);

    // A plan ends there, and counts as cut off.
    let (events, _) = Publisher::start(fake.client("a"), "a");
    let report = Hands { server, events }.carry_out(plan, |_| {}).await;
    assert_eq!(report.end, End::CutOff);
    assert!(report.done.is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_plugin_is_called_after_the_time_for_which_the_lead_is_surely_held() {
    for seconds in [1, 10] {
        let fake = Fake::new();
        let slow = slow(0);
        let plugins: [&dyn Provisioner; 1] = [&*slow];
        let mut claim = claim("data", "5Gi", json!({"storageClassName": "slow"}));
        for prefix in ["volume.kubernetes.io", "volume.beta.kubernetes.io"] {
            let annotation = format!("{prefix}/storage-provisioner");
            claim["metadata"]["annotations"][annotation] = json!("kubernetes.io/slow");
        }
        let claim: PersistentVolumeClaim = serde_json::from_value(fake.create(claim)).unwrap();
        let class = class("slow", "kubernetes.io/slow", "Immediate");
        // The read before the call takes a while.
        fake.act(|state| state.takes = Duration::from_secs(2));
        let term = Term::until(Instant::now() + Duration::from_secs(seconds));
        let (answers, _heard) = tokio::sync::mpsc::unbounded_channel();
        let backend = Backend {
            config: config(plugins),
            provisioners: vec![slow.clone()],
            hands: Hands {
                server: ApiServer::new(fake.client("a"), term, 1),
                events: Publisher::start(fake.client("a"), "a").0,
            },
            snapshot: Shared::default(),
            answers,
            names: Names::default(),
        };
        let mut operations = Operations::new(Arc::new(backend));
        operations.start(Operation::Provision {
            claim: Arc::new(claim),
            class: Arc::new(serde_json::from_value(class).unwrap()),
            provisioner: pvbind::plan::Provisioner::Internal("kubernetes.io/slow".to_owned()),
        });
        operations.ended().await;
        let calls = usize::from(seconds == 10);
        assert_eq!(slow.calls.load(Ordering::SeqCst), calls);
        assert_eq!(fake.lock().all(VOLUMES).len(), calls);
    }
}
