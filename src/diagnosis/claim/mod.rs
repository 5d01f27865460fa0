//! Why a claim is as it is.

mod bound;
mod class;
mod consumer;
mod decision;
mod lost;
mod provisioner;
pub(super) use provisioner::Places;
mod provisioning;
mod reach;
mod refused_change;
mod reservation;
mod rivals;
mod search;
mod terminating;
mod wish;

pub(super) use consumer::other_scheduler;
pub(super) use reservation::{complete, meant_by};

use decision::{Decision, decide};

use super::parts::is_tiny;
use super::words::meant_mode;
use super::{ClaimFacts, Code, Diagnosis, Finding, Kind, ObjectName, Remedy, Survey};
use crate::api::PersistentVolumeClaim;
use crate::matching::FindError;
use crate::plan::SyncError;
use crate::view::DiagnosticView;

pub(super) fn diagnose<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claim: &PersistentVolumeClaim,
) -> Diagnosis {
    let examination = Examination {
        survey,
        claim,
        looks_into_pods: true,
    };
    let mut findings = examination.terminating();
    let mut decided = examination.decided();
    // What a claim waits for that never had a volume goes with it.
    if !findings.is_empty() && !claim.is_bind_completed() {
        decided.retain(|finding| finding.code() == Code::ClaimWouldBind);
    }
    findings.extend(examination.access_mode_unknown());
    findings.extend(decided);
    findings.extend(examination.earlier(&findings));
    findings.extend(examination.notes());
    survey.diagnosis(
        ObjectName::of(Kind::Claim, &claim.metadata),
        findings,
        || examination.not_known("volumes", ""),
    )
}

/// The main finding alone, without looking into pods: those may wait for this
/// very claim.
pub(super) fn main<V: DiagnosticView + ?Sized>(
    survey: &Survey<'_, V>,
    claim: &PersistentVolumeClaim,
) -> Finding {
    let examination = Examination {
        survey,
        claim,
        looks_into_pods: false,
    };
    let mut findings = examination.terminating();
    findings.extend(examination.access_mode_unknown());
    if findings.is_empty() {
        findings = examination.decided();
    }
    let main = findings.into_iter().next();
    main.unwrap_or_else(|| examination.not_known("volumes", ""))
}

/// A claim that is being looked into.
struct Examination<'s, 'a, V: ?Sized> {
    survey: &'s Survey<'a, V>,
    claim: &'s PersistentVolumeClaim,
    /// Whether it is said how the pods stand that the claim waits for.
    looks_into_pods: bool,
}

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// What the controller decides, and why: the main cause first.
    fn decided(&self) -> Vec<Finding> {
        let (config, view) = (self.survey.config, self.survey.view);
        match decide(config, view, self.claim) {
            Decision::Bound(volume) => self.bound(&volume),
            Decision::Binds(volume) => self.binds(&volume),
            Decision::DefaultClass(after) => {
                let later = Examination {
                    survey: self.survey,
                    claim: &after,
                    // The pods see the claim without the class, and wait for that.
                    looks_into_pods: false,
                };
                let mut findings = later.decided();
                let given = self.default_class(after.class_name());
                let waits = findings.first().map(Finding::code);
                match waits {
                    // A pod that asks waits for the class first.
                    Some(Code::ClaimWaitsForConsumer | Code::ClaimWaitsForPods)
                        if !self.looks_into_pods =>
                    {
                        findings.insert(0, given);
                    }
                    _ => findings.push(given),
                }
                findings.extend(self.default_class_ambiguous());
                findings
            }
            Decision::WaitsForConsumer => self.waits_for_consumer(),
            Decision::WaitsForPods => self.waits_for_pods(),
            Decision::NoMatch => self.no_match(),
            Decision::Taken { was_chosen } => self.taken(was_chosen),
            Decision::Mismatch(message) => self.mismatch(message),
            Decision::WishMissing => self.wish_missing(),
            Decision::Provision(operation) => self.provision(operation),
            Decision::ProvisioningFails(message) => self.provisioning_fails(message),
            Decision::ProvisioningOff => self.provisioning_off(),
            Decision::Lost => self.lost(),
            Decision::Error(error) => vec![self.error(error)],
        }
    }

    /// What is worth knowing whatever was decided.
    fn notes(&self) -> Vec<Finding> {
        let mut notes = Vec::new();
        if !self.claim.is_bind_completed() {
            notes.extend(self.unit_missing());
        }
        notes.extend(self.class_annotation());
        notes.extend(self.binding_imported());
        notes
    }

    fn error(&self, error: SyncError) -> Finding {
        match error {
            SyncError::NoBindingMode { class } => self.no_binding_mode(class),
            SyncError::Find {
                error: FindError::Selector { error, .. },
                ..
            } => ClaimFacts::SelectorInvalid {
                mistake: error.to_string(),
            }
            .into(),
            SyncError::Find {
                error: FindError::AttributesClassDisabled { name, .. },
                ..
            } => ClaimFacts::AttributesClassDisabled { name }.into(),
            SyncError::ClaimStatus(_) => self.volume_without_capacity(),
            error => ClaimFacts::ProvisioningFails {
                message: error.to_string(),
            }
            .into(),
        }
    }

    /// No API server admits such a claim: what is decided about it means little.
    fn access_mode_unknown(&self) -> Option<Finding> {
        let modes = self.claim.access_modes();
        let (mode, meant) = modes.iter().find_map(meant_mode)?;
        let facts = ClaimFacts::AccessModeUnknown {
            mode: mode.to_owned(),
            meant: meant.clone(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            format!("write `{meant}`"),
            "the API server refuses the claim until then",
        )))
    }

    fn unit_missing(&self) -> Option<Finding> {
        let asked = self.claim.storage_request()?;
        is_tiny(asked).then(|| {
            let asked = asked.clone();
            ClaimFacts::UnitMissing { asked }.into()
        })
    }

    fn not_known(&self, what: &str, name: &str) -> Finding {
        ClaimFacts::NotKnown {
            what: what.to_owned(),
            name: name.to_owned(),
        }
        .into()
    }
}
