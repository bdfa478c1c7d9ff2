//! What a client may rely on.

use blksched_nbd::{ClientWish, Command, Errno, Framing, Holes, Persist, Speed};

use crate::kit::{ENGINES, Folder, Numbers, Server, captive, output, tried, works};

#[test]
fn what_is_written_reads_back_on_every_engine_store_and_framing() {
    let folder = Folder::new();
    let file = format!("f={}", folder.file("f.img", 8 << 20));
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        for (export, caching) in [(&file, None), (&file, Some("--page-cache")), (&"f=mem:8M".to_owned(), None)] {
            let mut arguments = vec!["--engine", engine, "--export", export];
            arguments.extend(caching);
            let server = Server::start(&arguments);
            for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
                let open = || server.open_as(ClientWish { framing, ..ClientWish::open("f") }).unwrap();
                random_writes(&mut [open(), open()], framing as u64 + 1);
            }
        }
    }
}

/// Random writes, zeroes and trims on two connections; what was acknowledged on one is read so on the other.
fn random_writes(clients: &mut [crate::kit::Client; 2], seed: u64) {
    let mut numbers = Numbers(seed);
    let mut model = vec![0u8; 8 << 20];
    clients[0].write(0, &model).unwrap();
    let zero = Command::WriteZeroes { persist: Persist::Lazily, holes: Holes::Allowed, speed: Speed::Any };
    for _ in 0..60 {
        let most = if numbers.below(8) == 0 { 3000 } else { 40 };
        let length = 512 * (1 + numbers.below(most));
        let offset = 512 * numbers.below(((8 << 20) - length) / 512 + 1);
        let range = offset as usize..(offset + length) as usize;
        let (mine, other) = (numbers.below(2) as usize, numbers.below(2) as usize);
        match numbers.below(8) {
            0 => {
                clients[mine].command(zero, offset, length).unwrap();
                model[range.clone()].fill(0);
            }
            1 => drop(clients[mine].flush().unwrap()),
            2 => {
                let offered = clients[mine].opened.export.features.cache;
                let expected = if offered { Ok(Vec::new()) } else { Err(Errno::Inval) };
                assert_eq!(clients[mine].command(Command::Cache, offset, length), expected);
            }
            _ => {
                let byte = numbers.below(255) as u8 + 1;
                clients[mine].write(offset, &vec![byte; length as usize]).unwrap();
                model[range.clone()].fill(byte);
            }
        }
        assert_eq!(clients[other].read(offset, length).unwrap(), model[range]);
    }
    let whole = clients[1].read(0, 8 << 20).unwrap();
    assert!(whole == model, "the whole disk differs");
}

#[test]
fn the_largest_request_passes_and_one_without_an_end_closes_the_connection() {
    let server = Server::start(&["--export", "m=mem:64M"]);
    let mut client = server.open("m");
    let data: Vec<u8> = (0..32 << 20).map(|at: u32| (at / 512) as u8).collect();
    client.write(0, &data).unwrap();
    assert!(client.read(0, 32 << 20).unwrap() == data);
    assert_eq!(client.read(0, 33 << 20), Err(Errno::Inval));
    assert_eq!(client.write(0, &vec![0; 33 << 20]), Err(Errno::Inval));
    client.send(Command::Write(Persist::Lazily), 0, 1 << 32, &[0; 512]).unwrap();
    assert!(client.receive().is_err());
    server.open("m").read(0, 512).unwrap();
}

#[test]
fn holes_are_told_and_zeroes_without_holes_keep_their_place() {
    let folder = Folder::new();
    let file = format!("f={}", folder.file("f.img", 1 << 20));
    for export in [file.as_str(), "f=mem:1M"] {
        let server = Server::start(&["--export", export]);
        let mut client = server.open("f");
        let extents = |client: &mut crate::kit::Client| {
            let all = Command::BlockStatus { extents: blksched_nbd::Extents::Many };
            let bytes = client.command(all, 0, 1 << 20).unwrap();
            let numbers: Vec<u64> = bytes.chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
            numbers
        };
        assert_eq!(extents(&mut client), [1 << 20, 3]);
        client.write(256 << 10, &vec![1; 128 << 10]).unwrap();
        assert_eq!(extents(&mut client), [256 << 10, 3, 128 << 10, 0, 640 << 10, 3]);
        client.command(Command::Trim(Persist::Lazily), 256 << 10, 128 << 10).unwrap();
        assert_eq!(extents(&mut client), [1 << 20, 3]);
    }
}

