//! How a struct of one side becomes a struct of the other.
//!
//! `part!` and `foreign_object!` list the fields that both sides have by name. All
//! others of the foreign side, in whatever version of Kubernetes it is, are
//! kept among the unknown fields; so no field can be forgotten.

use std::convert::Infallible;

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::Fault;
use crate::api::UnknownFields;
use crate::api::object::Field;

/// What can be made of a foreign value.
pub(super) trait Take<Foreign>: Sized {
    /// `Infallible` if it always succeeds.
    type Error: Into<Fault>;
    fn take(foreign: &Foreign) -> Result<Self, Self::Error>;
}

/// What a foreign value can be made of.
pub(super) trait Give<Foreign> {
    fn give(self) -> Result<Foreign, Fault>;
}

/// An error that may learn in which item of a list it is.
pub(super) trait InItem: Sized + Into<Fault> {
    fn in_item(self, index: usize) -> Self;
}

impl InItem for Infallible {
    fn in_item(self, _index: usize) -> Self {
        self
    }
}

impl InItem for Fault {
    fn in_item(self, index: usize) -> Self {
        Fault::in_item(self, index)
    }
}

impl<Ours: Take<Foreign, Error: InItem>, Foreign> Take<Vec<Foreign>> for Vec<Ours> {
    type Error = Ours::Error;
    fn take(foreign: &Vec<Foreign>) -> Result<Self, Self::Error> {
        let items = foreign.iter().enumerate();
        items
            .map(|(index, item)| Ours::take(item).map_err(|error| error.in_item(index)))
            .collect()
    }
}

impl<Ours: Give<Foreign>, Foreign> Give<Vec<Foreign>> for Vec<Ours> {
    fn give(self) -> Result<Vec<Foreign>, Fault> {
        let items = self.into_iter().enumerate();
        items
            .map(|(index, item)| item.give().map_err(|fault| fault.in_item(index)))
            .collect()
    }
}

/// A field that may be absent on both sides.
pub(super) mod optional {
    use super::{Fault, Give, Take};

    pub(in super::super) fn take<Ours: Take<Foreign>, Foreign>(
        foreign: &Option<Foreign>,
    ) -> Result<Option<Ours>, Ours::Error> {
        foreign.as_ref().map(Ours::take).transpose()
    }

    pub(in super::super) fn give<Ours: Give<Foreign>, Foreign>(
        ours: Option<Ours>,
    ) -> Result<Option<Foreign>, Fault> {
        ours.map(Ours::give).transpose()
    }
}

/// A field that may be absent here, and is empty there.
pub(super) mod required {
    use super::{Fault, Give, Take};

    pub(in super::super) fn take<Ours: Take<Foreign>, Foreign>(
        foreign: &Foreign,
    ) -> Result<Option<Ours>, Ours::Error> {
        Ours::take(foreign).map(Some)
    }

    pub(in super::super) fn give<Ours: Give<Foreign>, Foreign: Default>(
        ours: Option<Ours>,
    ) -> Result<Foreign, Fault> {
        ours.map_or_else(|| Ok(Foreign::default()), Ours::give)
    }
}

/// An object that is there on both sides.
pub(super) mod present {
    use super::{Fault, Give, Take};

    pub(in super::super) fn take<Ours: Take<Foreign>, Foreign>(
        foreign: &Foreign,
    ) -> Result<Ours, Ours::Error> {
        Ours::take(foreign)
    }

    pub(in super::super) fn give<Ours: Give<Foreign>, Foreign>(
        ours: Ours,
    ) -> Result<Foreign, Fault> {
        ours.give()
    }
}

/// An object that is empty here where it is absent there.
pub(super) mod whole {
    use super::{Fault, Field, Give, Take};

    pub(in super::super) fn take<Ours: Take<Foreign> + Default, Foreign>(
        foreign: &Option<Foreign>,
    ) -> Result<Ours, Ours::Error> {
        foreign
            .as_ref()
            .map_or_else(|| Ok(Ours::default()), Ours::take)
    }

    pub(in super::super) fn give<Ours: Give<Foreign> + Field, Foreign>(
        ours: Ours,
    ) -> Result<Option<Foreign>, Fault> {
        match ours.is_absent() {
            true => Ok(None),
            false => ours.give().map(Some),
        }
    }
}

