//! Syncs carried out to their ends: what the driver and the API server are
//! asked, and what not.

use super::*;
use crate::api::ClaimKey;
use crate::plan::{ApiError, ApiErrorKind, ApiServer, Change, Event};
use std::collections::BTreeMap;

/// An API server with one volume, if any.
#[derive(Default)]
pub(super) struct Server {
    volume: Option<PersistentVolume>,
    /// Says that a volume exists that it cannot show.
    is_forgetful: bool,
    /// Takes no volume.
    pub(super) is_full: bool,
    reads: usize,
    /// The versions of volumes as they were to be deleted.
    deleted: Vec<String>,
}

impl ApiServer for Server {
    fn update_volume(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        let mut volume = (*change.to).clone();
        let version: u32 = volume.metadata.resource_version().parse().unwrap();
        volume.metadata.resource_version = Some((version + 1).to_string());
        Ok(volume)
    }
    fn update_volume_status(
        &mut self,
        change: &Change<PersistentVolume>,
    ) -> Result<PersistentVolume, ApiError> {
        Ok((*change.to).clone())
    }
    fn update_claim(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        Ok((*change.to).clone())
    }
    fn update_claim_status(
        &mut self,
        change: &Change<PersistentVolumeClaim>,
    ) -> Result<PersistentVolumeClaim, ApiError> {
        Ok((*change.to).clone())
    }
    fn create_volume(&mut self, volume: &PersistentVolume) -> Result<PersistentVolume, ApiError> {
        if self.is_full {
            return Err(ApiError {
                kind: ApiErrorKind::Other,
                message: "full".to_owned(),
            });
        }
        if self.volume.is_some() || self.is_forgetful {
            return Err(ApiError {
                kind: ApiErrorKind::AlreadyExists,
                message: "exists".to_owned(),
            });
        }
        self.volume = Some(volume.clone());
        Ok(volume.clone())
    }
    fn delete_volume(&mut self, volume: &PersistentVolume) -> Result<(), ApiError> {
        let version = volume.metadata.resource_version();
        self.deleted.push(version.to_owned());
        self.volume = None;
        Ok(())
    }
    fn record_event(&mut self, _: &Event) {}
    fn read_claim(&mut self, _: &ClaimKey) -> Result<Option<PersistentVolumeClaim>, ApiError> {
        Ok(None)
    }
    fn read_volume(&mut self, _: &str) -> Result<Option<PersistentVolume>, ApiError> {
        self.reads += 1;
        Ok(self.volume.clone())
    }
}

/// A driver that makes what it is asked for, and fills it with what it is told
/// to; and what it was asked.
#[derive(Default)]
pub(super) struct Disks {
    pub(super) asked: Vec<csi::CreateVolumeRequest>,
    deleted: Vec<csi::DeleteVolumeRequest>,
    has_secrets: bool,
    lacks_snapshots: bool,
    says_no_source: bool,
    /// What it says when it is to delete a volume, instead of doing so.
    declines: Option<DeleteAnswer>,
}

impl Driver for Disks {
    fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
        self.asked.push(request.clone());
        let content_source = request.volume_content_source;
        CreateAnswer::Created(csi::Volume {
            volume_id: "h-1".to_owned(),
            content_source: content_source.filter(|_| !self.says_no_source),
            ..csi::Volume::default()
        })
    }
    fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
        self.deleted.push(request);
        self.declines.clone().unwrap_or(DeleteAnswer::Deleted)
    }
    fn secrets(&mut self, secret: &SecretReference) -> Result<csi::Secrets, String> {
        let secrets = [("from".to_owned(), secret.to_string())];
        match self.has_secrets {
            true => Ok(csi::Secrets(secrets.into())),
            false => Err(format!("secret `{secret}` was not found")),
        }
    }
    fn content_source(
        &mut self,
        source: &DataSource,
    ) -> Result<Option<csi::VolumeContentSource>, String> {
        let DataSource::Snapshot { name, .. } = source else {
            return Ok(None);
        };
        match self.lacks_snapshots {
            true => Err("no answer".to_owned()),
            false => Ok(Some(csi::VolumeContentSource::Snapshot {
                snapshot_id: name.clone(),
            })),
        }
    }
}

