//! What the driver is asked for, rule by rule.

use super::*;

/// A claim that is to be copied from `shop/old`, and how that goes when what
/// there is of the old one is changed so.
fn copied(from: Value, volume: Value, asked: Value) -> Result<Value, String> {
    let config = Config::new("disk.csi");
    let mut view = view(&class(json!({})));
    let mut claim_object = json!({"kind": "PersistentVolumeClaim", "apiVersion": "v1",
        "metadata": {"namespace": "shop", "name": "old", "uid": "u-0"},
        "spec": {"volumeName": "pv-0"}, "status": {"phase": "Bound"}});
    let mut volume_object = json!({"kind": "PersistentVolume", "apiVersion": "v1",
        "metadata": {"name": "pv-0"},
        "spec": {"capacity": {"storage": "5Gi"},
            "csi": {"driver": "disk.csi", "volumeHandle": "h-0"},
            "claimRef": {"namespace": "shop", "name": "old", "uid": "u-0"}}});
    crate::plan::apply_merge_patch(&mut claim_object, &from);
    crate::plan::apply_merge_patch(&mut volume_object, &volume);
    view.extend(read_objects(&format!("{claim_object}\n{volume_object}")).unwrap());
    let mut spec = json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "old"}});
    crate::plan::apply_merge_patch(&mut spec, &asked);
    let operation = operation(&config, &view, &claim(spec));
    match operation.request(&config, &view, &RequestInputs::default()) {
        Ok(request) => Ok(json!(request.volume_content_source)),
        Err(RequestError::CannotCopy { problem, .. }) => Err(problem.to_owned()),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn a_claim_is_copied_only_from_what_is_whole_fits_and_is_its_own() {
    let none = || json!({});
    let expected = json!({"volume": {"volume_id": "h-0"}});
    assert_eq!(copied(none(), none(), none()), Ok(expected.clone()));
    let larger = json!({"resources": {"requests": {"storage": "6Gi"}}});
    assert_eq!(copied(none(), none(), larger), Ok(expected));
    let reference = |namespace: &str| {
        json!({"dataSource": null, "dataSourceRef": {
            "kind": "PersistentVolumeClaim", "name": "old", "namespace": namespace}})
    };
    assert!(copied(none(), none(), reference("shop")).is_ok());
    // The driver rounded up, and will do so again.
    let rounded = json!({"spec": {"capacity": {"storage": "8Gi"}}});
    assert!(copied(none(), rounded, none()).is_ok());
    for (from, volume, asked, problem) in [
        (
            none(),
            none(),
            reference("other"),
            "it is in another namespace",
        ),
        (
            json!({"metadata": {"name": "older"}}),
            none(),
            none(),
            "it does not exist",
        ),
        (
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            none(),
            none(),
            "it is being deleted",
        ),
        (
            json!({"status": {"phase": "Pending"}}),
            none(),
            none(),
            "it is not bound",
        ),
        (
            json!({"spec": {"volumeName": null}}),
            none(),
            none(),
            "it is not bound",
        ),
        (
            json!({"spec": {"volumeMode": "Block"}}),
            none(),
            none(),
            "it has another volume mode",
        ),
        (
            none(),
            json!({"metadata": {"name": "pv-1"}}),
            none(),
            "its volume does not exist",
        ),
        (
            none(),
            json!({"spec": {"claimRef": {"uid": "u-9"}}}),
            none(),
            "its volume is another claim's",
        ),
        (
            none(),
            json!({"spec": {"csi": {"driver": "other"}}}),
            none(),
            "its volume is of another driver",
        ),
        (
            none(),
            json!({"spec": {"csi": {"volumeHandle": null}}}),
            none(),
            "its volume has no handle",
        ),
        (
            json!({"spec": {"resources": {"requests": {"storage": "6Gi"}}}}),
            none(),
            none(),
            "it asks for more than the claim that is to be filled",
        ),
    ] {
        assert_eq!(copied(from, volume, asked), Err(problem.to_owned()));
    }
}

#[test]
fn the_older_field_goes_first_as_upstream_reads_it() {
    let both = json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
        "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"}});
    let source = DataSource::of(&claim(both)).unwrap();
    assert!(matches!(source, DataSource::Claim(key) if key.to_string() == "shop/a"));
}

