//! A cluster, looked over once for many questions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::census::Census;
use super::claim::Places;
use super::demand::{Demand, Offers};
use super::naming::Naming;
use super::reach::Nodes;
use super::similar::NamesToMean;
use super::words::NAMED;
use super::{Diagnosis, Finding, Known, ObjectName, ViewDiagnosis, claim, pod, volume};
use crate::api::{
    ClaimKey, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass, VolumeBindingMode, names,
};
use crate::controller::Config;
use crate::matching::volume_satisfies_claim;
use crate::provisioner::ProvisionError;
use crate::view::DiagnosticView;

/// A cluster, looked over once so that many objects can be diagnosed.
///
/// # Cost
/// Making it is linear in the number of objects (logarithms aside). A diagnosis
/// costs what the decision costs that it explains, and what is said at the
/// methods.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::controller::Config;
/// use pvbind::diagnosis::{Code, Survey};
/// use pvbind::view::Snapshot;
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
///      "spec": {"capacity": {"storage": "5Gi"}}, "status": {"phase": "Available"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data"},
///      "spec": {"storageClassName": "", "resources": {"requests": {"storage": "8Gi"}}}}"#)?
/// .into_iter()
/// .collect();
/// let config = Config::default();
/// let survey = Survey::new(&config, &snapshot);
/// let view = survey.view();
/// let codes: Vec<_> = view.iter().map(|diagnosis| diagnosis.main().code()).collect();
/// assert_eq!(codes, [Code::ClaimNoVolumeFits, Code::VolumeNotTaken]);
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub struct Survey<'a, V: ?Sized> {
    pub(super) config: &'a Config,
    pub(super) view: &'a V,
    pub(super) known: Known,
    pub(super) census: Census<'a>,
    pub(super) nodes: Nodes,
    pub(super) classes: Vec<Arc<StorageClass>>,
    volumes: Vec<&'a Arc<PersistentVolume>>,
    claims: Vec<Arc<PersistentVolumeClaim>>,
    provisioners_said: BTreeMap<ClaimKey, ProvisionError>,
    demand: OnceLock<Demand>,
    volume_names: OnceLock<NamesToMean>,
    claim_names: OnceLock<NamesToMean>,
    class_names: OnceLock<NamesToMean>,
    naming: OnceLock<Naming>,
    /// The pods that wait with a claim, of those that were asked for.
    waiting: Mutex<BTreeMap<ClaimKey, Arc<Vec<String>>>>,
    /// The unfinished pods with a claim, of those that were asked for.
    users: Mutex<BTreeMap<ClaimKey, Arc<Vec<String>>>>,
    /// The names of volumes, by driver and handle.
    handles: OnceLock<BTreeMap<String, BTreeMap<String, Vec<String>>>>,
    /// What was found out about volumes, which several claims may ask for.
    offers: Mutex<BTreeMap<String, (PersistentVolume, Arc<Offers>)>>,
    /// What was found out about claims, which several volumes and pods may ask
    /// for.
    mains: Mutex<BTreeMap<ClaimKey, (PersistentVolumeClaim, Finding)>>,
    /// What was found out about pods, which several claims may ask for.
    pods: Mutex<BTreeMap<(String, String), (Pod, Finding)>>,
    /// What drivers know of places, which many claims ask for.
    pub(super) places: Mutex<BTreeMap<String, Places>>,
}

/// What is wrong with a claim: see [`Survey::claim`].
///
/// Kubernetes has no such function: what its controllers and the scheduler record
/// as events, and keep to themselves, is put together here.
///
/// # Cost
/// A whole [`Survey`] of the view, which is linear in the number of its objects,
/// and then one question. For more than one, make the survey once and ask that.
///
/// ```
/// use pvbind::controller::Config;
/// use pvbind::api::PersistentVolumeClaim;
/// use pvbind::diagnosis::{Code, diagnose_claim};
/// use pvbind::view::Snapshot;
/// let claim: PersistentVolumeClaim =
///     serde_json::from_str(r#"{"spec": {"storageClassName": "fast"}}"#)?;
/// let diagnosis = diagnose_claim(&Config::default(), &Snapshot::new(), &claim);
/// assert_eq!(diagnosis.main().code(), Code::ClaimClassMissing);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn diagnose_claim<V: DiagnosticView + ?Sized>(
    config: &Config,
    view: &V,
    claim: &PersistentVolumeClaim,
) -> Diagnosis {
    Survey::new(config, view).claim(claim)
}

