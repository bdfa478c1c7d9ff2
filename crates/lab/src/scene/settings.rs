//! Settings of a scene as words.

use blksched::Span;
use blksched_disks::Attached;
use blksched_text::{did_you_mean, nearest};

use crate::error::{Expected, WordError};

/// Parses how a disk is attached to its host.
///
/// # Errors
/// The words that exist, and the nearest.
pub fn attached(text: &str) -> Result<Attached, WordError> {
    let words = || Attached::WORDS.into_iter().map(|(word, _)| word);
    if let Some((_, kind)) = Attached::WORDS.into_iter().find(|(word, _)| *word == text) {
        return Ok(kind);
    }
    let near = did_you_mean(text, words());
    let message = format!("expected one of {}{near}", words().collect::<Vec<_>>().join(", "));
    Err(WordError::new(Expected::Value, text, message).near(nearest(text, words())))
}

/// Parses a length of time other than zero; a number alone counts seconds.
///
/// # Errors
/// What was expected.
pub fn some_time(text: &str) -> Result<Span, String> {
    let seconds = text.trim().parse::<f64>().is_ok().then(|| format!("{}s", text.trim()));
    match seconds.as_deref().unwrap_or(text).parse::<Span>() {
        Ok(Span::ZERO) => Err("nothing happens in no time: expected more than 0s, as in 30s".to_owned()),
        Ok(span) => Ok(span),
        Err(error) => Err(error.to_string()),
    }
}
