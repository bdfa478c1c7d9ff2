//! A run that is explained, as its renderings take it.

use blksched::Span;
use blksched_lab::why::names::Names;
use blksched_simulate::story::Storyteller;
use blksched_workloads::Plan;

use super::arguments::ExplainArguments;

/// A run to explain.
pub(super) struct Explained<'a> {
    pub(super) arguments: &'a ExplainArguments,
    pub(super) workload: String,
    pub(super) scheduler: String,
    /// `None` for a real disk, of which nothing is known.
    pub(super) disk: Option<String>,
    pub(super) elapsed: Span,
    pub(super) names: Names,
    /// `None` if the roles of the processes are unknown.
    pub(super) plan: Option<&'a Plan>,
    pub(super) teller: &'a Storyteller,
    pub(super) notes: Vec<String>,
}
