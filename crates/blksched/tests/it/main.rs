//! The library's integration tests, in one program: the queue's contract, the knobs, mechanisms and reasons of each
//! elevator, and embedders' mistakes.

mod adios_model;
mod anticipation;
mod bfq_groups;
mod bfq_knobs;
mod bfq_reasons;
mod bfq_shares;
mod burst_of_one;
mod cfq_groups;
mod cfq_knobs;
mod cfq_mechanisms;
mod cfq_reasons;
mod common;
mod contract;
mod dice;
mod differential;
mod found_by_the_laws;
mod iocost_model;
mod knobs;
mod kyber;
mod mechanisms;
mod mq_deadline;
mod out_of_turn;
mod queue_flush;
mod queue_groups;
mod queue_kit;
mod queue_linus;
mod queue_merge;
mod queue_plug;
mod queue_requeue;
mod queue_slots;
mod queue_switch;
mod sleeping_behind_a_plug;
mod taken_on;
mod wbt_model;
