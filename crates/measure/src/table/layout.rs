//! How wide each column of a text table is, and where its cells break.
//!
//! **Rule** A column that needs less than an equal share of the remaining width gets what it needs, as far as that
//! leaves the others the width of their longest words. If there is none, a column whose longest word does not fit into
//! the share gets the width of that word. If there is none of these either, cells are broken to the share, and a
//! column whose lines then leave at least three characters unused gets the width of its longest line. Finally, the
//! rest is divided evenly, with one character more for the first columns.

use unicode_width::UnicodeWidthStr;

/// A column whose longest word comes this close to the share is as wide as that word.
const CLOSE: usize = 2;
/// This many blanks are worth a narrower column.
const WORTH: usize = 3;

/// A column's requirements before the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// The width of its longest cell.
    pub all: usize,
    /// The width of its longest word, which is the least width of the column.
    pub least: usize,
}

/// The width of each column, `room` in all if the words allow; `longest` returns a column's longest line if its cells
/// are broken to a width.
pub(super) fn widths(needs: &[Needs], room: usize, longest: impl Fn(usize, usize) -> usize) -> Vec<usize> {
    let mut given = Given { widths: vec![None; needs.len()], left: room, open: needs.len() };
    while given.open > 0 {
        let share = given.share();
        let first = |is_so: &dyn Fn(Needs) -> bool| given.undecided().find(|&column| is_so(needs[column]));
        let (modest, tight) = (first(&|needs| needs.all < share), first(&|needs| needs.least + CLOSE > share));
        let saving = || {
            let mut broken = given.undecided().map(|column| (column, longest(column, share)));
            broken.find(|&(_, used)| used + WORTH <= share)
        };
        let decided = match (modest, tight) {
            (Some(column), _) => {
                let others: usize =
                    given.undecided().filter(|other| *other != column).map(|one| needs[one].least).sum();
                let most = given.left.saturating_sub(others).max(needs[column].least);
                Some((column, needs[column].all.min(most)))
            }
            (None, Some(column)) => Some((column, needs[column].least)),
            (None, None) => saving(),
        };
        let Some((column, width)) = decided else { break };
        given.decide(column, width);
    }
    given.split_evenly()
}

/// The widths given to columns so far.
struct Given {
    widths: Vec<Option<usize>>,
    left: usize,
    /// Columns without a width yet.
    open: usize,
}

impl Given {
    fn share(&self) -> usize {
        self.left / self.open
    }

    fn undecided(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.widths.len()).filter(|&column| self.widths[column].is_none())
    }

    fn decide(&mut self, column: usize, width: usize) {
        self.widths[column] = Some(width);
        self.left = self.left.saturating_sub(width);
        self.open -= 1;
    }

    fn split_evenly(self) -> Vec<usize> {
        let share = self.left.checked_div(self.open).unwrap_or(0);
        let mut more = self.left - share * self.open;
        let mut even = || {
            let extra = usize::from(more > 0);
            more -= extra;
            share + extra
        };
        self.widths.into_iter().map(|width| width.unwrap_or_else(&mut even)).collect()
    }
}

/// The width of a text on a terminal.
pub(super) fn width_of(text: &str) -> usize {
    // The usual case.
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The lines of a cell, broken between words to `width`; a word that is longer has a line of its own.
pub(super) fn lines(cell: &str, width: usize) -> Lines<'_> {
    Lines { rest: Some(cell), width: Some(width) }
}

/// The lines that are left of a cell.
pub(super) struct Lines<'a> {
    rest: Option<&'a str>,
    /// Where they are broken; `None`: what is left is one line, of any length.
    width: Option<usize>,
}

