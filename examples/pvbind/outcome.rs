//! What happens to a claim.

use std::borrow::Cow;

use pvbind::api::{ClaimPhase, PersistentVolume, PersistentVolumeClaim, names};
use pvbind::matching::{FindOptions, MatchReport, SearchOptions, volume_satisfies_claim};

use crate::cluster::Cluster;

/// What happens to a claim next.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub kind: Kind,
    /// The volume that it is about, if one.
    pub volume: Option<String>,
    /// For people.
    pub sentence: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Bound,
    WouldBind,
    Waits,
    NoVolume,
}

impl Kind {
    pub fn code(self) -> &'static str {
        match self {
            Kind::Bound => "bound",
            Kind::WouldBind => "would-bind",
            Kind::Waits => "waits",
            Kind::NoVolume => "no-volume",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Kind::Bound => "bound to",
            Kind::WouldBind => "would bind to",
            Kind::Waits => "waits",
            Kind::NoVolume => "no volume",
        }
    }
}

impl Outcome {
    fn of_volume(kind: Kind, volume: &str) -> Outcome {
        Outcome {
            kind,
            volume: Some(volume.to_owned()),
            sentence: String::new(),
        }
    }

    fn without_volume(kind: Kind, sentence: impl Into<String>) -> Outcome {
        Outcome {
            kind,
            volume: None,
            sentence: sentence.into(),
        }
    }
}

/// The report on all volumes for a claim. While the claim waits for its first
/// consumer no open volume can be taken; the report shows which would fit then.
pub fn report<'a>(cluster: &'a Cluster, claim: &'a PersistentVolumeClaim) -> MatchReport<'a> {
    MatchReport::new(claim, cluster.volumes(), &FindOptions::default())
}

/// The claim as it will be searched for: one that says no class, and for which
/// no volume without class is found, is given the default class first.
pub fn with_default_class<'a>(
    cluster: &Cluster,
    claim: &'a PersistentVolumeClaim,
) -> Cow<'a, PersistentVolumeClaim> {
    let is_searched = claim.volume_name().is_empty() && !claim.is_bind_completed();
    if claim.has_class() || !is_searched {
        return Cow::Borrowed(claim);
    }
    match (
        cluster.volumes.best_match(claim, SearchOptions::default()),
        cluster.default_class(),
    ) {
        (Ok(None), Some(class)) => {
            let mut given = claim.clone();
            given.spec.storage_class_name = Some(class.name().to_owned());
            Cow::Owned(given)
        }
        _ => Cow::Borrowed(claim),
    }
}

pub fn outcome(cluster: &Cluster, claim: &PersistentVolumeClaim) -> Outcome {
    let outcome = match claim.volume_name() {
        "" if claim.is_bind_completed() => Outcome::without_volume(
            Kind::NoVolume,
            "lost: the bound claim has lost the name of its volume",
        ),
        "" => searched(cluster, claim),
        name => named(cluster, claim, name),
    };
    mention_leftover(cluster, claim, outcome)
}

/// A claim that names its volume.
fn named(cluster: &Cluster, claim: &PersistentVolumeClaim, name: &str) -> Outcome {
    let is_bound = claim.is_bind_completed();
    let Some(volume) = cluster.volumes.get(name) else {
        return if cluster.volumes.is_empty() {
            // Without volumes in the input nothing can be said about this one.
            Outcome {
                kind: if is_bound { Kind::Bound } else { Kind::Waits },
                volume: Some(name.to_owned()),
                sentence: "the input holds no volumes".to_owned(),
            }
        } else if is_bound {
            Outcome::without_volume(Kind::NoVolume, format!("lost: its volume {name} is gone"))
        } else {
            Outcome::without_volume(
                Kind::Waits,
                format!("for volume {name}, which is not there"),
            )
        };
    };
    match volume.claim_ref() {
        // A finished bind goes by the uid alone.
        Some(by) if is_bound && !by.uid().is_empty() && by.uid() == claim.metadata.uid() => {
            Outcome::of_volume(Kind::Bound, name)
        }
        Some(by) if is_bound => Outcome::without_volume(
            Kind::NoVolume,
            format!("lost: its volume {name} belongs to {}", by.key()),
        ),
        Some(_) if volume.is_bound_to(claim) => Outcome::of_volume(Kind::WouldBind, name),
        Some(by) => Outcome::without_volume(
            Kind::NoVolume,
            format!(
                "it asks for {name}, which {} {}",
                if by.uid().is_empty() {
                    "is reserved for"
                } else {
                    "is bound to"
                },
                by.key()
            ),
        ),
        None if is_bound => Outcome::of_volume(Kind::WouldBind, name),
        None => match volume_satisfies_claim(volume, claim, true) {
            Ok(()) => Outcome::of_volume(Kind::WouldBind, name),
            Err(mismatch) => Outcome::without_volume(
                Kind::NoVolume,
                format!("it asks for {name}, which {}", mismatch.refusal),
            ),
        },
    }
}

