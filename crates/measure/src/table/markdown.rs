//! A table for a page: GitHub's Markdown.

use std::borrow::Cow;

use super::{Align, Table};

impl Table {
    /// The table as Markdown; `|` in words is escaped. The last line ends in a newline.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        if !self.title.is_empty() {
            out += &format!("### {}\n\n", self.title);
        }
        push_row(&mut out, self.columns.iter().map(|column| Cow::Borrowed(column.header.as_str())));
        push_row(
            &mut out,
            self.columns.iter().map(|column| match column.align {
                Align::Left => Cow::Borrowed("---"),
                Align::Right => Cow::Borrowed("---:"),
            }),
        );
        self.rows.iter().for_each(|row| push_row(&mut out, self.shown(row)));
        self.notes.iter().for_each(|note| out += &format!("\n{note}\n"));
        out
    }
}

fn push_row<'a>(out: &mut String, cells: impl Iterator<Item = Cow<'a, str>>) {
    out.push('|');
    for cell in cells {
        *out += &format!(" {} |", cell.replace('|', "\\|").replace('\n', " "));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_reads_as_markdown() {
        let expected = "\
### Reads beside a streaming writer

| elevator | read bw | read p99 | busy |
| --- | ---: | ---: | ---: |
| noop | 4094KiB/s | - | 100% |
| deadline | 88.7 ±1.3MiB/s | 12.3ms | 76.4% |

2 seeds.
";
        assert_eq!(Table::sample().markdown(), expected);
    }

    #[test]
    fn a_bar_in_a_word_stays_in_its_cell() {
        let mut table = Table::new("", vec![super::super::Column::words("a", "a")]);
        table.row(["x|y".into()]);
        assert_eq!(table.markdown(), "| a |\n| --- |\n| x\\|y |\n");
    }
}
