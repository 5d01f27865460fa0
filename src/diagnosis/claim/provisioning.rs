//! Claims for which a volume is to be made.

use serde_json::json;

use super::Examination;
use crate::api::{StorageClass, TopologySelectorTerm, names};
use crate::controller::begin;
use crate::diagnosis::{ClaimFacts, Finding, Kind, ObjectName, Patch, Remedy};
use crate::plan::{EventReason, Operation, Provisioner, Step};
use crate::quantity::{Format, Quantity};
use crate::selector::CompiledTopology;
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// Who is to make a volume, and what keeps them from it: that first.
    pub(super) fn provision(&self, operation: Operation) -> Vec<Finding> {
        let Operation::Provision {
            class, provisioner, ..
        } = &operation
        else {
            return Vec::new();
        };
        let (name, is_in_tree) = match provisioner {
            Provisioner::Internal(name) => (name.clone(), true),
            Provisioner::External(name) => (name.clone(), false),
        };
        let class = class.clone();
        let mut findings: Vec<_> = self.refused_at_once(operation).into_iter().collect();
        if !is_in_tree {
            findings.extend(self.selector_refused(&name));
        }
        let is_delayed = self.survey.is_delayed(class.name());
        // What the volume is made in spite of is told after that.
        let mut asides = Vec::new();
        let place = [
            (
                self.selected_node_gone(is_in_tree),
                is_in_tree || self.goes_by_node(&name),
            ),
            (self.topology_unsatisfied(&class), is_delayed),
        ];
        for (finding, stops) in place {
            match stops {
                true => findings.extend(finding),
                false => asides.extend(finding),
            }
        }
        if is_in_tree {
            findings.extend(self.is_made_already());
        } else {
            findings.extend(self.provisioner_refuses(&name));
            findings.extend(self.provisioner_failed(&name));
        }
        // Who refuses the claim, or waits for somebody else, is not waited for.
        if findings.is_empty() {
            let node = self.claim.metadata.annotation(names::SELECTED_NODE);
            let facts = ClaimFacts::WaitsForProvisioner {
                provisioner: name.clone(),
                is_in_tree,
                node: node.map(str::to_owned),
            };
            findings.push(facts.into());
        }
        findings.extend(asides);
        if !is_in_tree {
            findings.extend(self.driver_unknown(&name));
        }
        findings.extend(self.reserved_in_vain_for_made());
        findings
    }

    /// What the operation says at once.
    fn refused_at_once(&self, operation: Operation) -> Option<Finding> {
        let plan = begin(self.survey.config, operation);
        plan.steps.into_iter().find_map(|step| match step {
            Step::Event(event) if event.reason == EventReason::ProvisioningFailed => {
                let message = event.message;
                Some(ClaimFacts::ProvisioningFails { message }.into())
            }
            _ => None,
        })
    }

    /// The controller cannot have a volume made.
    pub(super) fn provisioning_fails(&self, message: String) -> Vec<Finding> {
        let survey = self.survey;
        let Some(class) = survey.view.class(self.claim.class_name()) else {
            return self.without_class_object();
        };
        if class.provisioner() == names::NO_PROVISIONER {
            if let Some(blocked) = self.selected_node_blocks(&class) {
                return self.with_delayed_notes(vec![blocked]);
            }
            let mut findings = self.no_match();
            findings.push(self.no_provisioner());
            return findings;
        }
        let is_unknown = survey.config.plugin(class.provisioner()).is_none();
        if is_unknown && class.provisioner().starts_with(names::IN_TREE_PREFIX) {
            return vec![self.provisioner_gone(&class)];
        }
        vec![ClaimFacts::ProvisioningFails { message }.into()]
    }

    /// The controller has no volumes made. That is the cause where one would be.
    pub(super) fn provisioning_off(&self) -> Vec<Finding> {
        let name = self.claim.class_name();
        let class = self.survey.view.class(name);
        let makes = class.as_deref().map(StorageClass::provisioner);
        if makes == Some(names::NO_PROVISIONER) {
            return self.provisioning_fails(String::new());
        }
        let mut findings = vec![
            ClaimFacts::ProvisioningOff {
                class: name.to_owned(),
            }
            .into(),
        ];
        if let Some(blocked) = class
            .as_deref()
            .and_then(|class| self.selected_node_blocks(class))
        {
            findings.push(blocked);
            return findings;
        }
        let (report, summary) = self.report();
        match makes {
            None => findings.extend(self.without_class_object()),
            Some(_) if self.survey.known.volumes && summary.fitting == 0 => {
                findings.extend(self.reservations(&report));
                findings.extend(self.nothing_fits(&report, &summary));
            }
            Some(_) => {}
        }
        findings
    }

    /// The class does not exist. A volume of that class which only is too small
    /// is the nearer cause.
    fn without_class_object(&self) -> Vec<Finding> {
        let class = match self.survey.known.classes {
            true => self.class_missing(),
            false => self.not_known("classes", self.claim.class_name()),
        };
        let (report, summary) = self.report();
        let mut findings = self.reservations(&report);
        let own_class = || {
            let volumes = report.volumes.iter();
            volumes.filter(|report| report.volume.class_name() == self.claim.class_name())
        };
        let only_small = own_class().any(|report| {
            let codes = report.refusals.iter().map(|refusal| refusal.code());
            codes.eq(["too-small"])
        });
        if only_small && self.survey.known.classes {
            findings.extend(self.nothing_fits(&report, &summary));
            findings.push(class);
        } else {
            findings.insert(0, class);
        }
        findings
    }

    fn selector_refused(&self, provisioner: &str) -> Option<Finding> {
        let is_empty = self.selects()?;
        let facts = ClaimFacts::SelectorRefused {
            provisioner: provisioner.to_owned(),
            is_empty,
        };
        Some(Finding::from(facts).with(Remedy::new(
            "delete the claim and create it again without spec.selector",
            "the claim has no data yet",
        )))
    }

    /// Whether the claim's selector is there, and then whether it is empty.
    pub(super) fn selects(&self) -> Option<bool> {
        let selector = self.claim.spec.selector.as_ref()?;
        let labels = selector.match_labels.as_ref();
        let expressions = selector.match_expressions.as_ref();
        Some(labels.is_none_or(|labels| labels.is_empty()) && expressions.is_none_or(Vec::is_empty))
    }

    fn selected_node_gone(&self, is_in_tree: bool) -> Option<Finding> {
        let metadata = &self.claim.metadata;
        let node = metadata.annotation(names::SELECTED_NODE)?;
        // No node is none to those who wait for one and to the controller's own
        // plugins, and no wish to others.
        let is_gone = match node {
            "" => is_in_tree || self.survey.is_delayed(self.claim.class_name()),
            node => self.survey.known.nodes && self.survey.view.node(node).is_none(),
        };
        if !is_gone {
            return None;
        }
        let facts = ClaimFacts::SelectedNodeGone {
            node: node.to_owned(),
        };
        let consequence = "if the provisioner has begun, it may leave a volume behind";
        Some(Finding::from(facts).with(self.select_again(consequence)))
    }

    /// Neither the controller nor the scheduler looks for a volume for a claim
    /// that has a selected node.
    fn selected_node_blocks(&self, class: &StorageClass) -> Option<Finding> {
        let node = self.claim.metadata.annotation(names::SELECTED_NODE)?;
        if !self.survey.is_delayed(class.name()) {
            return None;
        }
        let (report, _) = self.report();
        let facts = ClaimFacts::SelectedNodeBlocks {
            node: node.to_owned(),
            class: class.name().to_owned(),
            volume: report.chosen().map(|volume| volume.name().to_owned()),
        };
        let consequence =
            "it then takes a volume that exists, in reach of the node that it selects";
        Some(Finding::from(facts).with(self.select_again(consequence)))
    }

    /// Removing the annotation, after which the scheduler begins anew.
    pub(super) fn select_again(&self, consequence: &str) -> Remedy {
        let metadata = &self.claim.metadata;
        let patch = Patch::of(
            ObjectName::of(Kind::Claim, metadata),
            metadata,
            json!({"metadata": {"annotations": {names::SELECTED_NODE: null}}}),
        );
        let sentence = match self.survey.is_delayed(self.claim.class_name()) {
            true => "remove the annotation, so that the scheduler selects another node",
            false => "remove the annotation, which a class that waits for no pod has no use for",
        };
        Remedy::new(sentence, consequence).patching(patch)
    }

    pub(super) fn topology_unsatisfied(&self, class: &StorageClass) -> Option<Finding> {
        let terms = class.allowed_topologies();
        let nodes = &self.survey.nodes;
        if !self.survey.known.nodes || nodes.is_empty() || terms.is_empty() {
            return None;
        }
        if nodes.any_allowed(terms) {
            return None;
        }
        let compiled = CompiledTopology::compile(terms);
        let example = nodes.first().map(|node| {
            let terms = compiled.explain(node.metadata.labels());
            terms.iter().map(ToString::to_string).collect()
        });
        let facts = ClaimFacts::TopologyUnsatisfied {
            class: class.name().to_owned(),
            nodes: nodes.len(),
            example: example.unwrap_or_default(),
            there_are: self.there_are(terms),
        };
        Some(Finding::from(facts).with(Remedy::new(
            format!("label nodes, or delete class `{}` and create it again with topologies that there are", class.name()),
            "volumes that were made before stay where they are",
        )))
    }

    /// The one label that topologies ask for, and its values on nodes.
    fn there_are(&self, terms: &[TopologySelectorTerm]) -> Option<(String, Vec<String>)> {
        /// So many values are told.
        const TOLD: usize = 10;
        let expressions = terms
            .iter()
            .flat_map(|term| term.match_label_expressions.iter().flatten());
        let mut keys: Vec<_> = expressions.filter_map(|one| one.key.as_deref()).collect();
        keys.dedup();
        let [key] = keys.as_slice() else {
            return None;
        };
        let values = self.survey.nodes.values(key).take(TOLD).map(str::to_owned);
        Some(((*key).to_owned(), values.collect()))
    }

    /// No pool that the scheduler looks at has room, whatever the node.
    pub(super) fn no_capacity_pool(&self, class: &StorageClass) -> Option<Finding> {
        let asked = self.claim.storage_request()?;
        let driver = self.survey.view.csi_driver(class.provisioner())?;
        let is_known = self.survey.known.csi_storage_capacities;
        if driver.spec.storage_capacity != Some(true) || !is_known {
            return None;
        }
        let pools = self.survey.view.capacities_of_class(class.name());
        let limits = pools.iter().filter_map(|pool| pool.limit());
        let largest = limits.map(Quantity::value).max();
        if largest.is_some_and(|largest| largest >= asked.value()) {
            return None;
        }
        let facts = ClaimFacts::NoCapacityPool {
            class: class.name().to_owned(),
            driver: class.provisioner().to_owned(),
            asked: asked.clone(),
            pools: pools.len(),
            largest: largest.map(|largest| Quantity::from_i64(largest, Format::BinarySi)),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "free room in the backend, or ask for less in a new claim",
            "the scheduler tries again when a pool changes",
        )))
    }

    fn driver_unknown(&self, driver: &str) -> Option<Finding> {
        let is_unknown =
            self.survey.known.csi_drivers && self.survey.view.csi_driver(driver).is_none();
        is_unknown.then(|| {
            let facts = ClaimFacts::DriverUnknown {
                driver: driver.to_owned(),
            };
            Finding::from(facts).with(Remedy::new(
                format!("see whether provisioner `{driver}` is installed and runs"),
                "",
            ))
        })
    }
}
