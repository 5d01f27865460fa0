//! How the example `pvbind` takes in a cluster, and how it prints.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    reason = "a test fails by panicking, and uses a part of what the example has"
)]

#[path = "../examples/pvbind/cluster.rs"]
mod cluster;
#[path = "../examples/common/document.rs"]
mod document;
#[path = "../examples/pvbind/events.rs"]
mod events;
#[path = "../examples/common/input.rs"]
mod input;
#[path = "../examples/pvbind/manifest.rs"]
mod manifest;
#[path = "../examples/pvbind/screens.rs"]
mod screens;
#[path = "../examples/pvbind/search.rs"]
mod search;

use pvbind::controller::Config;
use pvbind::diagnosis::{Code, TextStyle};
use serde_json::{Value, json};

use cluster::Cluster;
use screens::Screen;

fn cluster(yaml: &str) -> Cluster {
    let mut cluster = Cluster::default();
    for object in input::read_yaml(yaml).unwrap() {
        cluster.add(object).unwrap();
    }
    cluster.admitted(false, &Config::kube_controller_manager())
}

/// The main cause of a claim.
fn main_code(cluster: &Cluster, claim: &str) -> Code {
    let config = Config::kube_controller_manager();
    let survey = cluster.survey(&config);
    survey.claim(cluster.claim(claim).unwrap()).main().code()
}

/// Claims of two namespaces or of one, and a volume of a third.
fn with_volume_of_another_namespace(claims: &[(&str, &str)]) -> Cluster {
    let mut yaml = "
kind: PersistentVolume
metadata: {name: pv-9}
spec:
  persistentVolumeReclaimPolicy: Delete
  csi: {driver: csi.example.com}
  claimRef: {namespace: other, name: live, uid: u-9}
status: {phase: Bound}
"
    .to_owned();
    for (namespace, name) in claims {
        yaml += &format!(
            "---\nkind: PersistentVolumeClaim\nmetadata: {{namespace: {namespace}, name: {name}}}\n\
             status: {{phase: Pending}}\n"
        );
    }
    cluster(&yaml)
}

#[test]
fn a_claim_of_a_manifest_is_given_the_default_class_and_one_of_a_cluster_is_not() {
    let class = "
kind: StorageClass
metadata: {name: std, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: csi.example.com
---
kind: PersistentVolume
metadata: {name: free}
spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], nfs: {path: /x}}
---
kind: PersistentVolumeClaim
metadata: {name: data CREATED}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}} CLASS}
STATUS
";
    let written = |created: &str, class_name: &str, status: &str| {
        let yaml = class
            .replace(" CREATED", created)
            .replace(" CLASS", class_name);
        cluster(&yaml.replace("STATUS", status))
    };
    let new = written("", "", "");
    let claim = new.claim("default/data").unwrap();
    assert_eq!(claim.class_name(), "std");
    assert_eq!(
        main_code(&new, "default/data"),
        Code::ClaimWaitsForProvisioner
    );
    assert_eq!(new.without_status, 2);
    // It may have been there before the class was.
    for (created, status) in [
        (", creationTimestamp: '2026-01-01T00:00:00Z'", ""),
        ("", "status: {phase: Pending}"),
    ] {
        let old = written(created, "", status);
        assert!(!old.claim("default/data").unwrap().has_class());
        assert_eq!(main_code(&old, "default/data"), Code::ClaimWouldBind);
    }
    let classless = written("", ", storageClassName: ''", "");
    assert_eq!(classless.claim("default/data").unwrap().class_name(), "");
}

#[test]
fn claims_of_one_namespace_say_nothing_of_those_of_others() {
    let one = with_volume_of_another_namespace(&[("shop", "a"), ("shop", "b")]);
    assert!(!one.known.has_claims_of("elsewhere"));
    let two = with_volume_of_another_namespace(&[("shop", "a"), ("db", "b")]);
    assert!(two.known.has_claims_of("elsewhere"));
    let none = with_volume_of_another_namespace(&[]);
    assert!(!none.known.has_claims_of("elsewhere"));
    let config = Config::kube_controller_manager();
    for (cluster, code) in [
        (&one, Code::VolumeBound),
        (&two, Code::VolumeClaimGone),
        (&none, Code::VolumeBound),
    ] {
        let survey = cluster.survey(&config);
        let volume = survey.volume(cluster.volume("pv-9").unwrap());
        assert_eq!(volume.main().code(), code);
    }
}

