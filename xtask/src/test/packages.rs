//! The tests' requirements on the machine, each listed once: Debian packages and parts of the Rust toolchain.

use std::fs;

use anyhow::{Context, Result, anyhow, bail};

use crate::shell;

/// A Debian package that something needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name in Debian.
    pub name: &'static str,
    /// How to detect that it is installed.
    pub shows: Shows,
    /// What needs it.
    pub needed_for: &'static str,
    /// If ordinary tests need it: a variable set to 1 for them when every package with the same variable is installed,
    /// so that they fail rather than skip.
    pub variable: Option<&'static str>,
}

/// How a package is detected.
#[derive(Debug, PartialEq, Eq)]
pub enum Shows {
    /// A program on the search path.
    Program(&'static str),
    /// A folder with something in it.
    Folder(&'static str),
    /// A file.
    File(&'static str),
    /// A directory in the target directory: the package is unpacked there, not installed.
    Unpacked(&'static str),
}

/// Every package; this is the only list.
pub const PACKAGES: &[Package] = &[
    Package {
        name: "fio",
        shows: Shows::Program("fio"),
        needed_for: "tests that compare our reading of job files and our JSON with fio's own",
        variable: Some("BLKSCHED_REQUIRE_FIO"),
    },
    Package {
        name: "fio-examples",
        shows: Shows::Folder("/usr/share/doc/fio/examples"),
        needed_for: "tests that read the job files that come with fio",
        variable: Some("BLKSCHED_REQUIRE_FIO"),
    },
    Package {
        name: "libnbd-bin",
        shows: Shows::Program("nbdcopy"),
        needed_for: "tests of the server with nbdinfo, nbdcopy and nbdfuse",
        variable: Some("BLKSCHED_REQUIRE_NBD"),
    },
    Package {
        name: "qemu-utils",
        shows: Shows::Program("qemu-io"),
        needed_for: "tests of the server with qemu-img and qemu-io",
        variable: Some("BLKSCHED_REQUIRE_NBD"),
    },
    Package {
        name: "python3-libnbd",
        shows: Shows::File("/usr/lib/python3/dist-packages/nbd.py"),
        needed_for: "tests of the server with a client in Python",
        variable: Some("BLKSCHED_REQUIRE_NBD"),
    },
    Package {
        name: "e2fsprogs",
        shows: Shows::Program("mkfs.ext4"),
        needed_for: "the test of a file system on the server",
        variable: Some("BLKSCHED_REQUIRE_NBD"),
    },
    Package {
        name: "fuse3",
        shows: Shows::Program("fusermount3"),
        needed_for: "the test of a file system on the server",
        variable: Some("BLKSCHED_REQUIRE_NBD"),
    },
    Package {
        name: "qemu-system-x86",
        shows: Shows::Program("qemu-system-x86_64"),
        needed_for: "the test of two virtual machines on the server",
        variable: Some("BLKSCHED_REQUIRE_GUESTS"),
    },
    Package {
        name: "busybox-static",
        shows: Shows::Program("busybox"),
        needed_for: "the test of two virtual machines on the server",
        variable: Some("BLKSCHED_REQUIRE_GUESTS"),
    },
    Package {
        name: "linux-image-cloud-amd64",
        shows: Shows::Unpacked("guest-kernel"),
        needed_for: "the test of two virtual machines on the server",
        variable: Some("BLKSCHED_REQUIRE_GUESTS"),
    },
    Package {
        name: "chromium",
        shows: Shows::Program("chromium"),
        needed_for: "the slow tests that open reports in a browser",
        variable: None,
    },
    Package {
        name: "firefox-esr",
        shows: Shows::Program("firefox-esr"),
        needed_for: "the slow test that opens a report in Firefox",
        variable: None,
    },
    Package {
        name: "poppler-utils",
        shows: Shows::Program("pdftotext"),
        needed_for: "the slow test that reads a report as it is printed",
        variable: None,
    },
    Package {
        name: "python3-jsonschema",
        shows: Shows::File("/usr/lib/python3/dist-packages/jsonschema/__init__.py"),
        needed_for: "tests that hold JSON to its schemas",
        variable: Some("BLKSCHED_REQUIRE_SCHEMA"),
    },
    Package {
        name: "node-typescript",
        shows: Shows::Program("tsc"),
        needed_for: "the types of the report's page",
        variable: None,
    },
    Package {
        name: "python3-venv",
        shows: Shows::File("/usr/share/doc/python3-venv/copyright"),
        needed_for: "the environment in which Python's package is tested",
        variable: None,
    },
    Package {
        name: "parallel",
        shows: Shows::Program("parallel"),
        needed_for: "the slow test of a sweep's shards by GNU parallel",
        variable: None,
    },
    Package {
        name: "slurm-client",
        shows: Shows::Program("sbatch"),
        needed_for: "the slow test of a sweep's shards as an array of Slurm",
        variable: None,
    },
    Package {
        name: "slurmctld",
        shows: Shows::Program("slurmctld"),
        needed_for: "the slow test of a sweep's shards as an array of Slurm",
        variable: None,
    },
    Package {
        name: "slurmd",
        shows: Shows::Program("slurmd"),
        needed_for: "the slow test of a sweep's shards as an array of Slurm",
        variable: None,
    },
    Package {
        name: "zsh",
        shows: Shows::Program("zsh"),
        needed_for: "the test of what zsh completes",
        variable: Some("BLKSCHED_REQUIRE_SHELLS"),
    },
    Package {
        name: "fish",
        shows: Shows::Program("fish"),
        needed_for: "the test of what fish completes",
        variable: Some("BLKSCHED_REQUIRE_SHELLS"),
    },
    Package {
        name: "mandoc",
        shows: Shows::Program("mandoc"),
        needed_for: "the test that man pages have no errors",
        variable: Some("BLKSCHED_REQUIRE_SHELLS"),
    },
    Package {
        name: "valgrind",
        shows: Shows::Program("valgrind"),
        needed_for: "instruction counts (cargo xtask bench --gate)",
        variable: None,
    },
    Package {
        name: "blktrace",
        shows: Shows::Program("blkparse"),
        needed_for: "traces read by others beside us (cargo xtask bench --peers)",
        variable: None,
    },
    Package {
        name: "prometheus",
        shows: Shows::Program("promtool"),
        needed_for: "tests of the server's figures with promtool and Prometheus",
        variable: Some("BLKSCHED_REQUIRE_PROMETHEUS"),
    },
];

/// Set to 1 for the tests when every package that they need is there.
pub const REQUIRE_ALL: &str = "BLKSCHED_REQUIRE_OUTSIDE";

/// Components of the toolchain: rustup's name, and the cargo command that shows it.
pub const COMPONENTS: &[(&str, &str)] = &[("rustfmt", "fmt"), ("clippy", "clippy")];

impl Package {
    /// Whether this machine has it.
    pub fn is_here(&self) -> bool {
        match self.shows {
            Shows::Program(name) => shell::find_program(name).is_some(),
            Shows::File(path) => fs::metadata(path).is_ok(),
            Shows::Folder(path) => fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()),
            Shows::Unpacked(folder) => shell::target().join(folder).is_dir(),
        }
    }

    fn is_unpacked(&self) -> bool {
        matches!(self.shows, Shows::Unpacked(_))
    }
}

/// The variables to set to 1 for the tests here.
pub fn required() -> Vec<&'static str> {
    let of_tests = || PACKAGES.iter().filter_map(|package| Some((package, package.variable?)));
    let all_here = |variable: Option<&str>| {
        of_tests()
            .filter(|(_, own)| variable.is_none_or(|variable| variable == *own))
            .all(|(package, _)| package.is_here())
    };
    let mut set: Vec<_> =
        of_tests().map(|(_, variable)| variable).filter(|variable| all_here(Some(variable))).collect();
    set.extend(all_here(None).then_some(REQUIRE_ALL));
    set.dedup();
    set
}

/// The package of that name.
///
/// # Panics
/// If the table has none.
pub fn named(name: &str) -> &'static Package {
    PACKAGES.iter().find(|package| package.name == name).expect("a package of the table")
}

/// Whether cargo has that command.
pub fn has_component(command: &str) -> bool {
    shell::capture(shell::cargo(&[command, "--version"])).is_ok_and(|finished| finished.good)
}

/// The result of installing.
pub enum Installed {
    /// Everything is installed; what was done for that.
    All(String),
    /// This is not Debian: why the rest cannot be installed.
    NotHere(String),
}

/// Installs what is missing.
///
/// # Errors
/// If something is still missing, though it could have been installed.
pub fn install() -> Result<Installed> {
    let mut done = install_components()?;
    let (unpacked, missing): (Vec<_>, Vec<_>) =
        PACKAGES.iter().filter(|package| !package.is_here()).partition(|package| package.is_unpacked());
    let missing: Vec<_> = missing.into_iter().map(|package| package.name).collect();
    if !missing.is_empty() {
        if shell::find_program("apt-get").is_none() {
            return Ok(Installed::NotHere(format!("no apt-get here to install {} with", missing.join(", "))));
        }
        install_packages(&missing)?;
        done.extend(missing);
    }
    // The guests' kernel is for one architecture, and only from Debian: elsewhere its step is skipped.
    let mut lacking = String::new();
    if !unpacked.is_empty() && cfg!(target_arch = "x86_64") && shell::find_program("apt-get").is_some() {
        let names = unpacked.into_iter().map(|package| package.name);
        match unpack_kernel() {
            Ok(()) => done.extend(names),
            Err(error) => lacking = format!("; not {}: {error:#}", names.collect::<Vec<_>>().join(", ")),
        }
    }
    Ok(Installed::All(match done.as_slice() {
        [] if lacking.is_empty() => "nothing was missing".to_owned(),
        [] => format!("installed nothing{lacking}"),
        names => format!("installed {}{lacking}", names.join(", ")),
    }))
}

fn install_components() -> Result<Vec<&'static str>> {
    let missing = COMPONENTS.iter().filter(|(_, command)| !has_component(command)).map(|(name, _)| *name);
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    if shell::find_program("rustup").is_none() {
        bail!("{} not installed, and there is no rustup to install it with", missing.join(", "));
    }
    succeed(shell::command("rustup", &[&["component", "add"], &missing[..]].concat()))?;
    Ok(missing)
}

