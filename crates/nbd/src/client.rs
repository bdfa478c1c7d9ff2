//! The client's side of the handshake: agree on the framing, select `base:allocation` if requested, open an export.

use crate::ALLOCATION;
use crate::export::{BlockSize, Export, Features};
use crate::request::Framing;
use crate::wire::{self, Cursor, Put, answer, hello, info, option};

/// The longest reply to an option that is read \[bytes\].
const LONGEST_REPLY: u32 = 64 << 10;

/// The options of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientWish {
    /// The export's name; empty for the only one.
    pub export: String,
    /// The highest framing that it understands; the server may agree to a lower one.
    pub framing: Framing,
    /// Whether it will ask for extents.
    pub allocation: bool,
    /// Whether TLS is required.
    pub security: Security,
}

/// Whether anything about an export is sent unencrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// It is.
    #[default]
    Plain,
    /// It is not: TLS comes first.
    Tls,
}

impl ClientWish {
    /// Opens `export`, with structured replies if the server supports them.
    pub fn open(export: &str) -> ClientWish {
        let export = export.to_owned();
        ClientWish { export, framing: Framing::Structured, allocation: false, security: Security::default() }
    }
}

/// The result of a piece of the handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// More bytes are needed; if some were used, the rest of the input may contain more messages.
    More,
    /// TLS begins as soon as everything is sent. Nothing may have been received after this answer, since it would not
    /// be protected by TLS. Then call [`ClientHandshake::secured`].
    Secure,
    /// The export is open.
    Enter(Opened),
}

/// An open export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The export, as the server describes it.
    pub export: Export,
    /// The format of requests and replies.
    pub framing: Framing,
    /// Whether extents may be asked for.
    pub allocation: bool,
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// This is not an NBD server of the fixed newstyle.
    #[error("the other side is no NBD server with the fixed newstyle handshake")]
    NoServer,
    /// The server refused.
    #[error("the server refuses `{export}`: {why}")]
    Refused {
        /// The export requested.
        export: String,
        /// The server's message, or the number of its answer.
        why: String,
    },
    /// The server does not support TLS.
    #[error("the server speaks no TLS")]
    NoTls,
    /// The server's answer makes no sense here.
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
    /// Waiting for the answer to this framing's request.
    Framing(Framing),
    Contexts,
    Going,
}

impl ClientHandshake {
    /// Creates a handshake at its beginning; the server sends first.
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

    /// Reads at most one message from the front of `input`; returns how many bytes were used, and the result.
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

    /// Continues within TLS, which has been established.
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
            // Any other information from the server is ignored.
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

/// One whole reply to an option, if it has been received completely.
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
