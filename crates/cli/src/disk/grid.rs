//! `blksched disk grid`: the measurement that `disk fit` takes, for a machine on which nothing of ours is installed.

use std::fmt::Write as _;

use clap::Args;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GridArguments {
    /// Print the fio job file to standard output; nothing is measured here
    #[arg(long, required = true)]
    print: bool,
    /// The device to measure, as it is named there
    #[arg(long, value_name = "FILE", default_value = "/dev/CHANGE-ME")]
    filename: String,
    /// Also measure writes, and reads beside writes: this overwrites the device, and takes three times as long
    #[arg(long)]
    overwrite: bool,
}

const EXAMPLES: &str = "\
Examples:
  blksched disk grid --print --filename /dev/sdb > grid.fio
  fio --output-format=json --output=grid.json grid.fio
                                                    on the machine with the disk, in 20 minutes, reading only
  blksched disk fit grid.json --out my.toml";

/// Depths of one process, and processes.
const DEPTHS: [u32; 5] = [1, 4, 8, 16, 32];
const JOBS: [u32; 4] = [1, 4, 16, 32];
/// For each cell \[s\].
const SECONDS: u32 = 60;
/// How long reads alone take.
pub(crate) const MINUTES: u32 = (DEPTHS.len() * JOBS.len()) as u32 * SECONDS / 60;

pub(super) fn run(arguments: &GridArguments) -> Result<(), Failure> {
    Ok(output::print(&job_file(&arguments.filename, arguments.overwrite))?)
}

/// The job file of this device.
pub(crate) fn job_file(filename: &str, overwrite: bool) -> String {
    let kinds: &[(&str, &str)] = match overwrite {
        false => &[("randread", "rw=randread")],
        true => &[("randread", "rw=randread"), ("randwrite", "rw=randwrite"), ("mixed", "rw=randrw\nrwmixread=50")],
    };
    let cells = kinds.len() * DEPTHS.len() * JOBS.len();
    let minutes = cells as u32 * SECONDS / 60;
    let effect = if overwrite { "IT OVERWRITES THE DEVICE" } else { "it only reads" };
    let mut text = format!(
        "; A depth x processes grid of 4 KiB I/Os for `blksched disk fit`.\n\
         ; {cells} cells, {minutes} minutes; {effect}.\n\
         ; fio --output-format=json --output=grid.json grid.fio\n\
         ; Note beside it what the device hangs on, its scheduler (/sys/block/*/queue/scheduler) and the kernel.\n\
         ; A drive that was never written answers reads without reading its flash: fill it first.\n\
         [global]\nfilename={filename}\nioengine=libaio\ndirect=1\nbs=4k\ntime_based\nruntime={SECONDS}\n\
         group_reporting\nnorandommap\nrandrepeat=0\npercentile_list=50:90:99:99.9\n"
    );
    for (name, options) in kinds {
        for depth in DEPTHS {
            for jobs in JOBS {
                let _ =
                    write!(text, "\n[{name}-{depth}-{jobs}]\nstonewall\n{options}\niodepth={depth}\nnumjobs={jobs}\n");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use blksched_workloads::fio::JobFile;

    use super::*;

    #[test]
    fn the_job_file_is_one_and_reads_only_unless_asked() {
        for (overwrite, cells) in [(false, 20), (true, 60)] {
            let text = job_file("/dev/sdb", overwrite);
            let file = JobFile::parse(&text, "grid.fio").unwrap();
            let plan = file.plan(1 << 30).unwrap();
            assert_eq!(plan.jobs.len(), cells / JOBS.len() * 53, "1 + 4 + 16 + 32 processes at each depth");
            assert_eq!(text.contains("randwrite"), overwrite);
            assert!(text.contains(&format!("{cells} cells, {cells} minutes")));
        }
    }
}