/// Installs these Debian packages.
///
/// # Errors
/// If that is not permitted, or apt-get fails; its output is in the error.
pub fn get(names: &[&str]) -> Result<()> {
    succeed(as_root(&["apt-get", "update"])?)?;
    // Small images omit documentation, including fio's examples; a package may be installed without its files.
    let examples = "Dpkg::Options::=--path-include=/usr/share/doc/*/examples/*";
    let get = ["apt-get", "install", "--yes", "--no-install-recommends", "--reinstall", "--option", examples];
    succeed(as_root(&[&get[..], names].concat())?)
}

fn install_packages(missing: &[&str]) -> Result<()> {
    get(missing)?;
    let still = PACKAGES.iter().find(|package| missing.contains(&package.name) && !package.is_here());
    still.map_or(Ok(()), |package| Err(anyhow!("{} is installed, yet {:?} is not there", package.name, package.shows)))
}

/// Unpacks the guests' kernel, as in the guide. An image knows no package before its first update.
fn unpack_kernel() -> Result<()> {
    let fetch = || {
        let mut script = shell::command("sh", &["docs/two-guests.sh", "--fetch"]);
        script.env("CARGO_TARGET_DIR", shell::target());
        succeed(script)
    };
    fetch().or_else(|_| {
        succeed(as_root(&["apt-get", "update"])?)?;
        fetch()
    })
}

