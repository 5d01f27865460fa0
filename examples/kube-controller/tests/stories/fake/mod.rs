//! An API server in this process: keeps objects, versions, finalizers and
//! watches, refuses what is based on an old version or not allowed, and plays
//! the two protection controllers. It notes what a controller must not do.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::Client;
use kube::client::retry::RetryPolicy;
use kube::client::{Body, ClientBuilder};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;
use tower::BoxError;
use tower::retry::RetryLayer;

mod access;
mod refusal;
mod rules;
mod state;
pub(crate) use refusal::Refusal;
pub(crate) use state::{Backup, State};

type Reply = Response<BoxBody<Bytes, io::Error>>;

pub(crate) const VOLUMES: &str = "persistentvolumes";
pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
pub(crate) const EVENTS: &str = "events";
pub(crate) const LEASES: &str = "leases";

/// Resource, namespace, name.
pub(crate) type Key = (String, String, String);

#[derive(Clone)]
pub(crate) struct Fake {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
}

/// A request but a watch.
pub(crate) struct Request {
    pub(crate) at: Instant,
    /// Whose client sent it.
    pub(crate) who: String,
    pub(crate) method: Method,
    pub(crate) target: Target,
    limit: Option<usize>,
    begin: usize,
    manager: Option<String>,
}

/// What goes wrong with a request.
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// It is carried out, and the answer is lost.
    LosesAnswer,
    /// It does not arrive, and the connection breaks.
    Lost,
    /// It does not arrive, and nobody says so.
    Hangs,
    /// It is refused, with the seconds after which to come again if there are
    /// some.
    Refused(u16, &'static str, Option<u64>),
}

