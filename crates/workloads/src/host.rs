//! The host's memory between processes and the block queue: readahead and the dirty pool, as parts of their own.
//!
//! * [`Readahead`] says what to read when a reader of a file misses a page, or comes upon a marker.
//! * [`DirtyPool`] says when writers sleep and wake, and when dirty memory is to be written.
//! * [`PageRuns`] says which pages are dirty, and [`Flusher`] which of them are written next.
//!
//! All are pure: they know no time, no file and no disk, only page numbers and bytes.

mod dirty_pool;
mod flusher;
mod page;
mod readahead;
mod runs;

pub use dirty_pool::{DirtyLimits, DirtyPool};
pub use flusher::{CHUNK_PAGES, Flusher};
pub use page::{PAGE_BYTES, PAGE_SECTORS, Pages, pages_of};
pub use readahead::{Advice, Fetch, Readahead};
pub use runs::PageRuns;
