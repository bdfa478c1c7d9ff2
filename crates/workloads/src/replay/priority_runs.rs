//! The priorities of a process's I/Os, as runs of equal ones, because most processes never change theirs.

use blksched::Priority;

/// Priorities by an I/O's index; the default is normal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PriorityRuns {
    /// The index at which each run begins, and its priority; sorted, and neighbours differ. I/Os before the first run
    /// are normal.
    runs: Vec<(u32, Priority)>,
}

impl PriorityRuns {
    /// Sets the priority of the I/O at `place`; the others keep theirs. Nearly always it is one of the last I/Os, so
    /// runs are searched from the end.
    pub fn set(&mut self, place: u32, priority: Priority) {
        let behind = self.runs_before(place);
        let before = self.nth(behind);
        if before == priority {
            return;
        }
        let begins_here = behind.checked_sub(1).is_some_and(|last| self.runs[last].0 == place);
        let ends_here = self.runs.get(behind).is_some_and(|next| next.0 == place + 1);
        if !ends_here {
            self.runs.insert(behind, (place + 1, before));
        }
        let at = behind - usize::from(begins_here);
        if begins_here {
            self.runs[at].1 = priority;
        } else {
            self.runs.insert(at, (place, priority));
        }
        // Equal neighbours are one run: first the one behind, whose place does not move when it goes.
        if self.runs[at + 1].1 == priority {
            self.runs.remove(at + 1);
        }
        if at.checked_sub(1).map_or(Priority::default(), |last| self.runs[last].1) == priority {
            self.runs.remove(at);
        }
    }

    /// The number of runs that begin at `place` or before it.
    fn runs_before(&self, place: u32) -> usize {
        let behind = self.runs.iter().rev().take_while(|run| run.0 > place).count();
        self.runs.len() - behind
    }

    /// The priority of the last of this many runs.
    fn nth(&self, runs: usize) -> Priority {
        runs.checked_sub(1).map_or(Priority::default(), |last| self.runs[last].1)
    }

    /// The priority at `place`. Places are requested in ascending order; `run` is the number of runs that began up to
    /// the previous one.
    pub fn at(&self, place: u32, run: &mut usize) -> Priority {
        while self.runs.get(*run).is_some_and(|next| next.0 <= place) {
            *run += 1;
        }
        self.nth(*run)
    }
}

#[cfg(test)]
mod tests {
    use blksched::Class;

    use super::*;

    #[test]
    fn runs_tell_what_a_row_of_single_ones_tells() {
        let priorities = [
            Priority::default(),
            Priority { class: Class::Idle, level: 0 },
            Priority { class: Class::RealTime, level: 3 },
        ];
        let mut state = 7_u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let (mut runs, mut row) = (PriorityRuns::default(), vec![Priority::default(); 24]);
            for _ in 0..40 {
                let (place, priority) = (below(20) as usize, priorities[below(3) as usize]);
                runs.set(place as u32, priority);
                row[place] = priority;
                let mut run = 0;
                let told: Vec<_> = (0..24).map(|place| runs.at(place, &mut run)).collect();
                assert_eq!(told, row);
                let mut before = Priority::default();
                for (_, priority) in &runs.runs {
                    assert_ne!(*priority, std::mem::replace(&mut before, *priority));
                }
            }
        }
    }

    #[test]
    fn a_process_that_never_changes_its_priority_is_one_run() {
        let mut runs = PriorityRuns::default();
        (0..10_000).for_each(|place| runs.set(place, Priority { class: Class::Idle, level: 7 }));
        assert_eq!(runs.runs.len(), 2);
    }
}
