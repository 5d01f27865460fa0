//! What the host-path plugin makes, deletes and empties, and what it does not
//! touch.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube_controller::host_path::HostPath;
use kube_controller::permit::{Names, Permit};
use kube_controller::provisioner::Provisioner as _;
use kube_controller::term::Term;
use pvbind::api::PersistentVolume;
use pvbind::controller::ProvisionRequest;
use serde_json::json;

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, settings, volume};
use crate::fake::{CLAIMS, Fake, VOLUMES};

/// A folder of one test.
fn place(name: &str) -> PathBuf {
    let place = folder().join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

fn volume_at(path: impl AsRef<Path>) -> PersistentVolume {
    let spec = json!({"nfs": null, "hostPath": {"path": path.as_ref()}});
    serde_json::from_value(volume("pv", "5Gi", spec)).unwrap()
}

fn permit() -> (Permit, Term) {
    let term = Term::endless();
    (Names::default().take("test", &term).unwrap(), term)
}

async fn delete(plugin: &HostPath, path: impl AsRef<Path>) -> Result<(), String> {
    let deleted = plugin.delete(volume_at(path), permit().0).await;
    deleted.map_err(|error| error.to_string())
}

#[tokio::test]
async fn links_are_not_followed_out_of_the_folders_that_may_be_touched() {
    let place = place("links");
    let outside = Path::new("/var/tmp").join(format!("pvbind-outside-{}", std::process::id()));
    fs::create_dir_all(outside.join("volume")).unwrap();
    fs::write(outside.join("volume/file"), "kept").unwrap();
    symlink(&outside, place.join("link")).unwrap();
    symlink(outside.join("volume"), place.join("last")).unwrap();
    let plugin = HostPath::new(place.join("own")).unwrap();

    for path in ["link/volume", "last"] {
        let path = place.join(path);
        let error = delete(&plugin, &path).await.unwrap_err();
        assert!(error.contains("not touched"), "{error}");
        let recycled = plugin.recycle(volume_at(&path), permit().0).await;
        let error = recycled.unwrap_err();
        assert!(error.contains("not touched"), "{error}");
    }
    for path in ["", "/", "/tmp", "/tmp/../etc/x", "/etc/x", "tmp/x"] {
        let error = delete(&plugin, path).await.unwrap_err();
        let text = "host_path deleter only supports /tmp/.+ but received provided ";
        assert_eq!(error, format!("{text}{path}"));
        let recycled = plugin.recycle(volume_at(path), permit().0).await;
        assert!(recycled.unwrap_err().starts_with("host_path recycler only"));
    }
    // A link inside of a volume goes, and what it leads to stays.
    let inside = place.join("inside");
    fs::create_dir_all(&inside).unwrap();
    symlink(&outside, inside.join("link")).unwrap();
    delete(&plugin, &inside).await.unwrap();
    assert!(!inside.exists());
    let kept = fs::read_to_string(outside.join("volume/file")).unwrap();
    assert_eq!(kept, "kept");
    fs::remove_dir_all(outside).unwrap();
    fs::remove_dir_all(place).unwrap();
}

#[tokio::test]
async fn a_file_is_deleted_and_what_is_not_there_is_deleted_already() {
    let place = place("files");
    let plugin = HostPath::new(place.join("own")).unwrap();
    fs::write(place.join("file"), "x").unwrap();
    delete(&plugin, place.join("file")).await.unwrap();
    assert!(!place.join("file").exists());
    delete(&plugin, place.join("file")).await.unwrap();
    delete(&plugin, place.join("no/such/folder")).await.unwrap();
    let missing = place.join("missing");
    let recycled = plugin.recycle(volume_at(missing), permit().0).await;
    assert!(recycled.unwrap_err().starts_with("there is no "));
    fs::remove_dir_all(place).unwrap();
}

#[tokio::test]
async fn nothing_more_is_deleted_once_the_lead_is_lost() {
    let place = place("lost");
    let plugin = HostPath::new(place.join("own")).unwrap();
    let kept = place.join("volume");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("file"), "x").unwrap();
    let (permit, term) = permit();
    term.end();
    let recycled = plugin.recycle(volume_at(&kept), permit.clone()).await;
    assert_eq!(recycled.unwrap_err(), "the lead is not held any more");
    assert!(plugin.delete(volume_at(&kept), permit).await.is_err());
    assert!(kept.join("file").exists());
    fs::remove_dir_all(place).unwrap();
}

