//! The arguments of `serve` and `ctl`.

use std::net::SocketAddr;
use std::path::PathBuf;

use blksched::Span;
use blksched_serve::DepthChoice;
use clap::{Args, Subcommand, ValueEnum};

use crate::scene::some_time;

#[derive(Debug, Args)]
#[command(after_help = SERVE_EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct ServeArguments {
    /// What to serve: NAME=PATH or NAME=mem:SIZE, and options after commas: weight, class, level, bps, iops,
    /// burst_bytes, burst_ops, offset, size, disk, description, lock, ro, and a cgroup's files io.max, io.latency,
    /// io.weight, io.prio.class, as in 'a=a.img,io.max=rbps=10485760 wiops=120'; may be repeated
    #[arg(long, value_name = "NAME=PATH[,OPTION]…", required_unless_present = "config")]
    pub(crate) export: Vec<String>,
    /// Read all this from a TOML file instead: the options' names as keys, with `_`, and [[export]] tables with name,
    /// path and options; SIGHUP reads it again
    #[arg(long, value_name = "FILE", conflicts_with = "export")]
    pub(crate) config: Option<PathBuf>,
    /// Only check the configuration
    #[arg(long)]
    pub(crate) check: bool,
    /// The scheduler, name[@kernel][+mechanism=variant]
    #[arg(long, value_name = "NAME", default_value = "mq-deadline")]
    pub(crate) elevator: String,
    /// What keeps the exports' shares of a disk
    #[arg(long, value_name = "WHO", value_enum, default_value_t = Keeper::Time)]
    pub(crate) shares: Keeper,
    /// Write this to every disk's io.cost.qos, as in 'enable=1 min=50.00 max=100.00'; needs --shares scheduler
    #[arg(long, value_name = "KEY=VALUE …")]
    pub(crate) io_cost_qos: Option<String>,
    /// Write this to every disk's io.cost.model: the line that `blksched disk iocost DISK` prints
    #[arg(long, value_name = "KEY=VALUE …")]
    pub(crate) io_cost_model: Option<String>,
    /// Turn a knob, as in bfq.slice_idle=0; may be repeated
    #[arg(long = "set", value_name = "ELEVATOR.KNOB=VALUE")]
    pub(crate) set: Vec<String>,
    /// How many requests the disk gets at a time; a scheduler cannot reorder these. `auto` finds how many keep the disk
    /// busy and lets hardly more wait inside it; on flash that costs others throughput, so it is not the default
    #[arg(long, value_name = "N|auto", default_value_t = DepthChoice::Fixed(16))]
    pub(crate) depth: DepthChoice,
    /// A disk with its own scheduler, depth or knobs, as in flash,elevator=kyber,depth=64; its name is that in `disk=`,
    /// or its device number, with which the names in `ctl list` begin; may be repeated
    #[arg(long, value_name = "NAME[,elevator=E][,depth=N|auto][,KNOB=VALUE]…")]
    pub(crate) disk: Vec<String>,
    /// The largest request in KiB, from 128 to 1024 [default: as in the scheduler's kernel]
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(128..=1024))]
    pub(crate) max_sectors_kb: Option<u32>,
    /// Listen at a Unix socket; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Vec<PathBuf>,
    /// Listen at an address [default, if there is no other way to connect: 127.0.0.1:10809]; may be repeated
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Give a virtual machine an export as its disk, at this socket (vhost-user-blk); may be repeated
    #[arg(long, value_name = "EXPORT=PATH")]
    pub(crate) vhost_user: Vec<String>,
    /// Make an export a block device of this machine, /dev/ublkb0 or the next (Linux 6.5, root); may be repeated
    #[arg(long, value_name = "EXPORT[,queues=N][,depth=N][,id=N]")]
    pub(crate) ublk: Vec<String>,
    /// Serve addresses beyond this machine without TLS
    #[arg(long)]
    pub(crate) plain_tcp_beyond_loopback: bool,
    /// Offer TLS: the server's certificate chain, as PEM; TCP then requires TLS, and Unix sockets allow both
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Require of TLS clients a certificate signed by one of these authorities, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_clients: Option<PathBuf>,
    /// Revoked certificates of clients (CRLs), as PEM; the issuer of every client's certificate must have one
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_revoked: Option<PathBuf>,
    /// Listen at the sockets that systemd passes
    #[arg(long)]
    pub(crate) systemd: bool,
    /// Who may open what, as UID:EXPORT, any:EXPORT, UID:* or cert=NAME:EXPORT (a DNS name of its certificate); once
    /// there is a rule, all else is denied
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Answer `blksched ctl` at this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(crate) control: Option<PathBuf>,
    /// Replace the server at the control socket, if there is one: it hands over its sockets and clients, and ends once
    /// the new server has opened what it needs; clients that connect or send requests meanwhile wait
    #[arg(long, conflicts_with_all = ["run", "systemd"])]
    pub(crate) take_over: bool,
    /// Answer Prometheus at this local address (http://ADDRESS:PORT/metrics), or at a Unix socket
    #[arg(long, value_name = "ADDRESS:PORT|PATH")]
    pub(crate) metrics: Option<String>,
    /// Run a command in a shell, with $uri, $uri_NAME and $control; serve until it ends, at a private socket
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// Write every decision to files in this directory, for `cargo xtask transcripts`
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Use the page cache [default: bypass it where the file system can]
    #[arg(long)]
    pub(crate) page_cache: bool,
    /// Be as slow, and fail as often, as a simulated disk: a preset's name, a TOML file, or disks below a stacked
    /// device, as in md-raid1:2xssd or a file with [stack]; the server's scheduler is in front of all (docs/stack.md)
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) model: Option<String>,
    /// How much data each export may have in flight
    #[arg(long, value_name = "SIZE", default_value = "64M")]
    pub(crate) memory: String,
    /// The same for all exports together [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE")]
    pub(crate) total_memory: Option<String>,
    /// How I/O is done
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t = EngineChoice::Auto)]
    pub(crate) engine: EngineChoice,
    /// How long a handshake may take, and how long a stop waits for clients
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = some_time, allow_hyphen_values = true)]
    pub(crate) patience: Span,
    /// How much to log on standard error: error, warn, info, debug, trace, off [default: $RUST_LOG, or info; warn with
    /// --run]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<String>,
    /// The format of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
    /// Also append who came and left, and who changed what, to this file, as JSON, whatever --log says
    #[arg(long, value_name = "FILE")]
    pub(crate) audit: Option<PathBuf>,
}

