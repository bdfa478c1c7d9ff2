//! The handshake, message by message.

use super::*;
use crate::{BlockSize, ClientHandshake, ClientStep, ClientWish};

fn exports() -> Vec<Export> {
    let secret = Export { description: "not for everybody".to_owned(), ..Export::of("secret", 4096) };
    vec![Export::of("a", 1 << 20), Export { block_size: BlockSize { minimum: 512, ..BlockSize::default() }, ..secret }]
}

fn option(code: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put64(wire::OPTION);
    bytes.put32(code);
    bytes.put_counted(body);
    bytes
}

/// A client that has sent its flags.
fn haggling() -> Handshake {
    let mut handshake = Handshake::new();
    assert_eq!(handshake.receive(&3u32.to_be_bytes(), &[], &|_| true, &mut Vec::new()), (4, HandshakeStep::More));
    handshake
}

/// The kinds of the answers in `out`.
fn kinds(out: &[u8]) -> Vec<u32> {
    let mut cursor = Cursor(out);
    let mut kinds = Vec::new();
    while !cursor.is_empty() {
        assert_eq!(cursor.u64(), Some(wire::OPTION_REPLY));
        cursor.u32().unwrap();
        kinds.push(cursor.u32().unwrap());
        cursor.counted().unwrap();
    }
    kinds
}

fn ask(
    handshake: &mut Handshake,
    code: u32,
    body: &[u8],
    may_open: &dyn Fn(usize) -> bool,
) -> (Vec<u32>, HandshakeStep) {
    let mut out = Vec::new();
    let bytes = option(code, body);
    let (used, step) = handshake.receive(&bytes, &exports(), may_open, &mut out);
    assert!(used == bytes.len() || step == HandshakeStep::Close);
    (kinds(&out), step)
}

fn go(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_counted(name.as_bytes());
    body.put16(0);
    body
}

#[test]
fn a_client_opens_what_it_wished_for_in_every_framing() {
    for framing in [Framing::Simple, Framing::Structured, Framing::Extended] {
        let wish = ClientWish { framing, allocation: true, ..ClientWish::open("secret") };
        let (mut server, mut client) = (Handshake::new(), ClientHandshake::new(wish));
        let (mut down, mut up) = (Vec::new(), Vec::new());
        server.greet(&mut down);
        let (opened, session) = loop {
            let (used, step) = client.receive(&down, &mut up).unwrap();
            down.drain(..used);
            let (used, served) = server.receive(&up, &exports(), &|_| true, &mut down);
            up.drain(..used);
            if let HandshakeStep::Enter(session) = served {
                let mut last = step;
                while last == ClientStep::More {
                    let (used, step) = client.receive(&down, &mut up).unwrap();
                    down.drain(..used);
                    last = step;
                }
                let ClientStep::Enter(opened) = last else { panic!("not open") };
                break (opened, session);
            }
        };
        let chunks = framing != Framing::Simple;
        assert_eq!((opened.framing, opened.allocation, opened.export.size), (framing, chunks, 4096));
        assert_eq!(session, Session { export: 1, framing, allocation: chunks });
        assert_eq!(opened.export.block_size.minimum, 512);
        assert_eq!(opened.export.features.do_not_fragment, chunks);
    }
}

#[test]
fn an_export_that_a_client_may_not_open_does_not_exist_for_it() {
    let only_a = |at: usize| at == 0;
    let (kinds, step) = ask(&mut haggling(), option::GO, &go("secret"), &only_a);
    assert_eq!((kinds, step), (vec![answer::UNKNOWN], HandshakeStep::More));
    assert_eq!(ask(&mut haggling(), option::LIST, &[], &only_a).0, [answer::SERVER, answer::ACK]);
    assert_eq!(ask(&mut haggling(), option::LIST, &[], &|_| true).0, [answer::SERVER, answer::SERVER, answer::ACK]);
    assert_eq!(ask(&mut haggling(), option::EXPORT_NAME, b"secret", &only_a).1, HandshakeStep::Close);
}

#[test]
fn the_empty_name_is_the_only_export_there_is() {
    assert!(
        matches!(ask(&mut haggling(), option::GO, &go(""), &|at| at == 1).1, HandshakeStep::Enter(s) if s.export == 1)
    );
    assert_eq!(ask(&mut haggling(), option::GO, &go(""), &|_| true).0, [answer::UNKNOWN]);
}

#[test]
fn a_context_counts_for_the_export_that_it_was_selected_for() {
    let mut handshake = haggling();
    let mut body = Vec::new();
    body.put_counted(b"a");
    body.put32(1);
    body.put_counted(b"base:allocation");
    assert_eq!(ask(&mut handshake, option::SET_META_CONTEXT, &body, &|_| true).0, [answer::INVALID]);
    ask(&mut handshake, option::STRUCTURED_REPLY, &[], &|_| true);
    let selected = ask(&mut handshake, option::SET_META_CONTEXT, &body, &|_| true).0;
    assert_eq!(selected, [answer::META_CONTEXT, answer::ACK]);
    let HandshakeStep::Enter(other) = ask(&mut handshake.clone(), option::GO, &go("secret"), &|_| true).1 else {
        panic!()
    };
    let HandshakeStep::Enter(same) = ask(&mut handshake, option::GO, &go("a"), &|_| true).1 else { panic!() };
    assert_eq!((other.allocation, same.allocation), (false, true));
}

