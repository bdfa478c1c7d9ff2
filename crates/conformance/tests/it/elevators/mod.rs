//! Small elevators for the tests: a plain one with a fault to choose, and one with a timer.
#![allow(dead_code, reason = "each test file uses a part")]

pub mod company;
pub mod faulty;
