//! The command line.

use std::str::FromStr;

use clap::Parser;
use pvbind::provisioner::CallState;

use crate::arguments::{EXIT_CODES, Selection};

/// Play the provisioner of a CSI driver: what it would ask the driver for, and what follows its answer
#[derive(Parser)]
#[command(name = "provision", after_help = EXIT_CODES)]
pub struct Options {
    /// JSON as `kubectl get pv,pvc,sc,nodes,csinodes,pods -A -o json` prints it, or YAML manifests;
    /// `-` is standard input
    #[arg(required = true)]
    pub files: Vec<String>,
    /// The driver's name
    #[arg(long, value_name = "NAME")]
    pub driver: String,
    /// The labels of nodes that make up a place for the driver, if the input has no CSINodes of it
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    pub topology_keys: Vec<String>,
    /// Ask for nothing but the selected node's place; needs CSINodes of the driver, or --topology-keys
    #[arg(long)]
    pub strict_topology: bool,
    /// The driver knows the single-node access modes
    #[arg(long)]
    pub single_node_modes: bool,
    /// The driver makes no raw devices
    #[arg(long)]
    pub no_block: bool,
    /// What the names of volumes begin with
    #[arg(long, value_name = "PREFIX", default_value = "pvc")]
    pub volume_name_prefix: String,
    /// Of how many characters of the claim's uid they are made; the whole uid if not given
    #[arg(long, value_name = "LENGTH")]
    pub volume_name_uuid_length: Option<usize>,
    /// The node that the scheduler chose for a claim; may be repeated
    #[arg(long, value_name = "NAMESPACE/CLAIM=NODE")]
    pub select_node: Vec<Selection>,
    /// What the driver answers, for each claim: ok, ignored:TEXT, infeasible:TEXT, fail:TEXT, background:TEXT, no-change:TEXT, reschedule:TEXT or small
    #[arg(long)]
    pub answer: Option<Answer>,
}

/// What the driver answers whenever it is asked for a volume.
#[derive(Clone)]
pub enum Answer {
    Ok,
    /// A volume of one byte.
    Small,
    Ignored(String),
    Infeasible(String),
    Failed(String, CallState),
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, message) = match text.split_once(':') {
            None => (text, None),
            Some((kind, message)) => (kind, Some(message.to_owned())),
        };
        let failed = |state| move |message| Answer::Failed(message, state);
        let answer = match kind {
            "ok" if message.is_none() => Some(Answer::Ok),
            "small" if message.is_none() => Some(Answer::Small),
            "ignored" => message.map(Answer::Ignored),
            "infeasible" => message.map(Answer::Infeasible),
            "fail" => message.map(failed(CallState::Finished)),
            "background" => message.map(failed(CallState::InBackground)),
            "no-change" => message.map(failed(CallState::NoChange)),
            "reschedule" => message.map(failed(CallState::Reschedule)),
            _ => None,
        };
        answer.ok_or_else(|| {
            format!(
                "expected ok, small, or one of ignored, infeasible, fail, background, no-change, \
                 reschedule with `:TEXT` after it, found `{text}`"
            )
        })
    }
}