#[test]
fn a_claim_is_copied_whatever_its_group_and_a_snapshot_of_another_group_is_refused() {
    let grouped = json!({"dataSource": {"apiGroup": "x.io"}});
    assert!(copied(json!({}), json!({}), grouped).is_ok());
    let config = Config::new("disk.csi");
    for (group, told) in [(json!("x.io"), "x.io"), (Value::Null, "")] {
        let source = json!({"apiGroup": group, "kind": "VolumeSnapshot", "name": "s"});
        let refused = request(&config, json!({}), json!({"dataSource": source})).unwrap_err();
        let text = "the PVC source does not belong to the right APIGroup. \
                    Expected snapshot.storage.k8s.io, Got ";
        assert_eq!(refused.to_string(), format!("{text}{told}"));
        assert_eq!(refused.code(), "data-source");
    }
    let other = json!({"apiGroup": "x.io", "kind": "MyVolumeSnapshot", "name": "s"});
    let refused = request(&config, json!({}), json!({"dataSource": other})).unwrap_err();
    assert_eq!(refused.code(), "for-populator");
}

#[test]
fn each_way_of_access_is_asked_for_once() {
    let modes = json!({"accessModes":
        ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"]});
    let config = Config::new("disk.csi");
    let request = request(&config, json!({}), modes).unwrap();
    let capabilities = request["volume_capabilities"].as_array().unwrap();
    let modes: Vec<_> = capabilities.iter().map(|one| &one["access_mode"]).collect();
    assert_eq!(modes, ["SINGLE_NODE_WRITER", "MULTI_NODE_MULTI_WRITER"]);
}

#[test]
fn a_raw_device_has_no_file_system_neither_in_the_request_nor_in_the_volume() {
    let config = Config {
        default_fs_type: "ext4".into(),
        ..Config::new("disk.csi")
    };
    let class = class(json!({"mountOptions": ["noatime"]}));
    let view = view(&class);
    let operation = operation(&config, &view, &claim(json!({"volumeMode": "Block"})));
    let request = operation.request(&config, &view, &RequestInputs::default());
    assert_eq!(
        json!(request.unwrap().volume_capabilities),
        json!([{"block": {}, "access_mode": "SINGLE_NODE_WRITER"}])
    );
    let volume = created(&answered(&config, &view, operation, &made(json!({}))));
    assert_eq!(volume["spec"]["csi"]["fsType"], Value::Null);
    assert_eq!(volume["spec"]["volumeMode"], "Block");
}

#[test]
fn only_a_volume_that_is_for_reading_alone_is_marked_so() {
    let config = Config {
        marks_read_only: true,
        ..Config::new("disk.csi")
    };
    let view = view(&class(json!({})));
    for (modes, expected) in [
        (json!(["ReadOnlyMany"]), json!(true)),
        (json!(["ReadOnlyMany", "ReadWriteMany"]), Value::Null),
        (json!(["ReadWriteOnce"]), Value::Null),
    ] {
        let operation = operation(&config, &view, &claim(json!({"accessModes": modes})));
        let volume = created(&answered(&config, &view, operation, &made(json!({}))));
        assert_eq!(volume["spec"]["csi"]["readOnly"], expected, "{modes}");
    }
}

#[test]
fn the_attributes_of_a_class_go_to_drivers_that_take_them_and_the_class_to_the_volume() {
    let mut config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let claim = claim(json!({"volumeAttributesClassName": "gold"}));
    let ask = |config: &Config, inputs: &RequestInputs| {
        operation(config, &view, &claim).request(config, &view, inputs)
    };
    let given = RequestInputs {
        attributes: Some([("iops".to_owned(), "9".to_owned())].into()),
        ..RequestInputs::default()
    };
    assert_eq!(
        ask(&config, &given).unwrap_err().to_string(),
        "the driver takes no VolumeAttributesClass, and the claim names `gold`"
    );
    config.modifies_volumes = true;
    assert_eq!(
        ask(&config, &RequestInputs::default())
            .unwrap_err()
            .to_string(),
        "VolumeAttributesClass `gold` was not found"
    );
    let request = ask(&config, &given).unwrap();
    assert_eq!(request.mutable_parameters["iops"], "9");
    let plan = operation(&config, &view, &claim).created(&config, &request, &made(json!({})));
    assert_eq!(created(&plan)["spec"]["volumeAttributesClassName"], "gold");
}

#[test]
fn an_empty_attributes_class_of_a_claim_is_none_of_its_volume() {
    let (config, view) = (Config::new("disk.csi"), view(&class(json!({}))));
    let claim = claim(json!({"volumeAttributesClassName": ""}));
    let plan = answered(
        &config,
        &view,
        operation(&config, &view, &claim),
        &made(json!({})),
    );
    let spec = &created(&plan)["spec"];
    assert_eq!(spec.get("volumeAttributesClassName"), None);
}

#[test]
fn what_may_pass_changes_nothing_of_what_is_in_progress_and_what_cannot_ends_it() {
    let view = view(&class(json!({})));
    let progress = |error: &RequestError| {
        let operation = operation(&Config::new("disk.csi"), &view, &claim(json!({})));
        end(operation.refused(error)).progress
    };
    let problem = "it is not bound";
    let source_claim = crate::api::ClaimKey::new("shop", "old");
    let (snapshot, class) = ("shop/s".to_owned(), "gold".to_owned());
    for error in [
        RequestError::Topology(TopologyError::NoTopology),
        RequestError::SnapshotNotGiven { snapshot },
        RequestError::CannotCopy {
            source_claim,
            problem,
        },
        RequestError::AttributesNotGiven { class },
        RequestError::SecretIncomplete { usage: None },
        RequestError::SecretTemplate {
            usage: SecretUse::NodeStage,
            part: "name",
            template: "${".to_owned(),
            problem: SecretProblem::NotClosed,
        },
    ] {
        assert_eq!(progress(&error), Progress::Unchanged, "{error}");
    }
    for error in [
        RequestError::Selector,
        RequestError::NoUid,
        RequestError::NoAccessMode,
    ] {
        assert_eq!(progress(&error), Progress::Finished, "{error}");
    }
}

#[test]
fn another_node_may_be_chosen_only_if_there_is_one_and_the_driver_knows_places() {
    let mut config = Config::new("disk.csi");
    let view = view(&class(json!({})));
    let mut on_node = PersistentVolumeClaim::clone(&claim(json!({})));
    on_node
        .metadata
        .set_annotation("volume.kubernetes.io/selected-node", "n1");
    let on_node = Arc::new(on_node);
    let may = |config: &Config, claim| operation(config, &view, claim).may_reschedule(config);
    assert!(!may(&config, &on_node));
    config.topology = Some(TopologyConfig::default());
    assert!(may(&config, &on_node));
    assert!(!may(&config, &claim(json!({}))));
}

#[test]
fn a_claim_that_was_made_anew_under_its_name_does_not_take_the_place_of_the_old() {
    let config = Config::new("disk.csi");
    let mut view = view(&class(json!({})));
    let before = claim(json!({}));
    let mut anew = PersistentVolumeClaim::clone(&claim(json!({"volumeName": "pv"})));
    anew.metadata.uid = Some("u-2".to_owned());
    view.apply(Arc::new(anew));
    let ClaimNext::CreateVolume(operation) = continue_claim(&config, &view, &before).verdict else {
        panic!("not continued");
    };
    assert_eq!(operation.volume_name(), "pvc-u-1");
}
