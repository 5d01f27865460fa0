//! A finding, what can be done about it, and the findings of one object.

use std::collections::BTreeSet;
use std::fmt;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};
use serde_json::Value;

use super::words::shell;
use super::{ClaimFacts, Code, PodFacts, Severity, VolumeFacts};
use crate::api::{ClaimKey, ObjectMeta};

/// One thing that was found out about an object.
///
/// `Display` is one sentence without its subject, which is the object: "is
/// bound to `pv-1`: …". It holds names as they stand in the objects, cut if they
/// are longer than Kubernetes admits; [`Diagnosis::text`] makes them harmless on
/// a terminal.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::controller::Config;
/// use pvbind::diagnosis::{ClaimFacts, Code, Facts, Severity, diagnose_claim};
/// use pvbind::view::{ClusterView, Snapshot};
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"volumeName": "pv-2"}}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}}"#)?
/// .into_iter()
/// .collect();
/// let claim = snapshot.claim("shop", "data").unwrap();
/// let diagnosis = diagnose_claim(&Config::default(), &snapshot, &claim);
/// let main = diagnosis.main();
/// assert_eq!((main.code(), main.severity()), (Code::ClaimNamesMissingVolume, Severity::Fault));
/// assert_eq!(
///     main.to_string(),
///     "names volume `pv-2`, which does not exist; there is `pv-1`",
/// );
/// let Facts::Claim(ClaimFacts::NamesMissingVolume { similar, .. }) = &main.facts else { panic!() };
/// assert_eq!(similar, &["pv-1"]);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finding {
    /// What was found, as typed fields.
    pub facts: Facts,
    /// What can be done about it.
    pub remedies: Vec<Remedy>,
}

/// The facts of a finding. Serialized they are an object of their fields; the
/// code stands beside it. Of a claim or pod there may be facts about its volume.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #          "spec": {"storageClassName": "fasst"}}
/// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
/// #          "volumeBindingMode": "Immediate"}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_claim;
/// # let claim = snapshot.claims().next().ok_or("no claim")?;
/// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
/// use pvbind::diagnosis::{ClaimFacts, Facts};
/// // The claim names class `fasst`, and there is a class `fast`.
/// let Facts::Claim(ClaimFacts::ClassMissing { class, similar }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// assert_eq!((class.as_str(), similar.as_slice()), ("fasst", &["fast".to_owned()][..]));
/// let json = serde_json::to_string(&diagnosis.main().facts)?;
/// assert_eq!(json, r#"{"class":"fasst","similar":["fast"]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Facts {
    /// Of a claim.
    Claim(ClaimFacts),
    /// Of a volume.
    Volume(VolumeFacts),
    /// Of a pod.
    Pod(PodFacts),
}

impl Finding {
    /// What was found, for programs.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "Immediate"}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// use pvbind::diagnosis::{Code, Finding};
    /// let codes: Vec<Code> = diagnosis.findings().iter().map(Finding::code).collect();
    /// assert_eq!(codes, [Code::ClaimClassMissing]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code(&self) -> Code {
        match &self.facts {
            Facts::Claim(facts) => facts.code(),
            Facts::Volume(facts) => facts.code(),
            Facts::Pod(facts) => facts.code(),
        }
    }

    /// How much it matters: [`Code::severity`] of its code.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "Node", "metadata": {"name": "node-1"}}
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {"schedulingGates": [{"name": "example.com/quota"}],
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// use pvbind::diagnosis::{Finding, Severity};
    /// let severities: Vec<_> = diagnosis.findings().iter().map(Finding::severity).collect();
    /// // A note may be worse than the cause: the one passes, the other may not.
    /// assert_eq!(severities, [Severity::Waiting, Severity::Risk]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn severity(&self) -> Severity {
        self.code().severity()
    }

    pub(super) fn with(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    pub(super) fn with_all(mut self, remedies: impl IntoIterator<Item = Remedy>) -> Self {
        self.remedies.extend(remedies);
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.facts {
            Facts::Claim(facts) => facts.fmt(f),
            Facts::Volume(facts) => facts.fmt(f),
            Facts::Pod(facts) => facts.fmt(f),
        }
    }
}

impl<F: Into<Facts>> From<F> for Finding {
    fn from(facts: F) -> Self {
        Finding {
            facts: facts.into(),
            remedies: Vec::new(),
        }
    }
}

