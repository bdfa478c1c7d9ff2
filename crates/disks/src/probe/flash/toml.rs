//! The results, as a disk's file.

use std::fmt::Write;

use blksched::Span;

use super::super::ProbeError;
use super::super::fit::Fitted;
use super::super::session::Session;
use super::super::text::{NOT_SEEN, depth, head, rate, time};
use super::super::value::Measured;
use super::FlashFindings;

/// The rate at which a page crosses a channel, unless sizes tell \[bytes/s\].
const CHANNEL_RATE: f64 = 800e6;

/// A disk slower than this part of what the programs allow pays for collection: chance makes some dies wait for others,
/// but not this much.
const USED: f64 = 0.7;

impl FlashFindings {
    fn fitted(&self, key: &str, usual: &str) -> String {
        Fitted::said(&self.fitted, key, usual)
    }

    fn fitted_number(&self, key: &str, usual: f64) -> f64 {
        let found = self.fitted.iter().find(|fitted| fitted.key == key);
        found.and_then(|fitted| fitted.value.parse().ok()).unwrap_or(usual)
    }

    fn fitted_time(&self, key: &str, usual: f64) -> f64 {
        let found = self.fitted.iter().find(|fitted| fitted.key == key);
        found.and_then(|fitted| fitted.value.parse::<Span>().ok()).map_or(usual, |span| span.as_ns() as f64)
    }

    /// A size in KiB \[bytes\].
    fn fitted_size(&self, key: &str, usual: f64) -> f64 {
        let found = self.fitted.iter().find(|fitted| fitted.key == key);
        let kib = found.and_then(|fitted| fitted.value.strip_suffix("KiB")?.parse::<f64>().ok());
        kib.map_or(usual, |kib| kib * 1024.0)
    }

    /// The time in which a die reads a page \[ns\].
    fn sense(&self) -> f64 {
        let command = self.command().map_or(10e3, |command| command.value);
        let way = 4096e9 / self.channel_rate().value;
        self.sizes.page().less(command + way.max(self.crossing())).value
    }

    /// The rate of a stream; or with one command at a time, what larger reads take beyond smaller ones.
    fn interface(&self) -> Measured {
        let stream = self.stream.unwrap_or(Measured::new(500e6, 0.0));
        let one_by_one = self.depths.as_ref().is_some_and(|depths| depths.at.len() == 1);
        let slope = self.sizes.slope().filter(|_| one_by_one);
        slope.map_or(stream, |slope| Measured::new(slope.max(stream.value), stream.spread))
    }

    /// The time of 4 KiB on the interface \[ns\].
    fn crossing(&self) -> f64 {
        4096e9 / self.interface().value.max(1e6)
    }

    /// The controller's part of a command \[ns\].
    fn command(&self) -> Option<Measured> {
        let buffered = self.buffered.filter(|buffered| buffered.alone.value < 0.8 * self.sizes.page().value)?;
        Some(buffered.alone.less(self.crossing()))
    }

    /// The time to program a page, as a flush shows it \[ns\]; `None` if a flush has nothing to do, or nothing was
    /// written.
    pub(super) fn program(&self) -> Option<Measured> {
        let buffered = self.buffered?;
        self.command()?;
        let own = 4096e9 / self.channel_rate().value;
        Some(buffered.flush.less(own)).filter(|program| program.value > 30e3)
    }

    /// A channel's rate, from the difference between 16 KiB and 4 KiB \[bytes/s\].
    fn channel_rate(&self) -> Measured {
        let more = self.sizes.of(32).map(|took| took.value - self.sizes.page().value).filter(|more| *more > 100.0);
        let spread = self.sizes.page().spread;
        more.map_or(Measured::new(CHANNEL_RATE, 0.0), |more| {
            let rate = 12_288e9 / more;
            Measured::new(rate, rate * spread / more)
        })
    }

    /// The beginning of a file, with what was measured of any kind of disk.
    pub(super) fn head(
        &self,
        kind: &str,
        figures: &str,
        session: &Session<'_>,
        stopped: Option<&ProbeError>,
    ) -> String {
        let mut out = head(kind, figures, session.facts(), stopped) + &depth(session.facts());
        for (sectors, took) in &self.sizes.0 {
            let (kib, us, spread) = (sectors / 2, took.value / 1e3, took.spread / 1e3);
            let _ = writeln!(out, "# A read of {kib}KiB alone: {us:.1}us ±{spread:.1}");
        }
        if let Some(depths) = &self.depths {
            let by: Vec<String> = depths.at.iter().map(|(depth, rate)| format!("{rate:.0} at {depth}")).collect();
            let _ = writeln!(out, "# Random reads/s by depth: {}; the knee is at {}", by.join(", "), depths.knee());
        }
        out
    }

