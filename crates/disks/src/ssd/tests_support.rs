//! Helpers shared by the unit tests of the mechanisms.

use crate::{Model, SsdSpec, load};

/// The ssd of a preset.
pub(crate) fn ssd_spec(preset: &str) -> SsdSpec {
    match load(preset).expect("a preset").model {
        Model::Ssd(spec) => spec,
        other => panic!("{preset} is {other:?}"),
    }
}
