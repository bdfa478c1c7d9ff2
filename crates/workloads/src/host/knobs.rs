//! The host's parameters, each described once. Those that Linux has carry its names and units.

use blksched::author::Kernels;
use blksched::tunables::{KnobError, Tunables};
use blksched::{Kernel, Span};

use super::dirty_pool::DirtyLimits;

const V2_5: Kernel = Kernel::new(2, 5, 38);
const V2_6_29: Kernel = Kernel::new(2, 6, 29);
const V3_1: Kernel = Kernel::new(3, 1, 0);
const V6_2: Kernel = Kernel::new(6, 2, 0);
/// The kernel whose parameters are shown: all of them.
const NEWEST: Kernel = Kernel::new(6, 18, 0);

const KIB: i64 = 1 << 10;
const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;
/// A hundredth of a second \[ns\].
const CS: i64 = 10_000_000;

blksched::tunables! {
    /// The simulated host's memory. Defaults are Linux's where it has the parameter (READ,
    /// `Documentation/admin-guide/sysctl/vm.rst` and `Documentation/block/queue-sysfs.rst`; the values are MEMORY).
    pub struct HostKnobs {
        /// Memory for the page cache; the ratios refer to it. Job files see it as $mb_memory.
        memory: u64 [Bytes] = 4_u64 << 30, 64 * MIB..=64 * GIB, Kernels::since(V2_5),
            sweep [512 * MIB, 4 * GIB];
        /// The largest readahead window of a file. Twice that for a reader that declares itself sequential.
        read_ahead_kb: u32 [Kib] = 128, 0..=16 * KIB, Kernels::since(V2_5), sweep [0, 32, 128, 512, 2048];
        /// Dirty memory above this part of memory is written in the background.
        dirty_background_ratio: u32 [Percent] = 10, 0..=100, Kernels::since(V2_5), sweep [1, 5, 10];
        /// The same in bytes; if not 0, the ratio does not count.
        dirty_background_bytes: u64 [Bytes] = 0, 0..=64 * GIB, Kernels::since(V2_6_29), sweep [16 * MIB];
        /// Writers sleep when dirty memory and memory being written reach this part of memory. Since 3.1 they are
        /// slowed down on the way to it.
        dirty_ratio: u32 [Percent] = 20, 0..=100, Kernels::since(V2_5), sweep [2, 10, 20, 40];
        /// The same in bytes; if not 0, the ratio does not count.
        dirty_bytes: u64 [Bytes] = 0, 0..=64 * GIB, Kernels::since(V2_6_29), sweep [32 * MIB];
        /// The most that may be dirty for the disk, of all that may be; 0: as much as for all. In /sys/class/bdi.
        max_bytes: u64 [Bytes] = 0, 0..=64 * GIB, Kernels::since(V6_2), sweep [32 * MIB];
        /// Whether writers are slowed down at the disk's part of the limits even if memory is far below them. In
        /// /sys/class/bdi; for max_bytes.
        strict_limit: bool [Switch] = false, 0..=1, Kernels::since(V6_2), sweep [0, 1];
        /// Whether the processes run as real-time tasks (chrt), which may have a quarter more dirty. Since 3.1.
        real_time_writers: bool [Switch] = false, 0..=1, Kernels::since(V3_1), sweep [0, 1];
        /// Files that have been dirty for longer are written.
        dirty_expire_centisecs: Span [Centisecs] = Span::from_secs(30), 0..=360_000 * CS,
            Kernels::since(V2_5), sweep [500 * CS, 3000 * CS];
        /// How often files are checked for expired data; 0: never.
        dirty_writeback_centisecs: Span [Centisecs] = Span::from_secs(5), 0..=360_000 * CS,
            Kernels::since(V2_5), sweep [0, 100 * CS, 500 * CS];
        /// How far dirty memory must fall below its limit before the writers that sleep wake, all at once. Not a
        /// parameter of Linux; FIT. Before 3.1 only.
        dirty_hysteresis: u64 [Bytes] = 2_u64 << 20, 0..=GIB, Kernels::since(V2_5),
            sweep [0, 512 * KIB, 2 * MIB];
        /// How many writes the flusher has in flight at most. Not a parameter of Linux, where the request slots bound
        /// it; they do here too, and nothing else since 3.1.
        flusher_requests: u32 [Requests] = 128, 1..=65_536, Kernels::since(V2_5), sweep [8, 128, 1024];
        /// Having reached that number, it continues once this many of them are done. Not a parameter of Linux. Before
        /// 3.1 only.
        flusher_batch: u32 [Requests] = 32, 1..=65_536, Kernels::since(V2_5), sweep [1, 32];
        /// What the processor needs for a buffered read or write, whatever its length. Measured: fio 3.33, psync, a
        /// cached file, one machine; FIT.
        call: Span [Ns] = Span::from_ns(500), 0..=1_000_000_000, Kernels::since(V2_5), sweep [];
        /// The same for each KiB copied. Measured likewise: 50 ns reading, 120 to 150 ns writing; FIT.
        copy_kib: Span [Ns] = Span::from_ns(100), 0..=1_000_000_000, Kernels::since(V2_5), sweep [];
        /// What it needs beside to create or to remove a file on a file system. Measured on one machine with 6.18,
        /// ext4 and xfs in memory, 4,000 files, three times: medians of 3.6 to 5.9 us, and of 5.0 to 5.7 us.
        name: Span [Ns] = Span::from_ns(5_000), 0..=1_000_000_000, Kernels::since(V2_5), sweep [];
    }
}

