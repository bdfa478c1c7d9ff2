//! All errors of a job file at once, with excerpts in rustc's style.

use core::fmt;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::place::TextPlace;
use super::texts::Text;

/// A file with more errors than this is not a job file; the others are only counted.
const MOST_SHOWN: usize = 20;

/// One error, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place.
    pub place: TextPlace,
    /// What is wrong, naming the option and the offending word.
    pub title: String,
    /// What was expected at that place.
    pub expected: String,
    /// What to do about it, such as the nearest valid word.
    pub help: Option<Box<str>>,
    /// The word that was probably meant, if the help is that.
    pub nearest: Option<Box<str>>,
    /// It is about the file system, which may have been said elsewhere than in the job file.
    pub is_of_file_system: bool,
}

impl Problem {
    pub(crate) fn new(place: TextPlace, title: impl Into<String>, expected: impl Into<String>) -> Problem {
        let (title, expected) = (title.into(), expected.into());
        Problem { place, title, expected, help: None, nearest: None, is_of_file_system: false }
    }

    pub(crate) fn help(self, help: impl Into<Box<str>>) -> Problem {
        Problem { help: Some(help.into()), ..self }
    }

    pub(crate) fn did_you_mean(self, nearest: Option<&str>) -> Problem {
        match nearest {
            Some(nearest) => {
                let help = format!("did you mean `{nearest}`?");
                Problem { help: Some(help.into()), nearest: Some(nearest.into()), ..self }
            }
            None => self,
        }
    }
}

/// An option that was accepted but changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its place.
    pub place: TextPlace,
    /// The option's main name.
    pub option: &'static str,
    /// Why it changes nothing.
    pub why: String,
}

/// Every problem of some job files, in the order of their lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    /// The job files and what they include, for excerpts.
    pub texts: Vec<Text>,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl Errors {
    pub(crate) fn new(texts: &[Text], mut problems: Vec<Problem>) -> Errors {
        assert!(!problems.is_empty(), "an error must say what is wrong");
        problems.sort_by_key(|p| (p.place.text, p.place.range.start, p.place.range.end));
        Errors { texts: texts.to_vec(), problems }
    }

    /// The text at the place of a problem.
    pub fn word(&self, problem: &Problem) -> Option<&str> {
        self.texts.get(problem.place.text as usize)?.text.get(problem.place.range.clone())
    }

    /// With excerpts from the file, coloured for a terminal or plain.
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let shown = self.problems.iter().take(MOST_SHOWN).map(|problem| self.excerpt(problem, &renderer));
        let hidden = self.problems.len().saturating_sub(MOST_SHOWN);
        let rest = (hidden > 0).then(|| format!("and {hidden} more errors"));
        shown.chain(rest).collect::<Vec<String>>().join("\n\n")
    }

    /// Only the problem's own line is passed to the renderer, so that it need not search the whole file for it.
    fn excerpt(&self, problem: &Problem, renderer: &Renderer) -> String {
        let place = &problem.place;
        let Text { name, text } = &self.texts[place.text as usize];
        let from = text[..place.range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[from..].lines().next().unwrap_or("");
        let range = place.range.start - from..place.range.end - from;
        let mark = AnnotationKind::Primary.span(range).label(problem.expected.as_str());
        let snippet = Snippet::source(line).path(name.as_str()).line_start(place.line as usize).annotation(mark);
        let mut group = Level::ERROR.primary_title(problem.title.as_str()).element(snippet);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(&**help));
        }
        renderer.render(&[group])
    }
}

/// How errors are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without escape sequences.
    Plain,
    /// With ANSI colours.
    Coloured,
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl core::error::Error for Errors {}
