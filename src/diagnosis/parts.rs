//! Facts that several findings are made of.

use std::fmt;

use serde::Serialize;

use super::Code;
use super::words::{Cut, Name, Names, Parts};
use crate::api::ClaimKey;
use crate::matching::{Refusal, RefusedCount, VolumeReport};
use crate::quantity::Quantity;

/// Makes an enum of facts, each with the code that it belongs to.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        pub enum $Facts:ident {
            $( $(#[$variant_meta:meta])* $Variant:ident: $Code:ident {
                $( $(#[$field_meta:meta])* $field:ident: $Type:ty, )*
            }, )*
        }
        $(#[$code_meta:meta])*
        fn code;
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged, rename_all_fields = "camelCase")]
        #[non_exhaustive]
        pub enum $Facts {
            $( $(#[$variant_meta])* $Variant { $( $(#[$field_meta])* $field: $Type, )* }, )*
        }

        impl $Facts {
            $(#[$code_meta])*
            pub fn code(&self) -> super::Code {
                match self {
                    $( $Facts::$Variant { .. } => super::Code::$Code, )*
                }
            }
        }
    };
}

/// A rule that refuses a volume. `Display` goes on from the volume's name.
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
/// use pvbind::diagnosis::{ClaimFacts, Facts, Rule};
/// let Facts::Claim(ClaimFacts::NoVolumeFits { nearest, .. }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// let rule: &Rule = &nearest[0].rules[0];
/// assert_eq!((rule.code, rule.text.as_str()), ("too-small", "is too small: has 5G, asked 5Gi"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// The rule: see [`Refusal::code`].
    pub code: &'static str,
    /// What it says of the volume.
    pub text: String,
}

