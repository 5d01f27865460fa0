//! Claims, by what they are named and by the volume that they name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{ClaimKey, PersistentVolumeClaim};

/// Claims, looked up. All lists are in the order of the claims' keys.
#[derive(Debug, Default)]
pub(super) struct Naming {
    by_name: BTreeMap<String, Vec<ClaimKey>>,
    owners: BTreeMap<String, Vec<ClaimKey>>,
    wishing: BTreeMap<String, Vec<ClaimKey>>,
}

impl Naming {
    pub(super) fn new(claims: &[Arc<PersistentVolumeClaim>]) -> Self {
        let mut naming = Naming::default();
        for claim in claims {
            let (key, volume) = (ClaimKey::of(claim), claim.volume_name());
            let name = claim.metadata.name().to_owned();
            naming.by_name.entry(name).or_default().push(key.clone());
            if volume.is_empty() {
                continue;
            }
            let side = match claim.is_bind_completed() {
                true => &mut naming.owners,
                false => &mut naming.wishing,
            };
            side.entry(volume.to_owned()).or_default().push(key);
        }
        naming
    }

    /// The claims of a name, in all namespaces.
    pub(super) fn named(&self, name: &str) -> &[ClaimKey] {
        self.by_name
            .get(name)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The claims that were bound to a volume.
    pub(super) fn owners(&self, volume: &str) -> &[ClaimKey] {
        self.owners
            .get(volume)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The claims that name a volume, and were not bound yet.
    pub(super) fn wishing(&self, volume: &str) -> &[ClaimKey] {
        self.wishing
            .get(volume)
            .map(Vec::as_slice)
            .unwrap_or_default()
    }
}
