//! Facts that several findings are made of.

use std::fmt;

use serde::Serialize;

use super::Code;
use super::words::{Cut, Name, Names, Parts};
use crate::api::ClaimKey;
use crate::matching::{Refusal, RefusedCount, VolumeReport};
use crate::quantity::Quantity;

/// Makes an enum of facts, each with the code that it belongs to.
macro_rules! facts {
    (
        $(#[$meta:meta])*
        pub enum $Facts:ident {
            $( $(#[$variant_meta:meta])* $Variant:ident: $Code:ident {
                $( $(#[$field_meta:meta])* $field:ident: $Type:ty, )*
            }, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(untagged, rename_all_fields = "camelCase")]
        #[non_exhaustive]
        pub enum $Facts {
            $( $(#[$variant_meta])* $Variant { $( $(#[$field_meta])* $field: $Type, )* }, )*
        }

        impl $Facts {
            /// The code that the facts belong to.
            pub fn code(&self) -> super::Code {
                match self {
                    $( $Facts::$Variant { .. } => super::Code::$Code, )*
                }
            }
        }
    };
}

/// A rule that refuses a volume. `Display` goes on from the volume's name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Rule {
    /// The rule: see [`Refusal::code`].
    pub code: &'static str,
    /// What it says of the volume.
    pub text: String,
}

impl Rule {
    pub(super) fn of(refusal: &Refusal<'_>) -> Self {
        Rule {
            code: refusal.code(),
            text: refusal.to_string(),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Cut(&self.text).fmt(f)
    }
}

/// A volume that does not fit. `Display` is its name and what refuses it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Miss {
    /// The volume.
    pub volume: String,
    /// Its size.
    pub size: Quantity,
    /// Every rule that refuses it.
    pub rules: Vec<Rule>,
    /// What is missing in size, if it is too small.
    pub shortfall: Option<Quantity>,
    /// Why that is probably a slip of the pen, if it is.
    pub slip: Option<Slip>,
}

/// A slip of the pen in an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Slip {
    /// The one amount is decimal, the other binary: 5G and 5Gi.
    DecimalAgainstBinary,
    /// The volume's size is so small that a unit is probably missing.
    UnitMissing,
}

impl Miss {
    pub(super) fn of(report: &VolumeReport<'_>) -> Self {
        Miss {
            volume: report.volume.name().to_owned(),
            size: report.volume.storage().clone(),
            rules: report.refusals.iter().map(Rule::of).collect(),
            shortfall: report.shortfall().map(|shortfall| shortfall.bytes),
            slip: Slip::of(report),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, which {}", Name(&self.volume), Parts(&self.rules))?;
        match self.slip {
            Some(Slip::DecimalAgainstBinary) => f.write_str(" (a decimal amount for a binary one)"),
            Some(Slip::UnitMissing) => f.write_str(" (a unit is probably missing)"),
            None => Ok(()),
        }
    }
}

impl Slip {
    /// The volume is too small by a slip, and nothing else refuses it.
    pub(super) fn of(report: &VolumeReport<'_>) -> Option<Self> {
        let [Refusal::TooSmall { has, asked }] = report.refusals.as_slice() else {
            return None;
        };
        if is_decimal_of(has, asked) {
            Some(Slip::DecimalAgainstBinary)
        } else {
            is_tiny(has).then_some(Slip::UnitMissing)
        }
    }
}

/// Whether an amount is so small that a unit is probably missing.
pub(super) fn is_tiny(amount: &Quantity) -> bool {
    const MEBI: i64 = 1 << 20;
    let smallest = Quantity::from_i64(MEBI, crate::quantity::Format::BinarySi);
    amount.sign().is_gt() && *amount < smallest
}

/// Whether the smaller amount is the larger one with a decimal unit in place of
/// a binary one: 5G and 5Gi, 1500M and 1500Mi.
fn is_decimal_of(smaller: &Quantity, larger: &Quantity) -> bool {
    // Products of 63 and 60 bits stay inside.
    let (smaller, larger) = (i128::from(smaller.value()), i128::from(larger.value()));
    let units = (1..=6_u32).map(|power| (1000_i128.pow(power), 1024_i128.pow(power)));
    smaller > 0
        && units
            .filter(|(decimal, _)| smaller >= *decimal)
            .any(|(decimal, binary)| {
                smaller.saturating_mul(binary) == larger.saturating_mul(decimal)
            })
}

/// How many objects there are for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counted {
    /// The reason: the code of a rule, or of what refuses a node.
    pub code: &'static str,
    /// How many.
    pub count: usize,
    /// The reason in words.
    pub text: String,
}

impl Counted {
    pub(super) fn of(refused: &RefusedCount<'_>) -> Self {
        Counted {
            code: refused.refusal.code(),
            count: refused.count,
            text: refused.to_string(),
        }
    }
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, Cut(&self.text))
    }
}

/// A pod, and how it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PodStanding {
    /// The pod's name.
    pub pod: String,
    /// The code of its main finding; `None` if it was not looked into.
    pub code: Option<Code>,
    /// Its main finding.
    pub text: String,
}

impl fmt::Display for PodStanding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pod {}", Name(&self.pod))?;
        match self.text.as_str() {
            "" => Ok(()),
            text => write!(f, " {text}"),
        }
    }
}

/// A finalizer of an object that is being deleted, and who must act before it
/// goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Holder {
    /// The finalizer.
    pub finalizer: String,
    /// Who must act, and how.
    pub who: String,
    /// The pods that must go first.
    pub pods: Vec<String>,
    /// Whether nobody will.
    pub nobody: bool,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Name(&self.finalizer), self.who)?;
        match self.pods.is_empty() {
            true => Ok(()),
            false => write!(f, " {}", Names(&self.pods)),
        }
    }
}

/// Pending claims that one rule stops from taking a volume.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClaimStop {
    /// The rule.
    pub rule: Rule,
    /// How many claims it stops.
    pub count: usize,
    /// Those claims, of many the first few.
    pub claims: Vec<ClaimKey>,
}

impl fmt::Display for ClaimStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = self.claims.first().map(ClaimKey::to_string);
        let example = example.unwrap_or_default();
        write!(f, "for {} it {}", Name(&example), self.rule)?;
        match self.count.saturating_sub(1) {
            0 => Ok(()),
            more => write!(f, ", as for {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_number_of_the_next_unit_is_decimal_against_binary() {
        let is = |smaller: &str, larger: &str| {
            is_decimal_of(&smaller.parse().unwrap(), &larger.parse().unwrap())
        };
        assert!(is("5G", "5Gi"));
        assert!(is("1500M", "1500Mi"));
        assert!(is("5000M", "5000Mi"));
        assert!(is("1.5T", "1.5Ti"));
        assert!(!is("5G", "6Gi"));
        assert!(!is("5Gi", "5Gi"));
        assert!(!is("1000", "1024k"));
        assert!(!is("0", "0"));
        assert!(!is("1e40", "2e40"));
    }
}
