//! Volumes that no node can mount.

use super::Examination;
use crate::diagnosis::{Finding, Remedy, VolumeFacts};
use crate::view::DiagnosticView;

/// Sources whose in-tree plugins were removed, without a migration that is left,
/// and the version without them.
const GONE: [(&str, &str); 6] = [
    ("flocker", "1.25"),
    ("quobyte", "1.25"),
    ("storageos", "1.25"),
    ("glusterfs", "1.26"),
    ("cephfs", "1.31"),
    ("rbd", "1.31"),
];

/// So many volumes are told by name.
const TOLD: usize = 10;

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

    /// The volume is of an in-tree plugin that is no more.
    pub(super) fn source_gone(&self) -> Option<Finding> {
        let is_of = |source: &str| {
            let field = self.volume.spec.unknown.get(source);
            field.is_some_and(|field| !field.is_null())
        };
        let (source, since) = GONE.into_iter().find(|(source, _)| is_of(source))?;
        let facts = VolumeFacts::SourceGone {
            source: source.to_owned(),
            since: since.to_owned(),
        };
        Some(Finding::from(facts).with(Remedy::new(
            "delete the volume's object with policy Retain, and create it again for the CSI driver \
             of its backend",
            "the data stays in the backend",
        )))
    }

    /// Another volume is the same one of the backend.
    pub(super) fn handle_shared(&self) -> Option<Finding> {
        let csi = self.volume.spec.csi.as_ref()?;
        let driver = csi.driver.as_deref().unwrap_or_default();
        let handle = csi.volume_handle.as_deref().unwrap_or_default();
        let same = self.survey.of_handle(driver, handle);
        let others = same.iter().filter(|name| *name != self.volume.name());
        let others: Vec<_> = others.take(TOLD).cloned().collect();
        (!others.is_empty() && !handle.is_empty()).then(|| {
            let facts = VolumeFacts::HandleShared {
                driver: driver.to_owned(),
                handle: handle.to_owned(),
                others,
            };
            Finding::from(facts).with(Remedy::new(
                "delete the objects that are too many, with policy Retain",
                "the data stays in the backend, for the one that is left",
            ))
        })
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
