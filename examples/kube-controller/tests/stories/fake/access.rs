//! What `deploy/controller.yaml` lets the controller do.

use std::sync::LazyLock;

use serde_json::Value;

use super::Target;

static RULES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let manifest = include_str!("../../../deploy/controller.yaml");
    let documents = manifest.split("\n---\n");
    let documents = documents.map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
    let roles = documents.filter(|object| {
        let kind = object["kind"].as_str().unwrap();
        ["ClusterRole", "Role"].contains(&kind)
    });
    roles
        .flat_map(|role| role["rules"].as_array().cloned().unwrap())
        .collect()
});

pub(super) fn is_allowed(verb: &str, target: &Target) -> bool {
    let resource = match &*target.subresource {
        "" => target.resource.clone(),
        part => format!("{}/{part}", target.resource),
    };
    RULES.iter().any(|rule| {
        let has = |field: &str, value: &str| {
            let values = rule[field].as_array();
            values.is_some_and(|values| values.iter().any(|one| one == value))
        };
        has("apiGroups", &target.group)
            && has("resources", &resource)
            && has("verbs", verb)
            && (rule["resourceNames"].is_null() || has("resourceNames", &target.name))
    })
}
