//! StatefulSet, as far as it makes claims.

use super::{ObjectMeta, PersistentVolumeClaimTemplate};

object! {
    /// A StatefulSet (apps/v1), as far as it makes claims.
    ///
    /// ```
    /// use pvbind::api::StatefulSet;
    /// let set: StatefulSet = serde_json::from_value(serde_json::json!({
    ///     "metadata": {"namespace": "shop", "name": "mysql"},
    ///     "spec": {"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}}))?;
    /// let claims: Vec<_> = set.ordinals().flat_map(|ordinal| set.claim_names(ordinal)).collect();
    /// assert_eq!(claims, ["data-mysql-0", "data-mysql-1"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
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
    ///
    /// ```
    /// use pvbind::api::StatefulSetSpec;
    /// let spec: StatefulSetSpec = serde_json::from_value(serde_json::json!({
    ///     "serviceName": "mysql", "replicas": 3,
    ///     "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}]}))?;
    /// assert_eq!(spec.replicas, Some(3));
    /// // One template; each replica gets a claim of its own from it.
    /// let templates = spec.volume_claim_templates.as_deref().unwrap();
    /// assert_eq!(templates[0].spec.storage_class_name.as_deref(), Some("fast"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct StatefulSetSpec("a StatefulSet's spec") {
        /// How many replicas are wanted; absent means one.
        replicas: Option<i64> = "replicas",
        /// Which number the first replica has.
        ordinals: StatefulSetOrdinals = "ordinals",
        /// The claims that each replica gets.
        volume_claim_templates: Option<Vec<PersistentVolumeClaimTemplate>> = "volumeClaimTemplates",
    }
}

object! {
    /// The numbers of a StatefulSet's replicas.
    ///
    /// ```
    /// use pvbind::api::{StatefulSet, StatefulSetOrdinals};
    /// let mut set: StatefulSet = serde_json::from_value(serde_json::json!({"spec": {"replicas": 2}}))?;
    /// assert_eq!(set.ordinals(), 0..2); // as ever, from 0
    /// set.spec.ordinals = StatefulSetOrdinals { start: Some(1), ..StatefulSetOrdinals::default() };
    /// assert_eq!(set.ordinals(), 1..3); // no fewer replicas, other numbers
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub struct StatefulSetOrdinals("the ordinals of a StatefulSet") {
        /// The number of the first replica; absent means 0.
        start: Option<i64> = "start",
    }
}

/// The name of the claim that a replica of a StatefulSet gets from a template:
/// `TEMPLATE-SET-ORDINAL`.
///
/// Follows `getPersistentVolumeClaimName` of Kubernetes 1.36, which takes the
/// set before the template.
///
/// ```
/// let name = pvbind::api::stateful_set_claim_name("data", "mysql", 0);
/// assert_eq!(name, "data-mysql-0");
/// ```
pub fn stateful_set_claim_name(template: &str, set: &str, ordinal: u32) -> String {
    format!("{template}-{set}-{ordinal}")
}

impl StatefulSet {
    /// The numbers of the replicas that are wanted: from `ordinals.start` (0 if
    /// absent), as many as `replicas` (1 if absent). What is negative counts as
    /// 0, and numbers beyond 32 bits are left out.
    ///
    /// Follows `getStartOrdinal` and `getEndOrdinal` of Kubernetes 1.36.
    ///
    /// ```
    /// use pvbind::api::StatefulSet;
    /// let set: StatefulSet =
    ///     serde_json::from_str(r#"{"spec": {"replicas": 3, "ordinals": {"start": 5}}}"#)?;
    /// assert_eq!(set.ordinals(), 5..8);
    /// assert_eq!(StatefulSet::default().ordinals(), 0..1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn ordinals(&self) -> std::ops::Range<u32> {
        let whole = |number: i64| u32::try_from(number.max(0)).unwrap_or(u32::MAX);
        let start = whole(self.spec.ordinals.start.unwrap_or(0));
        start..start.saturating_add(whole(self.spec.replicas.unwrap_or(1)))
    }

    /// The names of the claims of one replica, in the order of the templates.
    ///
    /// ```
    /// use pvbind::api::StatefulSet;
    /// let set: StatefulSet = serde_json::from_str(
    ///     r#"{"metadata": {"name": "mysql"}, "spec": {"volumeClaimTemplates": [
    ///         {"metadata": {"name": "data"}}, {"metadata": {"name": "logs"}}]}}"#)?;
    /// assert_eq!(set.claim_names(2).collect::<Vec<_>>(), ["data-mysql-2", "logs-mysql-2"]);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn claim_names(&self, ordinal: u32) -> impl Iterator<Item = String> {
        let templates = self.spec.volume_claim_templates.iter().flatten();
        templates.map(move |template| {
            stateful_set_claim_name(template.metadata.name(), self.metadata.name(), ordinal)
        })
    }
}
