//! Why a sync ends with an error.

/// Why a sync of a claim or a volume ends with an error, and is tried again.
/// Where upstream has a text, `Display` is that.
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