/// Syncs a claim that is there and of which nothing is remembered.
fn run(
    config: &Config,
    view: &Snapshot,
    server: &mut Server,
    disks: &mut Disks,
    claim: &Arc<PersistentVolumeClaim>,
) -> ClaimReport {
    let mut view = view.clone();
    view.apply(Arc::clone(claim));
    run_claim(config, &view, server, disks, &mut Ledger::default(), claim)
}

fn short(length: Option<usize>) -> Config {
    Config {
        volume_names: VolumeNames::new("pvc", length).unwrap(),
        ..Config::new("disk.csi")
    }
}

fn volume_of(claim: Value) -> PersistentVolume {
    serde_json::from_value(json!({"metadata": {"name": "pvc-u"}, "spec": {"claimRef": claim}}))
        .unwrap()
}

#[test]
fn a_volume_that_exists_already_is_ones_own_only_if_it_is_for_the_claim() {
    let view = view(&class(json!({})));
    let own = json!({"namespace": "shop", "name": "data", "uid": "u-1"});
    let others = json!({"namespace": "shop", "name": "other", "uid": "u-2"});
    for (length, volume, reads, expected) in [
        (Some(1), own.clone(), 1, "provisioned"),
        (Some(1), others.clone(), 1, "name-taken"),
        // A whole uid can be nobody else's.
        (None, own, 0, "provisioned"),
    ] {
        let mut server = Server {
            volume: Some(volume_of(volume)),
            ..Server::default()
        };
        let mut disks = Disks::default();
        let config = short(length);
        let report = run(&config, &view, &mut server, &mut disks, &claim(json!({})));
        let ClaimEnd { outcome, progress } = report.end;
        let code = match &outcome {
            Ok(outcome) => outcome.code(),
            Err(error) => error.code(),
        };
        assert_eq!(code, expected);
        assert_eq!(progress, Progress::Finished);
        assert_eq!(server.reads, reads);
        assert!(disks.deleted.is_empty(), "it may be the other claim's");
    }
}

#[test]
fn a_volume_that_existed_and_is_gone_is_asked_for_again() {
    let view = view(&class(json!({})));
    let mut server = Server {
        is_forgetful: true,
        ..Server::default()
    };
    let (config, mut disks) = (short(Some(1)), Disks::default());
    let end = run(&config, &view, &mut server, &mut disks, &claim(json!({}))).end;
    assert_eq!(end.progress, Progress::InBackground);
    let text = end.outcome.unwrap_err().to_string();
    assert_eq!(text, "volume `pvc-u` existed, and is gone");
}

#[test]
fn a_volume_that_cannot_be_written_down_keeps_its_claim_in_progress() {
    let view = view(&class(json!({})));
    let mut server = Server {
        is_full: true,
        ..Server::default()
    };
    let (config, mut disks) = (Config::new("disk.csi"), Disks::default());
    let end = run(&config, &view, &mut server, &mut disks, &claim(json!({}))).end;
    let message = "full".to_owned();
    assert_eq!(end.outcome, Err(ProvisionError::Write { message }));
    assert_eq!(end.progress, Progress::InBackground);
    assert!(disks.deleted.is_empty());
}

