//! Why a sync ends with an error.

/// Why a sync of a claim or a volume ends with an error, and is tried again.
/// Where upstream has a text, `Display` is that.
///
/// ```
/// use pvbind::provisioner::ProvisionError;
/// let error = ProvisionError::NameTaken { volume: "pvc-1b4e".into(), holder: "shop/logs".into() };
/// assert_eq!(
///     error.to_string(),
///     "the volume `pvc-1b4e` is of the claim `shop/logs`, whose uid begins alike"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProvisionError {
    /// The claim's class is missing.
    #[error("storageClass {class:?} not found")]
    ClassNotFound {
        /// The class.
        class: String,
    },
    /// Another claim's volume has the name that this claim's would have. It
    /// happens only where names are made of a shortened uid. It has no
    /// counterpart upstream, which takes the other's volume for its own.
    #[error("the volume `{volume}` is of the claim `{holder}`, whose uid begins alike")]
    NameTaken {
        /// The volume.
        volume: String,
        /// `NAMESPACE/NAME` of the claim that has it.
        holder: String,
    },
    /// The driver will never do what is asked for.
    #[error("{message}")]
    Infeasible {
        /// What it said.
        message: String,
    },
    /// The driver failed.
    #[error("{message}")]
    Failed {
        /// What it said.
        message: String,
    },
    /// The API server did not take a write.
    #[error("{message}")]
    Write {
        /// What it said.
        message: String,
    },
}

/// What the event of an infeasible claim begins with.
pub(super) const INFEASIBLE: &str =
    "Volume provisioning failed with infeasible error. Retries will be delayed. ";

/// What the event of a claim for a raw device ends with, after the driver's name.
pub(crate) const NO_BLOCK_SUPPORT: &str = " does not support block volume provisioning";

/// What a driver said, as it can stand in an event: on one line, with nothing in
/// it that changes how a terminal shows it, and no longer than the API server
/// takes (1,024 bytes).
pub(super) fn for_event(message: &str) -> String {
    const LONGEST: usize = 1024;
    const MORE: &str = "…";
    let mut text = String::new();
    // How much of it leaves room for `MORE`.
    let mut fitting = 0;
    for char in message.chars() {
        // Those that turn the direction of writing, or are not seen.
        let deceives = matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match char.is_control() || deceives {
            true => text.extend(char.escape_default()),
            false => text.push(char),
        }
        if text.len() > LONGEST {
            text.truncate(fitting);
            text.push_str(MORE);
            break;
        }
        if text.len().saturating_add(MORE.len()) <= LONGEST {
            fitting = text.len();
        }
    }
    text
}

impl ProvisionError {
    /// The error that an event with the reason ProvisioningFailed tells of, for
    /// those who have only events: infeasible or failed.
    ///
    /// ```
    /// use pvbind::provisioner::ProvisionError;
    /// let error = ProvisionError::of_event("quota exceeded");
    /// assert_eq!(error, ProvisionError::Failed { message: "quota exceeded".into() });
    /// ```
    pub fn of_event(message: &str) -> Self {
        match message.strip_prefix(INFEASIBLE) {
            Some(message) => ProvisionError::Infeasible {
                message: message.to_owned(),
            },
            None => ProvisionError::Failed {
                message: message.to_owned(),
            },
        }
    }

    /// A stable code for programs.
    ///
    /// ```
    /// use pvbind::provisioner::ProvisionError;
    /// // The text is the driver's, and any; the code is one of few, as labels of metrics must be.
    /// let error = ProvisionError::Failed { message: "volume vol-0a1b: EIO after 31 s".into() };
    /// assert_eq!(error.code(), "failed");
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            ProvisionError::ClassNotFound { .. } => "class-not-found",
            ProvisionError::NameTaken { .. } => "name-taken",
            ProvisionError::Infeasible { .. } => "infeasible",
            ProvisionError::Failed { .. } => "failed",
            ProvisionError::Write { .. } => "write-failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_holds_what_the_api_server_takes_of_what_a_driver_said() {
        assert_eq!(for_event("backend `d` is down"), "backend `d` is down");
        assert_eq!(for_event("a\r\nb\u{1b}[0m"), r"a\r\nb\u{1b}[0m");
        assert_eq!(for_event("\u{202e}x"), r"\u{202e}x");
        let most = "x".repeat(1024);
        assert_eq!(for_event(&most), most);
        for long in ["x".repeat(1025), "é".repeat(5_000_000), "\n".repeat(600)] {
            let text = for_event(&long);
            assert!((1019..=1024).contains(&text.len()), "{}", text.len());
            assert!(text.ends_with('…'));
        }
    }
}
