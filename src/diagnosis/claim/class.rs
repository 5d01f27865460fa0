//! The class of a claim.

use serde_json::json;

use super::Examination;
use crate::api::{ClassOrigin, StorageClass, Timestamp, names};
use crate::controller::MIGRATED_PLUGINS;
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy};
use crate::view::DiagnosticView;

/// A CSI driver that took the place of an in-tree plugin, without migration.
const RBD_SUCCESSOR: (&str, &str) = ("kubernetes.io/rbd", "rbd.csi.ceph.com");

/// So many classes are told.
const TOLD: usize = 10;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// What a claim without a class that provisions should know.
    pub(super) fn class_notes(&self) -> Option<Finding> {
        if !self.claim.class_name().is_empty() {
            return None;
        }
        if self.claim.has_class() {
            return Some(self.class_empty());
        }
        if !self.survey.known.classes {
            return Some(self.not_known("classes", ""));
        }
        let classes = self.survey.classes.iter().take(TOLD);
        let facts = ClaimFacts::ClassUnset {
            classes: classes.map(|class| class.name().to_owned()).collect(),
        };
        let remedy = match self.survey.classes.as_slice() {
            [only] => Remedy::new(
                format!("mark class `{}` as default", only.name()),
                "every claim that sets no class gets it",
            )
            .patching(mark(only, "true")),
            _ => Remedy::new(
                "mark a class as default, or set spec.storageClassName",
                "every claim that sets no class gets the default class",
            ),
        };
        Some(Finding::from(facts).with(remedy))
    }

    fn class_empty(&self) -> Finding {
        let volumes = self.survey.census.classless();
        let claim = self.claim;
        let field = claim.spec.storage_class_name.as_deref();
        let said_by = match (claim.class_origin(), field) {
            (ClassOrigin::Annotation, None) => names::BETA_STORAGE_CLASS.to_owned(),
            (ClassOrigin::Annotation, Some("")) => {
                format!("{} and spec.storageClassName", names::BETA_STORAGE_CLASS)
            }
            // The annotation hides another class, which is told by itself.
            (ClassOrigin::Annotation, Some(_)) => return ClaimFacts::ClassEmpty { volumes }.into(),
            _ => "spec.storageClassName".to_owned(),
        };
        let Some(default) = self.survey.view.default_class() else {
            return ClaimFacts::ClassEmpty { volumes }.into();
        };
        let class = default.name().to_owned();
        let facts = ClaimFacts::DefaultClassRefused { class, volumes };
        Finding::from(facts).with(Remedy::new(
            format!(
                "delete the claim and create it again without {said_by}, if the default class is \
                 meant"
            ),
            format!(
                "it is given class `{}`; the claim has no data yet",
                default.name()
            ),
        ))
    }

    pub(super) fn default_class(&self, class: &str) -> Finding {
        ClaimFacts::DefaultClass {
            class: class.to_owned(),
        }
        .into()
    }

    /// Which of several default classes counts, and why.
    pub(super) fn default_class_ambiguous(&self) -> Option<Finding> {
        let default = self.survey.view.default_class()?;
        let classes = self.survey.classes.iter();
        let others: Vec<_> = classes
            .filter(|class| class.is_marked_default() && class.name() != default.name())
            .collect();
        if others.is_empty() {
            return None;
        }
        let created = |class: &StorageClass| {
            let created = class.metadata.creation_timestamp.as_ref();
            created.and_then(Timestamp::unix_nanos)
        };
        let told = others.iter().take(TOLD);
        let facts = ClaimFacts::DefaultClassAmbiguous {
            class: default.name().to_owned(),
            count: others.len().saturating_add(1),
            others: told.map(|class| class.name().to_owned()).collect(),
            is_newest: others
                .iter()
                .all(|other| created(other) < created(&default)),
        };
        let remedy = match others.as_slice() {
            [other] => Remedy::new(
                format!("do not mark class `{}` as default", other.name()),
                "claims that set no class get the same class as now",
            )
            .patching(mark(other, "false")),
            _ => Remedy::new(
                "mark one class only as default",
                "claims that set no class may then get another class than now",
            ),
        };
        Some(Finding::from(facts).with(remedy))
    }

    pub(super) fn class_annotation(&self) -> Option<Finding> {
        let field = self.claim.spec.storage_class_name.as_deref()?;
        let annotation = self.claim.class_name();
        let is_overridden =
            self.claim.class_origin() == ClassOrigin::Annotation && annotation != field;
        is_overridden.then(|| {
            let facts = ClaimFacts::ClassAnnotation {
                annotation: annotation.to_owned(),
                field: field.to_owned(),
            };
            Finding::from(facts).with(Remedy::new(
                "delete the claim and create it again without the annotation",
                "a bound claim loses its volume",
            ))
        })
    }

    pub(super) fn class_missing(&self) -> Finding {
        let class = self.claim.class_name();
        let facts = ClaimFacts::ClassMissing {
            class: class.to_owned(),
            similar: self.survey.similar_classes(class),
        };
        Finding::from(facts)
            .with(Remedy::new(
                format!("create class `{class}`"),
                "every claim and volume that names it belongs to it",
            ))
            .with(Remedy::new(
                "delete the claim and create it again with a class that exists",
                "the claim has no data yet",
            ))
    }

    pub(super) fn no_provisioner(&self) -> Finding {
        let class = self.claim.class_name().to_owned();
        ClaimFacts::NoProvisioner { class }.into()
    }

    pub(super) fn provisioner_gone(&self, class: &StorageClass) -> Finding {
        let provisioner = class.provisioner();
        let mut successors = MIGRATED_PLUGINS.iter().chain([&RBD_SUCCESSOR]);
        let successor = successors.find(|(plugin, _)| *plugin == provisioner);
        let facts = ClaimFacts::ProvisionerGone {
            class: class.name().to_owned(),
            provisioner: provisioner.to_owned(),
            successor: successor.map(|(_, driver)| (*driver).to_owned()),
        };
        Finding::from(facts).with(again(class))
    }

    pub(super) fn no_binding_mode(&self, class: String) -> Finding {
        let remedy = self.survey.view.class(&class).map(|class| again(&class));
        Finding::from(ClaimFacts::NoBindingMode { class }).with_all(remedy)
    }
}

/// Most of a class cannot be changed.
fn again(class: &StorageClass) -> Remedy {
    Remedy::new(
        format!(
            "delete class `{}` and create it again with a provisioner and a volumeBindingMode that \
             there are",
            class.name()
        ),
        "claims and volumes of the class stay as they are",
    )
}

fn mark(class: &StorageClass, value: &str) -> Patch {
    let mut annotations = serde_json::Map::new();
    annotations.insert(names::IS_DEFAULT_CLASS.to_owned(), json!(value));
    if class.metadata.has_annotation(names::BETA_IS_DEFAULT_CLASS) {
        annotations.insert(names::BETA_IS_DEFAULT_CLASS.to_owned(), json!(null));
    }
    Patch::of(
        ObjectName::of(Kind::Class, &class.metadata),
        &class.metadata,
        json!({"metadata": {"annotations": annotations}}),
    )
}
