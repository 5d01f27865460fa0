//! Secrets that a class names.

use std::fmt;

use super::object_name::is_object_name;
use super::{RequestError, SecretUse};
use crate::api::ObjectMeta;

/// Which secret to read. Its content never comes into this crate's decisions:
/// the embedder reads it and adds it to the request.
///
/// ```
/// use pvbind::provisioner::SecretReference;
/// let secret = SecretReference { namespace: "disks".into(), name: "keys".into() };
/// assert_eq!(secret.to_string(), "disks/keys");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SecretReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// `NAMESPACE/NAME`.
impl fmt::Display for SecretReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What stands for the variables in a secret's name; see
/// [`ClassParameters::secret`](super::ClassParameters::secret) for its use.
///
/// ```
/// use pvbind::api::{ObjectMeta, StorageClass};
/// use pvbind::provisioner::{ClassParameters, SecretNames, SecretUse};
/// let class: StorageClass = serde_json::from_value(serde_json::json!({"parameters": {
///     "csi.storage.k8s.io/secret-name": "${pvc.annotations['example.com/team']}-key",
///     "csi.storage.k8s.io/secret-namespace": "storage"}}))?;
/// let mut claim = ObjectMeta::default();
/// claim.set_annotation("example.com/team", "red");
/// let names = SecretNames { annotations: Some(&claim), ..SecretNames::default() };
/// let parameters = ClassParameters::read(&class)?;
/// let secret = parameters.secret(SecretUse::NodeStage, &names)?;
/// assert_eq!(secret.map(|found| found.to_string()), Some("storage/red-key".into()));
/// // Once the claim is gone, nothing stands for the variable.
/// assert!(parameters.secret(SecretUse::NodeStage, &SecretNames::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SecretNames<'a> {
    /// `${pv.name}`.
    pub volume: &'a str,
    /// `${pvc.namespace}`.
    pub namespace: &'a str,
    /// `${pvc.name}`.
    pub claim: &'a str,
    /// Where `${pvc.annotations['KEY']}` looks; `None` if the claim is gone.
    pub annotations: Option<&'a ObjectMeta>,
}

/// A secret's name and namespace as a class writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretTemplate {
    pub(super) name: String,
    pub(super) namespace: String,
}

impl SecretTemplate {
    pub(super) fn fill(
        &self,
        usage: SecretUse,
        names: &SecretNames<'_>,
    ) -> Result<SecretReference, RequestError> {
        let wrong = |part, template: &str, problem| RequestError::SecretTemplate {
            usage,
            part,
            template: template.to_owned(),
            problem,
        };
        let name = filled(&self.name, 253, |variable| names.in_name(variable))
            .and_then(|name| valid(name, 253, true))
            .map_err(|problem| wrong("name", &self.name, problem))?;
        let namespace = filled(&self.namespace, 63, |variable| names.in_namespace(variable))
            .and_then(|namespace| valid(namespace, 63, false))
            .map_err(|problem| wrong("namespace", &self.namespace, problem))?;
        Ok(SecretReference { namespace, name })
    }
}

impl<'a> SecretNames<'a> {
    fn in_namespace(&self, variable: &str) -> Option<&'a str> {
        match variable {
            "pv.name" => Some(self.volume),
            "pvc.namespace" => Some(self.namespace),
            _ => None,
        }
    }

    fn in_name(&self, variable: &str) -> Option<&'a str> {
        if variable == "pvc.name" {
            return Some(self.claim);
        }
        let key = variable
            .strip_prefix("pvc.annotations['")
            .and_then(|rest| rest.strip_suffix("']"));
        match key {
            Some(key) => self.annotations?.annotation(key),
            None => self.in_namespace(variable),
        }
    }
}

/// A template with its variables filled in, given up when it is longer than any
/// name can be: a long template times a long annotation has no end.
fn filled<'a>(
    template: &str,
    longest: usize,
    value: impl Fn(&str) -> Option<&'a str>,
) -> Result<String, SecretProblem> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("${") {
        let (variable, after) = after.split_once('}').ok_or(SecretProblem::NotClosed)?;
        let value = value(variable).ok_or_else(|| SecretProblem::Variable {
            variable: variable.to_owned(),
        })?;
        text.push_str(before);
        text.push_str(value);
        rest = after;
        if text.len() > longest {
            return Err(SecretProblem::TooLong { longest });
        }
    }
    text.push_str(rest);
    match text.len() > longest {
        true => Err(SecretProblem::TooLong { longest }),
        false => Ok(text),
    }
}

