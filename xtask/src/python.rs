//! Python's package: `wheel` builds it; `test` runs its suite in a virtual environment below the target folder. Tools
//! are installed from PyPI, only into that environment. The usual suite takes the library as the workspace's tests have
//! built it, in a folder beside the package's own sources; the slow one builds and installs a wheel.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs, iter};

use anyhow::{Context, Result, bail};

use crate::shell;
use crate::test::libtest::Skip;
use crate::test::report::Outcome;

const PACKAGE: &str = "crates/python";
/// The tools for building and testing, including the suite's own requirements and the object store of `tests/uri.rs`.
const TOOLS: &[&str] = &["maturin>=1.9,<2", "pytest", "pyarrow", "moto[server]"];
/// The additional tools of the slow tier.
const SLOW_TOOLS: &[&str] = &[
    "mypy",
    "optuna",
    "polars",
    "duckdb",
    "datafusion",
    "nbclient",
    "ipykernel",
    "ray",
    "setuptools<81",
    "kubernetes-validate",
];

/// Prints the libraries that a wheel's own library needs. (auditwheel would look for musl's here, but finds glibc's.)
const NEEDED: &str = "
import io, sys, zipfile
from elftools.elf.elffile import ELFFile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in wheel.namelist():
        if name.endswith('.so'):
            dynamic = ELFFile(io.BytesIO(wheel.read(name))).get_section_by_name('.dynamic')
            print(*(tag.needed for tag in dynamic.iter_tags('DT_NEEDED')))
";
/// The library that contains everything of musl.
const MUSL: &str = "libc.so";

/// The greatest size of a wheel.
const MOST_BYTES: u64 = 10_000_000;

/// Builds the library as part of everything that tests run, so that nothing is compiled twice.
pub const BUILD: [&str; 7] = ["build", "--quiet", "--workspace", "--lib", "--bins", "--tests", "--examples"];

/// How the code of a wheel is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Built {
    /// For testing: reuses what is already compiled.
    Soon,
    /// For release: like `dist`.
    Small,
}

/// The systems that a wheel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wheel {
    /// Systems like this one.
    Here,
    /// glibc 2.17 or later, and musl 1.2 or later; linked with zig.
    Everywhere,
}

/// Which tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Those that take seconds.
    Usual,
    /// Also types, notebooks, Optuna, DuckDB, Polars, Ray.
    Slow,
}

/// Builds the wheels into target/wheels, and prints where they are.
///
/// # Errors
/// If Python or a tool is not available, or the build fails.
pub fn wheel(what: Wheel) -> Result<()> {
    env::set_current_dir(shell::root())?;
    let environment = Environment::make()?;
    environment.pip(TOOLS)?;
    let built = match what {
        Wheel::Here => vec![environment.build("here", Built::Small, &[])?],
        Wheel::Everywhere => {
            environment.pip(&["ziglang", "auditwheel"])?;
            let of = |target: &str, tag: &str| {
                let more = ["--zig", "--target", target, "--compatibility", tag];
                let wheel = environment.build(tag, Built::Small, &more)?;
                environment.keeps_to(&wheel, tag)?;
                Ok::<_, anyhow::Error>(wheel)
            };
            vec![of("x86_64-unknown-linux-gnu", "manylinux_2_17")?, of("x86_64-unknown-linux-musl", "musllinux_1_2")?]
        }
    };
    for path in built {
        println!("{} ({:.1} MB)", path.display(), small_enough(&path)? as f64 / 1e6);
    }
    Ok(())
}

