//! The definition of a correct elevator: the recorded decisions of real kernels replay through it, and the laws hold.
//!
//! The crate is public, so that other authors' elevators can be checked in the same way.

#![forbid(unsafe_code)]

pub mod calls;
pub mod driver;
pub mod laws;
pub mod live;
pub mod replay;