#[test]
fn json_holds_no_character_that_could_deceive_and_is_the_same_document() {
    let document = json!({"a\u{202e}b": "c\u{9b}d\u{1b}[2J\u{e0041}é\n"});
    let text = document::escaped(&document);
    assert_eq!(
        text,
        "{\n  \"a\\u202eb\": \"c\\u009bd\\u001b[2J\\udb40\\udc41é\\n\"\n}\n"
    );
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
}

/// A claim that waits for its driver, and what was said of it.
fn hearing(events: &[&str]) -> Cluster {
    let mut yaml = "
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
volumeBindingMode: Immediate
---
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data, uid: u-1}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
status: {phase: Pending}
"
    .to_owned();
    for event in events {
        yaml += "---\n";
        yaml += event;
    }
    cluster(&yaml)
}

/// As kubectl prints them.
const CORE: &str = "
apiVersion: v1
kind: Event
metadata: {namespace: shop, name: data.1}
involvedObject: {kind: PersistentVolumeClaim, namespace: shop, name: data, uid: u-1}
reason: ProvisioningFailed
message: quota exceeded
source: {component: csi.example.com_node_1}
lastTimestamp: '2026-01-01T00:00:05Z'
";
/// As the newer API has them.
const NEWER: &str = "
apiVersion: events.k8s.io/v1
kind: Event
metadata: {namespace: shop, name: data.2}
regarding: {kind: PersistentVolumeClaim, namespace: shop, name: data, uid: u-1}
reason: ProvisioningFailed
note: no route to host
reportingController: csi.example.com
eventTime: '2026-01-01T00:00:01.000000Z'
series: {count: 3, lastObservedTime: '2026-01-01T00:00:07.500000Z'}
";

fn said(cluster: &Cluster) -> String {
    let config = Config::kube_controller_manager();
    let survey = cluster.survey(&config);
    survey
        .claim(cluster.claim("shop/data").unwrap())
        .main()
        .to_string()
}

#[test]
fn what_the_provisioner_said_last_is_heard_from_events_of_either_form() {
    let waits = "waits for external provisioner `csi.example.com` to make a volume";
    let failed = |message: &str| {
        format!("waits for provisioner `csi.example.com`, which failed the last time: {message}")
    };
    assert_eq!(said(&hearing(&[])), waits);
    assert_eq!(said(&hearing(&[CORE])), failed("quota exceeded"));
    assert_eq!(said(&hearing(&[NEWER])), failed("no route to host"));
    // In whatever order they stand.
    assert_eq!(said(&hearing(&[CORE, NEWER])), failed("no route to host"));
    assert_eq!(said(&hearing(&[NEWER, CORE])), failed("no route to host"));
    let later = CORE.replace("00:00:05Z", "00:00:08Z");
    assert_eq!(said(&hearing(&[&later, NEWER])), failed("quota exceeded"));
    assert!(hearing(&[CORE, NEWER]).skipped.is_empty());
}

#[test]
fn what_was_said_of_another_claim_by_the_controller_or_before_a_success_is_not_heard() {
    let waits = said(&hearing(&[]));
    for (from, to) in [
        ("uid: u-1", "uid: u-0"),
        ("csi.example.com_node_1", "persistentvolume-controller"),
        ("reason: ProvisioningFailed", "reason: Provisioning"),
        ("kind: PersistentVolumeClaim", "kind: Pod"),
        (
            "namespace: shop, name: data, uid",
            "namespace: db, name: data, uid",
        ),
    ] {
        let event = CORE.replace(from, to);
        assert_ne!(event, CORE);
        assert_eq!(said(&hearing(&[&event])), waits, "{to}");
    }
    let success = CORE
        .replace("00:00:05Z", "00:00:09Z")
        .replace("ProvisioningFailed", "ProvisioningSucceeded");
    assert_eq!(said(&hearing(&[CORE, &success])), waits);
    let told = hearing(&[CORE, NEWER, CORE]);
    let config = Config::kube_controller_manager();
    let survey = told.survey(&config);
    let diagnosis = survey.claim(told.claim("shop/data").unwrap());
    let screen = Screen::new(&survey, &told, diagnosis).unwrap();
    let json: Value = serde_json::from_str(&screen.json().unwrap()).unwrap();
    assert_eq!(json["events"].as_array().unwrap().len(), 2);
    assert_eq!(
        told.events.of("PersistentVolumeClaim", "shop", "data"),
        [
            "ProvisioningFailed: quota exceeded",
            "ProvisioningFailed: no route to host"
        ]
    );
}

