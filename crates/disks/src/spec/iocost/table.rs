//! The table: a line of names, then a line per measurement; lines that begin with `#` are remarks.

use core::ops::RangeInclusive;

use blksched_text::document::{Complaint, Source};
use blksched_text::nearest;

/// What `io.cost.model` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SixFigures {
    /// Large reads \[bytes/s\].
    pub rbps: u64,
    /// Sequential reads of 4 KiB \[1/s\].
    pub rseqiops: u64,
    /// Random reads of 4 KiB \[1/s\].
    pub rrandiops: u64,
    /// Large writes \[bytes/s\].
    pub wbps: u64,
    /// Sequential writes of 4 KiB \[1/s\].
    pub wseqiops: u64,
    /// Random writes of 4 KiB \[1/s\].
    pub wrandiops: u64,
}

/// 4 KiB.
const PAGE_BYTES: u64 = 4096;

impl SixFigures {
    /// Their names, in the order of [`SixFigures::to_array`].
    pub const NAMES: [&'static str; 6] = ["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"];

    pub(crate) fn from_array([rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops]: [u64; 6]) -> SixFigures {
        SixFigures { rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops }
    }

    /// The figures in order.
    pub fn to_array(self) -> [u64; 6] {
        [self.rbps, self.rseqiops, self.rrandiops, self.wbps, self.wseqiops, self.wrandiops]
    }

    /// Which figures cannot all be true of one drive in one state: 4 KiB operations that move more bytes per second
    /// than large ones.
    pub fn contradictions(&self) -> Vec<String> {
        let pairs = [
            ("rseqiops", self.rseqiops, "rbps", self.rbps),
            ("rrandiops", self.rrandiops, "rbps", self.rbps),
            ("wseqiops", self.wseqiops, "wbps", self.wbps),
            ("wrandiops", self.wrandiops, "wbps", self.wbps),
        ];
        let above = pairs.into_iter().filter(|(_, iops, _, bps)| iops * PAGE_BYTES > *bps);
        let say = |(iops, value, bps, rate): (&str, u64, &str, u64)| {
            let percent = 100.0 * (value * PAGE_BYTES) as f64 / rate as f64 - 100.0;
            format!("{iops} x 4 KiB is {percent:.0}% above {bps}")
        };
        above.map(say).collect()
    }
}

/// The plausible range of each figure.
pub(super) const PLAUSIBLE: [RangeInclusive<u64>; 6] = [
    1_000_000..=100_000_000_000,
    10..=50_000_000,
    10..=50_000_000,
    1_000_000..=100_000_000_000,
    10..=50_000_000,
    10..=50_000_000,
];

/// The range in words.
pub(super) fn expected(figure: usize) -> String {
    let unit = if SixFigures::NAMES[figure].ends_with("bps") { "bytes/s" } else { "operations/s" };
    format!("{unit} from {} to {}", PLAUSIBLE[figure].start(), PLAUSIBLE[figure].end())
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IocostRow {
    model: String,
    size_bytes: Option<u64>,
    figures: SixFigures,
}

/// Every measurement of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IocostModel {
    /// The drive's own name.
    pub name: String,
    /// Its capacity, from the first row \[bytes\]; 1 TB if the table has none.
    pub size_bytes: u64,
    /// The rows of the table.
    pub rows: Vec<SixFigures>,
}

impl IocostModel {
    /// The median of each figure over the rows.
    pub fn median(&self) -> SixFigures {
        let mut columns = [0; 6];
        for (index, column) in columns.iter_mut().enumerate() {
            let mut values: Vec<u64> = self.rows.iter().map(|row| row.to_array()[index]).collect();
            values.sort_unstable();
            let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            *column = low.midpoint(high);
        }
        SixFigures::from_array(columns)
    }
}

/// The rows by model, models by name.
pub(super) fn models(rows: &[IocostRow]) -> Vec<IocostModel> {
    let mut models: Vec<IocostModel> = Vec::new();
    for IocostRow { model, size_bytes, figures } in rows {
        match models.binary_search_by(|known| known.name.as_str().cmp(model)) {
            Ok(at) => models[at].rows.push(*figures),
            Err(at) => {
                let size_bytes = size_bytes.unwrap_or(1_000_000_000_000);
                models.insert(at, IocostModel { name: model.clone(), size_bytes, rows: vec![*figures] });
            }
        }
    }
    models
}

/// The positions of the columns that matter.
struct IocostColumns {
    model: usize,
    size: Option<usize>,
    figures: [usize; 6],
    count: usize,
}

/// All rows of a table.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<IocostRow>, Complaint> {
    let source = Source { file, text };
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let place = |part: &str| {
        let at = part.as_ptr() as usize - text.as_ptr() as usize;
        at..at + part.len()
    };
    let Some(header) = lines.next() else {
        return Err(source.complain(&(0..0), "the table is empty: expected a line of column names"));
    };
    let names: Vec<&str> = header.split(',').map(str::trim).collect();
    let find = |name: &str| {
        names.iter().position(|known| *known == name).ok_or_else(|| {
            let problem = format!("no column `{name}`: expected model, {}", SixFigures::NAMES.join(", "));
            source.complain(&place(header), problem).meaning(nearest(name, names.iter().copied()))
        })
    };
    let mut figures = [0; 6];
    for (column, name) in figures.iter_mut().zip(SixFigures::NAMES) {
        *column = find(name)?;
    }
    let size = names.iter().position(|known| *known == "size_bytes");
    let columns = IocostColumns { model: find("model")?, size, figures, count: names.len() };
    lines.map(|line| read_row(source, &columns, line, &place)).collect()
}

