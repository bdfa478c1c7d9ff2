//! What schedulers learn about those they serve: means that forget.

mod decaying;
mod seek_distance;
mod think_time;

pub use decaying::Decaying;
pub use seek_distance::{SEEKY, SeekDistance};
pub use think_time::ThinkTime;
