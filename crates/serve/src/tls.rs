//! TLS (rustls): the identities of server and clients, and how clients' bytes get to a shard.
//!
//! A shard speaks plain NBD over a socket. For a client with TLS that socket is one end of a pair, and a separate
//! thread carries bytes between the other end and the client. That costs two copies and a thread, which is small
//! compared with encryption.
//!
//! **Rule** The data that the thread has taken from one side and not yet given to the other is bounded: it reads no
//! more from a side until the last data has been passed on. If the client closes its sending side, so does the pair; if
//! the shard has gone, the client gets TLS's close notification and the socket is closed.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::ops::DerefMut;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ConnectionCommon, RootCertStore, ServerConnection};

use crate::ServeError;
use crate::config::TlsFiles;

pub mod client;

/// How much is transferred at once \[bytes\].
const CHUNK: usize = 128 << 10;

/// How many connections are being carried.
static CARRIED: AtomicUsize = AtomicUsize::new(0);

/// How many connections this process carries.
pub fn carried() -> usize {
    CARRIED.load(Ordering::Relaxed)
}

/// One of them, as long as it exists.
struct Counted;

impl Counted {
    fn one() -> Counted {
        CARRIED.fetch_add(1, Ordering::Relaxed);
        Counted
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CARRIED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The common configuration of every client's TLS.
#[derive(Clone)]
pub struct Tls(Arc<rustls::ServerConfig>);

impl Tls {
    /// Loads it from files.
    ///
    /// # Errors
    /// If a file is invalid.
    pub fn open(files: &TlsFiles) -> Result<Tls, ServeError> {
        let said = |path: &Path, why: &dyn std::fmt::Display| ServeError::Config(format!("{}: {why}", path.display()));
        let chain = certificates(&files.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&files.key);
        let key = key.map_err(|why| said(&files.key, &format!("expected a private key as PEM: {why}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions =
            rustls::ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = versions.map_err(|why| ServeError::Config(format!("TLS: {why}")))?;
        let builder = match &files.clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for one in certificates(path)? {
                    roots.add(one).map_err(|why| said(path, &why))?;
                }
                let mut verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                if let Some(path) = &files.revoked {
                    verifier = verifier.with_crls(revoked(path)?).only_check_end_entity_revocation();
                }
                builder.with_client_cert_verifier(verifier.build().map_err(|why| said(path, &why))?)
            }
        };
        let config = builder.with_single_cert(chain, key).map_err(|why| said(&files.certificate, &why))?;
        Ok(Tls(Arc::new(config)))
    }

    /// A session for one client.
    ///
    /// # Errors
    /// If there can be none.
    pub fn session(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(self.0.clone())
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ServeError> {
    let said = |why: String| ServeError::Config(format!("{}: {why}", path.display()));
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|why| said(format!("expected certificates as PEM: {why}")))?;
    if found.is_empty() { Err(said("there is no certificate in it".to_owned())) } else { Ok(found) }
}

fn revoked(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, ServeError> {
    let said = |why: String| ServeError::Config(format!("{}: {why}", path.display()));
    let found = CertificateRevocationListDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let found = found.map_err(|why| said(format!("expected revocation lists as PEM: {why}")))?;
    if found.is_empty() { Err(said("there is no revocation list in it".to_owned())) } else { Ok(found) }
}

/// The names (DNS names of its subjectAltName) of a client's verified certificate.
pub fn names(session: &ServerConnection) -> Vec<String> {
    let Some(shown) = session.peer_certificates().and_then(|chain| chain.first()) else { return Vec::new() };
    match webpki::EndEntityCert::try_from(shown) {
        Ok(certificate) => certificate.valid_dns_names().map(str::to_owned).collect(),
        Err(_) => Vec::new(),
    }
}

/// From now on a thread transfers this connection's bytes; returns the socket for the shard, or for a client that talks
/// in plain.
///
/// # Errors
/// If there can be no more sockets or threads.
pub fn carry<S, D>(session: S, outside: OwnedFd, number: u64) -> io::Result<OwnedFd>
where
    S: DerefMut<Target = ConnectionCommon<D>> + Send + 'static,
{
    let (inside, shards) = UnixStream::pair()?;
    inside.set_nonblocking(true)?;
    let mut carrier =
        Carrier { session, outside, inside, inward: Vec::new(), hears: Hears::More, _counted: Counted::one() };
    std::thread::Builder::new().name(format!("tls-{number}")).spawn(move || {
        if let Err(error) = carrier.run() {
            tracing::debug!(client = number, %error, "its TLS ended");
        }
    })?;
    Ok(shards.into())
}

/// Receives once, and decrypts it.
///
/// # Errors
/// If the client broke TLS, or has gone without closing it.
pub fn receive<D>(session: &mut ConnectionCommon<D>, socket: &OwnedFd) -> io::Result<Received> {
    struct Borrowed<'s>(&'s OwnedFd);
    impl Read for Borrowed<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            Ok(rustix::io::read(self.0, into)?)
        }
    }
    match session.read_tls(&mut Borrowed(socket)) {
        Ok(0) => return Ok(Received::End),
        Ok(_) => {}
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            return Ok(Received::Nothing);
        }
        Err(error) => return Err(error),
    }
    let state = session.process_new_packets().map_err(io::Error::other);
    if state.is_err() {
        // The alert that says why.
        let _ = send(session, socket);
    }
    Ok(if state?.peer_has_closed() { Received::Last } else { Received::Some })
}

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing has arrived yet.
    Nothing,
    /// Something.
    Some,
    /// Possibly something, and nothing comes after it.
    Last,
    /// Nothing comes any more.
    End,
}

