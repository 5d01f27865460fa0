//! Claims that are being deleted.

use super::Examination;
use crate::api::{Pod, names};
use crate::diagnosis::parts::Holder;
use crate::diagnosis::{ClaimFacts, Finding, Remedy, volume};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// Who holds a claim that is being deleted; nothing if it is not.
    pub(super) fn terminating(&self) -> Vec<Finding> {
        let metadata = &self.claim.metadata;
        if !metadata.is_being_deleted() {
            return Vec::new();
        }
        let finalizers = metadata.finalizers.iter().flatten();
        let holders: Vec<_> = finalizers.map(|finalizer| self.holder(finalizer)).collect();
        let view = self.survey.view;
        let volume = view.volume(self.claim.volume_name());
        let volume = volume.filter(|volume| volume.is_bound_to(self.claim));
        let then = match &volume {
            Some(held) => format!(", and its volume is {}", volume::reclaim(self.survey, held)),
            None => String::new(),
        };
        let risk = volume
            .as_ref()
            .and_then(|held| volume::data_at_risk(self.survey, held));
        let first = match (&volume, &risk) {
            (Some(held), Some(_)) => format!(
                "set the policy of volume `{}` to Retain, then ",
                held.name()
            ),
            _ => String::new(),
        };
        let pods = holders.iter().flat_map(|holder| &holder.pods);
        let pods: Vec<_> = pods.take(crate::diagnosis::words::NAMED).collect();
        let safe = pods.iter().filter(|_| risk.is_some()).map(|pod| {
            Remedy::new(
                format!("{first}delete pod `{pod}`"),
                "the claim goes with its last pod, and its volume is kept, with its data",
            )
        });
        let plain = pods.iter().map(|pod| {
            Remedy::new(
                format!("delete pod `{pod}`"),
                format!("the claim goes with its last pod{then}"),
            )
        });
        let remedies: Vec<_> = safe.chain(plain).collect();
        let finding = Finding::from(ClaimFacts::Terminating { holders }).with_all(remedies);
        std::iter::once(finding).chain(risk).collect()
    }

    fn holder(&self, finalizer: &str) -> Holder {
        let (who, pods) = match finalizer {
            names::PVC_PROTECTION_FINALIZER => match self.protecting_pods() {
                pods if pods.is_empty() && !self.knows_pods() => (
                    "is removed when no pod uses the claim, and pods are not known",
                    pods,
                ),
                pods if pods.is_empty() => {
                    ("is removed soon, as no pod on a node uses the claim", pods)
                }
                pods => ("is removed when these pods are gone:", pods),
            },
            "snapshot.storage.kubernetes.io/pvc-as-source-protection" => (
                "is removed by the snapshot controller when its snapshot is made",
                Vec::new(),
            ),
            "provisioner.storage.kubernetes.io/cloning-protection" => (
                "is removed by the external provisioner when its clone is made",
                Vec::new(),
            ),
            _ => ("is removed by whoever put it there", Vec::new()),
        };
        Holder {
            finalizer: finalizer.to_owned(),
            who: who.to_owned(),
            pods,
            nobody: false,
        }
    }

    /// Whether every pod is there that may use the claim.
    pub(super) fn knows_pods(&self) -> bool {
        let namespace = self.claim.metadata.namespace();
        self.survey.known.has_pods_of(namespace)
    }

    /// The pods that keep the claim: those on a node, finished ones among them.
    fn protecting_pods(&self) -> Vec<String> {
        let metadata = &self.claim.metadata;
        let mut pods = Vec::new();
        let visit = &mut |pod: &Pod| {
            if !pod.node_name().is_empty() {
                pods.push(pod.name().to_owned());
            }
        };
        let view = self.survey.view;
        view.visit_pods_using_claim(metadata.namespace(), metadata.name(), visit);
        pods.sort_unstable();
        pods
    }
}