/// A command as root, through sudo if necessary.
fn as_root(words: &[&str]) -> Result<std::process::Command> {
    let id = shell::capture(shell::command("id", &["-u"])).context("asking who we are")?;
    let mut command = if id.output.trim() == "0" {
        shell::command(words[0], &words[1..])
    } else if shell::find_program("sudo").is_some() {
        shell::command("sudo", words)
    } else {
        bail!("not root, and there is no sudo, for: {}", words.join(" "));
    };
    command.env("DEBIAN_FRONTEND", "noninteractive");
    Ok(command)
}

fn succeed(command: std::process::Command) -> Result<()> {
    let shown = shell::shown(&command);
    let finished = shell::capture(command)?;
    if finished.good { Ok(()) } else { Err(anyhow!("{shown} failed:\n{}", finished.output)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_not_there_is_seen_as_missing() {
        let package = |shows| Package { name: "none", shows, needed_for: "", variable: None };
        assert!(!package(Shows::Program("no-such-program")).is_here());
        assert!(!package(Shows::Folder("/no/such/folder")).is_here());
        assert!(package(Shows::Program("sh")).is_here());
        assert!(package(Shows::Folder("/usr/bin")).is_here());
    }

    #[test]
    fn tests_must_run_exactly_where_all_their_packages_are() {
        let variables = [
            "BLKSCHED_REQUIRE_FIO",
            "BLKSCHED_REQUIRE_NBD",
            "BLKSCHED_REQUIRE_GUESTS",
            "BLKSCHED_REQUIRE_SCHEMA",
            "BLKSCHED_REQUIRE_SHELLS",
            "BLKSCHED_REQUIRE_PROMETHEUS",
        ];
        let of = |variable| PACKAGES.iter().filter(move |package| package.variable == Some(variable));
        let mut expected: Vec<_> =
            variables.into_iter().filter(|&variable| of(variable).all(Package::is_here)).collect();
        if expected.len() == variables.len() {
            expected.push(REQUIRE_ALL);
        }
        assert_eq!(required(), expected);
    }

    #[test]
    fn each_package_is_named_once() {
        let mut names: Vec<_> = PACKAGES.iter().map(|package| package.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PACKAGES.len());
    }
}
