//! The server's side of the handshake: fixed newstyle, from the greeting to the export that a client opens.
//!
//! **Rule** Options are handled one at a time, and each is answered before the next is read, so that the socket's owner
//! can wait until the answer is sent. An export that this client may not open is invisible to it. A message that cannot
//! be answered (a wrong magic number, unknown client flags, a refused `EXPORT_NAME`) closes the connection. If TLS is
//! required, nothing is answered before it. When TLS begins, everything agreed on before is discarded, and unencrypted
//! data received after the request for TLS closes the connection (it could come from anyone). **Bounds** An option of
//! more than [`LONGEST_OPTION`] bytes and a handshake of more than `MOST_OPTIONS` options close the connection too.

use crate::export::Export;
use crate::request::Framing;
use crate::wire::{self, Cursor, Put, answer, hello, info, option};
use crate::{ALLOCATION, ALLOCATION_ID};

/// The longest data of an option \[bytes\]: a name of 4096 bytes and room for requests of information or queries.
pub const LONGEST_OPTION: u32 = 16 << 10;
/// More options than any client needs.
const MOST_OPTIONS: u32 = 10_000;
/// The longest string \[bytes\], says the document.
const LONGEST_STRING: usize = 4096;
/// Magic number, option, length.
const HEADER: usize = 16;

/// The result of a piece of the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// More bytes are needed; if some were used, the rest of the input may contain more messages.
    More,
    /// The client has opened an export.
    Enter(Session),
    /// Send the pending output; then TLS begins, and the handshake continues inside it.
    Secure,
    /// Send the pending output, then close the connection.
    Close,
}

/// What client and server agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// The export's index among those offered.
    pub export: usize,
    /// The format of requests and replies.
    pub framing: Framing,
    /// Whether the client selected `base:allocation`.
    pub allocation: bool,
}

/// The state of TLS for a client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Nothing.
    #[default]
    Absent,
    /// The client may request it.
    Offered,
    /// The client must request it first.
    Required,
    /// It is established.
    Present,
}

/// A server's handshake with one client.
#[derive(Clone, Debug)]
pub struct Handshake {
    state: HandshakeState,
    framing: Framing,
    /// The export for which the client has selected `base:allocation`.
    allocation: Option<usize>,
    /// Whether the answer to `EXPORT_NAME` has its trailing zeroes.
    zeroes: Zeroes,
    options: u32,
    tls: Tls,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeState {
    /// The client's flags are expected.
    Greeted,
    /// An option is expected.
    Haggling,
    /// The handshake is over.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zeroes {
    Sent,
    LeftOut,
}

/// The exports, and which of them this client may open.
#[derive(Clone, Copy)]
struct Offer<'a> {
    exports: &'a [Export],
    may_open: &'a dyn Fn(usize) -> bool,
}

impl<'a> Offer<'a> {
    fn each(self) -> impl Iterator<Item = (usize, &'a Export)> {
        self.exports.iter().enumerate().filter(move |(at, _)| (self.may_open)(*at))
    }

    /// The index of an export by name; the empty name means the only export.
    fn find(self, name: &[u8]) -> Option<usize> {
        let named = self.each().find(|(_, export)| export.name.as_bytes() == name).map(|(at, _)| at);
        let mut all = self.each();
        let only = all.next().filter(|_| name.is_empty() && all.next().is_none()).map(|(at, _)| at);
        named.or(only)
    }
}

impl Default for Handshake {
    fn default() -> Handshake {
        Handshake::new()
    }
}

impl Handshake {
    /// Creates a handshake at its beginning.
    pub fn new() -> Handshake {
        Handshake::with(Tls::Absent)
    }

    /// The same, with this state of TLS.
    pub fn with(tls: Tls) -> Handshake {
        Handshake {
            state: HandshakeState::Greeted,
            framing: Framing::Simple,
            allocation: None,
            zeroes: Zeroes::Sent,
            options: 0,
            tls,
        }
    }

    /// Writes the server's greeting.
    pub fn greet(&self, out: &mut Vec<u8>) {
        out.put64(wire::INIT);
        out.put64(wire::OPTION);
        out.put16(hello::FIXED_NEWSTYLE | hello::NO_ZEROES);
    }

    /// Reads at most one message from the front of `input`; returns how many bytes were used, and the result. Of
    /// `exports` the client sees those that it `may_open`. Call again while bytes are used and the result is `More`.
    pub fn receive(
        &mut self,
        input: &[u8],
        exports: &[Export],
        may_open: &dyn Fn(usize) -> bool,
        out: &mut Vec<u8>,
    ) -> (usize, HandshakeStep) {
        match self.state {
            HandshakeState::Greeted => self.client_greets(input),
            HandshakeState::Haggling => self.one_option(input, Offer { exports, may_open }, out),
            HandshakeState::Over => (0, HandshakeStep::Close),
        }
    }

