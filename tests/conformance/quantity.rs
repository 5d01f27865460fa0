//! Quantities: parse, cmp, add, sub.

use std::cmp::Ordering;

use pvbind::quantity::Quantity;
use serde_json::Value;

use crate::exact::{Exact, fits_i64};
use crate::{CaseOutcome, same, text};

pub(crate) fn run(case: &Value) -> Result<CaseOutcome, String> {
    let a = text(case, "a")?;
    match text(case, "op")? {
        "parse" => parse(case, a),
        "cmp" => {
            let ours = match quantity(a)?.cmp(&quantity(text(case, "b")?)?) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            };
            let want = case["want"].as_i64().ok_or("`want` is no number")?;
            same(&describe(case), &ours, &want)?;
            Ok(CaseOutcome::default())
        }
        op @ ("add" | "sub") => {
            let b = text(case, "b")?;
            let (left, right) = (quantity(a)?, quantity(b)?);
            let (ours, sign) = match op {
                "add" => (left.checked_add(&right), 1),
                _ => (left.checked_sub(&right), -1),
            };
            let ours = ours.map_err(|error| format!("{}: {error}", describe(case)))?;
            let exact = Exact::parse(a).add(&Exact::parse(b), sign);
            compare(case, &ours, &exact)
        }
        op => Err(format!("unknown `op` `{op}`")),
    }
}

fn parse(case: &Value, a: &str) -> Result<CaseOutcome, String> {
    match (Quantity::parse(a), case.get("error"), case.get("want")) {
        (Ok(ours), None, Some(_)) => compare(case, &ours, &Exact::parse(a)),
        (Err(_), Some(_), None) => Ok(CaseOutcome::default()),
        (Ok(ours), Some(error), None) => Err(format!("`{a}`: ours {ours}, want error {error}")),
        (Err(error), None, Some(want)) => Err(format!("ours an error: {error}, want {want}")),
        _ => Err("the case has not exactly one of `want` and `error`".to_owned()),
    }
}

fn compare(case: &Value, ours: &Quantity, exact: &Exact) -> Result<CaseOutcome, String> {
    let mut outcome = CaseOutcome::default();
    let want = &case["want"];
    let what = |field: &str| format!("{} {field}", describe(case));

    let printed = ours.canonical();
    if want
        .get("canonicalLossy")
        .is_some_and(|lossy| *lossy == true)
    {
        outcome.leave_out("canonical, where upstream's own text does not parse back");
    } else {
        same(
            &what("canonical"),
            &printed.as_str(),
            &text(want, "canonical")?,
        )?;
    }
    same(
        &what("printed and parsed again"),
        &quantity(&printed)?,
        ours,
    )?;
    same(
        &what("exact amount"),
        &Exact::parse(&printed).nanos,
        &exact.nanos,
    )?;

    same(
        &what("format"),
        &ours.format().as_str(),
        &text(want, "format")?,
    )?;
    for (field, number, exponent) in [
        ("value", ours.value(), 0),
        ("milliValue", ours.milli_value(), -3),
    ] {
        let result = exact.rounded(exponent);
        let saturated = (&result).clamp(&i64::MIN.into(), &i64::MAX.into()) == &number.into();
        same(&what("saturated value or milliValue"), &saturated, &true)?;
        if !fits_i64(&result) {
            outcome.leave_out("value or milliValue, where it is outside 64 bits");
        } else if exact.is_negative() && exact.integer.is_none() {
            outcome.leave_out("value or milliValue of a negative amount in big form");
        } else {
            same(
                &what(field),
                &number.to_string().as_str(),
                &text(want, field)?,
            )?;
        }
    }
    same(&what("exact asInt64"), &ours.as_i64(), &exact.as_i64())?;
    let number = ours.as_i64().map(|number| number.to_string().into());
    same(
        &what("asInt64"),
        &number.unwrap_or(Value::Null),
        &want["asInt64"],
    )?;
    same(
        &what("sign"),
        &Value::from(ours.sign() as i8),
        &want["sign"],
    )?;
    same(
        &what("isZero"),
        &Value::from(ours.is_zero()),
        &want["isZero"],
    )?;
    Ok(outcome)
}

fn quantity(text: &str) -> Result<Quantity, String> {
    Quantity::parse(text).map_err(|error| error.to_string())
}

fn describe(case: &Value) -> String {
    match case.get("b") {
        Some(b) => format!("{} {} {b}", case["a"], case["op"]),
        None => format!("{} {}", case["op"], case["a"]),
    }
}