impl From<ClaimFacts> for Facts {
    fn from(facts: ClaimFacts) -> Self {
        Facts::Claim(facts)
    }
}

impl From<VolumeFacts> for Facts {
    fn from(facts: VolumeFacts) -> Self {
        Facts::Volume(facts)
    }
}

impl From<PodFacts> for Facts {
    fn from(facts: PodFacts) -> Self {
        Facts::Pod(facts)
    }
}

/// For programs: code, severity, sentence, facts and remedies.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Finding", 5)?;
        fields.serialize_field("code", &self.code())?;
        fields.serialize_field("severity", &self.severity())?;
        fields.serialize_field("sentence", &self.to_string())?;
        fields.serialize_field("facts", &self.facts)?;
        fields.serialize_field("remedies", &self.remedies)?;
        fields.end()
    }
}

/// What can be done about a finding. Nothing is done by this crate.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
/// #              "resources": {"requests": {"storage": "5Gi"}}}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
/// #          "status": {"phase": "Released"},
/// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Retain",
/// #              "claimRef": {"namespace": "shop", "name": "data", "uid": "u-0"}}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_volume;
/// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
/// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
/// // The claim was deleted and made again, and its volume waits for somebody to decide.
/// let keeps = &diagnosis.main().remedies[0];
/// assert_eq!(
///     keeps.sentence,
///     "clear only the uid of the claimRef, which reserves the volume for claim `shop/data`"
/// );
/// assert_eq!(keeps.consequence, "the next claim of this name gets the data of the earlier one");
/// assert!(keeps.patch.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Remedy {
    /// What to do, as one sentence without a subject.
    pub sentence: String,
    /// The change that does it, where one change of one object does. Applied,
    /// it removes the finding.
    pub patch: Option<Patch>,
    /// What follows from it: who else could take the volume, which data is at
    /// risk. Empty if nothing but the sentence does.
    pub consequence: String,
}

impl Remedy {
    pub(super) fn new(sentence: impl Into<String>, consequence: impl Into<String>) -> Self {
        Remedy {
            sentence: sentence.into(),
            patch: None,
            consequence: consequence.into(),
        }
    }

    pub(super) fn patching(mut self, patch: Patch) -> Self {
        self.patch = Some(patch);
        self
    }
}

/// A JSON merge patch (RFC 7386), and the object that it is for.
///
/// `Display` is the command for it. If the object has a resourceVersion, the
/// patch carries it: the API server refuses the patch once the object has
/// changed.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
/// #              "resources": {"requests": {"storage": "5Gi"}}}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1", "resourceVersion": "7"},
/// #          "status": {"phase": "Released"},
/// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Retain",
/// #              "claimRef": {"namespace": "shop", "name": "data", "uid": "u-0"}}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_volume;
/// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
/// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
/// use pvbind::diagnosis::Patch;
/// let remedies = &diagnosis.main().remedies; // of a volume that was released
/// let patch: &Patch = remedies[1].patch.as_ref().ok_or("no patch")?;
/// assert_eq!(
///     patch.to_string(),
///     r#"kubectl patch pv pv-1 --type merge -p '{"metadata":{"resourceVersion":"7"},"spec":{"claimRef":null}}'"#
/// );
/// assert!(patch.merge_patch["spec"]["claimRef"].is_null()); // for a client
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Patch {
    /// The object.
    pub object: ObjectName,
    /// The subresource to be patched, `status`, if not the object itself.
    pub subresource: Option<&'static str>,
    /// The patch.
    pub merge_patch: Value,
}

impl Patch {
    pub(super) fn of(object: ObjectName, metadata: &ObjectMeta, mut patch: Value) -> Self {
        if let Some(version) = &metadata.resource_version {
            let precondition = serde_json::json!({"metadata": {"resourceVersion": version}});
            crate::plan::apply_merge_patch(&mut patch, &precondition);
        }
        Patch {
            object,
            subresource: None,
            merge_patch: patch,
        }
    }
}

impl fmt::Display for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectName {
            kind,
            namespace,
            name,
        } = &self.object;
        write!(f, "kubectl patch {} {}", kind.resource(), shell(name))?;
        if !namespace.is_empty() {
            write!(f, " -n {}", shell(namespace))?;
        }
        if let Some(subresource) = self.subresource {
            write!(f, " --subresource {subresource}")?;
        }
        let patch = self.merge_patch.to_string();
        write!(f, " --type merge -p {}", shell(&patch))
    }
}

