//! An API server in this process: keeps objects, versions, finalizers and
//! watches, refuses what is based on an old version, and plays the two
//! protection controllers. It notes what a controller must not do.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use kube::Client;
use kube::client::Body;
use pvbind::plan::apply_merge_patch;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

type Reply = Response<BoxBody<Bytes, io::Error>>;

pub(crate) const VOLUMES: &str = "persistentvolumes";
pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
pub(crate) const EVENTS: &str = "events";
pub(crate) const LEASES: &str = "leases";

/// Resource, namespace, name.
type Key = (String, String, String);

#[derive(Clone)]
pub(crate) struct Fake {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<u64>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<Key, Value>,
    version: u64,
    /// Every change: its version, the resource, the watch event.
    history: Vec<(u64, String, Value)>,
    /// Every write to volumes and claims, in words, refused ones included.
    pub(crate) writes: Vec<String>,
    /// What a controller must not do.
    pub(crate) wrongs: Vec<String>,
    /// Nobody answers.
    pub(crate) away: bool,
    /// After so many more writes to volumes and claims every request hangs:
    /// the last one is carried out, and not answered.
    pub(crate) hangs_after: Option<usize>,
    pub(crate) hangs: bool,
    /// The watch of this resource breaks off for good, and the next list of it is
    /// this one; the watch that follows says nothing for a while.
    pub(crate) old_list: Option<(String, Value)>,
    slow: Option<String>,
    /// Something in between answers reads of single objects with a 404 and a
    /// page of its own.
    pub(crate) misrouted: bool,
    /// So many writes to volumes and claims are refused, as if the object had
    /// been changed in between.
    pub(crate) conflicts: usize,
}

impl Fake {
    pub(crate) fn new() -> Self {
        Fake {
            state: Arc::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn client(&self) -> Client {
        let fake = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let fake = fake.clone();
            async move { fake.answer(request).await }
        });
        Client::new(service, "default")
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

    async fn answer(&self, request: Request<Body>) -> Result<Reply, io::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        if self.lock().hangs {
            std::future::pending::<()>().await;
        }
        if self.lock().away {
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
        if parameter("watch").is_some_and(|watch| watch == "true" || watch == "1") {
            let since = parameter("resourceVersion").and_then(|version| version.parse().ok());
            let seconds = parameter("timeoutSeconds").and_then(|seconds| seconds.parse().ok());
            return Ok(self.watch(target.resource, since.unwrap_or(0), seconds.unwrap_or(300)));
        }
        let is_read = parts.method == Method::GET && !target.name.is_empty();
        if is_read && target.resource == CLAIMS && self.lock().misrouted {
            let page = Full::new(Bytes::from("<h1>404 page not found</h1>"));
            let page = page.map_err(|never| match never {}).boxed();
            return Ok(Response::builder().status(404).body(page).unwrap());
        }
        let is_counted = parts.method != Method::GET
            && (target.resource == VOLUMES || target.resource == CLAIMS);
        let result = self.act(|state| {
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            let result = state.serve(&parts.method, &target, &body, is_counted);
            if is_counted && let Some(left) = &mut state.hangs_after {
                *left -= 1;
                state.hangs = *left == 0;
            }
            result
        });
        if self.lock().hangs {
            std::future::pending::<()>().await;
        }
        Ok(match result {
            Ok(object) => reply(StatusCode::OK, &object),
            Err(refusal) => reply(refusal.code, &refusal.status()),
        })
    }

    fn watch(&self, resource: String, since: u64, seconds: u64) -> Reply {
        let end = Instant::now() + Duration::from_secs(seconds);
        let events = self.events_since(resource, since, end);
        let body = StreamBody::new(events).boxed();
        Response::builder().status(200).body(body).unwrap()
    }

    fn events_since(
        &self,
        resource: String,
        since: u64,
        end: Instant,
    ) -> impl Stream<Item = Result<Frame<Bytes>, io::Error>> + Send + Sync + use<> {
        let changed = self.changed.subscribe();
        let is_slow = self.lock().slow.take_if(|slow| *slow == resource).is_some();
        let slow_until = Instant::now() + Duration::from_secs(if is_slow { 20 } else { 0 });
        let begin = (self.clone(), changed, since);
        futures::stream::unfold(begin, move |(fake, mut changed, since)| {
            let resource = resource.clone();
            async move {
                tokio::time::sleep_until(slow_until).await;
                loop {
                    changed.mark_unchanged();
                    {
                        let state = fake.lock();
                        if state.away {
                            let broken = Err(io::Error::other("connection reset"));
                            drop(state);
                            return Some((broken, (fake, changed, since)));
                        }
                        let old = state.old_list.as_ref();
                        if old.is_some_and(|(broken, _)| *broken == resource) {
                            let status = Refusal::new(410, "Expired", "too old".to_owned());
                            let event = json!({"type": "ERROR", "object": status.status()});
                            drop(state);
                            let frame = Frame::data(Bytes::from(format!("{event}\n")));
                            return Some((Ok(frame), (fake, changed, since)));
                        }
                        let mut history = state.history.iter();
                        let next = history.find(|(version, kind, _)| {
                            *version > since && *kind == resource && !state.hangs
                        });
                        if let Some((version, _, event)) = next {
                            let (version, line) = (*version, format!("{event}\n"));
                            drop(state);
                            let frame = Frame::data(Bytes::from(line));
                            return Some((Ok(frame), (fake, changed, version)));
                        }
                    }
                    match tokio::time::timeout_at(end, changed.changed()).await {
                        Ok(_) => {}
                        Err(_) => return None,
                    }
                }
            }
        })
    }
}

pub(crate) struct Refusal {
    code: StatusCode,
    reason: &'static str,
    message: String,
}

impl std::fmt::Debug for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.reason, self.message)
    }
}

