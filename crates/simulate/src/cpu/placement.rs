//! The placement of processes: a process runs on the processor with the fewest processes among those that it may use
//! (ties are broken at random), and stays there. (A kernel's balancing spreads busy processes in a similar way.)

use blksched_workloads::CpuSet;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The processor of each process. A process whose mask names none that exist may use all.
pub(crate) fn place(cpus: usize, allowed: &[CpuSet], seed: u64) -> Vec<u32> {
    // Other random numbers than the workloads' of the same seed.
    let mut random = Pcg64Mcg::seed_from_u64(seed ^ 0x6370_7573);
    let mut load = vec![0_u32; cpus];
    let mut choose = |set: &CpuSet| {
        let known = (0..cpus).any(|cpu| set.has(cpu));
        let may = |cpu: &usize| !known || set.has(*cpu);
        let least = (0..cpus).filter(may).map(|cpu| load[cpu]).min().expect("there is one");
        let equals: Vec<usize> = (0..cpus).filter(may).filter(|&cpu| load[cpu] == least).collect();
        let cpu = equals[random.random_range(0..equals.len())];
        load[cpu] += 1;
        cpu as u32
    };
    allowed.iter().map(&mut choose).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_spread_evenly_by_the_seed_and_stay_where_they_may() {
        let all = [CpuSet::ALL; 8];
        let count = |places: &[u32], cpu: u32| places.iter().filter(|&&place| place == cpu).count();
        let places = place(4, &all, 1);
        assert!((0..4).all(|cpu| count(&places, cpu) == 2), "{places:?}");
        assert_eq!(places, place(4, &all, 1));
        assert!((2..9).any(|seed| place(4, &all, seed) != places));
        assert_eq!(place(4, &[CpuSet(0b100), CpuSet(0b100)], 3), [2, 2]);
        assert_eq!(place(2, &[CpuSet(0b100)], 3).len(), 1, "a processor that the host does not have");
    }
}
