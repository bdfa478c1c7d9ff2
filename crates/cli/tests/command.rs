//! The command as a user meets it: its words, and what they print.

#[cfg(target_os = "linux")]
#[path = "command/completions.rs"]
mod completions;
#[path = "command/emit.rs"]
mod emit;
#[path = "command/explain.rs"]
mod explain;
#[cfg(target_os = "linux")]
#[path = "command/phases.rs"]
mod phases;
mod printed;
#[path = "command/record.rs"]
mod record;
#[path = "schemas/mod.rs"]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod schemas;
#[path = "command/terminal.rs"]
mod terminal;
#[path = "command/traces.rs"]
mod traces;
#[cfg(target_os = "linux")]
#[path = "command/trial.rs"]
mod trial;
#[cfg(target_os = "linux")]
#[path = "command/validate.rs"]
mod validate;

use std::process::{Command, Output};

/// Runs the command without wrapping, so that no word that a test looks for is broken.
fn blksched(arguments: &[&str]) -> Output {
    printed::printed(arguments, 1000)
}

/// The same as a process of its own, for colours and for what is told meanwhile.
fn started(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blksched"));
    blksched_testkit::output(command.args(arguments).env("COLUMNS", "1000")).expect("the binary runs")
}

/// The output as it comes out of a pipe.
fn piped(arguments: &[&str]) -> String {
    stdout(&printed::printed(arguments, 120))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Runs it, expects success, and returns its standard output.
fn done(arguments: &[&str]) -> String {
    let output = blksched(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

/// Runs it, expects exit code 2 and an empty standard output, and returns its error message.
fn refused(arguments: &[&str]) -> String {
    let output = blksched(arguments);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

/// A disk of one command at a time has two scheduler tags (twice its depth), too few for a scheduler to choose from.
const SHORT: [&str; 8] = ["--time", "2", "--disk", "ide-2002", "--starts", "as-said", "--nr-requests", "128"];

/// A comparison with everything that it found, unless it is asked for in another form.
fn compare(arguments: &[&str]) -> String {
    let has_its_form = arguments.iter().any(|word| ["--json", "--csv", "--emit"].contains(word));
    let details: &[&str] = if has_its_form { &[] } else { &["--details"] };
    done(&[&["compare"], &SHORT[..], arguments, details].concat())
}

fn job_file(name: &str, text: &str) -> String {
    let path = std::env::temp_dir().join(format!("blksched-{}-{name}", std::process::id()));
    // Several tests may share a name: each finds a complete file.
    let partial = path.with_extension(format!("{:?}", std::thread::current().id()));
    std::fs::write(&partial, text).and_then(|()| std::fs::rename(&partial, &path)).expect("a temporary file");
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn compare_prints_the_tables_that_it_always_did_with_details() {
    let text = piped(&[&["compare"], &SHORT[..], &["--seeds", "2", "--details", "--historical"]].concat());
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    golden("compare.txt", &text);
}

/// A number and its unit, or the reason why there is none.
fn is_whole(cell: &str) -> bool {
    let unit = cell.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    cell == "-" || (unit.len() < cell.len() && ["ns", "us", "ms", "s", "B/s", "KiB/s", "MiB/s", "%"].contains(&unit))
}

#[test]
fn the_answer_comes_first_and_fits_a_small_screen() {
    let page =
        |columns: u16, arguments: &[&str]| stdout(&printed::printed(&[&["compare"], arguments].concat(), columns));
    let text = page(100, &[]);
    assert!(text.lines().count() <= 25, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let (answer, table) = text.split_once("\n\n").expect("two parts");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines.len() <= 9 && lines[0] == "beside-a-backup on hdd-7200:", "the load, and eight lines: {answer}");
    assert!(["Keep ", "Use ", "Choose: "].iter().any(|word| lines[1].starts_with(word)), "{answer}");
    assert!(answer.contains("\nHow sure: ") && answer.contains("never on a real drive"), "{answer}");
    for absent in ["deadline@", "cfq", "against", "Jain", "Roles", "fitted", "±", "utilisation"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(table.contains("--details shows"), "{table}");
    // No number is apart from its unit where the screen is narrow.
    for arguments in [&["--seeds", "2"][..], &["vm-host", "--disk", "ide-2002", "--seeds", "2", "--time", "2"]] {
        let narrow = page(80, arguments);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        let table = narrow.lines().skip_while(|line| !line.starts_with('─'));
        let rows: Vec<&str> = table.filter(|line| line.starts_with(' ')).collect();
        assert!(rows.len() >= 6, "{narrow}");
        for row in rows {
            let cells = row.split("  ").map(str::trim).filter(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
            for cell in cells {
                assert!(is_whole(cell), "{cell}: {narrow}");
            }
        }
    }
}

#[test]
fn a_trace_at_its_recorded_moments_is_judged_by_how_long_its_reads_take() {
    let folder = std::env::temp_dir().join(format!("blksched-moments-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    // A reader beside bursts of writes: neither its rate nor its end can depend on the scheduler.
    let place = |nth: u64, by: u64| (nth * by % 100_000) * 65_536;
    let read = |nth: u64| (10_000 * nth + nth * 37 % 1_000, format!("read,{},4096,app", place(nth, 7_919)));
    let write = |nth: u64| (100_000 * (nth / 20) + 3 * (nth % 20), format!("write,{},65536,bulk", place(nth, 104_729)));
    let mut rows: Vec<(u64, String)> = (0..500).map(read).chain((0..1_000).map(write)).collect();
    rows.sort();
    let path = folder.join("moments.csv");
    std::fs::write(&path, rows.into_iter().map(|(at, row)| format!("{at},{row}\n")).collect::<String>())
        .expect("a file");
    let load = format!("{}:columns=time@us,op,offset@B,size@B,process", path.display());
    let text =
        stdout(&printed::printed(&["compare", &load, "--disk", "hdd-7200-ideal", "--seeds", "2", "--details"], 1000));
    assert!(text.contains("app.1 is latency-bound (its I/Os come at recorded moments)"), "{text}");
    assert!(text.contains("p99 read latency is "), "what differs is how long a read takes: {text}");
    assert!(!text.contains("time to finish"), "it is the recording's: {text}");
    std::fs::remove_dir_all(&folder).expect("it was made here");
}

#[test]
fn a_trace_of_many_processes_shows_the_eight_largest_and_the_others_together() {
    let folder = std::env::temp_dir().join(format!("blksched-many-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let row = |nth: u64| {
        let (process, size) = (nth % 71, if nth % 71 < 8 { 65_536 } else { 4_096 });
        format!("{},read,{},{size},program{process}\n", 3 * nth, (nth * 7_919 % 100_000) * 65_536)
    };
    let path = folder.join("many.csv");
    std::fs::write(&path, (0..3_000).map(row).collect::<String>()).expect("a file");
    let load = format!("{}:columns=time@ms,op,offset@B,size@B,process", path.display());
    let text = stdout(&printed::printed(&["compare", &load, "--disk", "sata-ssd-ideal", "--seeds", "2"], 100));
    std::fs::remove_dir_all(&folder).expect("it was made here");
    assert!(text.contains("63 others"), "{text}");
    let rows = text.lines().filter(|line| line.starts_with(" program")).count();
    assert_eq!(rows, 8, "{text}");
    assert!(text.lines().count() <= 30, "{text}");
}

#[test]
fn programs_read_the_same_answer() {
    let text = compare(&["--seeds", "2", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let lines = value["answer"]["lines"].as_array().expect("a list");
    assert!((2..=8).contains(&lines.len()), "{lines:#?}");
    let page = done(&[&["compare"], &SHORT[..], &["--seeds", "2"]].concat());
    for line in lines {
        let line = line["text"].as_str().expect("a text");
        assert!(page.contains(&format!("\n{line}\n")), "{line}: {page}");
    }
    let advice = value["answer"]["advice"].as_str();
    assert!([Some("keep"), Some("choose"), Some("use")].contains(&advice), "{advice:?}");
    assert_eq!(lines[0]["about"], "advice");
}

#[test]
fn a_price_that_is_too_high_is_a_choice_and_changes_no_system() {
    let asked = ["--seeds", "2", "--elevators", "mq-deadline,bfq", "--fs", "none"];
    let text = done(&[&["compare"], &SHORT[..], &asked[..]].concat());
    assert!(text.contains("\nChoose: bfq helps (") && text.contains(") and harms (backup nearly stops: "), "{text}");
    let rules = compare(&[&asked[..], &["--emit", "udev"]].concat());
    assert!(rules.ends_with("# Nothing is changed before that choice.\n") && !rules.contains("ACTION"), "{rules}");
    let chosen = compare(&[&asked[..], &["--emit", "udev", "--goal", "reader: mean read"]].concat());
    assert!(chosen.contains("ATTR{queue/scheduler}=\"bfq\"") || chosen.contains("may be chance"), "{chosen}");
    for wrong in ["0.9", "1e7", "much"] {
        assert!(refused(&["compare", "--max-price", wrong]).contains("expected a number from 1 to 1000000"));
    }
}

#[test]
fn the_usual_schedulers_are_those_of_a_present_kernel_and_below_a_line_historical_ones_if_asked_for() {
    assert!(!compare(&["--seeds", "1"]).contains("deadline@"));
    let text = compare(&["--seeds", "1", "--historical"]);
    let places: Vec<usize> = ["mq-deadline", "none", "kyber", "── historical", "deadline@4.20", "cfq@"]
        .iter()
        .map(|name| text.find(&format!("\n {name}")).unwrap_or_else(|| panic!("{name} is not in\n{text}")))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(text.contains("\nKeep mq-deadline: one run proves nothing; "), "{text}");
}

/// Compares with a file of earlier output; `BLESS` renews it.
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(path).unwrap_or_default(), "`cargo xtask bless` renews it");
}

const PRIORITIES: [&str; 7] =
    ["priorities", "--seeds", "3", "--elevators", "none,mq-deadline,kyber", "--goal", "priorities"];

#[test]
fn priorities_of_the_jobs_are_held_against_what_they_got() {
    let text = compare(&[&PRIORITIES[..], &["--wide"]].concat());
    for words in ["prio", "due", "(priorities kept)", "(not kept)", "\nUse mq-deadline: it keeps"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    golden("priorities.txt", &text);
}

#[test]
fn weights_of_groups_are_held_against_what_they_got() {
    let global = "[global]\ndirect=1\nrw=randread\nbs=16k\nsize=1g\nioengine=libaio\niodepth=4\n";
    let jobs = "[web]\ncgroup=web\ncgroup_weight=300\n[batch]\ncgroup=batch\n";
    let path = job_file("groups.fio", &format!("{global}{jobs}"));
    // In its first seconds bfq takes new processes for interactive ones.
    let text = done(&["compare", &path, "--seeds", "2", "--elevators", "none,bfq", "--time", "10s", "--wide"]);
    for words in ["prio, weight", "none web=300", "none batch=100", "(priorities kept); none ", "(not kept)."] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn udev_gets_a_rule_with_what_applies_and_undoes_it_and_the_evidence_as_comments() {
    let set = ["--set", "mq-deadline.prio_aging_expire=1m", "--set", "mq-deadline.fifo_batch=8"];
    let wrong = refused(&[&["compare"], &set[..]].concat());
    assert!(wrong.contains("1m"), "{wrong}");
    let set = ["--set", "mq-deadline.prio_aging_expire=60s", "--set", "mq-deadline.fifo_batch=8", "--emit", "udev"];
    let text = compare(&[&PRIORITIES[..], &set[..]].concat());
    let (rules, comments): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| !line.is_empty()).partition(|line| !line.starts_with('#'));
    assert_eq!(rules.len(), 1, "{text}");
    for part in [
        r#"ATTRS{model}=="MODEL OF YOUR DISK""#,
        r#"ATTR{queue/scheduler}="mq-deadline""#,
        r#"ATTR{queue/iosched/prio_aging_expire}="60000""#,
        r#"ATTR{queue/iosched/fifo_batch}="8""#,
    ] {
        assert!(rules[0].contains(part), "{part}: {text}");
    }
    for command in [
        "echo mq-deadline > /sys/block/$DISK/queue/scheduler",
        "echo 60000 > /sys/block/$DISK/queue/iosched/prio_aging_expire",
    ] {
        assert!(comments.iter().any(|line| line.ends_with(command)), "{command}: {text}");
    }
    assert!(text.contains("\n# By default, a kernel gives such a disk mq-deadline.\n"), "{text}");
    golden("udev.rules", &text);
    let of_a_model = compare(&[&PRIORITIES[..], &["--emit", "udev", "--on", "model:WDC WD40"]].concat());
    assert!(of_a_model.contains("ATTRS{model}==\"WDC WD40\""), "{of_a_model}");
    let tuned = compare(&[&PRIORITIES[..], &["--emit", "tuned", "--on", "path:pci-0-ata-1"]].concat());
    let profile = "[disk]\ndevices_udev_regex=(ID_PATH=pci-0-ata-1)\nelevator=mq-deadline\n";
    assert!(tuned.contains(profile), "{tuned}");
    let nowhere = refused(&[&["compare"], &SHORT[..], &PRIORITIES[..], &["--emit", "udev", "--on", "sdzz9"]].concat());
    assert!(nowhere.contains("/sys/block/sdzz9: there is no") && nowhere.contains("give model:TEXT"), "{nowhere}");
}

#[test]
fn the_script_for_sysfs_restores_what_was_there() {
    let set = ["--set", "mq-deadline.fifo_batch=8", "--emit", "sysfs"];
    let script = compare(&[&PRIORITIES[..], &set[..]].concat());
    let root = std::env::temp_dir().join(format!("blksched-sysfs-{}", std::process::id()));
    let disk = root.join("sdx");
    std::fs::create_dir_all(disk.join("queue/iosched")).unwrap();
    let file = |name: &str| disk.join("queue").join(name);
    std::fs::write(file("scheduler"), "none mq-deadline [bfq]\n").unwrap();
    std::fs::write(file("iosched/fifo_batch"), "16\n").unwrap();
    std::fs::write(file("iosched/slice_idle"), "3\n").unwrap();
    let here = root.to_str().expect("UTF-8");
    let script = script.replace("/sys/block", here).replace("/run", here);
    let run = |arguments: &[&str]| {
        let mut shell = Command::new("sh");
        blksched_testkit::status(shell.current_dir(&root).args(["-c", &script, "sh"]).args(arguments))
            .expect("a shell")
            .success()
    };
    let content = |name: &str| std::fs::read_to_string(file(name)).unwrap().trim().to_owned();
    assert!(run(&["sdx"]));
    assert_eq!((content("scheduler"), content("iosched/fifo_batch")), ("mq-deadline".to_owned(), "8".to_owned()));
    assert!(!run(&["sdx"]), "what was there would be forgotten");
    std::fs::write(file("iosched/slice_idle"), "8\n").unwrap();
    assert!(run(&["sdx", "undo"]));
    let restored = ["scheduler", "iosched/fifo_batch", "iosched/slice_idle"].map(content);
    assert_eq!(restored, ["bfq", "16", "3"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn no_difference_changes_nothing() {
    let text = compare(&["--seeds", "2", "--emit", "udev", "--elevators", "mq-deadline,mq-deadline"]);
    assert!(
        text.contains("# Keep mq-deadline: nothing is at least 5 % better ")
            && text.ends_with("\n# So there is nothing to change.\n"),
        "{text}"
    );
}

/// Two jobs, and what counts for each.
fn database() -> String {
    let global = "[global]\nsize=1g\ntime_based\nruntime=20\n";
    let jobs = "[db]\nrw=randread\nbs=8k\ndirect=1\n[wal]\nrw=write\nbs=8k\nfdatasync=1\n[dump]\nrw=read\nbs=1m\n";
    job_file("database.fio", &format!("{global}{jobs}"))
}

#[test]
fn a_goal_names_jobs_and_figures_and_bounds() {
    let path = database();
    let goal = "db: p99 read, wal: mean fsync, dump: finish < 1h, wal: stall < 2s";
    let text = compare(&[&path, "--seeds", "3", "--elevators", "mq-deadline,bfq", "--goal", goal]);
    assert!(text.contains("db is latency-bound (it waits for each read)"), "{text}");
    assert!(text.contains("wal is latency-bound (it waits for its syncs)"), "{text}");
    assert!(text.contains(" sync ") && !text.contains("no write waits for the disk"), "{text}");
    let never = compare(&[&path, "--seeds", "2", "--elevators", "mq-deadline,none", "--goal", "dump: finish < 1ms"]);
    assert!(never.contains("keep mq-deadline (dump: finish < 1ms is not kept: "), "{never}");
    for (goal, expected) in [
        ("dbb: p99 read", "no job is called `dbb`; did you mean `db`? (jobs: db, wal, dump)"),
        ("db: p98 read", "`p98` is neither a figure nor a direction; did you mean `p99`?"),
        ("db: p99 fsync", "db does no sync (it does: read)"),
        ("db: read", "expected a figure, one of mean, "),
        ("db: p99 read < soon", "`soon` is not a bound: expected a time, as in 10ms or 2h"),
        ("speed", "expected one of balance, read-latency"),
    ] {
        let said = refused(&[&["compare"], &SHORT[..], &[&path, "--seeds", "1", "--goal", goal]].concat());
        assert!(said.contains(expected), "{goal}: {said}");
    }
}

/// The review's database: eight backends, a log, and a backup that no user waits for.
const PG: &str = "[global]\ntime_based\nruntime=60\nioengine=psync\n\
    [pgdata]\nrw=randrw\nrwmixread=70\nbs=8k\nsize=4g\nnumjobs=8\ngroup_reporting\n\
    random_distribution=zipf:1.1\nfsync=64\n\
    [wal]\nnew_group\nrw=write\nbs=8k\nsize=1g\nfdatasync=1\n\
    [backup]\nnew_group\nrw=read\nbs=1m\nsize=20g\n";

#[test]
fn a_database_beside_a_backup_gets_the_verdict_of_its_administrator() {
    let path = job_file("pg.fio", PG);
    let text = done(&["compare", &path, "--seeds", "3", "--elevators", "mq-deadline,bfq", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let jobs = value["schedulers"][0]["jobs"].as_array().expect("jobs");
    let roles: Vec<&str> = jobs.iter().filter_map(|job| job["role"].as_str()).collect();
    assert_eq!(roles, ["latency-bound", "latency-bound", "background"]);
    assert!(jobs[..2].iter().all(|job| job["sync"]["clat"]["mean"]["mean"].as_f64() > Some(1e6)), "commits take time");
    assert!(!text.contains("no write waits for the disk"), "{text}");
    // Whatever the backup gains, nothing that costs the database is recommended, and a gain of the backup alone does
    // not count.
    let candidate = &value["action"]["candidates"][0];
    let of_database = |side: &str| {
        let all = candidate[side].as_array().expect("a list").iter();
        all.filter(|figure| figure["job"] != "backup").count()
    };
    if !value["action"]["use"].is_null() {
        assert!(of_database("costs") == 0 && of_database("gains") > 0, "{candidate}");
    }
    let costs = candidate["costs"].as_array().expect("a list");
    assert!(costs.iter().all(|cost| cost["job"] != "backup"), "a background job's loss is no price: {candidate}");
}

/// The default comparison at both ends of the plausible range of every fitted value, and at corners of all of them.
#[test]
fn the_default_verdict_survives_what_is_fitted() {
    let output = blksched(&["compare", "--json", "--sensitivity"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found = &value["sensitivity"];
    assert!(found["fitted"].as_u64() >= Some(15) && found["tried"] == found["fitted"], "{found:#}");
    let moved = found["moved"].as_array().expect("a list");
    let turned: Vec<_> = moved.iter().filter(|moved| moved["turns"] == true).collect();
    // Both ends of each, BFQ's processes that do not begin together, and corners of all together.
    let ends = 2 * found["fitted"].as_u64().unwrap_or(0) + 1;
    let alone = |moved: &&serde_json::Value| moved["changes"].as_array().is_some_and(|changes| changes.len() == 1);
    assert!(moved.iter().filter(alone).count() as u64 == ends && moved.len() as u64 >= ends + 4, "{found:#}");
    assert!(turned.is_empty(), "{turned:#?}");
}

/// A disk whose one fitted value decides whether any job waits.
const HANGS: &str = "\
kind = \"fixed\"
description = \"a disk whose service was guessed\"
capacity = \"100GB\"
max_command = \"1MiB\"
depth = 1
channels = 1
service = \"2ms\"
[fit]
service = \"1ms to 40ms\"
";

#[test]
fn a_verdict_that_hangs_on_a_fitted_value_says_so() {
    let disk = job_file("hangs.toml", HANGS);
    let jobs = "[global]\ndirect=1\nruntime=4\nfilename=/dev/sda\n[slow]\nrw=randread\nrate_iops=20\n\
                [backup]\nrw=read\nbs=128k\nioengine=libaio\niodepth=24\nrate_iops=100\n";
    let load = job_file("hangs.fio", jobs);
    let goal = ["--goal", "slow: mean read", "--elevators", "mq-deadline,bfq", "--seeds", "3"];
    let arguments = [&["compare", &load, "--disk", &disk][..], &goal[..]].concat();
    let output = blksched(&[&arguments[..], &["--json", "--sensitivity"]].concat());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let moved = value["sensitivity"]["moved"].as_array().expect("a list");
    let of_disk = |moved: &&serde_json::Value| {
        moved["changes"].as_array().is_some_and(|all| all.len() == 1 && all[0]["key"] == "service")
    };
    let moved: Vec<&serde_json::Value> = moved.iter().filter(of_disk).collect();
    assert_eq!(moved.len(), 2, "{moved:#?}");
    assert_eq!(moved[0]["turns"], false, "an idle disk is an idle disk: {moved:#?}");
    assert_eq!(moved[1]["turns"], true, "a disk that cannot keep up is another: {moved:#?}");
    let text = |arguments: &[&str]| {
        let text = String::from_utf8(blksched(&[arguments, &["--details"]].concat()).stdout).expect("text");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let hangs = text(&arguments);
    assert!(hangs.contains("the advice depends on them: "), "{hangs}");
    assert!(hangs.contains("with service = 40ms (here 2ms, plausible 1ms to 40ms) it is: use bfq"), "{hangs}");
    assert!(hangs.contains("no published figures; response times never compared with a drive's."), "{hangs}");
    let plain = job_file("plain.toml", HANGS.split("[fit]").next().expect("a head"));
    let says_nothing = text(&[&["compare", &load, "--disk", &plain][..], &goal[..]].concat());
    assert!(says_nothing.contains("Keep mq-deadline") && !says_nothing.contains("of this disk"), "{says_nothing}");
}

#[test]
fn list_says_how_true_a_disk_is_and_what_hangs_on_what_was_fitted() {
    let list = |arguments: &[&str]| {
        let output = blksched(&[&["list"], arguments].concat());
        String::from_utf8(output.stdout).expect("text").replace('\n', " ")
    };
    let sheet = list(&["sata-2009"]);
    assert!(sheet.contains("validated: ") && sheet.contains("response times never compared with a drive's"), "{sheet}");
    assert!(sheet.contains("fitted: "), "{sheet}");
    assert!(sheet.contains("attached sata, hardware queues 1, tags 32"), "{sheet}");
    assert!(list(&["nvme-ssd"]).contains("attached nvme, hardware queues 4, tags 1023"), "{}", list(&["nvme-ssd"]));
    assert!(list(&["nvme-ssd-ideal"]).contains("write cache full, flash fresh"), "{}", list(&["nvme-ssd-ideal"]));
    let aged = list(&["nvme-ssd-aged"]);
    assert!(aged.contains("flash full, as long random writes leave it") && !aged.contains("fresh"), "{aged}");
    let array = list(&["raid5:3xhdd-7200-ideal"]);
    assert!(array.contains("each member: off by up to") && array.contains("as a whole is not validated"), "{array}");
    assert!(refused(&["list", "hdd-72", "--sensitivity"]).contains("did you mean `hdd-7200`?"));
    assert!(refused(&["list", "--sensitivity"]).contains("required"));
    let wrong = job_file("wrong.toml", &HANGS.replace("1ms to 40ms", "1ms to 40"));
    let said = refused(&["list", &wrong, "--sensitivity"]);
    assert!(said.contains("[fit]: ") && said.contains("`service`"), "{said}");
}

#[test]
fn variants_of_one_scheduler_stand_in_one_table() {
    let elevators = "bfq,bfq:slice_idle=0,mq-deadline:fifo_batch=1/4:nr_requests=64";
    let text = compare(&["--seeds", "1", "--elevators", elevators]);
    for label in
        [" bfq ", " bfq slice_idle=0ms ", " mq-deadline fifo_batch=1 nr_requests=64 ", " mq-deadline fifo_batch=4 "]
    {
        assert!(text.contains(label), "{label}: {text}");
    }
    for (elevators, expected) in [
        ("bfq:slice_idel=0", "did you mean `slice_idle`?"),
        ("bfq:nr_request=4", "did you mean `nr_requests`?"),
        ("bfq:slice_idle", "`slice_idle` sets nothing: expected KNOB=VALUE"),
        ("bfq:nr_requests=0", "expected a number from 1 to"),
    ] {
        let said = refused(&["compare", "--elevators", elevators]);
        assert!(said.contains(expected), "{elevators}: {said}");
    }
}

#[test]
fn an_option_that_needs_another_says_which() {
    let said = refused(&["compare", "--budget", "64"]);
    assert!(said.contains("--tune") && said.contains("--until-sure"), "{said}");
    let serve = ["serve", "--check", "--depth", "auto", "--shares", "scheduler", "--export", "a=mem:1M"];
    let said = refused(&serve);
    assert!(said.contains("`depth auto` works only with the shares `time`"), "what the start refuses: {said}");
}

#[test]
fn a_search_for_knobs_says_what_each_is_worth_or_to_leave_them() {
    let own = ["--tune", "mq-deadline", "--budget", "70", "--elevators"];
    let text = compare(&[&["reader-and-writer", "--goal", "reader: mean read"], &own[..4]].concat());
    assert!(text.contains("settings of mq-deadline tried in "), "{text}");
    assert!(text.contains("what each knob is worth") || text.contains("Leave them."), "{text}");
    // Kyber's targets do nothing before it has measured for 100 ms.
    let reads =
        ["--name=r", "--rw=randread", "--filename=/dev/sda", "--direct=1", "--disk", "nvme-ssd", "--seeds", "1"];
    let text = done(&[&["compare", "--tune", "kyber", "--time", "20ms"], &reads[..]].concat());
    assert!(text.contains("in runs of 20ms no target has an effect") && text.contains("--time 1s"), "{text}");
    // A load that bypasses every scheduler has no knob worth changing.
    let text = compare(&[&["--name=r", "--rw=read", "--direct=1", "--size=1g", "--bs=64k"], &own[..4]].concat());
    assert!(text.contains("none looks better than its defaults. Leave them.\n"), "{text}");
}

#[test]
fn every_request_can_be_told_with_its_times_and_its_reason() {
    let path = std::env::temp_dir().join(format!("blksched-decisions-{}.csv", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    done(&[&["simulate", "reader-and-writer", "--decisions", file, "--elevator", "mq-deadline"], &SHORT[..]].concat());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][7..12], ["queued_ns", "issued_ns", "completed_ns", "waited_ns", "in_disk_ns"]);
    assert!(rows.len() > 300 && rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    for row in rows[1..].iter().filter(|row| !row[9].is_empty()) {
        assert_eq!(number(row[7]) + number(row[10]) + number(row[11]), number(row[9]), "{row:?}");
        let causes = row[13].split("; ").filter_map(|cause| cause.split_once('=')).map(|(_, ns)| number(ns));
        assert_eq!(causes.sum::<u64>(), number(row[10]), "{row:?}");
    }
    let readers = rows.iter().filter(|row| row[1] == "reader" && row[3] == "Read").count();
    assert!(readers > 5 && text.contains(",nothing else waited,"), "{text}");
}

#[test]
fn a_matrix_is_a_page_and_a_table() {
    let path = std::env::temp_dir().join(format!("blksched-matrix-{}.csv", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    let small = ["--disks", "sata-ssd", "--workloads", "backup", "--elevators", "none,mq-deadline", "--seeds", "2"];
    let page = done(&[&["matrix", "--csv", file], &small[..]].concat());
    assert!(page.contains("| workload | sata-ssd |") && page.contains("## backup"), "{page}");
    let csv = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(csv.lines().nth(1).is_some_and(|row| row.starts_with("backup,sata-ssd,mq-deadline,none,false,")), "{csv}");
}

/// Whether the matrix's table has a row for that scheduler.
fn csv_has(path: &std::path::Path, scheduler: &str) -> bool {
    let csv = std::fs::read_to_string(path).unwrap();
    csv.lines().any(|row| row.split(',').nth(3) == Some(scheduler))
}

#[test]
fn a_matrix_asks_who_keeps_weights_and_tells_what_needs_a_patch() {
    let path = std::env::temp_dir().join(format!("blksched-weighed-{}.csv", std::process::id()));
    let file = path.to_str().expect("UTF-8");
    let page = done(&["matrix", "--csv", file, "--disks", "ide-2002", "--workloads", "vm-host", "--seeds", "2"]);
    assert!(page.contains("none+io.cost is run as well"), "{page}");
    for controller in ["none+io.max", "none+io.latency", "mq-deadline+io.prio.class"] {
        assert!(page.contains(controller) && csv_has(&path, controller), "{controller}: {page}");
    }
    let csv = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|row| row.split(',').collect()).collect();
    assert!(rows.iter().any(|row| row[3..5] == ["none+io.cost", "false"]), "{csv}");
    let patched: Vec<_> = rows.iter().filter(|row| row[4] == "true").collect();
    assert!(patched.len() == 1 && patched[0][3] == "adios" && patched[0][9] == "false", "{csv}");
}

#[test]
fn small_kindnesses() {
    let folder = std::env::temp_dir().join(format!("blksched-folder-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.fio"), "[a]\nsize=1m\n").unwrap();
    let said = refused(&["compare", folder.to_str().expect("UTF-8")]);
    assert!(said.contains("a directory: expected a job file, as in ") && said.contains("mine.fio"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
    assert!(done(&["list", "beside-a-backup"]).contains("[backup]\nprioclass=3\nrw=read\n"));
    for arguments in [&["list"][..], &["list", "bfq"], &["list", "fio"]] {
        let text = piped(arguments);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
}

#[test]
fn csv_has_a_row_per_seed_and_figure() {
    let text = compare(&["reader-and-writer", "--csv", "--seeds", "2", "--elevators", "none,mq-deadline:fifo_batch=4"]);
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    assert_eq!(header, "workload,disk,scheduler,settings,seed,job,processes,role,what,figure,unit,value");
    assert!(lines.all(|line| line.split(',').count() == header.split(',').count()), "{text}");
    for row in ["reader-and-writer,ide-2002,mq-deadline,fifo_batch=4,2,writer,1,bulk,write,bw,bytes/s,", ",1,,finish,"]
    {
        assert!(row == ",1,,finish," || text.contains(row), "{row}: {text}");
    }
}

#[test]
fn a_goal_says_what_counts() {
    const WRITER: [&str; 1] = ["reader-and-writer"];
    let with = |goal: &str| {
        compare(&[&WRITER[..], &["--seeds", "3", "--elevators", "mq-deadline,none", "--goal", goal]].concat())
    };
    let latency = with("read-latency");
    assert!(latency.contains(" in read latency: "), "{latency}");
    let twins = ["--seeds", "3", "--elevators", "none,none", "--goal", "write-bandwidth"];
    let bandwidth = compare(&[&WRITER[..], &twins[..]].concat());
    assert!(bandwidth.contains("\nNothing is at least 5 % better: keep none.\n"), "{bandwidth}");
}

#[test]
fn the_same_elevator_twice_makes_no_difference() {
    let text = compare(&["--elevators", "deadline,deadline"]);
    assert!(text.contains("deadline@4.20 (2) against deadline@4.20: no difference.\n"), "{text}");
}

#[test]
fn swapping_two_names_swaps_the_sentence() {
    let here = compare(&["reader-and-writer", "--elevators", "noop,deadline"]);
    let there = compare(&["reader-and-writer", "--elevators", "deadline,noop"]);
    let line = |text: &str| text.lines().find(|line| line.contains(" against ")).expect("a verdict").to_owned();
    assert!(line(&here).starts_with("deadline@4.20 against noop@2.6.33: "), "{here}");
    assert!(line(&here).contains("mean read latency is") && line(&here).contains("times shorter"), "{here}");
    assert!(line(&there).starts_with("noop@2.6.33 against deadline@4.20: "), "{there}");
    assert!(line(&there).contains("mean read latency is") && line(&there).contains("times longer"), "{there}");
    assert!(line(&there).contains("Why: a read waits"), "{there}");
}

#[test]
fn one_seed_says_nothing_about_the_spread() {
    let text = compare(&["--elevators", "noop,deadline", "--seeds", "1"]);
    assert!(text.contains("one run proves nothing"), "{text}");
}

#[test]
fn json_starts_with_schema_version_command_seed_and_disk_and_keeps_its_schema() {
    let said = ["--json", "--seeds", "2", "--elevators", "noop,deadline", "--set", "deadline.fifo_batch=4"];
    let text = compare(&[&["reader-and-writer"], &said[..]].concat());
    let order = ["\"schema\"", "\"version\"", "\"command\"", "\"seed\"", "\"disk\"", "\"seeds\""];
    let places: Vec<usize> = order.iter().map(|key| text.find(key).expect("the key is there")).collect();
    assert!(places.is_sorted(), "{places:?}");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["schema"], "blksched/compare/2");
    assert_eq!(value["disk"]["name"], "ide-2002");
    assert_eq!(value["schedulers"][1]["knobs"][0], "fifo_batch=4");
    assert_eq!(value["schedulers"][1]["trace_hashes"].as_array().map(Vec::len), Some(2));
    let reader = &value["schedulers"][0]["jobs"][0];
    assert_eq!(reader["name"], "reader");
    for key in ["n", "mean", "ci95", "min", "max", "stddev", "unit", "values"] {
        assert!(!reader["read"]["bw"][key].is_null(), "bw.{key}");
        assert!(!reader["read"]["clat"]["mean"][key].is_null(), "clat.mean.{key}");
        assert!(!reader["service_time_share"][key].is_null(), "service_time_share.{key}");
        assert!(!value["schedulers"][0]["fairness"][key].is_null(), "fairness.{key}");
    }
    assert!(reader["read"]["clat"]["p99.9"].is_null(), "of a few reads nobody knows the p99.9");
    assert_eq!((&reader["role"], &value["disk"]["rotational"]), (&"latency-bound".into(), &true.into()));
    assert_eq!(value["schedulers"][1]["settings"][0]["file"], "queue/iosched/fifo_batch");
    assert!(value["contrasts"][0]["ratio"]["ratio"].is_number() && value["warm_up_ns"] == 200_000_000, "{text}");
    assert_eq!((&value["action"]["goal"], &value["action"]["default"]), (&"balance".into(), &"noop@2.6.33".into()));
    assert!(value["action"]["use"].is_null(), "no present kernel has deadline");
    assert_eq!(value["schedulers"][1]["in_present_kernels"], false);
    assert!(value["schedulers"][1]["against_the_priorities"].is_null());
    assert!(value["verdict"].as_array().is_some_and(|verdict| !verdict.is_empty()));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let with = |threads: &str| compare(&["--threads", threads, "--seeds", "3"]);
    assert_eq!(with("1"), with("4"));
}

#[test]
fn a_knob_set_for_an_elevator_by_name_and_kernel_turns_that_one_only() {
    let text = compare(&["--elevators", "deadline@2.6.33,deadline@4.20", "--set", "deadline@4.20.fifo_batch=1"]);
    assert!(text.contains(" deadline@4.20 fifo_batch=1 ") && text.contains(" deadline@2.6.33 "), "{text}");
}

#[test]
fn words_that_mean_nothing_are_named_with_the_nearest_that_does() {
    for (arguments, expected) in [
        (&["compare", "--elevators", "deadlin"][..], "unknown elevator `deadlin`; did you mean `deadline`?"),
        (&["compare", "--elevators", "deadline@2.6.3"], "did you mean `2.6.31`?"),
        (&["compare", "--disk", "hdd-7201"], "hdd-7200"),
        (&["compare", "--disk", "nvmee"], "did you mean `nvme`?"),
        (&["compare", "--set", "mq-deadline.fifo_bacth=1"], "did you mean `fifo_batch`?"),
        (&["compare", "--set", "mq-deadline.fifo_batch=-1"], "out of range"),
        (&["compare", "--set", "mq-deadline.read_expire=fast"], "`fast` is not a value for read_expire"),
        (&["compare", "--set", "cfq@2.6.31.quantum=1"], "no elevator `cfq@2.6.31` is being run"),
        (&["compare", "--set", "fifo_batch"], "expected ELEVATOR.KNOB=VALUE"),
        (&["compare", "reader-and-riter"], "the nearest workload is `reader-and-writer`"),
        (&["compare", "tree-raeders:trees=2"], "the nearest workload is `tree-readers`"),
        (&["compare", "dd", "cat:flies=3"], "cat:flies=3: the program `cat` has no parameter `flies`"),
        (&["simulate", "--disk", "ide-2002", "dd:at=99%"], "dd: `at` leaves "),
        (&["list", "tree-reader"], "did you mean `tree-readers`?"),
        (&["simulate", "--elevator", "deadline@2.6.33+alias=forced"], "did you mean `force`?"),
        (&["list", "deadlines"], "did you mean `deadline`?"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_broken_job_file_is_shown_with_line_and_column_and_runs_nothing() {
    let path = job_file("broken.fio", "[global]\ndirect=1\n\n[a]\nrw=randread\nsize=1m\niodpeth=4\nopendir=no\n");
    let said = refused(&["compare", &path]);
    assert!(said.contains(":7:1") && said.contains("did you mean `iodepth`?"), "{said}");
    assert!(said.contains(":8:1") && said.contains("`opendir` is not supported yet"), "{said}");
}

#[test]
fn fios_options_on_the_command_line_make_jobs() {
    let options = ["--name=typed", "--rw=randread", "--direct=1", "--size=1m", "--parse-only", "--thread"];
    let text = done(&[&["compare"], &options[..]].concat());
    assert!(text.contains("command line:5:1: thread"), "{text}");
    let said = refused(&["compare", "--name=typed", "--direct=1", "--size=1m", "--rw=raed"]);
    assert!(said.contains("command line:4:4") && said.contains("did you mean `read`?"), "{said}");
}

#[test]
fn parse_only_checks_and_runs_nothing() {
    let path = job_file("fine.fio", "[a]\nrw=randread\ndirect=1\nsize=1m\nthread\n");
    let text = done(&["compare", &path, "--parse-only"]);
    assert!(text.contains("thread") && !text.contains("kyber"), "{text}");
    let broken = job_file("not-fine.fio", "[a]\nrw=sideways\ndirect=1\nsize=1m\n");
    assert!(refused(&["simulate", &broken, "--parse-only"]).contains("sideways"));
}

#[test]
fn a_disk_of_ones_own_works_like_a_preset_and_its_errors_have_a_place() {
    let own = include_str!("../../disks/presets/fixed.toml");
    let path = job_file("own.toml", own);
    let text = done(&["compare", "--disk", &path, "--time", "1s", "--seeds", "1"]);
    assert!(text.contains("kyber"), "{text}");
    let wrong = job_file("wrong.toml", &own.replace("\nchannels", "\nchanels"));
    let error = refused(&["compare", "--disk", &wrong]);
    assert!(error.contains("wrong.toml:") && error.contains("chanels") && error.contains("`channels`"), "{error}");
}

/// The first mail's question, asked on the command line.
const HORROR: [&str; 3] = ["dd:at=37%", "cat:files=8,start=500ms", "--elevators=none,deadline@2.5.38"];

#[test]
fn programs_run_together_and_how_long_each_took_is_a_column() {
    let text = compare(&[&HORROR[..], &["--seeds", "2", "--set", "deadline@2.5.38.fifo_batch=8"]].concat());
    assert!(text.starts_with("dd:at=37% cat:files=8,start=500ms on ide-2002, 2 seeds from 1"), "{text}");
    golden("programs.txt", &text);
}

#[test]
fn programs_stand_beside_fio_jobs_built_in_workloads_and_each_other() {
    let jobs = ["random-readers", "dd:size=1m", "--name=typed", "--rw=read", "--direct=1", "--size=1m", "dd:size=4m"];
    let text = compare(&[&jobs[..], &["--seeds", "1", "--elevators", "none", "--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["workload"], "random-readers dd:size=1m dd:size=4m command line");
    let jobs = value["schedulers"][0]["jobs"].as_array().expect("jobs");
    let names: Vec<&str> = jobs.iter().filter_map(|job| job["name"].as_str()).collect();
    // As with fio, the command line's jobs come first.
    assert_eq!((names[0], &names[names.len() - 2..]), ("typed", &["dd", "dd (2)"][..]));
    let ran = |nth: usize| jobs[jobs.len() - nth]["ran"]["mean"].as_f64().expect("it ended");
    assert!(ran(1) > ran(2), "{text}");
    assert!(jobs[1]["ran"].is_null(), "the random readers go on");
}

#[test]
fn a_program_of_many_processes_is_one_row() {
    let text = compare(&["tree-readers:trees=3", "--seeds", "1", "--elevators", "none"]);
    assert!(text.contains(" tree-readers ×3 "), "{text}");
    let text = done(&[&["simulate", "nfsd:size=1m"], &SHORT[..]].concat());
    assert!(text.contains(" nfsd ×9 "), "{text}");
    let json = done(&[&["simulate", "nfsd:size=1m", "--output-format", "json"], &SHORT[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["jobs"].as_array().map(Vec::len), Some(1));
    assert_eq!(value["jobs"][0]["read"]["io_bytes"], 1 << 20);
}

const TRACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/traces");

#[test]
fn a_recorded_trace_is_a_workload_whichever_of_its_files_is_named() {
    let name = |rest: &str| format!("{TRACES}/mq-deadline{rest}");
    let with = |words: &[&str]| {
        let scene = ["compare", "--disk", "sata-2009", "--seeds", "1", "--elevators", "none,bfq", "--details"];
        done(&[&scene[..], words].concat()).replace(TRACES, "").replace(".blktrace.0", "").replace(" .blktrace.1", "")
    };
    let text = with(&[&name("")]);
    golden("trace.txt", &text);
    assert_eq!(text, with(&[&name(".blktrace.0")]));
    let both = with(&[&name(".blktrace.0"), &name(".blktrace.1")]);
    assert_eq!(both.split_once('\n').map(|(_, rest)| rest), text.split_once('\n').map(|(_, rest)| rest));
    let closed = with(&[&name(":timing=closed,rows=name"), "cat"]);
    assert!(closed.contains(" fio ×3 ") && closed.contains(" cat "), "{closed}");
}

#[test]
fn a_job_of_fios_replays_a_trace_as_one_process() {
    let trace = format!("--read_iolog={TRACES}/mq-deadline.blktrace.0");
    let job = ["--name=all", "--direct=1", "--ioengine=libaio", "--iodepth=32", "--replay_redirect=/dev/sdb", &trace];
    let scene = ["compare", "--disk", "sata-ssd", "--seeds", "1", "--elevators", "none", "--json"];
    let value: serde_json::Value = serde_json::from_str(&done(&[&scene[..], &job].concat())).expect("JSON");
    let jobs = value["schedulers"][0]["jobs"].as_array().expect("jobs");
    assert_eq!((jobs.len(), &jobs[0]["name"]), (1, &"all".into()));
    assert!(jobs[0]["read"]["iops"]["mean"].as_f64() > Some(100.0) && !jobs[0]["write"].is_null(), "{value}");
    let said = refused(&["compare", "--name=all", "--read_iolog=/nowhere/x"]);
    assert!(said.contains("command line:2:1") && said.contains("`/nowhere/x` cannot be replayed"), "{said}");
}

#[test]
fn a_trace_that_does_not_fit_or_is_told_nonsense_is_refused() {
    let name = format!("{TRACES}/mq-deadline");
    let small = include_str!("../../disks/presets/fixed.toml");
    let small = job_file(
        "small.toml",
        // The first is the disk's; the other, below, is its plausible range.
        &small.replacen("capacity = \"1TB\"", "capacity = \"16MB\"", 1).replace("500GB to 2TB", "16MB to 32MB"),
    );
    let said = refused(&["compare", &name, "--disk", &small]);
    assert!(
        said.contains("the trace reaches ") && said.contains("scale=") && said.contains("so that it fits"),
        "{said}"
    );
    let said = refused(&["compare", &format!("{name}:timing=close")]);
    assert!(said.contains("`close` is not a value of `timing`") && said.contains("did you mean `closed`?"), "{said}");
    let broken = job_file("broken.blktrace.0", "nothing of the kind");
    let said = refused(&["compare", &broken]);
    assert!(said.contains("no trace in a known format") && said.contains("nothing of the kind"), "{said}");
}

#[test]
fn programs_have_memory_of_their_own() {
    let host = ["--host", "memory=64m", "--parse-only"];
    assert!(compare(&[&["cat"], &host[..]].concat()).contains("--host changes nothing"));
    assert_eq!(compare(&[&["mixed", "--fs", "none"], &host[..]].concat()), "");
}

#[test]
fn files_are_on_ext4_unless_something_else_is_said_and_one_line_says_so() {
    let (file, device) = ("[a]\nrw=write\nsize=1m\n", "[a]\nrw=write\nfilename=/dev/sda\nsize=1m\n");
    let notes = |name: &str, text: &str, more: &[&str]| {
        compare(&[&[job_file(name, text).as_str(), "--parse-only"], more].concat())
    };
    let on_ext4 = "files are on a fresh ext4 of Linux 6.18, as names outside /dev are (";
    let said = notes("on-a-file.fio", file, &[]);
    assert!(said.contains(on_ext4) && said.matches("--fs").count() == 2 && said.lines().count() == 1, "{said}");
    let in_directory = notes("in-a-directory.fio", "[a]\nrw=write\ndirectory=/mnt/data\nsize=1m\n", &[]);
    assert!(in_directory.contains(on_ext4), "{in_directory}");
    let beside = notes("beside-a-device.fio", &format!("{device}[b]\nrw=read\nsize=1m\n"), &[]);
    assert!(beside.contains(on_ext4), "one of its jobs uses a file: {beside}");
    assert_eq!(notes("on-a-device.fio", device, &[]), "");
    assert_eq!(notes("on-none.fio", file, &["--fs", "none"]), "");
    let xfs = notes("on-xfs.fio", &format!("{file}; blksched: fs=xfs\n"), &[]);
    assert!(xfs.contains("on a fresh xfs of Linux 6.18;") && !xfs.contains("names outside"), "{xfs}");
    let contradicts = job_file("contradicts.fio", &format!("{device}; blksched: fs=ext4\n"));
    let wrong = refused(&["compare", &contradicts]);
    assert!(wrong.contains("contradicts.fio:5:") && wrong.contains("raw device"), "{wrong}");
    for (word, why) in
        [("btrfs", "not modelled"), ("ext5", "expected ext4, xfs, ext3, ext2 or none"), ("overlay", "below it")]
    {
        let wrong = refused(&["compare", "--fs", word]);
        assert!(wrong.contains(why), "{word}: {wrong}");
    }
}

#[test]
fn simulate_prints_the_reasons_and_fios_json() {
    let text = done(&["simulate", "--time", "2s", "--disk", "ide-2002"]);
    for part in ["what the jobs saw", "What requests waited for", "What the disk did", "batches", "trace "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = done(&[
        "simulate",
        "reader-and-writer",
        "--time",
        "2s",
        "--disk",
        "ide-2002",
        "--starts",
        "as-said",
        "--output-format",
        "json",
    ]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert!(value["fio version"].as_str().is_some_and(|version| version.starts_with("fio-3")));
    assert_eq!(value["jobs"][0]["jobname"], "reader");
    assert!(value["jobs"][0]["read"]["total_ios"].as_u64().is_some_and(|ios| ios > 0));
    assert_eq!(value["global options"]["direct"], "1");
    assert_eq!(value["jobs"][1]["job options"]["iodepth"], "256");
}

#[test]
fn list_knows_every_elevator_disk_workload_and_knob() {
    let all = done(&["list"]);
    for word in ["noop", "deadline", "hdd-7200", "sata-2009", "ide-2002", "reader-and-writer"] {
        assert!(all.contains(word), "{word}");
    }
    let deadline = done(&["list", "deadline"]);
    for knob in ["read_expire", "write_expire", "fifo_batch", "seek_cost", "writes_starved", "front_merges"] {
        assert!(deadline.contains(knob), "{knob}");
    }
    let json: serde_json::Value = serde_json::from_str(&done(&["list", "deadline", "--json"])).expect("JSON");
    assert_eq!(json["schema"], "blksched/list/1");
    let fio = done(&["list", "fio"]);
    for words in ["rwmixread", "nothing, 0 or 1", "no effect: ", "not yet: it needs "] {
        assert!(fio.contains(words), "{words}");
    }
    assert!(done(&["list", "workloads"]).contains("tree-readers"));
    assert!(done(&["list", "replay"]).contains("time_scale"));
    let dd = done(&["list", "dd"]);
    for word in ["4000MiB", "where its file lies", "Andrew Morton", "`start`"] {
        assert!(dd.contains(word) && !dd.contains("tiobench"), "{word} in\n{dd}");
    }
    let sheet = done(&["list", "hdd-7200-ideal"]);
    for word in ["random_read_1", "average_seek", "7.40ms", "Ultrastar DC HC310 specification"] {
        assert!(sheet.contains(word), "{word} in\n{sheet}");
    }
    assert!(done(&["list", "raid5:4xhdd-7200-ideal"]).contains("sequential_read"));
}

#[test]
fn completions_and_man_pages_are_generated() {
    for shell in ["bash", "zsh", "fish"] {
        let script = done(&["completions", shell]);
        assert!(["blksched", "mq-deadline", "hdd-7200", "beside-a-backup"].iter().all(|name| script.contains(name)));
    }
    let directory = std::env::temp_dir().join(format!("blksched-man-{}", std::process::id()));
    done(&["man", directory.to_str().expect("UTF-8")]);
    let pages: Vec<String> =
        std::fs::read_dir(&directory).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for page in ["blksched.1", "blksched-compare.1", "blksched-disk-measure.1", "blksched-trace-info.1"] {
        assert!(pages.iter().any(|name| name == page), "{page} is not among {pages:?}");
    }
    let measure = std::fs::read_to_string(directory.join("blksched-disk-measure.1")).unwrap();
    assert!(measure.contains("blksched disk measure"), "{measure}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn help_has_examples() {
    for arguments in [&["--help"][..], &["compare", "--help"]] {
        assert!(done(arguments).contains("Examples:"));
    }
}

/// A small machine, so that a short run shows everything that memory does.
const SMALL: [&str; 6] = ["--host", "memory=64m", "--seeds", "2", "--elevators", "noop,deadline"];

#[test]
fn buffered_writers_and_what_throttles_them_stand_in_tables_and_json() {
    let job = ["--name=w", "--rw=write", "--bs=64k", "--size=1g", "--name=r", "--rw=randread", "--size=64m"];
    let text = compare(&[&SMALL[..], &job].concat());
    assert!(text.contains("writers throttled") && text.contains("left dirty"), "{text}");
    let json = compare(&[&SMALL[..], &job, &["--json"]].concat());
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let memory = &value["schedulers"][0]["page_cache"];
    assert!(memory["writers_throttled"]["mean"].as_f64() > Some(0.0), "{memory}");
    assert!(memory["throttled_per_write"]["mean"].as_f64() > Some(0.0), "{memory}");
    let one = done(&[&["simulate"], &SHORT[..], &SMALL[..2], &job].concat());
    assert!(one.contains("dirty memory to fall below its limit") && one.contains("pages from the disk"), "{one}");
    assert!(one.contains("written back above the background limit, in bursts"), "{one}");
}

#[test]
fn what_memory_hides_from_every_scheduler_is_said() {
    let cached = compare(&[&SMALL[2..], &["--name=r", "--rw=randread", "--size=8m", "--pre_read=1"]].concat());
    assert!(cached.contains("all of what is read comes from memory"), "{cached}");
    let written = compare(&[&SMALL[2..], &["--name=w", "--rw=write", "--size=8m"]].concat());
    assert!(written.contains("no write waits for the disk"), "{written}");
    let direct = compare(&[&SMALL[2..], &["--name=w", "--rw=write", "--size=8m", "--direct=1"]].concat());
    assert!(!direct.contains("memory"), "{direct}");
}

#[test]
fn the_hosts_parameters_are_listed_and_wrong_ones_told() {
    let list = done(&["list", "host"]);
    for name in ["memory", "read_ahead_kb", "dirty_background_ratio", "dirty_expire_centisecs", "4g", "64m..=64g"] {
        assert!(list.contains(name), "{name}\n{list}");
    }
    let wrong = refused(&["compare", "--host", "dirty_ration=4"]);
    assert!(wrong.contains("did you mean `dirty_ratio`?"), "{wrong}");
    let large = refused(&["compare", "--host", "dirty_ratio=400"]);
    assert!(large.contains("expected 0%..=100%"), "{large}");
}

#[test]
fn job_files_see_the_hosts_memory() {
    let name = job_file("memory.fio", "[a]\nrw=write\nbs=1m\nsize=$mb_memory*1m\n");
    let text = compare(&["--host", "memory=64m", "--seeds", "1", "--elevators", "noop", &name]);
    assert!(text.contains("written to memory"), "{text}");
    let json = compare(&["--host", "memory=64m", "--seeds", "1", "--elevators", "noop", "--json", &name]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["schedulers"][0]["page_cache"]["written_to_memory"]["mean"], 64.0 * 1024.0 * 1024.0);
}

#[test]
fn six_figures_become_a_disk_and_a_disk_six_figures() {
    let six = "rbps=1000000000 rseqiops=100000 rrandiops=90000 wbps=400000000 wseqiops=50000 wrandiops=20000";
    let line = done(&["disk", "iocost", &format!("iocost:{six}"), "--device", "259:0"]);
    assert!(line.starts_with("259:0 ctrl=user model=linear rbps="), "{line}");
    for (ours, given) in line.split_whitespace().skip(3).zip(six.split(' ')) {
        let [(name, ours), (given_name, given)] = [ours, given].map(|word| word.split_once('=').unwrap());
        let [ours, given]: [f64; 2] = [ours, given].map(|number| number.parse().unwrap());
        assert!(name == given_name && (ours / given - 1.0).abs() < 0.1, "{line}");
    }
    let tuned = done(&["disk", "iocost", "sd-card", "--qos"]);
    let qos = tuned.lines().nth(1).expect("a second line");
    assert!(qos.starts_with("8:0 enable=1 ctrl=user rpct=95.00 rlat=") && qos.contains(" min="), "{tuned}");
    assert!(refused(&["disk", "iocost", "null", "--qos"]).contains("rates without an end"));
    assert!(done(&["list", "iocost"]).contains("Samsung SSD 990 EVO 1TB"));
    assert!(refused(&["list", "iocost:Samsung SSD 87"]).contains("did you mean `Samsung SSD 870`?"));
    assert!(refused(&["disk", "iocost", "null", "--device", "sda"]).contains("as in 8:0"));
}

#[test]
fn a_disk_is_measured_and_what_comes_out_is_a_disk() {
    let out = job_file("measured.toml", "");
    let output = started(&["disk", "measure", "model:ide-2002", "--quick", "--out", &out]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("nothing can be written"), "{said}");
    assert!(said.contains("the model's error, on average over what was held back"), "{said}");
    assert!(done(&["list", &out]).contains("measured: 7200rpm"));
    std::fs::remove_file(out).unwrap();
    assert!(refused(&["disk", "measure", "model:ide-2003"]).contains("did you mean `ide-2002`?"));
    assert!(refused(&["disk", "measure", "/nowhere/at-all"]).contains("/nowhere/at-all: "));
    assert!(refused(&["disk", "measure", "/"]).contains("expected a block device or a file"));
}

/// Every scheduler's jobs: rate and mean latency, with their names. One seed in ten has another of bfq's modes, so
/// twenty.
fn rates_and_means(load: &str, disk: &str) -> (serde_json::Value, Vec<(String, f64)>) {
    let text = done(&["compare", load, "--disk", disk, "--seeds", "20", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut numbers = Vec::new();
    for scheduler in value["schedulers"].as_array().unwrap() {
        for job in scheduler["jobs"].as_array().unwrap() {
            for side in ["read", "write"].into_iter().filter(|side| job[side].is_object()) {
                let figures = [("rate", &job[side]["bw"]["mean"]), ("mean", &job[side]["clat"]["mean"]["mean"])];
                for (figure, mean) in figures {
                    let name = format!("{} {} {side} {figure}", scheduler["name"], job["name"]);
                    numbers.extend(mean.as_f64().map(|mean| (name, mean)));
                }
            }
        }
    }
    (value["action"].clone(), numbers)
}

#[test]
fn what_is_measured_of_hdd_7200_gives_comparisons_the_same_verdict_and_numbers_within_10_percent() {
    let out = job_file("measured-7200.toml", "");
    done(&["disk", "measure", "model:hdd-7200-ideal", "--destroy", "--out", &out]);
    let same = |load| {
        let ((action, ours), (expected, theirs)) =
            (rates_and_means(load, &out), rates_and_means(load, "hdd-7200-ideal"));
        assert_eq!((&action["use"], &action["default"]), (&expected["use"], &expected["default"]));
        (ours, theirs)
    };
    same("beside-a-backup");
    // What bfq leaves a backup of the idle class depends on the seed more than on the disk (12.9 ±2.1 MiB/s).
    let (ours, theirs) = same("plain-backup");
    std::fs::remove_file(&out).unwrap();
    assert!(ours.len() >= 20 && ours.len() == theirs.len(), "{ours:?}");
    for ((name, ours), (other, theirs)) in ours.iter().zip(&theirs) {
        assert!(
            name == other && (ours / theirs - 1.0).abs() < 0.1,
            "{name}: {ours} on what was measured, not {theirs}"
        );
    }
}

#[test]
fn a_trace_becomes_a_disk_that_says_what_it_does_not_know() {
    let trace = |nth: u32| format!("{}/../../testdata/traces/mq-deadline.blktrace.{nth}", env!("CARGO_MANIFEST_DIR"));
    let output = blksched(&["disk", "fit", &trace(0), &trace(1)]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("the trace cannot tell the capacity"), "{said}");
    assert!(
        said.contains("held back: the trace's last third") && stdout(&output).contains("fitted to a trace"),
        "{said}"
    );
    let packed = trace(0).replace("blktrace.0", "blkparse.txt.gz");
    let from_text = blksched(&["disk", "fit", &packed]);
    assert!(from_text.status.success(), "{}", String::from_utf8_lossy(&from_text.stderr));
    let without_name = |output| stdout(output).lines().filter(|line| !line.contains("description")).collect::<String>();
    assert_eq!(without_name(&from_text), without_name(&output));
    assert!(refused(&["disk", "fit", &trace(0), "--device", "1:2"]).contains("no device 1:2: expected one of "));
    let jobs = job_file("no-trace.fio", "[a]\nrw=read\n");
    assert!(refused(&["disk", "fit", &jobs]).contains("expected blktrace's file"));
    std::fs::remove_file(jobs).unwrap();
}
