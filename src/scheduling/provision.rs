//! Whether a volume can be provisioned for a claim on a node.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::pools::Pools;
use super::{DynamicProvision, FindVolumesError, UnfitReason};
use crate::api::{ClaimKey, PersistentVolumeClaim, StorageClass, names};
use crate::matching::VolumeLayers;
use crate::selector::CompiledTopology;
use crate::view::{Held, SchedulingView};

/// The class of a claim, prepared for many nodes when it is first asked for.
pub(super) struct ProvisionClass<'a> {
    pub(super) name: String,
    prepared: OnceLock<Option<Prepared<'a>>>,
    candidates: OnceLock<usize>,
}

pub(super) struct Prepared<'a> {
    pub(super) class: Held<'a, StorageClass>,
    pub(super) topology: CompiledTopology,
    /// The pools, if the driver asks that they be looked at.
    pub(super) pools: Option<Pools>,
}

impl<'a> ProvisionClass<'a> {
    pub(super) fn new(name: &str) -> Self {
        ProvisionClass {
            name: name.to_owned(),
            prepared: OnceLock::new(),
            candidates: OnceLock::new(),
        }
    }

    /// How many volumes the class has.
    pub(super) fn candidates(&self, volumes: &VolumeLayers<'_>) -> usize {
        let count = || volumes.of_class(&self.name).len();
        *self.candidates.get_or_init(count)
    }

    /// The class with what is checked on each node; `None` if it does not
    /// exist.
    pub(super) fn prepared<V>(&self, view: &'a V) -> Option<&Prepared<'a>>
    where
        V: SchedulingView + ?Sized,
    {
        let prepare = || {
            let class = view.class(&self.name)?;
            let terms = class.allowed_topologies();
            let driver = view.csi_driver(class.provisioner());
            let looks_at_pools =
                driver.is_some_and(|driver| driver.spec.storage_capacity == Some(true));
            let pools = looks_at_pools.then(|| {
                let capacities = view.capacities_of_class(&self.name);
                Pools::new(capacities.into_iter().map(Held::into_arc))
            });
            Some(Prepared {
                topology: CompiledTopology::compile(terms),
                pools,
                class,
            })
        };
        self.prepared.get_or_init(prepare).as_ref()
    }

    /// How a claim of this class is provisioned on a node with these labels.
    pub(super) fn provision<V>(
        &self,
        claim: &Arc<PersistentVolumeClaim>,
        labels: &BTreeMap<String, String>,
        view: &'a V,
    ) -> Result<Result<DynamicProvision, UnfitReason>, FindVolumesError>
    where
        V: SchedulingView + ?Sized,
    {
        if self.name.is_empty() {
            return Err(FindVolumesError::NoClass {
                claim: ClaimKey::of(claim),
            });
        }
        let Some(prepared) = self.prepared(view) else {
            return Err(FindVolumesError::ClassMissing {
                class: self.name.clone(),
            });
        };
        if !has_provisioner(&prepared.class) || !prepared.topology.matches(labels) {
            return Ok(Err(UnfitReason::NoVolume));
        }
        let capacity = match (&prepared.pools, claim.storage_request()) {
            (Some(pools), Some(request)) => match pools.first(labels, request.value()) {
                Some(capacity) => Some(Arc::clone(capacity)),
                None => return Ok(Err(UnfitReason::NotEnoughSpace)),
            },
            _ => None,
        };
        Ok(Ok(DynamicProvision {
            claim: Arc::clone(claim),
            capacity,
        }))
    }
}

/// Whether volumes of the class can be made on demand.
pub(super) fn has_provisioner(class: &StorageClass) -> bool {
    !matches!(class.provisioner(), "" | names::NO_PROVISIONER)
}