impl Rule {
    pub(super) fn of(refusal: &Refusal<'_>) -> Self {
        Rule {
            code: refusal.code(),
            text: refusal.to_string(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Cut(&self.text).fmt(f)
    }
}

/// A volume that does not fit. `Display` is its name and what refuses it.
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
/// use pvbind::diagnosis::{ClaimFacts, Facts, Miss};
/// let Facts::Claim(ClaimFacts::NoVolumeFits { nearest, .. }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// let miss: &Miss = &nearest[0];
/// assert_eq!((miss.volume.as_str(), miss.rules.len()), ("pv-1", 1));
/// assert_eq!(miss.shortfall.as_ref().map(ToString::to_string), Some("368709120".into())); // bytes
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Miss {
    /// The volume.
    pub volume: String,
    /// Its size.
    pub size: Quantity,
    /// Every rule that refuses it.
    pub rules: Vec<Rule>,
    /// What is missing in size, if it is too small.
    pub shortfall: Option<Quantity>,
    /// Why that is probably a slip of the pen, if it is.
    pub slip: Option<Slip>,
}

/// A slip of the pen in an amount.
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
/// use pvbind::diagnosis::{ClaimFacts, Facts, Slip};
/// let Facts::Claim(ClaimFacts::NoVolumeFits { nearest, .. }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// // The volume was written as 5G, and 5Gi was meant.
/// assert_eq!(nearest[0].slip, Some(Slip::DecimalAgainstBinary));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Slip {
    /// The one amount is decimal, the other binary: 5G and 5Gi.
    DecimalAgainstBinary,
    /// The volume's size is so small that a unit is probably missing.
    UnitMissing,
}

impl Miss {
    pub(super) fn of(report: &VolumeReport<'_>) -> Self {
        Miss {
            volume: report.volume.name().to_owned(),
            size: report.volume.storage().clone(),
            rules: report.refusals.iter().map(Rule::of).collect(),
            shortfall: report.shortfall().map(|shortfall| shortfall.bytes),
            slip: Slip::of(report),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which {}", Name(&self.volume), Parts(&self.rules))?;
        match self.slip {
            Some(Slip::DecimalAgainstBinary) => f.write_str(" (a decimal amount for a binary one)"),
            Some(Slip::UnitMissing) => f.write_str(" (a unit is probably missing)"),
            None => Ok(()),
        }
    }
}

impl Slip {
    /// The volume is too small by a slip, and nothing else refuses it.
    pub(super) fn of(report: &VolumeReport<'_>) -> Option<Self> {
        let [Refusal::TooSmall { has, asked }] = report.refusals.as_slice() else {
            return None;
        };
        if is_decimal_of(has, asked) {
            Some(Slip::DecimalAgainstBinary)
        } else {
            is_tiny(has).then_some(Slip::UnitMissing)
        }
    }
}

/// Whether an amount is so small that a unit is probably missing.
pub(super) fn is_tiny(amount: &Quantity) -> bool {
    const MEBI: i64 = 1 << 20;
    let smallest = Quantity::from_i64(MEBI, crate::quantity::Format::BinarySi);
    amount.sign().is_gt() && *amount < smallest
}

/// Whether the smaller amount is the larger one with a decimal unit in place of
/// a binary one: 5G and 5Gi, 1500M and 1500Mi.
fn is_decimal_of(smaller: &Quantity, larger: &Quantity) -> bool {
    // Products of 63 and 60 bits stay inside.
    let (smaller, larger) = (i128::from(smaller.value()), i128::from(larger.value()));
    let units = (1..=6_u32).map(|power| (1000_i128.pow(power), 1024_i128.pow(power)));
    smaller > 0
        && units
            .filter(|(decimal, _)| smaller >= *decimal)
            .any(|(decimal, binary)| {
                smaller.saturating_mul(binary) == larger.saturating_mul(decimal)
            })
}

/// How many objects there are for one reason. `Display` is the number and the
/// reason.
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
/// #          "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Retain"}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-2"},
/// #          "status": {"phase": "Available"},
/// #          "spec": {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"],
/// #              "persistentVolumeReclaimPolicy": "Retain"}}
/// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-3"},
/// #          "status": {"phase": "Available"},
/// #          "spec": {"capacity": {"storage": "8Gi"}, "accessModes": ["ReadOnlyMany"],
/// #              "persistentVolumeReclaimPolicy": "Retain"}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_claim;
/// # let claim = snapshot.claims().next().ok_or("no claim")?;
/// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
/// use pvbind::diagnosis::{ClaimFacts, Counted, Facts};
/// let Facts::Claim(ClaimFacts::NoVolumeFits { refused, .. }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// let count = |it: &Counted| (it.code, it.count);
/// assert_eq!([count(&refused[0]), count(&refused[1])], [("access-modes", 1), ("too-small", 2)]);
/// assert_eq!(refused[1].to_string(), "2 are too small (largest 2Gi, asked 5Gi)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counted {
    /// The reason: the code of a rule, or of what refuses a node.
    pub code: &'static str,
    /// How many.
    pub count: usize,
    /// The reason in words, to be read after the number.
    pub text: String,
}

impl Counted {
    pub(super) fn of(refused: &RefusedCount<'_>) -> Self {
        Counted {
            code: refused.refusal.code(),
            count: refused.count,
            text: refused.reason().to_string(),
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, Cut(&self.text))
    }
}

/// A pod, and how it stands.
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
/// use pvbind::diagnosis::{ClaimFacts, Code, Facts, PodStanding};
/// let Facts::Claim(ClaimFacts::WaitsForPods { pods, .. }) = &diagnosis.main().facts else {
///     panic!()
/// };
/// let standing: &PodStanding = &pods[0];
/// assert_eq!((standing.pod.as_str(), standing.code), ("web-0", Some(Code::PodGated)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PodStanding {
    /// The pod's name.
    pub pod: String,
    /// The code of its main finding; `None` if it was not looked into.
    pub code: Option<Code>,
    /// Its main finding.
    pub text: String,
}

impl fmt::Display for PodStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}", Name(&self.pod))?;
        match self.text.as_str() {
            "" => Ok(()),
            text => write!(f, " {text}"),
        }
    }
}

