//! What is printed: of everything, or of one object in full.

use std::collections::{BTreeMap, BTreeSet};

use pvbind::api::PodPhase;
use pvbind::diagnosis::{
    ClaimFacts, Code, Diagnosis, Facts, Kind, PodFacts, Severity, Survey, TextStyle, ViewDiagnosis,
    printable,
};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::{document, search};

/// So many lines of a kind are printed below the counts.
const LISTED: usize = 20;
/// Narrower lines would hold one word each.
const NARROWEST: usize = 40;
/// So many characters of one of them are printed.
const LONGEST: usize = 600;

/// How to print, given the environment's variables.
pub fn style(
    width: Option<usize>,
    variable: impl Fn(&str) -> String,
    is_terminal: bool,
) -> TextStyle {
    // A terminal that does not know its width says 0.
    let columns = variable("COLUMNS").parse().ok();
    let columns = columns.filter(|columns| *columns > 0);
    let width = width.or(columns).unwrap_or(100).max(NARROWEST);
    let has_colors = variable("NO_COLOR").is_empty() && variable("TERM") != "dumb";
    TextStyle::wide(width).colored(is_terminal && has_colors)
}

/// The overview.
pub fn everything(view: &ViewDiagnosis, cluster: &Cluster, style: TextStyle) -> String {
    let mut text = view.text(style);
    for lines in [
        not_scheduled(view, cluster),
        not_running(cluster),
        not_growing(view, cluster),
    ] {
        for line in lines.iter().take(LISTED) {
            let line: String = line.chars().take(LONGEST).collect();
            text.push_str(&printable(&line));
            text.push('\n');
        }
        if lines.len() > LISTED {
            let more = lines.len() - LISTED;
            text.push_str(&format!("and {more} more lines of this kind\n"));
        }
    }
    text + &remarks(cluster, &NotJudged::of(view.iter()))
}

/// One object and what belongs to it.
pub struct Screen<'c> {
    cluster: &'c Cluster,
    diagnosis: Diagnosis,
    /// The claims of a pod.
    uses: Vec<Diagnosis>,
}

impl<'c> Screen<'c> {
    pub fn new(
        survey: &Survey<'_, Snapshot>,
        cluster: &'c Cluster,
        diagnosis: Diagnosis,
    ) -> Result<Self, String> {
        let object = &diagnosis.object;
        let mut uses = Vec::new();
        if object.kind == Kind::Pod {
            let pod = cluster.pod(&object.key())?;
            for used in pod.claims() {
                let key = format!("{}/{}", object.namespace, used.claim);
                if let Ok(claim) = cluster.claim(&key) {
                    uses.push(survey.claim(claim));
                }
            }
        }
        Ok(Screen {
            cluster,
            diagnosis,
            uses,
        })
    }

    /// The object, and what belongs to it.
    fn all(&self) -> impl Iterator<Item = &Diagnosis> {
        self.uses.iter().chain([&self.diagnosis])
    }

    pub fn worst(&self) -> Severity {
        let severities = self.all().map(Diagnosis::severity);
        severities.max().unwrap_or(Severity::Fine)
    }

    pub fn json(&self) -> Result<String, String> {
        let object = &self.diagnosis.object;
        let mut value = json!(self.diagnosis);
        match object.kind {
            Kind::Claim => {
                value["search"] = search::json(self.cluster, self.cluster.claim(&object.key())?);
            }
            Kind::Pod => value["claims"] = json!(self.uses),
            _ => {}
        }
        value["events"] = json!(self.events());
        value["lastWarning"] = json!(self.last_warning());
        Ok(for_programs(&value, self.all(), self.cluster))
    }