#[test]
fn a_list_of_one_kind_is_read_from_yaml_as_from_json() {
    let yaml = "
apiVersion: v1
kind: PersistentVolumeClaimList
items:
- metadata: {namespace: shop, name: data}
---
apiVersion: v1
kind: List
items:
- apiVersion: storage.k8s.io/v1
  kind: StorageClassList
  items: [{metadata: {name: fast}}]
";
    let json = r#"
        {"apiVersion": "v1", "kind": "PersistentVolumeClaimList", "items": [
            {"metadata": {"namespace": "shop", "name": "data"}}]}
        {"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClassList", "items": [
                {"metadata": {"name": "fast"}}]}]}"#;
    let read = input::read_yaml(yaml).unwrap();
    assert_eq!(read, input::read_json(json).unwrap());
    let kinds: Vec<_> = read.iter().map(|object| object.kind().unwrap()).collect();
    assert_eq!(kinds, ["PersistentVolumeClaim", "StorageClass"]);
    let wrong = "kind: PersistentVolumeList\nitems: [{metadata: {name: a}}, {metadata: {name: 7}}]";
    assert_eq!(
        input::read_yaml(wrong).unwrap_err(),
        "document 1, item 2: PersistentVolume `7`: .metadata.name: invalid type: integer `7`, \
         expected a string (quote it)"
    );
}

#[test]
fn errors_say_what_to_do_and_nothing_of_the_reader() {
    for (yaml, message) in [
        (
            "kind: Pod\nkind: Node",
            "line 2, column 1: not YAML: key `kind` stands twice in one mapping",
        ),
        (
            "kind: Pod\nspec: {size: {{ .Values.size }}}",
            "line 2, column 15: not YAML: expected string scalar (it looks like a template, \
             which must be rendered first: `helm template`)",
        ),
        (
            "# nothing\n---\nnull",
            "holds nothing, or nothing but comments",
        ),
        ("hello", "document 1: not a Kubernetes object: `\"hello\"`"),
    ] {
        assert_eq!(input::read_yaml(yaml).unwrap_err(), message);
    }
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        bomb += &format!("a{level}: &a{level} [{aliases}]\n");
    }
    let error = input::read_yaml(&bomb).unwrap_err();
    assert!(
        error.ends_with("its aliases make far more of it than is written"),
        "{error}"
    );
    let twice = "{\"kind\": \"Pod\"}\n{\"metadata\": {\"name\": \"a\", \"name\": \"b\"}}";
    assert_eq!(
        input::read_json(twice).unwrap_err(),
        "line 2, column 39: key `name` stands twice in one object"
    );
    // Of two objects each may have it.
    assert!(input::read_json("{\"a\": [{\"b\": 1}, {\"b\": 2.5}], \"b\": null}").is_ok());
}