/// Gets the tools before any test needs one; a machine without Python, or without access to PyPI, is not a failure.
pub fn tools() -> Outcome {
    let skipped =
        |reason: &str| Outcome::Skipped(Skip { what: "PyPI".to_owned(), reason: reason.to_owned(), packages: vec![] });
    if shell::find_program("python3").is_none() {
        return skipped("there is no python3");
    }
    match Environment::make().and_then(|environment| environment.pip(TOOLS)) {
        Ok(()) => Outcome::Passed(TOOLS.join(", ")),
        Err(error) if is_offline(&error) => skipped("PyPI cannot be reached"),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn is_offline(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("Could not fetch URL")
}

/// The step of `test`.
pub fn step(install: bool, suite: Suite) -> Outcome {
    let skipped = |reason: String| Outcome::Skipped(Skip { what: "python".to_owned(), reason, packages: vec![] });
    if shell::find_program("python3").is_none() {
        return skipped("there is no python3".to_owned());
    }
    let known = Environment::here().is_some_and(|environment| environment.has_tools());
    if !install && !known {
        return skipped("its tools are not installed; --install gets them from PyPI".to_owned());
    }
    match tested(install, suite) {
        Ok(note) => Outcome::Passed(note),
        // Failing to fetch something is not a failure of the tests.
        Err(error) if is_offline(&error) => skipped("PyPI cannot be reached".to_owned()),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn tested(install: bool, suite: Suite) -> Result<String> {
    let environment = Environment::make()?;
    if install {
        environment.pip(TOOLS)?;
        if suite == Suite::Slow {
            environment.pip(SLOW_TOOLS)?;
        }
    }
    let (path, note) = match suite {
        Suite::Usual => (Some(laid_out()?), String::new()),
        Suite::Slow => (None, environment.install()?),
    };
    let marked: &[&str] = if suite == Suite::Slow { &[] } else { &["-m", "not slow"] };
    let words = [&["-m", "pytest", "--quiet", "--color=no", "-rs", "-p", "no:cacheprovider"], marked].concat();
    let said = environment.run_with(&words, Path::new(PACKAGE), path.as_deref())?;
    let summary = said.lines().rev().find(|line| line.contains("passed")).unwrap_or("").trim();
    // Skipped tests are named.
    let skipped: String = said.lines().filter(|line| line.starts_with("SKIPPED")).map(|l| format!("; {l}")).collect();
    Ok(format!("{summary}{note}{skipped}"))
}

/// A folder with the package as a wheel would install it: its sources, and the library of the workspace's own build.
fn laid_out() -> Result<PathBuf> {
    let folder = shell::target().join("python-package");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("removing the last one")?;
    }
    let package = folder.join("blksched");
    copy(&shell::root().join(PACKAGE).join("python/blksched"), &package)?;
    let built = shell::capture(shell::cargo(&BUILD))?;
    if !built.good {
        bail!("building the library:\n{}", built.output);
    }
    let names = [("lib_blksched.so", "_blksched.abi3.so"), ("lib_blksched.dylib", "_blksched.abi3.so")];
    let library = names.map(|(from, to)| (shell::target().join("debug").join(from), package.join(to)));
    let (from, to) = library.iter().find(|(from, _)| from.is_file()).context("the build left no lib_blksched")?;
    fs::copy(from, to).with_context(|| format!("copying {}", from.display()))?;
    Ok(folder)
}

/// A folder and all in it, without what Python has compiled.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("listing {}", from.display()))? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        match path.is_dir() {
            true if name == "__pycache__" => {}
            true => copy(&path, &to.join(name))?,
            false => drop(fs::copy(&path, to.join(name)).with_context(|| format!("copying {}", path.display()))?),
        }
    }
    Ok(())
}

/// A wheel's size \[bytes\].
fn small_enough(wheel: &Path) -> Result<u64> {
    let size = fs::metadata(wheel)?.len();
    if size > MOST_BYTES {
        bail!("{} has {size} bytes: expected at most {MOST_BYTES}", wheel.display());
    }
    Ok(size)
}

