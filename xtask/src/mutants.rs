//! `mutants`: small mistakes, each of which a named test must notice. A suite that gets faster by losing a test that
//! bites shows here.
//!
//! `xtask/mutants.toml` lists them: a file, an expression in it, what to put in its place, and the test that notices.
//! All are built into one copy of the repository below the target folder, each behind a switch (`if mutant(17) { a <= b
//! } else { a < b }`), so that one build serves them all; the variable [`SWITCH`] turns one on. First every named test
//! must pass with none on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use crate::{Verdict, shell};

const LIST: &str = "xtask/mutants.toml";
/// The number of the mistake that is made; none without it.
const SWITCH: &str = "BLKSCHED_MUTANT";
/// A test that takes this long with a mistake has noticed it: it takes seconds without.
const LONGEST: Duration = Duration::from_secs(120);
/// How long the build may take.
const BUILD: Duration = Duration::from_secs(90 * 60);

/// What the copy's crates ask; `no_std` is no obstacle to tests.
const ASKED: &str = "
extern crate std as mutants_std;

/// Whether this mistake is made.
#[doc(hidden)]
#[allow(missing_docs)]
pub fn mutant(number: u32) -> bool {
    static ASKED: mutants_std::sync::OnceLock<Option<u32>> = mutants_std::sync::OnceLock::new();
    let asked = || mutants_std::env::var(\"BLKSCHED_MUTANT\").ok().and_then(|number| number.parse().ok());
    *ASKED.get_or_init(asked) == Some(number)
}
";

/// A mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mutant {
    /// From the repository's root.
    file: String,
    /// Text around the expression that is in the file once, with `…` in place of the expression.
    within: String,
    /// The expression.
    from: String,
    /// What is put in its place.
    to: String,
    /// The package's lib test that fails.
    test: String,
}

impl Mutant {
    /// `crates/disks/src/hdd/wire.rs` is in `crates/disks`.
    fn folder(&self) -> Option<&str> {
        self.file.split_once("/src/").map(|(folder, _)| folder)
    }

    /// The file's text with the mistake behind its switch.
    fn switched(&self, number: usize, text: &str) -> Result<String> {
        let whole = self.within.replace('…', &self.from);
        if text.matches(&whole).count() != 1 {
            bail!("{}: expected `{whole}` once, found it {} times", self.file, text.matches(&whole).count());
        }
        let either = format!("(if crate::mutant({number}) {{ {} }} else {{ {} }})", self.to, self.from);
        Ok(text.replace(&whole, &self.within.replace('…', &either)))
    }
}

/// # Errors
/// If the list does not fit the files, or the copy does not build.
pub fn run() -> Result<Verdict> {
    std::env::set_current_dir(shell::root())?;
    let mutants = parse(&fs::read_to_string(LIST).with_context(|| format!("reading {LIST}"))?)?;
    let tree = shell::target().join("mutants");
    copy(&tree)?;
    plant(&tree, &mutants)?;
    println!("{} mutants planted; building the tests once", mutants.len());
    let folders: BTreeSet<&str> = mutants.iter().filter_map(Mutant::folder).collect();
    let programs = programs(&tree, &folders)?;
    let mut survivors = 0;
    for (at, mutant) in mutants.iter().enumerate() {
        let folder = mutant.folder().with_context(|| format!("{} is no source of a crate", mutant.file))?;
        let program = programs.get(folder).with_context(|| format!("{folder} has no tests of its library"))?;
        let notices = |number: Option<usize>| notices(&tree.join(folder), program, &mutant.test, number);
        if notices(None)? {
            bail!("{} fails, or is not there, without any mistake", mutant.test);
        }
        let dies = notices(Some(at + 1))?;
        survivors += usize::from(!dies);
        let Mutant { file, from, to, test, .. } = mutant;
        println!("{} {file}: `{from}` -> `{to}`: {test}", if dies { "dies    " } else { "SURVIVES" });
    }
    println!("{} of {} mutants die", mutants.len() - survivors, mutants.len());
    Ok(Verdict::when(survivors == 0))
}

fn parse(text: &str) -> Result<Vec<Mutant>> {
    let table: toml::Table = text.parse().with_context(|| format!("reading {LIST}"))?;
    let list = table.get("mutant").and_then(toml::Value::as_array).context("no [[mutant]]")?;
    let of = |entry: &toml::Value| {
        let word = |key: &str| entry.get(key).and_then(toml::Value::as_str).map(str::to_owned);
        let needed = |key: &str| word(key).ok_or_else(|| anyhow!("a mutant without `{key}`: {entry:?}"));
        let within = word("within").unwrap_or_else(|| "…".to_owned());
        if within.matches('…').count() != 1 {
            bail!("`within` has one … where the expression stands: {within}");
        }
        Ok(Mutant { file: needed("file")?, within, from: needed("from")?, to: needed("to")?, test: needed("test")? })
    };
    list.iter().map(of).collect()
}

/// Copies what git knows of; files that did not change keep their date, so that they are not compiled again.
fn copy(tree: &Path) -> Result<()> {
    let listed = shell::command("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).output()?;
    for file in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|file| !file.is_empty()) {
        let (from, to) = (shell::root().join(file), tree.join(file));
        let Ok(kind) = fs::symlink_metadata(&from) else { continue };
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        if kind.is_symlink() {
            let _ = fs::remove_file(&to);
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&from)?, &to).with_context(|| format!("linking {file}"))?;
            continue;
        }
        write_if_new(&to, &fs::read(&from).with_context(|| format!("reading {file}"))?)?;
    }
    Ok(())
}

