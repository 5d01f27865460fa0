//! Lead, stop, hand over.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::{mpsc, watch};
use tracing::{error, info};

use crate::events::Publisher;
use crate::health::Health;
use crate::leader::{Elector, LeaseSettings};
use crate::operations::{Backend, Hands, Shared};
use crate::provisioner::{self, Provisioner};
use crate::server::ApiServer;
use crate::watches::{self, WatchEnded};
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

/// How long the controller rests after its watches ended.
const REST: Duration = Duration::from_secs(5);
/// How long the last events may take.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// Runs the controller until `stop` becomes true. What is being written then is
/// written to its end, operations get time to end, and the lead is given back.
///
/// It survives what happens to the API server: without it the lead is lost, and
/// taken again when it is back.
pub async fn run(
    client: Client,
    settings: Settings,
    health: Health,
    mut stop: watch::Receiver<bool>,
) {
    let (events, published) = Publisher::start(client.clone(), settings.identity.clone());
    let lease = settings.lease.clone().filter(|_| !settings.dry_run);
    let mut elector = lease.map(|lease| Elector::new(client.clone(), lease));
    while !*stop.borrow() {
        health.stands_by();
        if let Some(elector) = &mut elector
            && !elector.acquire(&mut stop).await
        {
            break;
        }
        health.leads();
        let led = lead(&client, &settings, &events, &health, stop.clone());
        let ended = match &mut elector {
            None => led.await,
            Some(elector) => {
                let ended = tokio::select! {
                    ended = led => ended,
                    // What goes on is dropped where it is, as if killed.
                    () = elector.keep() => continue,
                };
                elector.release().await;
                ended
            }
        };
        if let Err(error) = ended {
            error!(%error, "begins again");
            tokio::select! {
                () = tokio::time::sleep(REST) => {}
                _ = stop.changed() => {}
            }
        }
    }
    drop(events);
    let _ = tokio::time::timeout(LAST_EVENTS, published).await;
    info!("stopped");
}

async fn lead(
    client: &Client,
    settings: &Settings,
    events: &Publisher,
    health: &Health,
    stop: watch::Receiver<bool>,
) -> Result<(), WatchEnded> {
    let (tell, news) = mpsc::unbounded_channel();
    let (tell_written, written) = mpsc::unbounded_channel();
    let backend = Arc::new(Backend {
        config: provisioner::config(settings.provisioners.iter().map(|plugin| &**plugin)),
        provisioners: settings.provisioners.clone(),
        hands: Hands {
            server: ApiServer::new(client.clone()),
            events: events.clone(),
        },
        snapshot: Shared::default(),
        written: tell_written,
    });
    let inputs = Inputs {
        watches: watches::start(client, &tell),
        news,
        written,
        stop,
    };
    let worker = Worker::new(backend, health.clone(), settings.resync, settings.dry_run);
    worker.work(inputs).await
}
