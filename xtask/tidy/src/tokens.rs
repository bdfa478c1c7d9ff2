//! Rust text as a flat run of words and signs, so that rules see neither comments nor strings.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A word or a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its text: an identifier, or one character of punctuation; empty for a literal.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
}

/// All tokens of a file.
pub fn of(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, out: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Ident(word) => out.push(Token { text: word.to_string(), line }),
            TokenTree::Punct(sign) => out.push(Token { text: sign.as_char().to_string(), line }),
            TokenTree::Literal(_) => out.push(Token { text: String::new(), line }),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                out.push(Token { text: open.to_owned(), line });
                let end = group.span_close().end().line;
                flatten(group.stream(), out);
                out.push(Token { text: close.to_owned(), line: end });
            }
        }
    }
}

/// Lines on which `words` are consecutive.
pub fn lines_with<'a>(tokens: &'a [Token], words: &'a [&'a str]) -> impl Iterator<Item = usize> + 'a {
    tokens
        .windows(words.len())
        .filter(move |window| window.iter().zip(words).all(|(token, word)| token.text == *word))
        .map(|window| window[0].line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        of(text.parse().expect("Rust"))
    }

    #[test]
    fn comments_and_strings_are_not_seen() {
        let tokens =
            tokens("// SystemTime\n/// SystemTime\nfn a() { \"SystemTime\"; }\nfn b() { SystemTime::now() }\n");
        assert_eq!(lines_with(&tokens, &["SystemTime"]).collect::<Vec<_>>(), [4]);
    }

    #[test]
    fn a_run_of_tokens_is_found_inside_macros_too() {
        let tokens = tokens("fn a() {\n  println!(\"{:?}\",\n    Instant::now());\n}\n");
        assert_eq!(lines_with(&tokens, &["Instant", ":", ":", "now"]).collect::<Vec<_>>(), [3]);
    }
}
