//! `blksched ublk`: block devices created by a server (`serve --ublk`), and those left by a killed server.

use blksched_serve::{UblkDevice, UblkState, remove_ublk, ublk_devices};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UblkArguments {
    #[command(subcommand)]
    verb: UblkVerb,
}

#[derive(Debug, Subcommand)]
enum UblkVerb {
    /// Show all devices of this machine.
    List,
    /// Remove one whose server has exited.
    Remove {
        /// Its number, as in /dev/ublkb0.
        id: u32,
    },
}

const EXAMPLES: &str = "\
It takes root, and Linux 6.5 or later with the ublk driver (modprobe ublk_drv).

Examples:
  blksched ublk list
  blksched ublk remove 0        # what a server that was killed has left of /dev/ublkb0";

/// Shows the devices, or removes one.
pub(crate) fn run(arguments: &UblkArguments) -> Result<(), Failure> {
    match arguments.verb {
        UblkVerb::List => {
            let lines: String = ublk_devices().map_err(Failure::Outside)?.iter().map(line).collect();
            Ok(output::print(if lines.is_empty() { "no ublk devices\n" } else { &lines })?)
        }
        UblkVerb::Remove { id } => remove_ublk(id).map_err(Failure::Outside),
    }
}

fn line(device: &UblkDevice) -> String {
    let (path, info) = (device.path(), &device.info);
    let state = match info.state {
        UblkState::Dead => "no block device",
        UblkState::Live => "live",
        UblkState::Quiesced => "waiting for a server",
        UblkState::Other(_) => "another state",
    };
    let server = match info.process.filter(|_| device.served) {
        Some(process) => format!("served by process {process}"),
        // The driver reports the same for a device that is only just being created.
        None => format!("its server is gone: `blksched ublk remove {}` removes it", device.id),
    };
    format!("{}: {state}, {} queues of {}, {server}\n", path.display(), info.queues, info.depth)
}