#[test]
fn a_volume_is_deleted_in_the_version_that_lost_its_finalizer() {
    let mut volume = json!({"metadata": {"name": "pv", "uid": "v-1", "resourceVersion": "7",
            "finalizers": ["external-provisioner.volume.kubernetes.io/finalizer"]},
        "spec": {"persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
        "status": {"phase": "Released"}});
    let config = Config {
        adds_finalizer: false,
        ..Config::new("disk.csi")
    };
    let (view, mut server, mut disks) = (Snapshot::new(), Server::default(), Disks::default());
    let object: PersistentVolume = serde_json::from_value(volume.clone()).unwrap();
    let report = run_volume(&config, &view, &mut server, &mut disks, &object);
    assert_eq!(report.outcome, Ok(VolumeOutcome::Deleted));
    assert_eq!(server.deleted, ["8"]);

    // What came in its place after the deletion is not touched.
    let VolumeNext::DeleteVolume(operation) =
        sync_volume(&Config::new("disk.csi"), &object).verdict
    else {
        panic!("not deleted");
    };
    let VolumeNext::ReadVolume(read) = operation.deleted().verdict else {
        panic!("not read");
    };
    assert!(read.clone().answer(Some(object)).has_writes());
    volume["metadata"]["uid"] = json!("v-2");
    let other: PersistentVolume = serde_json::from_value(volume).unwrap();
    assert!(read.clone().answer(Some(other)).is_empty());
    assert!(read.answer(None).is_empty());
}

#[test]
fn no_driver_is_called_for_a_class_whose_secrets_cannot_be_named() {
    for usage in SecretUse::ALL {
        let key = format!("{RESERVED_PREFIX}{}-secret-name", usage.as_str());
        let parameters = json!({&key: "${pvc.annotations['none']}", format!("{key}space"): "n"});
        let view = view(&class(json!({"parameters": parameters})));
        let (mut server, mut disks) = (Server::default(), Disks::default());
        let config = Config::new("disk.csi");
        let end = run(&config, &view, &mut server, &mut disks, &claim(json!({}))).end;
        if usage == SecretUse::ControllerModify {
            // The resizer's, and in no field of the volume.
            assert_eq!(end.outcome.unwrap().code(), "provisioned");
            continue;
        }
        assert!(disks.asked.is_empty(), "{usage:?}");
        assert_eq!(end.progress, Progress::Unchanged);
        let text = end.outcome.unwrap_err().to_string();
        let part = format!("the class's {} secret: name", usage.as_str());
        assert!(text.starts_with(&part), "{text}");
    }
}

#[test]
fn the_secret_for_every_use_is_sent_noted_and_used_to_delete() {
    let view = view(&class(json!({"parameters": {
        "csi.storage.k8s.io/secret-name": "${pvc.name}",
        "csi.storage.k8s.io/secret-namespace": "${pvc.namespace}",
        "csi.storage.k8s.io/node-stage-secret-name": "luks",
        "csi.storage.k8s.io/node-stage-secret-namespace": "disks"}})));
    let mut server = Server::default();
    let mut disks = Disks {
        has_secrets: true,
        ..Disks::default()
    };
    let config = Config::new("disk.csi");
    let report = run(&config, &view, &mut server, &mut disks, &claim(json!({})));
    assert_eq!(report.end.outcome.unwrap().code(), "provisioned");
    assert_eq!(disks.asked[0].secrets.0["from"], "shop/data");
    assert!(disks.asked[0].parameters.is_empty());
    let volume = server.volume.clone().unwrap();
    let (every, own) = (
        json!({"name": "data", "namespace": "shop"}),
        json!({"name": "luks", "namespace": "disks"}),
    );
    assert_eq!(
        json!(volume)["spec"]["csi"],
        json!({"driver": "disk.csi", "volumeHandle": "h-1",
            "controllerPublishSecretRef": every, "nodeStageSecretRef": own,
            "nodePublishSecretRef": every, "controllerExpandSecretRef": every,
            "nodeExpandSecretRef": every})
    );

    let mut released = json!(volume);
    released["status"] = json!({"phase": "Released"});
    let released: Arc<PersistentVolume> = serde_json::from_value(released).map(Arc::new).unwrap();
    // The secret goes with the namespace, and the volume all the same.
    for (has_secrets, sent) in [(true, 1), (false, 0)] {
        let mut disks = Disks {
            has_secrets,
            ..Disks::default()
        };
        let report = run_volume(&config, &view, &mut server, &mut disks, &released);
        assert_eq!(report.outcome, Ok(VolumeOutcome::Deleted));
        assert_eq!(disks.deleted[0].secrets.0.len(), sent);
    }
}

#[test]
fn a_volume_is_deleted_whatever_else_became_of_its_class() {
    let view = view(&class(
        json!({"parameters": {"csi.storage.k8s.io/unheard": "x",
        "fstype": "a", "csi.storage.k8s.io/fstype": "b",
        "csi.storage.k8s.io/provisioner-secret-name": "keys",
        "csi.storage.k8s.io/provisioner-secret-namespace": "disks"}}),
    ));
    let volume: PersistentVolume = serde_json::from_value(json!({
        "metadata": {"name": "pv"}, "spec": {"storageClassName": "fast",
            "persistentVolumeReclaimPolicy": "Delete",
            "csi": {"driver": "disk.csi", "volumeHandle": "h-1"}},
        "status": {"phase": "Released"}}))
    .unwrap();
    let mut disks = Disks {
        has_secrets: true,
        ..Disks::default()
    };
    let (config, mut server) = (Config::new("disk.csi"), Server::default());
    let report = run_volume(&config, &view, &mut server, &mut disks, &volume);
    assert_eq!(report.outcome, Ok(VolumeOutcome::Deleted));
    assert_eq!(disks.deleted[0].secrets.0["from"], "disks/keys");
}

#[test]
fn a_volume_that_does_not_serve_and_is_not_deleted_is_told_of_as_orphaned() {
    let view = view(&class(json!({})));
    let source = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot",
        "name": "s"});
    for answer in [
        DeleteAnswer::Failed("down".to_owned()),
        DeleteAnswer::Ignored("down".to_owned()),
    ] {
        let mut disks = Disks {
            says_no_source: true,
            declines: Some(answer),
            ..Disks::default()
        };
        let (config, mut server) = (Config::new("disk.csi"), Server::default());
        let claim = claim(json!({"dataSource": source}));
        let end = run(&config, &view, &mut server, &mut disks, &claim).end;
        let text = end.outcome.unwrap_err().to_string();
        assert!(text.ends_with("volume is orphaned: down"), "{text}");
    }
}