impl Fake {
    /// Protection acts two seconds after a change.
    pub(crate) fn new() -> Self {
        let fake = Fake {
            state: Arc::default(),
            changed: watch::Sender::new(0),
        };
        let protector = fake.clone();
        let mut changed = fake.changed.subscribe();
        tokio::spawn(async move {
            while changed.changed().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(2)).await;
                changed.mark_unchanged();
                let before = protector.lock().history.len();
                protector.lock().protect();
                if protector.lock().history.len() != before {
                    protector.changed.send_modify(|count| *count += 1);
                }
            }
        });
        fake
    }

    /// A client of somebody, with the layer that sends again what the server has
    /// no time for, as kube builds it.
    pub(crate) fn client(&self, who: &str) -> Client {
        let (fake, who) = (self.clone(), who.to_owned());
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (fake, who) = (fake.clone(), who.clone());
            async move {
                let _counted = UnderWay::begin(&fake);
                fake.answer(request, who).await.map_err(BoxError::from)
            }
        });
        ClientBuilder::new(service, "default")
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .build()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Does something by another hand than the controller's.
    pub(crate) fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let result = act(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
        result
    }

    pub(crate) fn create(&self, object: Value) -> Value {
        let resource = resource_of(object["kind"].as_str().unwrap());
        self.act(|state| state.create(resource, object)).unwrap()
    }

    pub(crate) fn patch(&self, resource: &str, key: &str, patch: Value) -> Value {
        let key = key_of(resource, key);
        self.act(|state| state.patch(&key, "", &patch)).unwrap()
    }

    pub(crate) fn delete(&self, resource: &str, key: &str) {
        let key = key_of(resource, key);
        self.act(|state| state.delete(&key, &json!({}))).unwrap();
    }

    /// From now on requests go wrong as this says.
    pub(crate) fn faults(&self, faults: impl FnMut(&Request) -> Fault + Send + 'static) {
        self.act(|state| state.faults = Some(Box::new(faults)));
    }

    /// Waits, in the time of the test, until something holds.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&State) -> bool) {
        let end = Instant::now() + Duration::from_secs(600);
        while !holds(&self.lock()) {
            if Instant::now() > end {
                let state = self.lock();
                panic!(
                    "never: {what}\nwrites: {:#?}\n{:#?}",
                    state.writes, state.objects
                );
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until nothing was written for some resyncs.
    pub(crate) async fn quiet(&self) {
        for _ in 0..40 {
            let before = self.lock().writes.len();
            tokio::time::sleep(Duration::from_secs(45)).await;
            if self.lock().writes.len() == before {
                return;
            }
        }
        let state = self.lock();
        panic!(
            "never quiet\nwrites: {:#?}\n{:#?}",
            state.writes, state.objects
        );
    }

    /// That nobody did what must not be done.
    pub(crate) fn assert_no_wrongs(&self) {
        assert_eq!(self.lock().wrongs, [] as [&str; 0]);
    }

    async fn answer(&self, request: http::Request<Body>, who: String) -> Result<Reply, io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        if self.lock().hangs {
            std::future::pending::<()>().await;
        }
        if self.lock().refuses(&who) {
            return Err(io::Error::other("connection refused"));
        }
        let target = Target::of(parts.uri.path());
        let query = parts.uri.query().unwrap_or_default();
        let parameter = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value.to_owned())
        };
        let number = |name: &str| parameter(name).and_then(|value| value.parse().ok());
        let watches = parameter("watch").is_some_and(|watch| watch == "true" || watch == "1");
        let verb = match parts.method {
            Method::GET if watches => "watch",
            Method::GET if target.name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "another",
        };
        if !access::is_allowed(verb, &target) {
            let path = parts.uri.path();
            let wrong = format!("{verb} {path}: not allowed by deploy/controller.yaml");
            self.lock().wrongs.push(wrong);
        }
        if watches {
            let since = parameter("resourceVersion").and_then(|version| version.parse().ok());
            let seconds = parameter("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
            let (since, seconds) = (since.unwrap_or(0), seconds.unwrap_or(300));
            let state = self.lock();
            if state.gone_at_once && since < state.compacted {
                let refusal = Refusal::new(410, "Expired", "too old resource version");
                return Ok(reply(refusal.code, &refusal.status(), None));
            }
            drop(state);
            let wants = parameter("allowWatchBookmarks").is_some_and(|wants| wants == "true");
            return Ok(self.watch(target.resource, who, (since, wants), seconds));
        }
        let request = Request {
            at: Instant::now(),
            who,
            method: parts.method,
            target,
            limit: number("limit"),
            begin: number("continue").unwrap_or_default(),
            manager: parameter("fieldManager"),
        };
        let fault = match &mut self.lock().faults {
            Some(faults) => faults(&request),
            None => Fault::None,
        };
        match fault {
            Fault::None | Fault::LosesAnswer => {}
            Fault::Lost => return Err(io::Error::other("connection reset")),
            Fault::Hangs => std::future::pending::<()>().await,
            Fault::Refused(code, reason, after) => {
                let refusal = Refusal::new(code, reason, "not now");
                self.lock().requests.push(request);
                return Ok(reply(refusal.code, &refusal.status(), after));
            }
        }
        let target = &request.target;
        let is_read = request.method == Method::GET && !target.name.is_empty();
        if is_read && target.resource == CLAIMS && self.lock().misrouted {
            let page = Full::new(Bytes::from("<h1>404 page not found</h1>"));
            let page = page.map_err(|never| match never {}).boxed();
            return Ok(Response::builder().status(404).body(page).unwrap());
        }
        let is_ours = target.resource == VOLUMES || target.resource == CLAIMS;
        let is_counted = request.method != Method::GET && is_ours;
        let is_new = request.method == Method::POST;
        let result = self.act(|state| {
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let result = state.serve(&request, &body, is_counted);
            let may_hang = is_counted || (is_read && is_ours && !state.counts_writes_only);
            state.counted += usize::from(may_hang);
            if may_hang && let Some(left) = &mut state.hangs_after {
                *left = left.saturating_sub(1);
                state.hangs = *left == 0;
            }
            state.requests.push(request);
            result
        });
        if self.lock().hangs {
            std::future::pending::<()>().await;
        }
        let takes = self.lock().takes;
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        if matches!(fault, Fault::LosesAnswer) {
            return Err(io::Error::other("connection reset"));
        }
        Ok(match result {
            Ok(object) if is_new => reply(StatusCode::CREATED, &object, None),
            Ok(object) => reply(StatusCode::OK, &object, None),
            Err(refusal) => reply(refusal.code, &refusal.status(), None),
        })
    }

    fn watch(&self, resource: String, who: String, since: (u64, bool), seconds: u64) -> Reply {
        let end = Instant::now() + Duration::from_secs(seconds);
        let events = self.events_since(resource, who, since, end);
        let body = StreamBody::new(events).boxed();
        Response::builder().status(200).body(body).unwrap()
    }

    fn events_since(
        &self,
        resource: String,
        who: String,
        (since, bookmarks): (u64, bool),
        end: Instant,
    ) -> impl Stream<Item = Result<Frame<Bytes>, io::Error>> + Send + Sync + use<> {
        let changed = self.changed.subscribe();
        let is_slow = self.lock().slow.take_if(|slow| *slow == resource).is_some();
        let slow_until = Instant::now() + Duration::from_secs(if is_slow { 20 } else { 0 });
        // The real one sends a bookmark two seconds before the end.
        let mark_at = bookmarks.then(|| end - Duration::from_secs(2));
        // Where the history is read on: it only grows, for watches that outlive a
        // restore, too.
        let begin = (self.clone(), changed, (since, mark_at), 0_usize);
        futures::stream::unfold(
            begin,
            move |(fake, mut changed, (since, mark_at), mut read)| {
                let (resource, who) = (resource.clone(), who.clone());
                async move {
                    tokio::time::sleep_until(slow_until).await;
                    loop {
                        changed.mark_unchanged();
                        let mut late = None;
                        {
                            let state = fake.lock();
                            if state.is_away_for(&who) {
                                let broken = Err(io::Error::other("connection reset"));
                                drop(state);
                                return Some((broken, (fake, changed, (since, mark_at), read)));
                            }
                            if since < state.compacted && read == 0 {
                                let status = Refusal::new(410, "Expired", "too old").status();
                                let event = json!({"type": "ERROR", "object": status});
                                drop(state);
                                let frame = Frame::data(Bytes::from(format!("{event}\n")));
                                return Some((
                                    Ok(frame),
                                    (fake, changed, (since, mark_at), usize::MAX),
                                ));
                            }
                            let old = state.old_list.as_ref();
                            if old.is_some_and(|(broken, _)| *broken == resource) {
                                let status = Refusal::new(410, "Expired", "too old").status();
                                let event = json!({"type": "ERROR", "object": status});
                                drop(state);
                                let frame = Frame::data(Bytes::from(format!("{event}\n")));
                                return Some((Ok(frame), (fake, changed, (since, mark_at), read)));
                            }
                            let lag = state.lags.get(&*resource).copied().unwrap_or_default();
                            while let Some((version, kind, event, at)) = state.history.get(read) {
                                if state.hangs {
                                    break;
                                }
                                if *version <= since || *kind != resource {
                                    read += 1;
                                    continue;
                                }
                                if *at + lag > Instant::now() {
                                    late = Some(*at + lag);
                                    break;
                                }
                                let (version, line) = (*version, format!("{event}\n"));
                                drop(state);
                                let frame = Frame::data(Bytes::from(line));
                                let since = (version, mark_at);
                                return Some((Ok(frame), (fake, changed, since, read + 1)));
                            }
                        }
                        let mark_due = mark_at.filter(|_| late.is_none());
                        if mark_due.is_some_and(|at| at <= Instant::now()) {
                            let mut state = fake.lock();
                            state.bookmarks += 1;
                            // One that waits for a version yet to come says so on.
                            let version = state.version().max(since);
                            drop(state);
                            let mark = json!({"type": "BOOKMARK", "object": {"kind": "Any",
                            "apiVersion": "v1",
                            "metadata": {"resourceVersion": version.to_string()}}});
                            let frame = Frame::data(Bytes::from(format!("{mark}\n")));
                            return Some((Ok(frame), (fake, changed, (version, None), read)));
                        }
                        let wakes = [late, mark_due, Some(end)];
                        let wake = wakes.into_iter().flatten().min().unwrap_or(end);
                        if tokio::time::timeout_at(wake, changed.changed())
                            .await
                            .is_err()
                            && Instant::now() >= end
                        {
                            return None;
                        }
                    }
                }
            },
        )
    }
}

