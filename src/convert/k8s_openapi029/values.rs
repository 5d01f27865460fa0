//! Texts, numbers, quantities, times, and what stays JSON.

use std::collections::BTreeMap;
use std::convert::Infallible;

use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::jiff;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ConversionError;
use super::error::Fault;
use super::part::{Give, Take, total};
use crate::api::{
    AccessMode, ClaimPhase, LabelSelectorOperator, NodeSelectorOperator,
    PersistentVolumeReclaimPolicy, PodPhase, ResourceList, Timestamp, VolumeBindingMode,
    VolumeMode, VolumePhase,
};
use crate::quantity::{ParseError, Quantity};

/// What is the same on both sides.
macro_rules! same {
    ($($Type:ty),*) => {$(
        impl Take<$Type> for $Type {
            type Error = Infallible;
            fn take(foreign: &$Type) -> Result<Self, Infallible> {
                Ok(foreign.clone())
            }
        }

        impl Give<$Type> for $Type {
            fn give(self) -> Result<$Type, Fault> {
                Ok(self)
            }
        }
    )*};
}
same!(String, bool, BTreeMap<String, String>);

/// Texts there, enumerations here.
macro_rules! texts {
    ($($Type:ty),*) => {$(
        impl Take<String> for $Type {
            type Error = Infallible;
            fn take(foreign: &String) -> Result<Self, Infallible> {
                Ok(foreign.as_str().into())
            }
        }

        impl Give<String> for $Type {
            fn give(self) -> Result<String, Fault> {
                Ok(self.as_str().to_owned())
            }
        }
    )*};
}
texts!(
    AccessMode,
    ClaimPhase,
    LabelSelectorOperator,
    NodeSelectorOperator,
    PersistentVolumeReclaimPolicy,
    PodPhase,
    VolumeBindingMode,
    VolumeMode,
    VolumePhase
);

impl Take<i32> for i64 {
    type Error = Infallible;
    fn take(foreign: &i32) -> Result<Self, Infallible> {
        Ok((*foreign).into())
    }
}

impl Give<i32> for i64 {
    fn give(self) -> Result<i32, Fault> {
        i32::try_from(self).map_err(|_| Fault::new(format!("`{self}` is beyond 32 bits")))
    }
}

/// What this crate keeps as JSON.
macro_rules! json {
    ($($Type:ty),*) => {$(
        impl Take<$Type> for Value {
            type Error = Infallible;
            fn take(foreign: &$Type) -> Result<Self, Infallible> {
                Ok(to_json(foreign))
            }
        }

        impl Give<$Type> for Value {
            fn give(self) -> Result<$Type, Fault> {
                from_json(&self)
            }
        }
    )*};
}
json!(
    k8s_openapi::api::core::v1::PreferredSchedulingTerm,
    k8s_openapi::api::core::v1::TypedLocalObjectReference,
    k8s_openapi::api::core::v1::TypedObjectReference
);

/// The types of k8s-openapi can always be written; `null` stands for the error
/// that cannot be.
fn to_json(foreign: &impl Serialize) -> Value {
    serde_json::to_value(foreign).unwrap_or_default()
}

fn from_json<Foreign: DeserializeOwned>(value: &Value) -> Result<Foreign, Fault> {
    Foreign::deserialize(value).map_err(|error| Fault::of_value(value, &error))
}

/// As from JSON, where blanks around an amount do not count.
fn parse(foreign: &resource::Quantity) -> Result<Quantity, ParseError> {
    Quantity::parse(foreign.0.trim())
}

impl Take<resource::Quantity> for Quantity {
    type Error = Fault;
    fn take(foreign: &resource::Quantity) -> Result<Self, Fault> {
        parse(foreign).map_err(|error| Fault::new(error.to_string()))
    }
}

impl Give<resource::Quantity> for Quantity {
    fn give(self) -> Result<resource::Quantity, Fault> {
        Ok(self.into())
    }
}

impl TryFrom<resource::Quantity> for Quantity {
    type Error = ParseError;
    fn try_from(foreign: resource::Quantity) -> Result<Self, ParseError> {
        parse(&foreign)
    }
}

impl TryFrom<&resource::Quantity> for Quantity {
    type Error = ParseError;
    fn try_from(foreign: &resource::Quantity) -> Result<Self, ParseError> {
        parse(foreign)
    }
}

impl From<Quantity> for resource::Quantity {
    fn from(ours: Quantity) -> Self {
        (&ours).into()
    }
}

impl From<&Quantity> for resource::Quantity {
    fn from(ours: &Quantity) -> Self {
        resource::Quantity(ours.canonical())
    }
}

impl Take<BTreeMap<String, resource::Quantity>> for ResourceList {
    type Error = Fault;
    fn take(foreign: &BTreeMap<String, resource::Quantity>) -> Result<Self, Fault> {
        let mut ours = ResourceList::default();
        for (name, amount) in foreign {
            let amount = Quantity::take(amount).map_err(|fault| fault.in_field(name))?;
            ours.insert(name, amount);
        }
        Ok(ours)
    }
}

impl Give<BTreeMap<String, resource::Quantity>> for ResourceList {
    fn give(self) -> Result<BTreeMap<String, resource::Quantity>, Fault> {
        let amounts = self.iter();
        Ok(amounts
            .map(|(name, amount)| (name.to_owned(), amount.into()))
            .collect())
    }
}

impl Take<meta::Time> for Timestamp {
    type Error = Infallible;
    fn take(foreign: &meta::Time) -> Result<Self, Infallible> {
        Ok(Timestamp::from(foreign.0.to_string().as_str()))
    }
}

impl Give<meta::Time> for Timestamp {
    fn give(self) -> Result<meta::Time, Fault> {
        let time: Result<jiff::Timestamp, _> = self.as_str().parse();
        let time = time.map_err(|_| Fault::new(format!("`{self}` is no RFC 3339 time")))?;
        Ok(meta::Time(time))
    }
}

impl From<meta::Time> for Timestamp {
    fn from(foreign: meta::Time) -> Self {
        total(Timestamp::take(&foreign))
    }
}

impl TryFrom<Timestamp> for meta::Time {
    type Error = ConversionError;
    fn try_from(ours: Timestamp) -> Result<Self, ConversionError> {
        ours.give().map_err(Fault::in_part)
    }
}
