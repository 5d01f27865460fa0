//! pod_volumes: each case put to the plain form, the one-node form and the
//! many-node form.

use std::collections::BTreeMap;
use std::sync::Arc;

use pvbind::api::{
    CsiDriver, CsiStorageCapacity, Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass,
};
use pvbind::matching::FindError;
use pvbind::plan::{Step, Write};
use pvbind::scheduling::{
    Assumptions, FindVolumesError, PodClaims, PodVolumes, check_pod_claims, find_pod_volumes,
    find_pod_volumes_on_nodes, find_pod_volumes_plain, pre_filter,
};
use pvbind::view::{ClusterView, SchedulingView, Snapshot};
use serde::Deserialize;
use serde_json::Value;

use crate::normal::normal;
use crate::{CaseOutcome, same, with_vac};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    #[serde(rename = "id")]
    _id: String,
    pod: Pod,
    claims: Vec<PersistentVolumeClaim>,
    volumes: Vec<PersistentVolume>,
    classes: Vec<StorageClass>,
    nodes: Vec<Node>,
    csi_drivers: Vec<CsiDriver>,
    capacities: Vec<CsiStorageCapacity>,
    vac_enabled: bool,
    want: Want,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Want {
    #[serde(rename = "podHasPVCs")]
    pod_has_claims: WantHasClaims,
    claims_error: Option<String>,
    bound_claims: Option<Vec<String>>,
    unbound_claims_delay_binding: Option<Vec<String>>,
    unbound_claims_immediate: Option<Vec<String>>,
    unbound_volumes_delay_binding: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    nodes: BTreeMap<String, WantNode>,
    assume: Option<WantAssume>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantHasClaims {
    #[serde(rename = "hasPVC")]
    has_claim: bool,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantNode {
    reasons: Option<Vec<String>>,
    static_bindings: Option<Vec<WantBinding>>,
    dynamic_provisions: Option<Vec<WantProvision>>,
    error: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct WantBinding {
    claim: String,
    volume: String,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct WantProvision {
    claim: String,
    capacity: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantAssume {
    node: String,
    all_fully_bound: bool,
    volumes: Vec<Value>,
    claims: Vec<Value>,
}

pub(crate) fn run(case: &Value) -> Result<CaseOutcome, String> {
    let case = Case::deserialize(case).map_err(|error| error.to_string())?;
    let snapshot = snapshot(&case);
    let want = &case.want;
    let ready = check_pod_claims(&case.pod, &snapshot);
    same(
        "podHasPVCs",
        &ready.err().map(|error| error.to_string()),
        &want.pod_has_claims.error,
    )?;
    let has_claim = case.pod.claims().next().is_some();
    same("hasPVC", &has_claim, &want.pod_has_claims.has_claim)?;

    let refused = pre_filter(&case.pod, &snapshot).err();
    let refused = refused.map(|refused| refused.to_string());
    same("pre-filter", &refused, &pre_filter_refusal(want))?;

    let claims = match (PodClaims::of(&case.pod, &snapshot), &want.claims_error) {
        (Ok(claims), None) => claims,
        (claims, error) => {
            let ours = claims.err().map(|error| error.to_string());
            same("claimsError", &ours, error)?;
            let has_more = !want.nodes.is_empty() || want.assume.is_some();
            same("more than an error", &has_more, &false)?;
            return Ok(CaseOutcome::default());
        }
    };
    split_agrees(&claims, &snapshot, want)?;
    nodes_agree(&case, &claims, &snapshot)?;
    assume_agrees(&case, &claims, &snapshot)?;
    Ok(CaseOutcome::default())
}

/// What the pre-filter says, by the parts of it that were recorded, in the order
/// of the spec.
fn pre_filter_refusal(want: &Want) -> Option<String> {
    let unready = want.pod_has_claims.error.as_ref();
    let first = unready.or(want.claims_error.as_ref());
    let mut immediate = want.unbound_claims_immediate.iter().flatten();
    let text = "pod has unbound immediate PersistentVolumeClaims";
    first
        .cloned()
        .or_else(|| immediate.next().map(|_| text.to_owned()))
}

fn snapshot(case: &Case) -> Snapshot {
    let mut snapshot = Snapshot::new();
    snapshot.replace_all(case.claims.iter().cloned().map(Arc::new));
    snapshot.replace_all(case.volumes.iter().cloned().map(Arc::new));
    snapshot.replace_all(case.classes.iter().cloned().map(Arc::new));
    snapshot.replace_all(case.csi_drivers.iter().cloned().map(Arc::new));
    snapshot.replace_all(case.capacities.iter().cloned().map(Arc::new));
    snapshot
}

fn split_agrees(claims: &PodClaims, snapshot: &Snapshot, want: &Want) -> Result<(), String> {
    let names = |claims: &[Arc<PersistentVolumeClaim>]| {
        let names = claims.iter().map(|claim| claim.metadata.name().to_owned());
        Some(names.collect::<Vec<_>>())
    };
    same("boundClaims", &names(&claims.bound), &want.bound_claims)?;
    same(
        "unboundClaimsDelayBinding",
        &names(&claims.delayed),
        &want.unbound_claims_delay_binding,
    )?;
    same(
        "unboundClaimsImmediate",
        &names(&claims.immediate),
        &want.unbound_claims_immediate,
    )?;
    let of_class = |claim: &Arc<PersistentVolumeClaim>| {
        let class = claim.class_name();
        let volumes = snapshot.volume_layers().of_class(class);
        let names = volumes.iter().map(|volume| volume.name().to_owned());
        (class.to_owned(), names.collect::<Vec<_>>())
    };
    let candidates: BTreeMap<_, _> = claims.delayed.iter().map(of_class).collect();
    same(
        "unboundVolumesDelayBinding",
        &Some(candidates),
        &want.unbound_volumes_delay_binding,
    )
}

fn nodes_agree(case: &Case, claims: &PodClaims, snapshot: &Snapshot) -> Result<(), String> {
    same("nodes", &case.nodes.len(), &case.want.nodes.len())?;
    let features = with_vac(case.vac_enabled);
    let many = find_pod_volumes_on_nodes(claims, &case.nodes, snapshot, features);
    same("answers of many", &many.len(), &case.nodes.len())?;
    for (node, many) in case.nodes.iter().zip(&many) {
        let name = node.name();
        let want = (case.want.nodes.get(name)).ok_or(format!("no answer for {name}"))?;
        let plain = find_pod_volumes_plain(claims, node, snapshot, features);
        node_agrees(&plain, want).map_err(|error| format!("{name}: {error}"))?;
        let one = find_pod_volumes(claims, node, snapshot, features);
        same(&format!("{name}: one-node form"), &one, &plain)?;
        same(&format!("{name}: many-node form"), many, &plain)?;
    }
    Ok(())
}

fn node_agrees(ours: &Result<PodVolumes, FindVolumesError>, want: &WantNode) -> Result<(), String> {
    let volumes = match ours {
        Ok(volumes) => volumes,
        Err(error) => {
            let want_error = want.error.as_deref().ok_or(format!("ours: {error}"))?;
            return same_error(error, want_error);
        }
    };
    same("error", &None, &want.error)?;
    let reasons = volumes.reasons().map(|reason| reason.to_string());
    same("reasons", &Some(reasons.collect()), &want.reasons)?;
    let bindings = volumes.static_bindings.iter().map(|binding| WantBinding {
        claim: binding.claim.metadata.name().to_owned(),
        volume: binding.volume.name().to_owned(),
    });
    same(
        "staticBindings",
        &Some(bindings.collect()),
        &want.static_bindings,
    )?;
    let provisions = volumes.dynamic_provisions.iter().map(|provision| {
        let capacity = provision.capacity.as_ref();
        WantProvision {
            claim: provision.claim.metadata.name().to_owned(),
            capacity: capacity.map(|capacity| capacity.metadata.name().to_owned()),
        }
    });
    same(
        "dynamicProvisions",
        &Some(provisions.collect()),
        &want.dynamic_provisions,
    )?;
    same(
        "fits",
        &volumes.fits(),
        &want.reasons.iter().flatten().next().is_none(),
    )
}

/// The text of the error, but for what the selector's parser says.
fn same_error(error: &FindVolumesError, want: &str) -> Result<(), String> {
    let text = error.to_string();
    let (text, want) = match error {
        FindVolumesError::Find(FindError::Selector { error, .. }) => {
            let own = text.strip_suffix(&error.to_string()).unwrap_or(&text);
            (own, want.get(..own.len()).unwrap_or(want))
        }
        _ => (text.as_str(), want),
    };
    same("error", &text, &want)
}

/// The first node that fits, and the objects as they are assumed and written.
fn assume_agrees(case: &Case, claims: &PodClaims, snapshot: &Snapshot) -> Result<(), String> {
    let fits = |node: &&Node| {
        find_pod_volumes(claims, node, snapshot, with_vac(case.vac_enabled))
            .is_ok_and(|volumes| volumes.fits())
    };
    let node = if claims.immediate.is_empty() {
        case.nodes.iter().find(fits)
    } else {
        None
    };
    let want = case.want.assume.as_ref();
    same(
        "assume.node",
        &node.map(Node::name),
        &want.map(|want| want.node.as_str()),
    )?;
    let (Some(node), Some(want)) = (node, want) else {
        return Ok(());
    };
    same("allFullyBound", &claims.all_bound(), &want.all_fully_bound)?;
    let found = find_pod_volumes(claims, node, snapshot, with_vac(case.vac_enabled)).unwrap();
    let mut assumptions = Assumptions::new();
    let (assumption, plan) = assumptions.assume(&case.pod, claims, node.name(), &found);
    let (mut volumes, mut written_claims) = (Vec::new(), Vec::new());
    let view = assumptions.over(snapshot);
    for step in &plan.steps {
        match step {
            Step::Write {
                write: Write::Volume(change),
                ..
            } => {
                same("volumes go first", &written_claims.len(), &0)?;
                let shown = view.volume(change.to.name());
                same("volume shown", &shown.as_deref(), &Some(&*change.to))?;
                volumes.push(json::<PersistentVolume>(&change.to));
            }
            Step::Write {
                write: Write::Claim(change),
                ..
            } => {
                let metadata = &change.to.metadata;
                let shown = view.claim(metadata.namespace(), metadata.name());
                same("claim shown", &shown.as_deref(), &Some(&*change.to))?;
                written_claims.push(json::<PersistentVolumeClaim>(&change.to));
            }
            step => return Err(format!("a step of another kind: {step:?}")),
        }
    }
    let want_volumes = want.volumes.iter().map(normal::<PersistentVolume>);
    same("assumed volumes", &volumes, &want_volumes.collect())?;
    let want_claims = want.claims.iter().map(normal::<PersistentVolumeClaim>);
    same("assumed claims", &written_claims, &want_claims.collect())?;
    assumptions.revert(assumption);
    same("reverted", &assumptions.is_empty(), &true)
}

fn json<T: serde::de::DeserializeOwned + serde::Serialize>(object: &T) -> Value {
    normal::<T>(&serde_json::to_value(object).unwrap())
}
