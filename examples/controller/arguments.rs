//! The command line.

use std::str::FromStr;

use clap::Parser;
use pvbind::api::ClaimKey;

pub const EXIT_CODES: &str = "\
Exit codes:
  0  the objects came to rest
  1  they were still changing when the play was ended
  2  the input or an option could not be used";

/// Play the binding controller until nothing changes, and print what it does
#[derive(Parser)]
#[command(name = "controller", after_help = EXIT_CODES)]
pub struct Arguments {
    /// JSON as `kubectl get pv,pvc,sc,nodes,pods -A -o json` prints it, or YAML manifests; `-` is
    /// standard input
    #[arg(required = true)]
    pub files: Vec<String>,
    /// How a provisioner answers, in-tree plugin or CSI driver; may be repeated
    #[arg(long, value_name = "DRIVER=ok|fail:TEXT")]
    pub provision: Vec<Answer>,
    /// The node that the scheduler chose for a claim; may be repeated
    #[arg(long, value_name = "NAMESPACE/CLAIM=NODE")]
    pub select_node: Vec<Selection>,
}

/// How a provisioner answers.
#[derive(Clone)]
pub struct Answer {
    pub provisioner: String,
    pub result: Result<(), String>,
}

impl FromStr for Answer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected DRIVER=ok or DRIVER=fail:TEXT, found `{text}`");
        let (provisioner, answer) = text.split_once('=').ok_or_else(wrong)?;
        let result = match (answer, answer.strip_prefix("fail:")) {
            ("ok", _) => Ok(()),
            (_, Some(message)) => Err(message.to_owned()),
            _ => return Err(wrong()),
        };
        let provisioner = provisioner.to_owned();
        Ok(Answer {
            provisioner,
            result,
        })
    }
}

/// A node for a claim.
#[derive(Clone)]
pub struct Selection {
    pub claim: ClaimKey,
    pub node: String,
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=');
        let parts = parts.and_then(|(key, node)| Some((key.split_once('/')?, node)));
        let ((namespace, name), node) =
            parts.ok_or_else(|| format!("expected NAMESPACE/CLAIM=NODE, found `{text}`"))?;
        Ok(Selection {
            claim: ClaimKey::new(namespace, name),
            node: node.to_owned(),
        })
    }
}