#[test]
fn a_secret_that_cannot_be_read_now_changes_nothing_of_what_is_in_progress() {
    let view = view(&class(json!({"parameters": {
        "csi.storage.k8s.io/provisioner-secret-name": "keys",
        "csi.storage.k8s.io/provisioner-secret-namespace": "disks"}})));
    let (config, mut server) = (Config::new("disk.csi"), Server::default());
    let mut disks = Disks::default();
    let end = run(&config, &view, &mut server, &mut disks, &claim(json!({}))).end;
    assert!(disks.asked.is_empty());
    assert_eq!(end.progress, Progress::Unchanged);
    let text = end.outcome.unwrap_err().to_string();
    assert_eq!(text, "secret `disks/keys` was not found");
}

#[test]
fn what_could_not_be_looked_up_changes_nothing_of_what_is_in_progress() {
    let view = view(&class(json!({})));
    let source = json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot",
        "name": "s"});
    let claim = claim(json!({"dataSource": source}));
    let mut disks = Disks {
        lacks_snapshots: true,
        ..Disks::default()
    };
    let (config, mut server) = (Config::new("disk.csi"), Server::default());
    let end = run(&config, &view, &mut server, &mut disks, &claim).end;
    assert!(disks.asked.is_empty());
    assert_eq!(end.progress, Progress::Unchanged);
    assert_eq!(end.outcome.unwrap_err().to_string(), "no answer");

    // And a driver that does not say what it filled the volume with has it
    // deleted, and none created.
    let mut disks = Disks {
        says_no_source: true,
        ..Disks::default()
    };
    let end = run(&config, &view, &mut server, &mut disks, &claim).end;
    assert_eq!(
        end.outcome.unwrap_err().to_string(),
        "volume content source missing"
    );
    assert_eq!(disks.deleted[0].volume_id, "h-1");
    assert_eq!(server.volume, None);
    let end = run(&config, &view, &mut server, &mut Disks::default(), &claim).end;
    assert_eq!(end.outcome.unwrap().code(), "provisioned");
}

#[test]
fn a_driver_that_takes_no_attributes_is_not_asked_for_them() {
    struct Asked;
    impl Driver for Asked {
        fn create_volume(&mut self, _: csi::CreateVolumeRequest) -> CreateAnswer {
            panic!("called")
        }
        fn delete_volume(&mut self, _: csi::DeleteVolumeRequest) -> DeleteAnswer {
            panic!("called")
        }
        fn attributes(&mut self, _: &str) -> Result<Option<BTreeMap<String, String>>, String> {
            panic!("called")
        }
    }
    let mut view = view(&class(json!({})));
    let claim = claim(json!({"volumeAttributesClassName": "gold"}));
    view.apply(Arc::clone(&claim));
    let (config, mut server) = (Config::new("disk.csi"), Server::default());
    let mut ledger = Ledger::default();
    let report = run_claim(&config, &view, &mut server, &mut Asked, &mut ledger, &claim);
    assert_eq!(
        report.end.outcome.unwrap_err().to_string(),
        "the driver takes no VolumeAttributesClass, and the claim names `gold`"
    );
}
