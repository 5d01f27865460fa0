//! Lead, stop, hand over.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{error, info, warn};

use crate::events::Publisher;
use crate::health::Health;
use crate::leader::{Elector, LeaseSettings};
use crate::operations::{Backend, Hands, Shared};
use crate::permit::Names;
use crate::provisioner::{self, Provisioner};
use crate::queue::delay_after;
use crate::server::ApiServer;
use crate::term::Term;
use crate::watches::{self, Broken};
use crate::worker::{Inputs, Worker};

/// How the controller is set up.
#[derive(Clone)]
pub struct Settings {
    /// How often every object is synced, changed or not.
    pub resync: Duration,
    /// The in-tree plugins.
    pub provisioners: Vec<Arc<dyn Provisioner>>,
    /// The Lease that it leads by; without one it leads at once.
    pub lease: Option<LeaseSettings>,
    /// Who events come from.
    pub identity: String,
    /// Instead of carrying plans out, tell them.
    pub dry_run: bool,
}

/// The ways to the API server.
#[derive(Clone)]
pub struct Clients {
    /// For the Lease alone, so that under load it waits for nothing else.
    pub lease: Client,
    /// For everything else.
    pub work: Client,
}

/// How long the controller rests before all begins anew, and at most if that
/// comes again and again: the lists cost the API server much.
const REST: Duration = Duration::from_secs(5);
const LONGEST_REST: Duration = Duration::from_secs(60);
/// After so long without that it rests as short as at first.
const CALM: Duration = Duration::from_secs(600);
/// How long the stop may take in all, but for the Lease and the last events.
const STOP: Duration = Duration::from_secs(25);
/// How long to wait for what cannot be cut off before the lead is given back.
const LAST_WORK: Duration = Duration::from_secs(2);
/// How long the last events may take.
const LAST_EVENTS: Duration = Duration::from_secs(2);
/// How many requests operations may have under way at once.
const AT_ONCE: usize = 16;

/// Runs the controller until `stop` becomes true. What is being written then is
/// written to its end, operations get time to end, and the lead is given back.
///
/// It survives what happens to the API server: without it the lead is lost, and
/// taken again when it is back.
pub async fn run(
    clients: Clients,
    settings: Settings,
    health: Health,
    mut stop: watch::Receiver<bool>,
) {
    let (events, published) = Publisher::start(clients.work.clone(), &settings.identity);
    let lease = settings.lease.clone().filter(|_| !settings.dry_run);
    let mut elector = lease.map(|lease| Elector::new(clients.lease, lease, health.clone()));
    let names = Names::default();
    let mut breaks = 0_u32;
    while !*stop.borrow() {
        health.stands_by();
        let term = match &mut elector {
            None => Term::endless(),
            Some(elector) => match elector.acquire(&mut stop).await {
                Some(term) => term,
                None => break,
            },
        };
        health.leads();
        let led_since = Instant::now();
        // A task of its own: however busy it is, the Lease is renewed.
        let mut led = JoinSet::new();
        led.spawn(lead(
            clients.work.clone(),
            settings.clone(),
            events.clone(),
            health.clone(),
            (term.clone(), names.clone()),
            stop.clone(),
        ));
        let kept = async {
            match &mut elector {
                None => std::future::pending().await,
                Some(elector) => elector.keep().await,
            }
        };
        let ended = tokio::select! {
            ended = led.join_next() => Some(ended),
            () = kept => None,
            () = long_after(stop.clone()) => {
                warn!("the stop takes too long: what goes on is cut off");
                Some(None)
            }
        };
        // Nothing is written any more, whoever is still at it.
        term.end();
        led.shutdown().await;
        let Some(ended) = ended else {
            // What went on was dropped where it was, as if killed.
            continue;
        };
        if let Some(elector) = &mut elector {
            match tokio::time::timeout(LAST_WORK, names.all_free()).await {
                Ok(()) => elector.release().await,
                Err(_) => warn!("a plugin is still at work: the Lease is left to run out"),
            }
        }
        let error = match ended {
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(error)) => error.to_string(),
            Some(Ok(Ok(()))) | None => continue,
        };
        breaks = match led_since.elapsed() > CALM {
            true => 1,
            false => breaks.saturating_add(1),
        };
        let rest = delay_after(breaks, REST, LONGEST_REST);
        error!(error, after = ?rest, "begins again");
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            _ = stop.changed() => {}
        }
    }
    drop(events);
    let _ = tokio::time::timeout(LAST_EVENTS, published).await;
    info!("stopped");
}

/// Waits until the time to stop is over.
async fn long_after(mut stop: watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody can say any more that it is to stop.
        std::future::pending::<()>().await;
    }
    tokio::time::sleep(STOP).await;
}

async fn lead(
    client: Client,
    settings: Settings,
    events: Publisher,
    health: Health,
    (term, names): (Term, Names),
    stop: watch::Receiver<bool>,
) -> Result<(), Broken> {
    let (tell, news) = mpsc::unbounded_channel();
    let (tell_answers, answers) = mpsc::unbounded_channel();
    let hands = |at_once| Hands {
        server: ApiServer::new(client.clone(), term.clone(), at_once),
        events: events.clone(),
    };
    let backend = Arc::new(Backend {
        config: provisioner::config(settings.provisioners.iter().map(|plugin| &**plugin)),
        provisioners: settings.provisioners.clone(),
        hands: hands(AT_ONCE),
        snapshot: Shared::default(),
        answers: tell_answers,
        names,
    });
    let inputs = Inputs {
        watches: watches::start(&client, &tell, &health),
        news,
        answers,
        stop,
    };
    // Its requests do not stand in line with those of the operations.
    let own = hands(1);
    let worker = Worker::new(backend, own, health, settings.resync, settings.dry_run);
    worker.work(inputs).await
}