#[test]
fn an_input_without_an_object_that_is_understood_is_no_cluster_without_faults() {
    let understood = |json: &str, is_complete| {
        let mut cluster = Cluster::default();
        for object in input::read_json(json).unwrap() {
            cluster.add(object).unwrap();
        }
        cluster.must_hold_something(is_complete)
    };
    let empty = r#"{"kind": "List", "items": []}"#;
    assert!(
        understood(empty, false)
            .unwrap_err()
            .contains("add --complete")
    );
    assert_eq!(understood(empty, true), Ok(()));
    assert_eq!(
        understood(r#"{"kind": "Node", "metadata": {"name": "a"}}"#, false),
        Ok(())
    );
    for (object, skipped) in [
        (r#"{"kind": "Table"}"#, "1 Table"),
        (r#"{"metadata": {}}"#, "1 (no kind)"),
        (
            r#"{"kind": "persistentvolume"}"#,
            "1 persistentvolume (is PersistentVolume meant?)",
        ),
        (
            r#"{"kind": "Pod", "apiVersion": "apps/v1"}"#,
            "1 Pod of apiVersion apps/v1",
        ),
    ] {
        for is_complete in [false, true] {
            let error = understood(object, is_complete).unwrap_err();
            assert!(error.contains(&format!("skipped: {skipped}; ")), "{error}");
        }
    }
}

fn overview(cluster: &Cluster) -> String {
    let config = Config::kube_controller_manager();
    screens::everything(
        &cluster.survey(&config).view(),
        cluster,
        TextStyle::wide(100),
    )
}

#[test]
fn what_was_not_judged_is_told_in_one_line_with_what_to_give() {
    let claim = "
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
status: {phase: Pending}
";
    let told = "not judged for want of classes: 1 object (give what `kubectl get sc -A -o json` \
                prints; if there are none, add --complete)\n";
    let unknown = cluster(claim);
    let text = overview(&unknown);
    assert!(text.ends_with(told), "{text}");
    let config = Config::kube_controller_manager();
    let view = unknown.survey(&config).view();
    let json = screens::for_programs(&json!(view), view.iter(), &unknown);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["notJudged"],
        json!({"objects": 1, "kinds": ["classes"]})
    );
    let known = cluster(&format!(
        "{claim}---\nkind: StorageClass\nmetadata: {{name: fast}}\nprovisioner: csi.example.com\n\
         volumeBindingMode: WaitForFirstConsumer\n---\nkind: Pod\nmetadata: {{namespace: shop, name: other}}\n"
    ));
    let text = overview(&known);
    assert!(!text.contains("not judged"), "{text}");
    assert!(
        text.contains("claims  1 fine (1 waits for a pod)\n"),
        "{text}"
    );
}

#[test]
fn a_pod_that_has_a_node_and_does_not_run_is_told_with_its_last_warning() {
    let pod = "
kind: Pod
metadata: {namespace: shop, name: web, uid: u-1}
spec: {nodeName: n1, volumes: [{persistentVolumeClaim: {claimName: data}}]}
status: {phase: Pending}
---
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data, uid: u-2}
spec: {storageClassName: fast, volumeName: pv-1}
status: {phase: Bound}
";
    let event = "---
kind: Event
type: Warning
involvedObject: {kind: Pod, namespace: shop, name: web, uid: u-1}
reason: FailedAttachVolume
message: Multi-Attach error
lastTimestamp: '2026-01-01T00:00:05Z'
";
    let line = |said: &str| format!("pod shop/web is on node n1 and does not run yet; {said}\n");
    let not_looked_at = line("whether its volumes are attached and mounted was not looked at");
    let warned =
        line("its last warning is FailedAttachVolume: Multi-Attach error (2026-01-01T00:00:05Z)");
    assert!(overview(&cluster(pod)).contains(&not_looked_at));
    let with = |event: &str| cluster(&format!("{pod}{event}"));
    assert!(overview(&with(event)).contains(&warned));
    // Of an earlier pod, of another matter, or of no warning.
    for (from, to) in [
        ("u-1", "u-0"),
        ("FailedAttachVolume", "BackOff"),
        ("type: Warning", "type: Normal"),
    ] {
        assert!(
            overview(&with(&event.replace(from, to))).contains(&not_looked_at),
            "{to}"
        );
    }
    let running = pod.replace("Pending", "Running");
    assert!(!overview(&cluster(&running)).contains("does not run"));
    let cluster = with(event);
    let config = Config::kube_controller_manager();
    let survey = cluster.survey(&config);
    let diagnosis = survey.pod(cluster.pod("shop/web").unwrap());
    let screen = Screen::new(&survey, &cluster, diagnosis).unwrap();
    let text = screen.text(TextStyle::wide(100)).unwrap();
    assert!(
        text.contains(
            "\nLast warning: FailedAttachVolume: Multi-Attach error (2026-01-01T00:00:05Z)\n"
        ),
        "{text}"
    );
}

#[test]
fn what_an_api_server_refuses_of_a_manifest_is_told() {
    const GOOD: &str = "
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data}
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 5Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-1}
spec: {capacity: {storage: 5Gi}, accessModes: [ReadWriteOnce], local: {path: /x}, nodeAffinity: {}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: csi.example.com
volumeBindingMode: Immediate
";
    assert_eq!(cluster(GOOD).refusals, [""; 0]);
    let claim = "PersistentVolumeClaim shop/data: ";
    let volume = "PersistentVolume pv-1: ";
    let class = "StorageClass fast: ";
    for (from, to, object, reason) in [
        (
            "apiVersion: v1",
            "apiVersion: v2",
            claim,
            ".apiVersion: `v2` has no such kind, `v1` has",
        ),
        (
            "apiVersion: v1\n",
            "",
            claim,
            ".apiVersion: is missing, and is `v1`",
        ),
        (
            "storageClassName",
            "storageClass",
            claim,
            ".spec.storageClass: is no field, `storageClassName` is",
        ),
        (
            "storageClassName",
            "color",
            claim,
            ".spec.color: is no field",
        ),
        (
            "requests: {storage: 5Gi}",
            "requests: {storage: -5Gi}",
            claim,
            ".spec.resources.requests.storage: `-5Gi` is not more than zero",
        ),
        (
            "requests: {storage: 5Gi}",
            "requests: {}",
            claim,
            ".spec.resources.requests.storage: is missing",
        ),
        (
            "accessModes: [ReadWriteOnce], resources",
            "resources",
            claim,
            ".spec.accessModes: at least one is needed",
        ),
        (
            "storageClassName: fast",
            "volumeMode: file",
            claim,
            ".spec.volumeMode: `file` is none of Filesystem, Block",
        ),
        (
            "capacity: {storage: 5Gi}",
            "capacity: {storage: 0}",
            volume,
            ".spec.capacity.storage: `0` is not more than zero",
        ),
        (
            ", nodeAffinity: {}",
            "",
            volume,
            ".spec.nodeAffinity: a `local` volume must say on which node it is",
        ),
        (
            "local: {path: /x}, ",
            "",
            volume,
            ".spec: has no source of the volume, such as `csi` or `nfs`",
        ),
        (
            "nodeAffinity: {}",
            "nodeAffinity: {}, persistentVolumeReclaimPolicy: retain",
            volume,
            ".spec.persistentVolumeReclaimPolicy: `retain` is none of Retain, Delete, Recycle",
        ),
        (
            "Immediate",
            "immediate",
            class,
            ".volumeBindingMode: `immediate` is none of Immediate, WaitForFirstConsumer",
        ),
        (
            "provisioner: csi.example.com",
            "reclaimPolicy: Delete",
            class,
            ".provisioner: is missing",
        ),
        (
            "volumeBindingMode: Immediate",
            "reclaimPolicy: Recycle",
            class,
            ".reclaimPolicy: `Recycle` is none of Delete, Retain",
        ),
        (
            "volumeBindingMode",
            "volumeBindngMode",
            class,
            ".volumeBindngMode: is no field, `volumeBindingMode` is",
        ),
    ] {
        let wrong = GOOD.replacen(from, to, 1);
        assert_ne!(wrong, GOOD, "{from}");
        let wrong = cluster(&wrong);
        assert_eq!(wrong.refusals, [format!("{object}{reason}")]);
        let line = format!("an API server refuses {object}{reason}\n");
        assert!(overview(&wrong).contains(&line), "{line}");
    }
    let untimely = GOOD.replacen("name: data", "name: data, deletionTimestamp: yesterday", 1);
    assert_eq!(
        cluster(&untimely).refusals,
        [format!(
            "{claim}.metadata.deletionTimestamp: `yesterday` is no time"
        )]
    );
    // What a cluster has was not refused.
    let made = "metadata: {creationTimestamp: '2026-01-01T00:00:00Z', ";
    let made = GOOD.replace("metadata: {", made).replace("5Gi", "0");
    assert_eq!(cluster(&made).refusals, [""; 0]);
}