#[test]
fn a_disk_that_fails_now_and_then_fails_the_right_requests_and_no_others() {
    let folder = Folder::new();
    let model = folder.path("faulty.toml");
    std::fs::write(&model, faulty()).unwrap();
    let server = Server::start(&["--export", "m=mem:1M", "--model", model.to_str().unwrap(), "--elevator", "noop"]);
    let mut client = server.open("m");
    let outcomes: Vec<bool> = (0..12).map(|_| client.read(0, 512).is_ok()).collect();
    let failed = outcomes.iter().filter(|ok| !**ok).count();
    assert_eq!(failed, 1, "{outcomes:?}");
    assert!(!outcomes[4], "the fifth");
    assert!(server.ctl(&["get", "tenants/m/stat"]).unwrap().contains("errors=1"));
}

/// A fast disk whose fifth command fails once.
fn faulty() -> String {
    include_str!("faulty.toml").to_owned()
}

#[test]
fn a_stop_by_signal_serves_what_is_in_flight() {
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        // A disk so slow that requests are certainly in flight.
        let mut server = Server::process(&["--export", "m=mem:1M", "--model", "ide-2002", "--engine", engine]);
        let mut client = server.open("m");
        let sent: Vec<u64> = (0..8).map(|n| client.send(Command::Read, n * 65536, 4096, &[]).unwrap()).collect();
        // They have certainly been read once the first is answered.
        let mut told = vec![client.receive().unwrap().0];
        server.signal("TERM");
        while told.len() < sent.len() {
            let (cookie, answer) = client.receive().unwrap();
            assert_eq!(answer.unwrap(), vec![0; 4096]);
            told.push(cookie);
        }
        told.sort_unstable();
        assert_eq!(told, sent);
        assert!(client.receive().is_err(), "then the connection ends");
        assert!(server.child().end().success());
    }
}

#[test]
fn a_captive_command_is_not_left_behind() {
    let folder = crate::kit::Folder::new();
    let (begun, ended) = (folder.text("begun"), folder.text("ended"));
    let command = format!("trap 'echo >{ended}; exit' TERM; echo >{begun}; while :; do sleep 0.1; done");
    let appears = |path: &str| {
        let here = || std::path::Path::new(path).exists();
        (0..600).any(|_| {
            here() || {
                std::thread::sleep(std::time::Duration::from_millis(100));
                false
            }
        })
    };
    let mut server = Server::process(&["--export", "m=mem:1M", "--run", &command]);
    assert!(appears(&begun));
    server.signal("TERM");
    assert!(server.child().end().success());
    assert!(appears(&ended), "it runs on");
}

#[test]
fn several_exports_of_one_file_do_not_touch_each_other() {
    let folder = Folder::new();
    let file = folder.file("f.img", 4 << 20);
    let (a, b) = (format!("a={file},size=1M"), format!("b={file},offset=1M,size=1M,ro"));
    let server = Server::start(&["--export", &a, "--export", &b]);
    let (mut a, mut b) = (server.open("a"), server.open("b"));
    a.write(0, &vec![7; 1 << 20]).unwrap();
    assert_eq!(b.read(0, 1 << 20).unwrap(), vec![0; 1 << 20]);
    assert_eq!(b.write(0, &[1; 512]), Err(Errno::Perm));
    assert_eq!(a.write(1 << 20, &[1; 512]), Err(Errno::NoSpc));
    assert_eq!(a.read((1 << 20) - 512, 1024), Err(Errno::Inval));
}

#[test]
fn a_client_that_is_not_on_the_list_finds_nothing() {
    let me = output(std::process::Command::new("id").arg("-u")).unwrap().stdout;
    let me = String::from_utf8(me).unwrap();
    let mine = format!("{}:mine", me.trim());
    let exports = ["--export", "mine=mem:1M", "--export", "other=mem:1M"];
    let server = Server::start(&[&exports[..], &["--allow", &mine, "--allow", "4000000000:other"]].concat());
    server.open("mine").read(0, 512).unwrap();
    let refused = server.open_as(ClientWish::open("other")).err().unwrap();
    assert!(refused.contains("no such export"), "{refused}");
    assert_eq!(
        server.open_as(ClientWish::open("")).unwrap().opened.export.size,
        1 << 20,
        "the only one that it may open"
    );
}

