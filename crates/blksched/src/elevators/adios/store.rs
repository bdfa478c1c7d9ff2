//! The side effects of writing a knob, and the knobs that are not a single number.
//!
//! **Rule** `lat_target_*` resets its model, `read_priority` resets the bias; `lat_model_read` and similar knobs load a
//! model, `reset_lat_model` all of them, and both discard the samples that wait for any model.
//! **Origin** docs/behaviour/adios-3.1.md#a11.

use alloc::borrow::ToOwned;
use alloc::string::ToString;

use super::kind::Kind;
use super::scheduler::Adios;
use super::{bias::Bias, page::BatchOrder};
use crate::elevator::Cx;
use crate::tunables::{KnobError, Setting, Tunables};

/// The files that load a model.
const MODELS: [(&str, Kind); 3] =
    [("lat_model_read", Kind::Read), ("lat_model_write", Kind::Write), ("lat_model_discard", Kind::Discard)];

impl Adios {
    pub(super) fn store_knob(&mut self, cx: &Cx<'_>, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        let raw;
        let text = match value {
            Setting::Text(text) => text,
            Setting::Raw(number) => {
                raw = number.to_string();
                &raw
            }
        };
        if let Some(&(name, kind)) = MODELS.iter().find(|(name, _)| *name == knob) {
            return self.load_model(cx, name, kind, text);
        }
        match knob {
            "reset_lat_model" => self.reset_models(cx, text),
            "reset_bq_stats" => match text.trim() {
                "1" => {
                    self.largest = Default::default();
                    Ok(())
                }
                _ => Err(refused("reset_bq_stats", text, "1")),
            },
            "batch_order" if !cx.device().rotational && !matches!(text.trim(), "0" | "+0") => {
                Err(refused("batch_order", text, "0 on a disk that does not turn"))
            }
            _ => self.change(cx, knob, value),
        }
    }

    fn change(&mut self, cx: &Cx<'_>, knob: &str, value: Setting<'_>) -> Result<(), KnobError> {
        match value {
            Setting::Raw(raw) => self.tunables.set(knob, raw)?,
            Setting::Text(text) => self.tunables.set_text(knob, text)?,
        }
        let now = self.jiffies.tick(cx.now);
        match knob {
            "read_priority" => self.bias = Bias::default(),
            "lat_target_read" => self.models[Kind::Read].load(0, 0, now),
            "lat_target_write" => self.models[Kind::Write].load(0, 0, now),
            "lat_target_discard" => self.models[Kind::Discard].load(0, 0, now),
            _ => {}
        }
        Ok(())
    }

    fn load_model(&mut self, cx: &Cx<'_>, name: &'static str, kind: Kind, text: &str) -> Result<(), KnobError> {
        let Some([base, slope]) = numbers(text) else {
            return Err(refused(name, text, "two numbers, the base in ns and the slope in ns per KiB"));
        };
        self.models[kind].load(base, slope, self.jiffies.tick(cx.now));
        self.shared.clear();
        Ok(())
    }

    fn reset_models(&mut self, cx: &Cx<'_>, text: &str) -> Result<(), KnobError> {
        let now = self.jiffies.tick(cx.now);
        match (text.trim(), numbers::<6>(text)) {
            ("1", _) => Kind::ALL.into_iter().for_each(|kind| self.models[kind].load(0, 0, now)),
            (_, Some(pairs)) => {
                for ((_, kind), pair) in MODELS.iter().zip(pairs.chunks(2)) {
                    self.models[*kind].load(pair[0], pair[1], now);
                }
            }
            _ => {
                let expected = "1, or base and slope of reads, writes and discards: six numbers";
                return Err(refused("reset_lat_model", text, expected));
            }
        }
        self.shared.clear();
        Ok(())
    }

    pub(super) fn batch_order(&self) -> BatchOrder {
        if self.tunables.batch_order == 1 { BatchOrder::BySector } else { BatchOrder::ByKind }
    }
}

/// This many numbers and nothing else.
fn numbers<const COUNT: usize>(text: &str) -> Option<[u64; COUNT]> {
    let mut words = text.split_ascii_whitespace();
    let mut found = [0; COUNT];
    for number in &mut found {
        *number = words.next()?.parse().ok()?;
    }
    words.next().is_none().then_some(found)
}

fn refused(knob: &'static str, text: &str, expected: &'static str) -> KnobError {
    KnobError::Refused { knob, text: text.trim().to_owned(), expected }
}