#[test]
fn what_the_scheduler_misses_beside_volumes_is_told_once_for_all_pods_it_said_it_of() {
    let mut yaml = "
kind: Node
metadata: {name: n1}
---
kind: PersistentVolume
metadata: {name: pv-1}
spec: {claimRef: {namespace: shop, name: data}, nfs: {server: nas, path: /x}}
status: {phase: Bound}
---
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}
spec: {storageClassName: '', volumeName: pv-1}
status: {phase: Bound}
"
    .to_owned();
    for pod in ["a", "b"] {
        yaml += &format!(
            "---
kind: Pod
metadata: {{namespace: shop, name: {pod}}}
spec: {{volumes: [{{persistentVolumeClaim: {{claimName: data}}}}]}}
status: {{phase: Pending}}
---
kind: Event
type: Warning
involvedObject: {{kind: Pod, namespace: shop, name: {pod}}}
reason: FailedScheduling
message: '1 Insufficient cpu. preemption: no'
"
        );
    }
    let text = overview(&cluster(&yaml));
    let line = "of 2 pods such as shop/a the scheduler said last: 1 Insufficient cpu.\n";
    assert!(text.contains(line), "{text}");
    let started = yaml.replace("spec: {volumes", "spec: {nodeName: n1, volumes");
    let text = overview(&cluster(&started));
    assert!(!text.contains("the scheduler said"), "{text}");
}

