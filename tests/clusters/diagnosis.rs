//! What is wrong with each object of the recordings, and that Kubernetes' own
//! events say the same. The scenarios behind the objects are told by their
//! names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pvbind::api::{ClaimPhase, PersistentVolumeClaim, read_objects};
use pvbind::controller::Config;
use pvbind::diagnosis::{Code, Diagnosis, Known, Severity, Survey, ViewDiagnosis};
use pvbind::view::Snapshot;
use serde_json::Value;

const PENDING: &[(&str, &str)] = &[
    ("claim default/block-claim", "claim-bound"),
    ("claim default/class-missing", "claim-class-missing"),
    ("claim default/hostpath-claim", "claim-bound"),
    (
        "claim default/immediate-migrated",
        "claim-waits-for-provisioner",
    ),
    ("claim default/local-claim", "claim-waits-for-pods"),
    ("claim default/local-claim-huge", "claim-pods-unschedulable"),
    ("claim default/my-app-gp3-pvc", "claim-waits-for-consumer"),
    ("claim default/my-pvc", "claim-waits-for-pods"),
    (
        "claim default/mysql-persistent-storage-mysql-0",
        "claim-waits-for-pods",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-1",
        "claim-waits-for-pods",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-2",
        "claim-waits-for-pods",
    ),
    (
        "claim default/names-missing-volume",
        "claim-names-missing-volume",
    ),
    (
        "claim default/names-reserved-volume",
        "claim-names-taken-volume",
    ),
    (
        "claim default/names-wrong-mode",
        "claim-names-mismatched-volume",
    ),
    ("claim default/no-class-too-big", "claim-no-volume-fits"),
    ("claim default/no-class-unset", "claim-class-unset"),
    ("claim default/selector-mismatch", "claim-no-volume-fits"),
    ("claim default/shared-data", "claim-bound"),
    ("claim default/zone-claim", "claim-pods-unschedulable"),
    ("volume pv-block", "volume-bound"),
    ("volume pv-local-a", "volume-wanted"),
    ("volume pv-local-b", "volume-wanted"),
    ("volume pv-manual-5", "volume-not-taken"),
    ("volume pv-nfs", "volume-bound"),
    ("volume pv-nfs-small", "volume-not-taken"),
    ("volume pv-reserved", "volume-reserved-for-nobody"),
    (
        "volume pvc-f7794bbc-41e0-4765-b62c-88702af3e32c",
        "volume-bound",
    ),
    ("pod default/local-pod", "pod-some-nodes-fit"),
    ("pod default/local-pod-huge", "pod-no-node-fits"),
    ("pod default/my-pod", "pod-some-nodes-fit"),
    ("pod default/mysql-0", "pod-some-nodes-fit"),
    ("pod default/mysql-1", "pod-some-nodes-fit"),
    ("pod default/mysql-2", "pod-some-nodes-fit"),
    ("pod default/zone-pod-c", "pod-no-node-fits"),
];

const SCHEDULED: &[(&str, &str)] = &[
    ("claim default/block-claim", "claim-bound"),
    ("claim default/class-missing", "claim-class-missing"),
    ("claim default/hostpath-claim", "claim-bound"),
    (
        "claim default/immediate-migrated",
        "claim-waits-for-provisioner",
    ),
    ("claim default/local-claim", "claim-bound"),
    ("claim default/local-claim-huge", "claim-pods-unschedulable"),
    ("claim default/my-app-gp3-pvc", "claim-waits-for-consumer"),
    ("claim default/my-pvc", "claim-waits-for-provisioner"),
    (
        "claim default/mysql-persistent-storage-mysql-0",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-1",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-2",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/names-missing-volume",
        "claim-names-missing-volume",
    ),
    (
        "claim default/names-reserved-volume",
        "claim-names-taken-volume",
    ),
    (
        "claim default/names-wrong-mode",
        "claim-names-mismatched-volume",
    ),
    ("claim default/no-class-too-big", "claim-no-volume-fits"),
    ("claim default/no-class-unset", "claim-class-unset"),
    ("claim default/selector-mismatch", "claim-no-volume-fits"),
    ("claim default/shared-data", "claim-bound"),
    ("claim default/zone-claim", "claim-pods-unschedulable"),
    ("volume pv-block", "volume-bound"),
    ("volume pv-local-a", "volume-bound"),
    ("volume pv-local-b", "volume-not-taken"),
    ("volume pv-manual-5", "volume-not-taken"),
    ("volume pv-nfs", "volume-bound"),
    ("volume pv-nfs-small", "volume-not-taken"),
    ("volume pv-reserved", "volume-reserved-for-nobody"),
    (
        "volume pvc-f7794bbc-41e0-4765-b62c-88702af3e32c",
        "volume-bound",
    ),
    ("pod default/local-pod", "pod-scheduled"),
    ("pod default/local-pod-huge", "pod-no-node-fits"),
    ("pod default/my-pod", "pod-waits-for-volumes"),
    ("pod default/mysql-0", "pod-waits-for-volumes"),
    ("pod default/mysql-1", "pod-waits-for-volumes"),
    ("pod default/mysql-2", "pod-waits-for-volumes"),
    ("pod default/zone-pod-c", "pod-no-node-fits"),
];

