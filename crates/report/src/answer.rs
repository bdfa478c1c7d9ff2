//! What stands first, as plain HTML: it reads without a script, and prints.

use std::fmt::Write;

use crate::recorded::{Answer, Grid};

/// Text within HTML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

pub(crate) fn answer(answer: &Answer) -> String {
    let mut text = format!("<h1>{}</h1>\n", escaped(&answer.title));
    if !answer.heading.is_empty() {
        let _ = writeln!(text, "<p class=\"heading\">{}</p>", escaped(&answer.heading));
    }
    if let Some(action) = &answer.action {
        let kind = action.split(' ').next().unwrap_or_default().to_lowercase();
        let _ = writeln!(text, "<p class=\"action {}\">{}</p>", escaped(&kind), escaped(action));
    }
    if !answer.sentences.is_empty() {
        text += "<ul class=\"verdict\">\n";
        for sentence in &answer.sentences {
            let _ = writeln!(text, "<li>{}</li>", sentence_with_subject(sentence));
        }
        text += "</ul>\n";
    }
    for grid in &answer.tables {
        text += &table(grid);
    }
    if !answer.facts.is_empty() {
        text += "<details class=\"facts\"><summary>How this was made</summary><dl>\n";
        for (name, value) in &answer.facts {
            let _ = writeln!(text, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
        }
        text += "</dl></details>\n";
    }
    if !answer.notes.is_empty() {
        text += "<details class=\"notes\"><summary>What to know besides</summary><ul>\n";
        for note in &answer.notes {
            let _ = writeln!(text, "<li>{}</li>", escaped(note));
        }
        text += "</ul></details>\n";
    }
    text
}

/// What stands before the first colon is what the sentence is about.
fn sentence_with_subject(sentence: &str) -> String {
    match sentence.split_once(": ") {
        Some((subject, rest)) if subject.len() < 60 => {
            format!("<strong>{}:</strong> {}", escaped(subject), escaped(rest))
        }
        _ => escaped(sentence),
    }
}

fn table(grid: &Grid) -> String {
    let mut text = String::from("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    text += &escaped(if grid.title.is_empty() { "table" } else { &grid.title });
    text += "\"><table>";
    if !grid.title.is_empty() {
        let _ = write!(text, "<caption>{}</caption>", escaped(&grid.title));
    }
    text += "<thead><tr>";
    for (header, is_number) in &grid.columns {
        let _ = write!(text, "<th scope=\"col\"{}>{}</th>", class(*is_number), escaped(header));
    }
    text += "</tr></thead><tbody>\n";
    for row in &grid.rows {
        let begins = row.first().is_some_and(|cell| !cell.is_empty());
        text += if begins { "<tr class=\"first\">" } else { "<tr>" };
        for (nth, cell) in row.iter().enumerate() {
            let is_number = grid.columns.get(nth).is_some_and(|(_, number)| *number);
            let _ = write!(text, "<td{}>{}</td>", class(is_number), escaped(cell));
        }
        text += "</tr>\n";
    }
    text += "</tbody></table></div>\n";
    for note in &grid.notes {
        let _ = writeln!(text, "<p class=\"note\">{}</p>", escaped(note));
    }
    text
}

fn class(is_number: bool) -> &'static str {
    if is_number { " class=\"number\"" } else { "" }
}