#[test]
fn a_claim_that_is_still_to_grow_is_told_with_its_last_warning() {
    let yaml = "
kind: PersistentVolume
metadata: {name: pv-1}
spec: {capacity: {storage: 5Gi}, claimRef: {namespace: shop, name: data}, storageClassName: fast, csi: {driver: d}}
status: {phase: Bound}
---
kind: StorageClass
metadata: {name: fast}
provisioner: d
volumeBindingMode: Immediate
allowVolumeExpansion: true
---
kind: PersistentVolumeClaim
metadata: {namespace: shop, name: data, annotations: {pv.kubernetes.io/bind-completed: 'yes'}}
spec: {storageClassName: fast, volumeName: pv-1, resources: {requests: {storage: 8Gi}}}
status: {phase: Bound, capacity: {storage: 5Gi}}
---
kind: Event
type: Warning
involvedObject: {kind: PersistentVolumeClaim, namespace: shop, name: data}
reason: VolumeResizeFailed
message: quota exceeded
";
    let text = overview(&cluster(yaml));
    let line = "claim shop/data does not grow yet; its last warning is VolumeResizeFailed: quota exceeded\n";
    assert!(text.contains(line), "{text}");
    let grown = overview(&cluster(&yaml.replace("5Gi", "8Gi")));
    assert!(!grown.contains("does not grow"), "{grown}");
}

#[test]
fn no_width_is_too_small_and_colour_is_for_terminals_that_have_it() {
    let style = |width, variables: &[(&str, &str)], is_terminal| {
        let variable = |name: &str| {
            let mut variables = variables.iter();
            let found = variables.find(|(one, _)| *one == name);
            found.map_or_else(String::new, |(_, value)| (*value).to_owned())
        };
        let style = screens::style(width, variable, is_terminal);
        (style.width, style.color)
    };
    assert_eq!(style(None, &[], false), (100, false));
    assert_eq!(style(None, &[("COLUMNS", "120")], true), (120, true));
    assert_eq!(style(Some(90), &[("COLUMNS", "120")], true), (90, true));
    assert_eq!(
        style(None, &[("COLUMNS", "0"), ("TERM", "dumb")], true),
        (100, false)
    );
    assert_eq!(style(Some(0), &[("NO_COLOR", "1")], true), (40, false));
    assert_eq!(
        style(Some(1), &[("TERM", "xterm"), ("NO_COLOR", "")], true),
        (40, true)
    );
}

/// The screens in the README are pieces of what their commands print.
#[test]
fn the_screens_of_the_readme_are_what_is_printed() {
    let config = Config::kube_controller_manager();
    let style = TextStyle::wide(90);
    let read = |files: &[&str]| {
        let files: Vec<_> = files
            .iter()
            .map(|file| format!("examples/{file}"))
            .collect();
        Cluster::read(&files, false, &config).unwrap()
    };
    let overview = |files: &[&str]| {
        let cluster = read(files);
        screens::everything(&cluster.survey(&config).view(), &cluster, style)
    };
    let pending = overview(&["clusters/pending.json"]);
    let manifests = overview(&["manifests/claim.yaml", "manifests/volumes.yaml"]);
    let released = read(&["clusters/released.json"]);
    let survey = released.survey(&config);
    let claim = survey.claim(released.claim("default/shared-data").unwrap());
    let claim = Screen::new(&survey, &released, claim)
        .unwrap()
        .text(style)
        .unwrap();

    let readme = std::fs::read_to_string("README.md").unwrap();
    let blocks = readme.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").unwrap().0);
    let screens: Vec<_> = blocks.filter(|block| block.contains(" [claim-")).collect();
    assert_eq!(screens.len(), 3);
    for (screen, printed) in screens.into_iter().zip([pending, claim, manifests]) {
        let command = screen.lines().next().unwrap();
        assert!(
            command.starts_with("$ ") && command.ends_with(" --width 90"),
            "{command}"
        );
        let screen = screen.split_once('\n').unwrap().1;
        for piece in screen.split("…\n") {
            assert!(printed.contains(piece), "{piece}\nin\n{printed}");
        }
    }
}