    fn client_greets(&mut self, input: &[u8]) -> (usize, HandshakeStep) {
        let Some(bits) = Cursor(input).u32() else { return (0, HandshakeStep::More) };
        let fixed = u32::from(hello::FIXED_NEWSTYLE);
        let no_zeroes = u32::from(hello::NO_ZEROES);
        if bits & !(fixed | no_zeroes) != 0 {
            return self.close(4);
        }
        self.zeroes = if bits & no_zeroes != 0 { Zeroes::LeftOut } else { Zeroes::Sent };
        self.state = HandshakeState::Haggling;
        (4, HandshakeStep::More)
    }

    fn one_option(&mut self, input: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) -> (usize, HandshakeStep) {
        let mut cursor = Cursor(input);
        if cursor.u64().is_some_and(|magic| magic != wire::OPTION) {
            return self.close(0);
        }
        let (Some(code), Some(length)) = (cursor.u32(), cursor.u32()) else { return (0, HandshakeStep::More) };
        if length > LONGEST_OPTION || self.options == MOST_OPTIONS {
            return self.close(HEADER);
        }
        let Some(data) = cursor.bytes(length as usize) else { return (0, HandshakeStep::More) };
        self.options += 1;
        let used = HEADER + length as usize;
        let step = self.answer(code, data, offer, out);
        if step == HandshakeStep::Secure {
            if input.len() > used {
                return self.close(used);
            }
            // Flags and the number of options are kept.
            (self.framing, self.allocation, self.tls) = (Framing::Simple, None, Tls::Present);
        } else if step != HandshakeStep::More {
            self.state = HandshakeState::Over;
        }
        (used, step)
    }

    fn close(&mut self, used: usize) -> (usize, HandshakeStep) {
        self.state = HandshakeState::Over;
        (used, HandshakeStep::Close)
    }

    fn answer(&mut self, code: u32, data: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) -> HandshakeStep {
        match code {
            option::STARTTLS => return self.secure(data, out),
            option::EXPORT_NAME if self.tls == Tls::Required => return HandshakeStep::Close,
            option::ABORT => {}
            _ if self.tls == Tls::Required => {
                put_refusal(out, code, answer::TLS_REQUIRED, "this server takes TLS only");
                return HandshakeStep::More;
            }
            _ => {}
        }
        match code {
            option::EXPORT_NAME => return self.open_unanswered(data, offer, out),
            option::ABORT => {
                put_answer(out, code, answer::ACK, &[]);
                return HandshakeStep::Close;
            }
            option::LIST => list(data, offer, out),
            option::INFO | option::GO => return self.open(code, data, offer, out),
            option::STRUCTURED_REPLY => self.frame(code, data, Framing::Structured, out),
            option::EXTENDED_HEADERS => self.frame(code, data, Framing::Extended, out),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => self.contexts(code, data, offer, out),
            _ => put_refusal(out, code, answer::UNSUPPORTED, "this server does not know that option"),
        }
        HandshakeStep::More
    }

    /// `STARTTLS`.
    fn secure(&mut self, data: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        let refusal = match self.tls {
            Tls::Absent => Some((answer::UNSUPPORTED, "this server has no TLS here")),
            Tls::Present => Some((answer::INVALID, "TLS is there already")),
            _ if !data.is_empty() => Some((answer::INVALID, "this option carries no data")),
            Tls::Offered | Tls::Required => None,
        };
        if let Some((kind, why)) = refusal {
            put_refusal(out, option::STARTTLS, kind, why);
            return HandshakeStep::More;
        }
        put_answer(out, option::STARTTLS, answer::ACK, &[]);
        HandshakeStep::Secure
    }

    /// `EXPORT_NAME`: its answer cannot be a refusal.
    fn open_unanswered(&mut self, name: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) -> HandshakeStep {
        let Some(at) = offer.find(name) else { return HandshakeStep::Close };
        let session = self.session(at);
        out.put64(offer.exports[at].size);
        out.put16(transmission_flags(&offer.exports[at], self.framing));
        if self.zeroes == Zeroes::Sent {
            out.extend_from_slice(&[0; 124]);
        }
        HandshakeStep::Enter(session)
    }

    /// `INFO` and `GO`.
    fn open(&mut self, code: u32, data: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) -> HandshakeStep {
        let Some((name, wanted)) = parse_open(data) else {
            put_refusal(out, code, answer::INVALID, "malformed: expected a name and a list of wishes");
            return HandshakeStep::More;
        };
        let Some(at) = offer.find(name) else {
            put_refusal(out, code, answer::UNKNOWN, "no such export");
            return HandshakeStep::More;
        };
        describe(code, &offer.exports[at], self.framing, &wanted, out);
        put_answer(out, code, answer::ACK, &[]);
        if code == option::GO { HandshakeStep::Enter(self.session(at)) } else { HandshakeStep::More }
    }

