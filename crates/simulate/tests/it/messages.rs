//! Sources that talk: a word told is heard at the same moment, also by one that has nothing else to wait for.

use blksched::reasons::NoListener;
use blksched::{Bio, BlockQueue, Catalogue, Instant, QueueConfig, Sector, Span, SubmitterId};

use blksched_simulate::World;
use blksched_workloads::{Delivered, Emission, Source};

/// Reads once per word it receives, then sends the next word to the other; ends after word 5.
struct Player {
    me: u32,
    other: u32,
    heard: Option<u64>,
    reading: bool,
    due: Option<Instant>,
    finished: bool,
}

fn player(me: u32, heard: Option<u64>) -> Box<dyn Source> {
    let due = heard.map(|_| Instant::ZERO);
    Box::new(Player { me, other: 1 - me, heard, reading: false, due, finished: false })
}

impl Source for Player {
    fn next(&self) -> Option<Instant> {
        self.due
    }

    fn emit(&mut self, _now: Instant, out: &mut Vec<Emission>) {
        self.due = None;
        let word = self.heard.expect("only called after a word");
        if self.reading {
            self.reading = false;
            out.push(Emission::Tell { to: SubmitterId(self.other), word: word + 1 });
            self.finished = word >= 4;
            out.extend(self.finished.then_some(Emission::Exit));
        } else {
            self.reading = true;
            out.push(Emission::Submit(Bio::read(word, SubmitterId(self.me), Sector(word * 8), 8)));
            out.push(Emission::Waits);
        }
    }

    fn delivered(&mut self, now: Instant, what: Delivered) {
        match what {
            Delivered::Done { .. } => self.due = Some(now),
            Delivered::Told { from, word } if !self.finished => {
                assert_eq!(from, SubmitterId(self.other));
                self.heard = Some(word);
                self.due = Some(now);
            }
            _ => {}
        }
    }

    fn asleep(&mut self) {
        unreachable!("slots enough for two");
    }

    fn is_finished(&self) -> bool {
        self.finished
    }

    fn submitter(&self) -> SubmitterId {
        SubmitterId(self.me)
    }
}

#[test]
fn two_sources_take_turns_by_telling_each_other() {
    let built = Catalogue::builtin().build("noop").expect("built in");
    let queue = BlockQueue::with_listener(QueueConfig::default(), built.elevator, NoListener);
    let disk = blksched_disks::load("fixed").expect("built in").build(1);
    let players = vec![player(0, Some(0)), player(1, None)];
    let mut world = World::new(queue, disk, players, ());
    world.run_until(Instant::ZERO + Span::from_secs(1)).unwrap();
    assert!(world.is_finished(), "each ends after its last word");
    assert_eq!(world.completions(), 6);
}
