//! What an embedder with several threads, or an asynchronous one, relies on.

use pvbind::controller::{Config, Next, OperationReport};
use pvbind::matching::{MatchReport, VolumeIndex, VolumeLayers};
use pvbind::plan::{Execution, Plan, Report, Verdict};
use pvbind::scheduling::{Assumptions, PodClaims, PodVolumes};
use pvbind::selector::{CompiledLabelSelector, CompiledNodeSelector};
use pvbind::view::{ClusterView, SchedulingView, Snapshot};

fn crosses_threads<T: Send + Sync>() {}

#[test]
fn decisions_and_what_they_are_made_from_cross_threads() {
    crosses_threads::<Snapshot>();
    crosses_threads::<VolumeIndex>();
    crosses_threads::<VolumeLayers<'static>>();
    crosses_threads::<MatchReport<'static>>();
    crosses_threads::<CompiledLabelSelector>();
    crosses_threads::<CompiledNodeSelector>();
    crosses_threads::<Config>();
    crosses_threads::<Plan>();
    crosses_threads::<Execution<Verdict>>();
    crosses_threads::<Report>();
    crosses_threads::<Next>();
    crosses_threads::<OperationReport>();
    crosses_threads::<PodClaims>();
    crosses_threads::<Assumptions>();
    crosses_threads::<PodVolumes>();
}

#[test]
fn a_view_can_be_lent_boxed_shared_and_hidden_behind_its_trait() {
    fn is_view(_: impl SchedulingView) {}
    let snapshot = Snapshot::new();
    is_view(&snapshot);
    let hidden: &dyn ClusterView = &snapshot;
    assert!(hidden.default_class().is_none());
    is_view(Box::new(Snapshot::new()));
    is_view(std::sync::Arc::new(snapshot));
}
