//! `compare --host cpus=1..64`: curves over the number of processors.

fn printed(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = crate::printed::printed(arguments, 120);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const LOAD: [&str; 12] = [
    "compare",
    "--name=a",
    "--rw=randread",
    "--filename=/dev/nvme0n1",
    "--size=64m",
    "--numjobs=8",
    "--iodepth=32",
    "--ioengine=libaio",
    "--direct=1",
    "--time_based",
    "--runtime=60",
    "--disk=null",
];
const RUNS: [&str; 8] = ["--elevators", "none,mq-deadline", "--seeds", "1", "--time", "3ms", "--starts", "as-said"];

fn curves(more: &[&str]) -> (Option<i32>, String, String) {
    printed(&[&LOAD[..], &RUNS, more].concat())
}

#[test]
fn none_grows_with_the_processors_and_one_lock_ends_mq_deadline() {
    let (code, rows, said) = curves(&["--host", "cpus=1/2/8,cpu=icpe-10core", "--csv"]);
    assert_eq!(code, Some(0), "{said}");
    let iops = |cpus: &str, scheduler: &str| -> f64 {
        let of = |line: &&str| line.split(',').collect::<Vec<_>>()[2..4] == [cpus, scheduler];
        rows.lines().find(of).unwrap_or_else(|| panic!("{rows}")).split(',').nth(5).unwrap().parse().unwrap()
    };
    assert_eq!(rows.lines().count(), 1 + 3 * 2, "{rows}");
    assert!(iops("8", "none") > 6.0 * iops("1", "none"), "{rows}");
    assert!(iops("8", "mq-deadline") < 2.5 * iops("1", "mq-deadline"), "{rows}");
    let (code, text, _) = curves(&["--host", "cpus=1..8,cpu=icpe-10core"]);
    assert_eq!(code, Some(0));
    for words in ["I/Os a second", "processor seconds per 100,000 I/Os", "busiest lock is held", "still growing"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let lock = text.lines().find(|line| line.starts_with("mq-deadline: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(lock.contains("at most a twentieth more"), "{text}");
}

#[test]
fn curves_are_drawn() {
    let folder = blksched_testkit::Folder::new();
    let page = folder.join("curves.html").display().to_string();
    let (code, text, said) = curves(&["--host", "cpus=1/2,cpu=icpe-10core", "--report", &page]);
    assert_eq!(code, Some(0), "{said}");
    assert!(text.contains("I/Os a second"), "{text}");
    let html = std::fs::read_to_string(&page).expect("it was written");
    assert_eq!(html.matches("<svg").count(), 3, "{html}");
    assert!(html.contains("mq-deadline") && html.contains("processors"));
}

#[test]
fn one_host_is_asked_for_where_curves_have_no_place() {
    for (more, words) in [
        (&["--until-sure"][..], "--until-sure: --host with several numbers"),
        (&["--details"], "--details: --host with several numbers"),
        (&["--wide"], "--wide: --host with several numbers"),
        (&["--parquet", "curves.parquet"], "--parquet: --host with several numbers"),
    ] {
        let (code, _, said) = curves(&[&["--host", "cpus=1..4"][..], more].concat());
        assert!(code == Some(2) && said.contains(words), "{said}");
    }
    let (code, _, said) = curves(&["--host", "cpus=1..4,cpu=off"]);
    assert!(code == Some(2) && said.contains("cpu=off has none"), "{said}");
    let simulate = ["simulate", "dd:size=1m", "--disk", "null", "--host", "cpus=1..4"];
    let (code, _, said) = printed(&simulate);
    assert!(code == Some(2) && said.contains("expected one number of processors"), "{said}");
    let (code, _, said) = printed(&[&simulate[..5], &["cpus=0..4"]].concat());
    assert!(code == Some(2) && said.contains("`0` is not a value of cpus: expected a number from 1 to 64"), "{said}");
}

#[test]
fn calls_and_queues_that_change_nothing_are_told() {
    let run = |disk: &str, host: &str, option: &str| {
        let simulate = [&["simulate"], &LOAD[1..7], &["--ioengine=io_uring", "--direct=1", option, "--disk", disk]];
        let (code, text, said) = printed(&[simulate.concat(), vec!["--time", "1ms", "--host", host]].concat());
        assert_eq!(code, Some(0), "{said}");
        (text + &said).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let uring = run("null", "cpus=2", "--fixedbufs=1");
    assert!(uring.contains("cpu=epyc-6.18, which does not know what io_uring's calls take"), "{uring}");
    let tags = run("nvme-ssd-ideal", "nr_hw_queues=2,host_tagset=1", "--hipri=0");
    assert!(tags.contains("host_tagset changes nothing") && !tags.contains("registerfiles"), "{tags}");
    let thread = run("null", "cpus=2", "--sqthread_poll_cpu=1");
    assert!(thread.contains("sqthread_poll_cpu=1 changes nothing without sqthread_poll"), "{thread}");
    assert!(!thread.contains("registerfiles"), "{thread}");
    let passed = run("null", "cpus=2,rq_affinity=2,irq_cpu=1", "--hipri=0");
    assert!(passed.contains("epyc-6.18 does not know what passing an interrupt on takes"), "{passed}");
}