    pub fn text(&self, style: TextStyle) -> Result<String, String> {
        let object = &self.diagnosis.object;
        let mut text = self.diagnosis.text(style);
        for diagnosis in &self.uses {
            text.push('\n');
            text.push_str(&diagnosis.text(style));
        }
        if let Some(warning) = self.last_warning() {
            text.push_str(&format!("\nLast warning: {}\n", printable(&warning)));
        }
        let events = self.events();
        if !events.is_empty() {
            text.push_str("\nRecorded events:\n");
        }
        for event in events {
            text.push_str(&format!("  {}\n", printable(&event)));
        }
        if object.kind == Kind::Claim {
            text.push('\n');
            text.push_str(&search::text(
                self.cluster,
                self.cluster.claim(&object.key())?,
            ));
        }
        Ok(text + &remarks(self.cluster, &NotJudged::of(self.all())))
    }

    /// The newest warning about the object's storage.
    fn last_warning(&self) -> Option<String> {
        let object = &self.diagnosis.object;
        let key = object.key();
        let metadata = match object.kind {
            Kind::Claim => &self.cluster.claim(&key).ok()?.metadata,
            Kind::Volume => &self.cluster.volume(&key).ok()?.metadata,
            Kind::Pod => &self.cluster.pod(&key).ok()?.metadata,
            _ => return None,
        };
        let kind = json!(object.kind);
        let events = &self.cluster.events;
        events.last_warning(kind.as_str()?, metadata)
    }

    /// What was recorded about the object.
    fn events(&self) -> Vec<String> {
        let object = &self.diagnosis.object;
        let kind = json!(object.kind);
        let kind = kind.as_str().unwrap_or_default();
        let events = &self.cluster.events;
        events.of(kind, &object.namespace, &object.name)
    }
}

/// What should be known about the input.
fn remarks(cluster: &Cluster, not_judged: &NotJudged) -> String {
    let mut text = String::new();
    if let Some(line) = not_judged.line() {
        text.push_str(&line);
    }
    for line in cluster.refusals.iter().take(LISTED) {
        let line: String = line.chars().take(LONGEST).collect();
        text.push_str(&format!("an API server refuses {}\n", printable(&line)));
    }
    if cluster.refusals.len() > LISTED {
        let more = cluster.refusals.len() - LISTED;
        text.push_str(&format!("and {more} more that an API server refuses\n"));
    }
    if cluster.without_status > 0 {
        let count = cluster.without_status;
        let objects = if count == 1 {
            "object has"
        } else {
            "objects have"
        };
        text.push_str(&format!(
            "{count} {objects} no status: taken as just created\n"
        ));
    }
    if let Some(skipped) = cluster.skipped() {
        text.push_str(&format!("skipped: {}\n", printable(&skipped)));
    }
    text
}

/// What the scheduler said last of pods that have volumes and no node, for what
/// it misses is told in no object that is diagnosed.
fn not_scheduled(view: &ViewDiagnosis, cluster: &Cluster) -> Vec<String> {
    let mut pods_by_message: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for diagnosis in view.iter() {
        if diagnosis.main().code() != Code::PodSomeNodesFit {
            continue;
        }
        let key = diagnosis.object.key();
        let pod = cluster.pod(&key).ok();
        if let Some(message) = pod.and_then(|pod| cluster.events.scheduler_said(&pod.metadata)) {
            pods_by_message.entry(message).or_default().push(key);
        }
    }
    let lines = pods_by_message.into_iter().map(|(message, pods)| {
        let first = pods.first().map_or("", String::as_str);
        let whose = match pods.len() {
            1 => format!("pod {first}"),
            count => format!("{count} pods such as {first}"),
        };
        format!("of {whose} the scheduler said last: {message}")
    });
    lines.collect()
}

/// Pods that have a node and do not run. Whether their volumes are attached and
/// mounted is in no object that is diagnosed, only in events.
fn not_running(cluster: &Cluster) -> Vec<String> {
    let pods = cluster.snapshot.pods();
    let stuck = pods.filter(|pod| {
        let is_pending = pod.status.phase == Some(PodPhase::Pending);
        is_pending && !pod.node_name().is_empty() && pod.claims().next().is_some()
    });
    let lines = stuck.map(|pod| {
        let said = match cluster.events.last_warning("Pod", &pod.metadata) {
            Some(warning) => format!("its last warning is {warning}"),
            None => "whether its volumes are attached and mounted was not looked at".to_owned(),
        };
        let (key, node) = (pod.metadata.key(), pod.node_name());
        format!("pod {key} is on node {node} and does not run yet; {said}")
    });
    lines.collect()
}

