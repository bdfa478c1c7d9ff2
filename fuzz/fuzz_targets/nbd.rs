//! Any bytes, in any two pieces, are a handshake that ends or asks for more, and requests that lie within the export or
//! are refused. Never a panic, and the same in one piece.

#![no_main]

use blksched_nbd::{Command, Export, Framing, Handshake, Limits, Parsed, ReplyReader, RequestReader, HandshakeStep};
use libfuzzer_sys::fuzz_target;

fn handshake(pieces: &[&[u8]], exports: &[Export]) -> (Vec<u8>, HandshakeStep) {
    let (mut server, mut out, mut buffer) = (Handshake::new(), Vec::new(), Vec::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let (used, step) = server.receive(&buffer, exports, &|at| at == 0, &mut out);
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

fuzz_target!(|input: (&[u8], u16)| {
    let (bytes, cut) = input;
    let exports = [Export::of("a", 1 << 20), Export::of("secret", 1 << 20)];
    let (head, tail) = bytes.split_at(usize::from(cut) % (bytes.len() + 1));
    let whole = handshake(&[bytes], &exports);
    assert_eq!(handshake(&[head, tail], &exports), whole);
    if let HandshakeStep::Enter(session) = whole.1 {
        assert_eq!(session.export, 0, "an export that may not be opened");
    }
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let limits = Limits::of(&exports[0], true);
        if let Ok((_, Parsed::Request(request, _))) = RequestReader::new(framing, limits).read(bytes) {
            // The other fields of a disconnect are ignored.
            assert!(request.command == Command::Disconnect || request.offset + request.length <= 1 << 20);
        }
        let _ = ReplyReader::new(framing).read(bytes, |cookie| (cookie % 2 == 0).then_some(4096));
    }
});
