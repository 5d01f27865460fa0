use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Unexpected, Visitor};
use serde::{Serialize, Serializer};

use super::Quantity;

/// As a string, the canonical text.
impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From a string or a bare number, by [`Quantity::parse`]; `null` is zero.
/// Blanks around the text of a string are ignored, here only.
///
/// Follows `Quantity.UnmarshalJSON`, Kubernetes 1.36.
///
/// # Differences from upstream
///
/// A bare number with a point or exponent, or one beyond 64 bits, reaches this
/// crate as a 64-bit floating-point number and is read as the shortest text of
/// that: `1.50` as `1.5`, and `1e3` as `1000`, which makes it
/// [`DecimalSi`](super::Format::DecimalSi). What such a number cannot hold, more
/// than 15 digits or `1e400`, is rounded or refused before it comes here. A
/// string is always exact, and so is every number if `serde_json` is built with
/// its feature `arbitrary_precision`. Kubernetes itself writes only strings.
///
/// ```
/// use pvbind::quantity::Quantity;
///
/// let read = |json: &str| serde_json::from_str::<Quantity>(json);
/// assert_eq!(read(r#"" 10Gi ""#)?.to_string(), "10Gi");
/// assert_eq!(read("0.5")?.to_string(), "500m");
/// assert_eq!(read("null")?, Quantity::ZERO);
/// assert!(read(r#""1K""#).unwrap_err().to_string().contains("quantity `1K`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(QuantityVisitor)
        } else {
            deserializer.deserialize_str(QuantityVisitor)
        }
    }
}

struct QuantityVisitor;

impl<'de> Visitor<'de> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity as a string or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity, E> {
        Quantity::parse(text.trim()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i128<E: de::Error>(self, number: i128) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u128<E: de::Error>(self, number: u128) -> Result<Quantity, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity, E> {
        // The debug form is the shortest text that reads back as the number,
        // with an exponent where that is shorter, but marks whole numbers.
        let text = format!("{number:?}");
        self.visit_str(text.strip_suffix(".0").unwrap_or(&text))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }

    fn visit_none<E: de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Quantity, D::Error> {
        Quantity::deserialize(deserializer)
    }

    /// With its feature `arbitrary_precision`, which any crate of a build can
    /// turn on, serde_json hands over a number as a map of its own.
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Quantity, A::Error> {
        match serde_json::Number::deserialize(MapAccessDeserializer::new(map)) {
            Ok(number) => self.visit_str(&number.to_string()),
            Err(_) => Err(de::Error::invalid_type(Unexpected::Map, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Quantity, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn strings_numbers_and_null_are_read() {
        for (json, text) in [
            (r#""10Gi""#, "10Gi"),
            (r#""\t 10Gi\n""#, "10Gi"),
            ("5", "5"),
            ("-5", "-5"),
            ("18446744073709551615", "18446744073709551615"),
            ("0.1", "100m"),
            ("-0.0", "0"),
            ("1.50", "1500m"),
            ("1e3", "1k"),
            ("2E-3", "2m"),
            ("null", "0"),
        ] {
            assert_eq!(read(json).unwrap().canonical(), text, "{json}");
            let value: serde_json::Value = serde_json::from_str(json).unwrap();
            let quantity: Quantity = serde_json::from_value(value).unwrap();
            assert_eq!(quantity.canonical(), text, "{json}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_its_text() {
        assert!(
            read(r#""1 Gi""#)
                .unwrap_err()
                .contains("quantity `1 Gi` has an unexpected ` `")
        );
        for json in [r#""""#, r#"" ""#, "true", "[]", "{}", r#"{"a": 1}"#, "[1]"] {
            assert!(read(json).is_err(), "{json}");
        }
    }

    #[test]
    fn the_canonical_text_is_written() {
        for (text, json) in [
            ("3072Gi", r#""3Ti""#),
            ("+1Gi", r#""+1Gi""#),
            ("5", r#""5""#),
        ] {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!(serde_json::to_string(&quantity).unwrap(), json);
        }
    }
}
