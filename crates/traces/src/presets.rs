//! The known text formats: each is a TOML file in `presets/` that describes its lines; a user may write such a file
//! too.
//!
//! ```toml
//! title = "MSR Cambridge"
//! source = 'where columns and units are described'
//! columns = "time@100ns,host,disk,op,offset@B,size@B,response@100ns"   # or line = "[{time@ms}] …"
//! separator = ","                # a character, tab or blanks
//! skip = 0                       # lines before the first row
//! header = "Timestamp,…"         # a first line that only this format has and that is no row
//! first = "fio version 2 iolog"  # the same, and a trace without it is another
//! time = "fraction"              # times have a point ("whole": they have none)
//! notes = ["what a reader should know, and what is assumed"]
//! ```

use serde::Deserialize;

use crate::columns::{Column, ColumnRole, ColumnsError, RowReader, Shape, Spec};
use crate::snoop::{self, RecordedSide, SnoopTable};

/// A text format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name by which it is selected: `msr`.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The source that describes its columns and units.
    pub source: String,
    /// The rules for reading its lines.
    pub spec: Spec,
    /// Notes for the reader, including assumptions.
    pub notes: Vec<String>,
    /// The description as written.
    pub described: String,
    /// From where on its times count.
    pub side: RecordedSide,
    /// Whether it says what was read or written, and where.
    pub has_place: bool,
    header: Option<String>,
    first: Option<String>,
    time: Option<TimeLooks>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TimeLooks {
    Whole,
    Fraction,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    source: String,
    columns: Option<String>,
    line: Option<String>,
    #[serde(default = "comma")]
    separator: String,
    #[serde(default)]
    skip: usize,
    header: Option<String>,
    first: Option<String>,
    time: Option<TimeLooks>,
    #[serde(default)]
    notes: Vec<String>,
}

fn comma() -> String {
    ",".to_owned()
}

/// The built-in formats, in the order in which they are tried.
const BUILT_IN: [(&str, &str); 13] = [
    ("blksched", include_str!("../presets/blksched.toml")),
    ("iolog2", include_str!("../presets/iolog2.toml")),
    ("iolog3", include_str!("../presets/iolog3.toml")),
    ("msr", include_str!("../presets/msr.toml")),
    ("systor", include_str!("../presets/systor.toml")),
    ("alibaba", include_str!("../presets/alibaba.toml")),
    ("tencent", include_str!("../presets/tencent.toml")),
    ("spc", include_str!("../presets/spc.toml")),
    ("k5cloud", include_str!("../presets/k5cloud.toml")),
    ("fiu", include_str!("../presets/fiu.toml")),
    ("disksim", include_str!("../presets/disksim.toml")),
    ("mqsim", include_str!("../presets/mqsim.toml")),
    ("blkreplay", include_str!("../presets/blkreplay.toml")),
];

/// All built-in formats, in the order in which they are tried.
pub fn presets() -> Vec<Preset> {
    let read = |(name, text): &(&str, &str)| Preset::read(name, text).expect("a built-in format is whole");
    BUILT_IN.iter().map(read).collect()
}

impl Preset {
    /// A format that was described along with the trace's name.
    pub fn described(described: &str, spec: Spec) -> Preset {
        let (name, described) = ("described".to_owned(), described.to_owned());
        let (title, source) = ("as described".to_owned(), "the command line".to_owned());
        let (side, has_place) = (RecordedSide::Submission, true);
        let (header, first, time) = (None, None, None);
        Preset { name, title, source, spec, notes: Vec::new(), described, side, has_place, header, first, time }
    }

    /// The format of a table whose header a program like biosnoop printed.
    pub fn of_snoop(beginning: &str) -> Option<Preset> {
        let SnoopTable { spec, side, has_place } = snoop::table(beginning)?;
        let columns: Vec<String> = match &spec.shape {
            Shape::Columns { columns, .. } => columns.iter().map(ToString::to_string).collect(),
            _ => Vec::new(),
        };
        let described = format!("columns={},separator=blanks,skip_lines={}", columns.join(","), spec.skip);
        let side_note = match side {
            RecordedSide::Disk => {
                "its latencies begin when the disk was given the I/O, and so do its times: how long it waited before, \
                 in which order it was submitted, and what merged is not in it (biosnoop -Q adds the waiting)"
            }
            _ => {
                "its times begin when the scheduler got the I/O: I/Os that merged are one, and waiting for a tag is \
                 not in it"
            }
        };
        let place_note = "the table has neither sector nor length, nor whether an I/O reads or writes: there are no \
                          figures about seeks and sizes, and it cannot be replayed (bcc's biosnoop records them)";
        let notes = [Some(side_note), (!has_place).then_some(place_note)];
        let title = if has_place { "biosnoop's or iosnoop's table" } else { "biosnoop.bt's table" };
        Some(Preset {
            title: title.to_owned(),
            notes: notes.into_iter().flatten().map(str::to_owned).collect(),
            side,
            has_place,
            ..Preset::described(&described, spec)
        })
    }