const RELEASED: &[(&str, &str)] = &[
    ("claim default/archive", "claim-bound"),
    ("claim default/block-claim", "claim-lost-volume"),
    ("claim default/class-missing", "claim-class-missing"),
    (
        "claim default/immediate-migrated",
        "claim-waits-for-provisioner",
    ),
    ("claim default/local-claim", "claim-terminating"),
    ("claim default/local-claim-huge", "claim-pods-unschedulable"),
    ("claim default/my-app-gp3-pvc", "claim-waits-for-consumer"),
    ("claim default/my-pvc", "claim-waits-for-provisioner"),
    (
        "claim default/mysql-persistent-storage-mysql-0",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-1",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/mysql-persistent-storage-mysql-2",
        "claim-waits-for-provisioner",
    ),
    (
        "claim default/names-missing-volume",
        "claim-names-missing-volume",
    ),
    (
        "claim default/names-reserved-volume",
        "claim-names-taken-volume",
    ),
    ("claim default/names-wrong-mode", "claim-names-taken-volume"),
    ("claim default/no-class-too-big", "claim-no-volume-fits"),
    ("claim default/no-class-unset", "claim-class-unset"),
    ("claim default/selector-mismatch", "claim-no-volume-fits"),
    ("claim default/shared-data", "claim-released-by-earlier"),
    ("claim default/zone-claim", "claim-pods-unschedulable"),
    ("volume pv-local-a", "volume-bound"),
    ("volume pv-local-b", "volume-not-taken"),
    ("volume pv-manual-5", "volume-bound"),
    ("volume pv-nfs", "volume-released"),
    ("volume pv-nfs-small", "volume-not-taken"),
    ("volume pv-reserved", "volume-reserved-for-nobody"),
    ("pod default/local-pod", "pod-scheduled"),
    ("pod default/local-pod-huge", "pod-no-node-fits"),
    ("pod default/my-pod", "pod-waits-for-volumes"),
    ("pod default/mysql-0", "pod-waits-for-volumes"),
    ("pod default/mysql-1", "pod-waits-for-volumes"),
    ("pod default/mysql-2", "pod-waits-for-volumes"),
    ("pod default/zone-pod-c", "pod-no-node-fits"),
];

const RECORDINGS: [(&str, &[(&str, &str)]); 3] = [
    ("pending", PENDING),
    ("scheduled", SCHEDULED),
    ("released", RELEASED),
];

struct Recording {
    snapshot: Snapshot,
    json: Value,
}

fn recording(name: &str) -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clusters");
    let text = fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    Recording {
        snapshot: read_objects(&text).unwrap().into_iter().collect(),
        json: serde_json::from_str(&text).unwrap(),
    }
}

impl Recording {
    /// The recordings hold no CSIDrivers and CSINodes.
    fn diagnosis(&self) -> ViewDiagnosis {
        let mut known = Known::default();
        known.csi_drivers = false;
        known.csi_nodes = false;
        Survey::knowing(&Config::kube_controller_manager(), &self.snapshot, known).view()
    }

    /// The reason of the last event about each object, by `KIND NAMESPACE/NAME`.
    fn last_reasons(&self) -> BTreeMap<String, String> {
        let mut last: BTreeMap<String, (String, String)> = BTreeMap::new();
        for item in self.json["items"].as_array().unwrap() {
            let reason = item["reason"].as_str().unwrap_or_default();
            if item["kind"] != "Event" || !REASONS.contains(&reason) {
                continue;
            }
            let object = &item["involvedObject"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let kind = match object["kind"].as_str().unwrap() {
                "PersistentVolumeClaim" => "claim",
                "Pod" => "pod",
                other => panic!("an event about a {other}"),
            };
            let key = format!(
                "{kind} {}/{}",
                text(&object["namespace"]),
                text(&object["name"])
            );
            let at = text(&item["lastTimestamp"]);
            let newest = last.entry(key).or_default();
            if at >= newest.0 {
                *newest = (at, reason.to_owned());
            }
        }
        last.into_iter()
            .map(|(key, (_, reason))| (key, reason))
            .collect()
    }
}

/// The reasons that must map to findings.
const REASONS: [&str; 8] = [
    "FailedBinding",
    "WaitForFirstConsumer",
    "WaitForPodScheduled",
    "VolumeMismatch",
    "ProvisioningFailed",
    "ExternalProvisioning",
    "ClaimLost",
    "FailedScheduling",
];

fn main_codes(view: &ViewDiagnosis) -> BTreeMap<String, &'static str> {
    let main = |diagnosis: &Diagnosis| {
        let code = diagnosis.main().code().as_str();
        (diagnosis.object.to_string(), code)
    };
    view.iter().map(main).collect()
}

