//! The small language in which an experiment defines a number: `finish(cat)@batch64 / finish(cat)@batch32`.
//!
//! ```text
//! claim   = sum [ (<=|>=) sum ]
//! sum     = product { (+|-) product }
//! product = operand { (*|/) operand }
//! operand = number | ( claim ) | REDUCER ( sum ) | MEASURE ( word, … ) [ @run ]
//! ```
//!
//! A measure gives one value per process (or one in all), of one seed's run; a `*` in a process's or a run's name
//! stands for anything, and then there is a value for each. Reducers (`min`, `max`, `mean`, `median`, `sum`, the
//! `second` and `third` least) make one value of many. A list and a single value combine value by value. A comparison
//! that holds is 1; one that does not hold, or that concerns a missing value, is 0.

use super::measures::{Measure, measure_names, measure_of};
use super::outcome::RunOutcome;

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    node: ExpressionNode,
}

#[derive(Clone, Debug)]
enum ExpressionNode {
    Number(f64),
    Measure { measure: &'static Measure, words: Vec<String>, run: Option<String> },
    Reduce(Reducer, Box<ExpressionNode>),
    Combine(Operator, Box<ExpressionNode>, Box<ExpressionNode>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    AtMost,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reducer {
    Min,
    Max,
    Mean,
    Median,
    Sum,
    /// Sorted, the value at this index.
    Nth(usize),
}

const REDUCERS: [(&str, Reducer); 11] = [
    ("min", Reducer::Min),
    ("max", Reducer::Max),
    ("mean", Reducer::Mean),
    ("median", Reducer::Median),
    ("sum", Reducer::Sum),
    ("second", Reducer::Nth(1)),
    ("third", Reducer::Nth(2)),
    ("fourth", Reducer::Nth(3)),
    ("fifth", Reducer::Nth(4)),
    ("sixth", Reducer::Nth(5)),
    ("seventh", Reducer::Nth(6)),
];

/// An error in an expression: the message, the word, and the words that would be right.
#[derive(Clone, Debug, PartialEq)]
pub struct Misunderstood {
    /// The message.
    pub problem: String,
    /// The offending word, and the words known there; empty if no word is at fault.
    pub known: Vec<&'static str>,
    /// The offending word.
    pub word: String,
}

/// One seed's outcomes, by the names of their runs.
pub type Outcomes<'a> = dyn Fn(&str) -> Vec<&'a RunOutcome> + 'a;

impl Expression {
    /// Parses `text`.
    ///
    /// # Errors
    /// What is wrong, with the offending word.
    pub fn parse(text: &str) -> Result<Expression, Misunderstood> {
        let mut parser = Parser { rest: text.trim_start() };
        let node = parser.claim()?;
        match parser.rest.is_empty() {
            true => Ok(Expression { node }),
            false => Err(parser.expected("an operator or the end")),
        }
    }

    /// Its values in one seed's runs; `run` is used where it names none.
    pub fn values(&self, run: &str, outcomes: &Outcomes<'_>) -> Vec<f64> {
        self.node.values(run, outcomes)
    }

    /// The runs that it names.
    pub fn runs(&self) -> Vec<&str> {
        let mut runs = Vec::new();
        self.node.visit(&mut |node| {
            if let ExpressionNode::Measure { run: Some(run), .. } = node {
                runs.push(run.as_str());
            }
        });
        runs
    }

    /// Every measure in it, with its arguments and the run that it names.
    pub(super) fn measures(&self) -> Vec<(&'static Measure, &[String], Option<&str>)> {
        let mut found = Vec::new();
        self.node.visit(&mut |node| {
            if let ExpressionNode::Measure { measure, words, run } = node {
                found.push((*measure, words.as_slice(), run.as_deref()));
            }
        });
        found
    }

    /// The process patterns that it names.
    pub fn processes(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.node.visit(&mut |node| {
            if let ExpressionNode::Measure { measure, words, .. } = node {
                let named = measure.arguments.iter().zip(words).filter(|(argument, _)| argument.is_process());
                found.extend(named.map(|(_, word)| word.as_str()));
            }
        });
        found
    }

    /// Whether it names a run for each of its measures.
    pub fn names_every_run(&self) -> bool {
        let mut all = true;
        self.node.visit(&mut |node| all &= !matches!(node, ExpressionNode::Measure { run: None, .. }));
        all
    }
}

impl ExpressionNode {
    fn visit<'a>(&'a self, look: &mut dyn FnMut(&'a ExpressionNode)) {
        look(self);
        match self {
            ExpressionNode::Number(_) | ExpressionNode::Measure { .. } => {}
            ExpressionNode::Reduce(_, inner) => inner.visit(look),
            ExpressionNode::Combine(_, left, right) => {
                left.visit(look);
                right.visit(look);
            }
        }
    }

    fn values(&self, here: &str, outcomes: &Outcomes<'_>) -> Vec<f64> {
        match self {
            ExpressionNode::Number(number) => vec![*number],
            ExpressionNode::Measure { measure, words, run } => {
                let of = outcomes(run.as_deref().unwrap_or(here));
                of.into_iter().flat_map(|outcome| (measure.values)(outcome, words)).collect()
            }
            ExpressionNode::Reduce(reducer, inner) => vec![reducer.of(inner.values(here, outcomes))],
            ExpressionNode::Combine(operator, left, right) => {
                operator.of(left.values(here, outcomes), right.values(here, outcomes))
            }
        }
    }
}

impl Operator {
    fn of(self, left: Vec<f64>, right: Vec<f64>) -> Vec<f64> {
        let one = |a: f64, b: f64| match self {
            Operator::Add => a + b,
            Operator::Subtract => a - b,
            Operator::Multiply => a * b,
            Operator::Divide => a / b,
            Operator::AtMost => f64::from(u8::from(a <= b)),
            Operator::AtLeast => f64::from(u8::from(a >= b)),
        };
        match (left.as_slice(), right.as_slice()) {
            ([a], many) => many.iter().map(|&b| one(*a, b)).collect(),
            (many, [b]) => many.iter().map(|&a| one(a, *b)).collect(),
            (left, right) => left.iter().zip(right).map(|(&a, &b)| one(a, b)).collect(),
        }
    }
}

impl Reducer {
    fn of(self, mut values: Vec<f64>) -> f64 {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return f64::NAN;
        }
        values.sort_by(f64::total_cmp);
        let (sum, middle) = (values.iter().sum::<f64>(), values.len() / 2);
        match self {
            Reducer::Min => values[0],
            Reducer::Max => values[values.len() - 1],
            Reducer::Mean => sum / values.len() as f64,
            Reducer::Sum => sum,
            Reducer::Nth(nth) => values.get(nth).copied().unwrap_or(f64::NAN),
            Reducer::Median if values.len() % 2 == 1 => values[middle],
            Reducer::Median => (values[middle - 1] + values[middle]) / 2.0,
        }
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn expected(&self, what: &str) -> Misunderstood {
        let found = if self.rest.is_empty() { "its end".to_owned() } else { format!("`{}`", self.rest) };
        Misunderstood { problem: format!("expected {what}, found {found}"), known: Vec::new(), word: String::new() }
    }

    /// Consumes `sign` if it is next.
    fn take(&mut self, sign: char) -> bool {
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest.trim_start();
        word.trim_end()
    }

    fn claim(&mut self) -> Result<ExpressionNode, Misunderstood> {
        let left = self.sum()?;
        let operator = match () {
            () if self.take('<') => Operator::AtMost,
            () if self.take('>') => Operator::AtLeast,
            () => return Ok(left),
        };
        if !self.take('=') {
            return Err(self.expected("`=`, as in `<=`"));
        }
        Ok(ExpressionNode::Combine(operator, Box::new(left), Box::new(self.sum()?)))
    }

    fn sum(&mut self) -> Result<ExpressionNode, Misunderstood> {
        let mut left = self.product()?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Add,
                () if self.take('-') => Operator::Subtract,
                () => return Ok(left),
            };
            left = ExpressionNode::Combine(operator, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<ExpressionNode, Misunderstood> {
        let mut left = self.operand()?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Multiply,
                () if self.take('/') => Operator::Divide,
                () => return Ok(left),
            };
            left = ExpressionNode::Combine(operator, Box::new(left), Box::new(self.operand()?));
        }
    }

    fn operand(&mut self) -> Result<ExpressionNode, Misunderstood> {
        if self.take('(') {
            let inner = self.claim()?;
            return if self.take(')') { Ok(inner) } else { Err(self.expected("`)`")) };
        }
        let word = self.until(|c| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
        if let Ok(number) = word.parse() {
            return Ok(ExpressionNode::Number(number));
        }
        if word.is_empty() || !self.take('(') {
            return Err(self.expected("a number, `(`, or a measure as in finish(cat)"));
        }
        if let Some((_, reducer)) = REDUCERS.iter().find(|(name, _)| *name == word) {
            let inner = Box::new(self.sum()?);
            return if self.take(')') {
                Ok(ExpressionNode::Reduce(*reducer, inner))
            } else {
                Err(self.expected("`)`"))
            };
        }
        self.measure(word)
    }

    /// Parses what follows `word(`.
    fn measure(&mut self, word: &str) -> Result<ExpressionNode, Misunderstood> {
        let Some(measure) = measure_of(word) else {
            let known = REDUCERS.iter().map(|(name, _)| *name).chain(measure_names()).collect();
            return Err(Misunderstood { problem: format!("`{word}` is not a measure"), known, word: word.to_owned() });
        };
        let mut words = Vec::new();
        while !self.take(')') {
            let argument = self.until(|c| c == ',' || c == ')');
            if argument.is_empty() || !(self.take(',') || self.rest.starts_with(')')) {
                return Err(self.expected("a word, `,` or `)`"));
            }
            words.push(argument.to_owned());
        }
        measure.check(&words)?;
        let run = if self.take('@') { Some(self.run()?) } else { None };
        Ok(ExpressionNode::Measure { measure, words, run })
    }

    fn run(&mut self) -> Result<String, Misunderstood> {
        if self.take('\'') {
            let name = self.until(|c| c == '\'').to_owned();
            return if self.take('\'') { Ok(name) } else { Err(self.expected("`'`")) };
        }
        let name = self.until(|c| !(c.is_ascii_alphanumeric() || "_-.*@+=".contains(c)));
        if name.is_empty() { Err(self.expected("a run's name")) } else { Ok(name.to_owned()) }
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for anything.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => name
            .strip_prefix(head)
            .is_some_and(|rest| (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(tail, &rest[at..]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Vec<f64> {
        Expression::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}")).values("", &|_| Vec::new())
    }

    #[test]
    fn products_bind_closer_than_sums_and_parentheses_closest() {
        assert_eq!(value("1 + 2*3 - 8/4"), [5.0]);
        assert_eq!(value("(1+2) * 3"), [9.0]);
        assert_eq!(value("2 - 1 - 1"), [0.0]);
        assert_eq!(value("max(3) / min(2)"), [1.5]);
    }

    #[test]
    fn what_holds_is_1_and_what_is_not_known_does_not_hold() {
        assert_eq!(value("1 + 1 <= 2"), [1.0]);
        assert_eq!(value("(3 <= 2) + (3 >= 2) + (2 >= 2)"), [2.0]);
        assert_eq!(value("(0/0 <= 1) + (0/0 >= 1)"), [0.0]);
        for text in ["1 < 2", "1 <=", "1 <= 2 <= 3", ">= 1"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_word_that_is_no_measure_is_named_with_those_that_are() {
        let error = Expression::parse("finihs(cat)").unwrap_err();
        assert_eq!((error.word.as_str(), error.problem.as_str()), ("finihs", "`finihs` is not a measure"));
        assert!(error.known.contains(&"finish"));
        for text in ["", "1 +", "(1", "finish(cat", "finish", "finish(cat)@", "1 2", "finish(,)", "finish()"] {
            assert!(Expression::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn runs_and_processes_that_are_named_can_be_asked_for() {
        let expression = Expression::parse("max(finish(dd*)@a64) / finish(cat)@'b c'").unwrap();
        assert_eq!(expression.runs(), ["a64", "b c"]);
        assert_eq!(expression.processes(), ["dd*", "cat"]);
        assert!(expression.names_every_run());
        assert!(!Expression::parse("finish(cat)").unwrap().names_every_run());
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(fits("dd*", "dd12") && fits("*", "") && fits("a*c*e", "abcde") && fits("cat", "cat"));
        assert!(!fits("dd*", "add") && !fits("a*c", "abcd") && !fits("cat", "cats"));
    }

    #[test]
    fn reducers_make_one_of_many() {
        let of = |reducer: Reducer| reducer.of(vec![3.0, 1.0, 2.0, 10.0]);
        let all = [of(Reducer::Min), of(Reducer::Max), of(Reducer::Mean), of(Reducer::Median), of(Reducer::Sum)];
        assert_eq!(all, [1.0, 10.0, 4.0, 2.5, 16.0]);
        assert_eq!((of(Reducer::Nth(1)), of(Reducer::Nth(2))), (2.0, 3.0));
        assert!(Reducer::Nth(2).of(vec![1.0, 2.0]).is_nan(), "there is none");
        assert!(Reducer::Max.of(vec![1.0, f64::NAN]).is_nan() && Reducer::Sum.of(Vec::new()).is_nan());
        assert_eq!(Operator::Divide.of(vec![2.0, 4.0], vec![2.0]), [1.0, 2.0]);
    }
}
