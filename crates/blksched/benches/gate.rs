//! The elevators' cases for `cargo xtask bench --gate`: `--list` lists them, `CASE N` makes N steps of one, anything
//! else does nothing. `--heaps` lists what is measured on the heap: the name of a unit, then two pairs of a case and
//! its number of units.

mod load;

use load::{Keys, Load, elevators};

/// Queue lengths of the random cases.
const QUEUED: [u32; 2] = [128, 4096];

/// The elevators whose heap is measured.
const HEAPS: [&str; 4] = ["noop@2.6.33", "mq-deadline", "cfq@4.20", "bfq"];

/// The numbers of processes in CFQ's other cases.
const PROCESSES: [u32; 2] = [8, 128];

struct Case {
    name: String,
    elevator: String,
    queued: u32,
    keys: Keys,
    processes: u32,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => cases().iter().for_each(|case| println!("{}", case.name)),
        ["--heaps"] => HEAPS.iter().for_each(|elevator| {
            let [few, many] = QUEUED.map(|queued| format!("{elevator}/random/{queued}\t{queued}"));
            println!("a queued request of {elevator}\t{few}\t{many}");
        }),
        [name, times] => {
            let found = cases().into_iter().find(|case| case.name == name);
            if let (Some(case), Ok(times)) = (found.or_else(|| Case::as_long_as(name)), times.parse()) {
                run(&case, times);
            }
        }
        _ => {}
    }
}

fn run(case: &Case, times: u64) {
    let mut load = Load::new(&case.elevator, case.queued, case.keys, case.processes);
    for _ in 0..times {
        load.step();
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for elevator in elevators() {
        for queued in QUEUED {
            cases.push(Case::new(&elevator, queued, Keys::Random));
        }
        cases.push(Case::new(&elevator, QUEUED[0], Keys::Sequential));
        if elevator.starts_with("cfq") {
            cases.extend(PROCESSES.map(|processes| Case::with(&elevator, processes)));
        }
    }
    cases
}

impl Case {
    /// Random requests of several processes, in the longest queue.
    fn with(elevator: &str, processes: u32) -> Case {
        let queued = QUEUED[QUEUED.len() - 1];
        let name = format!("{elevator}/processes/{processes}");
        Case { name, elevator: elevator.to_owned(), queued, keys: Keys::Random, processes }
    }

    /// The case of a queue as long as its name says, which is not listed; `cargo xtask bench --scale` uses long ones.
    fn as_long_as(name: &str) -> Option<Case> {
        let (elevator, queued) = name.rsplit_once("/random/")?;
        let queued = queued.parse().ok()?;
        elevators().iter().any(|known| known == elevator).then(|| Case::new(elevator, queued, Keys::Random))
    }

    fn new(elevator: &str, queued: u32, keys: Keys) -> Case {
        let word = match keys {
            Keys::Random => "random",
            Keys::Sequential => "sequential",
        };
        Case { name: format!("{elevator}/{word}/{queued}"), elevator: elevator.to_owned(), queued, keys, processes: 1 }
    }
}
