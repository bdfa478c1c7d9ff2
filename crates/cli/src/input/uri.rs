//! Traces by URI: `file:///…`, and `s3://BUCKET/KEY` in any store that speaks S3. The settings of a trace follow a
//! colon as with files, and keys are written literally, without `%` escapes.

#![cfg_attr(
    not(feature = "uri"),
    allow(dead_code, unused_variables, reason = "without the feature every address is refused before it is opened")
)]

#[cfg(feature = "uri")]
mod s3;

use std::borrow::Cow;
use std::io::Read;

use blksched_text::name_of_path;

/// What `open` finds.
pub(super) enum Opened {
    Stream(Box<dyn Read + Send>),
    Missing,
}

/// Whether the word has a scheme, as in `s3://`.
pub(crate) fn is_uri(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(text: &str) -> bool {
    let mut letters = text.bytes();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte))
}

/// Splits a URI from its parameters: it ends at the first colon followed by a setting, as in `:timing=closed`.
pub(crate) fn split(word: &str) -> (&str, &str) {
    let begin = word.find("://").map_or(0, |at| at + 3);
    let sets = |rest: &str| {
        let name = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
        name > 0 && rest[name..].starts_with('=')
    };
    let colon = word[begin..].match_indices(':').map(|(at, _)| begin + at).find(|at| sets(&word[at + 1..]));
    colon.map_or((word, ""), |at| (&word[..at], &word[at + 1..]))
}

/// The word, with a local `file://` URI turned into a path.
///
/// # Errors
/// If it names a file of another host, or its escapes are broken.
pub(crate) fn local(word: &str) -> Result<Cow<'_, str>, String> {
    let (uri, said) = split(word);
    let Some(rest) = uri.strip_prefix("file://") else { return Ok(Cow::Borrowed(word)) };
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(format!("{uri}: expected a path from the root, as in file:///srv/x.csv"));
    }
    let path = unescaped(path).ok_or_else(|| format!("{uri}: expected two hexadecimal digits after each %"))?;
    Ok(Cow::Owned(if said.is_empty() { path } else { format!("{path}:{said}") }))
}

/// Decodes percent escapes: `%20` is a space.
fn unescaped(path: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), path.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let [high, low, behind @ ..] = behind else { return None };
        bytes.push((digit(high)? * 16 + digit(low)?) as u8);
        rest = behind;
    }
    #[cfg(unix)]
    return Some(name_of_path(std::os::unix::ffi::OsStrExt::from_bytes(bytes.as_slice())));
    #[cfg(not(unix))]
    String::from_utf8(bytes).ok().map(|text| name_of_path(text.as_ref()))
}

/// Checks that this program can read from there, so that the user hears of a mistake early.
///
/// # Errors
/// If the scheme is not known, or there is no bucket or no key.
pub(crate) fn check(uri: &str) -> Result<(), String> {
    address(uri).map(drop)
}

/// Bucket and key.
fn address(uri: &str) -> Result<(&str, &str), String> {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
    if scheme != "s3" {
        return Err(format!("{uri}: unknown scheme `{scheme}`: expected file or s3"));
    }
    if !cfg!(feature = "uri") {
        return Err(format!("{uri}: this program was built without `uri`: expected a file"));
    }
    match rest.split_once('/') {
        Some((bucket, key)) if !bucket.is_empty() && !key.trim_end_matches('/').is_empty() => Ok((bucket, key)),
        _ => Err(format!("{uri}: expected a bucket and a key, as in s3://traces/monday/x.csv.gz")),
    }
}

/// An object, read piece by piece.
pub(super) fn open(uri: &str) -> Result<Opened, String> {
    let (bucket, key) = address(uri)?;
    #[cfg(feature = "uri")]
    return s3::open(uri, bucket, key);
    #[cfg(not(feature = "uri"))]
    unreachable!("{bucket}/{key} has no address")
}

/// The size of an object \[bytes\]; 0 if unknown.
pub(super) fn size(uri: &str) -> u64 {
    #[cfg(feature = "uri")]
    return address(uri).map_or(0, |(bucket, key)| s3::size(uri, bucket, key));
    #[cfg(not(feature = "uri"))]
    0
}

/// The words, with each pattern in a store replaced by all objects that it matches, which no shell does.
///
/// # Errors
/// If the store cannot be asked, or a pattern matches nothing.
pub(crate) fn expanded(words: &[String]) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for word in words {
        let (uri, said) = split(word);
        if !is_uri(word) || uri.starts_with("file://") || !uri.contains(['*', '?', '[']) {
            all.push(word.clone());
            continue;
        }
        let found = matches(uri)?;
        if found.is_empty() {
            return Err(format!("{uri}: no object matches"));
        }
        all.extend(found.into_iter().map(|name| if said.is_empty() { name } else { format!("{name}:{said}") }));
    }
    Ok(all)
}

/// The objects that a pattern matches, sorted; `*` and `?` do not match `/`.
pub(crate) fn matches(pattern: &str) -> Result<Vec<String>, String> {
    let (bucket, key) = address(pattern)?;
    #[cfg(feature = "uri")]
    return s3::matches(pattern, bucket, key);
    #[cfg(not(feature = "uri"))]
    unreachable!("{bucket}/{key} has no address")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_ends_where_something_is_said_of_it() {
        assert_eq!(
            split("s3://b/a:b/x.csv:device=8,0,timing=closed"),
            ("s3://b/a:b/x.csv", "device=8,0,timing=closed")
        );
        assert_eq!(split("s3://b/12:30:00.csv"), ("s3://b/12:30:00.csv", ""));
        assert!(is_uri("s3://b/x") && !is_uri("x.csv:line=a://b") && !is_uri("://b"));
    }

    #[test]
    fn a_local_files_uri_is_its_path() {
        assert_eq!(local("file:///a%20b/x.csv:skip_lines=1").unwrap(), "/a b/x.csv:skip_lines=1");
        assert_eq!(local("file://localhost/x").unwrap(), "/x");
        assert_eq!(local("x.csv:skip_lines=1").unwrap(), "x.csv:skip_lines=1");
        assert!(local("file://elsewhere/x").unwrap_err().contains("expected a path from the root"));
        assert!(local("file:///a%2").unwrap_err().contains("two hexadecimal digits"));
    }

    #[test]
    fn an_address_is_a_bucket_and_a_key() {
        assert!(check("gs://b/x").unwrap_err().contains("unknown scheme `gs`: expected file or s3"));
        #[cfg(feature = "uri")]
        {
            assert_eq!(address("s3://b/x/y"), Ok(("b", "x/y")));
            assert!(check("s3://b").unwrap_err().contains("expected a bucket and a key"));
            assert!(check("s3:///x").unwrap_err().contains("expected a bucket and a key"));
        }
    }
}
