//! Plans: what a decision wants done, as values.
//!
//! A decision returns a [`Plan`]: [`Step`]s in order, and a verdict that says
//! where things stand after them. A step that writes holds the whole desired
//! object and the object that it was made from, so it can be sent as an update
//! or as a merge patch; it also says what follows if it fails. A plan that is
//! cut off anywhere is finished by deciding again.
//!
//! # Carrying out
//! An [`Execution`] leads through a plan step by step. It does no input or
//! output: it shows the next step, hears how it went, and carries the
//! resourceVersion (and whatever else the API server changed) from one write
//! to the next. [`carry_out`] is the loop around it for a synchronous
//! [`ApiServer`]; the asynchronous form is the same loop with `.await`:
//!
//! ```
//! # use pvbind::api::*;
//! use pvbind::plan::{ApiError, ApiErrorKind, Execution, Plan, Report, Step, Write, Written};
//! # struct Client;
//! # impl Client {
//! #     async fn send(&self, _: &Write) -> Result<Written, ApiError> { Ok(Written::Nothing) }
//! #     async fn record(&self, _: &pvbind::plan::Event) {}
//! # }
//! async fn carry_out(client: &Client, plan: Plan) -> Report {
//!     let mut execution = Execution::new(plan);
//!     while let Some(step) = execution.step() {
//!         let result = match step {
//!             // One request: PATCH with `write.merge_patch()`. Or PUT of `change.to`, if your
//!             // types keep fields that they do not know.
//!             Step::Write { write, .. } => client.send(write).await,
//!             Step::Event(event) => {
//!                 client.record(event).await;
//!                 Ok(Written::Nothing)
//!             }
//!             // These stand in the report.
//!             Step::EnqueueClaim(_) | Step::Start(_) => Ok(Written::Nothing),
//!             // A step of a later version must not count as done.
//!             step => Err(ApiError::new(ApiErrorKind::Other, format!("no way to {step}"))),
//!         };
//!         execution.answer(result);
//!     }
//!     execution.finish()
//! }
//! ```

mod verdict;
pub use verdict::{FollowUp, Plan, SyncError, Verdict};

mod step;
pub use step::{OnFailure, Step, Write, WriteContext, WriteFailure};

mod change;
pub use change::Change;

mod patch;
pub use patch::{apply_merge_patch, merge_patch};

mod event;
pub use event::{Event, EventReason, EventType};

mod operation;
pub use operation::{Operation, Provisioner};

mod json;

mod execution;
pub use execution::Execution;

mod report;
pub use report::{Done, End, Report};

mod api_error;
pub use api_error::{ApiError, ApiErrorKind};

mod server;
pub use server::{ApiServer, Written, carry_out};
