//! What must hold of diagnoses.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use pvbind::api::{Node, Object, VolumeBindingMode, VolumePhase};
use pvbind::controller::{Config, InTreePlugin};
use pvbind::diagnosis::{
    ClaimFacts, Code, Diagnosis, Facts, Known, Survey, TextStyle, VolumeFacts,
};
use pvbind::matching::{Features, FindOptions, MatchReport, volume_satisfies_claim};
use pvbind::scheduling::{PodClaims, find_pod_volumes};
use pvbind::view::{ClusterView, Snapshot};
use serde_json::{Value, json};

use crate::agreement::{bound_to, facts_of, said_bound_to, said_refused};
use crate::generators::{claim, node_labels, volume_among};
use crate::remedies::Objects;

fn to_json(object: impl Into<Object>, kind: &str) -> Value {
    let mut value = serde_json::to_value(object.into()).unwrap();
    value["kind"] = json!(kind);
    value
}

fn class(name: &'static str) -> impl Strategy<Value = Value> {
    let provisioners = [
        "csi.a",
        "kubernetes.io/no-provisioner",
        "kubernetes.io/gone",
        "kubernetes.io/host-path",
    ];
    let modes = [
        json!("Immediate"),
        json!("WaitForFirstConsumer"),
        json!("WaitForFirstConsumer"),
        json!(null),
    ];
    let topologies = [
        json!(null),
        json!([{"matchLabelExpressions": [{"key": "zone", "values": ["a", "7"]}]}]),
    ];
    let default = select(&["true", "false"][..]);
    let grows = select(vec![json!(null), json!(true)]);
    (
        select(provisioners.to_vec()),
        select(modes.to_vec()),
        select(topologies.to_vec()),
        (default, grows),
    )
        .prop_map(move |(provisioner, mode, topologies, (default, grows))| {
            json!({"kind": "StorageClass", "provisioner": provisioner, "volumeBindingMode": mode,
                "allowedTopologies": topologies, "allowVolumeExpansion": grows, "metadata": {"name": name, "annotations": {
                    "storageclass.kubernetes.io/is-default-class": default}}})
        })
}

