//! The files that a Rust source includes: `include_str!("a")`, `include_bytes!("a")`, `include!("a")`, also within
//! other macros; not those of its tests. Of a name that is put together, `concat!("../a/", $name)`, the folder.

use std::str::FromStr;

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

const MACROS: [&str; 3] = ["include_str", "include_bytes", "include"];

/// The names as written; folders end with `/`.
///
/// # Errors
/// If it is not Rust, or a name begins with nothing that tells the folder.
pub fn of(text: &str) -> Result<Vec<String>> {
    let stream = TokenStream::from_str(text).map_err(|error| anyhow!("{error}"))?;
    let mut names = Vec::new();
    search(stream, &mut names)?;
    Ok(names)
}

fn search(stream: TokenStream, names: &mut Vec<String>) -> Result<()> {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        at += 1;
        match rest {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), ..]
                if hash.as_char() == '#' && attribute.stream().to_string().replace(' ', "") == "cfg(test)" =>
            {
                // The item that the attribute belongs to ends with its block, or at a semicolon.
                at += rest.iter().skip(2).position(ends_item).map_or(rest.len(), |end| end + 2);
            }
            [TokenTree::Ident(name), TokenTree::Punct(bang), TokenTree::Group(group), ..]
                if bang.as_char() == '!' && MACROS.iter().any(|known| name == known) =>
            {
                names.push(name_in(group.stream())?);
                at += 2;
            }
            [TokenTree::Group(group), ..] => search(group.stream(), names)?,
            _ => {}
        }
    }
    Ok(())
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(mark) => mark.as_char() == ';',
        _ => false,
    }
}

fn name_in(stream: TokenStream) -> Result<String> {
    let mut tokens = stream.clone().into_iter();
    if let (Some(name), None) = (tokens.next().and_then(|token| text(&token)), tokens.next()) {
        return Ok(name);
    }
    let first = stream.clone().into_iter().find_map(|token| match token {
        TokenTree::Group(parts) => parts.stream().into_iter().next(),
        _ => None,
    });
    let folder = first.and_then(|first| text(&first)).filter(|folder| folder.ends_with('/'));
    folder.with_context(|| format!("`{stream}` names no file: expected one, or `concat!(\"FOLDER/\", …)`"))
}

/// The text of a literal in plain quotes.
fn text(token: &TokenTree) -> Option<String> {
    let TokenTree::Literal(literal) = token else { return None };
    let text = literal.to_string();
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_within_macros_and_not_within_tests() {
        let text = "const A: &str = include_str!(\"../a.toml\");\nfn f() { g(vec![include_bytes!(\"b\")]); }\n\
                    #[cfg(test)]\nmod tests { const C: &str = include_str!(\"../../../c\"); }\n\
                    #[cfg(test)]\nuse c::d;\nconst D: u8 = include!(\"d.rs\");\n";
        assert_eq!(of(text).unwrap(), ["../a.toml", "b", "d.rs"]);
    }

    #[test]
    fn of_a_name_put_together_the_folder_counts() {
        let text = "macro_rules! m { ($a:literal) => { include_str!(concat!(\"../a/\", $a)) }; }";
        assert_eq!(of(text).unwrap(), ["../a/"]);
        let error = of("const A: &str = include_str!(concat!(env!(\"HERE\"), \"/a\"));").unwrap_err();
        assert!(error.to_string().contains("names no file"), "{error}");
    }
}
