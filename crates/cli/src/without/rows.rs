//! No Parquet: the program was built without it, and has no option for it.

use clap::Args;

/// Nowhere.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RowsOut {}
