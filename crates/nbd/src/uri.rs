//! NBD URIs: `nbd://host:port/export`, `nbd+unix:///export?socket=/path`, as in the NBD project's `doc/uri.md`, and
//! `nbds://host:port/export?tls-certificates=FOLDER&tls-hostname=NAME`, as libnbd takes them.

use core::fmt;
use core::str::FromStr;

/// The port that IANA assigned to NBD.
pub const PORT: u16 = 10809;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp {
        /// A name or an address; an IPv6 address is without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// TCP with TLS in it.
    Tls {
        /// A name or an address; an IPv6 address is without brackets.
        host: String,
        /// The port.
        port: u16,
        /// The authority that a client trusts, and its own identity.
        trust: Trust,
    },
    /// A socket in the file system.
    Unix {
        /// Its path.
        path: String,
    },
}

/// The authority that a client with TLS trusts, and its own identity, as given in a URI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trust {
    /// A folder with `ca-cert.pem`, and `client-cert.pem` and `client-key.pem` if the client has a certificate; `None`
    /// if the URI does not give one.
    pub certificates: Option<String>,
    /// The server's name in its certificate; `None`: its host.
    pub name: Option<String>,
}

/// A server and one of its exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the only one.
    pub export: String,
}

/// Why a text is not an NBD URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an NBD URI: {why} (as in nbd://localhost/disk or nbd+unix:///disk?socket=/run/nbd.sock)")]
pub struct UriError {
    /// The text as given.
    pub text: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Uri, UriError> {
        let error = |why| UriError { text: text.to_owned(), why };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| error("there is no scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let export = decode(path).ok_or_else(|| error("its export is no text"))?;
        let address = match scheme {
            "nbd" if query.is_empty() => {
                let (host, port) = tcp(authority).ok_or_else(|| error("expected a host and maybe a port"))?;
                Address::Tcp { host, port }
            }
            "nbd" => return Err(error("an nbd:// URI takes nothing behind a `?`")),
            "nbd+unix" if authority.is_empty() => {
                let path = query.strip_prefix("socket=").filter(|path| !path.is_empty() && !path.contains('&'));
                let path = path.and_then(decode).ok_or_else(|| error("expected ?socket= and a path, no more"))?;
                Address::Unix { path }
            }
            "nbd+unix" => return Err(error("a Unix socket has no host")),
            "nbds" => {
                let trust = trust(query);
                let trust = trust.ok_or_else(|| error("expected ?tls-certificates=FOLDER and maybe &tls-hostname="))?;
                let place = tcp(authority).ok_or_else(|| error("expected a host and maybe a port"))?;
                Address::Tls { host: place.0, port: place.1, trust }
            }
            "nbds+unix" => return Err(error("TLS is for TCP here")),
            _ => return Err(error("its scheme is none of nbd, nbds and nbd+unix")),
        };
        Ok(Uri { address, export })
    }
}

/// The parts of a query about certificates.
fn trust(query: &str) -> Option<Trust> {
    let mut trust = Trust::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=')?;
        let place = match key {
            "tls-certificates" => &mut trust.certificates,
            "tls-hostname" => &mut trust.name,
            _ => return None,
        };
        *place = Some(decode(value).filter(|value| !value.is_empty())?);
    }
    Some(trust)
}

/// A host and a port.
fn tcp(authority: &str) -> Option<(String, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
    let host = if host.is_empty() { "localhost" } else { host };
    Some((host.to_owned(), port))
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = encode(&self.export);
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "nbd://[{host}]:{port}/{export}"),
            Address::Tcp { host, port } => write!(f, "nbd://{host}:{port}/{export}"),
            Address::Tls { host, port, trust } => {
                match host.contains(':') {
                    true => write!(f, "nbds://[{host}]:{port}/{export}")?,
                    false => write!(f, "nbds://{host}:{port}/{export}")?,
                }
                let Trust { certificates, name } = trust;
                let said = [("tls-certificates", certificates), ("tls-hostname", name)];
                let said = said.iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
                said.zip(['?', '&']).try_for_each(|((key, value), mark)| write!(f, "{mark}{key}={}", encode(value)))
            }
            Address::Unix { path } => write!(f, "nbd+unix:///{export}?socket={}", encode(path)),
        }
    }
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (16 * digit(rest.next()?)? + digit(rest.next()?)?) as u8
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            _ => encoded += &format!("%{byte:02X}"),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_reads_back_as_it_prints() {
        for text in [
            "nbd://localhost:10809/a",
            "nbd://[::1]:7/",
            "nbd+unix:///?socket=/run/a.sock",
            "nbd+unix:///my%20disk/1?socket=/tmp/a%3Fb",
            "nbds://localhost:7/a?tls-certificates=/etc/my%20nbd&tls-hostname=disks.example",
            "nbds://[::1]:7/?tls-hostname=disks.example",
        ] {
            assert_eq!(text.parse::<Uri>().unwrap().to_string(), text);
        }
        assert_eq!("nbd://host".parse::<Uri>().unwrap().to_string(), "nbd://host:10809/");
    }

    #[test]
    fn what_is_no_uri_is_refused_with_an_example() {
        for text in [
            "",
            "nbd",
            "http://a/",
            "nbd+unix:///a",
            "nbd+unix:///a?socket=/s&tls-type=anon",
            "nbd://a:b/",
            "nbds://a/?tls-certificate=x",
            "nbds://a/?tls-certificates=",
            "nbds+unix:///a?socket=/s",
            "nbd://a/?b=c",
            "nbd://h/%zz",
        ] {
            let error = text.parse::<Uri>().unwrap_err().to_string();
            assert!(error.contains("nbd://localhost/disk"), "{error}");
        }
    }
}