#[test]
fn extended_headers_are_not_given_up_for_structured_replies() {
    let mut handshake = haggling();
    assert_eq!(ask(&mut handshake, option::EXTENDED_HEADERS, &[], &|_| true).0, [answer::ACK]);
    assert_eq!(ask(&mut handshake, option::STRUCTURED_REPLY, &[], &|_| true).0, [answer::EXT_HEADER_REQUIRED]);
}

#[test]
fn what_is_not_understood_is_refused_and_the_talk_goes_on() {
    let mut handshake = haggling();
    assert_eq!(ask(&mut handshake, 5, &[], &|_| true), (vec![answer::UNSUPPORTED], HandshakeStep::More));
    assert_eq!(ask(&mut handshake, option::LIST, b"x", &|_| true), (vec![answer::INVALID], HandshakeStep::More));
    assert_eq!(ask(&mut handshake, option::GO, b"\0\0\0\xff", &|_| true), (vec![answer::INVALID], HandshakeStep::More));
    assert_eq!(ask(&mut handshake, option::ABORT, &[], &|_| true), (vec![answer::ACK], HandshakeStep::Close));
}

#[test]
fn what_cannot_be_answered_closes_the_connection() {
    let unknown = Handshake::new().receive(&[0xff; 4], &[], &|_| true, &mut Vec::new());
    assert_eq!(unknown.1, HandshakeStep::Close);
    assert_eq!(haggling().receive(&[0; 16], &[], &|_| true, &mut Vec::new()).1, HandshakeStep::Close);
    let mut endless = Vec::new();
    endless.put64(wire::OPTION);
    endless.put32(option::GO);
    endless.put32(u32::MAX);
    assert_eq!(haggling().receive(&endless, &[], &|_| true, &mut Vec::new()).1, HandshakeStep::Close);
}

#[test]
fn zeroes_behind_an_unanswerable_open_are_left_out_on_request() {
    for (bits, length) in [(1u32, 134), (3, 10)] {
        let mut handshake = Handshake::new();
        handshake.receive(&bits.to_be_bytes(), &[], &|_| true, &mut Vec::new());
        let mut out = Vec::new();
        let (_, step) = handshake.receive(&option(option::EXPORT_NAME, b"a"), &exports(), &|_| true, &mut out);
        assert!(matches!(step, HandshakeStep::Enter(_)));
        assert_eq!(out.len(), length);
    }
}

#[test]
fn where_tls_is_required_nothing_is_answered_before_it_and_nothing_agreed_on_before_it_counts() {
    let required = |tls: Tls| {
        let mut handshake = Handshake::with(tls);
        handshake.receive(&3u32.to_be_bytes(), &[], &|_| true, &mut Vec::new());
        handshake
    };
    let mut handshake = required(Tls::Required);
    for code in [option::LIST, option::STRUCTURED_REPLY, option::EXTENDED_HEADERS, 99] {
        assert_eq!(ask(&mut handshake, code, &[], &|_| true), (vec![answer::TLS_REQUIRED], HandshakeStep::More));
    }
    assert_eq!(ask(&mut handshake, option::GO, &go("a"), &|_| true).0, [answer::TLS_REQUIRED]);
    assert_eq!(ask(&mut handshake, option::STARTTLS, &[1], &|_| true).0, [answer::INVALID]);
    assert_eq!(ask(&mut handshake, option::STARTTLS, &[], &|_| true), (vec![answer::ACK], HandshakeStep::Secure));
    assert_eq!(ask(&mut handshake, option::STARTTLS, &[], &|_| true).0, [answer::INVALID], "it is there already");
    let (_, step) = ask(&mut handshake, option::GO, &go("a"), &|_| true);
    assert!(matches!(step, HandshakeStep::Enter(Session { framing: Framing::Simple, .. })), "{step:?}");
    assert_eq!(ask(&mut required(Tls::Required), option::EXPORT_NAME, b"a", &|_| true).1, HandshakeStep::Close);

    let mut handshake = required(Tls::Offered);
    assert_eq!(ask(&mut handshake, option::EXTENDED_HEADERS, &[], &|_| true).0, [answer::ACK]);
    assert_eq!(ask(&mut handshake, option::STARTTLS, &[], &|_| true).1, HandshakeStep::Secure);
    let (_, step) = ask(&mut handshake, option::GO, &go("a"), &|_| true);
    assert!(
        matches!(step, HandshakeStep::Enter(Session { framing: Framing::Simple, .. })),
        "it is forgotten: {step:?}"
    );
    assert_eq!(ask(&mut required(Tls::Absent), option::STARTTLS, &[], &|_| true).0, [answer::UNSUPPORTED]);
}

#[test]
fn what_is_sent_in_plain_behind_the_wish_for_tls_closes_the_connection() {
    let mut handshake = Handshake::with(Tls::Offered);
    handshake.receive(&3u32.to_be_bytes(), &[], &|_| true, &mut Vec::new());
    let injected = [option(option::STARTTLS, &[]), option(option::LIST, &[])].concat();
    assert_eq!(handshake.receive(&injected, &exports(), &|_| true, &mut Vec::new()).1, HandshakeStep::Close);
}