#[tokio::test]
async fn nothing_is_made_in_a_root_that_is_a_link_or_somebody_elses() {
    let place = place("roots");
    symlink("/var/tmp", place.join("link")).unwrap();
    fs::create_dir(place.join("theirs")).unwrap();
    // Only root can give a folder away.
    let is_theirs = chown(place.join("theirs"), Some(65534), None).is_ok();
    let claim = claim("data", "5Gi", json!({}));
    let class = class("local", HOST_PATH, "Immediate");
    for (root, text) in [("link", "is a link"), ("theirs", "belongs to somebody")] {
        let plugin = HostPath::new(place.join(root)).unwrap();
        let request = ProvisionRequest {
            plugin: HOST_PATH.to_owned(),
            volume_name: "pvc-1".to_owned(),
            claim: Arc::new(serde_json::from_value(claim.clone()).unwrap()),
            class: Arc::new(serde_json::from_value(class.clone()).unwrap()),
            node: None,
        };
        let made = plugin.provision(request, permit().0).await;
        match made {
            Err(error) => assert!(error.contains(text), "{error}"),
            Ok(_) => assert!(root == "theirs" && !is_theirs),
        }
    }
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn a_root_that_no_volume_can_be_under_is_refused() {
    for root in ["", "/", "relative", "/srv/../etc"] {
        assert!(HostPath::new(root).is_err(), "{root}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_for_a_block_device_is_told_that_there_are_none() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let spec = json!({"storageClassName": "local", "volumeMode": "Block"});
    fake.create(claim("raw", "5Gi", spec));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let state = fake.lock();
    assert!(state.all(VOLUMES).is_empty());
    let events = state.all("events").into_iter();
    let mut notes = events.filter_map(|event| event["note"].as_str());
    let text = "Failed to provision volume with StorageClass \"local\": \
                kubernetes.io/host-path does not support block volume provisioning";
    assert!(notes.any(|note| note == text), "{text}");
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_folder_is_its_owners() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let made = fake.create(claim("modes", "5Gi", json!({"storageClassName": "local"})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    let mode = fs::metadata(folder().join(&name))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o027, 0, "{mode:o}");
    fs::remove_dir_all(folder().join(name)).unwrap();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_host_path_under_tmp_that_somebody_made_is_deleted_by_policy() {
    let fake = Fake::new();
    let path = place("by-hand");
    fs::write(path.join("file"), "x").unwrap();
    let spec = json!({"persistentVolumeReclaimPolicy": "Delete", "nfs": null,
        "hostPath": {"path": path}});
    fake.create(volume("by-hand", "5Gi", spec));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    assert!(fake.lock().get(VOLUMES, "by-hand").is_none());
    assert!(!path.exists());
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_makes_and_deletes_no_folder() {
    let fake = Fake::new();
    let path = place("dry");
    fs::write(path.join("file"), "x").unwrap();
    for (name, policy) in [("gone", "Delete"), ("again", "Recycle")] {
        let spec = json!({"persistentVolumeReclaimPolicy": policy, "nfs": null,
            "hostPath": {"path": path},
            "claimRef": {"namespace": "shop", "name": name, "uid": "uid-0"}});
        fake.create(volume(name, "5Gi", spec));
        let released = json!({"status": {"phase": "Released"}});
        let key = crate::fake::key_of(VOLUMES, name);
        fake.act(|state| state.patch(&key, "status", &released))
            .unwrap();
    }
    fake.create(class("local", HOST_PATH, "Immediate"));
    let made = fake.create(claim("dry", "5Gi", json!({"storageClassName": "local"})));
    let mut settings = settings("a");
    settings.dry_run = true;
    let before = fake.lock().objects.clone();
    let controller = Controller::with(&fake, settings);
    fake.quiet().await;
    controller.stop().await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    assert!(!folder().join(name).exists());
    assert!(path.join("file").exists());
    assert_eq!(fake.lock().objects, before, "no Lease, no event");
    fs::remove_dir_all(path).unwrap();
}
