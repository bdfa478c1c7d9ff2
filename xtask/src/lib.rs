//! What both of the developers' programs use, `xtask` and `workbench`: other programs, places, and how a verb ends.
//!
//! `xtask` itself is linked with no crate of ours, so that it is there within seconds, also in an empty target folder;
//! verbs that simulate or measure stand in `workbench`.

#![allow(clippy::disallowed_methods, reason = "what starts programs here is no test")]

pub mod gate;
pub mod shell;

/// A verb's result; it has already printed the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything is as it should be.
    Good,
    /// Something is not.
    Bad,
}

impl Verdict {
    /// Good if `holds`.
    pub fn when(holds: bool) -> Verdict {
        if holds { Verdict::Good } else { Verdict::Bad }
    }

    /// The exit status of a verb that ended so; an error is printed.
    pub fn exit(result: anyhow::Result<Verdict>) -> std::process::ExitCode {
        match result {
            Ok(Verdict::Good) => std::process::ExitCode::SUCCESS,
            Ok(Verdict::Bad) => std::process::ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: {error:#}");
                std::process::ExitCode::FAILURE
            }
        }
    }
}