#[test]
fn every_claim_volume_and_pod_has_its_main_cause() {
    for (name, expected) in RECORDINGS {
        let found = main_codes(&recording(name).diagnosis());
        let expected: BTreeMap<_, _> = expected
            .iter()
            .map(|(object, code)| ((*object).to_owned(), *code))
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn the_last_event_about_an_object_maps_to_its_finding() {
    let mut mapped: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, _) in RECORDINGS {
        let recording = recording(name);
        let view = recording.diagnosis();
        for (object, reason) in recording.last_reasons() {
            let mut diagnoses = view.iter();
            let Some(diagnosis) = diagnoses.find(|one| one.object.to_string() == object) else {
                // It was deleted since.
                continue;
            };
            if is_outlived(&recording, &object, &reason, diagnosis) {
                continue;
            }
            let codes = diagnosis.findings().iter().map(|finding| finding.code());
            let mut codes: Vec<Code> = codes.collect();
            codes.truncate(1);
            assert!(
                codes
                    .iter()
                    .any(|code| code.event_reasons().contains(&reason.as_str())),
                "{name}: {reason} about {object}, but {codes:?}"
            );
            let reason = REASONS.iter().find(|known| **known == reason).unwrap();
            *mapped.entry(reason).or_default() += 1;
        }
    }
    let all: Vec<_> = mapped.keys().copied().collect();
    let mut expected = REASONS.to_vec();
    expected.sort_unstable();
    assert_eq!(all, expected, "every reason was met: {mapped:?}");
    assert!(mapped.values().sum::<usize>() >= 40, "{mapped:?}");
}

/// Whether an object has gone on since its last event: a claim was bound, a pod
/// got its node, and the volume of `names-wrong-mode`, which did not fit, was
/// given to another claim in the last seconds of the recording `released`.
fn is_outlived(recording: &Recording, object: &str, reason: &str, diagnosis: &Diagnosis) -> bool {
    let (kind, key) = object.split_once(' ').unwrap();
    let (namespace, name) = key.split_once('/').unwrap();
    match kind {
        "claim" => {
            let claim = recording
                .snapshot
                .find::<PersistentVolumeClaim>(namespace, name)
                .unwrap();
            claim.status.phase == Some(ClaimPhase::Bound)
                || (name == "names-wrong-mode"
                    && reason == "VolumeMismatch"
                    && diagnosis.main().code() == Code::ClaimNamesTakenVolume)
        }
        _ => diagnosis.main().code() == Code::PodScheduled,
    }
}

/// The volume that the host-path plugin made is there in the first recordings,
/// and gone in the last, in which its claim is gone.
#[test]
fn the_volume_that_was_deleted_with_its_claim_was_said_to_be() {
    let volume = "pvc-f7794bbc-41e0-4765-b62c-88702af3e32c";
    for name in ["pending", "scheduled"] {
        let view = recording(name).diagnosis();
        let object = format!("volume {volume}");
        let diagnosis = view.iter().find(|one| one.object.to_string() == object);
        let at_release = diagnosis.unwrap().finding(Code::VolumeAtRelease).unwrap();
        assert_eq!(
            at_release.to_string(),
            "when its claim is deleted, it is deleted with its data by plugin \
             `kubernetes.io/host-path`"
        );
    }
    let released = recording("released").snapshot;
    assert!(released.volumes().get(volume).is_none());
}

/// A line of an overview is about the severity that it begins with.
#[test]
fn each_line_of_an_overview_tells_what_its_severity_is_about() {
    for (name, _) in RECORDINGS {
        let view = recording(name).diagnosis();
        let text = view.text(pvbind::diagnosis::TextStyle::wide(10_000));
        let (lines, _) = text.split_once("\n\n").unwrap();
        let mut further = 0;
        for line in lines.lines() {
            let word = line.split_whitespace().next().unwrap();
            let code = line.rsplit_once(" [").unwrap().1.trim_end_matches(']');
            let code: Code = code.parse().unwrap();
            let severity = code.severity().as_str();
            assert_eq!(word.trim_end_matches(':'), severity, "{name}: {line}");
            further += usize::from(line.starts_with(' '));
        }
        let objects = view.iter().filter(|one| one.severity() != Severity::Fine);
        let objects: Vec<_> = objects.collect();
        let main_is_less = objects.iter().filter(|one| {
            let main = one.main().severity();
            main != Severity::Fine && main != one.severity()
        });
        assert_eq!(lines.lines().count(), objects.len() + further);
        assert_eq!(further, main_is_less.count());
    }
}

#[test]
fn every_diagnosis_can_be_read_by_people_and_by_programs() {
    for (name, _) in RECORDINGS {
        let view = recording(name).diagnosis();
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["hasFaults"], true);
        let first = &json["diagnoses"][0];
        for field in ["code", "severity", "sentence", "facts", "remedies"] {
            assert!(!first["findings"][0][field].is_null(), "{field}");
        }
        for width in [20, 80, 200] {
            let style = pvbind::diagnosis::TextStyle::wide(width);
            let text = view.text(style);
            let longest_word = text.split_whitespace().map(str::len).max().unwrap();
            let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= width.max(longest_word + 8), "{name}");
        }
    }
}