/// What never fails.
pub(super) fn total<T>(result: Result<T, Infallible>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// The foreign value that holds the unknown fields, as far as it has them.
pub(super) fn with_rest<Foreign>(unknown: &UnknownFields) -> Result<Foreign, Fault>
where
    Foreign: Default + DeserializeOwned,
{
    if unknown.is_empty() {
        return Ok(Foreign::default());
    }
    let fields = unknown.iter();
    let fields: Map<_, _> = fields
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect();
    let fields = Value::Object(fields);
    Foreign::deserialize(&fields).map_err(|error| blame::<Foreign>(&fields, error))
}

/// Finds the innermost value that alone makes reading fail.
///
/// Each level of the value is read once more, piece by piece.
fn blame<Foreign: DeserializeOwned>(value: &Value, error: serde_json::Error) -> Fault {
    enum Step<'v> {
        Field(&'v str),
        Item(usize),
    }
    let mut path = Vec::new();
    let (mut guilty, mut error) = (value, error);
    loop {
        let parts: Vec<_> = match guilty {
            Value::Object(fields) => fields
                .iter()
                .map(|(name, part)| (Step::Field(name), part))
                .collect(),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(index, part)| (Step::Item(index), part))
                .collect(),
            _ => Vec::new(),
        };
        let found = parts.into_iter().find_map(|(step, part)| {
            // The value with nothing in it but this part.
            let alone = std::iter::once(&step).chain(path.iter().rev());
            let alone = alone.fold(part.clone(), |inner, step| match step {
                Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
                Step::Item(_) => Value::Array(vec![inner]),
            });
            let error = Foreign::deserialize(&alone).err()?;
            Some((step, part, error))
        });
        let Some((step, part, found)) = found else {
            break;
        };
        path.push(step);
        (guilty, error) = (part, found);
    }
    let fault = Fault::of_value(guilty, &error);
    path.into_iter()
        .rev()
        .fold(fault, |fault, step| match step {
            Step::Field(name) => fault.in_field(name),
            Step::Item(index) => fault.in_item(index),
        })
}

/// Fails if an object says that it is of another kind or version than the
/// foreign type is.
pub(super) fn check_type<Foreign: Resource>(
    api_version: Option<&str>,
    kind: Option<&str>,
) -> Result<(), Fault> {
    let check = |field: &str, has: Option<&str>, must: &str| match has {
        Some(has) if has != must => {
            Err(Fault::new(format!("`{has}`, expected `{must}`")).in_field(field))
        }
        _ => Ok(()),
    };
    check("apiVersion", api_version, Foreign::API_VERSION)?;
    check("kind", kind, Foreign::KIND)
}

/// Lists the fields that two structs have in common. `total` if ours can always
/// be made of the foreign one, `checked` if not; `typed` behind it if ours says
/// its kind.
macro_rules! part {
    ($how:ident $Ours:ty = $Foreign:ty {
        $( $field:ident = $key:literal : $presence:ident, )*
    } $($typed:ident)?) => {
        impl $crate::convert::k8s_openapi029::part::Take<$Foreign> for $Ours {
            type Error = part!(@error $how);
            fn take(foreign: &$Foreign) -> Result<Self, Self::Error> {
                use $crate::convert::k8s_openapi029::{part, rest};
                let mut ours = <$Ours>::default();
                $(
                    let field = part::$presence::take(&foreign.$field);
                    ours.$field = part!(@taken $how field $key);
                )*
                $( part!(@$typed ours $Foreign); )?
                let taken = [$($key,)* $( part!(@$typed "apiVersion"), part!(@$typed "kind"), )?];
                rest::keep_rest(foreign, &taken, &mut ours.unknown);
                Ok(ours)
            }
        }

        impl $crate::convert::k8s_openapi029::part::Give<$Foreign> for $Ours {
            fn give(self) -> Result<$Foreign, $crate::convert::k8s_openapi029::error::Fault> {
                use $crate::convert::k8s_openapi029::part;
                $( part!(@$typed check self $Foreign); )?
                let mut foreign: $Foreign = part::with_rest(&self.unknown)?;
                $(
                    let field = part::$presence::give(self.$field);
                    foreign.$field = field.map_err(|fault| fault.in_field($key))?;
                )*
                Ok(foreign)
            }
        }
    };
    (@error total) => { std::convert::Infallible };
    (@error checked) => { $crate::convert::k8s_openapi029::error::Fault };
    (@taken total $field:ident $key:literal) => { part::total($field) };
    (@taken checked $field:ident $key:literal) => {
        $field.map_err(|error| {
            $crate::convert::k8s_openapi029::error::Fault::from(error).in_field($key)
        })?
    };
    (@typed $key:literal) => { $key };
    (@typed $ours:ident $Foreign:ty) => {
        $ours.api_version = Some(<$Foreign as k8s_openapi::Resource>::API_VERSION.to_owned());
        $ours.kind = Some(<$Foreign as k8s_openapi::Resource>::KIND.to_owned());
    };
    (@typed check $ours:ident $Foreign:ty) => {
        part::check_type::<$Foreign>($ours.api_version.as_deref(), $ours.kind.as_deref())?;
    };
}

