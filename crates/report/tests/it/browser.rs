//! The page in a real browser: without a complaint, every picture drawn as its data says, by wheel, pointer and keys.

pub(crate) mod driver;
use crate::planted;

use std::path::{Path, PathBuf};

use blksched_report::{Detail, html};
use blksched_testkit::Folder;
use driver::Browser;
use serde_json::{Value, json};

/// A page of so many I/Os, in this folder.
fn page(folder: &Folder, ios: u64, most: Option<usize>) -> (PathBuf, Detail) {
    let page = html(&planted::report(ios), most).unwrap();
    (folder.written(&format!("{ios}.html"), page.text), page.detail)
}

/// The browser; `None`, with the reason, if there is none.
fn browser(folder: &Folder) -> Option<Browser> {
    if driver::program().is_none() {
        println!("skipped: no browser; chromium is not installed");
        return None;
    }
    Some(Browser::start(&folder.join("profile")))
}

/// The colour at parts of the inner width and height of a picture, from its lower left corner.
fn pixel(browser: &mut Browser, canvas: &str, x: f64, y: f64) -> [u64; 3] {
    let found = browser.run(&format!(
        "(() => {{ const c = document.querySelector('{canvas}'); const w = c.width - 72, h = c.height - 32;
         const p = c.getContext('2d').getImageData(62 + {x} * w, 8 + (1 - {y}) * h, 1, 1).data;
         return [p[0], p[1], p[2]]; }})()"
    ));
    let part = |nth: usize| found[nth].as_u64().unwrap();
    [part(0), part(1), part(2)]
}

fn middle(browser: &mut Browser, selector: &str) -> (f64, f64) {
    let script = format!(
        "(() => {{ const e = document.querySelector('{selector}'); e.scrollIntoView({{block: 'center'}});
         const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }})()"
    );
    let found = browser.run(&script);
    (found[0].as_f64().unwrap(), found[1].as_f64().unwrap())
}

fn window(browser: &mut Browser) -> (f64, f64) {
    let view = browser.run("[blksched.page.view.from, blksched.page.view.to]");
    (view[0].as_f64().unwrap(), view[1].as_f64().unwrap())
}

#[test]
#[ignore = "slow: opens pages in chromium"]
fn every_picture_is_drawn_as_its_data_says_and_nothing_complains() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    browser.look(1280, "light");
    let (file, detail) = page(&folder, 2_000, None);
    assert_eq!(detail, Detail::Everything);
    browser.open(&file);
    assert_eq!(browser.complaints, Vec::<String>::new());
    let sections = browser.run("[...document.querySelectorAll('main section')].map((s) => s.id)");
    let all =
        ["waits", "lba", "latency", "curves", "throughput", "depth", "timeline", "blame", "disk", "published", "files"];
    assert_eq!(sections, json!(all));
    // The writer's line goes from the lower left corner to the middle of the right side; above it is the reader's
    // cloud.
    let blue = [0, 114, 178];
    let near = |found: [u64; 3]| found.iter().zip(blue).all(|(a, b)| a.abs_diff(b) < 60);
    let on_line = |x: f64| 0.0187 + x * 0.491;
    for x in [0.2, 0.4, 0.6, 0.8] {
        let hit =
            (-6..=6).any(|step| near(pixel(&mut browser, "#lba canvas", x, on_line(x) + f64::from(step) * 0.004)));
        assert!(hit, "the sequential writer is a line, but not at {x}");
        let off = (0..10).any(|step| near(pixel(&mut browser, "#lba canvas", x, 0.55 + f64::from(step) * 0.04)));
        assert!(!off, "the writer is nowhere else");
    }
    // Each canvas has more than its paper, and a description.
    let drawn = browser.run(
        "[...document.querySelectorAll('main canvas')].map((c) => {
         const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set();
         for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);
         const told = c.parentElement.querySelector('.alternative').textContent.length;
         return [c.getAttribute('aria-label'), s.size, told]; })",
    );
    let drawn = drawn.as_array().unwrap();
    assert!(drawn.len() >= 11, "{drawn:?}");
    for canvas in drawn {
        assert!(canvas[0].as_str().unwrap().len() > 10 && canvas[2].as_u64().unwrap() > 20, "{canvas}");
        assert!(canvas[1].as_u64().unwrap() > 10, "{canvas} is empty");
    }
    // The disk's time: the transfer's bar is as wide as its part.
    let part = browser.run(
        "(() => { const b = document.querySelector('#disk .bar'); return b.firstChild.getBoundingClientRect().width / \
         b.getBoundingClientRect().width; })()",
    );
    assert!((part.as_f64().unwrap() - 0.6).abs() < 0.01, "{part}");
    // The row outside of its bound says so, in a word.
    assert_eq!(browser.run("document.querySelectorAll('.published .outside').length"), json!(1));
}

