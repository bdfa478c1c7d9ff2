//! Ports that nobody else gets.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket, sockopt};

/// A TCP port of this machine's loopback address that a program under test may listen at, also again and again, and
/// that the system gives to nobody else meanwhile.
///
/// Whoever asks for any free port, lets it go and gives its number to a program is now and then beaten to it. So this
/// keeps a socket bound to the port, without listening: Linux lets another socket bind and listen there if both allow
/// reuse (`SO_REUSEADDR`, which Rust's listeners and nearly all servers set), and chooses the port for nobody.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    _held: OwnedFd,
}

impl Port {
    /// Reserves one.
    ///
    /// # Panics
    /// If there is none.
    pub fn reserve() -> Port {
        let held = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        sockopt::set_socket_reuseaddr(&held, true).expect("an option that every system has");
        bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let name = getsockname(&held).expect("a bound socket has an address");
        let address = SocketAddr::try_from(name).expect("an address of the internet");
        Port { address, _held: held }
    }

    /// `127.0.0.1:12345`
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.address.port()
    }
}

/// Its number, as in an address.
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn a_server_listens_there_again_and_again_and_nobody_else_is_given_it() {
        let port = Port::reserve();
        assert_eq!(port.address().to_string(), format!("127.0.0.1:{port}"));
        assert!(TcpStream::connect(port.address()).is_err(), "nobody listens yet");
        for _ in 0..3 {
            let listener = TcpListener::bind(port.address()).expect("it is ours");
            let _client = TcpStream::connect(port.address()).expect("somebody listens");
            listener.accept().expect("the client");
        }
        let others: Vec<_> = (0..500).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        assert!(others.iter().all(|other| other.local_addr().expect("bound").port() != port.number()));
    }
}