/// Sends what there is; true if nothing is left.
///
/// # Errors
/// If the client has gone.
pub fn send<D>(session: &mut ConnectionCommon<D>, socket: &OwnedFd) -> io::Result<bool> {
    struct Borrowed<'s>(&'s OwnedFd);
    impl Write for Borrowed<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(rustix::net::send(self.0, bytes, rustix::net::SendFlags::NOSIGNAL)?)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    while session.wants_write() {
        match session.write_tls(&mut Borrowed(socket)) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether the client sends more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hears {
    More,
    /// No; what it sent must still be passed on.
    Last,
    /// No, and the shard knows.
    Nothing,
}

/// One client's bytes, in both directions.
struct Carrier<S> {
    session: S,
    outside: OwnedFd,
    inside: UnixStream,
    /// Read from the client, and not yet passed to the shard.
    inward: Vec<u8>,
    hears: Hears,
    _counted: Counted,
}

impl<S, D> Carrier<S>
where
    S: DerefMut<Target = ConnectionCommon<D>>,
{
    fn run(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        // What came with the last of the handshake.
        self.decrypt(&mut chunk)?;
        loop {
            self.tell_the_shard()?;
            let sent = send(&mut self.session, &self.outside)?;
            if sent && !self.session.wants_write() && self.answer(&mut chunk)? {
                self.session.send_close_notify();
                let _ = send(&mut self.session, &self.outside);
                let _ = rustix::net::shutdown(&self.outside, rustix::net::Shutdown::Both);
                return Ok(());
            }
            if self.hears == Hears::More && self.inward.is_empty() {
                match receive(&mut self.session, &self.outside)? {
                    Received::Nothing | Received::Some => {}
                    Received::Last | Received::End => self.hears = Hears::Last,
                }
                self.decrypt(&mut chunk)?;
                if !self.inward.is_empty() || self.hears == Hears::Last {
                    continue;
                }
            }
            self.wait()?;
        }
    }

    /// Decrypts what has arrived from the client, as far as it is complete.
    fn decrypt(&mut self, chunk: &mut [u8]) -> io::Result<()> {
        loop {
            match self.session.reader().read(chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => self.inward.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // It went without closing TLS: an incomplete request is dropped.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    fn tell_the_shard(&mut self) -> io::Result<()> {
        while !self.inward.is_empty() {
            match (&self.inside).write(&self.inward) {
                Ok(count) => drop(self.inward.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It takes no more; what it sent last is still passed on.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                    self.inward.clear();
                    self.hears = Hears::Nothing;
                }
                Err(error) => return Err(error),
            }
        }
        if self.hears == Hears::Last {
            self.inside.shutdown(Shutdown::Write)?;
            self.hears = Hears::Nothing;
        }
        Ok(())
    }

    /// Passes what the shard sends to the client; true if it sends no more.
    fn answer(&mut self, chunk: &mut [u8]) -> io::Result<bool> {
        match (&self.inside).read(chunk) {
            Ok(0) => return Ok(true),
            Ok(count) => {
                // Nothing waits to be sent, so all of it fits.
                self.session.set_buffer_limit(None);
                self.session.writer().write_all(&chunk[..count])?;
                send(&mut self.session, &self.outside)?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        Ok(false)
    }

    fn wait(&self) -> io::Result<()> {
        let (mut out, mut within) = (PollFlags::empty(), PollFlags::empty());
        if self.session.wants_write() {
            out |= PollFlags::OUT;
        } else {
            within |= PollFlags::IN;
        }
        if !self.inward.is_empty() {
            within |= PollFlags::OUT;
        } else if self.hears == Hears::More {
            out |= PollFlags::IN;
        }
        let mut fds = vec![PollFd::new(&self.outside, out)];
        // A shard that has gone is noticed once its last bytes can be passed on.
        if !within.is_empty() {
            fds.push(PollFd::new(&self.inside, within));
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        match fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
            true => Err(io::Error::new(ErrorKind::ConnectionAborted, "the client has gone")),
            false => Ok(()),
        }
    }
}
