//! find_matching_volume, find_best_match_for_claim, volume_satisfies_claim.
//!
//! Every case is put to the slice search and, where it can be asked, to the
//! index too.

use std::sync::Arc;

use pvbind::api::{Node, PersistentVolume, PersistentVolumeClaim};
use pvbind::binding::bind_volume_to_claim;
use pvbind::matching::{
    Features, FindError, FindOptions, MatchReport, SearchOptions, VolumeIndex,
    find_best_match_for_claim, find_matching_volume, volume_satisfies_claim,
};
use serde::Deserialize;
use serde_json::Value;

use crate::normal::normal;
use crate::{CaseOutcome, with_vac};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FindCase {
    claim: PersistentVolumeClaim,
    volumes: Vec<PersistentVolume>,
    node: Option<Node>,
    excluded: Vec<String>,
    delay_binding: bool,
    vac_enabled: bool,
    #[serde(default)]
    want: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

pub(crate) fn find(case: &Value) -> Result<CaseOutcome, String> {
    let case = FindCase::deserialize(case).map_err(|error| error.to_string())?;
    let excluded: Vec<&str> = case.excluded.iter().map(String::as_str).collect();
    let options = FindOptions {
        node_labels: case.node.as_ref().map(|node| node.metadata.labels()),
        excluded: &excluded,
        delay_binding: case.delay_binding,
        features: with_vac(case.vac_enabled),
    };
    let found = find_matching_volume(&case.claim, &case.volumes, &options);
    match (&found, &case.error) {
        (Ok(found), None) => same(
            "volume",
            &found.map(PersistentVolume::name),
            &case.want.as_deref(),
        )?,
        (Err(error), Some(want)) => same_error(error, want)?,
        (found, want) => return Err(format!("answers {found:?}, upstream's error is {want:?}")),
    }

    let mut by_name: Vec<_> = case.volumes.iter().collect();
    by_name.sort_by_key(|volume| volume.name());
    let slice = find_matching_volume(&case.claim, by_name.iter().copied(), &options);
    if let Some(labels) = options.node_labels {
        let index = index(&case.volumes);
        let found = index.best_match_on_node(&case.claim, labels, &excluded, options.features);
        same("index", &found.map(|found| found.map(Arc::as_ref)), &slice)?;
        let report = MatchReport::new(&case.claim, &case.volumes, &options);
        same("report", &report.chosen(), &slice.unwrap_or_default())?;
    }
    Ok(CaseOutcome::default())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BestMatchCase {
    claim: PersistentVolumeClaim,
    volumes: Vec<PersistentVolume>,
    delay_binding: bool,
    #[serde(default)]
    want_any_of: Option<Vec<String>>,
    #[serde(default)]
    error: Option<String>,
}

impl BestMatchCase {
    fn search(&self) -> SearchOptions {
        SearchOptions {
            delay_binding: self.delay_binding,
            ..SearchOptions::default()
        }
    }
}

pub(crate) fn best_match(case: &Value) -> Result<CaseOutcome, String> {
    let case = BestMatchCase::deserialize(case).map_err(|error| error.to_string())?;
    let found = find_best_match_for_claim(&case.claim, &case.volumes, case.search());
    match (&found, &case.want_any_of, &case.error) {
        (Ok(None), Some(any_of), None) if any_of.is_empty() => {}
        (Ok(Some(found)), Some(any_of), None) if any_of.iter().any(|name| name == found.name()) => {
        }
        (Err(error), _, Some(want)) => same_error(error, want)?,
        (found, any_of, error) => {
            let found = found
                .as_ref()
                .map(|found| found.map(PersistentVolume::name));
            return Err(format!(
                "answers {found:?}, want any of {any_of:?}, error {error:?}"
            ));
        }
    }

    let index = index(&case.volumes);
    let by_index = index.best_match(&case.claim, case.search());
    same(
        "index",
        &by_index.map(|found| found.map(Arc::as_ref)),
        &found,
    )?;
    let options = FindOptions::from(case.search());
    let report = MatchReport::new(&case.claim, &case.volumes, &options);
    same("report", &report.chosen(), &found.unwrap_or_default())?;
    Ok(CaseOutcome::default())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SatisfiesCase {
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    error: Option<String>,
    is_volume_bound_to_claim: bool,
    bind_volume_to_claim: BindCase,
}

#[derive(Deserialize)]
struct BindCase {
    dirty: bool,
    volume: Value,
}

pub(crate) fn satisfies(case: &Value) -> Result<CaseOutcome, String> {
    let case = SatisfiesCase::deserialize(case).map_err(|error| error.to_string())?;
    let answer = volume_satisfies_claim(&case.volume, &case.claim, Features::default());
    same(
        "text",
        &answer.err().map(|mismatch| mismatch.to_string()),
        &case.error,
    )?;
    same(
        "isVolumeBoundToClaim",
        &case.volume.is_bound_to(&case.claim),
        &case.is_volume_bound_to_claim,
    )?;
    let edit = bind_volume_to_claim(&case.volume, &case.claim);
    let want = case.bind_volume_to_claim;
    same("dirty", &edit.is_changed(), &want.dirty)?;
    let bound = serde_json::to_value(edit.applied_to(&case.volume)).unwrap();
    same(
        "bound volume",
        &normal::<PersistentVolume>(&bound),
        &normal::<PersistentVolume>(&want.volume),
    )?;
    Ok(CaseOutcome::default())
}

/// The text of the error, but for what the selector's parser says.
fn same_error(error: &FindError, want: &str) -> Result<(), String> {
    let text = error.to_string();
    let (text, want) = match error {
        FindError::Selector { error, .. } => {
            let own = text.strip_suffix(&error.to_string()).unwrap_or(&text);
            (own.to_owned(), want.get(..own.len()).unwrap_or(want))
        }
        _ => (text, want),
    };
    same("error", &text.as_str(), &want)
}

fn index(volumes: &[PersistentVolume]) -> VolumeIndex {
    volumes.iter().cloned().map(Arc::new).collect()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{what}: {got:?}, want {want:?}"))
    }
}
