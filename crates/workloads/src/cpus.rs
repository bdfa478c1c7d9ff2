//! Which processors a process may run on.

/// Processors, by their numbers from 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSet(pub u64);

impl CpuSet {
    /// All possible processors.
    pub const ALL: CpuSet = CpuSet(u64::MAX);

    /// Whether this one is among them.
    pub fn has(self, cpu: usize) -> bool {
        cpu < 64 && self.0 >> cpu & 1 == 1
    }

    /// Those of them that a control group leaves it; all of the group's if it has none of them, as in Linux.
    pub(crate) fn within(self, group: CpuSet) -> CpuSet {
        match self.0 & group.0 {
            0 => group,
            both => CpuSet(both),
        }
    }

    /// Parses `0-3,6`.
    pub(crate) fn parse(text: &str) -> Option<CpuSet> {
        let mut set = 0;
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().ok().filter(|&cpu| cpu < 64);
            let (from, to) = (number(from)?, number(to)?);
            (from..=to).for_each(|cpu| set |= 1_u64 << cpu);
        }
        (set != 0).then_some(CpuSet(set))
    }

    /// The one of the process with this number, where each has its own (`cpus_allowed_policy=split`).
    pub(crate) fn split(self, number: u64) -> CpuSet {
        let nth = (number % u64::from(self.0.count_ones())) as usize;
        let cpu = (0..64).filter(|&cpu| self.has(cpu)).nth(nth).expect("it is fewer than there are");
        CpuSet(1 << cpu)
    }
}
