//! Stacked devices whose work a host's processors do: the same laws, whoever has the processor next.

use std::collections::BTreeSet;

use blksched::{Bio, Instant, Op, Sector, Span, SubmitterId, Tag};
use blksched_disks::stack::{Below, Doer, Toil, ToilTask, Volume, Wish, stack_word};

const THREAD: SubmitterId = SubmitterId(99);

fn volume(word: &str, members: &[u64], switch: Span) -> Volume {
    let spec = stack_word(word).unwrap().unwrap().spec;
    let mut volume = Volume::new(&spec, members, 2, THREAD);
    volume.work_on_processors(switch);
    volume
}

/// A host with one processor for everything: each piece of work takes as long as it says, and a microsecond to submit.
struct Host {
    volume: Volume,
    now: Instant,
    /// What waits for the processor.
    toils: Vec<Toil>,
    /// What was submitted, when, and whether the thread's plug was opened behind it.
    sent: Vec<(u64, Bio, bool)>,
    /// The parts that the member has not done.
    open: Vec<(u32, Bio)>,
    done: Vec<u64>,
    did: Vec<(Doer, bool)>,
}

impl Host {
    fn of(volume: Volume) -> Host {
        let (toils, sent, open, done, did) = Default::default();
        Host { volume, now: Instant::ZERO, toils, sent, open, done, did }
    }

    fn enter(&mut self, bio: Bio) {
        let mut out = Vec::new();
        self.volume.enter(self.now, bio, &mut out);
        self.take(out);
    }

    fn take(&mut self, out: Vec<Below>) {
        for below in out {
            match below {
                Below::Submit { member, bio } => {
                    self.sent.push((self.now.as_ns(), bio, false));
                    self.open.push((member, bio));
                }
                Below::Complete { tag: Tag(tag), failed } => {
                    assert!(!failed);
                    self.done.push(tag);
                }
            }
        }
        while let Some(wish) = self.volume.wish() {
            match wish {
                Wish::Toil(toil) => self.toils.push(toil),
                Wish::Unplug => {
                    if let Some((.., plugged)) = self.sent.last_mut() {
                        *plugged = true;
                    }
                }
            }
        }
    }

    /// Does this piece of work.
    fn toil(&mut self, nth: usize) {
        let toil = self.toils.remove(nth);
        let submits = if toil.submits.is_some() { Span::from_us(1) } else { Span::ZERO };
        self.now = self.now + toil.takes + submits;
        self.did.push((toil.doer, toil.woken));
        let (mut out, known) = (Vec::new(), self.open.len());
        self.volume.toiled(self.now, toil.task, &mut out);
        self.take(out);
        if toil.task == ToilTask::Sends {
            let (member, bio) = self.open[known];
            assert_eq!(toil.submits, Some((member, bio.start)), "what it submits is what it said");
        }
    }

    fn elapse(&mut self) -> bool {
        let Some(next) = self.volume.next() else { return false };
        self.now = self.now.max(next);
        let mut out = Vec::new();
        self.volume.elapse(self.now, &mut out);
        self.take(out);
        true
    }

    fn land(&mut self, nth: usize) {
        let (_, part) = self.open.remove(nth);
        let mut out = Vec::new();
        self.volume.done(self.now, part.tag, false, &mut out);
        self.take(out);
    }
}

#[test]
fn writes_are_encrypted_by_workers_and_sent_by_the_thread_one_by_one() {
    // 4 KiB take 3,906 ns; a hop is 10 µs, of which 4 are the processor's switch.
    let crypt = volume("crypt:ssd,encrypt=1000,hop=10us", &[1 << 20], Span::from_us(4));
    let mut host = Host::of(crypt);
    for (tag, start) in [(1, 800), (2, 80), (3, 400)] {
        host.enter(Bio::write(tag, SubmitterId(7), Sector(start), 8));
    }
    assert!(host.sent.is_empty() && host.toils.is_empty());
    assert!(host.elapse() && host.now.as_ns() == 6_000, "{}", host.now.as_ns());
    while !host.toils.is_empty() || host.elapse() {
        if !host.toils.is_empty() {
            host.toil(0);
        }
    }
    let workers = [Doer::Worker(0), Doer::Worker(1), Doer::Worker(0)];
    // Two workers for three bios: who has more to do does not sleep between. The thread sleeps until it is called.
    let first: Vec<_> = workers.into_iter().zip([true, true, false]).collect();
    assert_eq!(host.did[..3], first[..]);
    assert_eq!(
        host.did[3..],
        [(Doer::Thread, true), (Doer::Thread, false), (Doer::Thread, false), (Doer::Thread, false)]
    );
    let shown: Vec<_> =
        host.sent.iter().map(|(at, bio, end)| (*at, bio.start.0 - 32_768, bio.submitter, *end)).collect();
    // 6,000 and three times 3,906; the thread was called after the first of them, and came meanwhile.
    let began = 6_000 + 3 * 3_906;
    let expected = [(1, 80, false), (2, 400, false), (3, 800, true)];
    assert_eq!(shown, expected.map(|(nth, start, end)| (began + nth * 1_000, start, THREAD, end)));
}

