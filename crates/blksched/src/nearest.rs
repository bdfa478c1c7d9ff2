//! The nearest valid word, for helpful errors.

use alloc::vec;
use alloc::vec::Vec;

/// The candidate that `word` most likely meant, or `None` if none is near.
///
/// Near means that at most a third of the word's letters are changed, added, dropped or swapped; case is ignored.
///
/// ```
/// assert_eq!(blksched::text::nearest("fifo_bacth", ["fifo_batch", "read_expire"]), Some("fifo_batch"));
/// assert_eq!(blksched::text::nearest("BFQ", ["cfq", "bfq"]), Some("bfq"));
/// assert_eq!(blksched::text::nearest("bananas", ["fifo_batch", "read_expire"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = word.chars().count().div_ceil(3);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|&(changes, _)| changes <= limit)
        .min_by_key(|&(changes, _)| changes)
        .map(|(_, candidate)| candidate)
}

/// The number of edits between two words; a swap of neighbours counts as one (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j - 1] + changed).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = core::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn a_swap_a_letter_more_a_letter_less_and_another_letter_are_one_edit_each() {
        for other in ["bacth", "batcch", "btch", "bitch"] {
            assert_eq!(distance("batch", other), 1, "{other}");
        }
        assert_eq!(distance("", "abc"), 3);
    }
}
