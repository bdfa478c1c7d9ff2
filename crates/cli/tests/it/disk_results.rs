//! `disk fit` from benchmark results, and `disk grid`, which prints the job file that makes them.

use std::fs;

use blksched_testkit::Folder;

use crate::printed::printed;

const CELLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/grids/cells.csv");

fn words(words: &[&str]) -> (Option<i32>, String, String) {
    let output = printed(words, 100);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_grid_is_printed_and_only_printed() {
    let (code, text, _) = words(&["disk", "grid", "--print", "--filename", "/dev/sdb"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("filename=/dev/sdb") && text.contains("it only reads") && !text.contains("randwrite"));
    let (code, _, error) = words(&["disk", "grid"]);
    assert!(code != Some(0) && error.contains("--print"), "{error}");
}

#[test]
fn a_table_of_several_drives_asks_for_one_and_a_wrong_name_gets_the_nearest() {
    let (code, _, error) = words(&["disk", "fit", CELLS]);
    assert!(code != Some(0) && error.contains("several drives: give --device, one of intel-d3-s4610-480/sata300"));
    let (_, _, error) = words(&["disk", "fit", CELLS, "--device", "crucial-25/sata300"]);
    assert!(error.contains("did you mean `crucial-250/sata300`?"), "{error}");
}

/// One output of fio's with one job.
fn output(depth: u32, iops: u32, p50: u32) -> String {
    let percentiles = [("50.000000", p50), ("99.000000", p50 * 3 / 2), ("99.900000", p50 * 2)];
    let percentiles = percentiles.map(|(name, us)| format!("\"{name}\": {}", us * 1_000)).join(", ");
    format!(
        "{{\"fio version\": \"fio-3.33\", \"global options\": {{\"rw\": \"randread\", \"bs\": \"4k\", \
         \"direct\": \"1\", \"ioengine\": \"libaio\"}}, \"jobs\": \
         [{{\"jobname\": \"a\", \"groupid\": 0, \"job options\": {{\"iodepth\": \"{depth}\"}}, \"read\": {{\"iops\": \
         {iops}, \"clat_ns\": {{\"percentile\": {{{percentiles}}}}}}}, \"write\": {{\"iops\": 0}}}}]}}"
    )
}

#[test]
fn a_folder_of_fios_json_becomes_a_disk() {
    let kept = Folder::new();
    let folder = kept.path("results");
    fs::create_dir_all(folder.join("deeper")).unwrap();
    for (depth, iops, p50) in
        [(1, 10_000, 95), (4, 38_000, 100), (8, 50_000, 155), (16, 50_000, 318), (64, 50_000, 1_278)]
    {
        fs::write(folder.join(format!("deeper/randread-{depth}-1.json")), output(depth, iops, p50)).unwrap();
    }
    let disk = folder.join("my.toml");
    let (results, out) = (folder.display().to_string(), disk.display().to_string());
    let (code, _, told) = words(&["disk", "fit", &results, "--out", &out]);
    assert!(code != Some(0) && told.contains("expected nvme or sata (--attached says it)"), "{told}");
    let (code, _, told) = words(&["disk", "fit", &results, "--attached", "sata", "--out", &out]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("used 5 of 5 loads") && told.contains("no load was left to judge the model"), "{told}");
    assert!(told.contains("the host: ") && told.contains("reads beside writes: no mixed cell"), "{told}");
    let spec = blksched_disks::load(&out).unwrap();
    assert!(spec.has_tails() && spec.description.contains("fitted to 5 of 5 loads"));
    fs::write(folder.join("deeper/again.json"), output(64, 1, 1)).unwrap();
    let (code, _, error) = words(&["disk", "fit", &results]);
    assert!(code != Some(0) && error.contains("randread 64x1 is there already"), "{error}");
}

#[test]
fn without_tails_a_disk_is_named_ideal_and_one_that_has_none_is_told() {
    let words = |tails: &str| {
        let job =
            ["simulate", "--disk", "sata-ssd-ideal", "--tails", tails, "--time", "50ms", "--name=a", "--rw=randread"];
        words(&[&job[..], &["--size=1m"]].concat())
    };
    let (code, notes, _) = words("off");
    assert!(code == Some(0) && notes.contains("--tails off changes nothing: sata-ssd-ideal has none"), "{notes}");
    let (_, _, error) = words("of");
    assert!(error.contains("possible values: on, off"), "{error}");
}
