//! The files of the library.

use std::fs;
use std::path::{Path, PathBuf};

/// Every source file of the library, by path.
pub(crate) fn of_the_library() -> Vec<PathBuf> {
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
