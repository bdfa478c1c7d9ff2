//! Which member goes on first: a tournament between them, so that a change costs the logarithm of their number.

use blksched::Instant;

/// When a member goes on, and which one it is; of several at a moment the first.
type Entry = Option<(Instant, u32)>;

/// Keeps the earliest.
pub(super) struct Earliest {
    /// The members' own moments from the middle on; each place before is the earlier of the two at twice its number.
    places: Vec<Entry>,
}

impl Earliest {
    /// Of so many members, none of which goes on by itself.
    pub(super) fn of(members: usize) -> Earliest {
        Earliest { places: vec![None; 2 * members] }
    }

    /// The first to go on.
    pub(super) fn first(&self) -> Entry {
        self.places[1]
    }

    /// This is when a member goes on now; how many places were looked at.
    pub(super) fn set(&mut self, member: u32, next: Option<Instant>) -> u32 {
        let mut place = self.places.len() / 2 + member as usize;
        let (mut entry, mut looked_at) = (next.map(|next| (next, member)), 1);
        while self.places[place] != entry {
            self.places[place] = entry;
            if place == 1 {
                break;
            }
            entry = earlier(entry, self.places[place ^ 1]);
            place /= 2;
            looked_at += 1;
        }
        looked_at
    }
}

fn earlier(one: Entry, other: Entry) -> Entry {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look at all of them finds, in at most one step more than a thousand has binary digits.
    #[test]
    fn the_first_of_a_thousand_is_found_in_eleven_steps() {
        for members in [2, 3, 4, 7, 64, 1000, 1024] {
            let mut earliest = Earliest::of(members);
            let mut model: Vec<Option<Instant>> = vec![None; members];
            let mut state = 1_u64;
            let mut below = |limit: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % limit
            };
            for _ in 0..4000 {
                let member = below(members as u64) as usize;
                model[member] = (below(4) > 0).then(|| Instant::from_ns(below(50)));
                let looked_at = earliest.set(member as u32, model[member]);
                assert!(looked_at <= members.next_power_of_two().ilog2() + 1, "{looked_at} of {members}");
                let all = model.iter().zip(0_u32..).filter_map(|(next, member)| Some(((*next)?, member)));
                assert_eq!(earliest.first(), all.min());
            }
        }
    }
}
