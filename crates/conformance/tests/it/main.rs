//! Recorded decisions, laws, and the mistakes that they must catch.

mod calls;
mod elevators;
mod eras;
mod laws;
mod live;
mod planted;
mod reach;
mod replay;
mod starvation;
