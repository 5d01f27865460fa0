//! The Lease: of several controllers one leads.
//!
//! As in client-go, nobody compares the clocks of two machines: a candidate
//! takes the lead when it has seen the Lease unchanged for as long as the Lease
//! is good, by its own clock; and a leader stops well before that. One that is
//! started again under the name in the Lease need only see that nobody renews
//! it.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, error, info, warn};

use crate::failures::{Failures, with_causes};
use crate::health::Health;
use crate::server::post;
use crate::term::Term;

/// Where the Lease is, and how long things take.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// Who this controller is.
    pub identity: String,
    /// How long the Lease is good after it was renewed last.
    pub good_for: Duration,
    /// After how long without renewal the leader stops; less than `good_for`.
    pub stop_after: Duration,
    /// How often it is tried to take or renew it.
    pub every: Duration,
}

impl LeaseSettings {
    /// As kube-controller-manager has it by default.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        LeaseSettings {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            good_for: Duration::from_secs(15),
            stop_after: Duration::from_secs(10),
            every: Duration::from_secs(2),
        }
    }

    /// With other times: how long the Lease is good, after how long without
    /// renewal the leader stops, and how often it is tried.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kube_controller::leader::LeaseSettings;
    /// let lease = LeaseSettings::new("kube-system", "binder", "a");
    /// let [short, mid, long] = [4, 20, 30].map(Duration::from_secs);
    /// assert!(lease.clone().with_times(long, mid, short).is_ok());
    /// assert!(lease.with_times(mid, long, short).is_err());
    /// ```
    ///
    /// # Errors
    /// A leader with these times could not stop before the Lease ends, or not
    /// try again before it must stop; or the Lease is good for less than a
    /// second.
    pub fn with_times(
        self,
        good_for: Duration,
        stop_after: Duration,
        every: Duration,
    ) -> Result<Self, String> {
        // In the Lease it stands in whole seconds, by which the others go.
        let told = Duration::from_secs(good_for.as_secs());
        if told.is_zero() {
            return Err("the lease duration must be a second or more".to_owned());
        }
        if i32::try_from(told.as_secs()).is_err() {
            return Err("the lease duration is too long".to_owned());
        }
        if stop_after >= told {
            return Err(format!(
                "the renew deadline, {stop_after:?}, must be less than the lease duration in \
                 whole seconds, {told:?}"
            ));
        }
        // As upstream, which waits up to a fifth longer at times.
        if every.saturating_mul(6) / 5 >= stop_after {
            return Err(format!(
                "1.2 times the retry period, {every:?}, must be less than the renew deadline, \
                 {stop_after:?}"
            ));
        }
        Ok(LeaseSettings {
            good_for: told,
            stop_after,
            every,
            ..self
        })
    }
}

/// A candidate, or the leader.
pub struct Elector {
    api: Api<Lease>,
    settings: LeaseSettings,
    health: Health,
    /// The Lease as last seen to change, and when.
    seen: Option<(LeaseSpec, Instant)>,
    /// When the renewal that counts was begun.
    renewed: Instant,
    /// The term, while it leads.
    term: Option<Term>,
    /// The times of its own renewals, in microseconds: the last that is done,
    /// and those after it of which nobody knows whether they are.
    own: Vec<i64>,
    failures: Failures,
}

impl Elector {
    /// A candidate. The client is best its own: under load, the Lease must not
    /// wait for anything else.
    pub fn new(client: Client, settings: LeaseSettings, health: Health) -> Self {
        Elector {
            api: Api::namespaced(client, &settings.namespace),
            settings,
            health,
            seen: None,
            renewed: Instant::now(),
            term: None,
            own: Vec::new(),
            failures: Failures::default(),
        }
    }

    /// Waits until it has the lead; nothing if it was told to stop before.
    pub async fn acquire(&mut self, stop: &mut watch::Receiver<bool>) -> Option<Term> {
        info!(identity = self.settings.identity, "stands by");
        let every = self.settings.every;
        self.term = None;
        loop {
            if *stop.borrow() {
                return None;
            }
            let has_lead = tokio::select! {
                has_lead = self.attempt() => has_lead,
                _ = stop.changed() => {
                    // The attempt that is cut off may have taken it.
                    self.release().await;
                    return None;
                }
            };
            if has_lead == Ok(true) {
                info!(identity = self.settings.identity, "leads");
                let term = Term::until(self.renewed + self.settings.stop_after);
                self.term = Some(term.clone());
                return Some(term);
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                _ = stop.changed() => {}
            }
        }
    }

    /// Keeps the lead; returns when it is lost.
    pub async fn keep(&mut self) {
        loop {
            let until = self.renewed + self.settings.stop_after;
            let attempt = async {
                tokio::time::sleep(self.settings.every).await;
                self.attempt().await
            };
            match tokio::time::timeout_at(until, attempt).await {
                Ok(Ok(true)) => {
                    let until = self.renewed + self.settings.stop_after;
                    self.term.iter().for_each(|term| term.renew(until));
                }
                Ok(Ok(false)) => {
                    warn!("the lead is lost, and all begins anew");
                    return;
                }
                // Again, until the time is over.
                Ok(Err(())) => {}
                Err(_) => {
                    self.health.lease_unanswered();
                    warn!("the Lease could not be renewed in time");
                    return;
                }
            }
        }
    }

