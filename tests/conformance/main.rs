//! What a real Kubernetes did, case by case.
//!
//! The cases are in the folder named by the environment variable
//! `PVBIND_VECTORS`, by default `tests/vectors`; its README says what they
//! hold. To see the counts:
//!
//! ```text
//! cargo test --release --test conformance -- --nocapture
//! ```
//!
//! Nothing is skipped in silence. A folder or file that is missing, a line
//! that cannot be read, a file without cases or without a line in the table
//! below, and an operation that nobody knows are failures. Where this crate
//! differs on purpose, that one field of that case is left out; such fields are
//! counted by kind and printed.
//!
//! To add a part: a module here with `pub fn run(case: &Value) ->
//! Result<CaseOutcome, String>`, and its name in [`PARTS`].
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::thread;

use flate2::read::GzDecoder;
use pvbind::matching::Features;
use serde_json::Value;

#[path = "../support/exact.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod exact;
mod matching;
#[path = "../support/normal.rs"]
mod normal;
mod provisioner;
mod quantity;
mod scheduling;
mod selector;
#[path = "../support/server.rs"]
mod server;
mod sync;
mod topology;

/// Runs one case: how it went, or how it disagrees.
type Run = fn(&Value) -> Result<CaseOutcome, String>;

/// What runs each vector file; `None` until that part of the crate exists.
const PARTS: &[(&str, Option<Run>)] = &[
    ("quantity", Some(quantity::run)),
    ("label_selector", Some(selector::label)),
    ("node_selector", Some(selector::node)),
    ("topology_terms", Some(selector::topology)),
    ("find_matching_volume", Some(matching::find)),
    ("find_best_match_for_claim", Some(matching::best_match)),
    ("volume_satisfies_claim", Some(matching::satisfies)),
    ("sync_claim", Some(sync::run_claim)),
    ("sync_volume", Some(sync::run_volume)),
    ("pod_volumes", Some(scheduling::run)),
    ("csi_provisioner", Some(provisioner::run)),
    ("csi_topology", Some(topology::run)),
];

/// Cases that are known to disagree: file, id, reason. They are counted and
/// printed, and do not fail the test.
const KNOWN_DISAGREEMENTS: &[(&str, &str, &str)] = &[];

/// How many disagreements of a file are shown.
const SHOWN: usize = 5;

/// How a case went that agrees.
#[derive(Debug, Default)]
pub(crate) struct CaseOutcome {
    left_out: Vec<&'static str>,
}

impl CaseOutcome {
    /// Notes that one field was not compared, for a deliberate difference.
    pub(crate) fn leave_out(&mut self, kind: &'static str) {
        self.left_out.push(kind);
    }
}

#[test]
fn every_vector_agrees_with_what_kubernetes_did() {
    let folder = folder();
    println!("\nvectors in {}", folder.display());
    let mut failures = Vec::new();
    if let Err(failure) = every_file_has_a_part(&folder) {
        failures.push(failure);
    }
    thread::scope(|scope| {
        let reports: Vec<_> = PARTS
            .iter()
            .map(|&(name, run)| {
                let path = folder.join(format!("{name}.ndjson.gz"));
                let report = run.map(|run| scope.spawn(move || run_file(name, &path, run)));
                (name, report)
            })
            .collect();
        for (name, report) in reports {
            let Some(report) = report else {
                println!("{name:<26} not yet run");
                continue;
            };
            match report.join().unwrap() {
                Ok(report) => {
                    print!("{}", report.table(name));
                    if !report.disagreements.is_empty() {
                        failures.push(format!("{name} disagrees"));
                    }
                }
                Err(failure) => {
                    println!("{name:<26} FAILED: {failure}");
                    failures.push(failure);
                }
            }
        }
    });
    assert!(failures.is_empty(), "{}", failures.join("; "));
}

fn folder() -> PathBuf {
    match std::env::var_os("PVBIND_VECTORS") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"),
    }
}

fn every_file_has_a_part(folder: &Path) -> Result<(), String> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read the folder {}: {error}", folder.display()))?;
    for entry in entries {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_string_lossy();
        let part = name.strip_suffix(".ndjson.gz");
        if part.is_some_and(|part| PARTS.iter().all(|known| known.0 != part)) {
            return Err(format!("no part runs {name}"));
        }
    }
    Ok(())
}

#[derive(Default)]
struct Report {
    cases: usize,
    disagreements: Vec<String>,
    known: Vec<String>,
    left_out: BTreeMap<&'static str, usize>,
}

fn run_file(name: &str, path: &Path, run: Run) -> Result<Report, String> {
    let at = |line: usize, error: &dyn std::fmt::Display| {
        format!("{}, line {}: {error}", path.display(), line + 1)
    };
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let mut report = Report::default();
    let mut seen = BTreeSet::new();
    for (number, line) in lines.enumerate() {
        let line = line.map_err(|error| at(number, &error))?;
        let case: Value = serde_json::from_str(&line).map_err(|error| at(number, &error))?;
        let id = text(&case, "id").map_err(|error| at(number, &error))?;
        if !seen.insert(id.to_owned()) {
            return Err(at(number, &format!("the id `{id}` stands twice")));
        }
        report.cases += 1;
        let known = KNOWN_DISAGREEMENTS
            .iter()
            .find(|known| known.0 == name && known.1 == id);
        match (run(&case), known) {
            (Ok(outcome), _) => {
                for kind in outcome.left_out {
                    *report.left_out.entry(kind).or_default() += 1;
                }
            }
            (Err(difference), Some((_, _, reason))) => {
                report.known.push(format!("{id} ({reason}): {difference}"));
            }
            (Err(difference), None) => {
                report.disagreements.push(format!("{id}: {difference}"));
            }
        }
    }
    if report.cases == 0 {
        return Err(format!("{}: no cases", path.display()));
    }
    Ok(report)
}

impl Report {
    fn table(&self, name: &str) -> String {
        let mut table = format!(
            "{name:<26} {:>6} cases, {} disagree, {} known to disagree, {} fields left out\n",
            self.cases,
            self.disagreements.len(),
            self.known.len(),
            self.left_out.values().sum::<usize>(),
        );
        for (kind, count) in &self.left_out {
            table += &format!("    left out {count:>6}: {kind}\n");
        }
        for known in &self.known {
            table += &format!("    known: {known}\n");
        }
        for difference in self.disagreements.iter().take(SHOWN) {
            table += &format!("    DISAGREES {difference}\n");
        }
        let more = self.disagreements.len().saturating_sub(SHOWN);
        if more > 0 {
            table += &format!("    and {more} more\n");
        }
        table
    }
}

/// The text in a field of a case, which must be there.
pub(crate) fn text<'a>(case: &'a Value, field: &str) -> Result<&'a str, String> {
    case.get(field)
        .and_then(Value::as_str)
        .ok_or_else(|| format!("the case has no text `{field}`"))
}

/// Fails with both sides if they differ.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    ours: &T,
    want: &T,
) -> Result<(), String> {
    if ours == want {
        return Ok(());
    }
    Err(format!("{what}: ours {ours:?}, want {want:?}"))
}

/// The feature gates of a case, which tells whether VolumeAttributesClass is on.
fn with_vac(is_on: bool) -> Features {
    Features::default().with_volume_attributes_class(is_on)
}
