//! Properties: the same bytes have the same meaning wherever they are split; whatever the bytes, nothing panics or
//! hangs.

use blksched_nbd::reply::{self, Extent, ExtentState};
use blksched_nbd::{
    Chunk, ClientHandshake, ClientWish, Command, Errno, Export, Extents, Framing, Handshake, HandshakeStep, Holes,
    Limits, Parsed, Persist, ReplyReader, Request, RequestReader, Speed,
};
use proptest::prelude::*;

fn exports() -> Vec<Export> {
    vec![Export::of("a", 1 << 20), Export::of("b", 1 << 30)]
}

/// A server's answers to `input`, which arrives in pieces that end at `cuts`.
fn serve(input: &[u8], cuts: &[usize]) -> (Vec<u8>, HandshakeStep) {
    let (mut server, mut out, mut buffer) = (Handshake::new(), Vec::new(), Vec::new());
    let mut from = 0;
    for &cut in cuts.iter().chain([&input.len()]) {
        buffer.extend_from_slice(&input[from..cut]);
        from = cut;
        loop {
            let (used, step) = server.receive(&buffer, &exports(), &|_| true, &mut out);
            buffer.drain(..used);
            match step {
                HandshakeStep::More if used > 0 => {}
                HandshakeStep::More => break,
                over => return (out, over),
            }
        }
    }
    (out, HandshakeStep::More)
}

/// The complete messages of a well-behaved client.
fn talk(framing: Framing, allocation: bool) -> Vec<u8> {
    let (mut server, mut down, mut up, mut all) = (Handshake::new(), Vec::new(), Vec::new(), Vec::new());
    let mut client = ClientHandshake::new(ClientWish { framing, allocation, ..ClientWish::open("b") });
    server.greet(&mut down);
    loop {
        let (used, _) = client.receive(&down, &mut up).unwrap();
        down.drain(..used);
        all.extend_from_slice(&up);
        let (used, step) = server.receive(&up, &exports(), &|_| true, &mut down);
        assert_eq!(used, up.len().min(used));
        up.drain(..used);
        all.truncate(all.len() - up.len());
        if step != HandshakeStep::More {
            return all;
        }
    }
}

#[test]
fn a_handshake_cut_at_any_byte_is_the_same_handshake() {
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let bytes = talk(framing, true);
        let whole = serve(&bytes, &[]);
        assert!(matches!(whole.1, HandshakeStep::Enter(_)), "{whole:?}");
        for cut in 0..bytes.len() {
            assert_eq!(serve(&bytes, &[cut]), whole);
        }
        let every: Vec<usize> = (0..bytes.len()).collect();
        assert_eq!(serve(&bytes, &every), whole);
    }
}

#[test]
fn a_request_cut_at_any_byte_asks_for_more() {
    let limits = Limits::of(&exports()[0], true);
    for framing in [Framing::Simple, Framing::Extended] {
        let request = Request { cookie: 5, command: Command::Read, offset: 0, length: 4096 };
        let mut bytes = Vec::new();
        request.encode(framing, &mut bytes);
        let reader = RequestReader::new(framing, limits);
        for cut in 0..bytes.len() {
            assert_eq!(reader.read(&bytes[..cut]), Ok((0, Parsed::More)));
        }
        assert_eq!(reader.read(&bytes), Ok((bytes.len(), Parsed::Request(request, 0))));
    }
}

/// Every kind of reply, with the chunk that a client should read.
fn replies(framing: Framing) -> Vec<(Vec<u8>, Chunk)> {
    let read = Request { cookie: 5, command: Command::Read, offset: 8192, length: 4096 };
    let status = Request { command: Command::BlockStatus { extents: Extents::Many }, ..read };
    let stretches =
        vec![Extent { length: 512, state: ExtentState::Hole }, Extent { length: 3584, state: ExtentState::Data }];
    let bytes = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        write(&mut out);
        out
    };
    let chunks = framing != Framing::Simple;
    let offset = chunks.then_some(8192);
    let mut all = vec![
        (bytes(&|out| reply::error(framing, &read, Errno::NoSpc, out)), Chunk::Done(Some(Errno::NoSpc))),
        (bytes(&|out| reply::data(framing, &read, out)), Chunk::Data { offset, length: 4096, last: true }),
    ];
    if chunks {
        let told = Chunk::Extents { extents: stretches.clone(), last: true };
        all.push((bytes(&|out| reply::extents(framing, &status, &stretches, out)), told));
        let hole = Chunk::Hole { offset: 8192, length: 4096, last: true };
        all.push((bytes(&|out| reply::hole(framing, &read, out)), hole));
        all.push((bytes(&|out| reply::done(framing, &read, out)), Chunk::Done(None)));
    }
    all
}