/// A kind of object that is diagnosed, or is to be patched.
///
/// ```
/// use pvbind::diagnosis::Kind;
/// // The order is that of overviews.
/// assert!(Kind::Claim < Kind::Volume && Kind::Volume < Kind::Pod);
/// assert_eq!(serde_json::to_string(&Kind::Claim)?, r#""PersistentVolumeClaim""#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[non_exhaustive]
pub enum Kind {
    /// PersistentVolumeClaim.
    #[serde(rename = "PersistentVolumeClaim")]
    Claim,
    /// PersistentVolume.
    #[serde(rename = "PersistentVolume")]
    Volume,
    /// Pod.
    #[serde(rename = "Pod")]
    Pod,
    /// StorageClass.
    #[serde(rename = "StorageClass")]
    Class,
}

impl Kind {
    /// How people name it: `claim`, `volume`, `pod`, `class`.
    ///
    /// ```
    /// use pvbind::diagnosis::Kind;
    /// assert_eq!(format!("which {}?", Kind::Claim.word()), "which claim?");
    /// ```
    pub fn word(self) -> &'static str {
        match self {
            Kind::Claim => "claim",
            Kind::Volume => "volume",
            Kind::Pod => "pod",
            Kind::Class => "class",
        }
    }

    /// How `kubectl` names it.
    ///
    /// ```
    /// use pvbind::diagnosis::Kind;
    /// let command = format!("kubectl get {} fast", Kind::Class.resource());
    /// assert_eq!(command, "kubectl get sc fast");
    /// ```
    pub fn resource(self) -> &'static str {
        match self {
            Kind::Claim => "pvc",
            Kind::Volume => "pv",
            Kind::Pod => "pod",
            Kind::Class => "sc",
        }
    }
}

/// An object's kind, namespace ("" if it has none) and name.
///
/// ```
/// use pvbind::diagnosis::{Kind, ObjectName};
/// let (namespace, name) = ("shop".to_owned(), "web-0".to_owned());
/// let pod = ObjectName { kind: Kind::Pod, namespace, name };
/// assert_eq!(pod.to_string(), "pod shop/web-0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct ObjectName {
    /// The kind.
    pub kind: Kind,
    /// The namespace, "" if the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ObjectName {
    /// The name of an object with this metadata.
    ///
    /// ```
    /// use pvbind::api::PersistentVolume;
    /// use pvbind::diagnosis::{Kind, ObjectName};
    /// let volume: PersistentVolume = serde_json::from_str(r#"{"metadata": {"name": "pv-1"}}"#)?;
    /// assert_eq!(ObjectName::of(Kind::Volume, &volume.metadata).to_string(), "volume pv-1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(kind: Kind, metadata: &ObjectMeta) -> Self {
        let namespace = match kind {
            Kind::Claim | Kind::Pod => metadata.namespace().to_owned(),
            Kind::Volume | Kind::Class => String::new(),
        };
        ObjectName {
            kind,
            namespace,
            name: metadata.name().to_owned(),
        }
    }

    /// The name of a claim.
    ///
    /// ```
    /// use pvbind::api::ClaimKey;
    /// use pvbind::diagnosis::ObjectName;
    /// let claim = ObjectName::claim(&ClaimKey::new("shop", "data"));
    /// assert_eq!(claim.to_string(), "claim shop/data");
    /// ```
    pub fn claim(key: &ClaimKey) -> Self {
        ObjectName {
            kind: Kind::Claim,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        }
    }

    /// `NAMESPACE/NAME`, or `NAME` where the kind has no namespace.
    ///
    /// ```
    /// use pvbind::api::ObjectMeta;
    /// use pvbind::diagnosis::{Kind, ObjectName};
    /// let mut metadata = ObjectMeta { name: Some("data".into()), ..ObjectMeta::default() };
    /// metadata.namespace = Some("shop".into());
    /// assert_eq!(ObjectName::of(Kind::Claim, &metadata).key(), "shop/data");
    /// // A volume has no namespace, whatever a manifest says.
    /// assert_eq!(ObjectName::of(Kind::Volume, &metadata).key(), "data");
    /// ```
    pub fn key(&self) -> String {
        match self.kind {
            Kind::Claim | Kind::Pod => format!("{}/{}", self.namespace, self.name),
            Kind::Volume | Kind::Class => self.name.clone(),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.word(), self.key())
    }
}