/// What is wrong with a volume: see [`Survey::volume`].
///
/// Kubernetes has no such function.
///
/// # Cost
/// As of [`diagnose_claim`]: a whole [`Survey`] of the view, linear in the number
/// of its objects.
///
/// ```
/// use pvbind::controller::Config;
/// use pvbind::api::PersistentVolume;
/// use pvbind::diagnosis::{Code, diagnose_volume};
/// use pvbind::view::Snapshot;
/// let volume: PersistentVolume = serde_json::from_str(
///     r#"{"spec": {"claimRef": {"namespace": "shop", "name": "data"}},
///         "status": {"phase": "Available"}}"#,
/// )?;
/// let diagnosis = diagnose_volume(&Config::default(), &Snapshot::new(), &volume);
/// assert_eq!(diagnosis.main().code(), Code::VolumeReservedForNobody);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn diagnose_volume<V: DiagnosticView + ?Sized>(
    config: &Config,
    view: &V,
    volume: &PersistentVolume,
) -> Diagnosis {
    Survey::new(config, view).volume(volume)
}

/// What is wrong with a pod: see [`Survey::pod`].
///
/// Kubernetes has no such function: a pod's event FailedScheduling counts nodes, and
/// does not say why the claim is not bound that the scheduler waits for.
///
/// # Cost
/// As of [`diagnose_claim`]: a whole [`Survey`] of the view; then that of
/// [`Survey::pod`], a search on every node.
///
/// ```
/// use pvbind::controller::Config;
/// use pvbind::api::Pod;
/// use pvbind::diagnosis::{Code, diagnose_pod};
/// use pvbind::view::Snapshot;
/// let pod: Pod = serde_json::from_str(
///     r#"{"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]}}"#,
/// )?;
/// let diagnosis = diagnose_pod(&Config::default(), &Snapshot::new(), &pod);
/// assert_eq!(diagnosis.main().code(), Code::PodClaimMissing);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn diagnose_pod<V: DiagnosticView + ?Sized>(config: &Config, view: &V, pod: &Pod) -> Diagnosis {
    Survey::new(config, view).pod(pod)
}

/// What is wrong with every claim, volume and pod: see [`Survey::view`].
///
/// Kubernetes has no such function.
///
/// # Cost
/// One [`Survey`], and a question to it for each claim, volume and pod.
///
/// ```
/// use pvbind::api::read_objects;
/// use pvbind::controller::Config;
/// use pvbind::diagnosis::{TextStyle, diagnose_view};
/// use pvbind::view::Snapshot;
/// // One claim is bound, as it should be; the other has a slip of the pen.
/// let snapshot: Snapshot = read_objects(r#"
///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
///      "volumeBindingMode": "Immediate"}
///     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "status": {"phase": "Bound"},
///      "spec": {"storageClassName": "fast", "capacity": {"storage": "5Gi"},
///               "claimRef": {"namespace": "shop", "name": "data", "uid": "u-1"}}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
///          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
///      "spec": {"storageClassName": "fast", "volumeName": "pv-1"}, "status": {"phase": "Bound"}}
///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
///      "spec": {"storageClassName": "fasst"}, "status": {"phase": "Pending"}}"#)?
/// .into_iter()
/// .collect();
/// let overview = diagnose_view(&Config::default(), &snapshot).text(TextStyle::wide(120));
/// assert_eq!(
///     overview.lines().next(),
///     Some(
///         "fault   claim shop/logs: has class `fasst`, which does not exist; \
///          there is `fast` [claim-class-missing]"
///     ),
/// );
/// # Ok::<(), pvbind::api::ReadError>(())
/// ```
pub fn diagnose_view<V: DiagnosticView + ?Sized>(config: &Config, view: &V) -> ViewDiagnosis {
    Survey::new(config, view).view()
}

