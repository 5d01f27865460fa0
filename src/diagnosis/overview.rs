//! The findings of a whole view.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::{Diagnosis, Kind, ObjectName, Severity};

/// What is wrong with every claim, volume and pod of a view, the worst first:
/// by severity, then claims, volumes and pods, each by namespace and name.
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
/// #          "volumeBindingMode": "Immediate"}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
/// #          "status": {"phase": "Available"},
/// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Retain"}}
/// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
/// #          "spec": {
/// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
/// # .into_iter()
/// # .collect();
/// use pvbind::diagnosis::{ViewDiagnosis, diagnose_view};
/// let view: ViewDiagnosis = diagnose_view(&Config::default(), &snapshot);
/// // A claim of a class that is missing, the pod that uses it, and a free volume.
/// let objects: Vec<String> = view.iter().map(|one| one.object.to_string()).collect();
/// assert_eq!(objects, ["claim shop/data", "pod shop/web-0", "volume pv-1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDiagnosis {
    diagnoses: Vec<Diagnosis>,
}

impl ViewDiagnosis {
    pub(super) fn new(diagnoses: Vec<Diagnosis>) -> Self {
        let mut keyed: Vec<_> = diagnoses
            .into_iter()
            .map(|one| (one.severity(), one))
            .collect();
        keyed.sort_by(|(a_severity, a), (b_severity, b)| {
            (b_severity, &a.object).cmp(&(a_severity, &b.object))
        });
        ViewDiagnosis {
            diagnoses: keyed.into_iter().map(|(_, one)| one).collect(),
        }
    }

    /// The diagnoses, the worst first.
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
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let view = pvbind::diagnosis::diagnose_view(&Config::default(), &snapshot);
    /// // For one line in a dashboard.
    /// let worst = view.iter().next().ok_or("nothing there")?;
    /// assert_eq!(worst.main().code().as_str(), "claim-class-missing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Diagnosis> {
        self.diagnoses.iter()
    }

    /// Those of a severity.
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
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let view = pvbind::diagnosis::diagnose_view(&Config::default(), &snapshot);
    /// use pvbind::diagnosis::Severity;
    /// let faults: Vec<String> = view.of(Severity::Fault).map(|one| one.object.key()).collect();
    /// assert_eq!(faults, ["shop/data", "shop/web-0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Diagnosis> {
        self.iter()
            .filter(move |diagnosis| diagnosis.severity() == severity)
    }

    /// How many objects of a kind have a severity.
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
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let view = pvbind::diagnosis::diagnose_view(&Config::default(), &snapshot);
    /// use pvbind::diagnosis::{Kind, Severity};
    /// // As a gauge: pvbind_objects{kind="claim",severity="fault"} 1
    /// assert_eq!(view.count(Kind::Claim, Severity::Fault), 1);
    /// assert_eq!(view.count(Kind::Volume, Severity::Fault), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(&self, kind: Kind, severity: Severity) -> usize {
        self.of(severity)
            .filter(|diagnosis| diagnosis.object.kind == kind)
            .count()
    }

    /// That of an object. Linear in the number of objects.
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
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let view = pvbind::diagnosis::diagnose_view(&Config::default(), &snapshot);
    /// use pvbind::api::ClaimKey;
    /// use pvbind::diagnosis::ObjectName;
    /// let claim = ObjectName::claim(&ClaimKey::new("shop", "data"));
    /// let diagnosis = view.find(&claim).ok_or("not in the view")?;
    /// assert_eq!(diagnosis.findings().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find(&self, object: &ObjectName) -> Option<&Diagnosis> {
        self.iter().find(|diagnosis| diagnosis.object == *object)
    }

    /// Whether there is a fault anywhere.
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
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// # let view = pvbind::diagnosis::diagnose_view(&Config::default(), &snapshot);
    /// use std::process::ExitCode;
    /// let exit = if view.has_faults() { ExitCode::from(1) } else { ExitCode::SUCCESS };
    /// assert_eq!(exit, ExitCode::from(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_faults(&self) -> bool {
        let first = self.diagnoses.first();
        first.is_some_and(|first| first.severity() == Severity::Fault)
    }
}

/// For programs: whether there are faults, and the diagnoses.
impl Serialize for ViewDiagnosis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ViewDiagnosis", 2)?;
        fields.serialize_field("hasFaults", &self.has_faults())?;
        fields.serialize_field("diagnoses", &self.diagnoses)?;
        fields.end()
    }
}
