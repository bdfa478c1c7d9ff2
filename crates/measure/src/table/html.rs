//! A table for a notebook: HTML without style of its own.

use std::borrow::Cow;

use super::{Align, Table};

impl Table {
    /// The table as HTML, words escaped.
    pub fn html(&self) -> String {
        let mut out = String::from("<table>\n");
        if !self.title.is_empty() {
            out += &format!("<caption>{}</caption>\n", escaped(&self.title));
        }
        let cells = |cells: &mut dyn Iterator<Item = Cow<'_, str>>, tag: &str| -> String {
            let cell = |(text, align): (Cow<'_, str>, Align)| {
                let side = if align == Align::Right { "right" } else { "left" };
                format!("<{tag} style=\"text-align:{side}\">{}</{tag}>", escaped(&text))
            };
            cells.zip(self.columns.iter().map(|column| column.align)).map(cell).collect()
        };
        let head = cells(&mut self.columns.iter().map(|column| Cow::Borrowed(column.header.as_str())), "th");
        out += &format!("<thead><tr>{head}</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out += &format!("<tr>{}</tr>\n", cells(&mut self.shown(row), "td"));
        }
        out += "</tbody>\n</table>\n";
        self.notes.iter().for_each(|note| out += &format!("<p>{}</p>\n", escaped(note)));
        out
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_rows_and_no_markup_of_its_words() {
        let html = Table::sample().html();
        assert_eq!(html.matches("<tr>").count(), 3);
        assert!(html.contains("<td style=\"text-align:right\">12.3ms</td>"), "{html}");
        assert!(html.contains("<p>2 seeds.</p>"), "{html}");
        let mut table = Table::new("", vec![super::super::Column::words("a", "a")]);
        table.row(["<b> & \"c\"".into()]);
        assert!(table.html().contains("&lt;b&gt; &amp; &quot;c&quot;"), "{}", table.html());
    }
}
