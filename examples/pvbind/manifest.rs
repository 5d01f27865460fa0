//! What an API server refuses of a manifest, as far as a manifest shows it.
//! Nothing of it can be in a cluster.

use std::cmp::Ordering;

use pvbind::api::{
    AccessMode, Object, ObjectMeta, PersistentVolume, PersistentVolumeClaim, StorageClass,
    UnknownFields, VOLUME_SOURCES, VolumeMode,
};
use pvbind::quantity::Quantity;

const CLAIM_FIELDS: [&str; 9] = [
    "accessModes",
    "dataSource",
    "dataSourceRef",
    "resources",
    "selector",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
    "volumeName",
];
/// Beside [`VOLUME_SOURCES`].
const VOLUME_FIELDS: [&str; 8] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeMode",
];
const CLASS_FIELDS: [&str; 6] = [
    "allowVolumeExpansion",
    "allowedTopologies",
    "mountOptions",
    "parameters",
    "provisioner",
    "reclaimPolicy",
];
const TOP_FIELDS: [&str; 2] = ["metadata", "spec"];

/// Why an API server refuses to create an object, each reason with its field;
/// empty if nothing was found.
pub fn refusals(object: &Object) -> Vec<String> {
    let mut reasons = Reasons(Vec::new());
    match object {
        Object::PersistentVolumeClaim(claim) => reasons.claim(claim),
        Object::PersistentVolume(volume) => reasons.volume(volume),
        Object::StorageClass(class) => reasons.class(class),
        _ => {}
    }
    reasons.0
}

/// Times that are none.
pub fn times(metadata: &ObjectMeta) -> Vec<String> {
    let times = [
        ("creationTimestamp", &metadata.creation_timestamp),
        ("deletionTimestamp", &metadata.deletion_timestamp),
    ];
    let wrong = times.into_iter().filter_map(|(field, time)| {
        let time = time.as_ref().filter(|time| time.unix_nanos().is_none())?;
        Some(format!(".metadata.{field}: `{time}` is no time"))
    });
    wrong.collect()
}

struct Reasons(Vec<String>);

impl Reasons {
    fn claim(&mut self, claim: &PersistentVolumeClaim) {
        self.version(claim.api_version.as_deref(), "v1");
        self.unknown("", &claim.unknown, &TOP_FIELDS, &[]);
        self.unknown(".spec", &claim.spec.unknown, &CLAIM_FIELDS, &[]);
        let resources = &claim.spec.resources.unknown;
        self.unknown(".spec.resources", resources, &["limits", "requests"], &[]);
        self.size(".spec.resources.requests.storage", claim.storage_request());
        self.modes(claim.spec.access_modes.as_deref());
        self.volume_mode(claim.spec.volume_mode.as_ref());
    }

    fn volume(&mut self, volume: &PersistentVolume) {
        let spec = &volume.spec;
        self.version(volume.api_version.as_deref(), "v1");
        self.unknown("", &volume.unknown, &TOP_FIELDS, &[]);
        self.unknown(".spec", &spec.unknown, &VOLUME_FIELDS, &VOLUME_SOURCES);
        let capacity = spec.capacity.as_ref();
        let storage = capacity.and_then(|capacity| capacity.storage.as_ref());
        self.size(".spec.capacity.storage", storage);
        self.modes(spec.access_modes.as_deref());
        self.volume_mode(spec.volume_mode.as_ref());
        let policy = spec.persistent_volume_reclaim_policy.as_ref();
        if let Some(policy) = policy.filter(|policy| policy.is_unknown()) {
            let field = "persistentVolumeReclaimPolicy";
            self.add(format!(
                ".spec.{field}: `{policy}` is none of Retain, Delete, Recycle"
            ));
        }
        match volume.source() {
            None => self.add(".spec: has no source of the volume, such as `csi` or `nfs`".into()),
            Some("local") if spec.node_affinity.is_none() => {
                self.add(
                    ".spec.nodeAffinity: a `local` volume must say on which node it is".into(),
                );
            }
            Some(_) => {}
        }
    }

    fn class(&mut self, class: &StorageClass) {
        self.version(class.api_version.as_deref(), "storage.k8s.io/v1");
        self.unknown("", &class.unknown, &CLASS_FIELDS, &["volumeBindingMode"]);
        if class.provisioner.as_deref().unwrap_or_default().is_empty() {
            self.add(".provisioner: is missing".into());
        }
        let mode = class.volume_binding_mode.as_ref();
        if let Some(mode) = mode.filter(|mode| mode.is_unknown()) {
            self.add(format!(
                ".volumeBindingMode: `{mode}` is none of Immediate, WaitForFirstConsumer"
            ));
        }
        let policy = class.reclaim_policy.as_ref();
        if let Some(policy) =
            policy.filter(|policy| !["Delete", "Retain"].contains(&policy.as_str()))
        {
            self.add(format!(
                ".reclaimPolicy: `{policy}` is none of Delete, Retain"
            ));
        }
    }

    fn version(&mut self, found: Option<&str>, expected: &str) {
        match found {
            None => self.add(format!(".apiVersion: is missing, and is `{expected}`")),
            Some(found) if found != expected => {
                self.add(format!(
                    ".apiVersion: `{found}` has no such kind, `{expected}` has"
                ));
            }
            Some(_) => {}
        }
    }

    fn size(&mut self, field: &str, size: Option<&Quantity>) {
        match size {
            None => self.add(format!("{field}: is missing")),
            Some(size) if size.sign() != Ordering::Greater => {
                self.add(format!("{field}: `{size}` is not more than zero"));
            }
            Some(_) => {}
        }
    }

    fn modes(&mut self, modes: Option<&[AccessMode]>) {
        if modes.unwrap_or_default().is_empty() {
            self.add(".spec.accessModes: at least one is needed".into());
        }
    }

    fn volume_mode(&mut self, mode: Option<&VolumeMode>) {
        if let Some(mode) = mode.filter(|mode| mode.is_unknown()) {
            self.add(format!(
                ".spec.volumeMode: `{mode}` is none of Filesystem, Block"
            ));
        }
    }

    /// Fields that there are not, with the one that is meant if one is near.
    fn unknown(&mut self, path: &str, fields: &UnknownFields, known: &[&str], more: &[&str]) {
        for (name, _) in fields.iter().filter(|(name, _)| !more.contains(name)) {
            let mut known = known.iter().chain(more);
            let meant = known.find(|known| is_near(name, known));
            let meant = meant.map_or_else(String::new, |meant| format!(", `{meant}` is"));
            self.add(format!("{path}.{name}: is no field{meant}"));
        }
    }

    fn add(&mut self, reason: String) {
        self.0.push(reason);
    }
}

/// Whether one name was probably meant to be the other: it differs in two
/// letters at most, or is a good part of it.
fn is_near(name: &str, known: &str) -> bool {
    let (name, known) = (name.to_lowercase(), known.to_lowercase());
    // Nobody writes so long a name by mistake.
    if name.len() > 2 * known.len() {
        return false;
    }
    let is_part = name.len() >= 5 && (known.starts_with(&name) || known.ends_with(&name));
    is_part || distance(&name, &known) <= 2
}

/// How many letters must be added, taken away or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (number, one) in a.chars().enumerate() {
        let mut next = vec![number + 1];
        for (place, other) in b.iter().enumerate() {
            let changed = row[place] + usize::from(one != *other);
            next.push(changed.min(row[place + 1] + 1).min(next[place] + 1));
        }
        row = next;
    }
    row[b.len()]
}
