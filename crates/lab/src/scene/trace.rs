//! A recorded trace by its name, and the settings after a colon.

/// What blktrace puts between a trace's name and the number of a CPU.
pub const PER_CPU: &str = ".blktrace.";

/// `x` for `x.blktrace.0`.
pub fn stem(name: &str) -> Option<&str> {
    let (stem, cpu) = name.rsplit_once(PER_CPU)?;
    cpu.parse::<u32>().ok().map(|_| stem)
}

/// A trace as named on the command line. The per-CPU files of one blktrace run belong together, whichever of them was
/// named, because a process moves between CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Its file, or the part of the name before the CPU's number.
    pub(super) name: String,
    pub(super) said: String,
}

impl Trace {
    /// A trace's file (or one of its files per CPU), and the settings after the colon.
    pub fn of(name: &str, said: &str) -> Trace {
        Trace { name: stem(name).unwrap_or(name).to_owned(), said: said.to_owned() }
    }

    /// Its name in tables and messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}