/// What has become of a claim: nothing, a wish, a bind, a loss; and with it, now
/// and then, a deletion, a data source or the old annotation.
fn fate() -> impl Strategy<Value = Value> {
    let volume = || select(&["pv-00", "pv-01", "pv-02", "pv-19", ""][..]);
    let phase = select(&["Pending", "Bound", "Lost"][..]);
    let fate = prop_oneof![
        6 => Just(json!({})),
        2 => volume().prop_map(|volume| json!({"spec": {"volumeName": volume}})),
        3 => (volume(), phase).prop_map(|(volume, phase)| json!({
            "spec": {"volumeName": volume}, "status": {"phase": phase},
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}})),
        1 => select(&["n0", "n9", ""][..]).prop_map(|node| json!({
            "metadata": {"annotations": {"volume.kubernetes.io/selected-node": node}}})),
        1 => volume().prop_map(|volume| json!({
            "spec": {"volumeName": volume, "resources": {"requests": {"storage": "100Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}})),
        1 => Just(json!({"spec": {"accessModes": ["RWO"]}})),
    ];
    let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kubernetes.io/pvc-protection", "example.com/mine"]});
    let of_class = |class: &str| json!({"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": class}}});
    let also = prop_oneof![
        10 => Just(json!({})),
        1 => Just(json!({"metadata": deleted})),
        1 => Just(json!({"spec": {"dataSource": {"kind": "VolumeSnapshot", "name": "s"}}})),
        1 => Just(of_class("slow")),
        1 => Just(of_class("")),
    ];
    (fate, also).prop_map(|(mut fate, also)| {
        merge(&mut fate, &also);
        fate
    })
}

fn reachable_by(label: &str, value: &str) -> Value {
    json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": label, "operator": "In", "values": [value]}]}]}}})
}

/// What has become of a volume beyond what the generator says.
fn volume_fate() -> impl Strategy<Value = Value> {
    let policy = select(&["Retain", "Delete", "Recycle", "Unheard"][..]);
    let source = select(vec![
        json!({}),
        json!({"hostPath": {"path": "/x"}}),
        json!({"hostPath": {"path": "/tmp/x"}}),
        reachable_by("failure-domain.beta.kubernetes.io/zone", "a"),
        reachable_by("kubernetes.io/hostname", "n0"),
        json!({"claimRef": {"name": "claim", "namespace": null}}),
        json!({"claimRef": {"name": null, "namespace": null, "uid": "u-2"}}),
        json!({"claimRef": {"name": "claim", "namespace": "elsewhere", "uid": null}}),
        json!({"claimRef": {"name": "other", "namespace": "default", "uid": "u-2"}}),
        json!({"csi": {"driver": "csi.a"}}),
        json!({"nfs": {"path": "/x"}}),
    ]);
    let phase = select(vec![
        json!({}),
        json!({}),
        json!({"phase": "Released"}),
        json!({"phase": "Failed"}),
    ]);
    let finalizers = select(vec![
        json!(null),
        json!(["kubernetes.io/pv-protection"]),
        json!(["kubernetes.io/pv-controller"]),
        json!(["external-provisioner.volume.kubernetes.io/finalizer", "x/y"]),
    ]);
    let made_by = select(vec![
        json!(null),
        json!("csi.a"),
        json!("kubernetes.io/host-path"),
    ]);
    let zone = select(vec![json!(null), json!(null), json!("a"), json!("b__c")]);
    (policy, source, phase, finalizers, (made_by, zone)).prop_map(
        |(policy, source, phase, finalizers, (made_by, zone))| {
            let mut spec = source;
            spec["persistentVolumeReclaimPolicy"] = json!(policy);
            json!({"spec": spec, "status": phase, "metadata": {"finalizers": finalizers,
                "labels": {"topology.kubernetes.io/zone": zone}, "annotations": {"pv.kubernetes.io/provisioned-by": made_by}}})
        },
    )
}

fn pod(name: usize) -> impl Strategy<Value = Value> {
    let claims = prop::collection::vec(select(&["claim", "other", "missing"][..]), 0..3);
    let node = select(vec![json!(null), json!(null), json!("n0")]);
    let phase = select(&["Pending", "Running", "Succeeded"][..]);
    let scheduler = select(vec![json!(null), json!("night")]);
    let kept = select(vec![
        json!({}),
        json!({}),
        json!({"spec": {"schedulingGates": [{"name": "quota"}]}}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        json!({"metadata": {"namespace": "elsewhere"}}),
    ]);
    (claims, node, phase, scheduler, kept).prop_map(move |(claims, node, phase, scheduler, kept)| {
        let volumes = claims.iter().enumerate().map(|(place, claim)| {
            json!({"name": format!("v{place}"), "persistentVolumeClaim": {"claimName": claim}})
        });
        let mut pod = json!({"kind": "Pod",
            "metadata": {"namespace": "default", "name": format!("pod-{name}"), "uid": "p"},
            "spec": {"volumes": volumes.collect::<Vec<_>>(), "nodeName": node, "schedulerName": scheduler},
            "status": {"phase": phase}});
        merge(&mut pod, &kept);
        pod
    })
}

/// A small cluster with every odd form.
pub(crate) fn cluster() -> impl Strategy<Value = Objects> {
    let volumes = prop::collection::vec((volume_among(20), volume_fate()), 0..8);
    let claims = ((claim(), fate()), (claim(), fate()));
    let classes = (class("fast"), class("slow"));
    let has_class = (any::<bool>(), any::<bool>());
    let zone = select(vec![json!(null), json!("a"), json!("b")]);
    let nodes = prop::collection::vec((node_labels(), zone), 0..4);
    let pods = (pod(0), pod(1));
    (volumes, claims, classes, has_class, nodes, pods).prop_map(
        |(volumes, (first, second), (fast, slow), has_class, nodes, pods)| {
            let mut objects = Objects::default();
            for (volume, fate) in volumes {
                let mut volume = to_json(volume, "PersistentVolume");
                merge(&mut volume, &fate);
                objects.insert(volume);
            }
            for (place, (claim, fate)) in [first, second].into_iter().enumerate() {
                let mut claim = to_json(claim, "PersistentVolumeClaim");
                if place == 1 {
                    let in_other = claim["spec"]["volumeMode"] == "Block";
                    let (namespace, name) = match in_other {
                        true => ("elsewhere", "claim"),
                        false => ("default", "other"),
                    };
                    claim["metadata"]["namespace"] = json!(namespace);
                    claim["metadata"]["name"] = json!(name);
                    claim["metadata"]["uid"] = json!("u-2");
                }
                merge(&mut claim, &fate);
                objects.insert(claim);
            }
            for (class, is_there) in [(fast, has_class.0), (slow, has_class.1)] {
                if is_there {
                    objects.insert(class);
                }
            }
            for (place, (labels, zone)) in nodes.into_iter().enumerate() {
                let mut node = json!({"kind": "Node",
                    "metadata": {"name": format!("n{place}"), "labels": labels}});
                let zone = json!({"metadata": {"labels": {"topology.kubernetes.io/zone": zone}}});
                merge(&mut node, &zone);
                objects.insert(node);
            }
            objects.insert(pods.0);
            objects.insert(pods.1);
            objects
        },
    )
}

pub(crate) fn merge(value: &mut Value, patch: &Value) {
    pvbind::plan::apply_merge_patch(value, patch);
}

pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.plugins = vec![InTreePlugin {
        can_provision: true,
        can_delete: true,
        can_recycle: true,
        ..InTreePlugin::new("kubernetes.io/host-path", ["hostPath"])
    }];
    config
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(600), ..ProptestConfig::default() })]

    /// If it says that a claim has or gets a volume, the sync says so too, and
    /// the other way round.
    #[test]
    fn a_claim_is_said_to_be_bound_where_the_sync_binds_it(objects in cluster()) {
        let (config, snapshot) = (config(), objects.snapshot());
        let survey = Survey::new(&config, &snapshot);
        for claim in snapshot.claims() {
            let diagnosis = survey.claim(claim);
            let said = said_bound_to(&diagnosis);
            prop_assert_eq!(said, bound_to(&config, &snapshot, claim), "{:?}", diagnosis);
        }
    }

    /// A volume that is said to be refused is chosen by no search, and what is
    /// counted is what the full report counts.
    #[test]
    fn a_volume_that_is_said_to_be_refused_is_never_chosen(objects in cluster()) {
        let (config, snapshot) = (config(), objects.snapshot());
        let survey = Survey::new(&config, &snapshot);
        for claim in snapshot.claims() {
            let diagnosis = survey.claim(claim);
            let refused = said_refused(&diagnosis);
            for facts in facts_of(&diagnosis) {
                // After the default class it is another claim that is searched for.
                if let ClaimFacts::NoVolumeFits { summary, .. } = facts
                    && diagnosis.finding(Code::ClaimDefaultClass).is_none()
                {
                    let volumes = snapshot.volumes().iter().map(Arc::as_ref);
                    let report = MatchReport::new(claim, volumes, &FindOptions::default());
                    prop_assert_eq!(summary, &report.to_string());
                    prop_assert!(report.chosen().is_none(), "{:?}", diagnosis);
                }
            }
            if let Some(volume) = bound_to(&config, &snapshot, claim) {
                prop_assert!(!refused.contains(&volume), "{:?}", diagnosis);
            }
            // The scheduler looks for volumes where binding waits for it.
            let class = snapshot.class(claim.class_name());
            let mode = class.and_then(|class| class.volume_binding_mode.clone());
            let is_waiting = mode == Some(VolumeBindingMode::WaitForFirstConsumer)
                && !claim.is_bind_completed()
                && claim.volume_name().is_empty();
            for node in snapshot.nodes().filter(|_| is_waiting) {
                let claims = PodClaims { delayed: vec![Arc::clone(claim)], ..PodClaims::default() };
                let Ok(found) = find_pod_volumes(&claims, node, &snapshot, Features::default()) else { continue };
                for binding in found.static_bindings {
                    prop_assert!(!refused.contains(binding.volume.name()), "{:?}", diagnosis);
                }
            }
        }
    }

    /// What volumes say of claims is what claims say of volumes.
    #[test]
    fn a_free_volume_names_the_claims_that_it_fits(objects in cluster()) {
        let (config, snapshot) = (config(), objects.snapshot());
        let survey = Survey::new(&config, &snapshot);
        let free = snapshot.volumes().iter().filter(|volume| {
            volume.claim_ref().is_none() && volume.status.phase == Some(VolumePhase::Available)
                && !volume.metadata.is_being_deleted()
        });
        for volume in free {
            let fits = |key: &pvbind::api::ClaimKey| {
                let claim = snapshot.claim(&key.namespace, &key.name).unwrap();
                if !claim.volume_name().is_empty() {
                    return volume_satisfies_claim(volume, &claim, Features::default()).is_ok();
                }
                let report = MatchReport::new(&claim, [&**volume], &FindOptions::default());
                report.chosen().is_some()
            };
            let diagnosis = survey.volume(volume);
            let wanted: Vec<_> = diagnosis.findings().iter().filter_map(|finding| match &finding.facts {
                Facts::Volume(VolumeFacts::Wanted { claims, count, .. }) => Some((claims.clone(), *count)),
                Facts::Volume(VolumeFacts::Unclaimed { rivals, count, .. }) => Some((rivals.clone(), *count)),
                _ => None,
            }).collect();
            let is_unclaimed = diagnosis.finding(Code::VolumeUnclaimed).is_some();
            let pending = snapshot.claims().filter(|claim| {
                let class = snapshot.class(claim.class_name());
                let mode = class.and_then(|class| class.volume_binding_mode.clone());
                let is_selected = claim.metadata.has_annotation("volume.kubernetes.io/selected-node")
                    && mode == Some(VolumeBindingMode::WaitForFirstConsumer);
                let is_unnamed = claim.volume_name().is_empty() && !is_selected;
                !claim.is_bind_completed() && (is_unnamed || claim.volume_name() == volume.name())
            });
            let pending: Vec<_> = pending.collect();
            let of_class = pending.iter().filter(|claim| {
                claim.class_name() == volume.class_name() && claim.volume_name().is_empty()
            });
            let is_named = |key: &pvbind::api::ClaimKey| {
                let claim = snapshot.claim(&key.namespace, &key.name);
                !claim.unwrap().volume_name().is_empty()
            };
            let keys = pending.iter().map(|claim| pvbind::api::ClaimKey::of(claim));
            let fitting: Vec<_> = keys.filter(fits).collect();
            let stops = diagnosis.findings().iter().find_map(|finding| match &finding.facts {
                Facts::Volume(VolumeFacts::Wanted { stopped, .. } | VolumeFacts::NotTaken { stopped }) => {
                    Some(stopped.clone())
                }
                _ => None,
            });
            let stops = stops.unwrap_or_default();
            let stopped: usize = stops.iter().map(|stop| stop.count).sum();
            let unnamed = fitting.iter().filter(|key| !is_named(key)).count();
            prop_assert!(is_unclaimed || stopped + unnamed == of_class.count());
            for stop in &stops {
                prop_assert!(!stop.claims.is_empty() && stop.claims.len() <= stop.count);
                prop_assert!(!stop.claims.iter().any(fits), "{:?}", stop);
            }
            match wanted.as_slice() {
                [] => prop_assert!(fitting.is_empty(), "{:?} {:?}", fitting, diagnosis),
                [(claims, count)] => {
                    prop_assert_eq!(claims, &fitting);
                    prop_assert_eq!(*count, fitting.len());
                }
                _ => prop_assert!(false, "{:?}", diagnosis),
            }
        }
    }

    /// A volume is said to be bound soon where the next sync of its claim does
    /// that. What is being deleted is not made free by any patch, nor made to go
    /// while a claim has it.
    #[test]
    fn a_volume_is_said_to_be_bound_soon_where_a_sync_does_that(objects in cluster()) {
        let (config, snapshot) = (config(), objects.snapshot());
        let survey = Survey::new(&config, &snapshot);
        for volume in snapshot.volumes().iter() {
            let diagnosis = survey.volume(volume);
            let reference = volume.claim_ref();
            let claim = reference.and_then(|reference| {
                snapshot.claims().find(|claim| {
                    let is_named = claim.metadata.name() == reference.name()
                        && claim.metadata.namespace() == reference.namespace();
                    !reference.uid().is_empty() && claim.metadata.uid() == reference.uid()
                        && (is_named || claim.is_bind_completed())
                })
            });
            let has_it = claim.as_ref().is_some_and(|claim| claim.volume_name() == volume.name());
            let gets_it = claim.as_ref().is_some_and(|claim| {
                claim.volume_name().is_empty()
                    && bound_to(&config, &snapshot, claim).as_deref() == Some(volume.name())
            });
            let is_going = claim.is_some_and(|claim| claim.metadata.is_being_deleted());
            let is_said = diagnosis.finding(Code::VolumeBinding).is_some();
            prop_assert!(!is_said || has_it || gets_it, "{:?}", diagnosis);
            prop_assert!(is_said || !gets_it || is_going, "{:?}", diagnosis);
            if !volume.metadata.is_being_deleted() {
                continue;
            }
            for finding in diagnosis.findings() {
                let patches = finding.remedies.iter().filter_map(|remedy| remedy.patch.as_ref());
                for patch in patches {
                    let reference = patch.merge_patch.pointer("/spec/claimRef");
                    let is_whole = reference.is_none_or(|reference| reference["uid"].is_string());
                    prop_assert!(is_whole, "{:?}", diagnosis);
                    let finalizers = patch.merge_patch.pointer("/metadata/finalizers");
                    prop_assert!(finalizers.is_none() || !(has_it || gets_it), "{:?}", diagnosis);
                }
            }
        }
    }

    /// Nothing panics, whatever is known; the texts are harmless; the worst is
    /// first; each remedy's patch removes its finding.
    #[test]
    fn remedies_remove_what_they_are_for(objects in cluster(), known in any::<[bool; 8]>()) {
        let config = config();
        let snapshot = objects.snapshot();
        let said = known;
        let mut known = Known::default();
        (known.volumes, known.claims, known.classes) = (said[0], said[1], said[2]);
        (known.nodes, known.pods, known.csi_drivers) = (said[3], said[4], said[5]);
        (known.csi_nodes, known.csi_storage_capacities) = (said[6], said[7]);
        for known in [known, Known::default()] {
            let view = Survey::knowing(&config, &snapshot, known.clone()).view();
            let severities: Vec<_> = view.iter().map(Diagnosis::severity).collect();
            prop_assert!(severities.is_sorted_by(|a, b| a >= b));
            prop_assert_eq!(view.iter().count(),
                snapshot.claims().count() + snapshot.volumes().len() + snapshot.pods().count());
            let is_harmless = !view.text(TextStyle::default()).contains('\u{1b}');
            prop_assert!(is_harmless);
            serde_json::to_string(&view).unwrap();
            for diagnosis in view.iter() {
                objects.check_remedies(&config, &known, diagnosis, true);
            }
        }
    }
}

