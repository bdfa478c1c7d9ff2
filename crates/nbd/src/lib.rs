//! The NBD protocol, both sides, without I/O: bytes go in, values and bytes come out, and the socket's owner moves
//! them. From the public protocol document (`doc/proto.md` of the NBD project) and its `EXTENDED_HEADERS` extension.
//!
//! A server passes the received bytes to a [`Handshake`] until it returns [`HandshakeStep::Enter`], and from then on to
//! a [`RequestReader`]; it answers with the functions of [`reply`]. A client uses [`ClientHandshake`],
//! [`Request::encode`] and [`ReplyReader`].
//!
//! ```
//! use blksched_nbd::{ClientHandshake, ClientStep, ClientWish, Export, Handshake, HandshakeStep};
//!
//! let exports = [Export::of("disk", 1 << 20)];
//! let (mut server, mut client) = (Handshake::new(), ClientHandshake::new(ClientWish::open("disk")));
//! let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
//! server.greet(&mut to_client);
//! let opened = loop {
//!     let (used, step) = client.receive(&to_client, &mut to_server).unwrap();
//!     to_client.drain(..used);
//!     if let ClientStep::Enter(opened) = step {
//!         break opened;
//!     }
//!     if to_server.is_empty() {
//!         continue;
//!     }
//!     let (used, step) = server.receive(&to_server, &exports, &|_| true, &mut to_client);
//!     to_server.drain(..used);
//!     assert_ne!(step, HandshakeStep::Close);
//! };
//! assert_eq!(opened.export.size, 1 << 20);
//! ```
//!
//! Input is never trusted: whatever arrives, in whatever pieces, the result is a value, a request to close, or a
//! request that must be refused. It is never a panic, and never takes more memory than one option ([`LONGEST_OPTION`]).

#![doc(test(attr(deny(warnings))))]

mod client;
mod errno;
mod export;
mod handshake;
pub mod reply;
mod reply_reader;
mod request;
mod uri;
mod wire;

pub use client::{ClientError, ClientHandshake, ClientStep, ClientWish, Opened, Security};
pub use errno::Errno;
pub use export::{BlockSize, Export, Features};
pub use handshake::{Handshake, HandshakeStep, LONGEST_OPTION, Session, Tls};
pub use reply_reader::{Chunk, ReplyError, ReplyReader};
pub use request::{
    Command, Extents, Framing, Holes, Limits, Parsed, Persist, Request, RequestReader, Speed, Violation,
};
pub use uri::{Address, Trust, Uri, UriError};

/// The longest data that a request or reply may carry \[bytes\]: 32 MiB, the document's recommendation.
pub const LARGEST_PAYLOAD: u32 = 32 << 20;
/// The metadata context that this crate supports: which parts are holes, and which read as zeroes.
pub const ALLOCATION: &str = "base:allocation";
/// The number under which a server of this crate sends [`ALLOCATION`].
pub const ALLOCATION_ID: u32 = 1;
