//! Columns found by name: in a header, or by the keys of a line of JSON.

use blksched_text::did_you_mean;
use serde_json::Value;

use super::field::Column;
use super::reader::{Parts, Wrong};

/// Words of a line between separators, without quotes around them.
fn words(text: &str, separator: Option<char>) -> Vec<&str> {
    let plain = |word: &str| -> Option<(usize, usize)> {
        let word = word.trim();
        let word = word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word);
        let from = word.as_ptr() as usize - text.as_ptr() as usize;
        Some((from, from + word.len()))
    };
    let places: Vec<(usize, usize)> = match separator {
        Some(separator) => text.split(separator).filter_map(plain).collect(),
        None => text.split_whitespace().filter_map(plain).collect(),
    };
    places.into_iter().map(|(from, to)| &text[from..to]).collect()
}

/// Where each column is, by the header.
pub(super) fn places(header: &str, separator: Option<char>, columns: &[Column]) -> Result<Vec<usize>, Wrong> {
    let there = words(header, separator);
    let find = |column: &Column| {
        let name = column.named.as_deref().unwrap_or_default();
        let place = there.iter().position(|word| *word == name);
        let place = place.or_else(|| there.iter().position(|word| word.eq_ignore_ascii_case(name)));
        place.ok_or_else(|| {
            let near = did_you_mean(name, there.iter().copied());
            (1, format!("the header has no `{name}`: expected one of {}{near}", there.join(", ")))
        })
    };
    columns.iter().map(find).collect()
}

/// Reads a row whose columns are at these places.
pub(super) fn of_row(
    text: &str,
    separator: Option<char>,
    columns: &[Column],
    places: &[usize],
    parts: &mut Parts,
) -> Result<(), Wrong> {
    let words = words(text, separator);
    for (column, place) in columns.iter().zip(places) {
        let Some(word) = words.get(*place) else {
            let message = format!("{} columns: `{column}` would be column {}", words.len(), place + 1);
            return Err((text.len() + 1, message));
        };
        let at = word.as_ptr() as usize - text.as_ptr() as usize + 1;
        parts.put(column, word).map_err(|message| (at, message))?;
    }
    Ok(())
}

/// Reads an object of one line.
pub(super) fn of_json(text: &str, columns: &[Column], parts: &mut Parts) -> Result<(), Wrong> {
    let object: Value =
        serde_json::from_str(text).map_err(|error| (error.column().max(1), format!("JSON: {error}")))?;
    for column in columns {
        let keys = column.named.as_deref().unwrap_or_default();
        let found = keys.split('.').try_fold(&object, |value, key| value.get(key));
        let word = match found {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Bool(yes)) => u8::from(*yes).to_string(),
            Some(Value::Null) => String::new(),
            Some(_) => return Err((1, format!("`{keys}` is not a number or a word"))),
            None => return Err((1, format!("the object has no `{keys}`"))),
        };
        parts.put(column, &word).map_err(|message| (1, message))?;
    }
    Ok(())
}
