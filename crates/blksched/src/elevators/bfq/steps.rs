//! The steps of a request's life, in order: prepare, arrival, dispatch, completion, timer; and what they have in
//! common.

mod arrival;
mod budget;
mod burst;
mod busy;
mod completion;
mod cooperator;
mod device;
mod expire;
mod habits;
mod idle_busy_switch;
mod idling;
mod injection;
mod limit;
mod merge;
mod moving;
mod next_request;
mod prepare;
mod raising;
mod release;
mod select;
mod service;
mod split;
mod symmetry;
mod waker;
