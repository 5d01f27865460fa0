//! Claims that wait for their first consumer.

use std::sync::Arc;

use serde_json::json;

use super::Examination;
use super::decision::{Decision, decide};
use crate::api::{Pod, StorageClass, names};
use crate::diagnosis::parts::PodStanding;
use crate::diagnosis::words::NAMED;
use crate::diagnosis::{
    ClaimFacts, Code, Facts, Finding, Kind, ObjectName, Patch, Remedy, Severity,
};
use crate::matching::{Bucket, MatchReport, Refusal};
use crate::view::DiagnosticView;

/// The scheduler of a pod that does not say.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The scheduler that a pod is left to, if it is not the usual one.
pub(in crate::diagnosis) fn other_scheduler(pod: &Pod) -> Option<&str> {
    let scheduler = pod.spec.unknown.get("schedulerName")?.as_str()?;
    (!scheduler.is_empty() && scheduler != DEFAULT_SCHEDULER).then_some(scheduler)
}

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// No pod is to be scheduled.
    pub(super) fn waits_for_consumer(&self) -> Vec<Finding> {
        if !self.knows_pods() {
            return self.with_delayed_notes(vec![self.not_known("pods", "")]);
        }
        let mut findings: Vec<_> = self.bypassed(&self.users()).into_iter().collect();
        if findings.is_empty() {
            let class = self.claim.class_name().to_owned();
            findings.push(ClaimFacts::WaitsForConsumer { class, slip: None }.into());
        }
        self.with_delayed_notes(findings)
    }

    /// Pods are to be scheduled first.
    pub(super) fn waits_for_pods(&self) -> Vec<Finding> {
        let users = self.users();
        let waiting: Vec<_> = users
            .iter()
            .filter(|pod| pod.node_name().is_empty())
            .collect();
        // Those that are being deleted will not be scheduled, and count only where
        // there are no others.
        let is_going = |pod: &&&Arc<Pod>| pod.metadata.is_being_deleted();
        let staying: Vec<_> = waiting
            .iter()
            .filter(|pod| !is_going(pod))
            .copied()
            .collect();
        let waiting = if staying.is_empty() { waiting } else { staying };
        let told = waiting.iter().take(NAMED);
        let mut remedies = Vec::new();
        let pods: Vec<PodStanding> = told
            .map(|pod| {
                let main = self.looks_into_pods.then(|| self.survey.pod_main(pod));
                for remedy in main.iter().flat_map(|main| &main.remedies) {
                    if !remedies.contains(remedy) {
                        remedies.push(remedy.clone());
                    }
                }
                PodStanding {
                    pod: pod.name().to_owned(),
                    code: main.as_ref().map(Finding::code),
                    text: main.map(|main| main.to_string()).unwrap_or_default(),
                }
            })
            .collect();
        let cannot = |standing: &PodStanding| {
            let severity = standing.code.map(crate::diagnosis::Code::severity);
            severity == Some(Severity::Fault)
        };
        let count = waiting.len();
        let is_stuck = pods.iter().all(cannot) && count <= pods.len();
        remedies.retain(|_| is_stuck);
        let facts = match is_stuck {
            true => ClaimFacts::PodsUnschedulable {
                pods,
                count,
                slip: None,
            },
            false => ClaimFacts::WaitsForPods {
                pods,
                count,
                slip: None,
            },
        };
        let mut findings = vec![Finding::from(facts).with_all(remedies)];
        findings.extend(self.bypassed(&users));
        let others = waiting
            .iter()
            .filter_map(|pod| Some((pod, other_scheduler(pod)?)));
        findings.extend(others.take(NAMED).map(|(pod, scheduler)| {
            let facts = ClaimFacts::PodOtherScheduler {
                pod: pod.name().to_owned(),
                scheduler: scheduler.to_owned(),
            };
            Finding::from(facts).with(Remedy::new(
                format!("see whether scheduler `{scheduler}` runs and binds volumes"),
                "",
            ))
        }));
        self.with_delayed_notes(findings)
    }

    /// The findings, and what will be said when the pod is scheduled. A volume
    /// that misses by a slip of the pen is the root of it all, and is told at
    /// once.
    pub(super) fn with_delayed_notes(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        let notes = self.delayed_notes();
        let is_root = |note: &Finding| {
            matches!(
                note.code(),
                Code::ClaimTopologyUnsatisfied
                    | Code::ClaimNoCapacityPool
                    | Code::ClaimVolumeUnreachable
            )
        };
        let (roots, notes): (Vec<_>, Vec<_>) = notes.into_iter().partition(is_root);
        let slipped = notes.iter().find_map(|note| match &note.facts {
            Facts::Claim(ClaimFacts::NoVolumeFits { nearest, .. }) => {
                nearest.iter().find(|miss| miss.slip.is_some()).cloned()
            }
            _ => None,
        });
        if let Some(first) = findings.first_mut()
            && let Facts::Claim(
                ClaimFacts::WaitsForConsumer { slip, .. }
                | ClaimFacts::WaitsForPods { slip, .. }
                | ClaimFacts::PodsUnschedulable { slip, .. },
            ) = &mut first.facts
        {
            *slip = slipped;
        }
        // Where pods cannot be scheduled, that is why.
        let is_stuck = findings.first().map(Finding::code) == Some(Code::ClaimPodsUnschedulable);
        match is_stuck {
            true => findings.splice(0..0, roots).for_each(drop),
            false => findings.extend(roots),
        }
        findings.extend(notes);
        findings
    }

    /// The pods that use the claim and have not finished, by name.
    fn users(&self) -> Vec<Arc<Pod>> {
        let metadata = &self.claim.metadata;
        let mut users = Vec::new();
        let visit = &mut |pod: &Pod| {
            if !pod.is_finished() {
                users.push(Arc::new(pod.clone()));
            }
        };
        let view = self.survey.view;
        view.visit_pods_using_claim(metadata.namespace(), metadata.name(), visit);
        users.sort_by(|a, b| a.name().cmp(b.name()));
        users
    }

    /// A pod that was given its node by hand: no scheduler selects one for the
    /// claim.
    fn bypassed(&self, users: &[Arc<Pod>]) -> Option<Finding> {
        let mut placed = users.iter().filter(|pod| !pod.node_name().is_empty());
        let pod = placed.find(|pod| !pod.metadata.is_being_deleted())?;
        let facts = ClaimFacts::PodBypassedScheduler {
            pod: pod.name().to_owned(),
            node: pod.node_name().to_owned(),
        };
        let again = Remedy::new(
            format!(
                "delete pod `{}` and create it again without spec.nodeName",
                pod.name()
            ),
            "the scheduler chooses a node, if need be by a nodeSelector, and the volume with it",
        );
        let select = self.can_be_selected(pod.node_name()).then(|| {
            let metadata = &self.claim.metadata;
            let patch = Patch::of(
                ObjectName::of(Kind::Claim, metadata),
                metadata,
                json!({"metadata": {"annotations": {names::SELECTED_NODE: pod.node_name()}}}),
            );
            let remedy = Remedy::new(
                format!(
                    "select node `{}` in place of the scheduler",
                    pod.node_name()
                ),
                "the volume is made for that node, and may be out of reach of others",
            );
            remedy.patching(patch)
        });
        Some(Finding::from(facts).with(again).with_all(select))
    }

    /// Whether the scheduler may take a volume that the controller refuses: it
    /// does not look at the access modes of one that is reserved, and compares
    /// unknown modes by name.
    fn scheduler_takes_more(&self, report: &MatchReport<'_>) -> bool {
        let mut asked = self.claim.access_modes().iter();
        let is_of_modes = |refusal: &Refusal<'_>| matches!(refusal, Refusal::AccessModes { .. });
        let mut reserved = report.bucket(Bucket::ReservedUnusable);
        asked.any(|mode| mode.is_unknown())
            || reserved.any(|volume| volume.refusals.iter().all(is_of_modes))
    }

    /// What will keep the claim from a volume when its pod is scheduled.
    fn delayed_notes(&self) -> Vec<Finding> {
        let Some(class) = self.survey.view.class(self.claim.class_name()) else {
            return Vec::new();
        };
        let (report, summary) = self.report();
        if summary.fitting > 0 || self.scheduler_takes_more(&report) {
            let chosen = report.chosen();
            let ignored = chosen.and_then(|chosen| self.data_source_ignored(chosen));
            let ignored = ignored.into_iter();
            let dynamic = is_dynamic(&class);
            let unreachable = (!dynamic).then(|| self.fitting_unreachable(&report));
            let rivals = chosen
                .filter(|_| !dynamic)
                .and_then(|chosen| self.competes(chosen));
            let others = chosen.and_then(|chosen| self.takes_from_another(chosen));
            let unreachable = unreachable.flatten().into_iter();
            return ignored
                .chain(unreachable)
                .chain(rivals)
                .chain(others)
                .collect();
        }
        let mut notes = Vec::new();
        if is_dynamic(&class) {
            notes.extend(self.reserved_in_vain(&report));
            notes.extend(self.once_selected());
            notes.extend(self.topology_unsatisfied(&class));
            notes.extend(self.no_capacity_pool(&class));
        } else if self.survey.known.volumes {
            notes.extend(self.reservations(&report));
            notes.extend(self.nothing_fits(&report, &summary));
            notes.push(self.no_provisioner());
        }
        notes
    }

    /// Whether a volume is made once this node is selected, as far as can be
    /// seen.
    fn can_be_selected(&self, node: &str) -> bool {
        let survey = self.survey;
        let class = survey.view.class(self.claim.class_name());
        let is_there = !survey.known.nodes || survey.view.node(node).is_some();
        if !is_there || !class.is_some_and(|class| is_dynamic(&class)) {
            return false;
        }
        let (is_made, said) = self.if_selected(node);
        let hinders = |finding: &Finding| match finding.code() {
            // The volume that is made has nothing to do with these.
            Code::ClaimReservedUnusable | Code::ClaimReservationIncomplete => false,
            Code::ClaimDriverUnknown => true,
            code => code.severity() == Severity::Fault,
        };
        is_made && !said.iter().any(hinders)
    }

    /// What will be said whichever node is selected.
    fn once_selected(&self) -> Vec<Finding> {
        let Some(node) = self.survey.nodes.first() else {
            return Vec::new();
        };
        let (_, mut findings) = self.if_selected(node.metadata.name());
        findings.retain(|finding| {
            matches!(
                finding.code(),
                Code::ClaimProvisionerGone
                    | Code::ClaimProvisioningFails
                    | Code::ClaimSelectorRefused
                    | Code::ClaimRequestRefused
                    | Code::ClaimDriverUnknown
            )
        });
        findings
    }

    /// Lets the controller decide as if this node were selected: whether a volume
    /// is made, and what is said of it.
    fn if_selected(&self, node: &str) -> (bool, Vec<Finding>) {
        let mut claim = self.claim.clone();
        claim.metadata.set_annotation(names::SELECTED_NODE, node);
        let later = Examination {
            survey: self.survey,
            claim: &claim,
            looks_into_pods: false,
        };
        let (config, view) = (self.survey.config, self.survey.view);
        match decide(config, view, &claim) {
            Decision::Provision(operation) => (true, later.provision(operation)),
            Decision::ProvisioningFails(message) => (false, later.provisioning_fails(message)),
            _ => (false, Vec::new()),
        }
    }
}

fn is_dynamic(class: &StorageClass) -> bool {
    !matches!(class.provisioner(), "" | names::NO_PROVISIONER)
}
