//! SSDs known by six figures: `iocost:MODEL`, and the parameters of a cgroup's `io.cost.model`.
//!
//! [`table`] holds the measurements (`presets/iocost-models.csv`), [`derive`](mod@derive) builds a disk from one row or
//! from the medians of several. There are three spellings: `iocost:MODEL` (with `#2` after it, the second row alone),
//! `iocost:FILE.csv:MODEL` for a table of one's own, and `iocost:rbps=…,rseqiops=…,…` for six figures.

use blksched_text::nearest;

use super::error::DiskError;
use super::{DiskSpec, parse, text_of};

mod derive;
mod table;

use table::read;
pub use table::{IocostModel, SixFigures};

const TABLE: &str = include_str!("../../../presets/iocost-models.csv");

/// Every model of the built-in table, by name.
pub fn iocost_models() -> Vec<IocostModel> {
    table::models(&read("iocost-models.csv", TABLE).expect("a test reads the table"))
}

/// What follows `iocost:`, if `name` begins with it.
pub(super) fn asked(name: &str) -> Option<&str> {
    name.strip_prefix("iocost:")
}

/// The disk that `iocost:…` names.
pub(super) fn load(name: &str, asked: &str) -> Result<DiskSpec, DiskError> {
    let mut disk = parse(name, &text(name, asked)?)?;
    name.clone_into(&mut disk.name);
    Ok(disk)
}

/// Its description as TOML.
pub(super) fn text(name: &str, asked: &str) -> Result<String, DiskError> {
    if asked.contains('=') {
        return Ok(derive::toml("six figures given", &six(name, asked)?, 1 << 40));
    }
    let (rows, model) = match asked.rsplit_once(".csv:") {
        Some((path, model)) => {
            let path = format!("{path}.csv");
            (read(&path, &text_of(&path)?)?, model)
        }
        None => (read("iocost-models.csv", TABLE)?, asked),
    };
    let at = name.len() - model.len();
    let (model, row) = model.rsplit_once('#').map_or((model, None), |(model, row)| (model, Some(row)));
    let models = table::models(&rows);
    let Some(found) = models.iter().find(|known| known.name == model) else {
        let names = || models.iter().map(|model| model.name.as_str());
        let with_its_words: Vec<&str> = names().filter(|known| has_words(known, model)).collect();
        let meant = if let [one] = with_its_words[..] { Some(one) } else { nearest(model, names()) };
        let among = match with_its_words.len() {
            0 | 1 => String::new(),
            _ => format!("; with these words: {}", with_its_words.join(", ")),
        };
        let all = format!("`blksched list iocost` shows all {}", models.len());
        return Err(complaint(name, name, at, format!("`{model}` is not a model of this table ({all}{among})"), meant));
    };
    let Some(row) = row else {
        let about = match found.rows.len() {
            1 => format!("{model}, as measured once"),
            many => format!("{model}, medians of {many} measurements"),
        };
        return Ok(derive::toml(&about, &found.median(), found.size_bytes));
    };
    let picked = row.parse::<usize>().ok().and_then(|nth| Some((nth, found.rows.get(nth.checked_sub(1)?)?)));
    match picked {
        Some((nth, figures)) => Ok(derive::toml(&format!("{model}, measurement {nth}"), figures, found.size_bytes)),
        None => {
            let problem = format!("`#{row}` is not a row of `{model}`: expected #1 to #{}", found.rows.len());
            Err(complaint(name, name, name.len() - row.len() - 1, problem, None))
        }
    }
}

/// Whether a model's name has every word of `asked`, in any spelling.
fn has_words(known: &str, asked: &str) -> bool {
    let known = known.to_lowercase();
    let asked = asked.to_lowercase();
    let mut words = asked.split_whitespace().peekable();
    words.peek().is_some() && words.all(|word| known.contains(word))
}

