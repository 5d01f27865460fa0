//! Volumes that no node can mount.

use super::Examination;
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

impl<V: DiagnosticView + ?Sized> Examination<'_, '_, V> {
    /// The volume's driver is not installed.
    pub(super) fn driver_unknown(&self) -> Option<Finding> {
        let csi = self.volume.spec.csi.as_ref()?;
        let driver = csi.driver.as_deref().unwrap_or_default();
        let known = &self.survey.known;
        let is_there = driver.is_empty()
            || !known.csi_drivers
            || self.survey.view.csi_driver(driver).is_some();
        if is_there || !self.is_on_no_node(driver) {
            return None;
        }
        let facts = VolumeFacts::DriverUnknown {
            volume: self.volume.name().to_owned(),
            driver: driver.to_owned(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            format!("see whether driver `{driver}` is installed, and whether that is its name"),
            "the driver of a volume cannot be changed: the object is to be made again",
        )))
    }

    /// The volume lies on a node, and does not say on which.
    pub(super) fn local_anywhere(&self) -> Option<Finding> {
        let has_affinity = self.volume.required_node_affinity().is_some();
        if self.volume.source() != Some("local") || has_affinity {
            return None;
        }
        let facts = VolumeFacts::LocalAnywhere {
            volume: self.volume.name().to_owned(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "write a node affinity for the host label of its node",
            "pods that use it go to that node only",
        )))
    }
}
