//! Options about the job itself and its engine.

use super::{Category, OptionEntry, OptionKind, supported_entry};
use crate::calls::CallInterface;
use crate::fio::settings::{IoEngine, Settings};

const ENGINES: &[&str] = &[
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "solarisaio",
    "windowsaio",
    "sg",
];

/// Why an engine of fio's is none here (its manual's list of engines); `None` for what is no engine.
pub(in crate::fio) fn why_no_engine(word: &str) -> Option<&'static str> {
    const ELSEWHERE: &str = "its I/O goes to a network, a cluster or a library, and reaches no disk of this simulation";
    const NOTHING: &str = "it transfers nothing to or from a disk";
    const MEMORY: &str = "its I/O is loads and stores of the processor, which are not simulated";
    let word = word.strip_prefix("external:").unwrap_or(word).rsplit('/').next().unwrap_or(word);
    match word {
        "rbd"
        | "rados"
        | "http"
        | "libhdfs"
        | "nbd"
        | "gfapi"
        | "gfapi_async"
        | "rdma"
        | "net"
        | "netsplice"
        | "nfs"
        | "xnvme"
        | "libblkio"
        | "spdk"
        | "spdk_bdev"
        | "spdk_nvme"
        | "librpma_apm_client"
        | "librpma_apm_server"
        | "librpma_gpspm_client"
        | "librpma_gpspm_server"
        | "libiscsi" => Some(ELSEWHERE),
        "null" | "cpuio" | "filecreate" | "filestat" | "filedelete" | "dircreate" | "dirstat" | "dirdelete"
        | "exec" | "ftruncate" | "falloc" => Some(NOTHING),
        "libpmem" | "dev-dax" | "pmemblk" => Some(MEMORY),
        "libcufile" | "splice" | "e4defrag" => Some("its system call is not simulated"),
        "mtd" => Some("its flash chip is no block device"),
        word if word.ends_with(".so") => Some("it is a library of somebody else's"),
        "libzbc" => Some("no simulated disk has zones that must be written in order"),
        _ => None,
    }
}

const fn entry(name: &'static str, category: Category, kind: OptionKind, doc: &'static str) -> OptionEntry {
    supported_entry(name, &[], category, kind, doc)
}

fn set_engine(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.engine = match word {
        "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" => IoEngine::Synchronous,
        "mmap" => IoEngine::Mapped,
        "libaio" => IoEngine::AsynchronousIfDirect,
        "sg" => IoEngine::SynchronousCommands,
        "io_uring_cmd" => IoEngine::AsynchronousCommands,
        _ => IoEngine::Asynchronous,
    };
    settings.cpus.calls.interface = match (settings.engine, word) {
        (IoEngine::Synchronous | IoEngine::Mapped | IoEngine::SynchronousCommands, _) => CallInterface::Sync,
        (_, "io_uring" | "io_uring_cmd") => CallInterface::Uring,
        _ => CallInterface::Aio,
    };
    Ok(())
}

const SG_WRITES: &[&str] = &[
    "write",
    "0",
    "write_same",
    "same",
    "write_same_ndob",
    "verify_bytchk_00",
    "verify_bytchk_01",
    "verify_bytchk_11",
];

fn set_sg_write(settings: &mut Settings, word: &str) -> Result<(), &'static str> {
    settings.sg_verifies = word.starts_with("verify");
    Ok(())
}

pub(super) const OPTIONS: &[OptionEntry] = &[
    entry("name", Category::Job, OptionKind::Text(|s, name| s.name = Some(name)), "the job's name in reports"),
    entry("description", Category::Job, OptionKind::Text(|s, text| s.description = Some(text)), "a line about the job"),
    entry(
        "ioengine",
        Category::Engine,
        OptionKind::Word { words: ENGINES, set: set_engine },
        "how I/O is submitted; synchronous engines mean depth 1, sg and io_uring_cmd go past the page cache",
    ),
    entry(
        "cmd_type",
        Category::Engine,
        OptionKind::Word { words: &["nvme"], set: |_, _| Ok(()) },
        "what io_uring_cmd sends",
    ),
    entry(
        "sg_write_mode",
        Category::Engine,
        OptionKind::Word { words: SG_WRITES, set: set_sg_write },
        "what sg sends for a write; a verification reads the medium, and is counted as a read",
    ),
    entry(
        "iodepth",
        Category::Engine,
        OptionKind::Int { min: 1, max: 65_536, set: |s, depth| s.iodepth = depth },
        "how many I/Os an asynchronous engine keeps in flight",
    ),
];