/// Parses `rbps=…,rseqiops=…`, as in `io.cost.model`, separated by commas or blanks; other words of that file are
/// allowed.
fn six(name: &str, asked: &str) -> Result<SixFigures, DiskError> {
    let mut figures: [Option<u64>; 6] = [None; 6];
    // The words stand in the name itself, or are the line of a file of that name.
    let text = if name.ends_with(asked) { name } else { asked };
    let complaint = |at, problem, nearest| complaint(name, text, at, problem, nearest);
    for word in asked.split([',', ' ']).filter(|word| !word.is_empty()) {
        let at = text.len() - asked.len() + (word.as_ptr() as usize - asked.as_ptr() as usize);
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let Some(index) = SixFigures::NAMES.iter().position(|known| *known == key) else {
            if key.contains(':') || (key, value) == ("ctrl", "user") || (key, value) == ("model", "linear") {
                continue;
            }
            let problem = format!("`{key}` is not one of {}", SixFigures::NAMES.join(", "));
            return Err(complaint(at, problem, nearest(key, SixFigures::NAMES)));
        };
        let read = value.parse().ok().filter(|figure| table::PLAUSIBLE[index].contains(figure));
        let expected = || format!("`{value}` is not a value of `{key}`: expected {}", table::expected(index));
        figures[index] = Some(read.ok_or_else(|| complaint(at, expected(), None))?);
    }
    let missing = figures.iter().position(Option::is_none);
    match missing {
        None => Ok(SixFigures::from_array(figures.map(Option::unwrap_or_default))),
        Some(index) => {
            let problem =
                format!("`{}` is missing: expected {}", SixFigures::NAMES[index], SixFigures::NAMES.join(", "));
            Err(complaint(text.len(), problem, None))
        }
    }
}

/// An error about a name, at a byte of its text: the name itself, or the line that a file of this name has.
fn complaint(name: &str, text: &str, at: usize, problem: String, nearest: Option<&str>) -> DiskError {
    let column = text[..at].chars().count() + 1;
    let nearest = nearest.map(str::to_owned);
    DiskError::Invalid { file: name.to_owned(), line: 1, column, problem, nearest }
}

#[cfg(test)]
mod tests {
    fn error(name: &str) -> String {
        crate::load(name).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_model_row_or_figure_gets_its_place_and_the_nearest_word() {
        let wrong = error("iocost:Samsung SSD 970 PRO 512");
        assert!(wrong.contains(":1:8: ") && wrong.contains("did you mean `Samsung SSD 970 PRO 512GB`?"), "{wrong}");
        let wrong = error("iocost:Samsung SSD 870#4");
        assert!(wrong.contains("`#4` is not a row") && wrong.contains("#1 to #3"), "{wrong}");
        let wrong = error("iocost:rbps=1000000000,rseqiop=3");
        assert!(wrong.contains(":1:24: ") && wrong.contains("did you mean `rseqiops`?"), "{wrong}");
        assert!(error("iocost:rbps=1000000000").contains("`rseqiops` is missing"));
        assert!(error("iocost:rbps=fast").contains("`fast` is not a value of `rbps`: expected"));
    }

    #[test]
    fn a_line_of_io_cost_model_is_a_disk() {
        let line = "iocost:8:0 ctrl=user model=linear rbps=1000000000 rseqiops=200000 rrandiops=100000 wbps=500000000 \
                    wseqiops=90000 wrandiops=80000";
        assert_eq!(crate::load(line).unwrap().name, line);
    }

    #[test]
    fn a_table_of_ones_own_works_as_ours_does_and_a_wrong_cell_is_named() {
        let folder = std::env::temp_dir().join(format!("blksched-iocost-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("mine.csv");
        let header = "model,wrandiops,rbps,rseqiops,rrandiops,wbps,wseqiops";
        std::fs::write(&path, format!("{header}\nA B,1000,100000000,2000,1000,90000000,1000\n")).unwrap();
        let named = |model: &str| format!("iocost:{}:{model}", path.display());
        assert!(crate::load(&named("A B")).is_ok());
        std::fs::write(&path, format!("{header}\nA B,1000,100000000,many,1000,90000000,1000\n")).unwrap();
        let wrong = error(&named("A B"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(wrong.contains("mine.csv:2:20: `many` is not a value of `rseqiops`"), "{wrong}");
    }
}
