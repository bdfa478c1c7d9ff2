//! One recording in every form in which people have it: each gives the same I/Os, as far as it holds them.

use std::io::Read;

use blksched::Op;
use blksched_simulate::recording::{Info, Met, Reading, Stream, in_memory, recording};

/// One request of the recording.
struct Request {
    task: String,
    pid: u32,
    cpu: u32,
    rwbs: String,
    sector: u64,
    /// As it was issued.
    sectors: u32,
    /// As it was inserted.
    asked: u32,
    /// \[us\]
    inserted: u64,
    issued: u64,
    completed: u64,
}

/// A recording of a real kernel, as tracefs wrote it.
fn tracefs() -> String {
    let packed = include_bytes!("../../../../testdata/traces/tracefs-mq-deadline.txt.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    text
}

/// Its requests, by their completion.
fn requests(text: &str) -> Vec<Request> {
    use blksched_traces::tracefs::{TracefsEvent, read};
    let lines = read(text.as_bytes(), std::path::Path::new("t")).unwrap();
    let mut open: Vec<Request> = Vec::new();
    let mut done = Vec::new();
    for line in lines {
        // A bio that joins a request moves one of its ends.
        let end = |sector: u64, sectors: u32| sector + u64::from(sectors);
        let is_it = |request: &Request| {
            request.sector == line.sector || end(request.sector, request.sectors) == end(line.sector, line.sectors)
        };
        let at = open.iter().position(is_it);
        match (line.event, at) {
            (TracefsEvent::Insert, _) => open.push(Request {
                task: line.task,
                pid: line.pid,
                cpu: line.cpu,
                rwbs: line.rwbs,
                sector: line.sector,
                sectors: line.sectors,
                asked: line.sectors,
                inserted: line.time_us,
                issued: 0,
                completed: 0,
            }),
            (TracefsEvent::Issue, Some(at)) => {
                (open[at].issued, open[at].sector, open[at].sectors) = (line.time_us, line.sector, line.sectors);
            }
            (TracefsEvent::Complete, Some(at)) => {
                done.push(Request { completed: line.time_us, ..open.swap_remove(at) });
            }
            _ => {}
        }
    }
    done
}

/// The number of I/Os, their bytes, the mean latency \[ns\], the depth on average, and whether it ranks schedulers.
#[derive(Debug)]
struct Held {
    ios: u64,
    bytes: u64,
    latency: f64,
    depth: f64,
    ranks: bool,
    places: bool,
}

fn held(text: &str) -> Held {
    let mut stream = Stream::open(vec![in_memory("x", text.as_bytes().to_vec())], Reading::default())
        .unwrap_or_else(|error| panic!("{error}\n{}", &text[..text.len().min(300)]));
    let info = Info::of(&mut stream).unwrap();
    let latency = [Op::Read, Op::Write].into_iter().filter_map(|op| info.took(op)).next();
    Held {
        ios: info.ios(),
        bytes: info.asked[0].bytes + info.asked[1].bytes,
        latency: latency.map_or(0.0, |latency| latency.mean()),
        depth: info.depth().unwrap_or(0.0),
        ranks: info.fitness(stream.format(), stream.met()).ranks(),
        places: stream.format().has_place(),
    }
}

fn seconds(us: u64) -> String {
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

/// A table with a header, a row for each request.
fn table(header: &str, requests: &[Request], row: impl Fn(&Request) -> String) -> String {
    let rows: String = requests.iter().map(|request| row(request) + "\n").collect();
    format!("{header}\n{rows}")
}

/// What a form is, its text, the mean latency in it, and whether schedulers may be ranked by it.
type Form = (&'static str, String, f64, bool);

fn ms(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// A kernel's events, as four programs print them that begin with the issue; `latency` is the mean from there on.
fn forms_of_events(requests: &[Request], latency: f64) -> Vec<Form> {
    let events = |line: &dyn Fn(&Request, &str, u64) -> String| -> String {
        let mut lines: Vec<(u64, String)> = Vec::new();
        for request in requests {
            let of = |name: &str, at: u64| (at, line(request, name, at));
            lines.extend([of("block_rq_issue", request.issued), of("block_rq_complete", request.completed)]);
        }
        lines.sort();
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    };
    let fields = |request: &Request, name: &str| {
        let Request { rwbs, sector, sectors, task, .. } = request;
        match name {
            "block_rq_issue" => format!("8,0 {rwbs} {} () {sector} + {sectors} [{task}]", sectors * 512),
            _ => format!("8,0 {rwbs} () {sector} + {sectors} [0]"),
        }
    };
    let who = |request: &Request| format!("{}-{} [{:03}]", request.task, request.pid, request.cpu);
    let without_flags = events(&|request, name, at| {
        format!("{} {}: {name}:      {}", who(request), seconds(at), fields(request, name))
    });
    let tgid = events(&|request, name, at| {
        let Request { task, pid, cpu, .. } = request;
        format!("{task}-{pid} ({pid:>7}) [{cpu:03}] ..... {}: {name}: {}", seconds(at), fields(request, name))
    });
    let perf = events(&|request, name, at| {
        let Request { task, pid, cpu, .. } = request;
        format!("{task} {pid} [{cpu:03}] {}: block:{name}: {}", seconds(at), fields(request, name))
    });
    let blkparse = events(&|request, name, at| {
        let Request { rwbs, sector, sectors, task, pid, cpu, .. } = request;
        let (action, last) = if name == "block_rq_issue" { ("D", task.as_str()) } else { ("C", "0") };
        let (whole, rest) = (at / 1_000_000, at % 1_000_000 * 1000);
        format!("8,0 {cpu} 1 {whole}.{rest:09} {pid} {action} {rwbs} {sector} + {sectors} [{last}]")
    });
    vec![
        ("trace-cmd without flags", without_flags, latency, false),
        ("record-tgid", tgid, latency, false),
        ("perf script", perf, latency, false),
        ("blkparse without Q", blkparse, latency, false),
    ]
}

/// Tables of programs that watch I/Os end. `whole` and `at_disk` are the mean latencies from insertion and issue on.
fn forms_of_tables(requests: &[Request], first: u64, (whole, at_disk): (f64, f64)) -> Vec<Form> {
    let snoop = |request: &Request, time: String, queue: &str| {
        let Request { task, pid, rwbs, sector, sectors, issued, completed, .. } = request;
        let latency = ms(completed - issued);
        format!("{time} {task:<14} {pid:<7} sda {rwbs:<2} {sector:<10} {:<7}{queue} {latency}", sectors * 512)
    };
    let since = |at: u64| seconds(at - first);
    let queue = |request: &Request| format!(" {}", ms(request.issued - request.inserted));
    let clock = |at: u64| {
        let ms = (at - first) / 1000 + 86_399_000;
        let day = ms % 86_400_000;
        format!("{:02}:{:02}:{:02}.{:03}", day / 3_600_000, day / 60_000 % 60, day / 1000 % 60, day % 1000)
    };
    let time = "TIME(s)     COMM           PID     DISK      T  SECTOR     BYTES  LAT(ms)";
    let waits = "TIME(s)     COMM           PID     DISK      T  SECTOR     BYTES  QUE(ms) LAT(ms)";
    let with_queue = table(waits, requests, |r| snoop(r, since(r.completed), &queue(r)));
    let clocks = table(&time.replace("TIME(s)", "TIMESTAMP"), requests, |r| snoop(r, clock(r.completed), ""));
    let bt = table("Attaching 4 probes...\nTIME(ms)     DISK    COMM             PID    LAT(ms)", requests, |r| {
        format!("{} sda {} {} {}", (r.completed - first) / 1000, r.task, r.pid, (r.completed - r.issued) / 1000)
    });
    let iosnoop = table("STARTs ENDs COMM PID TYPE DEV BLOCK BYTES LATms", requests, |r| {
        let Request { task, pid, rwbs, sector, sectors, issued, completed, .. } = r;
        let (start, end, latency) = (seconds(*issued), seconds(*completed), ms(completed - issued));
        format!("{start} {end} {task} {pid} {rwbs} 8,0 {sector} {} {latency}", sectors * 512)
    });
    vec![
        ("biosnoop", table(time, requests, |r| snoop(r, since(r.completed), "")), at_disk, false),
        ("biosnoop -Q", with_queue.clone(), whole, true),
        ("libbpf biosnoop -Q", format!("\n{with_queue}"), whole, true),
        ("libbpf biosnoop -t", clocks, at_disk, false),
        ("biosnoop.bt", bt, at_disk, false),
        ("iosnoop -ts", iosnoop, at_disk, false),
    ]
}

#[test]
fn one_recording_in_fifteen_forms_is_the_same_ios() {
    let text = tracefs();
    let requests = requests(&text);
    let ios: u64 = 4320;
    // What joined a request later is in it when it is issued.
    let issued: u64 = requests.iter().map(|request| u64::from(request.sectors) * 512).sum();
    let inserted: u64 = requests.iter().map(|request| u64::from(request.asked) * 512).sum();
    assert_eq!(requests.len() as u64, ios);
    let mean = |took: &dyn Fn(&Request) -> u64| {
        requests.iter().map(|request| took(request) as f64 * 1e3).sum::<f64>() / ios as f64
    };
    let whole = mean(&|request| request.completed - request.inserted);
    let at_disk = mean(&|request| request.completed - request.issued);
    let first = requests.iter().map(|request| request.inserted).min().unwrap();
    let bare: String = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let of_tracefs: [Form; 5] = [
        ("tracefs", text.clone(), whole, true),
        ("quoted", text.lines().map(|line| format!("> {line}\n")).collect(), whole, true),
        ("CRLF", text.replace('\n', "\r\n"), whole, true),
        ("without header", bare.clone(), whole, true),
        ("trace-cmd", format!("cpus=2\n{bare}"), whole, true),
    ];
    let of_tables = forms_of_tables(&requests, first, (whole, at_disk));
    let forms: Vec<Form> = of_tracefs.into_iter().chain(forms_of_events(&requests, at_disk)).chain(of_tables).collect();
    assert_eq!(forms.len(), 15);
    let span = (requests.iter().map(|r| r.completed).max().unwrap() - first) as f64 * 1e3;
    for (name, text, latency, ranks) in forms {
        let held = held(&text);
        assert_eq!((held.ios, held.ranks), (ios, ranks), "{name}: {held:?}");
        let is_bt = name == "biosnoop.bt";
        let bytes = if text.contains("block_rq_insert") { inserted } else { issued };
        assert_eq!((held.places, held.bytes == bytes), (!is_bt, !is_bt), "{name}: {held:?} {bytes}");
        // biosnoop.bt rounds to milliseconds.
        let within = if is_bt { 0.6e6 } else { 0.01 * latency };
        assert!((held.latency - latency).abs() < within, "{name}: {} and {latency}", held.latency);
        // Little's law: a start that is off by the latency would show here.
        let depth = latency * ios as f64 / span;
        assert!((held.depth - depth).abs() < 0.05 * depth + 1.0, "{name}: {} and {depth}", held.depth);
        let replayed = recording(vec![in_memory("x", text.into_bytes())], &Reading::default());
        assert_eq!(replayed.is_ok(), !is_bt, "{name}");
    }
}

/// In every form the whole lines of a text that was cut off are read, wherever in a line it ends, and a note says it.
#[test]
fn a_text_that_was_cut_off_gives_its_whole_lines_and_a_note() {
    let text = tracefs();
    let requests: Vec<Request> = requests(&text).into_iter().take(40).collect();
    let first = requests.iter().map(|request| request.inserted).min().unwrap();
    let begin: String = text.lines().take(200).map(|line| format!("{line}\n")).collect();
    let bare: String = begin.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let more: [Form; 8] = [
        ("tracefs", begin.clone(), 0.0, true),
        ("quoted", begin.lines().map(|line| format!("> {line}\n")).collect(), 0.0, true),
        ("CRLF", begin.replace('\n', "\r\n"), 0.0, true),
        ("without header", bare.clone(), 0.0, true),
        ("trace-cmd", format!("cpus=2\n{bare}"), 0.0, true),
        ("k5cloud", "7,R,0,4096,1577808000000000\n".repeat(40), 0.0, true),
        ("iolog 2", format!("fio version 2 iolog\n/f add\n/f open\n{}", "/f read 8192 4096\n".repeat(40)), 0.0, true),
        (
            "iolog 3",
            format!("fio version 3 iolog\n0 /f add\n1 /f open\n{}", "900 /f read 8192 4096\n".repeat(40)),
            0.0,
            true,
        ),
    ];
    let others = forms_of_events(&requests, 0.0).into_iter().chain(forms_of_tables(&requests, first, (0.0, 0.0)));
    for (name, text, ..) in more.into_iter().chain(others) {
        let whole = text[..text.len() * 2 / 3].rfind('\n').unwrap() + 1;
        let line = text[whole..].find('\n').unwrap();
        let lines = held(&text[..whole]).ios;
        assert!(lines > 10, "{name}: {lines}");
        for end in (whole + 1..whole + line).filter(|end| text.is_char_boundary(*end)) {
            let cut = &text[..end];
            let (ios, met) = read(cut.as_bytes());
            assert_eq!((ios, met.damaged, met.cut_off), (lines, 0, 1), "{name}: {:?}", &cut[whole..]);
        }
        let replayed = recording(vec![in_memory("x", text.as_bytes()[..whole + 1].to_vec())], &Reading::default());
        let says = |notes: &[String]| notes.iter().any(|note| note.contains("cut off"));
        assert!(replayed.map_or(name == "biosnoop.bt", |recorded| says(&recorded.notes)), "{name}");
    }
}

/// The same for records and packed blocks.
#[test]
fn a_recording_that_was_cut_off_gives_its_whole_records_and_a_note() {
    let binary = include_bytes!("../../../../testdata/traces/mq-deadline.blktrace.0");
    let whole = binary.len() / 2;
    assert!((0..200).map(|more| read(&binary[..whole + more])).filter(|read| read.1.cut_off == 1).count() > 150);
    // A packed file that ends early.
    for file in [tracefs().as_bytes(), &binary[..]] {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, file).unwrap();
        let packed = packed.finish().unwrap();
        let (ios, met) = read(&packed[..packed.len() * 2 / 3]);
        assert!(ios > 100 && met.cut_off == 1, "{ios} {met:?}");
    }
    // Records of virtual SCSI disks are as long as one another.
    let records: Vec<u8> = (0..50).flat_map(vscsi_record).collect();
    for cut in [1, 16, 31] {
        let (ios, met) = read(&records[..40 * 32 + cut]);
        assert_eq!((ios, met.cut_off), (40, 1), "{cut}");
    }
    assert_eq!(read(&records[..40 * 32]), (40, Met::default()));
}

/// A read of 4 KiB, in the first version of VMware's format.
fn vscsi_record(nth: u64) -> Vec<u8> {
    let words = [nth as u32, 4096, 8];
    let mut record: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    record.extend([0x2a, 0, 0, 1]);
    record.extend((nth * 8).to_le_bytes());
    record.extend((1_000_000 + nth * 1000).to_le_bytes());
    record
}

/// The number of its I/Os, and what was met.
fn read(bytes: &[u8]) -> (u64, Met) {
    let mut stream = Stream::open(vec![in_memory("x", bytes.to_vec())], Reading::default()).unwrap();
    let info = Info::of(&mut stream).unwrap();
    (info.ios(), stream.met())
}

/// I/Os of which each takes half a millisecond, one a millisecond, of which the first twenty are asked for.
#[test]
fn what_is_read_up_to_a_moment_ends_when_that_is_complete() {
    use std::fmt::Write;
    let mut text = String::new();
    (0..200).for_each(|ms| writeln!(text, "{},host,0,Read,{},4096,5000", ms * 10_000, ms * 8192).unwrap());
    let mut reading = Reading::default();
    assert_eq!(reading.filter.take("to", "20ms"), Ok(true));
    let mut stream = Stream::open(vec![in_memory("x.csv", text.into_bytes())], reading).unwrap();
    let info = Info::of(&mut stream).unwrap();
    assert_eq!((info.ios(), info.never_completed()), (20, 0));
    assert_eq!(info.span(), blksched::Span::from_us(19_500));
}
