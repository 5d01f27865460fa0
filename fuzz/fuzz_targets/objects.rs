//! Any text as objects: no panic, and what is read is written without loss.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pvbind::api::{Object, read_objects};
use pvbind::quantity::Quantity;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let _ = read_objects(text);
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let kinds = [
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "Node",
        "Pod",
        "CSIDriver",
        "CSINode",
        "CSIStorageCapacity",
        "StatefulSet",
    ];
    // Whatever the text says that it is, it is tried as every kind.
    for kind in kinds {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.insert("kind".into(), kind.into());
            fields.remove("apiVersion");
        }
        match Object::from_value(value.clone()) {
            Ok(object) => check(&value, &object),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

fn check(read: &Value, object: &Object) {
    let written = serde_json::to_value(object).expect("what was read can be written");
    assert_same(read, &written);
    let again = Object::from_value(written.clone()).expect("what was written can be read");
    assert_eq!(again, *object);
    assert_eq!(serde_json::to_value(&again).ok(), Some(written));
}

/// The same JSON, up to nulls and the text of quantities.
fn assert_same(read: &Value, written: &Value) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (key, value) in read {
                match written.get(key) {
                    Some(written) => assert_same(value, written),
                    None => assert!(value.is_null(), "{key} is lost"),
                }
            }
            assert!(written.keys().all(|key| read.contains_key(key)));
        }
        (Value::Array(read), Value::Array(written)) => {
            assert_eq!(read.len(), written.len());
            read.iter()
                .zip(written)
                .for_each(|(read, written)| assert_same(read, written));
        }
        // A list item that is null is an empty object to Kubernetes.
        (Value::Null, Value::Object(written)) => assert!(written.is_empty()),
        (read, written) if read == written => {}
        (read, written) => {
            let quantity = |value: &Value| serde_json::from_value::<Quantity>(value.clone()).ok();
            assert!(quantity(read).is_some(), "{read} became {written}");
            assert_eq!(quantity(read), quantity(written));
        }
    }
}