    /// Reads a format's description in TOML.
    ///
    /// # Errors
    /// If it is not TOML, a key is unknown, or its columns are invalid.
    pub fn read(name: &str, text: &str) -> Result<Preset, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let spec: Result<Spec, ColumnsError> = match (&file.columns, &file.line) {
            (Some(columns), None) => Spec::columns(columns, &file.separator, file.skip),
            (None, Some(line)) => Spec::pattern(line, file.skip),
            _ => return Err("expected either `columns` or `line`".to_owned()),
        };
        let described = match (&file.columns, &file.line) {
            (Some(columns), _) if file.separator == "," => format!("columns={columns}"),
            (Some(columns), _) => format!("columns={columns},separator={}", file.separator),
            (_, line) => format!("line='{}'", line.as_deref().unwrap_or_default()),
        };
        Ok(Preset {
            name: name.to_owned(),
            title: file.title,
            source: file.source,
            spec: spec.map_err(|error| error.to_string())?,
            notes: file.notes,
            described,
            side: RecordedSide::Submission,
            has_place: true,
            header: file.header,
            first: file.first,
            time: file.time,
        })
    }

    /// The rules for a text with this beginning, whose lines that are not rows are skipped.
    pub fn spec_for(&self, beginning: &str) -> Spec {
        let mut spec = self.spec.clone();
        let first = beginning.lines().next().unwrap_or_default().trim();
        if [&self.header, &self.first].into_iter().flatten().any(|line| first == line) {
            spec.skip = spec.skip.max(1);
        }
        spec
    }

    /// Checks whether a text with this beginning, which ends with a whole line, is of this format.
    ///
    /// # Errors
    /// If it is not: the first line that is not a row, and why.
    pub fn fits(&self, beginning: &str) -> Result<(), String> {
        self.damaged(beginning, 0).map(drop)
    }

    /// The number of damaged lines in this beginning of a text, if at most one row in ten is damaged; `None` if the
    /// text is not of this format.
    pub fn fits_but_for(&self, beginning: &str) -> Option<u64> {
        self.damaged(beginning, beginning.lines().count() as u64 / 10).ok()
    }

    /// The number of lines that are not rows, if at most `most`.
    fn damaged(&self, beginning: &str, most: u64) -> Result<u64, String> {
        let first = beginning.lines().next().unwrap_or_default().trim();
        match &self.first {
            Some(line) if first != line => return Err(format!("its first line would be `{line}`")),
            None if first.starts_with("fio version") => return Err("it is an iolog of fio's".to_owned()),
            None if first.starts_with("time_ns,disk,") => return Err("it has our own columns".to_owned()),
            _ => {}
        }
        let spec = self.spec_for(beginning);
        if let Some(word) = named_otherwise(&spec, first) {
            return Err(format!("its header has `{word}` in another column"));
        }
        let time = self.time.and_then(|looks| Some((looks, time_column(&spec)?)));
        let mut rows = RowReader::new(beginning.as_bytes(), spec);
        let (mut read, mut damaged) = (0, 0);
        while let Some(row) = rows.row().expect("memory can be read") {
            match row {
                Ok(_) => read += 1,
                Err(_) if damaged < most => damaged += 1,
                Err(error) => return Err(error.to_string()),
            }
        }
        if read == 0 {
            return Err("no row of it could be read".to_owned());
        }
        if let Some((looks, at)) = time {
            let word = |line: &str| line.split_whitespace().nth(at).map(str::to_owned);
            let words = || beginning.lines().filter_map(word);
            let fraction = 2 * words().filter(|word| word.contains('.')).count() > words().count();
            match (looks, fraction) {
                (TimeLooks::Whole, true) => return Err("its times would be whole numbers".to_owned()),
                (TimeLooks::Fraction, false) => return Err("its times would have a decimal point".to_owned()),
                _ => {}
            }
        }
        Ok(damaged)
    }
}

/// A word of the header that names a time in a column where this format has none: the columns are others.
fn named_otherwise<'h>(spec: &Spec, header: &'h str) -> Option<&'h str> {
    let Shape::Columns { separator: Some(separator), columns, .. } = &spec.shape else { return None };
    let is_header = !header.split(*separator).any(|word| word.trim().starts_with(|c: char| c.is_ascii_digit()));
    let is_time = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.contains("time") && !word.contains("resp")
    };
    let has_none = |column: &Column| {
        matches!(column.role, ColumnRole::Device | ColumnRole::Op | ColumnRole::Offset | ColumnRole::Size)
    };
    let own_time = |(word, column): (&str, &Column)| column.role == ColumnRole::Time && is_time(word);
    if header.split(*separator).map(str::trim).zip(columns).any(own_time) {
        return None;
    }
    let mut pairs = header.split(*separator).map(str::trim).zip(columns).filter(|_| is_header);
    pairs.find(|(word, column)| is_time(word) && has_none(column)).map(|(word, _)| word)
}

