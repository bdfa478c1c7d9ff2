//! A client's beginning: a connection to a server, and the handshake on it, in plain or under TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use blksched_nbd::{Address, ClientHandshake, ClientStep, ClientWish, Framing, Opened, Security, Uri};

use crate::tls::client::{TlsSession, carry};

/// A connection with an open export.
pub struct Entered {
    /// Talks plain NBD from here on; for a server with TLS it is one end of a pair, whose other end a thread serves.
    pub socket: OwnedFd,
    /// The server's answer.
    pub opened: Opened,
    /// Bytes received beyond the handshake.
    pub ahead: Vec<u8>,
}

/// Connects and opens the export.
///
/// # Errors
/// If the server is not there, has the wrong certificate, or refuses.
pub fn enter(uri: &Uri) -> Result<Entered, String> {
    let said = |why: String| format!("{uri}: {why}");
    let broke = |error: io::Error| said(error.to_string());
    let wish = ClientWish { framing: Framing::Structured, ..ClientWish::open(&uri.export) };
    match &uri.address {
        Address::Unix { path } => {
            let mut stream = UnixStream::connect(path).map_err(broke)?;
            let (opened, ahead) = plain(wish, &mut stream).map_err(said)?;
            Ok(Entered { socket: stream.into(), opened, ahead })
        }
        Address::Tcp { host, port } => {
            let mut stream = tcp(host, *port).map_err(broke)?;
            let (opened, ahead) = plain(wish, &mut stream).map_err(said)?;
            Ok(Entered { socket: stream.into(), opened, ahead })
        }
        Address::Tls { host, port, trust } => {
            let session = TlsSession::new(host, trust).map_err(said)?;
            let stream = tcp(host, *port).map_err(broke)?;
            secure(wish, session, stream).map_err(said)
        }
    }
}

fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn plain(wish: ClientWish, stream: &mut (impl Read + Write)) -> Result<(Opened, Vec<u8>), String> {
    let (mut handshake, mut input) = (ClientHandshake::new(wish), Vec::new());
    match go_on(&mut handshake, &mut input, stream)? {
        Some(opened) => Ok((opened, input)),
        None => Err("TLS was not asked for".to_owned()),
    }
}

fn secure(wish: ClientWish, mut session: TlsSession, mut stream: TcpStream) -> Result<Entered, String> {
    let mut handshake = ClientHandshake::new(ClientWish { security: Security::Tls, ..wish });
    let mut input = Vec::new();
    if go_on(&mut handshake, &mut input, &mut stream)?.is_some() || !input.is_empty() {
        return Err("the server went on without TLS".to_owned());
    }
    let mut first = Vec::new();
    handshake.secured(&mut first);
    let mut within = session.over(&mut stream);
    within.write_all(&first).map_err(|error| error.to_string())?;
    let opened = go_on(&mut handshake, &mut input, &mut within)?.ok_or("TLS within TLS")?;
    let socket = carry(session, stream).map_err(|error| error.to_string())?;
    Ok(Entered { socket, opened, ahead: input })
}

/// Continues until the export is open, or until TLS begins (`None`).
fn go_on(
    handshake: &mut ClientHandshake,
    input: &mut Vec<u8>,
    stream: &mut (impl Read + Write),
) -> Result<Option<Opened>, String> {
    let mut output = Vec::new();
    loop {
        let (used, step) = handshake.receive(input, &mut output).map_err(|error| error.to_string())?;
        input.drain(..used);
        stream.write_all(&output).and_then(|()| stream.flush()).map_err(|error| error.to_string())?;
        output.clear();
        match step {
            ClientStep::Enter(opened) => return Ok(Some(opened)),
            ClientStep::Secure => return Ok(None),
            ClientStep::More if used > 0 => {}
            ClientStep::More => {
                let mut chunk = [0; 4096];
                match stream.read(&mut chunk) {
                    Ok(0) => return Err("the server closed the connection".to_owned()),
                    Ok(count) => input.extend_from_slice(&chunk[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error.to_string()),
                }
            }
        }
    }
}
