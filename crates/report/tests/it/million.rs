//! A page with a million I/Os in a real browser: how many points a frame touches, and how long frames take.

use crate::browser::driver::{self, Browser};
use crate::planted;
use blksched_report::{Detail, html};
use serde_json::json;

/// As in the page (`panel.js`).
const MOST_TOUCHED: u64 = 20_000;

/// The actions of a user who looks around: each step is one event, and the next waits for the next frame. Returns the
/// times from frame to frame for each part \[ms\].
const LOOKING: &str = "(async () => {
    const canvas = document.querySelector('#lba canvas'); canvas.scrollIntoView({ block: 'center' }); canvas.focus();
    const { view } = blksched.page; const box = canvas.getBoundingClientRect(); const found = {};
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const event = (kind, name, more) => canvas.dispatchEvent(new kind(name,
        { bubbles: true, cancelable: true, clientX: box.left + 300, clientY: box.top + 120, ...more }));
    const part = async (name, steps, act) => {
        await frame(); let before = await frame(); found[name] = [];
        for (let nth = 0; nth < steps; nth += 1) {
            act(nth); const now = await frame(); found[name].push(now - before); before = now;
        }
    };
    const turn = (by) => event(WheelEvent, 'wheel', { deltaY: by });
    const point = (nth) => event(PointerEvent, 'pointermove',
        { clientX: box.left + 80 + (nth * 37) % 400, clientY: box.top + 20 + (nth * 53) % 180 });
    await part('zoom in', 60, () => turn(-100));
    await part('pan, close', 60, () => view.pan(0.02));
    await part('hover, close', 60, point);
    await part('zoom out', 60, () => turn(100));
    view.reset();
    for (let nth = 0; nth < 22; nth += 1) turn(-100);
    await part('pan, 20,000 I/Os wide', 60, () => view.pan(0.02));
    await part('hover, 20,000 I/Os wide', 60, point);
    view.reset();
    await part('hover, all of them', 60, point);
    return found; })()";

#[test]
#[ignore = "slow: opens a page with a million I/Os in chromium"]
fn a_million_ios_touch_a_stated_number_of_points_a_frame() {
    if driver::program().is_none() {
        println!("skipped: no browser; chromium is not installed");
        return;
    }
    let folder = std::env::temp_dir().join(format!("blksched-report-million-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let page = html(&planted::report(1_000_000), Some(1 << 30)).unwrap();
    assert_eq!(page.detail, Detail::Everything, "all of them are in the file");
    let file = folder.join("million.html");
    std::fs::write(&file, page.text).unwrap();
    let mut browser = Browser::start(&folder.join("profile"));
    browser.look(1280, "light");
    browser.open(&file);
    assert_eq!(browser.run("blksched.page.runs[0].ios.nth.length"), json!(1_000_000));
    browser.run("blksched.frames.most = 0");
    let found = browser.run(LOOKING);
    let mut all: Vec<f64> = Vec::new();
    for (name, frames) in found.as_object().unwrap() {
        let mut frames: Vec<f64> = frames.as_array().unwrap().iter().map(|ms| ms.as_f64().unwrap()).collect();
        frames.sort_by(f64::total_cmp);
        println!("{name}: from frame to frame {:.1} ms, at most {:.1} ms", frames[frames.len() / 2], frames[59]);
        all.extend(frames);
    }
    all.sort_by(f64::total_cmp);
    let [half, late, most] = [all[all.len() / 2], all[all.len() * 99 / 100], all[all.len() - 1]];
    println!("all {}: median {half:.1} ms, p99 {late:.1} ms, at most {most:.1} ms", all.len());
    // At closer range there are points, not densities: the story of an I/O appears beside the pointer.
    let touched = browser.run("blksched.frames.most").as_u64().unwrap();
    println!("at most {touched} points touched in a frame of a picture");
    assert!(touched > 4_000 && touched <= MOST_TOUCHED, "{touched} points in a frame");
    assert!(browser.run("blksched.frames.drawn").as_u64().unwrap() > 400, "it has not followed");
    assert_eq!(browser.complaints, Vec::<String>::new());
    drop(browser);
    // A browser that ends slowly may still hold a file.
    let _ = std::fs::remove_dir_all(&folder);
}