impl<'a> Lines<'a> {
    /// A cell that fits in one line.
    pub(super) fn whole(line: &'a str) -> Lines<'a> {
        Lines { rest: Some(line), width: None }
    }

    pub(super) fn has_more(&self) -> bool {
        self.rest.is_some()
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.rest.take()?;
        let Some(width) = self.width else { return Some(text) };
        // Unless a word is longer, the line ends among its first bytes: the rest is not looked through.
        let head = &text.as_bytes()[..text.len().min(width.saturating_add(1))];
        if head.is_ascii() && memchr::memchr(b'\n', head).is_none() {
            if text.len() <= width {
                return Some(text);
            }
            if let Some(blank) = head.iter().rposition(|&byte| byte == b' ') {
                self.rest = Some(&text[blank + 1..]);
                return Some(&text[..blank]);
            }
        }
        let line = text.split('\n').next().unwrap_or(text);
        match break_at(line, width) {
            Some(blank) => {
                self.rest = Some(&text[blank + 1..]);
                Some(&line[..blank])
            }
            None => {
                self.rest = text.get(line.len() + 1..);
                Some(line)
            }
        }
    }
}

/// Where to break a line that has other characters than ASCII's, or begins with a word longer than `width`; `None` if
/// it need not or cannot be broken.
fn break_at(line: &str, width: usize) -> Option<usize> {
    if width_of(line) <= width {
        return None;
    }
    let bytes = line.as_bytes();
    let first_behind = |from: usize| bytes[from..].iter().position(|&byte| byte == b' ').map(|at| from + at);
    if line.is_ascii() {
        // No blank comes earlier: otherwise the caller would have found it.
        return first_behind(width);
    }
    let blanks = line.match_indices(' ').map(|(at, _)| at);
    let fitting = blanks.take_while(|&at| line[..at].width() <= width).last();
    fitting.or_else(|| first_behind(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(needs: &[(usize, usize)], room: usize, longest: impl Fn(usize, usize) -> usize) -> Vec<usize> {
        let needs: Vec<Needs> = needs.iter().map(|&(all, least)| Needs { all, least }).collect();
        widths(&needs, room, longest)
    }

    #[test]
    fn who_needs_little_gets_it_and_the_rest_is_shared() {
        assert_eq!(of(&[(4, 4), (100, 8), (100, 8)], 45, |_, width| width), [4, 21, 20]);
        assert_eq!(of(&[(4, 4), (10, 8), (5, 5)], 45, |_, width| width), [4, 10, 5]);
    }

    #[test]
    fn a_long_word_widens_its_column_and_short_lines_leave_room() {
        assert_eq!(of(&[(100, 24), (100, 4)], 40, |_, width| width), [24, 16]);
        assert_eq!(of(&[(100, 4), (100, 4)], 40, |column, width| if column == 0 { 12 } else { width }), [12, 28]);
    }

    #[test]
    fn a_column_that_needs_little_leaves_the_others_their_words() {
        // The second could be written in 10, but the last is one word.
        assert_eq!(of(&[(4, 4), (10, 6), (25, 25)], 36, |_, width| width), [4, 7, 25]);
    }

    #[test]
    fn words_that_do_not_fit_at_all_are_not_broken() {
        assert_eq!(of(&[(30, 9), (30, 9)], 5, |_, width| width), [9, 9]);
        assert_eq!(of(&[], 5, |_, width| width), [0; 0]);
    }

    #[test]
    fn cells_break_between_words_and_keep_every_one() {
        let broken = |cell, width| lines(cell, width).collect::<Vec<_>>();
        assert_eq!(broken("one two three", 7), ["one two", "three"]);
        assert_eq!(broken("one two three", 6), ["one", "two", "three"]);
        assert_eq!(broken("", 6), [""]);
        assert_eq!(broken("a\nb c", 9), ["a", "b c"]);
        assert_eq!(broken("abcd\nef", 4), ["abcd", "ef"], "the line is as long as the width");
        assert_eq!(broken("ab cd ef", 5), ["ab cd", "ef"], "the blank is just behind the width");
        assert_eq!(broken("ab c\u{301}d ef", 5), ["ab c\u{301}d", "ef"], "an accent takes no place");
        assert_eq!(broken("incomprehensibility of it", 5), ["incomprehensibility", "of it"]);
        assert_eq!(broken("±ä ≤≥ über", 5), ["±ä ≤≥", "über"]);
        assert_eq!(broken("時計 時計", 5), ["時計", "時計"], "each of these takes two places");
        assert_eq!(broken("überlänge x", 3), ["überlänge", "x"]);
    }
}
