//! Helpers shared by the unit tests of the mechanisms.

use crate::{HddSpec, Model, load};

/// The hdd of a preset.
pub(crate) fn hdd_spec(preset: &str) -> HddSpec {
    match load(preset).expect("a preset").model {
        Model::Hdd(spec) => spec,
        other => panic!("{preset} is {other:?}"),
    }
}

/// A small generator for test inputs (xorshift64*).
pub(crate) struct TestRandom(pub(crate) u64);

impl TestRandom {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((u128::from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)) * u128::from(limit)) >> 64) as u64
    }
}