fn write_if_new(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))
}

/// Puts all mistakes into the copy, and the switch into the crates that have any.
fn plant(tree: &Path, mutants: &[Mutant]) -> Result<()> {
    let mut files = BTreeMap::new();
    for (at, mutant) in mutants.iter().enumerate() {
        let text = files.entry(mutant.file.clone());
        let text = match text {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(fs::read_to_string(&mutant.file).with_context(|| format!("reading {}", mutant.file))?)
            }
        };
        *text = mutant.switched(at + 1, text)?;
    }
    let folders: BTreeSet<&str> = mutants.iter().filter_map(Mutant::folder).collect();
    for folder in folders {
        let root = format!("{folder}/src/lib.rs");
        let text = match files.get(&root) {
            Some(text) => text.clone(),
            None => fs::read_to_string(&root).with_context(|| format!("reading {root}"))?,
        };
        files.insert(root, text + ASKED);
    }
    files.iter().try_for_each(|(file, text)| write_if_new(&tree.join(file), text.as_bytes()))
}

/// The programs with the tests of these packages' libraries, by the package's folder. With a target folder of its own:
/// to cargo the copy's packages are the workspace's, and it would take one for the other.
fn programs(tree: &Path, folders: &BTreeSet<&str>) -> Result<BTreeMap<String, PathBuf>> {
    let words = ["test", "--lib", "--no-run", "--message-format", "json"];
    let mut cargo = shell::cargo(&words);
    for folder in folders {
        let manifest = fs::read_to_string(tree.join(folder).join("Cargo.toml"))?.parse::<toml::Table>()?;
        let name = manifest["package"]["name"].as_str().context("a package without a name")?;
        cargo.args(["--package", name]);
    }
    cargo.current_dir(tree).env("CARGO_TARGET_DIR", tree.join("target")).env("CARGO_TERM_QUIET", "true");
    let built = shell::capture_within(cargo, BUILD)?;
    if !built.good {
        let errors: String = built.output.lines().filter_map(error).collect();
        bail!("the copy does not build:\n{errors}");
    }
    let mut programs = BTreeMap::new();
    for message in built.output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let (Some(program), Some(manifest)) = (message["executable"].as_str(), message["manifest_path"].as_str())
        else {
            continue;
        };
        let folder = Path::new(manifest).parent().and_then(|folder| folder.strip_prefix(tree).ok());
        folder.map(|folder| programs.insert(folder.to_string_lossy().into_owned(), PathBuf::from(program)));
    }
    Ok(programs)
}

/// What a line of cargo's output says of an error: its messages about code are JSON, its own are not.
fn error(line: &str) -> Option<String> {
    match serde_json::from_str::<Value>(line) {
        Ok(message) if message["message"]["level"] == "error" => {
            message["message"]["rendered"].as_str().map(str::to_owned)
        }
        Ok(_) => None,
        Err(_) => line.starts_with("error").then(|| format!("{line}\n")),
    }
}

/// Whether this test fails with this mistake. A test that is not there fails without one, too.
fn notices(folder: &Path, program: &Path, test: &str, number: Option<usize>) -> Result<bool> {
    let mut command = shell::command(program, &["--exact", test]);
    command.current_dir(folder).env_remove(SWITCH);
    if let Some(number) = number {
        command.env(SWITCH, number.to_string());
    }
    let finished = shell::capture_within(command, LONGEST)?;
    Ok(!finished.good || !finished.output.contains("1 passed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(within: &str) -> Mutant {
        let [file, from, to, test] = ["crates/a/src/b.rs", "x < y", "x <= y", "b::tests::c"].map(str::to_owned);
        Mutant { file, within: within.to_owned(), from, to, test }
    }

    #[test]
    fn a_mistake_stands_behind_its_switch() {
        let text = "fn b() {\n    if x < y { c() }\n    while x < y {}\n}\n";
        let switched = mutant("if … {").switched(7, text).unwrap();
        assert!(switched.contains("if (if crate::mutant(7) { x <= y } else { x < y }) { c() }"), "{switched}");
        assert!(switched.contains("while x < y {}"));
    }

    #[test]
    fn a_place_that_is_gone_or_not_alone_is_an_error() {
        let text = "if x < y { c() } while x < y {}";
        let error = mutant("…").switched(1, text).unwrap_err().to_string();
        assert_eq!(error, "crates/a/src/b.rs: expected `x < y` once, found it 2 times");
        assert!(mutant("until … {").switched(1, text).is_err());
    }

    #[test]
    fn the_list_fits_the_files_and_covers_what_it_should() {
        let mutants = parse(&fs::read_to_string(shell::root().join(LIST)).unwrap()).unwrap();
        assert!(mutants.len() >= 25, "{}", mutants.len());
        for (at, mutant) in mutants.iter().enumerate() {
            let text = fs::read_to_string(shell::root().join(&mutant.file)).unwrap();
            mutant.switched(at + 1, &text).unwrap_or_else(|error| panic!("{error:#}"));
            let name = mutant.test.rsplit("::").next().unwrap();
            assert!(mutant.folder().is_some() && !name.is_empty(), "{mutant:?}");
        }
    }
}