    pub(super) fn text(&self, session: &Session<'_>, stopped: Option<&ProbeError>) -> String {
        let figures = format!("{:.0} MB/s, {:.0}us", self.interface().value / 1e6, self.sizes.page().value / 1e3);
        let mut out = self.head("ssd", &figures, session, stopped);
        self.controller(&mut out);
        self.flash(&mut out);
        self.buffer(&mut out);
        out
    }

    fn controller(&self, out: &mut String) {
        let most = self.depths.as_ref().map(super::reads::Depths::most);
        let interval = most.map_or(Measured::new(5e3, 0.0), |most| {
            Measured::new(1e9 / most.value, 1e9 / most.value * most.spread / most.value)
        });
        let command = self.command().unwrap_or(Measured::new(10e3, 0.0));
        // Map look-ups are described below.
        let interval = if self.pace.is_some() { command } else { interval };
        let command = Measured::new(command.value.max(interval.value), command.spread);
        let said =
            if self.command().is_some() { "MEASURED" } else { "FIT: only the sum with `read` shows without writes" };
        let _ = writeln!(out, "\n[overhead]\ncommand = {}", time(command, said));
        let _ = writeln!(out, "interval = {}", time(interval, "MEASURED"));
        if let Some(pace) = &self.pace {
            for (key, took) in [("sequential_read", pace.sequential_read), ("random_read", pace.random_read)] {
                let _ = writeln!(out, "{key} = {}", time(took, "MEASURED"));
            }
            if let Some((random, sequential)) = pace.writes {
                let _ = writeln!(out, "sequential_write = {}", time(sequential, "MEASURED"));
                let _ = writeln!(out, "random_write = {}", time(random, "MEASURED"));
            }
        } else if let Some(buffered) = self.buffered {
            let write = Measured::new(1e9 / buffered.deep.max(1.0), 0.0);
            for key in ["sequential_write", "random_write"] {
                let _ = writeln!(out, "{key} = {}", time(write, "MEASURED"));
            }
        }
        let _ = writeln!(out, "\n[interface]\nrate = {}", rate(self.interface()));
        let writes = self.buffered.map(|buffered| buffered.stream.value);
        let duplex = if self.interface().value < 600e6 { "half" } else { "full" };
        let _ = writeln!(out, "duplex = \"{duplex}\"   # FIT: SATA's rates or PCIe's");
        if let Some(faster) = writes.filter(|write| *write > 1.02 * self.interface().value) {
            let _ = writeln!(out, "write_rate = {}", rate(Measured::new(faster, 0.0)));
        }
    }

    fn flash(&self, out: &mut String) {
        let channel = self.channel_rate();
        let read = Measured::new(self.sense(), self.sizes.page().spread);
        let _ = writeln!(out, "\n[flash]");
        let _ = writeln!(out, "channels = {}", self.fitted("flash.channels", "8"));
        let _ = writeln!(out, "dies = {}", self.fitted("flash.dies", "8"));
        let _ = writeln!(out, "page = {}", self.fitted("flash.page", "\"16KiB\""));
        let _ = writeln!(out, "read = {}", time(read, "MEASURED"));
        let _ = writeln!(out, "channel_rate = {}", rate(channel));
        let _ = writeln!(out, "program_size = {}", self.fitted("flash.program_size", "\"32KiB\""));
        let program = self.program().map(|program| time(program, "MEASURED"));
        let program = program.unwrap_or_else(|| self.fitted("flash.program", "\"700us\""));
        let _ = writeln!(out, "program = {program}");
        let _ = writeln!(out, "\n[interference]");
        let _ = writeln!(out, "state = {}", self.fitted("interference.state", "\"wait\""));
        let _ = writeln!(out, "suspend = \"20us\"   # {NOT_SEEN}");
        let _ = writeln!(out, "patience = {}", self.fitted("interference.patience", "8"));
    }