/// Counts a request while it is under way, watches left out once they speak.
struct UnderWay(Fake);

impl UnderWay {
    fn begin(fake: &Fake) -> Self {
        let mut state = fake.lock();
        state.under_way += 1;
        state.most_under_way = state.most_under_way.max(state.under_way);
        UnderWay(fake.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
    }
}

/// What a path names.
pub(crate) struct Target {
    group: String,
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

impl Target {
    fn of(path: &str) -> Self {
        let mut segments = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .peekable();
        let group = match segments.next() {
            Some("api") => String::new(),
            _ => segments.next().unwrap_or_default().to_owned(),
        };
        let mut rest = segments.skip(1).peekable();
        let namespace = match rest.next_if(|segment| *segment == "namespaces") {
            Some(_) => rest.next().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        let mut next = || rest.next().unwrap_or_default().to_owned();
        Target {
            group,
            resource: next(),
            namespace,
            name: next(),
            subresource: next(),
        }
    }

    fn key(&self) -> Key {
        (
            self.resource.clone(),
            self.namespace.clone(),
            self.name.clone(),
        )
    }
}

pub(crate) fn key_of(resource: &str, key: &str) -> Key {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    (resource.to_owned(), namespace.to_owned(), name.to_owned())
}

fn resource_of(kind: &str) -> &'static str {
    match kind {
        "PersistentVolume" => VOLUMES,
        "PersistentVolumeClaim" => CLAIMS,
        "StorageClass" => "storageclasses",
        "Pod" => "pods",
        "Node" => "nodes",
        "Lease" => LEASES,
        other => panic!("no kind {other}"),
    }
}

fn reply(code: StatusCode, object: &Value, after: Option<u64>) -> Reply {
    let body = Full::new(Bytes::from(object.to_string()));
    let body = body.map_err(|never| match never {}).boxed();
    let mut response = Response::builder().status(code);
    if let Some(seconds) = after {
        response = response.header("retry-after", seconds);
    }
    response.body(body).unwrap()
}