impl<'a, V: DiagnosticView + ?Sized> Survey<'a, V> {
    /// Looks over a view that holds everything there is.
    ///
    /// # Cost
    /// Linear in the number of the view's volumes, claims, classes and nodes,
    /// logarithms aside; objects are shared, not copied.
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
    /// # let config = Config::default();
    /// use pvbind::diagnosis::Survey;
    /// // Once for all claims: the cluster is looked over here, and not at each question.
    /// let survey = Survey::new(&config, &snapshot);
    /// for claim in snapshot.claims() {
    ///     assert_eq!(survey.claim(claim).main().code().as_str(), "claim-class-missing");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(config: &'a Config, view: &'a V) -> Self {
        Survey::knowing(config, view, Known::default())
    }

    /// Looks over a view that holds everything of some kinds. What depends on others
    /// is [`Code::ClaimNotKnown`](super::Code::ClaimNotKnown) or the like, not a fault.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let config = Config::default();
    /// use pvbind::diagnosis::{Code, Known, Survey};
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// // Read from `kubectl get pv,pvc -o json`: that it holds no class says nothing.
    /// let mut known = Known::default();
    /// known.classes = false;
    /// let survey = Survey::knowing(&config, &snapshot, known);
    /// assert_eq!(survey.claim(claim).main().code(), Code::ClaimNotKnown);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn knowing(config: &'a Config, view: &'a V, known: Known) -> Self {
        let volumes = view.volume_layers().all();
        let claims = view
            .every_claim()
            .into_iter()
            .map(crate::view::Held::into_arc);
        let mut claims: Vec<_> = claims.collect();
        claims.sort_by(|a, b| key(a).cmp(&key(b)));
        let classes = view
            .every_class()
            .into_iter()
            .map(crate::view::Held::into_arc);
        let mut classes: Vec<_> = classes.collect();
        classes.sort_by(|a, b| a.name().cmp(b.name()));
        Survey {
            config,
            view,
            known,
            census: Census::new(volumes.iter().map(|volume| &***volume)),
            nodes: Nodes::new(
                view.every_node()
                    .into_iter()
                    .map(crate::view::Held::into_arc),
            ),
            classes,
            volumes,
            claims,
            provisioners_said: BTreeMap::new(),
            demand: OnceLock::new(),
            volume_names: OnceLock::new(),
            claim_names: OnceLock::new(),
            class_names: OnceLock::new(),
            naming: OnceLock::new(),
            waiting: Mutex::default(),
            users: Mutex::default(),
            handles: OnceLock::new(),
            offers: Mutex::default(),
            mains: Mutex::default(),
            pods: Mutex::default(),
            places: Mutex::default(),
        }
    }

    /// Takes in what a provisioner said last of a claim: the error that its sync
    /// ended with, or, where only events are at hand,
    /// [`ProvisionError::of_event`]. It counts as long as the claim waits for
    /// that provisioner.
    ///
    /// ```
    /// use pvbind::api::{ClaimKey, read_objects};
    /// use pvbind::controller::Config;
    /// use pvbind::diagnosis::{Code, Survey};
    /// use pvbind::provisioner::ProvisionError;
    /// use pvbind::view::{ClusterView, Snapshot};
    /// let snapshot: Snapshot = read_objects(r#"
    ///     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "disk.csi",
    ///      "volumeBindingMode": "Immediate"}
    ///     {"kind": "PersistentVolumeClaim", "metadata": {"namespace": "shop", "name": "data", "uid": "u"},
    ///      "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}"#)?
    /// .into_iter()
    /// .collect();
    /// let said = ProvisionError::of_event(
    ///     "Volume provisioning failed with infeasible error. Retries will be delayed. no such type",
    /// );
    /// let config = Config::default();
    /// let survey = Survey::new(&config, &snapshot).hearing(ClaimKey::new("shop", "data"), said);
    /// let diagnosis = survey.claim(&snapshot.claim("shop", "data").unwrap());
    /// assert_eq!(diagnosis.main().code(), Code::ClaimInfeasible);
    /// # Ok::<(), pvbind::api::ReadError>(())
    /// ```
    #[must_use]
    pub fn hearing(mut self, claim: ClaimKey, said: ProvisionError) -> Self {
        self.provisioners_said.insert(claim, said);
        self
    }

    pub(super) fn provisioner_said(
        &self,
        claim: &PersistentVolumeClaim,
    ) -> Option<&ProvisionError> {
        self.provisioners_said.get(&ClaimKey::of(claim))
    }

    /// What is wrong with a claim, or that nothing is.
    ///
    /// The main cause is what [`sync_claim`](crate::controller::sync_claim)
    /// decides about it, and why.
    ///
    /// # Cost
    /// Beside the sync: for a claim without a volume, linear in the number of
    /// shapes of volumes (class, modes, phase and the like), and of volumes if
    /// the claim has a selector; for one that waits for pods, a search for each
    /// of the first few.
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
    /// #          "spec": {"capacity": {"storage": "8Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let config = Config::default();
    /// use pvbind::diagnosis::Survey;
    /// # let claim = snapshot.claims().next().ok_or("no claim")?;
    /// // It decides nothing of its own: `controller::sync_claim` would bind them.
    /// let diagnosis = Survey::new(&config, &snapshot).claim(claim);
    /// assert_eq!(
    ///     diagnosis.main().to_string(),
    ///     "will be bound to `pv-1` by the next sync: asked 5Gi, has 8Gi"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn claim(&self, claim: &PersistentVolumeClaim) -> Diagnosis {
        claim::diagnose(self, claim)
    }

    /// What is wrong with a volume, or that nothing is.
    ///
    /// The main cause is what [`sync_volume`](crate::controller::sync_volume)
    /// decides about it, and why.
    ///
    /// # Cost
    /// Beside the sync: for an available volume, linear in the number of shapes
    /// of pending claims of its class; for one that no node can reach, in the
    /// number of nodes that its affinity does not name.
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
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "logs", "uid": "u-2"},
    /// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
    /// #              "resources": {"requests": {"storage": "5Gi"}}}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let config = Config::default();
    /// use pvbind::diagnosis::Survey;
    /// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
    /// // One volume of 1Gi, and two claims that are larger.
    /// let diagnosis = Survey::new(&config, &snapshot).volume(volume);
    /// assert_eq!(
    ///     diagnosis.main().to_string(),
    ///     "is available, and fits none of the pending claims of its class: for `shop/data` it is too \
    ///      small: has 1Gi, asked 5Gi, as for 1 more"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn volume(&self, volume: &PersistentVolume) -> Diagnosis {
        volume::diagnose(self, volume)
    }

    /// What is wrong with a pod, or that nothing is.
    ///
    /// The main cause is what [`pre_filter`](crate::scheduling::pre_filter) and
    /// [`PodSearch`](crate::scheduling::PodSearch) say.
    ///
    /// # Cost
    /// That of the search on every node.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}
    /// #     {"kind": "Node", "metadata": {"name": "node-1"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let config = Config::default();
    /// use pvbind::diagnosis::Survey;
    /// # let pod = snapshot.pods().next().ok_or("no pod")?;
    /// let diagnosis = Survey::new(&config, &snapshot).pod(pod);
    /// assert_eq!(
    ///     diagnosis.main().to_string(),
    ///     "is not scheduled before its claims are bound, which cannot be: claim `shop/data` has class \
    ///      `fasst`, which does not exist"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pod(&self, pod: &Pod) -> Diagnosis {
        pod::diagnose(self, pod)
    }

    /// What is wrong with every claim, volume and pod, the worst first.
    ///
    /// # Cost
    /// That of a question for each; what several have in common is found out once.
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let config = Config::default();
    /// use pvbind::diagnosis::Survey;
    /// let survey = Survey::new(&config, &snapshot);
    /// // A claim that cannot be bound, the pod that waits for it, and a volume.
    /// let codes: Vec<&str> = survey.view().iter().map(|one| one.main().code().as_str()).collect();
    /// assert_eq!(codes, ["claim-class-missing", "pod-claim-unbindable", "volume-available"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn view(&self) -> ViewDiagnosis {
        let claims = self.claims.iter().map(|claim| self.claim(claim));
        let volumes = self.volumes.iter().map(|volume| self.volume(volume));
        let pods = self.view.every_pod();
        let pods = pods.iter().map(|pod| self.pod(pod));
        ViewDiagnosis::new(claims.chain(volumes).chain(pods).collect())
    }

    pub(super) fn diagnosis(
        &self,
        object: ObjectName,
        findings: Vec<Finding>,
        otherwise: impl FnOnce() -> Finding,
    ) -> Diagnosis {
        let mut findings = findings.into_iter();
        let main = findings.next().unwrap_or_else(otherwise);
        Diagnosis::new(object, main, findings.collect())
    }

    /// The pending claims, by what the rules look at.
    pub(super) fn demand(&self) -> &Demand {
        self.demand.get_or_init(|| {
            let pending = self
                .claims
                .iter()
                .filter(|claim| self.is_searched_for(claim));
            Demand::new(pending.cloned())
        })
    }

    pub(super) fn similar_volumes(&self, name: &str) -> Vec<String> {
        let names = self.volume_names.get_or_init(|| {
            let volumes = self.volumes.iter();
            NamesToMean::new(volumes.map(|volume| volume.name().to_owned()))
        });
        names.similar(name)
    }

    /// Claims by `NAMESPACE/NAME`.
    pub(super) fn similar_claims(&self, key: &ClaimKey) -> Vec<String> {
        let names = self.claim_names.get_or_init(|| {
            let claims = self.claims.iter();
            NamesToMean::new(claims.map(|claim| claim.metadata.key()))
        });
        names.similar(&key.to_string())
    }

    /// The other namespaces that have a claim of this name, the first few.
    pub(super) fn elsewhere(&self, key: &ClaimKey) -> Vec<String> {
        let claims = self.naming().named(&key.name).iter();
        let others = claims.filter(|other| other.namespace != key.namespace);
        others
            .take(NAMED)
            .map(|other| other.namespace.clone())
            .collect()
    }

    pub(super) fn similar_classes(&self, name: &str) -> Vec<String> {
        let names = self.class_names.get_or_init(|| {
            let classes = self.classes.iter();
            NamesToMean::new(classes.map(|class| class.name().to_owned()))
        });
        names.similar(name)
    }

    /// The claims, by what they are named and what they name.
    pub(super) fn naming(&self) -> &Naming {
        self.naming.get_or_init(|| Naming::new(&self.claims))
    }

    /// The pods that use a claim and wait for a node, by name.
    pub(super) fn waiting_for(&self, claim: &ClaimKey) -> Arc<Vec<String>> {
        self.pods_of(claim, &self.waiting, |pod| {
            let is_over = pod.is_finished() || pod.metadata.is_being_deleted();
            pod.node_name().is_empty() && !is_over
        })
    }

    /// The pods that use a claim, or would if there were one, and are not
    /// finished.
    pub(super) fn unfinished_pods(&self, claim: &ClaimKey) -> Arc<Vec<String>> {
        self.pods_of(claim, &self.users, |pod| !pod.is_finished())
    }

    /// The pods of a kind that use a claim, by name, found out once.
    fn pods_of(
        &self,
        claim: &ClaimKey,
        known: &Mutex<BTreeMap<ClaimKey, Arc<Vec<String>>>>,
        is_meant: impl Fn(&Pod) -> bool,
    ) -> Arc<Vec<String>> {
        let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pods) = known().get(claim).cloned() {
            return pods;
        }
        let mut pods = Vec::new();
        let visit = &mut |pod: &Pod| {
            if is_meant(pod) {
                pods.push(pod.name().to_owned());
            }
        };
        let view = self.view;
        view.visit_pods_using_claim(&claim.namespace, &claim.name, visit);
        pods.sort_unstable();
        pods.dedup();
        let pods = Arc::new(pods);
        known().insert(claim.clone(), Arc::clone(&pods));
        pods
    }

    /// The volumes of a driver and handle.
    pub(super) fn of_handle(&self, driver: &str, handle: &str) -> &[String] {
        let handles = self.handles.get_or_init(|| {
            let mut handles: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
            for volume in &self.volumes {
                let Some(csi) = &volume.spec.csi else {
                    continue;
                };
                let of_driver = csi.driver.clone().unwrap_or_default();
                let of_handle = csi.volume_handle.clone().unwrap_or_default();
                let names = handles.entry(of_driver).or_default().entry(of_handle);
                names.or_default().push(volume.name().to_owned());
            }
            handles
        });
        let of_driver = handles.get(driver);
        let names = of_driver.and_then(|of_driver| of_driver.get(handle));
        names.map(Vec::as_slice).unwrap_or_default()
    }

    /// What the pending claims can do with a volume, found out once.
    pub(super) fn offers(&self, volume: &PersistentVolume) -> Arc<Offers> {
        let found_out = || self.offers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found_out()
            .get(volume.name())
            .filter(|(of, _)| of == volume)
            .map(|(_, offers)| Arc::clone(offers));
        if let Some(offers) = found {
            return offers;
        }
        let features = self.config.features;
        let mut offers = self.demand().offers(volume, features);
        for key in self.naming().wishing(volume.name()) {
            let claim = self.view.claim(&key.namespace, &key.name);
            let fits = |claim: &PersistentVolumeClaim| {
                volume_satisfies_claim(volume, claim, features).is_ok()
            };
            if claim.is_some_and(|claim| fits(&claim)) {
                offers.add_named(key);
            }
        }
        offers.fitting.sort_unstable();
        offers.stopped.sort_by(|a, b| {
            let by_count = b.count.cmp(&a.count);
            by_count.then_with(|| a.rule.code.cmp(b.rule.code))
        });
        let offers = Arc::new(offers);
        let entry = (volume.clone(), Arc::clone(&offers));
        found_out().insert(volume.name().to_owned(), entry);
        offers
    }

    /// The main finding of a pod, looked into once.
    pub(super) fn pod_main(&self, pod: &Pod) -> Finding {
        let key = (pod.namespace().to_owned(), pod.name().to_owned());
        let looked_into = || self.pods.lock().unwrap_or_else(PoisonError::into_inner);
        let found = looked_into().get(&key).filter(|(of, _)| of == pod).cloned();
        if let Some((_, main)) = found {
            return main;
        }
        let main = pod::main(self, pod);
        looked_into().insert(key, (pod.clone(), main.clone()));
        main
    }

    /// The main finding of a claim, looked into once.
    pub(super) fn claim_main(&self, claim: &PersistentVolumeClaim) -> Finding {
        let key = ClaimKey::of(claim);
        let looked_into = || self.mains.lock().unwrap_or_else(PoisonError::into_inner);
        let found = looked_into()
            .get(&key)
            .filter(|(of, _)| of == claim)
            .cloned();
        if let Some((_, main)) = found {
            return main;
        }
        let main = claim::main(self, claim);
        looked_into().insert(key, (claim.clone(), main.clone()));
        main
    }

    /// Whether any volume that fits is looked for for the claim. For one that
    /// waits for its consumer none is once a node was selected.
    pub(super) fn is_searched_for(&self, claim: &PersistentVolumeClaim) -> bool {
        let is_open = !claim.is_bind_completed() && claim.volume_name().is_empty();
        let is_selected = claim.metadata.has_annotation(names::SELECTED_NODE);
        is_open && !(is_selected && self.is_delayed(claim.class_name()))
    }

    /// Whether claims of a class wait for their first consumer.
    pub(super) fn is_delayed(&self, class: &str) -> bool {
        let class = (!class.is_empty())
            .then(|| self.view.class(class))
            .flatten();
        class.is_some_and(|class| {
            class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
        })
    }
}

fn key(claim: &PersistentVolumeClaim) -> (&str, &str) {
    (claim.metadata.namespace(), claim.metadata.name())
}

impl<V: ?Sized> fmt::Debug for Survey<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Survey")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}
