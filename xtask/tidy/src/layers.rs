//! Layers of CFQ and BFQ: an elevator's state and decisions do not know the elevator, and a lower layer does not know
//! those above it. So a step reads and writes only its arguments, and a decision can be tested by itself.

use super::Finding;
use super::tokens::Token;
use super::tree::{RustFile, Tree};

/// A directory, or a file, below `elevators/`, and words that it must not contain.
const LAYERS: [(&str, &[&str]); 6] = [
    ("cfq/state", &["Cfq", "data", "decide", "steps"]),
    ("cfq/decide", &["Cfq", "data", "steps"]),
    ("bfq/hierarchy", &["Bfq", "data", "state", "device", "decide", "steps", "Cx", "Call"]),
    ("bfq/device", &["Bfq", "data", "state", "decide", "steps"]),
    ("bfq/state", &["Bfq", "data", "decide", "steps"]),
    ("bfq/decide", &["Bfq", "data", "steps"]),
];

/// Every name from a higher layer.
pub fn check(tree: &Tree) -> Vec<Finding> {
    LAYERS
        .into_iter()
        .flat_map(|(layer, refused)| tree.rust.iter().flat_map(move |file| in_file(file, layer, refused)))
        .collect()
}

fn in_file(file: &RustFile, layer: &str, refused: &'static [&'static str]) -> Vec<Finding> {
    let below = file.path.strip_prefix("crates/blksched/src/elevators/").and_then(|path| path.strip_prefix(layer));
    if !below.is_some_and(|rest| rest.starts_with('/')) {
        return Vec::new();
    }
    let lines = refused.iter().flat_map(|&word| mentions(&file.tokens, word).map(move |line| (line, word)));
    let finding = |(line, word)| {
        let message = format!("{layer} stands below `{word}` and must not name it: take what is needed as an argument");
        file.finding(line, "layers", message)
    };
    lines.map(finding).collect()
}

/// A type's name anywhere, but a module's only in a path.
fn mentions<'a>(tokens: &'a [Token], word: &'static str) -> impl Iterator<Item = usize> + 'a {
    let is_type = word.starts_with(char::is_uppercase);
    let here = tokens.iter().enumerate().filter(move |(_, token)| token.text == word);
    let leads_on = |at: usize| tokens.get(at + 1).is_some_and(|next| next.text == ":");
    let doubled = |at: usize| tokens.get(at + 2).is_some_and(|next| next.text == ":");
    here.filter(move |&(at, _)| is_type || leads_on(at) && doubled(at)).map(|(_, token)| token.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::planted(&[(&format!("crates/blksched/src/elevators/{path}"), text)])).len()
    }

    #[test]
    fn state_and_decisions_do_not_name_the_elevator() {
        for folder in ["cfq/state", "cfq/decide"] {
            assert_eq!(found(&format!("{folder}/a.rs"), "//! A.\nfn a(of: &super::super::Cfq) {}\n"), 1);
            assert_eq!(found(&format!("{folder}/a.rs"), "//! A.\nuse super::super::data::Row;\n"), 1);
        }
        for folder in ["bfq/state", "bfq/decide", "bfq/hierarchy", "bfq/device"] {
            assert_eq!(found(&format!("{folder}/a.rs"), "//! A.\nimpl Bfq {}\n"), 1);
        }
        assert_eq!(found("cfq/steps/a.rs", "//! A.\nimpl Cfq {}\n"), 0);
    }

    #[test]
    fn a_lower_layer_does_not_use_one_above_it() {
        assert_eq!(found("cfq/state/a.rs", "//! A.\nuse crate::elevators::cfq::decide::depth::Load;\n"), 1);
        assert_eq!(found("cfq/decide/a.rs", "//! A.\nuse crate::elevators::cfq::state::slice::Slice;\n"), 0);
        assert_eq!(found("bfq/hierarchy/a.rs", "//! A.\nuse crate::elevators::bfq::state::queue::BfqQueue;\n"), 1);
        assert_eq!(found("bfq/hierarchy/a.rs", "//! A.\nfn a(now: &Call<'_, '_>) {}\n"), 1);
    }

    #[test]
    fn comments_fields_and_local_words_are_no_names() {
        assert_eq!(
            found("cfq/state/a.rs", "//! What `Cfq` keeps; see steps::dispatch.\nfn a(state: u8) -> u8 { state }\n"),
            0
        );
    }
}