#[test]
fn hostile_names_are_cut_and_escaped() {
    let long = "n\u{1b}[2J".repeat(100_000);
    let mut objects = Objects::default();
    objects.insert(json!({"kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": long}}));
    objects.insert(json!({"kind": "PersistentVolume", "metadata": {"name": long},
        "spec": {"claimRef": {"namespace": long, "name": long}, "persistentVolumeReclaimPolicy": "Delete"}}));
    let snapshot = objects.snapshot();
    let config = Config::default();
    for diagnosis in Survey::new(&config, &snapshot).view().iter() {
        for finding in diagnosis.findings() {
            assert!(finding.to_string().len() < 2_000, "{}", finding.code());
        }
        let text = diagnosis.text(TextStyle::default());
        assert!(!text.contains('\u{1b}'));
        let head = text.lines().next().unwrap();
        assert!(head.len() < 3_000, "{}", head.len());
    }
    let text = Survey::new(&config, &snapshot)
        .view()
        .text(TextStyle::default());
    assert!(!text.contains('\u{1b}'));
    assert!(text.len() < 10_000, "{}", text.len());
}

/// Nodes are shared by several tests of this file.
#[test]
fn a_view_of_nothing_has_no_faults() {
    let snapshot: Snapshot = [Object::from(Node::default())].into_iter().collect();
    let config = Config::default();
    let view = Survey::new(&config, &snapshot).view();
    assert!(!view.has_faults() && view.iter().count() == 0);
}
