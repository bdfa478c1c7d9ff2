//! The first part of a report, as plain HTML: it can be read without a script, and printed.

use std::fmt::Write;

use crate::recorded::{Grid, ShownAnswer};

/// A text escaped for HTML.
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

pub(crate) fn answer(answer: &ShownAnswer) -> String {
    let mut text = format!("<h1>{}</h1>\n", escaped(&answer.title));
    if !answer.heading.is_empty() {
        let _ = writeln!(text, "<p class=\"heading\">{}</p>", escaped(&answer.heading));
    }
    text += &answer.action.as_deref().map(action).unwrap_or_default();
    text += &verdict(answer);
    for grid in answer.tables.iter().filter(|grid| !grid.rows.is_empty()) {
        text += &table(grid);
    }
    for sentence in &answer.trust {
        let _ = writeln!(text, "<p class=\"trust\">{}</p>", sentence_with_subject(sentence));
    }
    if let Some((_, command)) = answer.facts.iter().find(|(name, _)| name == "command") {
        let _ = writeln!(text, "<p class=\"command\"><code>{}</code></p>", escaped(command));
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

/// The recommendation, set apart; the improvement and the price follow it.
fn action(action: &str) -> String {
    let kind = action.split([' ', ':']).next().unwrap_or_default().to_lowercase();
    let (gain, price) = action.split_once(" Price: ").map_or((action, None), |(gain, price)| (gain, Some(price)));
    let (what, how) = gain.split_once(" (").map_or((gain, String::new()), |(what, how)| (what, format!(" ({how}")));
    let price = price.map(|price| format!("<br><strong>Price:</strong> {}", escaped(price))).unwrap_or_default();
    let (kind, what, how) = (escaped(&kind), escaped(what), escaped(&how));
    format!("<p class=\"action {kind}\"><strong>{what}</strong>{how}{price}</p>\n")
}

/// How many pairs of schedulers are shown at once; the others are folded.
const PAIRS: usize = 2;

/// The sentences about schedulers compared with another.
struct Pair {
    names: Vec<String>,
    base: String,
    said: Vec<String>,
}

impl Pair {
    fn name(&self) -> String {
        format!("{} against {}", self.names.join(", "), self.base)
    }
}

/// Merges schedulers with the same sentences.
fn together(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut found: Vec<Pair> = Vec::new();
    for pair in pairs {
        match found.iter_mut().find(|known| known.base == pair.base && known.said == pair.said) {
            Some(known) => known.names.extend(pair.names),
            None => found.push(pair),
        }
    }
    found
}

/// The verdict's sentences; those of one pair of schedulers are together.
fn verdict(answer: &ShownAnswer) -> String {
    let pair_of = |sentence: &str| {
        let (subject, rest) = sentence.split_once(": ")?;
        subject.contains(" against ").then(|| (subject.to_owned(), rest.to_owned()))
    };
    let (mut others, mut pairs): (String, Vec<Pair>) = (String::new(), Vec::new());
    for sentence in &answer.sentences {
        match (pair_of(sentence), pairs.last_mut()) {
            (Some((pair, said)), Some(last)) if last.name() == pair => last.said.push(said),
            (Some((pair, said)), _) => {
                let (name, base) = pair.split_once(" against ").unwrap_or((&pair, ""));
                pairs.push(Pair { names: vec![name.to_owned()], base: base.to_owned(), said: vec![said] });
            }
            (None, _) => {
                let _ = writeln!(others, "<li>{}</li>", sentence_with_subject(sentence));
            }
        }
    }
    let mut pairs = together(pairs);
    let is_meant = |pair: &Pair| answer.proposed.as_ref().is_some_and(|name| pair.names.contains(name));
    // The recommended scheduler comes first.
    pairs.sort_by_key(|pair| !is_meant(pair));
    let shown = match pairs.first() {
        Some(first) if is_meant(first) => 1,
        _ => PAIRS,
    };
    let list = |pair: &Pair| {
        let items: String = pair.said.iter().map(|one| format!("<li>{}</li>\n", sentence_with_subject(one))).collect();
        format!("<h2 class=\"pair\">{}</h2>\n<ul class=\"verdict\">\n{items}</ul>\n", escaped(&pair.name()))
    };
    let mut text: String = pairs.iter().take(shown).map(list).collect();
    let folded: String = pairs.iter().skip(shown).map(list).collect();
    if !folded.is_empty() {
        let names: Vec<&str> = pairs.iter().skip(shown).flat_map(|pair| &pair.names).map(String::as_str).collect();
        let names = escaped(&names.join(", "));
        let _ = writeln!(text, "<details class=\"others\"><summary>The same of {names}</summary>\n{folded}</details>");
    }
    if !others.is_empty() {
        let _ = writeln!(text, "<ul class=\"verdict\">\n{others}</ul>");
    }
    text
}

/// The part before the first colon is the subject of the sentence.
fn sentence_with_subject(sentence: &str) -> String {
    match sentence.split_once(": ") {
        // A colon within brackets does not end a subject.
        Some((subject, rest)) if subject.len() < 60 && !subject.contains('(') => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_proposed_stands_first_and_the_other_pairs_are_folded() {
        let said = [
            "a against x: reader: slower.",
            "b against x: reader: faster.",
            "b against x: why: less waiting.",
            "Checked on 3 seeds.",
        ];
        let of = |proposed: Option<&str>| {
            let sentences = said.map(str::to_owned).to_vec();
            verdict(&ShownAnswer { sentences, proposed: proposed.map(str::to_owned), ..ShownAnswer::default() })
        };
        let text = of(Some("b"));
        let place = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
        assert!(place("b against x") < place("<details") && place("<details") < place("a against x"));
        assert!(text.contains("The same of a</summary>") && place("Checked on") > place("</details>"));
        assert!(text.contains("<strong>reader:</strong> faster."));
        assert!(!of(None).contains("<details"), "two are told at once");
    }

    #[test]
    fn schedulers_of_which_the_same_is_said_are_told_once() {
        let said = ["a against x: reader: slower.", "b against x: reader: slower.", "c against x: reader: faster."];
        let text = verdict(&ShownAnswer { sentences: said.map(str::to_owned).to_vec(), ..ShownAnswer::default() });
        assert!(text.contains(">a, b against x<") && text.contains(">c against x<"), "{text}");
        assert_eq!(text.matches("slower").count(), 1);
    }

    #[test]
    fn a_colon_within_brackets_ends_no_subject() {
        assert_eq!(sentence_with_subject("Kept (in brackets: how much) by a."), "Kept (in brackets: how much) by a.");
        assert_eq!(sentence_with_subject("log: slower."), "<strong>log:</strong> slower.");
    }

    #[test]
    fn the_price_stands_on_a_line_of_its_own() {
        let said = action("Use a: 8 % better than x (1.04 to 1.12) (reader: faster). Price: log: slower.");
        assert!(said.contains("<p class=\"action use\"><strong>Use a: 8 % better than x</strong> (1.04"), "{said}");
        assert!(said.contains("<br><strong>Price:</strong> log: slower."), "{said}");
        assert_eq!(action("Keep x."), "<p class=\"action keep\"><strong>Keep x.</strong></p>\n");
    }
}
