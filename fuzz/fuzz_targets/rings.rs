//! Any bytes in a guest's memory are rings, tables and requests, or are refused: only that memory is used, for no more
//! requests than the ring has places.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|memory: &[u8]| blksched_serve::hostile::rings_say(memory));
