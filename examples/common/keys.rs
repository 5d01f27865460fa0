//! JSON in which a key stands twice says two things, of which readers hear one.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// Refuses JSON in which a key stands twice in one object. Other errors are left
/// to whoever reads the text.
pub fn stand_once(text: &str) -> Result<(), String> {
    for value in serde_json::Deserializer::from_str(text).into_iter::<Unique>() {
        match value {
            Err(error) if error.is_data() => {
                let (line, column) = (error.line(), error.column());
                let text = error.to_string();
                let text = text.split(" at line ").next().unwrap_or_default();
                return Err(format!("line {line}, column {column}: {text}"));
            }
            Err(_) => break,
            Ok(Unique) => {}
        }
    }
    Ok(())
}

/// A value in which every key stands once.
struct Unique;

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Unique)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_str<E>(self, _: &str) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unique, A::Error> {
        while let Some(Unique) = seq.next_element()? {}
        Ok(Unique)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let Unique = map.next_value()?;
            if let Some(key) = keys.replace(key) {
                let text = format!("key `{key}` stands twice in one object");
                return Err(A::Error::custom(text));
            }
        }
        Ok(Unique)
    }
}