#[test]
fn without_workqueues_the_work_is_the_submitters_and_the_interrupts() {
    let crypt = volume("crypt:ssd,no_read_workqueue,no_write_workqueue", &[1 << 20], Span::ZERO);
    let mut host = Host::of(crypt);
    host.enter(Bio::write(1, SubmitterId(7), Sector(8), 8));
    assert_eq!(host.toils[0].doer, Doer::Submitter(SubmitterId(7)));
    host.toil(0);
    assert_eq!(host.sent[0].1.submitter, SubmitterId(7));
    host.enter(Bio::read(2, SubmitterId(7), Sector(8), 8));
    host.land(1);
    assert_eq!((host.toils[0].doer, host.toils[0].completes), (Doer::Here, Some(Tag(2))));
    host.toil(0);
    assert_eq!(host.done, [2]);
}

/// What a process does itself: its parts, and its work on data.
#[test]
fn what_is_left_to_workers_and_threads_is_not_the_submitters() {
    let write = Bio::write(1, SubmitterId(7), Sector(0), 64);
    let read = Bio { op: Op::Read, ..write };
    let four = [1 << 20; 4];
    for (word, members, bio, parts) in [
        ("crypt:ssd", &four[..1], write, 0),
        ("crypt:ssd", &four[..1], read, 1),
        ("crypt:ssd,no_write_workqueue", &four[..1], write, 1),
        ("md-raid1:2xssd", &four[..2], write, 2),
        ("md-raid1:2xssd", &four[..2], read, 1),
        ("md-raid0:4xssd,chunk=4k", &four, write, 8),
        ("md-raid10:4xssd,chunk=16k", &four, write, 4),
        ("md-raid5:4xssd", &four, write, 0),
        ("md-raid5:4xssd", &four, read, 1),
    ] {
        let volume = volume(word, members, Span::ZERO);
        assert_eq!(volume.inline(&bio).0, parts, "{word} {:?}", bio.op);
        let works = volume.inline(&bio).1;
        assert_eq!(works.is_zero(), !word.contains("no_write"), "{word}");
    }
}

/// In whichever order workers, thread and members have their turns: everything is written once, nothing is complete
/// before, and nobody sleeps while there is work.
#[test]
fn random_turns_lose_nothing() {
    for (word, members, copies) in [
        ("crypt:ssd", vec![1 << 20], 1),
        ("crypt:ssd,no_write_workqueue", vec![1 << 20], 1),
        ("crypt:ssd,no_read_workqueue,hop=0us", vec![1 << 20], 1),
        ("md-raid5:3xssd,chunk=4k,stripe_cache_size=17", vec![4_096; 3], 0),
        ("md-raid6:5xssd,chunk=8k", vec![4_096; 5], 0),
    ] {
        let mut host = Host::of(volume(word, &members, Span::from_us(2)));
        let mut seed = 11_u64;
        let mut below = |end: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % end
        };
        let (mut asked, mut sectors) = (BTreeSet::new(), 0);
        for step in 0..20_000_u64 {
            if step < 10_000 && asked.len() - host.done.len() < 30 && below(4) == 0 {
                let length = 1 + below(60);
                let start = below(host.volume.map().sectors() - length);
                let bio = Bio::write(step, SubmitterId(below(3) as u32), Sector(start), length as u32);
                let bio = if below(3) == 0 { Bio { op: Op::Read, ..bio } } else { bio };
                sectors += length;
                asked.insert(step);
                host.enter(bio);
            } else if !host.toils.is_empty() && below(2) == 0 {
                // One after the other of the same doer.
                let doers: Vec<Doer> = host.toils.iter().map(|toil| toil.doer).collect();
                let doer = doers[below(doers.len() as u64) as usize];
                host.toil(doers.iter().position(|other| *other == doer).unwrap());
            } else if !host.open.is_empty() && below(2) == 0 {
                host.land(below(host.open.len() as u64) as usize);
            } else if !host.elapse() && host.open.is_empty() && host.toils.is_empty() && step >= 10_000 {
                break;
            }
        }
        assert!(host.volume.is_idle(), "{word}: something is left");
        assert_eq!(host.done.iter().copied().collect::<BTreeSet<_>>(), asked, "{word}");
        assert_eq!(host.done.len(), asked.len(), "{word}: each once");
        let sent: u64 = host.sent.iter().map(|(_, bio, _)| u64::from(bio.sectors)).sum();
        assert!(copies == 0 || sent == copies * sectors, "{word}: {sent} of {sectors}");
    }
}