fn read_row(
    source: Source<'_>,
    columns: &IocostColumns,
    line: &str,
    place: &impl Fn(&str) -> core::ops::Range<usize>,
) -> Result<IocostRow, Complaint> {
    let cells: Vec<&str> = line.split(',').collect();
    if cells.len() != columns.count {
        let problem = format!("{} cells, but the table has {} columns", cells.len(), columns.count);
        return Err(source.complain(&place(line), problem));
    }
    let mut values = [0; 6];
    for (index, value) in values.iter_mut().enumerate() {
        let cell = cells[columns.figures[index]];
        let read = cell.trim().parse().ok().filter(|figure| PLAUSIBLE[index].contains(figure));
        *value = read.ok_or_else(|| {
            let problem =
                format!("`{cell}` is not a value of `{}`: expected {}", SixFigures::NAMES[index], expected(index));
            source.complain(&place(cell), problem)
        })?;
    }
    let size = |column: usize| {
        let cell = cells[column];
        cell.trim().parse().ok().filter(|bytes| (1_000_000..=1_000_000_000_000_000).contains(bytes)).ok_or_else(|| {
            source
                .complain(&place(cell), format!("`{cell}` is not a value of `size_bytes`: expected bytes from 1000000"))
        })
    };
    let size_bytes = columns.size.map(size).transpose()?;
    let model = cells[columns.model].trim().to_owned();
    Ok(IocostRow { model, size_bytes, figures: SixFigures::from_array(values) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(model: &str, rbps: u64) -> IocostRow {
        let figures = SixFigures::from_array([rbps, 1, 1, 100_000, 2, 3]);
        IocostRow { model: model.to_owned(), size_bytes: None, figures }
    }

    #[test]
    fn a_model_is_the_median_of_its_rows_figure_by_figure() {
        let models = models(&[row("b", 9_000), row("a", 5_000), row("b", 7_000), row("b", 100_000)]);
        assert_eq!(models.iter().map(|model| model.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(models[1].median().rbps, 9_000);
        assert_eq!(super::models(&[row("c", 2_000), row("c", 3_000)])[0].median().rbps, 2_500);
    }

    #[test]
    fn small_operations_that_move_more_than_large_ones_are_a_contradiction() {
        assert!(row("a", 5_000).figures.contradictions().is_empty());
        assert_eq!(row("a", 2_048).figures.contradictions().len(), 2);
    }
}