    fn session(&self, export: usize) -> Session {
        // Contexts selected for another export do not count.
        Session { export, framing: self.framing, allocation: self.allocation == Some(export) }
    }

    fn frame(&mut self, code: u32, data: &[u8], framing: Framing, out: &mut Vec<u8>) {
        if !data.is_empty() {
            put_refusal(out, code, answer::INVALID, "this option carries no data");
        } else if self.framing == Framing::Extended && framing == Framing::Structured {
            put_refusal(out, code, answer::EXT_HEADER_REQUIRED, "extended headers are agreed upon already");
        } else {
            self.framing = framing;
            put_answer(out, code, answer::ACK, &[]);
        }
    }

    fn contexts(&mut self, code: u32, data: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) {
        let set = code == option::SET_META_CONTEXT;
        if set {
            self.allocation = None;
        }
        if self.framing == Framing::Simple {
            put_refusal(out, code, answer::INVALID, "ask for structured replies or extended headers first");
            return;
        }
        let Some((name, queries)) = parse_contexts(data) else {
            put_refusal(out, code, answer::INVALID, "malformed: expected a name and a list of queries");
            return;
        };
        let Some(at) = offer.find(name) else {
            put_refusal(out, code, answer::UNKNOWN, "no such export");
            return;
        };
        let everything = !set && queries.is_empty();
        let whole_namespace = |query: &&[u8]| !set && *query == b"base:";
        let found = queries.iter().any(|query| *query == ALLOCATION.as_bytes() || whole_namespace(query));
        if found || everything {
            let mut body = Vec::new();
            body.put32(if set { ALLOCATION_ID } else { 0 });
            body.extend_from_slice(ALLOCATION.as_bytes());
            put_answer(out, code, answer::META_CONTEXT, &body);
            self.allocation = if set { Some(at) } else { self.allocation };
        }
        put_answer(out, code, answer::ACK, &[]);
    }
}

/// The transmission flags of an export; DF is possible only if replies have chunks.
fn transmission_flags(export: &Export, framing: Framing) -> u16 {
    let chunks = framing != Framing::Simple;
    let features = export.features;
    crate::Features { do_not_fragment: features.do_not_fragment && chunks, ..features }.bits()
}

fn list(data: &[u8], offer: Offer<'_>, out: &mut Vec<u8>) {
    if !data.is_empty() {
        put_refusal(out, option::LIST, answer::INVALID, "this option carries no data");
        return;
    }
    for (_, export) in offer.each() {
        let mut body = Vec::new();
        body.put_counted(export.name.as_bytes());
        body.extend_from_slice(export.description.as_bytes());
        put_answer(out, option::LIST, answer::SERVER, &body);
    }
    put_answer(out, option::LIST, answer::ACK, &[]);
}

/// Describes an export: the required information, the block sizes, and what the client requested.
fn describe(code: u32, export: &Export, framing: Framing, wanted: &[u16], out: &mut Vec<u8>) {
    let mut body = Vec::new();
    body.put16(info::EXPORT);
    body.put64(export.size);
    body.put16(transmission_flags(export, framing));
    put_answer(out, code, answer::INFO, &body);
    for (kind, text) in [(info::NAME, &export.name), (info::DESCRIPTION, &export.description)] {
        if wanted.contains(&kind) && !text.is_empty() {
            body.clear();
            body.put16(kind);
            body.extend_from_slice(text.as_bytes());
            put_answer(out, code, answer::INFO, &body);
        }
    }
    // Also if not requested: a client that sends requests of any size should learn which will be refused.
    body.clear();
    body.put16(info::BLOCK_SIZE);
    body.put32(export.block_size.minimum);
    body.put32(export.block_size.preferred);
    body.put32(export.block_size.maximum);
    put_answer(out, code, answer::INFO, &body);
}

fn parse_open(data: &[u8]) -> Option<(&[u8], Vec<u16>)> {
    let mut cursor = Cursor(data);
    let name = cursor.counted().filter(|name| name.len() <= LONGEST_STRING)?;
    let count = cursor.u16()?;
    let wanted = (0..count).map(|_| cursor.u16()).collect::<Option<Vec<u16>>>()?;
    cursor.is_empty().then_some((name, wanted))
}

fn parse_contexts(data: &[u8]) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut cursor = Cursor(data);
    let name = cursor.counted().filter(|name| name.len() <= LONGEST_STRING)?;
    let count = cursor.u32()?;
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(cursor.counted()?);
    }
    cursor.is_empty().then_some((name, queries))
}

fn put_answer(out: &mut Vec<u8>, code: u32, kind: u32, body: &[u8]) {
    out.put64(wire::OPTION_REPLY);
    out.put32(code);
    out.put32(kind);
    out.put_counted(body);
}

fn put_refusal(out: &mut Vec<u8>, code: u32, kind: u32, why: &str) {
    put_answer(out, code, kind, why.as_bytes());
}

#[cfg(test)]
mod tests;
