//! Volumes whose claims are gone, and claims whose volumes are.

use serde_json::json;

use crate::cluster::{Controller, HOST_PATH, claim, class, folder, volume};
use crate::fake::{CLAIMS, Fake, VOLUMES};

#[tokio::test(start_paused = true)]
async fn a_retained_volume_is_released_and_stays() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    {
        let state = fake.lock();
        assert!(state.get(CLAIMS, "shop/data").is_none());
        assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Released");
        assert_eq!(state.at(VOLUMES, "pv", "/spec/claimRef/name"), "data");
        assert_eq!(state.wrongs, [] as [&str; 0]);
    }
    // A new claim of the same name does not get it.
    fake.create(claim("data", "5Gi", json!({})));
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/data", "/status/phase"),
        "Pending"
    );
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_was_made_is_deleted_with_its_folder() {
    let fake = Fake::new();
    fake.create(class("local", HOST_PATH, "Immediate"));
    let made = fake.create(claim(
        "scratch",
        "5Gi",
        json!({"storageClassName": "local"}),
    ));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
    assert!(folder().join(&name).is_dir());
    fake.delete(CLAIMS, "shop/scratch");
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(
        state.all(VOLUMES),
        [] as [&serde_json::Value; 0],
        "{:#?}",
        state.writes
    );
    assert!(!folder().join(&name).exists());
    assert_eq!(state.wrongs, [] as [&str; 0]);
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_cannot_be_recycled_fails_and_says_why() {
    let fake = Fake::new();
    let recycle = json!({"persistentVolumeReclaimPolicy": "Recycle"});
    fake.create(volume("pv", "5Gi", recycle));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Failed");
    let message = state.at(VOLUMES, "pv", "/status/message");
    assert_eq!(message, "No recycler plugin found for the volume!");
    assert!(
        state
            .events_about("pv")
            .contains(&"VolumeFailedRecycle".to_owned())
    );
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_is_recycled_is_empty_and_serves_the_next_claim() {
    let fake = Fake::new();
    let path = folder().join("recycled");
    std::fs::create_dir_all(path.join("deep")).unwrap();
    std::fs::write(path.join("deep/file"), "secret").unwrap();
    std::fs::write(path.join("file"), "secret").unwrap();
    let spec = json!({"persistentVolumeReclaimPolicy": "Recycle", "nfs": null,
        "hostPath": {"path": path}});
    fake.create(volume("pv", "5Gi", spec));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    {
        let state = fake.lock();
        assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Available");
        assert_eq!(state.at(VOLUMES, "pv", "/spec/claimRef"), json!(null));
        assert!(
            state
                .events_about("pv")
                .contains(&"VolumeRecycled".to_owned())
        );
    }
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    std::fs::remove_dir_all(path).unwrap();
    fake.create(claim("next", "5Gi", json!({})));
    fake.quiet().await;
    assert_eq!(
        fake.lock().at(CLAIMS, "shop/next", "/spec/volumeName"),
        "pv"
    );
    fake.assert_no_wrongs();
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_is_not_below_tmp_is_not_deleted() {
    for path in ["/etc", "/tmp", "/var/data"] {
        let fake = Fake::new();
        let spec = json!({"persistentVolumeReclaimPolicy": "Delete", "nfs": null,
            "hostPath": {"path": path}});
        fake.create(volume("pv", "5Gi", spec));
        fake.create(claim("data", "5Gi", json!({})));
        let controller = Controller::start(&fake, "a");
        fake.quiet().await;
        fake.delete(CLAIMS, "shop/data");
        fake.quiet().await;
        let message = fake.lock().at(VOLUMES, "pv", "/status/message");
        let refusal = "host_path deleter only supports /tmp/.+ but received provided ";
        assert_eq!(message, format!("{refusal}{path}"));
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_a_pod_uses_keeps_its_volume_until_the_pod_is_gone() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    fake.create(json!({"kind": "Pod", "apiVersion": "v1",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"containers": [], "volumes": [
            {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}}));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    assert_eq!(fake.lock().at(VOLUMES, "pv", "/status/phase"), "Bound");
    fake.delete("pods", "shop/web");
    fake.quiet().await;
    assert_eq!(fake.lock().at(VOLUMES, "pv", "/status/phase"), "Released");
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_volume_is_gone_is_lost() {
    let fake = Fake::new();
    fake.create(volume("pv", "5Gi", json!({})));
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.patch(VOLUMES, "pv", json!({"metadata": {"finalizers": null}}));
    fake.delete(VOLUMES, "pv");
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(CLAIMS, "shop/data", "/status/phase"), "Lost");
    assert!(state.events_about("data").contains(&"ClaimLost".to_owned()));
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_volume_of_a_csi_driver_is_left_to_its_driver() {
    let fake = Fake::new();
    let spec = json!({"nfs": null, "persistentVolumeReclaimPolicy": "Delete",
        "csi": {"driver": "csi.example.com", "volumeHandle": "h-1"}});
    let mut made = volume("pv", "5Gi", spec);
    made["metadata"]["annotations"] = json!({"pv.kubernetes.io/provisioned-by": "csi.example.com"});
    fake.create(made);
    fake.create(claim("data", "5Gi", json!({})));
    let controller = Controller::start(&fake, "a");
    fake.quiet().await;
    fake.delete(CLAIMS, "shop/data");
    fake.quiet().await;
    let state = fake.lock();
    assert_eq!(state.at(VOLUMES, "pv", "/status/phase"), "Released");
    assert!(!state.writes.iter().any(|write| write.starts_with("DELETE")));
    drop(state);
    controller.stop().await;
}

#[tokio::test(start_paused = true)]
async fn after_a_deletion_nothing_is_written_about_the_volume() {
    for seconds in [0, 5, 40] {
        let fake = Fake::new();
        fake.create(class("local", HOST_PATH, "Immediate"));
        fake.create(claim("brief", "5Gi", json!({"storageClassName": "local"})));
        let controller = Controller::start(&fake, "a");
        fake.quiet().await;
        // The watch of volumes tells late.
        let lag = std::time::Duration::from_secs(seconds);
        fake.act(|state| state.lags.insert(VOLUMES, lag));
        fake.delete(CLAIMS, "shop/brief");
        fake.until("deleted", |state| state.all(VOLUMES).is_empty())
            .await;
        fake.quiet().await;
        fake.quiet().await;
        let last = fake.lock().writes.last().cloned().unwrap();
        assert!(last.starts_with("DELETE"), "{last}");
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_somebody_deletes_while_it_is_bound_goes_with_its_claim() {
    // As it was made, and of a policy that was changed too late for a finalizer.
    for policy in [None, Some("Delete")] {
        let fake = Fake::new();
        fake.create(class("local", HOST_PATH, "Immediate"));
        let made = fake.create(claim("both", "5Gi", json!({"storageClassName": "local"})));
        let name = format!("pvc-{}", made["metadata"]["uid"].as_str().unwrap());
        let controller = Controller::start(&fake, "a");
        fake.quiet().await;
        if policy.is_some() {
            let retain = json!({"spec": {"persistentVolumeReclaimPolicy": "Retain"}});
            fake.patch(VOLUMES, &name, retain);
            fake.quiet().await;
        }
        fake.delete(VOLUMES, &name);
        fake.quiet().await;
        if let Some(policy) = policy {
            let delete = json!({"spec": {"persistentVolumeReclaimPolicy": policy}});
            fake.patch(VOLUMES, &name, delete);
        }
        fake.quiet().await;
        assert_eq!(fake.lock().at(VOLUMES, &name, "/status/phase"), "Bound");
        fake.delete(CLAIMS, "shop/both");
        fake.quiet().await;
        let state = fake.lock();
        assert!(state.get(VOLUMES, &name).is_none(), "{policy:?}");
        drop(state);
        // One that loses its last finalizer first leaves its folder.
        let _ = std::fs::remove_dir_all(folder().join(name));
        fake.assert_no_wrongs();
        controller.stop().await;
    }
}
