//! No pictures: the program was built without them, and has no option for them.

use clap::Args;

/// None.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Pictures {}

impl Pictures {
    /// Whether any was asked for: there is no way to ask.
    pub(crate) fn any(&self) -> bool {
        false
    }
}
