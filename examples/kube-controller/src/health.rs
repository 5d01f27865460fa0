//! `/healthz` and `/readyz`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::queue::Key;

/// How long the worker may be silent and still count as alive.
const SILENCE: Duration = Duration::from_secs(180);
/// How long a leader may take to list everything.
const LISTING: Duration = Duration::from_secs(300);
/// How long trouble with the API server may last.
const TROUBLE: Duration = Duration::from_secs(30);
/// After how long without a new failure the trouble of a watch that had its list
/// counts as over: where nothing changes it has nothing to say.
const CALM: Duration = Duration::from_secs(30);

/// How the controller is.
#[derive(Clone)]
pub struct Health(Arc<Mutex<State>>);

struct State {
    part: Part,
    since: Instant,
    last_beat: Instant,
    /// When the API server answered about the Lease last, if it ever did.
    lease_answered: Option<Instant>,
    /// Whether it did not, when it was asked last.
    lease_failed: bool,
    /// Failures without a success in between.
    watches: BTreeMap<String, Trouble>,
    /// What the worker cannot tell of an object, and since when.
    doubt: Option<(String, Instant)>,
}

#[derive(Clone, Copy)]
struct Trouble {
    since: Instant,
    last: Instant,
    /// Whether there is no list yet to go on from. Until there is, it is not over,
    /// however long the next attempt is silent.
    lists: bool,
}

/// What the controller does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It waits for the lead.
    StandsBy,
    /// It leads, and does not know everything yet.
    Lists,
    /// It leads and works.
    Works,
}

impl Default for Health {
    fn default() -> Self {
        let now = Instant::now();
        Health(Arc::new(Mutex::new(State {
            part: Part::StandsBy,
            since: now,
            last_beat: now,
            lease_answered: None,
            lease_failed: false,
            watches: BTreeMap::new(),
            doubt: None,
        })))
    }
}

impl Health {
    /// It waits for the lead.
    pub fn stands_by(&self) {
        self.begins(Part::StandsBy);
    }

    /// It has the lead.
    pub fn leads(&self) {
        self.begins(Part::Lists);
    }

    /// It knows everything.
    pub fn ready(&self) {
        self.begins(Part::Works);
    }

    fn begins(&self, part: Part) {
        self.change(|state| {
            let now = Instant::now();
            (state.part, state.since, state.last_beat) = (part, now, now);
            if part == Part::StandsBy {
                state.watches.clear();
                state.doubt = None;
            }
        });
    }

    /// The worker is alive.
    pub fn beat(&self) {
        self.change(|state| state.last_beat = Instant::now());
    }

    /// The API server answered about the Lease.
    pub fn lease_answered(&self) {
        self.change(|state| {
            (state.lease_failed, state.lease_answered) = (false, Some(Instant::now()));
        });
    }

    /// The API server did not answer about the Lease, or will not.
    pub fn lease_unanswered(&self) {
        self.change(|state| state.lease_failed = true);
    }

    /// A watch says something.
    pub fn watch_speaks(&self, kind: &str) {
        self.change(|state| {
            state.watches.remove(kind);
        });
    }

    /// A watch broke off, or could not be started; or its list, which is to come
    /// first, did not come.
    pub fn watch_failed(&self, kind: &str, lists: bool) {
        self.change(|state| {
            let before = state.watches.get(kind).copied();
            state.watches.insert(kind.to_owned(), again(before, lists));
        });
    }

    /// The API server does not say what became of this object, and until it does
    /// nothing is synced.
    pub fn doubts(&self, object: &Key) {
        self.change(|state| {
            let since = state
                .doubt
                .take()
                .map_or_else(Instant::now, |(_, since)| since);
            state.doubt = Some((object.to_string(), since));
        });
    }

    /// Nothing of that kind is left.
    pub fn doubts_nothing(&self) {
        self.change(|state| state.doubt = None);
    }

