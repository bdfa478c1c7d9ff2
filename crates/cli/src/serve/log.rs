//! The server's log on standard error: time, level, message, and the client concerned, one line each. And the audit
//! log: who came and left, and who changed what, as JSON, whatever the level of the other.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use blksched_serve::{ExportConfig, ExportSource};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::arguments::{LogFormat, ServeArguments};
use crate::failure::Failure;

/// Starts the log, at the level of `--log`, else of `RUST_LOG`, else info, or warn beside a captive command.
pub(super) fn begin(arguments: &ServeArguments) -> Result<(), Failure> {
    let usual = if arguments.run.is_some() { LevelFilter::WARN } else { LevelFilter::INFO };
    let said = arguments.log.clone().map(|text| ("--log", text));
    let said = said.or_else(|| Some(("RUST_LOG", std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty())?)));
    let filter = match said {
        None => Targets::new().with_default(usual),
        Some((name, text)) => filter(&text).ok_or_else(|| {
            let expected =
                "expected error, warn, info, debug, trace or off, or TARGET=LEVEL,… as in blksched_serve=debug";
            Failure::Input(format!("{name} {text}: {expected}"))
        })?,
    };
    let lines = layer().with_writer(std::io::stderr).with_target(false).with_ansi(false).log_internal_errors(false);
    let audit = arguments.audit.as_ref().map(|path| {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let file = file.map_err(|error| Failure::Input(format!("--audit {}: {error}", path.display())))?;
        let lines = layer().json().flatten_event(true).with_writer(file).with_target(false).log_internal_errors(false);
        Ok::<_, Failure>(lines.with_filter(Targets::new().with_target(blksched_serve::AUDIT, LevelFilter::INFO)))
    });
    // An embedding program may already have a log.
    let registry = tracing_subscriber::registry().with(audit.transpose()?);
    let _ = match arguments.log_format {
        LogFormat::Text => registry.with(lines.with_filter(filter)).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(filter)).try_init(),
    };
    Ok(())
}

/// Whether the audit log may be written to its file. What clients have as a disk must not get lines of a log at its
/// end, and a pipe without a reader would hold the start up.
pub(super) fn check_audit(arguments: &ServeArguments, exports: &[ExportConfig]) -> Result<(), Failure> {
    let Some(path) = &arguments.audit else { return Ok(()) };
    let Ok(found) = path.metadata() else { return Ok(()) };
    let wrong = |what: &str| {
        Err(Failure::Input(format!("--audit {}: expected a file for the log, not {what}", path.display())))
    };
    let (kind, place) = (found.file_type(), (found.dev(), found.ino()));
    if kind.is_block_device() || kind.is_fifo() || kind.is_socket() {
        return wrong("a block device, a pipe or a socket");
    }
    let is_it = |export: &&ExportConfig| match &export.source {
        ExportSource::File { path, .. } => path.metadata().is_ok_and(|served| (served.dev(), served.ino()) == place),
        ExportSource::Memory(_) => false,
    };
    exports.iter().find(is_it).map_or(Ok(()), |export| wrong(&format!("what is served as export {}", export.name)))
}

/// A bare word must be a level, so that a misspelt level is not taken for a target's name.
fn filter(text: &str) -> Option<Targets> {
    let says_a_level = |part: &str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    text.split(',').all(says_a_level).then(|| text.parse().ok())?
}
