//! All that is told.

use std::sync::Arc;

use pvbind::api::Pod;

use crate::place::{Place, Verdict};
use crate::what_if::Addition;

/// All that was found out.
pub struct Report {
    pub pods: Vec<(Arc<Pod>, Verdict)>,
    pub what_if: Option<WhatIf>,
}

/// What becomes of the pods, one after another, without and with more nodes.
pub struct WhatIf {
    pub addition: Addition,
    pub before: Vec<Place>,
    pub after: Vec<Place>,
}
