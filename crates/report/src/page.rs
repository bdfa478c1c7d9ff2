//! The page: its template, its style and its modules, put into one file.
//!
//! The modules in `page/` import each other by name. One file can have no files to import, so the modules are written
//! one
//! after the other, each behind those that it imports, and the words `import` and `export` are left out.

use std::io;

use serde_json::{Value, json};

use crate::answer::{answer, escaped};
use crate::fit::{Detail, MOST_BYTES, packed};
use crate::recorded::{Against, Published, Report};

const TEMPLATE: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/style.css");

/// Every module, each after those that it imports.
const MODULES: &[(&str, &str)] = &[
    ("format.js", include_str!("../page/format.js")),
    ("slices.js", include_str!("../page/slices.js")),
    ("data.js", include_str!("../page/data.js")),
    ("palette.js", include_str!("../page/palette.js")),
    ("view.js", include_str!("../page/view.js")),
    ("axes.js", include_str!("../page/axes.js")),
    ("regions.js", include_str!("../page/regions.js")),
    ("story.js", include_str!("../page/story.js")),
    ("density.js", include_str!("../page/density.js")),
    ("dots.js", include_str!("../page/dots.js")),
    ("panel.js", include_str!("../page/panel.js")),
    ("scatter.js", include_str!("../page/scatter.js")),
    ("lines.js", include_str!("../page/lines.js")),
    ("busy.js", include_str!("../page/busy.js")),
    ("signs.js", include_str!("../page/signs.js")),
    ("timeline.js", include_str!("../page/timeline.js")),
    ("curves.js", include_str!("../page/curves.js")),
    ("bars.js", include_str!("../page/bars.js")),
    ("matrix.js", include_str!("../page/matrix.js")),
    ("published.js", include_str!("../page/published.js")),
    ("alternatives.js", include_str!("../page/alternatives.js")),
    ("parts.js", include_str!("../page/parts.js")),
    ("controls.js", include_str!("../page/controls.js")),
    ("files.js", include_str!("../page/files.js")),
    ("pictures.js", include_str!("../page/pictures.js")),
    ("main.js", include_str!("../page/main.js")),
];

/// A page and how much it includes.
#[derive(Clone, Debug)]
pub struct Html {
    /// The file's text.
    pub text: String,
    /// How much of the runs is in it.
    pub detail: Detail,
}

/// The report as one file of at most `most` bytes ([`MOST_BYTES`], unless the caller tests a larger size).
///
/// # Errors
/// If memory cannot be written to.
pub fn html(report: &Report, most: Option<usize>) -> io::Result<Html> {
    let answer = answer(&report.answer);
    let script = script();
    let fixed = TEMPLATE.len() + STYLE.len() + script.len() + answer.len() + report.answer.title.len();
    let (data, detail) = packed(report, most.unwrap_or(MOST_BYTES).saturating_sub(fixed))?;
    let fill = |part: &str| match part {
        "title" => escaped(&report.answer.title),
        "style" => STYLE.to_owned(),
        "answer" => answer.clone(),
        "data" => data.clone(),
        "script" => script.clone(),
        _ => String::new(),
    };
    // A placeholder is `{{name}}`; substituted text is not searched again.
    let mut parts = TEMPLATE.split("{{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        text += &fill(name);
        text += rest;
    }
    Ok(Html { text, detail })
}

/// The page's modules by name, as in their files.
pub fn modules() -> impl Iterator<Item = (&'static str, &'static str)> {
    MODULES.iter().copied()
}

fn script() -> String {
    MODULES.iter().map(|(name, text)| format!("// ---- {name}\n{}", without_imports(text))).collect()
}

/// A module's text without its imports and without the word `export`.
fn without_imports(text: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        inside |= line.starts_with("import ");
        if !inside {
            out += line.strip_prefix("export ").unwrap_or(line);
        }
        inside &= !line.trim_end().ends_with(';');
    }
    out
}

pub(crate) fn published(published: &Published) -> Value {
    let row = |row: &crate::recorded::PublishedRow| {
        json!({
            "label": row.label, "unit": row.unit, "published": row.published, "ours": row.ours, "spread": row.spread,
            "bound": row.bound, "inside": row.inside, "claimed": row.claimed,
        })
    };
    json!({
        "against": match published.against {
            Against::Published => "published",
            Against::Measured => "measured",
        },
        "name": published.name,
        "source": published.source,
        "rows": published.rows.iter().map(row).collect::<Vec<_>>(),
        "why": published.why,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_module_stands_behind_those_that_it_imports() {
        let mut known = BTreeSet::new();
        for (name, text) in MODULES {
            for (_, rest) in text.match_indices(" from './").map(|(at, from)| (at, &text[at + from.len()..])) {
                let imported = rest.split('\'').next().unwrap();
                assert!(known.contains(imported), "{name} imports {imported}, which stands behind it");
            }
            known.insert(*name);
        }
        assert_eq!(known.len(), MODULES.len());
    }

    #[test]
    fn every_file_of_the_page_is_in_it() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let modules: BTreeSet<_> = names.filter(|name| name.ends_with(".js")).collect();
        assert_eq!(modules, MODULES.iter().map(|(name, _)| (*name).to_owned()).collect());
    }

    #[test]
    fn no_two_modules_give_anything_the_same_name() {
        // They are concatenated into one script, where a repeated name is an error.
        let words = ["function* ", "async function ", "function ", "const ", "let ", "class "];
        let mut known = BTreeSet::new();
        for (name, text) in MODULES {
            for line in text.lines().map(|line| line.strip_prefix("export ").unwrap_or(line)) {
                let Some(rest) = words.iter().find_map(|word| line.strip_prefix(word)) else { continue };
                let own: String = rest.chars().take_while(|c| c.is_alphanumeric() || "_$".contains(*c)).collect();
                assert!(known.insert(own.clone()), "{name}: another module has {own}");
            }
        }
        assert!(known.len() > 100, "{}", known.len());
    }

    #[test]
    fn imports_and_exports_are_left_out_and_nothing_else() {
        let text =
            "/** A. */\nimport { a } from './a.js';\nimport {\n  b,\n} from './b.js';\n\nexport const x = 1;\nlet y;\n";
        assert_eq!(without_imports(text), "/** A. */\n\nconst x = 1;\nlet y;\n");
    }

    #[test]
    fn no_module_ends_the_script_or_asks_for_anything_outside() {
        for (name, text) in MODULES {
            for word in ["</script", "http:", "https:", "fetch(", "XMLHttpRequest", "eval("] {
                assert!(!text.contains(word), "{name} has {word}");
            }
        }
    }

    #[test]
    fn what_users_name_is_text_and_never_markup() {
        let mut report = Report::default();
        report.answer.title = "</title><script>alert(1)</script>".to_owned();
        report.answer.sentences = vec!["<img src=x onerror=alert(2)> {{data}}".to_owned()];
        let text = html(&report, None).unwrap().text;
        assert!(!text.contains("<script>alert") && !text.contains("<img src=x"));
        assert!(text.contains("{{data}}"), "a name that looks like a place stays as it is");
    }
}
