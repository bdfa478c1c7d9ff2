//! No command line panics: good ones, mutated at random by byte and by word.

use proptest::prelude::*;

/// One word per line; the fuzz target begins with the same.
const GOOD: [&str; 4] = [
    include_str!("../../../../fuzz/seeds/command_line/compare"),
    include_str!("../../../../fuzz/seeds/command_line/simulate"),
    include_str!("../../../../fuzz/seeds/command_line/fio"),
    include_str!("../../../../fuzz/seeds/command_line/programs"),
];

/// Bytes changed, added and dropped; words repeated.
fn mutate(text: &str, edits: &[(usize, u8, u8)]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for &(at, byte, kind) in edits {
        let at = at % bytes.len().max(1);
        match kind % 4 {
            _ if bytes.is_empty() => bytes.push(byte),
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => {
                let words: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                let twice = words[at % words.len()].to_vec();
                bytes.push(b'\n');
                bytes.extend(twice);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_command_lines_are_understood_or_refused(
        which in 0..GOOD.len(),
        edits in prop::collection::vec(any::<(usize, u8, u8)>(), 0..6),
    ) {
        blksched_cli::fuzz_arguments(&mutate(GOOD[which], &edits));
    }
}
