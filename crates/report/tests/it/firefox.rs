//! The page in Firefox: without a complaint, every picture drawn, reached by keys, and whole on paper.

mod driver;
use crate::planted;

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use blksched_report::{Detail, html};
use blksched_testkit::{Folder, output};
use driver::Firefox;
use serde_json::json;

/// The colour at a part of a picture's inner width and height, from its lower left corner.
const PIXEL: &str = "const c = document.querySelector('#lba canvas'); const r = c.width / c.clientWidth;
    const at = (x, y) => [...c.getContext('2d').getImageData((62 + x * (c.clientWidth - 72)) * r,
        (8 + (1 - y) * (c.clientHeight - 32)) * r, 1, 1).data];";

#[test]
#[ignore = "slow: opens a page in Firefox"]
fn the_page_opens_draws_and_prints_in_firefox() {
    if driver::program().is_none() {
        println!("skipped: no Firefox; firefox-esr is not installed");
        return;
    }
    let folder = Folder::new();
    let named = std::env::var("BLKSCHED_SHOW").ok().map(PathBuf::from);
    let file = named.clone().unwrap_or_else(|| folder.join("planted.html"));
    if named.is_none() {
        let page = html(&planted::report(2_000), None).unwrap();
        assert_eq!(page.detail, Detail::Everything);
        std::fs::write(&file, page.text).unwrap();
    }
    let mut firefox = Firefox::start(&folder.join("profile"));
    firefox.open(&file);
    assert_eq!(firefox.complaints(), Vec::<String>::new());
    // Each picture has more than its paper, and a description.
    let drawn = firefox.run(
        "return [...document.querySelectorAll('main canvas')].map((c) => {
         const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const s = new Set();
         for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);
         return [c.getAttribute('aria-label'), s.size]; })",
    );
    let drawn = drawn.as_array().unwrap();
    assert!(drawn.len() >= 8, "{drawn:?}");
    for canvas in drawn {
        assert!(canvas[0].as_str().unwrap().len() > 10 && canvas[1].as_u64().unwrap() > 10, "{canvas} is empty");
    }
    if named.is_none() {
        planted_as_it_was(&mut firefox);
    }
    on_paper(&mut firefox, &folder);
    assert_eq!(firefox.complaints(), Vec::<String>::new());
}

/// The sequential writer is a line, and keys lead to stories.
fn planted_as_it_was(firefox: &mut Firefox) {
    for x in ["0.2", "0.5", "0.8"] {
        let script = format!(
            "{PIXEL} const near = (p) => Math.abs(p[0]) < 60 && Math.abs(p[1] - 114) < 60 && Math.abs(p[2] - 178) < 60;
             return [-6,-5,-4,-3,-2,-1,0,1,2,3,4,5,6].some((k) => near(at({x}, 0.0187 + {x} * 0.491 + k * 0.004)));"
        );
        assert_eq!(firefox.run(&script), json!(true), "the writer is a line, but not at {x}");
    }
    firefox.run("document.querySelector('#latency canvas').focus()");
    firefox.key("n");
    let story = firefox.run("return document.getElementById('story').textContent");
    assert!(story.as_str().unwrap().contains("held its turn (slice, budget): writer"), "{story}");
    let before = firefox.run("return window.blksched.page.view.from");
    firefox.key("+");
    assert_ne!(firefox.run("return window.blksched.page.view.from"), before);
    firefox.key("0");
}

/// Every heading on the screen is also on paper, including folded ones.
fn on_paper(firefox: &mut Firefox, folder: &Folder) {
    let headings = firefox.run("return [...document.querySelectorAll('h1, h2')].map((h) => h.textContent)");
    let bytes = STANDARD.decode(firefox.print()).unwrap();
    assert!(bytes.starts_with(b"%PDF"));
    let file = folder.join("printed.pdf");
    std::fs::write(&file, &bytes).unwrap();
    if let Ok(to) = std::env::var("BLKSCHED_SHOTS") {
        std::fs::copy(&file, PathBuf::from(to).join("firefox.pdf")).unwrap();
    }
    let Ok(read) = output(Command::new("pdftotext").args(["-layout"]).arg(&file).arg("-")) else {
        println!("skipped: what is printed was not read; poppler-utils is not installed");
        return;
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(&String::from_utf8_lossy(&read.stdout));
    for heading in headings.as_array().unwrap() {
        let heading = words(heading.as_str().unwrap());
        assert!(text.contains(&heading), "{heading}: {text}");
    }
}
