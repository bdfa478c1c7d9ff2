//! The rows, tables and sentences of an experiment's file; checks that every run and process that they name exists.

use super::expression::{Expression, Misunderstood, fits};
use super::reader::{ExperimentError, Located, Section, Source, TextRange};
use super::spec::{ExperimentRun, PublishedRow, Sentence, SentencePart, Statistic, TableSpec};

pub(super) const TABLE: &[&str] = &["title", "value", "unit", "statistic", "claimed", "again", "draw", "rows"];
const ROW: &[&str] = &[
    "label",
    "run",
    "value",
    "unit",
    "mail",
    "low",
    "high",
    "covers_mail",
    "each_seed",
    "claimed",
    "statistic",
    "again",
    "draw",
    "largest",
];

/// Reads tables, rows and sentences, which name runs and processes.
pub(super) struct Rows<'t> {
    pub(super) source: Source<'t>,
    pub(super) runs: &'t [ExperimentRun],
}

impl Rows<'_> {
    pub(super) fn table(&self, section: &Section<'_>) -> Result<TableSpec, ExperimentError> {
        let title = section.needs_text("title")?.value;
        let rows = section.sections("rows", ROW)?;
        if rows.is_empty() {
            return Err(section.missing("the key `rows`"));
        }
        let rows = rows.iter().map(|row| self.row(section, row)).collect::<Result<_, _>>()?;
        Ok(TableSpec { title, rows })
    }

    fn row(&self, table: &Section<'_>, row: &Section<'_>) -> Result<PublishedRow, ExperimentError> {
        let text =
            |key: &str| -> Result<Option<Located<String>>, ExperimentError> { Ok(row.text(key)?.or(table.text(key)?)) };
        let number = |key: &str| -> Result<Option<f64>, ExperimentError> { Ok(row.number(key)?.map(|n| n.value)) };
        let truth = |key: &str| -> Result<Option<bool>, ExperimentError> { Ok(row.truth(key)?.map(|t| t.value)) };
        let value = text("value")?.ok_or_else(|| row.missing("the key `value`"))?;
        let run = row.text("run")?;
        let expression = self.expression(&value.value, &value.at, run.as_ref())?;
        let label = row.text("label")?.or_else(|| run.clone()).ok_or_else(|| row.missing("the key `label`"))?.value;
        let covers_mail = truth("covers_mail")?.unwrap_or(false);
        let (mail, low, high) = (number("mail")?, number("low")?, number("high")?);
        if low.zip(high).is_some_and(|(low, high)| low > high) {
            return Err(self.source.complain(row.at(), "`low` is more than `high`"));
        }
        if covers_mail && mail.is_none() {
            return Err(self.source.complain(row.at(), "`covers_mail` needs the mail's number, `mail = …`"));
        }
        let bounded = low.is_some() || high.is_some() || covers_mail;
        let of_table = table.truth("claimed")?.map(|claimed| claimed.value);
        let claimed = truth("claimed")?.or(of_table).unwrap_or(bounded);
        if claimed && !bounded {
            return Err(self.source.complain(row.at(), "a row that is claimed needs `low`, `high` or `covers_mail`"));
        }
        let statistic = match text("statistic")? {
            None => Statistic::Mean,
            Some(word) => Statistic::ALL.into_iter().find(|known| known.name() == word.value).ok_or_else(|| {
                let problem = format!("`{}` is not a statistic", word.value);
                self.source.unknown(&word.at, &problem, &word.value, Statistic::ALL.map(Statistic::name))
            })?,
        };
        let each_seed = truth("each_seed")?.unwrap_or(false);
        let again = truth("again")?.or(table.truth("again")?.map(|again| again.value)).unwrap_or(false);
        let draw = truth("draw")?.or(table.truth("draw")?.map(|draw| draw.value)).unwrap_or(false);
        let largest = truth("largest")?.unwrap_or(false);
        let run = run.map(|run| run.value).unwrap_or_default();
        let unit = text("unit")?.map(|unit| unit.value).unwrap_or_default();
        Ok(PublishedRow {
            label,
            run,
            expression,
            unit,
            mail,
            low,
            high,
            covers_mail,
            each_seed,
            claimed,
            statistic,
            again,
            draw,
            largest,
        })
    }

    /// Every `[[why]]`, or every `[[show]]`.
    pub(super) fn sentences(&self, top: &Section<'_>, name: &'static str) -> Result<Vec<Sentence>, ExperimentError> {
        top.sections(name, &["run", "say"])?.iter().map(|section| self.sentence(section)).collect()
    }

    fn sentence(&self, section: &Section<'_>) -> Result<Sentence, ExperimentError> {
        let (run, say) = (section.text("run")?, section.needs_text("say")?);
        let mut sentence =
            Sentence { run: run.as_ref().map(|run| run.value.clone()).unwrap_or_default(), parts: Vec::new() };
        let mut rest = say.value.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let Some((inside, after)) = behind.split_once('}') else {
                return Err(self.source.complain(&say.at, format!("`{{{behind}` is never closed with `}}`")));
            };
            let (expression, places) = match inside.rsplit_once(":.") {
                Some((expression, digits)) => {
                    let places = digits.parse::<usize>().ok().filter(|&places| places <= 9);
                    let problem =
                        || format!("`:.{digits}` in `{{{inside}}}` is not a number of places: expected 0 to 9");
                    (expression, Some(places.ok_or_else(|| self.source.complain(&say.at, problem()))?))
                }
                None => (inside, None),
            };
            let expression = self.expression(expression, &say.at, run.as_ref())?;
            sentence.parts.extend([SentencePart::Words(before.to_owned()), SentencePart::Number(expression, places)]);
            rest = after;
        }
        sentence.parts.push(SentencePart::Words(rest.to_owned()));
        Ok(sentence)
    }

    /// An expression all of whose runs and processes exist.
    fn expression(
        &self,
        text: &str,
        at: &TextRange,
        run: Option<&Located<String>>,
    ) -> Result<Expression, ExperimentError> {
        let expression = Expression::parse(text).map_err(|error| self.misunderstood(text, at, error))?;
        let named = expression.runs().into_iter().map(|name| (name, at));
        for (pattern, at) in named.chain(run.map(|run| (run.value.as_str(), &run.at))) {
            if !self.runs.iter().any(|run| fits(pattern, &run.name)) {
                let known = self.runs.iter().map(|run| run.name.as_str());
                return Err(self.source.unknown(at, &format!("`{pattern}` is not a run"), pattern, known));
            }
        }
        if run.is_none() && !expression.names_every_run() {
            return Err(self.source.complain(at, format!("`{text}` does not say of which run: `run = …` or `…@run`")));
        }
        for pattern in expression.processes() {
            let processes = || self.runs.iter().flat_map(|run| &run.processes);
            if !processes().any(|name| fits(pattern, name)) {
                let mut known: Vec<&str> = processes().map(String::as_str).collect();
                known.sort_unstable();
                known.dedup();
                return Err(self.source.unknown(at, &format!("`{pattern}` is not a process"), pattern, known));
            }
        }
        Ok(expression)
    }

    fn misunderstood(&self, text: &str, at: &TextRange, error: Misunderstood) -> ExperimentError {
        let problem = format!("in `{text}`: {}", error.problem);
        if error.known.is_empty() {
            return self.source.complain(at, problem);
        }
        self.source.unknown(at, &problem, &error.word, error.known)
    }
}