    /// The answer to a path: the code and the text.
    pub fn answer(&self, path: &str) -> (u16, Cow<'static, str>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stuck = state.part != Part::StandsBy && state.last_beat.elapsed() > SILENCE;
        let is_deaf = state.part == Part::Lists && state.since.elapsed() > LISTING;
        let answered = state.lease_answered;
        let no_lease = state.lease_failed && answered.is_some_and(|at| at.elapsed() > TROUBLE);
        let no_watch = state
            .watches
            .values()
            .any(|trouble| trouble.since.elapsed() > TROUBLE && trouble.goes_on());
        let doubt = state.doubt.as_ref();
        let doubt = doubt.filter(|(_, since)| since.elapsed() > TROUBLE);
        let unheard = || match state.lease_answered {
            None => "nothing was learned of the Lease yet".to_owned(),
            Some(at) => {
                let seconds = at.elapsed().as_secs();
                format!("nothing was learned of the Lease for {seconds} s")
            }
        };
        let ok = |text: &'static str| (200, Cow::from(text));
        let no = |text: &'static str| (503, Cow::from(text));
        match (path, state.part, doubt) {
            ("/healthz" | "/livez" | "/readyz", ..) if is_stuck => no("the worker is stuck"),
            ("/healthz" | "/livez", ..) if is_deaf => no("the lists do not come"),
            ("/healthz" | "/livez", ..) => ok("ok"),
            ("/readyz", ..) if no_lease => (503, unheard().into()),
            ("/readyz", Part::StandsBy, _) => match (state.lease_answered, state.lease_failed) {
                (None, _) => (503, unheard().into()),
                // It may well lead again when the API server is back.
                (_, true) => (200, format!("ok, but {}", unheard()).into()),
                _ => ok("ok, another one leads"),
            },
            ("/readyz", Part::Lists, _) => no("not everything is listed yet"),
            ("/readyz", Part::Works, Some((object, _))) => {
                let text = format!("cannot read {object}, and nothing is synced");
                (503, text.into())
            }
            ("/readyz", Part::Works, _) if no_watch => no("a watch fails"),
            ("/readyz", Part::Works, _) => ok("ok, leads"),
            _ => (404, "not found".into()),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Answers on this listener, forever.
    pub async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let health = self.clone();
                    tokio::spawn(async move {
                        let served = tokio::time::timeout(PATIENCE, health.reply(stream)).await;
                        debug!(?served, "a question about health");
                    });
                }
                // Too many files are open, say.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    async fn reply(self, mut stream: TcpStream) -> io::Result<()> {
        let mut head = [0; 1024];
        let length = stream.read(&mut head).await?;
        let head = String::from_utf8_lossy(head.get(..length).unwrap_or_default()).into_owned();
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let (code, text) = self.answer(path);
        let length = text.len() + 1;
        let reply = format!(
            "HTTP/1.1 {code} \r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{text}\n"
        );
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await
    }
}

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Trouble {
    fn goes_on(&self) -> bool {
        self.lists || self.last.elapsed() < CALM
    }
}

fn again(before: Option<Trouble>, lists: bool) -> Trouble {
    let last = Instant::now();
    let since = match before {
        Some(before) if before.goes_on() => before.since,
        _ => last,
    };
    Trouble { since, last, lists }
}

/// Where health is answered if nothing else is said.
pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 10277);

/// Listens for questions about health: at this address, or else at [`ADDRESS`].
/// If another process has that, a second controller on the machine perhaps, any
/// free port will do.
///
/// # Errors
/// Nobody can listen at the address.
pub async fn listen(address: Option<SocketAddr>) -> Result<TcpListener, String> {
    let wanted = address.unwrap_or(ADDRESS);
    let is_everywhere = wanted.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let listener = match TcpListener::bind(wanted).await {
        Err(error) if address.is_none() && error.kind() == io::ErrorKind::AddrInUse => {
            warn!(address = %wanted, "is in use; health is answered at another port");
            TcpListener::bind(SocketAddr::new(wanted.ip(), 0)).await
        }
        // A machine may have the older protocol alone.
        Err(error) if is_everywhere && error.kind() != io::ErrorKind::AddrInUse => {
            let everywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
            TcpListener::bind(SocketAddr::new(everywhere, wanted.port())).await
        }
        result => result,
    };
    let listener = listener
        .map_err(|error| format!("cannot listen at the health address `{wanted}`: {error}"))?;
    if let Ok(address) = listener.local_addr() {
        info!(%address, "answers about health");
    }
    Ok(listener)
}