/// What keeps the exports' shares of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Keeper {
    /// The server, by disk time, in front of any scheduler.
    Time,
    /// The scheduler, by its groups: BFQ, and CFQ of 4.20.
    Scheduler,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and a port, as in 127.0.0.1:10809 or [::1]:10809".to_owned())
}

/// How I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    /// With io_uring where the kernel has it.
    Auto,
    /// With io_uring.
    #[value(name = "io_uring")]
    IoUring,
    /// With threads.
    Threads,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  blksched serve --export a=a.img,weight=200 --export b=b.img,weight=100 --run 'nbdinfo $uri_a'
  blksched serve --export disk=/dev/sdb --unix /run/disk.sock --control /run/disk.ctl
  blksched ctl /run/disk.ctl set queue/scheduler kyber
  blksched serve --export m=mem:1G --model hdd-7200 --run 'nbdcopy --progress $uri null:'";

#[derive(Debug, Args)]
#[command(after_help = CTL_EXAMPLES)]
pub(crate) struct CtlArguments {
    /// The server's control socket (serve --control)
    #[arg(value_name = "SOCKET")]
    pub(crate) socket: PathBuf,
    #[command(subcommand)]
    pub(crate) verb: CtlVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtlVerb {
    /// Show a value.
    Get {
        /// Its name, as in queue/scheduler or tenants/a/weight.
        name: String,
    },
    /// Change a value.
    Set {
        /// Its name.
        name: String,
        /// Its new value.
        value: String,
    },
    /// Add, remove or resize exports.
    Export {
        #[command(subcommand)]
        verb: ExportVerb,
    },
    /// Show all names and their values.
    List {
        /// Only those that begin with this.
        prefix: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExportVerb {
    /// Serve another export, on a disk that is already open or on its own.
    Add {
        /// In the syntax of `serve --export`.
        #[arg(value_name = "NAME=PATH[,OPTION]…")]
        export: String,
    },
    /// Stop serving an export; when this returns, all its writes are on stable storage.
    Remove {
        /// Its name.
        name: String,
        /// Disconnect its clients; otherwise an export with clients stays
        #[arg(long)]
        hard: bool,
    },
    /// Change an export's size: clients see it when they (or a guest's monitor) reconnect, but the added end is served
    /// at once.
    Resize {
        /// Its name.
        name: String,
        /// Its size [default: the current size of its file]
        size: Option<String>,
    },
}

const CTL_EXAMPLES: &str = "\
Examples:
  blksched ctl /run/disk.ctl list
  blksched ctl /run/disk.ctl set queue/iosched/fifo_batch 8
  blksched ctl /run/disk.ctl set tenants/a/weight 300
  blksched ctl /run/disk.ctl set tenants/a/iops 500
  blksched ctl /run/disk.ctl export add c=c.img,weight=50
  blksched ctl /run/disk.ctl export resize c";
