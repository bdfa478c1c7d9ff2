//! Any byte can be read and written, of exports of any size, whatever block their disk has.

use blksched_nbd::{ClientWish, Command as Asked, Errno, Framing, Holes, Persist, Speed};

use crate::kit::{ENGINES, Folder, Numbers, Server, works};

const ZEROES: Asked = Asked::WriteZeroes { persist: Persist::Lazily, holes: Holes::Allowed, speed: Speed::Any };

/// Random requests at random bytes of an export of this size, checked against a model.
fn hammer(server: &Server, export: &str, size: u64) {
    let mut client = server.open(export);
    assert_eq!((client.opened.export.size, client.opened.export.block_size.minimum), (size, 1), "{export}");
    let mut model = vec![0u8; size as usize];
    let mut numbers = Numbers(size | 1);
    for round in 0..400u64 {
        let longest = if numbers.below(4) == 0 { 20_000 } else { 700 };
        let offset = numbers.below(size);
        let length = 1 + numbers.below(longest.min(size - offset));
        let place = offset as usize..(offset + length) as usize;
        match numbers.below(8) {
            0 => {
                client.command(ZEROES, offset, length).unwrap();
                model[place].fill(0);
            }
            // A hint, which may do nothing at the edges.
            1 => {
                client.command(Asked::Trim(Persist::Lazily), offset, length).unwrap();
                let now = client.read(offset, length).unwrap();
                for (byte, now) in model[place].iter_mut().zip(now) {
                    assert!(now == *byte || now == 0, "{export}, round {round}");
                    *byte = now;
                }
            }
            2..5 => {
                let data: Vec<u8> = (0..length).map(|nth| (nth * 3 + round) as u8).collect();
                client.write(offset, &data).unwrap();
                model[place].copy_from_slice(&data);
            }
            5 => {
                let told = client.command(Asked::BlockStatus { extents: blksched_nbd::Extents::Many }, offset, length);
                let told: Vec<u64> =
                    told.unwrap().as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
                let all: u64 = told.iter().step_by(2).sum();
                assert!(all > 0 && all <= length, "{export}, round {round}: {told:?} of {length}");
            }
            _ => assert!(client.read(offset, length).unwrap() == model[place], "{export}, round {round}"),
        }
    }
    assert!(client.read(0, size).unwrap() == model, "{export}");
    client.flush().unwrap();
    assert_eq!(client.read(size - 1, 2), Err(Errno::Inval));
    assert_eq!(client.write(size - 1, &[1, 2]), Err(Errno::NoSpc));
}

#[test]
fn any_byte_of_an_export_of_any_size_is_read_and_written() {
    for engine in ENGINES.into_iter().filter(|engine| works(engine)) {
        let folder = Folder::new();
        let sizes = [("even", 200_704), ("odd", 100_001), ("small", 1000), ("one", 1)];
        let mut arguments: Vec<String> = sizes
            .iter()
            .flat_map(|(name, size)| ["--export".to_owned(), format!("{name}={}", folder.file(name, *size))])
            .collect();
        arguments.extend(["--export", "mem=mem:70001", "--engine", engine].map(str::to_owned));
        let server = Server::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        sizes.into_iter().chain([("mem", 70_001)]).for_each(|(name, size)| hammer(&server, name, size));
        for (name, size) in sizes {
            assert_eq!(std::fs::metadata(folder.path(name)).unwrap().len(), size, "it does not grow");
        }
    }
}

#[test]
fn writes_to_parts_of_one_block_lose_nothing_of_each_other() {
    let folder = Folder::new();
    let server = Server::start(&["--export", &format!("a={}", folder.file("a", 1 << 20))]);
    std::thread::scope(|scope| {
        for part in 0..8u64 {
            let server = &server;
            scope.spawn(move || {
                let mut client = server.open("a");
                for round in 0..100u8 {
                    // Parts of one sector: four clients own an eighth each, and others write a range across it.
                    client.write(512 * 7 + 64 * part, &[round; 64]).unwrap();
                    client.write(512 * (20 + 3 * part) + 100, &[round; 700]).unwrap();
                    if part == 7 {
                        client.write(512 * 8, &[round; 4096]).unwrap();
                    }
                }
            });
        }
    });
    let read = server.open("a").read(0, 1 << 20).unwrap();
    assert!(read[512 * 7..512 * 16].iter().all(|&byte| byte == 99));
    for part in 0..8 {
        let at = 512 * (20 + 3 * part) + 100;
        assert!(read[at..at + 700].iter().all(|&byte| byte == 99) && read[at - 1] == 0 && read[at + 700] == 0);
    }
}

#[test]
fn what_is_zero_is_read_as_a_hole_and_a_request_that_is_too_long_costs_nobody_the_connection() {
    let server = Server::start(&["--export", "a=mem:128M"]);
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let mut client = server.open_as(ClientWish { framing, ..ClientWish::open("a") }).unwrap();
        assert_eq!(client.read(4096, 1 << 20), Ok(vec![0; 1 << 20]));
        assert_eq!(client.holes, u64::from(framing != Framing::Simple));
        client.write(5000, &[1]).unwrap();
        assert_eq!(client.read(4096, 4096).unwrap()[904], 1);
        assert_eq!(client.holes, u64::from(framing != Framing::Simple), "there are data in it");
        client.command(ZEROES, 5000, 1).unwrap();
        // One sector more than allowed.
        let long = (32 << 20) + 512;
        assert_eq!(client.read(0, long), Err(Errno::Inval));
        assert_eq!(client.write(0, &vec![7; long as usize]), Err(Errno::Inval));
        assert_eq!(client.write(0, &vec![7; 100 << 20]), Err(Errno::Inval));
        assert_eq!(client.read(0, 4096), Ok(vec![0; 4096]), "and the connection lives");
        assert_eq!(client.write(1, &vec![0; (32 << 20) - 2]), Ok(Vec::new()), "the longest that is odd");
    }
}

#[test]
fn libnbd_and_qemu_write_single_bytes() {
    if !crate::interop::python_has_libnbd() {
        return;
    }
    let folder = Folder::new();
    let script = "import nbd, sys\n\
        h = nbd.NBD()\n\
        h.connect_uri(sys.argv[1])\n\
        size = h.get_size()\n\
        assert size == 10001, size\n\
        for at in range(0, size - 7, 97):\n    h.pwrite(bytes([at % 251]) * 7, at)\n\
        for at in range(0, size - 7, 97):\n    assert h.pread(7, at) == bytes([at % 251]) * 7, at\n\
        h.flush()\n\
        h.shutdown()\n\
        print('all is well')\n";
    std::fs::write(folder.path("bytes.py"), script).unwrap();
    let export = format!("a={}", folder.file("a", 10_001));
    let command = format!("{} {} $uri", crate::interop::PYTHON, folder.text("bytes.py"));
    let (good, text) = crate::kit::visited(&["--export", &export], &["a"], &command);
    assert!(good && text.contains("all is well"), "{text}");
}