#[test]
fn a_file_that_was_truncated_while_served_errors_and_does_not_grow_again() {
    let folder = Folder::new();
    let file = folder.file("f.img", 1 << 20);
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        std::fs::File::options().write(true).open(&file).unwrap().set_len(1 << 20).unwrap();
        let server = Server::start(&["--export", &format!("f={file}"), "--engine", engine]);
        let mut client = server.open("f");
        client.write(512 << 10, &[1; 4096]).unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_len(256 << 10).unwrap();
        // The server checks every four milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert_eq!(client.write(512 << 10, &[2; 4096]), Err(Errno::Io), "{engine}");
        assert_eq!(client.read(512 << 10, 4096), Err(Errno::Io), "{engine}");
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 256 << 10, "{engine}: it has grown");
        assert_eq!(client.read(0, 4096).unwrap(), [0; 4096]);
    }
}

#[test]
fn what_one_server_writes_nobody_else_opens() {
    let folder = Folder::new();
    let file = folder.file("f.img", 1 << 20);
    std::fs::hard_link(&file, folder.path("link")).unwrap();
    let export = |name: &str, path: &str, rest: &str| format!("{name}={path}{rest}");
    let (writer, linked) = (export("f", &file, ""), folder.text("link"));
    let server = Server::start(&["--export", &writer]);
    for (rest, works) in [("", false), (",ro", false), (",lock=off", true)] {
        let (ok, text) = tried(&["--export", &export("g", &linked, rest)]);
        assert_eq!(ok, works, "{rest}: {text}");
        assert!(works || text.contains("lock=off"), "{text}");
    }
    let mut qemu = std::process::Command::new("qemu-io");
    if let Ok(qemu) = output(qemu.args(["-f", "raw", "-c", "write 0 512", &file])) {
        assert!(!qemu.status.success(), "QEMU looks at the same locks");
    }
    drop(server);
    let reader = Server::start(&["--export", &export("f", &file, ",ro")]);
    assert!(tried(&["--export", &export("g", &linked, ",ro")]).0, "who only reads shares");
    assert!(!tried(&["--export", &export("g", &linked, "")]).0);
    drop(reader);
    for (second, rest) in [(&file, ",disk=x"), (&linked, "")] {
        let (ok, text) = tried(&["--export", &writer, "--export", &export("g", second, rest)]);
        assert!(!ok && text.contains("export f"), "twice in one server: {text}");
    }
}

#[test]
fn a_terminal_that_closes_does_not_end_the_server_and_what_cannot_be_served_is_said() {
    let mut server = Server::process(&["--export", "m=mem:1M"]);
    let mut client = server.open("m");
    server.signal("HUP");
    client.write(0, &[1; 512]).unwrap();
    server.signal("HUP");
    assert_eq!(client.read(0, 512).unwrap(), [1; 512]);
    for (export, why) in [("m=mem:100T", "256G"), ("z=/dev/zero", "neither a file nor a block device")] {
        let (ok, text) = tried(&["--export", export]);
        assert!(!ok && text.contains(why), "{text}");
    }
    let (ok, text) = tried(&["--export", "m=mem:1M", "--max-sectors-kb", "640", "--memory", "40M"]);
    assert!(!ok && text.contains("--memory 52M"), "{text}");
}

#[test]
fn the_log_says_who_came_and_who_left_with_the_time_as_text_or_json() {
    for format in ["text", "json"] {
        let arguments = ["--export", "m=mem:1M", "--log", "info", "--log-format", format];
        let (ok, text) = captive(&arguments, "nbdinfo --size $uri");
        if !ok && text.contains("not found") {
            println!("skipped: there is no nbdinfo here");
            return;
        }
        let line = text.lines().find(|line| line.contains("connected")).unwrap_or_else(|| panic!("{text}"));
        assert!(line.contains("unix:pid=") && line.contains("client") && line.contains("20"), "{line}");
        assert!(text.contains("left") && !text.contains("WARN"), "a normal goodbye is no warning: {text}");
        if format == "json" {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(value["client"] == 1 && value["level"] == "INFO" && value["timestamp"].is_string(), "{line}");
        }
    }
    let (ok, text) = tried(&["--export", "m=mem:1M", "--log", "loud"]);
    assert!(!ok && text.contains("--log loud: expected error, warn"), "{text}");
}