/// A claim for which a volume is searched.
fn searched(cluster: &Cluster, claim: &PersistentVolumeClaim) -> Outcome {
    let given = with_default_class(cluster, claim);
    let mut outcome = unbound(cluster, &given);
    if let Cow::Owned(given) = &given {
        let first = format!("takes default class {:?}", given.class_name());
        outcome.sentence = match outcome.sentence.as_str() {
            "" => first,
            then => format!("{first}, then {}: {then}", outcome.kind.title()),
        };
    }
    outcome
}

fn unbound(cluster: &Cluster, claim: &PersistentVolumeClaim) -> Outcome {
    let class_name = claim.class_name();
    let is_delayed = cluster.is_delayed(class_name);
    let options = SearchOptions {
        delay_binding: is_delayed,
        ..SearchOptions::default()
    };
    match cluster.volumes.best_match(claim, options) {
        Err(error) => return Outcome::without_volume(Kind::NoVolume, error.to_string()),
        Ok(Some(volume)) => return Outcome::of_volume(Kind::WouldBind, volume.name()),
        Ok(None) => {}
    }
    let sentence = report(cluster, claim).to_string();
    if class_name.is_empty() {
        let sentence = match claim.has_class() {
            true => sentence,
            false => format!("no class is set and there is no default class; {sentence}"),
        };
        return Outcome::without_volume(Kind::NoVolume, sentence);
    }
    if is_delayed && !claim.metadata.has_annotation(names::SELECTED_NODE) {
        let first = first_consumer(cluster, claim);
        return Outcome::without_volume(Kind::Waits, format!("for {first}; {sentence}"));
    }
    match cluster.classes.get(class_name) {
        None if cluster.classes.is_empty() => Outcome::without_volume(
            Kind::Waits,
            format!("unknown, since the input holds no classes; {sentence}"),
        ),
        None => Outcome::without_volume(
            Kind::NoVolume,
            format!("class {class_name} does not exist; {sentence}"),
        ),
        Some(class) if class.provisioner() == names::NO_PROVISIONER => {
            Outcome::without_volume(Kind::NoVolume, sentence)
        }
        Some(class) => {
            let asked = claim.metadata.annotation(names::STORAGE_PROVISIONER);
            let asked = asked.unwrap_or(class.provisioner());
            Outcome::without_volume(
                Kind::Waits,
                format!("for {asked} to provision it; {sentence}"),
            )
        }
    }
}

/// What a claim waits for that waits for its first consumer.
fn first_consumer(cluster: &Cluster, claim: &PersistentVolumeClaim) -> String {
    let waiting = cluster
        .pods_of(claim)
        .iter()
        .filter(|pod| pod.node_name().is_empty());
    let mut pods: Vec<_> = waiting.map(|pod| pod.name()).collect();
    pods.sort_unstable();
    match pods.as_slice() {
        [] => "its first consumer (no pod that is to be scheduled uses it)".to_owned(),
        [pod] => format!("pod {pod} to be scheduled"),
        [first, second, third, _, ..] => format!(
            "one of {} pods to be scheduled ({first}, {second}, {third} …)",
            pods.len()
        ),
        pods => format!("one of the pods {} to be scheduled", pods.join(", ")),
    }
}

/// A volume that an earlier claim of this name left behind is what people
/// expect to get back.
fn mention_leftover(
    cluster: &Cluster,
    claim: &PersistentVolumeClaim,
    mut outcome: Outcome,
) -> Outcome {
    let is_leftover = |volume: &&PersistentVolume| {
        let by = volume.claim_ref();
        by.is_some_and(|by| !by.uid().is_empty()) && !volume.is_bound_to(claim)
    };
    let metadata = &claim.metadata;
    let left: Vec<_> = cluster
        .volumes
        .claimed_by(metadata.namespace(), metadata.name())
        .map(|volume| volume.as_ref())
        .filter(is_leftover)
        .map(PersistentVolume::name)
        .collect();
    let is_told = outcome.sentence.contains("earlier claim of this name");
    if !left.is_empty() && !is_told && claim.status.phase != Some(ClaimPhase::Bound) {
        let names = left.join(", ");
        let note = format!("{names} still belongs to an earlier claim of this name");
        outcome.sentence = match outcome.sentence.as_str() {
            "" => note,
            sentence => format!("{sentence}; {note}"),
        };
    }
    outcome
}
