//! The client's side of the handshake: agree on the framing, select `base:allocation` if requested, open an export.

use crate::ALLOCATION;
use crate::export::{BlockSize, Export, Features};
use crate::request::Framing;
use crate::wire::{self, Cursor, Put, answer, hello, info, option};

/// The longest reply to an option that is read \[bytes\].
const LONGEST_REPLY: u32 = 64 << 10;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientWish {
    /// The export's name; empty for the only one.
    pub export: String,
    /// The most that it understands; a server that offers less gets less.
    pub framing: Framing,
    /// Will it ask for extents?
    pub allocation: bool,
    /// Is anything said in plain?
    pub security: Security,
}

/// Is anything of an export said in plain?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// Yes.
    #[default]
    Plain,
    /// No: TLS comes first.
    Tls,
}

impl ClientWish {
    /// Open `export`, with structured replies if the server has them.
    pub fn open(export: &str) -> ClientWish {
        let export = export.to_owned();
        ClientWish { export, framing: Framing::Structured, allocation: false, security: Security::default() }
    }
}

/// What a piece of the handshake came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// More bytes are needed; if some were used there may be more to read in what is there.
    More,
    /// TLS begins, as soon as everything is sent; what has come behind this answer was never said under it and must be
    /// nothing. Then [`ClientHandshake::secured`].
    Secure,
    /// The export is open.
    Enter(Opened),
}

/// An open export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// What the server said of it.
    pub export: Export,
    /// How requests and replies look.
    pub framing: Framing,
    /// May extents be asked for?
    pub allocation: bool,
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// This is no NBD server of the fixed newstyle.
    #[error("the other side is no NBD server with the fixed newstyle handshake")]
    NoServer,
    /// It refused.
    #[error("the server refuses `{export}`: {why}")]
    Refused {
        /// What was asked for.
        export: String,
        /// Its words, or the number of its answer.
        why: String,
    },
    /// It speaks no TLS.
    #[error("the server speaks no TLS")]
    NoTls,
    /// It answered something that makes no sense here.
    #[error("the server's answer makes no sense: {0}")]
    Malformed(&'static str),
}

/// A client's handshake.
#[derive(Clone, Debug)]
pub struct ClientHandshake {
    wish: ClientWish,
    state: ClientState,
    opened: Opened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClientState {
    Greeting,
    Securing,
    /// Waiting for the answer to this framing.
    Framing(Framing),
    Contexts,
    Going,
}

impl ClientHandshake {
    /// A handshake at its beginning; the server speaks first.
    pub fn new(wish: ClientWish) -> ClientHandshake {
        let export = Export {
            name: wish.export.clone(),
            description: String::new(),
            size: 0,
            features: Features::from_bits(0),
            block_size: BlockSize::default(),
        };
        let opened = Opened { export, framing: Framing::Simple, allocation: false };
        ClientHandshake { wish, state: ClientState::Greeting, opened }
    }

    /// Read at most one message off the front of `input`: answers how many bytes that was, and what it came to.
    ///
    /// # Errors
    /// If the export cannot be opened.
    pub fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, ClientStep), ClientError> {
        if self.state == ClientState::Greeting {
            return self.greeted(input, out);
        }
        let mut cursor = Cursor(input);
        let Some(OptionReply { code, kind, body }) = reply(&mut cursor)? else { return Ok((0, ClientStep::More)) };
        if code != self.asked() {
            return Err(ClientError::Malformed("a reply to another option"));
        }
        Ok((input.len() - cursor.0.len(), self.answered(kind, body, out)?))
    }

    fn greeted(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, ClientStep), ClientError> {
        let mut cursor = Cursor(input);
        let mut hello = || Some((cursor.u64()?, cursor.u64()?, cursor.u16()?));
        let Some((init, newstyle, bits)) = hello() else { return Ok((0, ClientStep::More)) };
        if init != wire::INIT || newstyle != wire::OPTION || bits & hello::FIXED_NEWSTYLE == 0 {
            return Err(ClientError::NoServer);
        }
        out.put32(u32::from(bits & (hello::FIXED_NEWSTYLE | hello::NO_ZEROES)));
        match self.wish.security {
            Security::Plain => self.ask_framing(self.wish.framing, out),
            Security::Tls => {
                self.state = ClientState::Securing;
                put_option(out, option::STARTTLS, &[]);
            }
        }
        Ok((18, ClientStep::More))
    }

    /// TLS is there: go on within it.
    pub fn secured(&mut self, out: &mut Vec<u8>) {
        self.ask_framing(self.wish.framing, out);
    }

    /// The option whose answer is awaited.
    fn asked(&self) -> u32 {
        match self.state {
            ClientState::Securing => option::STARTTLS,
            ClientState::Framing(Framing::Extended) => option::EXTENDED_HEADERS,
            ClientState::Framing(_) => option::STRUCTURED_REPLY,
            ClientState::Contexts => option::SET_META_CONTEXT,
            ClientState::Greeting | ClientState::Going => option::GO,
        }
    }