#[test]
#[ignore = "slow: opens pages in chromium"]
fn wheel_pointer_and_keys_move_all_pictures_and_tell_stories() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    browser.look(1280, "light");
    browser.open(&page(&folder, 2_000, None).0);
    let whole = window(&mut browser);
    // The wheel belongs to the page until a picture has been clicked.
    let (x, y) = middle(&mut browser, "#lba canvas");
    browser.mouse("mouseWheel", x, y, json!({ "deltaX": 0, "deltaY": -100 }));
    assert_eq!(window(&mut browser), whole);
    let (x, y) = middle(&mut browser, "#lba canvas");
    for kind in ["mousePressed", "mouseReleased"] {
        browser.mouse(kind, x, y, json!({ "button": "left", "buttons": 1, "clickCount": 1 }));
    }
    for _ in 0..12 {
        browser.mouse("mouseWheel", x, y, json!({ "deltaX": 0, "deltaY": -100 }));
    }
    let closer = window(&mut browser);
    assert!((closer.1 - closer.0) < (whole.1 - whole.0) / 5.0, "{closer:?}");
    // A drag moves what is under the pointer.
    browser.mouse("mousePressed", x, y, json!({ "button": "left", "buttons": 1 }));
    browser.mouse("mouseMoved", x + 50.0, y, json!({ "button": "left", "buttons": 1 }));
    browser.mouse("mouseReleased", x + 50.0, y, json!({ "button": "left" }));
    let moved = window(&mut browser);
    assert!(moved.0 < closer.0 && (moved.1 - moved.0 - closer.1 + closer.0).abs() < 1.0, "{moved:?}");
    // With keys only: to a picture, to an I/O, to its story, and back.
    browser.run("document.querySelector('#latency canvas').focus()");
    browser.settle();
    browser.key("n");
    let story =
        browser.run("document.getElementById('story').hidden ? '' : document.getElementById('story').textContent");
    let story = story.as_str().unwrap().to_owned();
    assert!(story.contains("I/O ") && story.contains("held its turn (slice, budget): writer"), "{story}");
    browser.key("n");
    assert_ne!(browser.run("document.getElementById('story').textContent"), json!(story));
    browser.key("Escape");
    assert_eq!(browser.run("document.getElementById('story').hidden"), json!(true));
    browser.key("0");
    assert_eq!(window(&mut browser), whole);
    browser.key("+");
    assert!(window(&mut browser).0 > whole.0);
    // Every picture and every control can be reached with the tab key.
    let reachable =
        browser.run("document.querySelectorAll('canvas[tabindex=\"0\"], button, input, select, summary').length");
    let mut seen = std::collections::BTreeSet::new();
    browser.run("document.activeElement.blur(); window.scrollTo(0, 0)");
    for _ in 0..80 {
        browser.key("Tab");
        seen.insert(
            browser
                .run(
                    "(() => { const e = document.activeElement; e.dataset.nth ??= String(Math.random());
             return e.dataset.nth; })()",
                )
                .to_string(),
        );
    }
    assert!(seen.len() as u64 > reachable.as_u64().unwrap(), "{} of {reachable}", seen.len());
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "slow: opens pages in chromium"]
fn a_run_too_large_for_the_file_is_told_by_densities() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    browser.look(1280, "dark");
    let (file, detail) = page(&folder, 400_000, Some(2 << 20));
    assert!(detail > Detail::Points, "{detail:?}");
    assert!(std::fs::metadata(&file).unwrap().len() <= 2 << 20);
    browser.open(&file);
    assert_eq!(browser.complaints, Vec::<String>::new());
    let colours = browser.run(
        "(() => { const c = document.querySelector('#lba canvas'); let n = 0;
         const d = c.getContext('2d').getImageData(70, 10, 300, 200).data;
         for (let i = 0; i < d.length; i += 4) if (d[i] !== d[i + 2] && d[i+1] > 60) n += 1;
         return n; })()",
    );
    assert!(colours.as_u64().unwrap() > 1_000, "{colours}");
    let said = browser.run("document.querySelector('#files .what').textContent");
    assert!(said.as_str().unwrap().contains("too large"), "{said}");
}

