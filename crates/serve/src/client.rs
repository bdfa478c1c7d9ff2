//! A client's beginning: a connection to a server, and the handshake on it.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use blksched_nbd::{Address, ClientHandshake, ClientStep, Framing, Opened, Wish};
use rustix::net::{RecvFlags, SendFlags, recv, send};

/// Connect to a server; without TLS.
///
/// # Errors
/// If it is not there.
pub fn connect(address: &Address) -> io::Result<OwnedFd> {
    match address {
        Address::Unix { path } => UnixStream::connect(path).map(OwnedFd::from),
        Address::Tls { .. } => Err(io::Error::new(io::ErrorKind::Unsupported, "this client has no TLS")),
        Address::Tcp { host, port } => {
            let stream = TcpStream::connect((host.as_str(), *port))?;
            stream.set_nodelay(true)?;
            Ok(stream.into())
        }
    }
}

/// Open the export; answers also what the server has sent beyond the handshake.
///
/// # Errors
/// If the server refuses, or closes the connection.
pub fn shake_hands(socket: &OwnedFd, export: &str) -> Result<(Opened, Vec<u8>), String> {
    let mut handshake = ClientHandshake::new(Wish { framing: Framing::Structured, ..Wish::open(export) });
    let (mut input, mut output) = (Vec::new(), Vec::new());
    loop {
        let (used, step) = handshake.receive(&input, &mut output).map_err(|error| error.to_string())?;
        input.drain(..used);
        while !output.is_empty() {
            let count = send(socket.as_fd(), &output, SendFlags::NOSIGNAL).map_err(|error| error.to_string())?;
            output.drain(..count);
        }
        match step {
            ClientStep::Enter(opened) => return Ok((opened, input)),
            ClientStep::More if used > 0 => {}
            ClientStep::More => {
                let mut chunk = [0; 4096];
                match recv(socket.as_fd(), &mut chunk, RecvFlags::empty()) {
                    Ok((0, _)) => return Err("the server has closed the connection".to_owned()),
                    Ok((count, _)) => input.extend_from_slice(&chunk[..count]),
                    Err(error) => return Err(error.to_string()),
                }
            }
        }
    }
}
