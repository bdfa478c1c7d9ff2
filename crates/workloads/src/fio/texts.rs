//! The texts of a run's jobs: job files, and the files they include.
//!
//! **Rule** `include NAME` is replaced by the lines of that file, whose name is relative to the folder of the including
//! file (tried). The caller passes in the function that reads a file, so nothing here accesses a disk.

use std::collections::BTreeMap;

use super::errors::Problem;
use super::lines::{Line, scan};

/// Deeper includes are refused, as by fio.
const DEEPEST: u32 = 16;
/// More texts than this are taken for a cycle.
const MOST_TEXTS: usize = 256;
/// Longer texts are refused: no input may make the parser busy for long.
pub(super) const MOST_BYTES: usize = 4 << 20;

/// A text and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The file's name.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Reads the file of this name, or returns why it cannot.
pub type TextReader<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Job files with everything that they include.
#[derive(Default)]
pub(super) struct Texts {
    /// Job files first, in their order.
    pub all: Vec<Text>,
    /// Text and line of an `include`, and the included text's number.
    included: BTreeMap<(u32, u32), u32>,
}

impl Texts {
    /// Loads the job files `roots` with what they include.
    pub fn load(roots: &[Text], read: TextReader<'_>) -> (Texts, Vec<Problem>) {
        let mut texts = Texts { all: roots.to_vec(), included: BTreeMap::new() };
        let mut depths = vec![0; roots.len()];
        let mut problems = Vec::new();
        let mut next = 0;
        while next < texts.all.len() {
            let folder = texts.all[next].name.rfind('/').map_or("", |slash| &texts.all[next].name[..=slash]);
            let mut found = Vec::new();
            for line in scan(&texts.all[next].text, next as u32).0 {
                let Line::Include(word) = line else { continue };
                let name =
                    if word.text.starts_with('/') { word.text.to_owned() } else { folder.to_owned() + word.text };
                found.push((word.place, name));
            }
            for (place, name) in found {
                let bytes: usize = texts.all.iter().map(|text| text.text.len()).sum();
                let text = match (depths[next] < DEEPEST, texts.all.len() < MOST_TEXTS && bytes < MOST_BYTES) {
                    (false, _) => Err(format!("expected includes at most {DEEPEST} deep")),
                    (_, false) => Err(format!("expected at most {MOST_TEXTS} files of 4 MiB in all")),
                    _ => read(&name),
                };
                match text {
                    Ok(text) => {
                        texts.included.insert((place.text, place.line), texts.all.len() as u32);
                        depths.push(depths[next] + 1);
                        texts.all.push(Text { name, text });
                    }
                    Err(why) => problems.push(Problem::new(place, format!("`{name}` cannot be included"), why)),
                }
            }
            next += 1;
        }
        (texts, problems)
    }

    /// The lines of one text, with included texts in the place of their `include`.
    pub fn lines(&self, text: u32) -> (Vec<Line<'_>>, Vec<Problem>) {
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        let (own, wrong) = scan(&self.all[text as usize].text, text);
        problems.extend(wrong);
        for line in own {
            let included = match &line {
                Line::Include(word) => self.included.get(&(text, word.place.line)),
                _ => {
                    lines.push(line);
                    continue;
                }
            };
            // Included texts have higher numbers than the including text, so this ends.
            let Some(&included) = included else { continue };
            let (inner, wrong) = self.lines(included);
            lines.extend(inner);
            problems.extend(wrong);
        }
        (lines, problems)
    }
}
