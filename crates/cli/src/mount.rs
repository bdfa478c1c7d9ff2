//! `blksched mount`: exports of an NBD server as files of a directory.

use std::path::PathBuf;

use blksched_nbd::Uri;
use clap::Args;

use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MountArguments {
    /// The directory, which must exist
    #[arg(value_name = "DIRECTORY")]
    pub(crate) directory: PathBuf,
    /// The exports, each of which becomes a file with its name; under TLS as
    /// nbds://HOST/EXPORT?tls-certificates=FOLDER (ca-cert.pem, and client-cert.pem and client-key.pem if need be;
    /// &tls-hostname= if the server's certificate has another name)
    #[arg(value_name = "URI", required = true)]
    pub(crate) uris: Vec<Uri>,
    /// How many requests are in flight at a time, over all files
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) depth: u32,
}

const EXAMPLES: &str = "\
It ends when the directory is unmounted, or on Ctrl-C.

Examples:
  blksched mount disks 'nbd+unix:///a?socket=disk.sock' 'nbd+unix:///b?socket=disk.sock' &
  blksched mount disks 'nbds://disks.example/a?tls-certificates=/etc/nbd' &
  mkfs.ext4 disks/a && mount -o loop disks/a /mnt      (as root)
  fusermount3 -u disks";

/// Until it is unmounted.
pub(crate) fn run(arguments: &MountArguments) -> Result<(), Failure> {
    let mut say = |line: &str| {
        // That nothing can be told is no reason not to go on.
        let _ = output::print(&format!("{line}\n"));
    };
    let MountArguments { directory, uris, depth } = arguments;
    blksched_serve::mount::mount(directory, uris, *depth as usize, &mut say).map_err(Failure::Outside)
}
