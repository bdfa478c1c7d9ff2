//! `blksched trace`: summarises a recorded trace, and converts it.

mod arguments;
mod convert;
mod info;
#[cfg(feature = "parquet")]
mod parquet;
mod write;

use blksched_measure::Table;
use blksched_traces::presets::presets;

use crate::failure::Failure;
use crate::output;
pub(crate) use arguments::TraceArguments;
use arguments::TraceVerb;

/// Runs the verb.
pub(crate) fn run(verb: &TraceVerb) -> Result<(), Failure> {
    match verb {
        TraceVerb::Info(arguments) => info::run(arguments),
        TraceVerb::Convert(arguments) => convert::run(arguments, convert::Change::None),
        TraceVerb::Cut(arguments) => convert::run(arguments, convert::Change::Part),
        TraceVerb::Anonymise(arguments) => convert::run(arguments, convert::Change::Anonymous),
        TraceVerb::Formats => Ok(output::print(&output::render(&formats(), output::TableStyle::Text))?),
    }
}

fn formats() -> Table {
    let columns = [("format", "format"), ("title", "what"), ("lines", "how to describe its lines")];
    let mut table = output::words("text formats; a trace's format is recognised by its content", &columns);
    for preset in presets() {
        table.row([preset.name.into(), preset.title.into(), preset.described.into()]);
    }
    table.note("binary formats, and kernels' text: blktrace, blkparse, tracefs, VMware vscsi 1 and 2");
    table.note(
        "any other: FILE:columns=…[,separator=;][,skip_lines=1], FILE:line='… {time@ms} … {op} …', or a description in",
    );
    table.note(
        "TOML as FILE:format=mine.toml; a column is time@s|ms|us|100ns|ns|ps, response@…, op or op@r0w1|w0r1|flags,",
    );
    table.note("offset@B|512B|4KiB|…, size@…, device, host, disk, major, minor, process, pid, or - for one to ignore");
    table
}
