//! Schedulers' estimates of process behaviour: decaying means.

mod decaying;
mod seek_distance;
mod seek_history;
mod think_time;

pub use decaying::Decaying;
pub use seek_distance::{SEEKY, SeekDistance};
pub use seek_history::SeekHistory;
pub use think_time::ThinkTime;