/// The conversions of a part of an object that users get.
macro_rules! public_part {
    ($Ours:ty = $Foreign:ty) => {
        public_part!(@from $Ours = $Foreign);

        impl TryFrom<$Ours> for $Foreign {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(ours: $Ours) -> Result<Self, Self::Error> {
                use $crate::convert::k8s_openapi029::part::Give as _;
                ours.give().map_err(|fault| fault.in_part())
            }
        }

        impl TryFrom<&$Ours> for $Foreign {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(ours: &$Ours) -> Result<Self, Self::Error> {
                ours.clone().try_into()
            }
        }
    };
    (@from $Ours:ty = $Foreign:ty) => {
        impl From<$Foreign> for $Ours {
            fn from(foreign: $Foreign) -> Self {
                (&foreign).into()
            }
        }

        impl From<&$Foreign> for $Ours {
            fn from(foreign: &$Foreign) -> Self {
                use $crate::convert::k8s_openapi029::part;
                part::total(part::Take::take(foreign))
            }
        }
    };
}

/// An object: as `part!`, with the conversions that users get.
macro_rules! foreign_object {
    ($how:ident $Ours:ty = $Foreign:ty { $($fields:tt)* }) => {
        part! { $how $Ours = $Foreign { $($fields)* } typed }

        foreign_object!(@take $how $Ours = $Foreign);
        foreign_object!(@give $Ours => $Foreign);
    };
    (@take total $Ours:ty = $Foreign:ty) => {
        public_part!(@from $Ours = $Foreign);
    };
    (@take checked $Ours:ty = $Foreign:ty) => {
        impl TryFrom<$Foreign> for $Ours {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(foreign: $Foreign) -> Result<Self, Self::Error> {
                (&foreign).try_into()
            }
        }

        impl TryFrom<&$Foreign> for $Ours {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(foreign: &$Foreign) -> Result<Self, Self::Error> {
                use $crate::convert::k8s_openapi029::{error::HasNames as _, part};
                let made: Result<$Ours, $crate::convert::k8s_openapi029::error::Fault> =
                    part::Take::take(foreign);
                made.map_err(|fault| {
                    let kind = <$Foreign as k8s_openapi::Resource>::KIND;
                    fault.in_object(kind, foreign.metadata.named().key())
                })
            }
        }
    };
    (@give $Ours:ty => $Foreign:ty) => {
        impl TryFrom<$Ours> for $Foreign {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(ours: $Ours) -> Result<Self, Self::Error> {
                use $crate::convert::k8s_openapi029::{error::HasNames as _, part};
                let named = ours.metadata.named();
                part::Give::give(ours).map_err(|fault| {
                    let kind = <$Foreign as k8s_openapi::Resource>::KIND;
                    fault.in_object(kind, named.key())
                })
            }
        }

        impl TryFrom<&$Ours> for $Foreign {
            type Error = $crate::convert::k8s_openapi029::ConversionError;
            fn try_from(ours: &$Ours) -> Result<Self, Self::Error> {
                ours.clone().try_into()
            }
        }
    };
}