    fn answered(&mut self, kind: u32, body: &[u8], out: &mut Vec<u8>) -> Result<ClientStep, ClientError> {
        let refused = kind & answer::ERROR != 0;
        match (self.state, kind) {
            (ClientState::Securing, answer::ACK) => return Ok(ClientStep::Secure),
            (ClientState::Securing, _) if refused => return Err(ClientError::NoTls),
            (ClientState::Framing(framing), answer::ACK) => {
                self.opened.framing = framing;
                self.ask_contexts(out);
            }
            (ClientState::Framing(Framing::Extended), _) if refused => self.ask_framing(Framing::Structured, out),
            (ClientState::Framing(_), _) if refused => self.ask_contexts(out),
            (ClientState::Contexts, answer::META_CONTEXT) => {
                self.opened.allocation |= body.get(4..) == Some(ALLOCATION.as_bytes());
            }
            (ClientState::Contexts, answer::ACK) => self.ask_go(out),
            (ClientState::Contexts, _) if refused => self.ask_go(out),
            (ClientState::Going, answer::INFO) => self.informed(body)?,
            (ClientState::Going, answer::ACK) => return Ok(ClientStep::Enter(self.opened.clone())),
            (ClientState::Going, _) if refused => return Err(self.refusal(kind, body)),
            _ => return Err(ClientError::Malformed("an unexpected kind of answer")),
        }
        Ok(ClientStep::More)
    }

    fn ask_framing(&mut self, framing: Framing, out: &mut Vec<u8>) {
        if framing == Framing::Simple {
            self.ask_contexts(out);
            return;
        }
        self.state = ClientState::Framing(framing);
        put_option(out, self.asked(), &[]);
    }

    fn ask_contexts(&mut self, out: &mut Vec<u8>) {
        if !self.wish.allocation || self.opened.framing == Framing::Simple {
            self.ask_go(out);
            return;
        }
        self.state = ClientState::Contexts;
        let mut body = Vec::new();
        body.put_counted(self.wish.export.as_bytes());
        body.put32(1);
        body.put_counted(ALLOCATION.as_bytes());
        put_option(out, option::SET_META_CONTEXT, &body);
    }

    fn ask_go(&mut self, out: &mut Vec<u8>) {
        self.state = ClientState::Going;
        let mut body = Vec::new();
        body.put_counted(self.wish.export.as_bytes());
        body.put16(1);
        body.put16(info::BLOCK_SIZE);
        put_option(out, option::GO, &body);
    }

    fn informed(&mut self, body: &[u8]) -> Result<(), ClientError> {
        let short = ClientError::Malformed("too short a piece of information");
        let mut cursor = Cursor(body);
        let export = &mut self.opened.export;
        match cursor.u16().ok_or(short.clone())? {
            info::EXPORT => {
                export.size = cursor.u64().ok_or(short.clone())?;
                export.features = Features::from_bits(cursor.u16().ok_or(short)?);
            }
            info::BLOCK_SIZE => {
                let mut next = || cursor.u32().ok_or(short.clone());
                export.block_size = BlockSize { minimum: next()?, preferred: next()?, maximum: next()? };
            }
            info::DESCRIPTION => export.description = String::from_utf8_lossy(cursor.0).into_owned(),
            // Whatever else a server may say is its own affair.
            _ => {}
        }
        Ok(())
    }

    fn refusal(&self, kind: u32, words: &[u8]) -> ClientError {
        let said = String::from_utf8_lossy(words).into_owned();
        let why = match (words.is_empty(), kind) {
            (false, _) => said,
            (true, answer::UNKNOWN) => "no such export".to_owned(),
            (true, _) => format!("error {}", kind & !answer::ERROR),
        };
        ClientError::Refused { export: self.wish.export.clone(), why }
    }
}

/// A reply to an option.
struct OptionReply<'a> {
    code: u32,
    kind: u32,
    body: &'a [u8],
}

/// One whole reply to an option, if it is all there.
fn reply<'a>(cursor: &mut Cursor<'a>) -> Result<Option<OptionReply<'a>>, ClientError> {
    let Some(magic) = cursor.u64() else { return Ok(None) };
    if magic != wire::OPTION_REPLY {
        return Err(ClientError::Malformed("no reply begins like this"));
    }
    let mut header = || Some((cursor.u32()?, cursor.u32()?, cursor.u32()?));
    let Some((code, kind, length)) = header() else { return Ok(None) };
    if length > LONGEST_REPLY {
        return Err(ClientError::Malformed("too long a reply"));
    }
    Ok(cursor.bytes(length as usize).map(|body| OptionReply { code, kind, body }))
}

fn put_option(out: &mut Vec<u8>, code: u32, body: &[u8]) {
    out.put64(wire::OPTION);
    out.put32(code);
    out.put_counted(body);
}
