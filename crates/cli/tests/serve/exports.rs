//! Exports that come, go and change their size while others are served.

use std::sync::atomic::{AtomicBool, Ordering};

use blksched_nbd::{ClientWish, Command as Asked};

use crate::kit::{ENGINES, Folder, Server, SetWhenDropped, works};

#[test]
fn exports_come_go_and_grow_while_others_are_served() {
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let folder = Folder::new();
        let (a, b) = (folder.file("a", 8 << 20), folder.file("b", 4 << 20));
        let server = Server::start(&["--engine", engine, "--export", &format!("a={a}")]);
        let over = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Another client's work goes on meanwhile, and nothing of it fails.
            let mut other = server.open("a");
            let _at_the_latest = SetWhenDropped(over);
            let work = scope.spawn(move || {
                let mut count = 0u64;
                while !over.load(Ordering::Relaxed) || count < 100 {
                    let offset = (count % 1000) * 4096;
                    other.write(offset, &[count as u8; 4096]).unwrap();
                    count += 1;
                }
            });
            come_and_go(&server, &folder, &b);
            over.store(true, Ordering::Relaxed);
            work.join().unwrap();
        });
    }
}

fn come_and_go(server: &Server, folder: &Folder, b: &str) {
    let export = |words: &[&str]| server.ctl(&[&["export"], words].concat());
    assert!(server.open_as(ClientWish::open("b")).is_err());
    let said = export(&["add", &format!("b={b},weight=300")]).unwrap();
    assert!(said.starts_with("4194304 bytes on disk"), "{said}");
    assert!(export(&["add", &format!("b={b}")]).unwrap_err().contains("already"));
    assert!(export(&["add", &format!("c={b},disk=other")]).unwrap_err().contains("has this file"));
    assert!(export(&["add", "c=/nowhere"]).unwrap_err().contains("/nowhere"));
    assert!(export(&["add", "c=mem:1M,wieght=3"]).unwrap_err().contains("did you mean `weight`?"));
    assert_eq!(server.ctl(&["get", "tenants/b/weight"]).as_deref(), Ok("300"));

    let mut client = server.open("b");
    client.write(0, &[7; 4096]).unwrap();
    assert!(client.read(4 << 20, 4096).is_err(), "there is nothing yet");
    assert!(export(&["resize", "b", "1G"]).unwrap_err().contains("it has 4194304 bytes"));
    std::fs::OpenOptions::new().write(true).open(b).unwrap().set_len(16 << 20).unwrap();
    let said = export(&["resize", "b"]).unwrap();
    assert!(said.starts_with("4194304 bytes become 16777216"), "{said}");
    assert_eq!(client.read(15 << 20, 4096).unwrap(), vec![0; 4096], "who is in reads the longer end");
    assert_eq!(server.open("b").opened.export.size, 16 << 20);

    assert!(export(&["remove", "b"]).unwrap_err().contains("clients: they must go first"));
    assert_eq!(export(&["remove", "b", "--hard"]).as_deref(), Ok(""));
    let asked = client.send(Asked::Read, 0, 4096, &[]);
    assert!(asked.is_err() || client.receive().is_err(), "it is cut off");
    assert!(server.open_as(ClientWish::open("b")).is_err());
    assert!(export(&["remove", "b"]).unwrap_err().contains("no export is called `b`"));
    assert!(server.ctl(&["get", "tenants/b/weight"]).is_err());
    assert_eq!(&std::fs::read(folder.path("b")).unwrap()[..4096], &[7; 4096], "what was written is there");

    // Its file is free: another export takes it, under the same name.
    export(&["add", &format!("b={b}")]).unwrap();
    assert_eq!(server.open("b").read(0, 4096).unwrap(), vec![7; 4096]);
    export(&["add", "m=mem:1M,disk=third"]).unwrap();
    let disks = server.ctl(&["list", "third/"]).unwrap();
    assert!(disks.contains("third/tenants/m/weight\t100"), "{disks}");
    export(&["resize", "m", "2M"]).unwrap();
    assert_eq!(server.open("m").opened.export.size, 2 << 20);
    export(&["resize", "m", "1M"]).unwrap();
    assert_eq!(server.open("m").opened.export.size, 1 << 20);
}

#[test]
fn an_export_added_on_a_new_disk_is_refused_what_a_start_would_be() {
    let server = Server::start(&[
        "--shares",
        "scheduler",
        "--depth",
        "auto",
        "--disk",
        "first,depth=4",
        "--export",
        "a=mem:1M,disk=first",
    ]);
    let said = server.ctl(&["export", "add", "b=mem:1M,disk=second"]).unwrap_err();
    assert!(said.contains("disk second") && said.contains("depth"), "{said}");
    server.ctl(&["export", "add", "c=mem:1M,disk=first"]).unwrap();
}
