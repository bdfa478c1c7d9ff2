//! Who has the least of something: a tournament, so that a change costs the logarithm of how many there are.

/// What somebody has, and who it is; of several with the same the first.
type Entry = Option<(u128, usize)>;

/// Keeps the least.
#[derive(Default)]
pub(super) struct Least {
    /// Each one's own from the middle on; each place before is the lesser of the two at twice its number.
    places: Vec<Entry>,
}

impl Least {
    /// Who has the least.
    pub fn first(&self) -> Entry {
        self.places.get(1).copied().flatten()
    }

    /// This is what somebody has, who need not be known yet; how many places were looked at.
    pub fn set(&mut self, who: usize, has: Option<u128>) -> usize {
        let mut looked_at = 1;
        if who >= self.room() {
            looked_at += self.grow(who + 1);
        }
        let mut place = self.room() + who;
        let mut entry = has.map(|has| (has, who));
        while self.places[place] != entry {
            self.places[place] = entry;
            if place == 1 {
                break;
            }
            entry = lesser(entry, self.places[place ^ 1]);
            place /= 2;
            looked_at += 1;
        }
        looked_at
    }

    fn room(&self) -> usize {
        self.places.len() / 2
    }

    /// Room for so many, at least twice as many as before.
    fn grow(&mut self, to: usize) -> usize {
        let (before, room) = (self.room(), to.next_power_of_two());
        let mut places = vec![None; 2 * room];
        places[room..room + before].copy_from_slice(&self.places[before..]);
        for place in (1..room).rev() {
            places[place] = lesser(places[2 * place], places[2 * place + 1]);
        }
        self.places = places;
        room
    }
}

fn lesser(one: Entry, other: Entry) -> Entry {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a look at all of them finds; beyond growing, in at most one step more than a thousand has binary digits.
    #[test]
    fn the_least_of_a_thousand_is_found_in_eleven_steps() {
        for many in [1, 2, 3, 7, 1000] {
            let (mut least, mut model, mut state) = (Least::default(), vec![None; many], 1_u64);
            let mut below = |limit: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % limit
            };
            let (mut steps, changes) = (0, 8000);
            for _ in 0..changes {
                let who = below(many as u64) as usize;
                model[who] = (below(4) > 0).then(|| u128::from(below(50)));
                steps += least.set(who, model[who]);
                let all = model.iter().enumerate().filter_map(|(who, has)| Some(((*has)?, who)));
                assert_eq!(least.first(), all.min());
            }
            let growing = 2 * many.next_power_of_two();
            assert!(steps <= growing + changes * (many.next_power_of_two().ilog2() as usize + 1), "{steps} of {many}");
        }
    }
}
