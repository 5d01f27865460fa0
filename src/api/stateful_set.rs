//! StatefulSet, as far as it makes claims.

use super::{ObjectMeta, PersistentVolumeClaimTemplate};

object! {
    /// A StatefulSet (apps/v1), as far as it makes claims.
    pub struct StatefulSet("a StatefulSet") {
        /// `apps/v1`, where written.
        api_version: Option<String> = "apiVersion",
        /// `StatefulSet`, where written.
        kind: Option<String> = "kind",
        /// Name, namespace and the rest of the metadata.
        metadata: ObjectMeta = "metadata",
        /// Replicas and claim templates.
        spec: StatefulSetSpec = "spec",
    }
}

object! {
    /// Replicas and claim templates of a StatefulSet.
    pub struct StatefulSetSpec("a StatefulSet's spec") {
        /// How many replicas are wanted; absent means one.
        replicas: Option<i64> = "replicas",
        /// The claims that each replica gets.
        volume_claim_templates: Option<Vec<PersistentVolumeClaimTemplate>> = "volumeClaimTemplates",
    }
}

/// The name of the claim that a replica of a StatefulSet gets from a template:
/// `TEMPLATE-SET-ORDINAL`.
///
/// ```
/// let name = pvbind::api::stateful_set_claim_name("data", "mysql", 0);
/// assert_eq!(name, "data-mysql-0");
/// ```
pub fn stateful_set_claim_name(template: &str, set: &str, ordinal: u32) -> String {
    format!("{template}-{set}-{ordinal}")
}

impl StatefulSet {
    /// The names of the claims of one replica, in the order of the templates.
    pub fn claim_names(&self, ordinal: u32) -> impl Iterator<Item = String> {
        let templates = self.spec.volume_claim_templates.iter().flatten();
        templates.map(move |template| {
            stateful_set_claim_name(template.metadata.name(), self.metadata.name(), ordinal)
        })
    }
}