    /// Gives the lead back, so that the next one need not wait.
    pub async fn release(&mut self) {
        let release = async {
            let lease = self.api.get(&self.settings.name).await?;
            let holder = lease
                .spec
                .as_ref()
                .and_then(|spec| spec.holder_identity.as_deref());
            if holder != Some(&self.settings.identity) {
                return Ok(());
            }
            let mut lease = lease.clone();
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = None;
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            let name = &self.settings.name;
            self.api.replace(name, &post(), &lease).await?;
            info!("gave the lead back");
            Ok::<(), kube::Error>(())
        };
        match tokio::time::timeout(self.settings.stop_after / 2, release).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let error = with_causes(&error);
                warn!(error, "the lead was not given back");
            }
            Err(_) => warn!("the lead was not given back in time"),
        }
    }

    /// Tries once to take or renew the Lease; whether it is held now.
    async fn attempt(&mut self) -> Result<bool, ()> {
        let begun = Instant::now();
        let attempt = tokio::time::timeout(self.settings.stop_after / 2, self.take_or_renew());
        let answer = attempt.await;
        match &answer {
            Ok(Ok(_)) => self.health.lease_answered(),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                self.health.lease_answered();
            }
            _ => self.health.lease_unanswered(),
        }
        let result = match answer {
            Ok(Ok(held)) => {
                self.failures.over();
                Ok(held)
            }
            // Somebody was faster, or the read was old.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(()),
            Ok(Err(error)) => {
                let error = with_causes(&error);
                self.failures.tell("cannot ask for the Lease", &error);
                Err(())
            }
            Err(_) => {
                let error = "no answer in time";
                self.failures.tell("cannot ask for the Lease", error);
                Err(())
            }
        };
        if result == Ok(true) {
            self.renewed = begun;
        }
        result
    }

    async fn take_or_renew(&mut self) -> kube::Result<bool> {
        let params = post();
        let Some(mut lease) = self.api.get_opt(&self.settings.name).await? else {
            if self.term.is_some() {
                error!(
                    "the Lease is gone: it was deleted, or the API server was restored from a \
                     backup"
                );
                return Ok(false);
            }
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.settings.name.clone()),
                    namespace: Some(self.settings.namespace.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.spec(None)),
            };
            self.attempted(&lease);
            let lease = self.api.create(&params, &lease).await?;
            self.renewed_as(&lease);
            return Ok(true);
        };
        let held = lease.spec.take().unwrap_or_default();
        if self.is_lost(&held) || self.is_anothers(&held) {
            return Ok(false);
        }
        lease.spec = Some(self.spec(Some(held)));
        self.attempted(&lease);
        let name = &self.settings.name;
        let lease = self.api.replace(name, &params, &lease).await?;
        self.renewed_as(&lease);
        Ok(true)
    }

    fn attempted(&mut self, lease: &Lease) {
        self.own.extend(renewed_at(lease.spec.as_ref()));
        let old = self.own.len().saturating_sub(16);
        self.own.drain(..old);
    }

    fn renewed_as(&mut self, lease: &Lease) {
        self.own = renewed_at(lease.spec.as_ref()).into_iter().collect();
    }

    /// Whether the Lease is not as this one left it, though it is in office. It may
    /// be of a backup: whoever holds it there, or if nobody does, what is known of
    /// everything else is of a time that never was.
    fn is_lost(&self, held: &LeaseSpec) -> bool {
        if self.term.is_none() || self.is_own(held) {
            return false;
        }
        let holder = held.holder_identity.as_deref().unwrap_or_default();
        error!(
            holder,
            "the Lease is not as it was left: another process has it, or has the same identity, \
             or the API server was restored from a backup"
        );
        true
    }

    fn is_own(&self, held: &LeaseSpec) -> bool {
        renewed_at(Some(held)).is_some_and(|at| self.own.contains(&at))
    }

    /// Whether another one holds the Lease, and it is good still.
    fn is_anothers(&mut self, held: &LeaseSpec) -> bool {
        let since = match &self.seen {
            Some((seen, since)) if seen == held => *since,
            _ => {
                let now = Instant::now();
                self.seen = Some((held.clone(), now));
                now
            }
        };
        let holder = held.holder_identity.as_deref().unwrap_or_default();
        if holder.is_empty() {
            return false;
        }
        if holder == self.settings.identity {
            if self.is_own(held) {
                return false;
            }
            // Written by this one before it was started again, or by another
            // process of the same name, which renews it.
            return since.elapsed() < self.settings.every.saturating_mul(2);
        }
        let seconds = held.lease_duration_seconds.map(u64::try_from);
        let good_for = match seconds {
            Some(Ok(seconds)) => Duration::from_secs(seconds),
            _ => self.settings.good_for,
        };
        debug!(holder, "has the Lease");
        since.elapsed() < good_for
    }

    fn spec(&self, before: Option<LeaseSpec>) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let is_new = before.is_none();
        let before = before.unwrap_or_default();
        let is_mine = before.holder_identity.as_deref() == Some(&*self.settings.identity);
        let transitions = before.lease_transitions.unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: i32::try_from(self.settings.good_for.as_secs()).ok(),
            acquire_time: before
                .acquire_time
                .clone()
                .filter(|_| is_mine)
                .or(now.clone()),
            renew_time: now,
            lease_transitions: Some(match is_mine || is_new {
                true => transitions,
                false => transitions.saturating_add(1),
            }),
            ..before
        }
    }
}

fn renewed_at(lease: Option<&LeaseSpec>) -> Option<i64> {
    let time = lease?.renew_time.as_ref()?;
    Some(time.0.as_microsecond())
}
