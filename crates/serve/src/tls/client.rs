//! TLS of our own clients (`load`, `mount`): their trusted authorities and their certificates, in a folder as libnbd
//! and QEMU use it.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use blksched_nbd::Trust;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, Stream};

use super::certificates;

/// The authorities of trusted certificates.
const TRUSTED: &str = "ca-cert.pem";
/// The client's own certificate chain.
const OWN: &str = "client-cert.pem";
/// Its private key.
const KEY: &str = "client-key.pem";

/// The TLS of one connection.
pub struct TlsSession(ClientConnection);

impl TlsSession {
    /// A session for a connection to this host.
    ///
    /// # Errors
    /// If the directory's content is invalid.
    pub fn new(host: &str, trust: &Trust) -> Result<TlsSession, String> {
        let expected =
            || format!("expected ?tls-certificates= and a folder with {TRUSTED} (and maybe {OWN} and {KEY})");
        let folder = Path::new(trust.certificates.as_ref().ok_or_else(expected)?);
        let mut roots = RootCertStore::empty();
        for one in certificates(&folder.join(TRUSTED)).map_err(|error| error.to_string())? {
            roots.add(one).map_err(|why| format!("{}: {why}", folder.join(TRUSTED).display()))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = versions.map_err(|why| why.to_string())?.with_root_certificates(roots);
        let config = match folder.join(OWN).exists() {
            false => builder.with_no_client_auth(),
            true => {
                let chain = certificates(&folder.join(OWN)).map_err(|error| error.to_string())?;
                let said = |why: &dyn std::fmt::Display| format!("{}: {why}", folder.join(KEY).display());
                let key = PrivateKeyDer::from_pem_file(folder.join(KEY));
                let key = key.map_err(|why| said(&format!("expected a private key as PEM: {why}")))?;
                builder.with_client_auth_cert(chain, key).map_err(|why| said(&why))?
            }
        };
        let name = trust.name.as_deref().unwrap_or(host);
        let name =
            ServerName::try_from(name.to_owned()).map_err(|_| format!("`{name}` is not the name of a server"))?;
        ClientConnection::new(Arc::new(config), name).map(TlsSession).map_err(|why| why.to_string())
    }

    /// A stream for reading and writing in plain, which waits for the server.
    pub fn over<'s>(&'s mut self, stream: &'s mut TcpStream) -> Stream<'s, ClientConnection, TcpStream> {
        Stream::new(&mut self.0, stream)
    }
}

/// From now on a thread transfers the bytes of this connection; returns the end that talks in plain.
///
/// # Errors
/// If there can be no more sockets or threads.
pub fn carry(session: TlsSession, stream: TcpStream) -> io::Result<OwnedFd> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    stream.set_nonblocking(true)?;
    super::carry(session.0, stream.into(), NEXT.fetch_add(1, Ordering::Relaxed))
}
