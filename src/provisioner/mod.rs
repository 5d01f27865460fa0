//! The external (CSI) provisioner as decisions.

pub mod csi;

mod topology;
pub use topology::{
    Segment, TopologyError, TopologyQuery, topology_requirement, topology_requirement_plain,
};