/// A file that the page has saved, once it is there.
fn saved(browser: &mut Browser, folder: &Path, name: &str) -> String {
    for _ in 0..100 {
        if let Some(text) = std::fs::read_to_string(folder.join(name)).ok().filter(|text| !text.is_empty()) {
            return text;
        }
        browser.run("new Promise((done) => setTimeout(() => done(1), 100))");
    }
    panic!("{name} was not saved")
}

#[test]
#[ignore = "slow: opens pages in chromium"]
fn what_is_saved_from_inside_the_page_is_what_it_holds() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    browser.look(1280, "light");
    let place = folder.join("downloads");
    browser.ask("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": place }));
    browser.open(&page(&folder, 2_000, None).0);
    assert_eq!(browser.run("document.querySelectorAll('#files button').length"), json!(3));
    browser.run("document.querySelectorAll('#files button')[0].click()");
    assert_eq!(saved(&mut browser, &place, "a.json"), "{}");
    browser.run("document.querySelectorAll('#files button')[2].click()");
    let text = saved(&mut browser, &place, "second.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2_001);
    assert_eq!(lines[0], "nth,process,op,sector,sectors,begun_ns,latency_ns");
    let run = planted::run("second", 2_000);
    for (line, io) in lines[1..].iter().zip(&run.ios) {
        let process = &run.processes[io.process as usize];
        let (nth, way) = (io.nth, io.way.name());
        let begins = format!("{nth},{process},{way},{},{},{},{}", io.sector, io.sectors, io.begun_ns, io.latency_ns);
        assert_eq!(*line, begins);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
#[ignore = "slow: opens pages in chromium"]
fn on_paper_every_picture_is_there_at_once_and_nothing_is_folded() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    browser.look(1280, "dark");
    browser.open(&page(&folder, 2_000, None).0);
    // Printing waits for no frame: what is not drawn when the event returns stays white.
    let found = browser.run(
        "(() => { window.dispatchEvent(new Event('beforeprint'));
         const colours = [...document.querySelectorAll('main canvas')].map((c) => {
           const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set();
           for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);
           return [c.getAttribute('aria-label'), s.size, d[0] + d[1] + d[2], c.clientWidth]; });
         const folded = document.querySelectorAll('details:not([open])').length;
         return [colours, folded, document.documentElement.scrollWidth]; })()",
    );
    let canvases = found[0].as_array().unwrap();
    assert!(canvases.len() >= 11, "{canvases:?}");
    for canvas in canvases {
        assert!(canvas[1].as_u64().unwrap() > 10, "{canvas} is empty");
        assert_eq!(canvas[2], json!(3 * 255), "{canvas}: paper is white");
        assert!(canvas[3].as_u64().unwrap() < 400, "{canvas}: two of them stand side by side");
    }
    assert_eq!(found[1], json!(0), "something is folded");
    browser.run("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.run("document.documentElement.dataset.paper === undefined"), json!(true));
    let printed = browser.ask("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().is_some_and(|data| data.len() > 100_000), "all of it is printed");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// Named files, opened at three widths in light and dark, without an error; `BLKSCHED_SHOTS` is the directory for the
/// pictures.
#[test]
#[ignore = "slow: opens pages in chromium"]
fn at_three_widths_in_light_and_dark_nothing_is_wider_than_the_window() {
    let folder = Folder::new();
    let Some(mut browser) = browser(&folder) else { return };
    let named = std::env::var("BLKSCHED_SHOW").ok();
    let file = named.map_or_else(|| page(&folder, 2_000, None).0, PathBuf::from);
    for (width, theme) in
        [(1400, "light"), (1400, "dark"), (900, "light"), (900, "dark"), (420, "light"), (420, "dark")]
    {
        browser.look(width, theme);
        browser.open(&file);
        let wide = browser.run("document.documentElement.scrollWidth");
        assert!(wide.as_u64().unwrap() <= u64::from(width), "{width} {theme}: {wide} pixels wide");
        if let Ok(to) = std::env::var("BLKSCHED_SHOTS") {
            browser.shoot(Path::new(&to), &format!("{width}-{theme}"));
        }
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_eq!(browser.run("Boolean(window.blksched)"), Value::Bool(true));
}