/// The virtual environment.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    fn here() -> Option<Environment> {
        let folder = shell::target().join("python");
        folder.join("bin/python").exists().then_some(Environment { folder })
    }

    fn make() -> Result<Environment> {
        if let Some(here) = Environment::here() {
            return Ok(here);
        }
        let folder = shell::target().join("python");
        let mut made = shell::command("python3", &["-m", "venv"]);
        made.arg(&folder);
        let finished = shell::capture(made)?;
        if !finished.good {
            bail!("python3 -m venv failed (Debian: python3-venv):\n{}", finished.output);
        }
        Ok(Environment { folder })
    }

    fn has_tools(&self) -> bool {
        ["maturin", "pytest"].iter().all(|tool| self.folder.join("bin").join(tool).exists())
    }

    /// Builds a wheel and installs it; its size, to be told.
    fn install(&self) -> Result<String> {
        let wheel = self.build("here", Built::Soon, &[])?;
        let size = small_enough(&wheel)?;
        let wheel = wheel.display().to_string();
        self.run(&["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", &wheel], Path::new("."))?;
        Ok(format!("; the wheel has {:.1} MB", size as f64 / 1e6))
    }

    fn pip(&self, packages: &[&str]) -> Result<()> {
        let words = [&["-m", "pip", "install", "--quiet", "--disable-pip-version-check"], packages].concat();
        self.run(&words, Path::new(".")).map(drop)
    }

    /// The wheel made by maturin, in a directory of its own; with cargo's target directory, so that compiled code is
    /// reused.
    fn build(&self, name: &str, built: Built, more: &[&str]) -> Result<PathBuf> {
        let (target, wheels) = (shell::target(), shell::target().join("wheels").join(name));
        let _ = fs::remove_dir_all(&wheels);
        let manifest = format!("{PACKAGE}/Cargo.toml");
        let profile = if built == Built::Small { "dist" } else { "release" };
        let mut maturin = shell::command(self.folder.join("bin/maturin"), &["build", "--quiet", "--profile", profile]);
        maturin.args(["--manifest-path", &manifest]).args(more).arg("--out").arg(&wheels);
        maturin.env("CARGO_TARGET_DIR", &target).env("VIRTUAL_ENV", &self.folder);
        // Where it looks for zig.
        maturin.env("PATH", self.path_of_programs()?);
        let finished = shell::capture(maturin)?;
        if !finished.good {
            bail!("maturin build failed:\n{}", finished.output);
        }
        let first = fs::read_dir(&wheels)?.next().context("maturin left no wheel")??;
        Ok(first.path())
    }

    /// The environment's programs, before all others.
    fn path_of_programs(&self) -> Result<OsString> {
        let others = env::var_os("PATH").unwrap_or_default();
        let all = iter::once(self.folder.join("bin")).chain(env::split_paths(&others));
        Ok(env::join_paths(all)?)
    }

    /// Checks that it requires no more of a system than the tag promises. auditwheel checks that where libc is this
    /// system's.
    fn keeps_to(&self, wheel: &Path, tag: &str) -> Result<()> {
        let wheel = wheel.display().to_string();
        if tag.starts_with("musllinux") {
            let needed = self.run(&["-c", NEEDED, &wheel], Path::new("."))?;
            let needed: Vec<&str> = needed.split_whitespace().collect();
            if needed == [MUSL] {
                return Ok(());
            }
            bail!("{wheel} needs {}: expected {MUSL} alone", needed.join(", "));
        }
        let said = self.run(&["-m", "auditwheel", "show", &wheel], Path::new("."))?;
        let said: Vec<&str> = said.split_whitespace().collect();
        if said.join(" ").contains(tag) { Ok(()) } else { bail!("auditwheel does not find {tag}: {}", said.join(" ")) }
    }

    /// The output of Python in that directory.
    fn run(&self, words: &[&str], folder: &Path) -> Result<String> {
        self.run_with(words, folder, None)
    }

    /// The same, with modules from this folder.
    fn run_with(&self, words: &[&str], folder: &Path, modules: Option<&Path>) -> Result<String> {
        let mut python = shell::command(self.folder.join("bin/python"), words);
        python.current_dir(shell::root().join(folder)).env("PYTHONDONTWRITEBYTECODE", "1");
        if let Some(modules) = modules {
            python.env("PYTHONPATH", modules);
        }
        let shown = shell::shown(&python);
        let finished = shell::capture(python)?;
        if !finished.good {
            bail!("{shown} failed:\n{}", finished.output);
        }
        Ok(finished.output)
    }
}
