//! From six figures to an SSD.
//!
//! | figure | mechanism that determines it |
//! |---|---|
//! | `rbps` | the interface towards the host |
//! | `wbps` | the program operations of all dies, including collection, because the figure is a sustained one |
//! | `rseqiops` … `wrandiops` | the controller's time per command, by direction and by sequential or random: its map |
//!
//! The controller does one command at a time, so a load of several kinds shares it as `io.cost` assumes: a read behind
//! deep writes waits. Properties that the six figures do not determine are taken from the class (`nvme-ssd`,
//! `sata-ssd`): latency at depth 1, dies, buffer space for bursts.

use super::table::SixFigures;

/// The number of dies of all channels, and the size of a page of each \[bytes\].
const DIES: u64 = 64;
const PAGE: u64 = 16_384;
/// The number of channels, and the rate of each \[bytes/s\].
const CHANNELS: u64 = 8;
const CHANNEL_RATE: u64 = 2_400_000_000;
/// The time of a command before its data moves, and of sensing a page \[ns\].
const COMMAND_NS: f64 = 8_000.0;
const SENSE_NS: f64 = 40_000.0;
/// The depth at which small commands are measured.
const DEEP: f64 = 256.0;
/// Writes that need more of the programs than this part of `wbps` do not reach it, because chance hits some dies more
/// often than others: then the programs are made that much faster, and the interface keeps `wbps`. FIT: with it the
/// drawn drives of the test reach their six figures; models whose 4 KiB writes come near `wbps` depend on it, and no
/// others.
const EVEN: f64 = 0.75;
/// The longest program time in a drive's file \[ns\].
const LONGEST_PROGRAM_NS: f64 = 99_000_000.0;

/// The byte rate if small operations contradict it: the mean of both where that is within 10 % of each, otherwise the
/// rate.
fn byte_rate(rate: u64, sequential: u64, random: u64) -> f64 {
    let small = 4096 * sequential.max(random);
    let mean = (rate as f64 * small as f64).sqrt();
    if small > rate && mean < 1.09 * rate as f64 { mean } else { rate as f64 }
}

/// The derived values; times in ns, rates in bytes/s.
struct Made {
    depth: u32,
    duplex: &'static str,
    command: u64,
    interval: u64,
    sense: u64,
    channel_rate: f64,
    program: u64,
    read: f64,
    wire: u64,
}

fn ns(per_second: u64) -> f64 {
    1e9 / per_second as f64
}

fn made(figures: &SixFigures) -> Made {
    let SixFigures { rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops } = *figures;
    let (read, write) = (byte_rate(rbps, rseqiops, rrandiops), byte_rate(wbps, wseqiops, wrandiops));
    // Both directions of SATA-600 end at 6 Gbit/s; the figures cannot distinguish a slower NVMe drive.
    let sata = (450_000_000..=600_000_000).contains(&rbps) && wbps <= 600_000_000;
    let (depth, duplex) = if sata { (31, "half") } else { (1023, "full") };
    // The class's latencies, unless the figures leave no time for them.
    let reads = rseqiops.max(rrandiops);
    let command = COMMAND_NS.min(DEEP / 4.0 * ns(reads.max(wseqiops).max(wrandiops)));
    let interval = ns(reads).min(command) as u64;
    let dies = DIES as f64;
    let sense = SENSE_NS.min(dies / 2.0 * ns(reads)).min(dies * PAGE as f64 * 0.5e9 / read);
    let channel_rate = (CHANNEL_RATE as f64).max(2.0 * read.max(write) / CHANNELS as f64);
    let across = PAGE as f64 * 1e9 / channel_rate;
    let small = (4096 * wseqiops.max(wrandiops)) as f64;
    let even = if small > EVEN * write { 1.0 / EVEN } else { 1.0 };
    let program = dies * PAGE as f64 * 1e9 / (even * write) - across;
    let (program, slow) = (program.clamp(500.0, LONGEST_PROGRAM_NS) as u64, program > LONGEST_PROGRAM_NS);
    let wire = if slow || even > 1.0 { write } else { read.max(write) } as u64;
    Made { depth, duplex, command: command as u64, interval, sense: sense as u64, channel_rate, program, read, wire }
}

/// The drive's file.
pub(super) fn toml(about: &str, figures: &SixFigures, size_bytes: u64) -> String {
    let SixFigures { rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops } = *figures;
    let Made { depth, duplex, command, interval, sense, channel_rate, program, read, wire } = made(figures);
    let [sequential_read, random_read, sequential_write, random_write] =
        [rseqiops, rrandiops, wseqiops, wrandiops].map(|iops| ns(iops).min(100_000_000.0) as u64);
    format!(
        "\
# Made of six figures: rbps={rbps} rseqiops={rseqiops} rrandiops={rrandiops} wbps={wbps} wseqiops={wseqiops}
# wrandiops={wrandiops}. READ: follows from them. MEMORY: of the class; the figures do not tell.
kind = \"ssd\"
description = \"{about}; from its six figures for io.cost\"
capacity = \"{size_bytes}B\"   # READ
max_command = \"1MiB\"         # MEMORY
depth = {depth}                # MEMORY: SATA or NVMe, by its byte rates

[overhead]
command = \"{command}ns\"      # MEMORY, or as much as the figures leave
interval = \"{interval}ns\"    # READ: the fastest of the reads
sequential_read = \"{sequential_read}ns\"    # READ: 1 / rseqiops
random_read = \"{random_read}ns\"            # READ: 1 / rrandiops
sequential_write = \"{sequential_write}ns\"  # READ: 1 / wseqiops
random_write = \"{random_write}ns\"          # READ: 1 / wrandiops

[interface]
rate = \"{read:.0}B/s\"        # READ: rbps
write_rate = \"{wire}B/s\"     # READ: wbps, or no slower than the programs
duplex = \"{duplex}\"          # MEMORY

[flash]
channels = {CHANNELS}           # MEMORY
dies = 8                       # MEMORY
page = \"16KiB\"               # MEMORY
program_size = \"16KiB\"       # MEMORY
read = \"{sense}ns\"           # MEMORY, or as much as the figures leave
program = \"{program}ns\"      # READ: wbps over all dies, collection included
channel_rate = \"{channel_rate:.0}B/s\" # MEMORY, or twice what crosses it

[interference]
state = \"suspend\"            # MEMORY
suspend = \"20us\"             # MEMORY
patience = 8                   # MEMORY

[buffer]
state = \"on\"                 # MEMORY
size = \"4MiB\"                # MEMORY: small, because the figures are sustained ones and know no burst
power_loss = \"lost\"          # MEMORY

[collection]
state = \"off\"                # READ: it is in the sustained figures
after = \"0B\"
block = \"16MiB\"
valid = \"0%\"
erase = \"0us\"

{}",
        published(figures)
    )
}

/// The figures in the form of a data sheet.
fn published(figures: &SixFigures) -> String {
    let names = [
        "deep_read",
        "deep_sequential_read",
        "deep_random_read",
        "deep_write",
        "deep_sequential_write",
        "deep_random_write",
    ];
    let one = |((name, value), source): ((&str, u64), &str)| {
        let unit = if source.ends_with("bps") { "B/s" } else { "/s" };
        format!("[[published]]\nfigure = \"{name}\"\nvalue = \"{value}{unit}\"\nsource = \"{source}\"\n\n")
    };
    names.into_iter().zip(figures.to_array()).zip(SixFigures::NAMES).map(one).collect()
}
