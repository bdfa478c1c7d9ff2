//! Arithmetic in values: `(8*1024k)`, and with fio's words for the host (`2*$pagesize`).
//!
//! **Rule** `+ - * / % ^` on whole numbers with fio's suffixes, `^` before `* / %` before `+ -`, parentheses and a
//! minus in front; division drops the rest.

use super::values::{KbBase, scaled};

/// Deeper nesting is refused, so that no text can exhaust the stack.
const DEEPEST: u32 = 32;

/// The value of `text`; `None` if it is not an expression, is negative, or exceeds 64 bits on the way.
pub(super) fn evaluate(text: &str, base: KbBase) -> Option<u64> {
    let mut parser = Parser { rest: text, base, depth: 0 };
    let value = parser.sum()?;
    parser.rest.trim().is_empty().then_some(value).and_then(|value| u64::try_from(value).ok())
}

/// Splits `text` after the parenthesis that it begins with: the inside, and what follows.
pub(super) fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0u32;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some((&text[1..at], &text[at + 1..])),
            ')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

struct Parser<'a> {
    rest: &'a str,
    base: KbBase,
    depth: u32,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Consumes the next character if it is one of these.
    fn take(&mut self, any_of: &str) -> Option<char> {
        let found = self.peek().filter(|c| any_of.contains(*c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(operator) = self.take("+-") {
            let right = self.product()?;
            value = if operator == '+' { value.checked_add(right)? } else { value.checked_sub(right)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.power()?;
        while let Some(operator) = self.take("*/%") {
            let right = self.power()?;
            value = match operator {
                '*' => value.checked_mul(right)?,
                '/' => value.checked_div(right)?,
                _ => value.checked_rem(right)?,
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<i128> {
        let base = self.atom()?;
        match self.take("^") {
            Some(_) => base.checked_pow(u32::try_from(self.deeper(Parser::power)?).ok()?),
            None => Some(base),
        }
    }

    fn atom(&mut self) -> Option<i128> {
        if self.take("-").is_some() {
            return self.deeper(Parser::atom)?.checked_neg();
        }
        if self.take("(").is_some() {
            let value = self.deeper(Parser::sum)?;
            return self.take(")").map(|_| value);
        }
        self.peek()?;
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let value = scaled(&self.rest[..end], self.base)?;
        self.rest = &self.rest[end..];
        Some(i128::from(value))
    }

    fn deeper(&mut self, parse: fn(&mut Self) -> Option<i128>) -> Option<i128> {
        self.depth += 1;
        let value = (self.depth <= DEEPEST).then(|| parse(self))?;
        self.depth -= 1;
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_school_and_suffixes_count() {
        let value = |text| evaluate(text, KbBase::Binary);
        assert_eq!(value("1 + 2 * 3"), Some(7));
        assert_eq!(value("(1+2)*3"), Some(9));
        assert_eq!(value("2^3^2"), Some(512));
        assert_eq!(value("8*1024k - 1m"), Some(7 << 20));
        assert_eq!(value("7/2 + 7%2"), Some(4));
        assert_eq!(value("-1 + 0x10"), Some(15));
    }

    #[test]
    fn what_cannot_be_computed_is_no_value() {
        for text in ["", "1+", "(1", "1)", "1/0", "1-2", "9^99", "2 3", "k", "-", "1%0", "é"] {
            assert_eq!(evaluate(text, KbBase::Binary), None, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(100_000), KbBase::Binary), None);
        assert_eq!(evaluate(&"-".repeat(100_000), KbBase::Binary), None);
        assert_eq!(evaluate(&"2^".repeat(100_000), KbBase::Binary), None);
    }

    #[test]
    fn a_parenthesis_is_cut_where_it_closes() {
        assert_eq!(parenthesised("((1)2)s"), Some(("(1)2", "s")));
        assert_eq!(parenthesised("(1"), None);
        assert_eq!(parenthesised("1(2)"), None);
    }
}