    /// A die's time for a page without collection \[ns\], and the rate of all dies together \[bytes/ns\].
    fn programs(&self) -> (f64, f64) {
        let size = self.fitted_size("flash.program_size", 32_768.0);
        let program = self.program().map_or_else(|| self.fitted_time("flash.program", 700e3), |program| program.value);
        let dies = self.fitted_number("flash.dies", 8.0) * self.fitted_number("flash.channels", 8.0);
        let own = program + size * 1e9 / self.channel_rate().value;
        (own, dies * size / own)
    }

    /// The part of a collected block that is copied, if random writes reach `used` bytes per second: a die's time for a
    /// page minus the program time, in copies.
    fn valid(&self, used: f64) -> f64 {
        let (own, together) = self.programs();
        let program = own - self.fitted_size("flash.program_size", 32_768.0) * 1e9 / self.channel_rate().value;
        let copies = ((together * own * 1e9 / used - own) / (self.sense() + program)).max(0.0);
        copies / (1.0 + copies)
    }

    /// Whether it was slow from the first write on, although its programs and its interface are not: it has no free
    /// blocks.
    fn comes_used(&self, fresh: f64) -> bool {
        let (_, together) = self.programs();
        self.program().is_some() && fresh < USED * (together * 1e9).min(self.interface().value)
    }

    fn buffer(&self, out: &mut String) {
        let Some(buffered) = self.buffered else { return };
        if self.command().is_some() {
            let size = buffered.size.map(|size| ((size.value / 4096.0).max(64.0) as u64 * 4, size.spread / 1024.0));
            let _ = writeln!(out, "\n[buffer]\nstate = \"on\"   # MEASURED: a write ends before a read would");
            match size {
                Some((kib, spread)) => writeln!(out, "size = \"{kib}KiB\"   # MEASURED ±{spread:.0}KiB").ok(),
                // As fast as the interface from the first byte to the last: the buffer may have any size.
                None if buffered.stream.value > 0.9 * self.interface().value => {
                    writeln!(out, "size = \"32MiB\"   # FIT: no burst was faster than the stream").ok()
                }
                None => {
                    let kib = (buffered.burst / 8192.0) as u64 * 4;
                    writeln!(out, "size = \"{kib}KiB\"   # FIT: half a burst that was no faster than the stream").ok()
                }
            };
            let flush = buffered.flush.value / 1e3;
            let kept = if self.program().is_some() { "lost" } else { "kept" };
            let _ = writeln!(out, "power_loss = \"{kept}\"   # MEASURED: a flush behind a write takes {flush:.0}us");
        }
        let Some(sustained) = self.sustained else { return };
        let fresh = sustained.fresh / 1e6;
        if let Some(after) = sustained.after {
            let (kib, spread) = ((after.value / 1024.0) as u64, after.spread / 1e6);
            let _ = writeln!(out, "\n[collection]\nstate = \"on\"   # MEASURED: random writes become slower");
            let _ = writeln!(out, "after = \"{kib}KiB\"   # MEASURED ±{spread:.0}MB");
            let used = sustained.used.value;
            self.collection(out, used, &format!("{fresh:.0} MB/s before, {:.0} MB/s after", used / 1e6));
        } else if self.comes_used(sustained.fresh) {
            let _ =
                writeln!(out, "\n[collection]\nstate = \"on\"   # MEASURED: slower than its programs from the first");
            let _ = writeln!(out, "after = \"0KiB\"   # MEASURED: it starts without free blocks");
            self.collection(
                out,
                sustained.fresh,
                &format!("{fresh:.0} MB/s throughout; `program` may have some in it"),
            );
        } else {
            let _ = writeln!(out, "\n# No collection showed: MEASURED, {fresh:.0} MB/s throughout");
        }
    }

    /// The rest of collection, if random writes reach `used` bytes per second.
    fn collection(&self, out: &mut String, used: f64, seen: &str) {
        let valid = (self.valid(used) * 100.0).round().clamp(0.0, 95.0);
        let _ = writeln!(out, "block = \"16MiB\"   # {NOT_SEEN}");
        let _ = writeln!(out, "valid = \"{valid}%\"   # MEASURED: {seen}");
        let _ = writeln!(out, "erase = \"4ms\"   # {NOT_SEEN}");
    }
}