/// What was said last of claims that are still to grow.
fn not_growing(view: &ViewDiagnosis, cluster: &Cluster) -> Vec<String> {
    let growing = view.iter();
    let growing = growing.filter(|claim| claim.finding(Code::ClaimResizePending).is_some());
    let lines = growing.filter_map(|diagnosis| {
        let claim = cluster.claim(&diagnosis.object.key()).ok()?;
        let kind = "PersistentVolumeClaim";
        let warning = cluster.events.last_warning(kind, &claim.metadata)?;
        let key = diagnosis.object.key();
        let is_of_growing = warning.contains("ResizeFailed: ");
        is_of_growing
            .then(|| format!("claim {key} does not grow yet; its last warning is {warning}"))
    });
    lines.collect()
}

/// Objects that were not judged, for want of kinds that the input has none of.
struct NotJudged {
    objects: usize,
    /// The kinds, in words and as kubectl calls them.
    kinds: BTreeSet<(&'static str, &'static str)>,
}

impl NotJudged {
    fn of<'d>(diagnoses: impl IntoIterator<Item = &'d Diagnosis>) -> Self {
        let mut objects = 0;
        let mut kinds = BTreeSet::new();
        for diagnosis in diagnoses {
            let findings = diagnosis.findings().iter();
            let wanting = findings.filter_map(|finding| match &finding.facts {
                Facts::Claim(ClaimFacts::NotKnown { what, .. })
                | Facts::Pod(PodFacts::NotKnown { what, .. }) => Some(what.as_str()),
                Facts::Pod(PodFacts::NodesNotKnown { .. }) => Some("nodes"),
                _ => None,
            });
            let wanting: Vec<_> = wanting.collect();
            objects += usize::from(!wanting.is_empty());
            // A pod may want what its claim wants, and that is told of the claim.
            let kinds_wanted = wanting.into_iter().filter_map(resource);
            kinds.extend(kinds_wanted);
        }
        NotJudged { objects, kinds }
    }

    fn line(&self) -> Option<String> {
        let objects = match self.objects {
            0 => return None,
            1 => "1 object".to_owned(),
            count => format!("{count} objects"),
        };
        let words: Vec<_> = self.kinds.iter().map(|(words, _)| *words).collect();
        let names: Vec<_> = self.kinds.iter().map(|(_, name)| *name).collect();
        let (words, names) = (words.join(", "), names.join(","));
        Some(format!(
            "not judged for want of {words}: {objects} (give what `kubectl get {names} -A -o json` \
             prints; if there are none, add --complete)\n"
        ))
    }
}

/// Kinds in words, and what kubectl calls them.
fn resource(words: &str) -> Option<(&'static str, &'static str)> {
    let known = [
        ("claims", "pvc"),
        ("volumes", "pv"),
        ("classes", "sc"),
        ("pods", "pods"),
        ("nodes", "nodes"),
        ("CSIStorageCapacities", "csistoragecapacities"),
    ];
    known.into_iter().find(|(known, _)| *known == words)
}

/// For programs.
pub fn for_programs<'d>(
    diagnosis: &Value,
    all: impl IntoIterator<Item = &'d Diagnosis>,
    cluster: &Cluster,
) -> String {
    let not_judged = NotJudged::of(all);
    let mut document = diagnosis.clone();
    document["refusedManifests"] = json!(cluster.refusals);
    document["withoutStatus"] = json!(cluster.without_status);
    document["skipped"] = json!(cluster.skipped);
    let kinds: Vec<_> = not_judged.kinds.iter().map(|(words, _)| *words).collect();
    document["notJudged"] = json!({"objects": not_judged.objects, "kinds": kinds});
    document::escaped(&document)
}