/// A finalizer of an object that is being deleted, and who must act before it
/// goes.
///
/// ```
/// # use pvbind::api::read_objects;
/// # use pvbind::controller::Config;
/// # use pvbind::view::Snapshot;
/// # let snapshot: Snapshot = read_objects(r#"
/// #     {"kind": "PersistentVolumeClaim",
/// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1",
/// #              "deletionTimestamp": "2026-01-01T00:00:00Z",
/// #              "finalizers": ["kubernetes.io/pvc-protection"]},
/// #          "spec": {"storageClassName": "", "accessModes": ["ReadWriteOnce"],
/// #              "resources": {"requests": {"storage": "5Gi"}}}}
/// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
/// #          "spec": {"nodeName": "node-1",
/// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}
/// #     {"kind": "Node", "metadata": {"name": "node-1"}}"#)?
/// # .into_iter()
/// # .collect();
/// # use pvbind::diagnosis::diagnose_claim;
/// # let claim = snapshot.claims().next().ok_or("no claim")?;
/// # let diagnosis = diagnose_claim(&Config::default(), &snapshot, claim);
/// use pvbind::diagnosis::{ClaimFacts, Facts, Holder};
/// let Facts::Claim(ClaimFacts::Terminating { holders }) = &diagnosis.main().facts else { panic!() };
/// let holder: &Holder = &holders[0];
/// assert_eq!(holder.finalizer, "kubernetes.io/pvc-protection");
/// assert_eq!(holder.pods, ["web-0"]);
/// assert!(!holder.nobody); // its controller does it once the pod is gone
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Holder {
    /// The finalizer.
    pub finalizer: String,
    /// Who must act, and how.
    pub who: String,
    /// The pods that must go first.
    pub pods: Vec<String>,
    /// Whether nobody will.
    pub nobody: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Name(&self.finalizer), self.who)?;
        match self.pods.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", Names(&self.pods)),
        }
    }
}

/// Pending claims that one rule stops from taking a volume.
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
/// # use pvbind::diagnosis::diagnose_volume;
/// # let volume = snapshot.volumes().get("pv-1").ok_or("no volume")?;
/// # let diagnosis = diagnose_volume(&Config::default(), &snapshot, volume);
/// use pvbind::diagnosis::{ClaimStop, Facts, VolumeFacts};
/// let Facts::Volume(VolumeFacts::NotTaken { stopped }) = &diagnosis.main().facts else { panic!() };
/// let stop: &ClaimStop = &stopped[0];
/// assert_eq!((stop.rule.code, stop.count), ("too-small", 2));
/// assert_eq!(stop.claims[1].to_string(), "shop/logs");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClaimStop {
    /// The rule.
    pub rule: Rule,
    /// How many claims it stops.
    pub count: usize,
    /// Those claims, of many the first few.
    pub claims: Vec<ClaimKey>,
}

impl fmt::Display for ClaimStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = self.claims.first().map(ClaimKey::to_string);
        let example = example.unwrap_or_default();
        write!(f, "for {} it {}", Name(&example), self.rule)?;
        match self.count.saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, ", as for {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{ClaimFacts, Facts};

    #[test]
    fn the_number_of_a_count_is_told_once() {
        let volume = |name: &str, size: &str| {
            serde_json::json!({"kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {"capacity": {"storage": size}}, "status": {"phase": "Available"}})
        };
        let claim = serde_json::json!({"kind": "PersistentVolumeClaim",
            "metadata": {"namespace": "shop", "name": "data"},
            "spec": {"storageClassName": "", "resources": {"requests": {"storage": "5Gi"}}}});
        let items = [volume("pv-1", "1Gi"), volume("pv-2", "2Gi"), claim];
        let text = serde_json::json!({"kind": "List", "items": items}).to_string();
        let objects = crate::api::read_objects(&text).unwrap();
        let snapshot: crate::view::Snapshot = objects.into_iter().collect();
        let claim = snapshot.claims().next().unwrap();
        let config = crate::controller::Config::default();
        let diagnosis = crate::diagnosis::diagnose_claim(&config, &snapshot, claim);
        let Facts::Claim(ClaimFacts::NoVolumeFits { refused, .. }) = &diagnosis.main().facts else {
            panic!("{diagnosis:?}");
        };
        let told: Vec<_> = refused.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["2 are too small (largest 2Gi, asked 5Gi)"]);
        assert_eq!((refused[0].count, refused[0].code), (2, "too-small"));
    }

    #[test]
    fn only_the_same_number_of_the_next_unit_is_decimal_against_binary() {
        let is = |smaller: &str, larger: &str| {
            is_decimal_of(&smaller.parse().unwrap(), &larger.parse().unwrap())
        };
        assert!(is("5G", "5Gi"));
        assert!(is("1500M", "1500Mi"));
        assert!(is("5000M", "5000Mi"));
        assert!(is("1.5T", "1.5Ti"));
        assert!(!is("5G", "6Gi"));
        assert!(!is("5Gi", "5Gi"));
        assert!(!is("1000", "1024k"));
        assert!(!is("0", "0"));
        assert!(!is("1e40", "2e40"));
    }
}
