//! The ways to install it that docs/release.md names and that need nothing but cargo.

use std::path::Path;
use std::process::Command;

use blksched_testkit::{Folder, output};

const PAGE: &str = include_str!("../../../../docs/release.md");

/// `--debug` makes the same program from the same parts in a fraction of the time.
#[test]
#[ignore = "slow: builds the program twice, whole and without features"]
fn cargo_installs_a_program_that_runs() {
    for features in ["", " --no-default-features"] {
        let line = format!("cargo install --path crates/cli --locked{features}");
        assert!(PAGE.contains(&format!("`{line}`")), "{line}");
        let folder = Folder::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut cargo = Command::new("cargo");
        cargo.current_dir(&root).args(line.split(' ').skip(1)).args(["--debug", "--offline", "--root"]).arg(&*folder);
        let status = blksched_testkit::status(&mut cargo).expect("cargo is here, since it runs this");
        assert!(status.success(), "{line}");
        let job = ["simulate", "--name=a", "--rw=read", "--size=1m", "--disk=null"];
        let ran = output(Command::new(folder.join("bin/blksched")).args(job)).expect("it was installed");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && said.contains("under "), "{line}: {said}");
    }
}

/// The archive that `cargo binstall` would fetch has the name that `dist` gives it.
#[test]
fn binstall_looks_for_the_archive_that_dist_makes() {
    let manifest = include_str!("../../Cargo.toml");
    let (_, section) = manifest.split_once("[package.metadata.binstall]\n").expect("a section");
    let value = |key: &str| {
        let line = section.lines().find_map(|line| line.strip_prefix(key)).expect("a key");
        line.trim_start_matches([' ', '=']).trim_matches('"').to_owned()
    };
    let filled = |text: String| {
        let text = text.replace("{ version }", env!("CARGO_PKG_VERSION")).replace("{ bin }", "blksched");
        text.replace("{ target }", "x86_64-unknown-linux-musl").replace("{ binary-ext }", "")
    };
    let name = format!("blksched-{}-x86_64-unknown-linux-musl", env!("CARGO_PKG_VERSION"));
    assert!(filled(value("pkg-url")).ends_with(&format!("/{name}.tar.gz")), "{}", filled(value("pkg-url")));
    assert_eq!(filled(value("bin-dir")), format!("{name}/blksched"));
    assert!(include_str!("../../../../xtask/src/dist.rs").contains("format!(\"blksched-{}-{TRIPLE}\""));
}