/// The text, if an object can have it as its name.
fn valid(text: String, longest: usize, may_have_dots: bool) -> Result<String, SecretProblem> {
    match is_object_name(&text, longest, may_have_dots) {
        true => Ok(text),
        false => Err(SecretProblem::NotAName { text }),
    }
}

/// What is wrong with a secret's name.
///
/// ```
/// use pvbind::provisioner::SecretProblem;
/// let problem = SecretProblem::Variable { variable: "pvc.labels['x']".into() };
/// assert_eq!(problem.to_string(), "there is no `pvc.labels['x']` here");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretProblem {
    /// A `${` without `}`.
    #[error("a `${{` is not closed")]
    NotClosed,
    /// A variable that there is not, or not here, or that the claim has no
    /// value for.
    #[error("there is no `{variable}` here")]
    Variable {
        /// What stands between the braces.
        variable: String,
    },
    /// What comes out is longer than the name of an object can be.
    #[error("no name of an object has more than {longest} bytes")]
    TooLong {
        /// How many bytes it can have.
        longest: usize,
    },
    /// What comes out cannot be the name of an object.
    #[error("`{text}` cannot be the name of an object")]
    NotAName {
        /// What comes out.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(name: &str, namespace: &str) -> Result<String, String> {
        let mut claim = ObjectMeta::default();
        claim.set_annotation("team/secret", "keys");
        let names = SecretNames {
            volume: "pvc-1",
            namespace: "shop",
            claim: "data",
            annotations: Some(&claim),
        };
        let template = SecretTemplate {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        };
        let filled = template.fill(SecretUse::NodeStage, &names);
        filled
            .map(|secret| secret.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_filled_in() {
        let name = "${pvc.annotations['team/secret']}-${pv.name}.${pvc.name}";
        assert_eq!(
            fill(name, "${pvc.namespace}").unwrap(),
            "shop/keys-pvc-1.data"
        );
        assert_eq!(fill("s", "a-${pv.name}").unwrap(), "a-pvc-1/s");
    }

    #[test]
    fn who_writes_a_claim_does_not_choose_the_namespace() {
        for template in ["${pvc.name}", "${pvc.annotations['team/secret']}"] {
            assert!(fill("s", template).unwrap_err().contains("there is no"));
        }
    }

    #[test]
    fn a_long_name_times_a_long_template_is_given_up_at_once() {
        let long = "a".repeat(1_000_000);
        let names = SecretNames {
            claim: &long,
            ..SecretNames::default()
        };
        let template = SecretTemplate {
            name: "${pvc.name}".repeat(1_000_000),
            namespace: "n".to_owned(),
        };
        let refused = template.fill(SecretUse::NodeStage, &names).unwrap_err();
        let RequestError::SecretTemplate { problem, .. } = refused else {
            panic!("{refused}");
        };
        assert_eq!(problem, SecretProblem::TooLong { longest: 253 });
    }

    #[test]
    fn what_cannot_be_a_name_is_refused() {
        for name in [
            "",
            "A",
            "a_b",
            "-a",
            "a.",
            "a..b",
            "$a",
            "${pv.name",
            "${x}",
        ] {
            assert!(fill(name, "shop").is_err(), "{name}");
        }
        assert!(fill("a.b", "shop").is_ok());
        assert!(fill("a", "shop.b").is_err());
        let long = fill(&"a".repeat(254), "shop").unwrap_err();
        assert!(long.ends_with("no name of an object has more than 253 bytes"));
        assert!(fill(&"a".repeat(253), &"a".repeat(63)).is_ok());
        assert!(fill("a", &"a".repeat(64)).is_err());
        assert_eq!(
            fill("s", "${pvc.name}").unwrap_err(),
            "the class's node-stage secret: namespace `${pvc.name}`: there is no `pvc.name` here"
        );
    }
}
