//! The tables that the reasons make, and the sentence that names the greatest cause.

use blksched::{Dir, Span};

use super::{Cause, Reasons, Waiting};
use crate::quantity::Quantity;
use crate::table::{Cell, Column, Table};

impl Waiting {
    /// What these requests (of direction `dir`) waited for, in words and with times, the greatest first. Causes that
    /// look the same to them are merged.
    pub fn in_words(&self, dir: Dir) -> Vec<(String, Span)> {
        let mut words: Vec<(String, Span)> = Vec::new();
        for (cause, span) in Cause::all().map(|cause| (cause, self.on(cause))).filter(|(_, span)| !span.is_zero()) {
            let phrase = cause.name_for(dir);
            match words.iter_mut().find(|(known, _)| *known == phrase) {
                Some((_, sum)) => *sum += span,
                None => words.push((phrase, span)),
            }
        }
        words.sort_by_key(|&(_, span)| core::cmp::Reverse(span));
        words
    }
}

impl Reasons {
    /// What requests waited for: one row per direction and cause, the greatest first.
    pub fn waiting_table(&self) -> Table {
        let mut table = Table::new(
            "What requests waited for",
            vec![
                Column::words("dir", ""),
                Column::words("cause", "waited for"),
                Column::numbers("ns", "in all", Quantity::Time),
                Column::numbers("ns_per_request", "per request", Quantity::Time),
                Column::numbers("share", "share", Quantity::Fraction),
            ],
        );
        for dir in Dir::BOTH {
            let waiting = self.waiting(dir);
            let (requests, total) = (waiting.requests() as f64, waiting.total().as_ns() as f64);
            for (words, span) in waiting.in_words(dir) {
                let ns = span.as_ns() as f64;
                let row =
                    [dir.to_string().into(), words.into(), ns.into(), (ns / requests).into(), (ns / total).into()];
                table.row(row);
            }
        }
        table
    }

    /// What the disk did with its time: one row per cause, in the order of [`Cause::all`].
    pub fn disk_table(&self) -> Table {
        let columns = vec![
            Column::words("doing", "the disk"),
            Column::numbers("ns", "in all", Quantity::Time),
            Column::numbers("share", "share", Quantity::Fraction),
        ];
        let mut rows: Vec<(String, Span)> = Vec::new();
        for (cause, span) in self.disk().iter() {
            let words = cause.to_string();
            match rows.last_mut().filter(|(last, _)| *last == words) {
                Some((_, sum)) => *sum += span,
                None => rows.push((words, span)),
            }
        }
        let elapsed = self.disk().elapsed().as_ns() as f64;
        let mut table = Table::new("What the disk did", columns);
        for (words, span) in rows {
            table.row([words.into(), span.into(), Cell::Number(span.as_ns() as f64 / elapsed)]);
        }
        table
    }
}
