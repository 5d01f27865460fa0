//! The objects of the API server, and what is done to them.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use pvbind::plan::apply_merge_patch;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::refusal::Refusal;
use super::rules::{check_change, check_new};
use super::{CLAIMS, EVENTS, Fault, Key, LEASES, Request, VOLUMES, key_of};

/// What goes wrong with each request.
type Faults = Box<dyn FnMut(&Request) -> Fault + Send>;

/// A version, and the objects that there were then.
pub(crate) type Backup = (u64, BTreeMap<Key, Value>);

#[derive(Default)]
pub(crate) struct State {
    pub(crate) objects: BTreeMap<Key, Value>,
    pub(super) version: u64,
    /// Every change: its version, the resource, the watch event, and when.
    pub(super) history: Vec<(u64, String, Value, Instant)>,
    /// Every write to volumes and claims, in words, refused ones included.
    pub(crate) writes: Vec<String>,
    /// Every request but the watches.
    pub(crate) requests: Vec<Request>,
    /// How many requests are under way, and were at most.
    pub(crate) under_way: usize,
    pub(crate) most_under_way: usize,
    /// What a controller must not do.
    pub(crate) wrongs: Vec<String>,
    /// Nobody answers.
    pub(crate) away: bool,
    /// No request arrives any more, and the watches go on: an API server that
    /// was told to stop.
    pub(crate) leaving: bool,
    /// What was before this version is forgotten: watches cannot begin there.
    pub(crate) compacted: u64,
    /// Such watches are refused with 410, instead of beginning and saying so.
    pub(crate) gone_at_once: bool,
    /// How many bookmarks were sent.
    pub(crate) bookmarks: usize,
    /// So long takes each answer.
    pub(crate) takes: Duration,
    /// So much later the watches of a resource say what happened.
    pub(crate) lags: BTreeMap<&'static str, Duration>,
    /// What goes wrong with a request.
    pub(crate) faults: Option<Faults>,
    /// After so many more requests about volumes and claims every request
    /// hangs: the last one is carried out, and not answered.
    pub(crate) hangs_after: Option<usize>,
    /// Only writes count for that.
    pub(crate) counts_writes_only: bool,
    pub(crate) hangs: bool,
    /// How many requests counted for that, or would have.
    pub(crate) counted: usize,
    /// Who cannot reach the API server.
    pub(crate) cut_off: Option<String>,
    /// The watch of this resource breaks off for good, and the next list of it is
    /// this one; the watch that follows says nothing for a while.
    pub(crate) old_list: Option<(String, Value)>,
    pub(super) slow: Option<String>,
    /// Something in between answers reads of single objects with a 404 and a
    /// page of its own.
    pub(crate) misrouted: bool,
    /// Before so many patches somebody else changes the object.
    pub(crate) meddling: usize,
    /// Who holds the Lease, and since when without renewal.
    lease: Option<(String, Instant)>,
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
        self.each(resource).collect()
    }

    fn each(&self, resource: &str) -> impl Iterator<Item = &Value> {
        let objects = self.objects.range(key_of(resource, "")..);
        let objects = objects.take_while(move |((kind, ..), _)| kind == resource);
        objects.map(|(_, object)| object)
    }

    /// The reasons of the events about an object of this name.
    pub(crate) fn events_about(&self, name: &str) -> Vec<String> {
        let events = self.all(EVENTS).into_iter();
        let about = events.filter(|event| event["regarding"]["name"] == name);
        about
            .map(|event| event["reason"].as_str().unwrap().to_owned())
            .collect()
    }

    pub(super) fn refuses(&self, who: &str) -> bool {
        self.leaving || self.is_away_for(who)
    }

    pub(super) fn is_away_for(&self, who: &str) -> bool {
        self.away || self.cut_off.as_deref() == Some(who)
    }

    /// The resourceVersion of now.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// What a backup holds.
    pub(crate) fn backup(&self) -> Backup {
        (self.version, self.objects.clone())
    }

    /// Goes back to a backup, and knows nothing of what was since.
    pub(crate) fn restore(&mut self, (version, objects): Backup) {
        // Where watches are that go on stays; none tells of this any more.
        let since = self.history.iter_mut().filter(|(at, ..)| *at > version);
        since.for_each(|(at, ..)| *at = 0);
        (self.version, self.objects) = (version, objects);
    }

    /// How many requests there were since, of this method and to this resource.
    pub(crate) fn requests_since(&self, since: Instant, method: &str, resource: &str) -> usize {
        let requests = self.requests.iter().rev();
        let requests = requests.take_while(|request| request.at >= since);
        let meant = |request: &&Request| {
            (method.is_empty() || request.method == method)
                && (resource.is_empty() || request.target.resource == resource)
        };
        requests.filter(meant).count()
    }

    pub(super) fn serve(
        &mut self,
        request: &Request,
        body: &Value,
        is_counted: bool,
    ) -> Result<Value, Refusal> {
        let (method, target) = (&request.method, &request.target);
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
            self.check_manners(request, body);
            if self.meddling > 0 && *method == Method::PATCH {
                self.meddling -= 1;
                let label = json!({"metadata": {"labels":
                    {"meddled": self.meddling.to_string()}}});
                let _ = self.patch(&key, "", &label);
            }
        }
        let result = self.carry_out(request, &key, body);
        if target.resource == LEASES
            && *method != Method::GET
            && let Ok(lease) = &result
        {
            let holder = lease["spec"]["holderIdentity"].as_str();
            self.lease = holder.map(|_| (request.who.clone(), Instant::now()));
        }
        if let Err(refusal) = &result
            && refusal.code == 422
        {
            let path = (&target.resource, &target.name);
            self.wrongs
                .push(format!("{method} {path:?}: {refusal:?}: {body}"));
        }
        result
    }

    fn carry_out(&mut self, request: &Request, key: &Key, body: &Value) -> Result<Value, Refusal> {
        let target = &request.target;
        match request.method {
            Method::GET if target.name.is_empty() => match self.old_list.take() {
                Some((resource, list)) if resource == target.resource => {
                    self.slow = Some(resource);
                    Ok(list)
                }
                other => {
                    self.old_list = other;
                    Ok(self.page(request))
                }
            },
            Method::GET => self
                .objects
                .get(key)
                .cloned()
                .ok_or_else(|| Refusal::not_found(key)),
            Method::POST => {
                let mut object = body.clone();
                if !target.namespace.is_empty() {
                    object["metadata"]["namespace"] = json!(target.namespace);
                }
                check_new(&target.resource, &object)?;
                self.create(&target.resource, object)
            }
            Method::PUT => self.replace(key, body),
            Method::PATCH => self.checked_patch(key, &target.subresource, body),
            Method::DELETE => self.delete(key, body),
            _ => Err(Refusal::new(
                405,
                "MethodNotAllowed",
                request.method.as_str(),
            )),
        }
    }

    fn check_manners(&mut self, request: &Request, body: &Value) {
        let (method, target) = (&request.method, &request.target);
        let what = format!(
            "{method} {} {}: {body}",
            target.resource, target.subresource
        );
        // A Lease is good for 15 s; who could not renew it must be still.
        if let Some((who, since)) = &self.lease
            && (*who != request.who || since.elapsed() > Duration::from_secs(15))
        {
            let who = &request.who;
            self.wrongs.push(format!("{who} has no Lease: {what}"));
        }
        if request.manager.as_deref() != Some("pvbind-controller") && *method != Method::DELETE {
            self.wrongs.push(format!("nameless: {what}"));
        }
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
        self.part_of_list(resource, 0, usize::MAX)
    }

    fn part_of_list(&self, resource: &str, begin: usize, limit: usize) -> Value {
        let objects = self.each(resource).skip(begin).take(limit);
        let mut items: Vec<_> = objects.cloned().collect();
        for item in &mut items {
            let fields = item.as_object_mut().unwrap();
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        json!({"kind": "List", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": self.version.to_string()}})
    }

    /// One page of a list, which the next page goes on with.
    fn page(&self, request: &Request) -> Value {
        let resource = &request.target.resource;
        let Some(limit) = request.limit else {
            return self.list(resource);
        };
        // One more shows whether it goes on.
        let mut list = self.part_of_list(resource, request.begin, limit + 1);
        let items = list["items"].as_array_mut().unwrap();
        if items.len() > limit {
            items.truncate(limit);
            list["metadata"]["continue"] = json!((request.begin + limit).to_string());
        }
        list
    }

    pub(crate) fn create(&mut self, resource: &str, mut object: Value) -> Result<Value, Refusal> {
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
        object["metadata"]["managedFields"] = json!([{"manager": "somebody"}]);
        if let Some(finalizer) = protection(resource) {
            object["status"] = json!({"phase": "Pending"});
            if resource == VOLUMES {
                object["status"]["lastPhaseTransitionTime"] = json!("2026-01-01T00:00:00Z");
            }
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
        let now = Instant::now();
        self.history.push((self.version, key.0.clone(), told, now));
        if event == "DELETED" {
            self.objects.remove(&key);
        } else {
            self.objects.insert(key, object.clone());
        }
        object
    }

    fn replace(&mut self, key: &Key, body: &Value) -> Result<Value, Refusal> {
        let Some(stored) = self.objects.get(key) else {
            check_new(&key.0, body)?;
            return self.create(&key.0, body.clone());
        };
        if body["metadata"]["resourceVersion"].is_null() {
            return Err(Refusal::invalid(
                "metadata.resourceVersion: must be specified for an update",
            ));
        }
        if body["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"] {
            return Err(Refusal::conflict(key));
        }
        check_change(key, stored, body)?;
        Ok(self.store(key.clone(), body.clone(), "MODIFIED"))
    }

    pub(crate) fn patch(
        &mut self,
        key: &Key,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, Refusal> {
        let object = self.patched(key, subresource, patch)?;
        Ok(self.store_or_remove(key, object))
    }

    fn checked_patch(
        &mut self,
        key: &Key,
        subresource: &str,
        patch: &Value,
    ) -> Result<Value, Refusal> {
        let object = self.patched(key, subresource, patch)?;
        let stored = &self.objects[key];
        check_change(key, stored, &object)?;
        if object == *stored {
            return Ok(object);
        }
        Ok(self.store_or_remove(key, object))
    }

    fn patched(&self, key: &Key, subresource: &str, patch: &Value) -> Result<Value, Refusal> {
        let stored = self.objects.get(key);
        let stored = stored.ok_or_else(|| Refusal::not_found(key))?;
        let version = &patch["metadata"]["resourceVersion"];
        if !version.is_null() && *version != stored["metadata"]["resourceVersion"] {
            return Err(Refusal::conflict(key));
        }
        let mut object = stored.clone();
        apply_merge_patch(&mut object, patch);
        let has_status = protection(&key.0).is_some();
        match subresource {
            "status" => {
                let mut status = object["status"].take();
                if key.0 == VOLUMES && status["phase"] != stored["status"]["phase"] {
                    status["lastPhaseTransitionTime"] = json!("2026-01-01T00:00:00Z");
                }
                object["spec"] = stored["spec"].clone();
                object["status"] = status;
            }
            _ if has_status => object["status"] = stored["status"].clone(),
            _ => {}
        }
        object["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"].clone();
        Ok(object)
    }

    pub(crate) fn delete(&mut self, key: &Key, options: &Value) -> Result<Value, Refusal> {
        let object = self.objects.get(key).cloned();
        let mut object = object.ok_or_else(|| Refusal::not_found(key))?;
        let wanted = &options["preconditions"];
        for field in ["uid", "resourceVersion"] {
            if !wanted[field].is_null() && wanted[field] != object["metadata"][field] {
                return Err(Refusal::conflict(key));
            }
        }
        let finalizers = object["metadata"]["finalizers"].as_array();
        if finalizers.is_none_or(|finalizers| finalizers.is_empty()) {
            return Ok(self.store(key.clone(), object, "DELETED"));
        }
        if !object["metadata"]["deletionTimestamp"].is_null() {
            return Ok(object);
        }
        object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
        Ok(self.store(key.clone(), object, "MODIFIED"))
    }

    fn store_or_remove(&mut self, key: &Key, object: Value) -> Value {
        let metadata = &object["metadata"];
        let finalizers = metadata["finalizers"].as_array();
        let is_over = !metadata["deletionTimestamp"].is_null()
            && finalizers.is_none_or(|finalizers| finalizers.is_empty());
        if is_over {
            // The answer is the object that was sent, of the version before.
            self.store(key.clone(), object.clone(), "DELETED");
            return object;
        }
        self.store(key.clone(), object, "MODIFIED")
    }

    /// What pv-protection and pvc-protection do.
    pub(super) fn protect(&mut self) {
        let pods: Vec<_> = self.all("pods").into_iter().cloned().collect();
        let uses = |pod: &Value, key: &Key| {
            let volumes = pod["spec"]["volumes"].as_array();
            let claim = |volume: &Value| volume["persistentVolumeClaim"]["claimName"] == *key.2;
            pod["metadata"]["namespace"] == *key.1
                && !["Succeeded", "Failed"].contains(&pod["status"]["phase"].as_str().unwrap_or(""))
                && volumes.is_some_and(|volumes| volumes.iter().any(claim))
        };
        let going = self.objects.iter().filter(|(key, object)| {
            protection(&key.0).is_some() && !object["metadata"]["deletionTimestamp"].is_null()
        });
        let done = going.filter_map(|(key, object)| {
            let finalizer = protection(&key.0)?;
            let mut finalizers = object["metadata"]["finalizers"].as_array().cloned()?;
            let is_used = match finalizer {
                "kubernetes.io/pv-protection" => object["status"]["phase"] == "Bound",
                _ => pods.iter().any(|pod| uses(pod, key)),
            };
            let before = finalizers.len();
            finalizers.retain(|has| has != finalizer);
            (!is_used && finalizers.len() < before).then(|| {
                let mut object = object.clone();
                object["metadata"]["finalizers"] = json!(finalizers);
                (key.clone(), object)
            })
        });
        let done: Vec<_> = done.collect();
        for (key, object) in done {
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