impl Default for HostKnobs {
    fn default() -> HostKnobs {
        HostKnobs::of(NEWEST)
    }
}

impl HostKnobs {
    /// Parses `memory=1g,dirty_ratio=40`.
    ///
    /// # Errors
    /// An unknown parameter, with the nearest known one; or an invalid value, with the range.
    pub fn parse(text: &str) -> Result<HostKnobs, KnobError> {
        let mut knobs = HostKnobs::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            knobs.set_text(name.trim(), value)?;
        }
        Ok(knobs)
    }

    /// Its memory \[MiB\], which job files see as `$mb_memory`.
    pub fn memory_mib(&self) -> u64 {
        self.memory >> 20
    }

    /// The dirty limits in bytes.
    pub fn dirty_limits(&self) -> DirtyLimits {
        let limit = |bytes: u64, ratio: u32| if bytes > 0 { bytes } else { self.memory / 100 * u64::from(ratio) };
        DirtyLimits {
            background: limit(self.dirty_background_bytes, self.dirty_background_ratio),
            limit: limit(self.dirty_bytes, self.dirty_ratio),
            hysteresis: self.dirty_hysteresis,
        }
    }

    /// The processor time of a call that copies this much.
    pub(super) fn cost(&self, bytes: u64) -> Span {
        self.call + Span::from_ns(self.copy_kib.as_ns() * bytes / 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_settings_is_read_with_units() {
        let knobs = HostKnobs::parse("memory=1g, dirty_ratio=40,dirty_expire_centisecs=200,call=2us").unwrap();
        assert_eq!((knobs.memory_mib(), knobs.dirty_ratio), (1024, 40));
        assert_eq!((knobs.dirty_expire_centisecs, knobs.call), (Span::from_secs(2), Span::from_us(2)));
        assert_eq!(HostKnobs::parse("dirty_expire_centisecs=2s").unwrap().dirty_expire_centisecs, Span::from_secs(2));
        assert_eq!(HostKnobs::parse("").unwrap().memory_mib(), 4096);
    }

    #[test]
    fn a_wrong_word_is_told_with_the_nearest_and_a_wrong_value_with_the_range() {
        let error = |text: &str| HostKnobs::parse(text).unwrap_err().to_string();
        assert!(error("dirty_ration=4").contains("did you mean `dirty_ratio`?"));
        assert!(error("dirty_ratio=101").contains("expected 0%..=100%"), "{}", error("dirty_ratio=101"));
        assert!(error("memory=lots").contains("expected 64m..=64g"), "{}", error("memory=lots"));
        assert!(error("memory").contains("`` is not a value for memory"));
    }

    #[test]
    fn the_table_shows_the_defaults_in_use() {
        let knobs = HostKnobs::default();
        for knob in HostKnobs::KNOBS {
            assert_eq!(knobs.get(knob.name), Some(knob.default), "{}", knob.name);
        }
    }

    #[test]
    fn bytes_go_before_ratios() {
        let limits = HostKnobs::parse("memory=100m,dirty_bytes=5m").unwrap().dirty_limits();
        assert_eq!((limits.background, limits.limit), (10 << 20, 5 << 20));
    }
}
