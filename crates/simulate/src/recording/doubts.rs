//! What cannot be: arrivals that contradict the recording's own latencies, or any disk. The cause is usually a wrong
//! unit, of times or of lengths, so a user is warned in every format.

use blksched::Span;

use super::info::Info;

/// A recording this short with [`MANY`] I/Os or more was not made on purpose; `blktrace -w` and fio count seconds.
const SHORTEST: Span = Span::from_ms(50);
const MANY: u64 = 100;
/// No disk of 2026 does as many I/Os a second (an NVMe disk on PCIe 6 is sold with 5.5 million).
const MOST_IOS_PER_SECOND: f64 = 8e6;
/// Nor moves as much \[bytes/s\] (28 GB/s on PCIe 6).
const MOST_BYTES_PER_SECOND: f64 = 40e9;
/// FIT: more in flight on average than hosts keep there; a wrong unit makes it a thousand times too many.
const DEEPEST: f64 = 8192.0;
/// Linux sends a disk at most `max_sectors_kb` at a time, of which disks accept far less than this \[bytes\].
pub(super) const LONGEST_IO: u64 = 32 << 20;
/// After this long, Linux's SCSI and NVMe drivers have given up a command many times over.
const LONGEST_LATENCY: Span = Span::from_secs(600);

/// How the time's unit is given, for the end of a warning.
const UNIT: &str = "is the unit of its times right? columns=time@us,… gives another";

impl Info {
    /// Warnings about what was read, none if it can be true.
    pub fn doubts(&self) -> Vec<String> {
        let (ios, span) = (self.ios(), self.span());
        let mut doubts = Vec::new();
        let seconds = span.as_secs_f64();
        if ios >= MANY && span > Span::ZERO {
            let rate = ios as f64 / seconds;
            let bytes: u64 = self.asked[..2].iter().map(|asked| asked.bytes).sum();
            let speed = bytes as f64 / seconds;
            if rate > MOST_IOS_PER_SECOND || speed > MOST_BYTES_PER_SECOND {
                doubts.push(format!(
                    "its I/Os arrive at {rate:.0} a second and {:.1} GB/s, more than any disk does: {UNIT}",
                    speed / 1e9
                ));
            } else if span < SHORTEST {
                doubts.push(format!(
                    "its {ios} I/Os arrive within {:.1}ms, which is short for a recording: {UNIT}",
                    seconds * 1e3
                ));
            }
        }
        let (mut count, mut time) = (0, 0.0);
        for latency in self.asked.iter().filter_map(|asked| asked.latency.as_deref()) {
            count += latency.count();
            time += latency.mean() * latency.count() as f64;
        }
        // Little's law: what arrives in a second, times how long it takes, is in flight.
        let depth = time / 1e9 / seconds;
        if count >= MANY && span > Span::ZERO && depth > DEEPEST {
            doubts.push(format!(
                "by its own latencies {depth:.0} I/Os are in flight on average, more than a disk takes: {UNIT}"
            ));
        }
        if count > 0 && time / count as f64 > LONGEST_LATENCY.as_ns() as f64 {
            let mean = time / count as f64 / 1e9;
            doubts.push(format!("its I/Os take {mean:.0}s on average, longer than Linux waits for a disk: {UNIT}"));
        }
        let longest = u64::from(self.longest()) * 512;
        if longest >= LONGEST_IO {
            doubts.push(format!(
                "it has reads or writes of up to {} MiB, and Linux sends a disk far less at a time: are lengths in \
                 bytes taken for sectors? columns=…,size@B gives the unit, blkparse_format='… + %N …' blkparse's",
                longest >> 20
            ));
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use crate::recording::{Info, Reading, Stream, in_memory};

    fn doubts(text: &str) -> Vec<String> {
        let mut stream = Stream::open(vec![in_memory("x", text.as_bytes().to_vec())], Reading::default()).unwrap();
        Info::of(&mut stream).unwrap().doubts()
    }

    /// Rows of blksched's own columns, each this many nanoseconds after the one before.
    fn rows(count: u64, apart_ns: u64, bytes: u64, took_ns: u64) -> String {
        let row = |n: u64| format!("{},sda,cat,R,{},{bytes},{took_ns}\n", n * apart_ns, n * bytes);
        let header = "time_ns,disk,process,op,offset_B,size_B,response_ns\n".to_owned();
        header + &(0..count).map(row).collect::<String>()
    }

    #[test]
    fn what_can_be_true_is_not_doubted() {
        assert_eq!(doubts(&rows(100, 600_000, 4096, 400_000)), Vec::<String>::new());
        // Just below each bound: 99 I/Os may be as close as they like.
        assert_eq!(doubts(&rows(99, 1, 4096, 1)), Vec::<String>::new());
        assert_eq!(doubts(&rows(1_000_000, 130, 4096, 100)), Vec::<String>::new());
        assert_eq!(doubts(&rows(3, 1_000_000_000, (32 << 20) - 512, 500_000_000_000)), Vec::<String>::new());
    }

    #[test]
    fn what_no_disk_does_is_doubted_with_the_remedy() {
        let short = doubts(&rows(100, 26_000, 4096, 20_000));
        assert!(short[0].contains("100 I/Os arrive within") && short[0].contains("columns=time@us"), "{short:?}");
        let fast = doubts(&rows(1_000_000, 100, 4096, 100));
        assert!(fast[0].contains("more than any disk does"), "{fast:?}");
        let deep = doubts(&rows(10_000, 1000, 4096, 100_000_000_000));
        assert!(deep.iter().any(|doubt| doubt.contains("in flight on average")), "{deep:?}");
        let slow = doubts(&rows(1, 1, 4096, 601_000_000_000));
        assert!(slow[0].contains("take 601s on average"), "{slow:?}");
        let long = doubts(&rows(1, 1, 32 << 20, 1000));
        assert!(long[0].contains("writes of up to 32 MiB"), "{long:?}");
    }
}
