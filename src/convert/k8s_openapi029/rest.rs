//! What is left of a foreign struct beside the fields that are known here.

use serde::Serialize;
use serde::ser::{Error as _, Impossible, SerializeStruct, Serializer};
use serde_json::Error;

use crate::api::UnknownFields;

/// Keeps the fields of a foreign struct that are not among `taken`.
///
/// It is written to a serializer that skips the fields taken, so that nothing
/// of them is copied. The types of k8s-openapi can always be written as JSON;
/// the error that cannot be leaves out what is left.
pub(super) fn keep_rest(foreign: &impl Serialize, taken: &[&str], unknown: &mut UnknownFields) {
    unknown.mark_written();
    let _: Result<(), Error> = foreign.serialize(Rest { taken, unknown });
}

struct Rest<'a> {
    taken: &'a [&'a str],
    unknown: &'a mut UnknownFields,
}

impl SerializeStruct for Rest<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if !self.taken.contains(&key) {
            self.unknown.insert(key, serde_json::to_value(value)?);
        }
        Ok(())
    }

    fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

fn no_struct<T>() -> Result<T, Error> {
    Err(Error::custom("not a struct"))
}

macro_rules! no_struct {
    ($( $method:ident $(<$T:ident>)? ( $($argument:ty),* ) $(-> $Made:ty)?; )*) => {$(
        fn $method $(<$T: Serialize + ?Sized>)? (
            self, $(_: $argument),*
        ) -> Result<no_struct!(@made $($Made)?), Error> {
            no_struct()
        }
    )*};
    (@made) => { () };
    (@made $Made:ty) => { $Made };
}

/// Of all that can be written, only a struct has fields to keep.
impl<'a> Serializer for Rest<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Rest<'a>;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Rest<'a>, Error> {
        Ok(self)
    }

    no_struct! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_some<T>(&T);
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
        serialize_newtype_struct<T>(&'static str, &T);
        serialize_newtype_variant<T>(&'static str, u32, &'static str, &T);
        serialize_seq(Option<usize>) -> Impossible<(), Error>;
        serialize_tuple(usize) -> Impossible<(), Error>;
        serialize_tuple_struct(&'static str, usize) -> Impossible<(), Error>;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
        serialize_map(Option<usize>) -> Impossible<(), Error>;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Impossible<(), Error>;
    }
}
