//! What the decision timeline draws, in a browser: each sign has its own shape, each kind of stretch its own look.

use crate::browser::driver::{self, Browser};
use crate::planted;
use blksched_report::{Mark, MarkKind, RecordedRun, Report, Stretch, StretchKind, html};
use serde_json::Value;

/// Relative to its centre, in pixels: where a sign has ink, and where it has none.
type Shape = (MarkKind, &'static [(i32, i32)], &'static [(i32, i32)]);

const SHAPES: [Shape; 6] = [
    (MarkKind::Preempted, &[(0, 0), (-3, -3), (3, 3), (-3, 3), (3, -3)], &[(0, -4), (0, 4), (-4, 0)]),
    (MarkKind::Merged, &[(0, 0), (0, -3), (0, 3), (-3, 0), (3, 0)], &[(-4, -4), (4, 4)]),
    (MarkKind::Injected, &[(0, -2), (0, 2), (-3, 3), (3, 3)], &[(-4, -4), (4, -4)]),
    (MarkKind::Expired, &[(0, -3), (0, 3), (-2, -4), (2, 4)], &[(-4, 0), (4, 0)]),
    (MarkKind::Raised, &[(0, 0), (0, 4), (-2, -3), (2, -3)], &[(-4, 4), (4, 4)]),
    (MarkKind::Tokens, &[(0, -2), (-3, -2), (0, 5), (3, 5)], &[(-4, 2), (4, 2), (-4, -6)]),
];

/// A run of a second, in which every sign and, below it, every kind of stretch occurs once.
fn run() -> RecordedRun {
    let mut run = planted::run("signs", 1_000);
    run.elapsed_ns = 1_000_000_000;
    run.lanes = vec!["writer".to_owned(), "reader/0".to_owned()];
    run.words = vec!["why it was".to_owned(), "96 tokens".to_owned()];
    let at = |nth: usize| (nth as u64 + 1) * 130_000_000;
    let mark = |(nth, (kind, ..)): (usize, &Shape)| Mark { lane: 0, kind: *kind, at_ns: at(nth), why: 0 };
    run.marks = SHAPES.iter().enumerate().map(mark).collect();
    let kinds = [StretchKind::Turn, StretchKind::Batch, StretchKind::Idle, StretchKind::NoToken, StretchKind::Tokens];
    let stretch = |(nth, kind): (usize, StretchKind)| {
        let (from_ns, why) = (nth as u64 * 200_000_000, u32::from(kind == StretchKind::Tokens));
        Stretch { lane: 1, kind, from_ns, to_ns: from_ns + 180_000_000, why }
    };
    run.stretches = kinds.into_iter().enumerate().map(stretch).collect();
    run
}

/// The colours around a time on a lane, 12 pixels to each side, row by row.
fn around(browser: &mut Browser, at_ns: u64, lane: u32) -> Vec<[u64; 3]> {
    let found = browser.run(&format!(
        "(() => {{ const p = blksched.page.host.panels.find((one) => one.laneColour); const [y, each] = p.y({lane});
         const d = p.context.getImageData(Math.round(p.x({at_ns})) - 12, Math.round(y + each / 2) - 12, 25, 25).data;
         return Array.from({{ length: 625 }}, (_, n) => [d[n * 4], d[n * 4 + 1], d[n * 4 + 2]]); }})()"
    ));
    let part = |colour: &Value, nth: usize| colour[nth].as_u64().unwrap();
    found.as_array().unwrap().iter().map(|colour| [part(colour, 0), part(colour, 1), part(colour, 2)]).collect()
}

#[test]
#[ignore = "slow: opens a page in chromium"]
fn every_sign_and_every_stretch_is_drawn_as_what_it_is() {
    if driver::program().is_none() {
        println!("skipped: no browser; chromium is not installed");
        return;
    }
    let folder = std::env::temp_dir().join(format!("blksched-report-signs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("signs.html");
    let report = Report { runs: vec![run()], ..Report::default() };
    std::fs::write(&file, html(&report, None).unwrap().text).unwrap();
    let mut browser = Browser::start(&folder.join("profile"));
    browser.look(1280, "light");
    browser.open(&file);
    assert_eq!(browser.complaints, Vec::<String>::new());
    for mark in &report.runs[0].marks {
        let (kind, inked, free) = SHAPES.iter().find(|(kind, ..)| *kind == mark.kind).unwrap();
        let colours = around(&mut browser, mark.at_ns, mark.lane);
        let is_ink = |(x, y): &(i32, i32)| colours[((y + 12) * 25 + x + 12) as usize].iter().all(|part| *part < 110);
        let wrong: Vec<_> = inked.iter().filter(|at| !is_ink(at)).chain(free.iter().filter(|at| is_ink(at))).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", kind.name());
    }
    // A legend names every sign, and the sentence below counts it.
    let said = browser.run("[...document.querySelectorAll('.signs li')].map((one) => one.textContent).join('; ')");
    let told = browser.run("document.querySelector('#timeline .alternative').textContent");
    for (kind, ..) in SHAPES {
        assert!(said.as_str().unwrap().contains(kind.name()), "{said}");
        assert!(told.as_str().unwrap().contains(&format!("1 × {}", kind.name())), "{told}");
    }
    // Slices, batches and waits for a token are solid, idling is hatched, and tokens are pale, with their number
    // inside.
    let is_full =
        |colour: &[u64; 3]| colour[2].saturating_sub(colour[0]) > 90 || colour[0].saturating_sub(colour[2]) > 90;
    for stretch in &report.runs[0].stretches {
        let colours = around(&mut browser, stretch.from_ns + 90_000_000, stretch.lane);
        let middle = &colours[5 * 25..20 * 25];
        let full = middle.iter().filter(|colour| is_full(colour)).count();
        let of = middle.len();
        match stretch.kind {
            StretchKind::Idle => assert!(full > of / 10 && full < of * 8 / 10, "hatched: {full} of {of}"),
            StretchKind::Tokens => assert_eq!(full, 0, "pale"),
            kind => assert!(full > of * 8 / 10, "{}: {full} of {of}", kind.name()),
        }
    }
    drop(browser);
    // A browser that ends slowly may still hold a file.
    let _ = std::fs::remove_dir_all(&folder);
}
