//! Packs the program's relocations where the machine's loader understands packed ones.
//!
//! The program has some 54,000 places whose address is known only when it starts. Each takes the loader a dozen
//! instructions as an entry of its own and some ten as a bit of a map, and needs 24 bytes or one bit of the file. Of
//! glibc's loaders those from 2.36 on read such maps, and a program with them does not start under an older one. So
//! they are used only if this machine's glibc is new enough, and not at all in a program built for another target.

#![allow(clippy::disallowed_methods, reason = "no test")]

use std::env;
use std::process::Command;

/// The first glibc that reads packed relocations.
const FIRST_WITH_PACKED: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_for_this_machine = env::var("HOST").is_ok_and(|host| env::var("TARGET").is_ok_and(|target| host == target));
    if is_for_this_machine && glibc().is_some_and(|version| version >= FIRST_WITH_PACKED) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc, if that is its C library.
fn glibc() -> Option<(u32, u32)> {
    if env::var("CARGO_CFG_TARGET_OS").ok()? != "linux" || env::var("CARGO_CFG_TARGET_ENV").ok()? != "gnu" {
        return None;
    }
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    // Some versions have a third number.
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}
