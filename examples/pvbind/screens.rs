//! What is printed: of everything, or of one object in full.

use pvbind::diagnosis::{Diagnosis, Kind, Severity, Survey, TextStyle, ViewDiagnosis, printable};
use pvbind::view::Snapshot;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::{document, search};

/// The overview.
pub fn everything(view: &ViewDiagnosis, cluster: &Cluster, style: TextStyle) -> String {
    view.text(style) + &remarks(cluster)
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

    pub fn has_faults(&self) -> bool {
        let mut all = self.uses.iter().chain([&self.diagnosis]);
        all.any(|diagnosis| diagnosis.severity() == Severity::Fault)
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
        Ok(for_programs(&value, self.cluster))
    }

    pub fn text(&self, style: TextStyle) -> Result<String, String> {
        let object = &self.diagnosis.object;
        let mut text = self.diagnosis.text(style);
        for diagnosis in &self.uses {
            text.push('\n');
            text.push_str(&diagnosis.text(style));
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
        Ok(text + &remarks(self.cluster))
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
fn remarks(cluster: &Cluster) -> String {
    let mut text = String::new();
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
    if !cluster.skipped.is_empty() {
        let skipped = cluster.skipped.iter();
        let skipped: Vec<_> = skipped
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let skipped: String = skipped.join(", ").chars().take(1000).collect();
        text.push_str(&format!("skipped: {}\n", printable(&skipped)));
    }
    text
}

/// For programs.
pub fn for_programs(diagnosis: &Value, cluster: &Cluster) -> String {
    let mut document = diagnosis.clone();
    document["withoutStatus"] = json!(cluster.without_status);
    document["skipped"] = json!(cluster.skipped);
    document::escaped(&document)
}