impl Refusal {
    fn new(code: u16, reason: &'static str, message: String) -> Self {
        Refusal {
            code: StatusCode::from_u16(code).unwrap(),
            reason,
            message,
        }
    }

    fn status(&self) -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": self.code.as_u16(), "reason": self.reason, "message": self.message})
    }
}

/// What a path names.
struct Target {
    resource: String,
    namespace: String,
    name: String,
    subresource: String,
}

impl Target {
    fn of(path: &str) -> Self {
        let mut segments = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .peekable();
        let versions = if segments.next() == Some("api") { 1 } else { 2 };
        let mut rest = segments.skip(versions).peekable();
        let namespace = match rest.next_if(|segment| *segment == "namespaces") {
            Some(_) => rest.next().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        let mut next = || rest.next().unwrap_or_default().to_owned();
        Target {
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

impl State {
    pub(crate) fn get(&self, resource: &str, key: &str) -> Option<&Value> {
        self.objects.get(&key_of(resource, key))
    }

    /// The object at a JSON pointer, `null` if there is none.
    pub(crate) fn at(&self, resource: &str, key: &str, pointer: &str) -> Value {
        let object = self.get(resource, key);
        let value = object.and_then(|object| object.pointer(pointer));
        value.cloned().unwrap_or_default()
    }

    pub(crate) fn all(&self, resource: &str) -> Vec<&Value> {
        let objects = self
            .objects
            .iter()
            .filter(|((kind, ..), _)| kind == resource);
        objects.map(|(_, object)| object).collect()
    }

    /// The reasons of the events about an object of this name.
    pub(crate) fn events_about(&self, name: &str) -> Vec<String> {
        let events = self.all(EVENTS).into_iter();
        let about = events.filter(|event| event["regarding"]["name"] == name);
        about
            .map(|event| event["reason"].as_str().unwrap().to_owned())
            .collect()
    }

    fn serve(
        &mut self,
        method: &Method,
        target: &Target,
        body: &Value,
        is_counted: bool,
    ) -> Result<Value, Refusal> {
        let key = target.key();
        if is_counted {
            let part = match &*target.subresource {
                "" => String::new(),
                part => format!("/{part}"),
            };
            let name = match &*target.name {
                "" => body["metadata"]["name"].as_str().unwrap_or_default(),
                name => name,
            };
            self.writes
                .push(format!("{method} {} {name}{part}", target.resource));
            self.check_manners(method, target, body);
            if self.conflicts > 0 {
                self.conflicts -= 1;
                return Err(conflict(&key));
            }
        }
        match *method {
            Method::GET if target.name.is_empty() => match self.old_list.take() {
                Some((resource, list)) if resource == target.resource => {
                    self.slow = Some(resource);
                    Ok(list)
                }
                other => {
                    self.old_list = other;
                    Ok(self.list(&target.resource))
                }
            },
            Method::GET => self
                .objects
                .get(&key)
                .cloned()
                .ok_or_else(|| not_found(&key)),
            Method::POST => {
                let mut object = body.clone();
                if !target.namespace.is_empty() {
                    object["metadata"]["namespace"] = json!(target.namespace);
                }
                self.create(&target.resource, object)
            }
            Method::PUT => self.replace(&key, body),
            Method::PATCH => self.patch(&key, &target.subresource, body),
            Method::DELETE => self.delete(&key, body),
            _ => Err(Refusal::new(405, "MethodNotAllowed", method.to_string())),
        }
    }

    fn check_manners(&mut self, method: &Method, target: &Target, body: &Value) {
        let what = format!(
            "{method} {} {}: {body}",
            target.resource, target.subresource
        );
        if *method == Method::PATCH {
            if !body["metadata"]["resourceVersion"].is_string() {
                self.wrongs.push(format!("without a version: {what}"));
            }
            let only = |allowed: &[&str]| {
                let fields = body.as_object().unwrap();
                fields.keys().all(|field| allowed.contains(&field.as_str()))
            };
            let fits = match &*target.subresource {
                "status" => {
                    let metadata = body["metadata"].as_object();
                    only(&["metadata", "status"]) && metadata.is_some_and(|has| has.len() == 1)
                }
                _ => only(&["metadata", "spec"]),
            };
            if !fits {
                self.wrongs.push(format!("on the wrong part: {what}"));
            }
        }
        if *method == Method::DELETE && !body["preconditions"]["uid"].is_string() {
            self.wrongs.push(format!("without a precondition: {what}"));
        }
    }

    pub(crate) fn list(&self, resource: &str) -> Value {
        let items: Vec<_> = self.all(resource).into_iter().cloned().collect();
        json!({"kind": "List", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": self.version.to_string()}})
    }

    fn create(&mut self, resource: &str, mut object: Value) -> Result<Value, Refusal> {
        let metadata = &object["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let key = (resource.to_owned(), text("namespace"), text("name"));
        if self.objects.contains_key(&key) {
            let message = format!("{resource} \"{}\" already exists", key.2);
            return Err(Refusal::new(409, "AlreadyExists", message));
        }
        self.version += 1;
        object["metadata"]["uid"] = json!(format!("uid-{}-{}", key.2, self.version));
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if let Some(finalizer) = protection(resource) {
            object["status"] = json!({"phase": "Pending"});
            let finalizers = &mut object["metadata"]["finalizers"];
            let mut all = finalizers.as_array().cloned().unwrap_or_default();
            all.push(json!(finalizer));
            *finalizers = json!(all);
        }
        Ok(self.store(key, object, "ADDED"))
    }

    fn store(&mut self, key: Key, mut object: Value, event: &str) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let told = json!({"type": event, "object": object});
        self.history.push((self.version, key.0.clone(), told));
        if event == "DELETED" {
            self.objects.remove(&key);
        } else {
            self.objects.insert(key, object.clone());
        }
        self.protect();
        object
    }

    fn replace(&mut self, key: &Key, body: &Value) -> Result<Value, Refusal> {
        let stored = self.objects.get(key).ok_or_else(|| not_found(key))?;
        if body["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"] {
            return Err(conflict(key));
        }
        Ok(self.store(key.clone(), body.clone(), "MODIFIED"))
    }

    pub(crate) fn patch(
        &mut self,
        key: &Key,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, Refusal> {
        let stored = self.objects.get(key).ok_or_else(|| not_found(key))?;
        let version = &patch["metadata"]["resourceVersion"];
        if !version.is_null() && *version != stored["metadata"]["resourceVersion"] {
            return Err(conflict(key));
        }
        let mut object = stored.clone();
        apply_merge_patch(&mut object, patch);
        let has_status = protection(&key.0).is_some();
        match subresource {
            "status" => {
                let status = object["status"].take();
                object = stored.clone();
                object["status"] = status;
            }
            _ if has_status => object["status"] = stored["status"].clone(),
            _ => {}
        }
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        if object == *stored {
            return Ok(object);
        }
        Ok(self.store_or_remove(key, object))
    }

    pub(crate) fn delete(&mut self, key: &Key, options: &Value) -> Result<Value, Refusal> {
        let mut object = self
            .objects
            .get(key)
            .cloned()
            .ok_or_else(|| not_found(key))?;
        let wanted = &options["preconditions"];
        for field in ["uid", "resourceVersion"] {
            if !wanted[field].is_null() && wanted[field] != object["metadata"][field] {
                return Err(conflict(key));
            }
        }
        if object["metadata"]["deletionTimestamp"].is_null() {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        }
        Ok(self.store_or_remove(key, object))
    }

    fn store_or_remove(&mut self, key: &Key, object: Value) -> Value {
        let metadata = &object["metadata"];
        let finalizers = metadata["finalizers"].as_array();
        let is_over = !metadata["deletionTimestamp"].is_null()
            && finalizers.is_none_or(|finalizers| finalizers.is_empty());
        self.store(
            key.clone(),
            object,
            if is_over { "DELETED" } else { "MODIFIED" },
        )
    }

    /// What pv-protection and pvc-protection do.
    fn protect(&mut self) {
        let pods: Vec<_> = self.all("pods").into_iter().cloned().collect();
        let done = self.objects.iter().find_map(|(key, object)| {
            let finalizer = protection(&key.0)?;
            let mut finalizers = object["metadata"]["finalizers"].as_array().cloned()?;
            let is_used = match finalizer {
                "kubernetes.io/pv-protection" => object["status"]["phase"] == "Bound",
                _ => pods
                    .iter()
                    .any(|pod| pod.to_string().contains(&format!("\"{}\"", key.2))),
            };
            let is_going = !object["metadata"]["deletionTimestamp"].is_null();
            let before = finalizers.len();
            finalizers.retain(|has| has != finalizer);
            (is_going && !is_used && finalizers.len() < before).then(|| {
                let mut object = object.clone();
                object["metadata"]["finalizers"] = json!(finalizers);
                (key.clone(), object)
            })
        });
        if let Some((key, object)) = done {
            self.store_or_remove(&key, object);
        }
    }
}

fn protection(resource: &str) -> Option<&'static str> {
    match resource {
        VOLUMES => Some("kubernetes.io/pv-protection"),
        CLAIMS => Some("kubernetes.io/pvc-protection"),
        _ => None,
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

fn not_found(key: &Key) -> Refusal {
    let message = format!("{} \"{}\" not found", key.0, key.2);
    Refusal::new(404, "NotFound", message)
}

fn conflict(key: &Key) -> Refusal {
    let message = format!(
        "Operation cannot be fulfilled on {} \"{}\": the object has been modified; please apply \
         your changes to the latest version and try again",
        key.0, key.2
    );
    Refusal::new(409, "Conflict", message)
}

fn reply(code: StatusCode, object: &Value) -> Reply {
    let body = Full::new(Bytes::from(object.to_string()));
    let body = body.map_err(|never| match never {}).boxed();
    Response::builder().status(code).body(body).unwrap()
}