/// What was found out about one object: the main cause first, notes after it.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
/// #          "spec": {"storageClassName": "fasst"}}
/// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
/// #          "volumeBindingMode": "Immediate"}"#)?
/// # .into_iter()
/// # .collect();
/// use pvbind::diagnosis::{Diagnosis, diagnose_claim};
/// # let claim = snapshot.claims().next().ok_or("no claim")?;
/// let diagnosis: Diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
/// assert_eq!(
///     format!("{} {}", diagnosis.object, diagnosis.main()),
///     "claim shop/data has class `fasst`, which does not exist; there is `fast`"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The object.
    pub object: ObjectName,
    // INVARIANT (main): never empty.
    findings: Vec<Finding>,
}

impl Diagnosis {
    pub(super) fn new(object: ObjectName, main: Finding, notes: Vec<Finding>) -> Self {
        // The same may be met on two ways.
        let key = |finding: &Finding| (finding.code(), finding.to_string());
        let mut told = BTreeSet::from([key(&main)]);
        let mut findings = vec![main];
        findings.extend(notes.into_iter().filter(|note| told.insert(key(note))));
        Diagnosis { object, findings }
    }

    /// The main cause: what was decided about the object, and why. Its own
    /// severity is not that of the object, for a note may be more severe: see
    /// [`Diagnosis::severity`].
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "Node", "metadata": {"name": "node-1"}}
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {"schedulingGates": [{"name": "example.com/quota"}],
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// // What `kubectl describe` would have to say in one line.
    /// assert_eq!(
    ///     diagnosis.main().to_string(),
    ///     "waits for 1 pod to be scheduled: pod `web-0` is not scheduled as long as it has \
    ///      scheduling gate `example.com/quota`"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::indexing_slicing, reason = "INVARIANT (main)")]
    pub fn main(&self) -> &Finding {
        &self.findings[0]
    }

    /// All findings, the main cause first.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "Node", "metadata": {"name": "node-1"}}
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "WaitForFirstConsumer"}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {"schedulingGates": [{"name": "example.com/quota"}],
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// // The cause comes first, and then what else will be in the way.
    /// let codes: Vec<&str> = diagnosis.findings().iter().map(|it| it.code().as_str()).collect();
    /// assert_eq!(codes, ["claim-waits-for-pods", "claim-driver-unknown"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The finding of this code, if there is one.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5G"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # use pvbind::diagnosis::diagnose_claim;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
    /// use pvbind::diagnosis::Code;
    /// // A claim of 5Gi, and the only volume was written with 5G.
    /// let slip = diagnosis.finding(Code::ClaimDecimalAgainstBinary).ok_or("not found")?;
    /// assert!(slip.to_string().starts_with("asks for 5Gi where `pv-1` has 5G: "));
    /// assert!(diagnosis.finding(Code::ClaimBound).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finding(&self, code: Code) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code() == code)
    }

    /// The worst severity of all findings, by which objects are sorted and
    /// counted. It may be a note's, not that of [`Diagnosis::main`]: a claim that
    /// waits for its pod is fine, and that its provisioner is gone is a fault.
    ///
    /// ```
    /// use pvbind::api::read_objects;
    /// use pvbind::controller::Config;
    /// use pvbind::diagnosis::{Severity, diagnose_volume};
    /// use pvbind::view::Snapshot;
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    ///      "spec": {"persistentVolumeReclaimPolicy": "Recycle", "capacity": {"storage": "5Gi"}},
    ///      "status": {"phase": "Available"}}"#)?
    /// .into_iter()
    /// .collect();
    /// let volume = snapshot.volumes().get("pv-1").unwrap();
    /// let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
    /// assert_eq!(diagnosis.main().to_string(), "is available, and no pending claim is without class");
    /// assert_eq!(diagnosis.main().severity(), Severity::Fine);
    /// // Its policy is deprecated.
    /// assert_eq!(diagnosis.severity(), Severity::Risk);
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    pub fn severity(&self) -> Severity {
        let severities = self.findings.iter().map(Finding::severity);
        severities.max().unwrap_or(Severity::Fine)
    }
}