/// The column of the time, if blanks separate columns.
fn time_column(spec: &Spec) -> Option<usize> {
    match &spec.shape {
        Shape::Columns { separator: None, columns, .. } => {
            columns.iter().position(|column| column.role == ColumnRole::Time)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        presets().into_iter().filter(|preset| preset.fits(text).is_ok()).map(|preset| preset.name).collect()
    }

    #[test]
    fn a_header_that_has_the_time_elsewhere_is_not_damage() {
        let rows = "8.7,R,136939143,4096,557\n".repeat(40);
        assert_eq!(found(&rows), ["alibaba"]);
        let named = |header: &str| -> Vec<String> {
            let text = format!("{header}\n{rows}");
            presets()
                .into_iter()
                .filter(|preset| preset.fits_but_for(&text).is_some())
                .map(|preset| preset.name)
                .collect()
        };
        let none: [String; 0] = [];
        assert_eq!(named("time_us,op,sector,bytes,latency_us"), none);
        assert_eq!(named("device,op,lba,time_us,size"), none);
        assert_eq!(named("device_id,opcode,offset,length,timestamp"), ["alibaba"]);
        assert_eq!(named("lifetime_id,opcode,offset,length,timestamp"), ["alibaba"]);
    }

    #[test]
    fn each_formats_rows_fit_it_and_no_other() {
        let rows = [
            ("msr", "128166372010635508,srv,2,Write,268021760,4096,63332\n"),
            ("alibaba", "421,W,268021760,4096,1577808000757387\n"),
            ("tencent", "1538323200,523480,8,1,1002\n"),
            (
                "systor",
                "Timestamp,Response,IOType,LUN,Offset,Size\n1455522600.769418000,0.012477000,W,2,590409728,8192\n",
            ),
            (
                "systor",
                "1455522600.778229000,0.008964000,,1,1277042688,4096\n1455522600.758139000,,W,2,1555890176,4096\n",
            ),
            ("spc", "2,523480,4096,W,0.757388\n1,1883088,16384,r,0.772343,7,8\n"),
            ("k5cloud", "7,1538323200.5,R,4096,512\n"),
            ("fiu", "757387957 1202 find 523480 8 W 6 2 440d5ec4454263e3f60539fefa5234be\n"),
            ("disksim", "0.757 2 523480 8 0\n"),
            ("mqsim", "757387957 2 523480 8 0\n"),
            ("blkreplay", "0.757387;523480;8;W;0.006333\n"),
            ("iolog2", "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 0 4096\n/dev/sda datasync\n"),
            ("blksched", "time_ns,disk,process,op,offset_B,size_B,response_ns\n7,sda,cat,WS,0,512,9\n"),
            ("iolog3", "fio version 3 iolog\n0 /dev/sda add\n7 /dev/sda write 0 4096\n"),
        ];
        for (name, text) in rows {
            assert_eq!(found(text), [name], "{text}");
        }
    }

    #[test]
    fn a_damaged_line_among_many_does_not_hide_the_format() {
        let mut text = "128166372010635508,srv,2,Write,268021760,4096,63332\n".repeat(20);
        text += "garbage\n";
        let known: Vec<(String, u64)> = presets()
            .into_iter()
            .filter_map(|preset| Some((preset.name.clone(), preset.fits_but_for(&text)?)))
            .collect();
        assert_eq!(known, [("msr".to_owned(), 1)]);
        assert_eq!(found(&text), Vec::<String>::new());
        assert!(presets().iter().all(|preset| preset.fits_but_for("garbage\n".repeat(20).as_str()).is_none()));
    }

    #[test]
    fn what_is_no_trace_fits_nothing() {
        for text in ["[global]\nrw=read\n", "", "a b c\n", "[757.388 ms] disk2 op=wr lba=523480 len=4096\n"] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn a_description_of_ones_own_is_checked_as_the_built_in_ones_are() {
        let own = "title = 'x'\nsource = 'y'\nline = '{time@us} {op} {offset} {size}'\n";
        assert!(Preset::read("own", own).unwrap().fits("5 R 0 512\n").is_ok());
        assert!(Preset::read("own", "title = 'x'\nsource = 'y'\n").unwrap_err().contains("either `columns` or `line`"));
        assert!(Preset::read("own", "title = 'x'\nsource = 'y'\ncolumn = 'time'\n").unwrap_err().contains("column"));
    }
}
