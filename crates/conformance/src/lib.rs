//! What makes an elevator right: the recorded decisions of real kernels replay through it, and the laws hold.
//!
//! Public, so that anyone's own elevator can be held to the same.

#![forbid(unsafe_code)]

pub mod calls;
pub mod driver;
pub mod laws;
pub mod live;
pub mod replay;