#[test]
fn a_reply_cut_at_any_byte_asks_for_more_and_then_reads_back() {
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let reader = ReplyReader::new(framing);
        for (bytes, chunk) in replies(framing) {
            for cut in 0..bytes.len() {
                assert_eq!(reader.read(&bytes[..cut], |_| Some(4096)), Ok(None));
            }
            assert_eq!(reader.read(&bytes, |_| Some(4096)), Ok(Some((bytes.len(), 5, chunk))));
            assert!(reader.read(&bytes, |_| None).is_err(), "a reply to nothing is an error");
        }
    }
}

fn framing() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::Simple), Just(Framing::Structured), Just(Framing::Extended)]
}

fn command() -> impl Strategy<Value = Command> {
    let persist = || prop_oneof![Just(Persist::Lazily), Just(Persist::First)];
    prop_oneof![
        Just(Command::Read),
        persist().prop_map(Command::Write),
        Just(Command::Flush),
        persist().prop_map(Command::Trim),
        Just(Command::Cache),
        persist().prop_map(|persist| Command::WriteZeroes { persist, holes: Holes::Refused, speed: Speed::Any }),
        (100u16..).prop_map(Command::Unknown),
    ]
}

proptest! {
    /// Options with random numbers, lengths and data, after a proper greeting.
    #[test]
    fn a_hostile_handshake_ends_or_asks_for_more(options in prop::collection::vec(
        (0u32..14, prop::option::of(any::<u32>()), prop::collection::vec(any::<u8>(), 0..64)), 0..20
    )) {
        let mut input = 3u32.to_be_bytes().to_vec();
        for (code, length, data) in options {
            input.extend_from_slice(&0x4948_4156_454f_5054u64.to_be_bytes());
            input.extend_from_slice(&code.to_be_bytes());
            input.extend_from_slice(&length.unwrap_or(data.len() as u32).to_be_bytes());
            input.extend_from_slice(&data);
        }
        let (out, step) = serve(&input, &[]);
        if let HandshakeStep::Enter(session) = step {
            prop_assert!(session.export < 2);
        }
        prop_assert!(out.len() <= 1024 * (1 + input.len()));
    }

    #[test]
    fn random_bytes_never_panic_a_handshake(input: Vec<u8>, cut in any::<prop::sample::Index>()) {
        serve(&input, &[cut.index(input.len() + 1)]);
        let _ = ClientHandshake::new(ClientWish::open("a")).receive(&input, &mut Vec::new());
    }

    #[test]
    fn random_bytes_never_panic_a_reader(framing in framing(), mut input: Vec<u8>, magic: bool) {
        if magic && input.len() >= 4 {
            let numbers = [0x2560_9513u32, 0x21e4_1c71, 0x6744_6698, 0x668e_33ef, 0x6e8a_278c];
            let number = numbers[input.len() % 5];
            input[..4].copy_from_slice(&number.to_be_bytes());
        }
        let limits = Limits::of(&exports()[0], true);
        let _ = RequestReader::new(framing, limits).read(&input);
        let _ = ReplyReader::new(framing).read(&input, |cookie| (cookie % 2 == 0).then_some(cookie));
    }

    /// An accepted request lies within the export, whatever was received.
    #[test]
    fn a_request_that_is_taken_is_within_the_export(
        framing in framing(), command in command(), offset: u64, length: u64, small: bool
    ) {
        let (offset, length) = if small { (offset % (1 << 21), length % (1 << 21)) } else { (offset, length) };
        let mut bytes = Vec::new();
        Request { cookie: 1, command, offset, length }.encode(framing, &mut bytes);
        let limits = Limits::of(&exports()[0], false);
        if let Ok((_, Parsed::Request(request, payload))) = RequestReader::new(framing, limits).read(&bytes) {
            prop_assert!(request.offset + request.length <= 1 << 20);
            let writes = matches!(request.command, Command::Write(_));
            prop_assert_eq!(u64::from(payload), if writes { request.length } else { 0 });
        }
    }
}
