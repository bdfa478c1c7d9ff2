//! What ends a server: signals, for a program that does nothing else; the caller, for one that serves among other
//! things.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// What ends a server, besides the end of its captive command.
#[derive(Clone, Debug, Default)]
pub enum Ending {
    /// SIGTERM and SIGINT; SIGHUP reads the configuration again.
    #[default]
    Signals,
    /// The caller; the process's signals are left alone.
    Caller(Arc<StopSwitch>),
}

/// Stops a server that runs in another thread of the same process.
#[derive(Debug)]
pub struct StopSwitch {
    waits: UnixStream,
    wakes: UnixStream,
}

impl StopSwitch {
    /// A switch for one server.
    ///
    /// # Errors
    /// If the process may open no more files.
    pub fn new() -> io::Result<Arc<StopSwitch>> {
        let (waits, wakes) = UnixStream::pair()?;
        Ok(Arc::new(StopSwitch { waits, wakes }))
    }

    /// Stops it, as SIGTERM would: what is in flight is served.
    ///
    /// # Errors
    /// If it has ended.
    pub fn stop(&self) -> io::Result<()> {
        Ok(rustix::io::write(&self.wakes, &[1]).map(drop)?)
    }
}

/// What a server listens to.
pub(crate) struct Wakeups {
    /// Becomes readable when the server shall end, or look whether its captive command has.
    pub(crate) end: UnixStream,
    /// The other end.
    pub(crate) ring: UnixStream,
    /// Becomes readable when the configuration shall be read again.
    pub(crate) reload: UnixStream,
    /// Its other end, where no signal has it: closed, it would be readable for ever.
    pub(crate) quiet: Option<UnixStream>,
}

impl Ending {
    pub(crate) fn wakeups(&self) -> io::Result<Wakeups> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        use signal_hook::low_level::pipe::register;
        let (reload, hangs_up) = UnixStream::pair()?;
        match self {
            Ending::Signals => {
                let (end, ring) = UnixStream::pair()?;
                for signal in [SIGTERM, SIGINT] {
                    register(signal, ring.try_clone()?)?;
                }
                register(SIGHUP, hangs_up)?;
                Ok(Wakeups { end, ring, reload, quiet: None })
            }
            Ending::Caller(switch) => {
                let (end, ring) = (switch.waits.try_clone()?, switch.wakes.try_clone()?);
                Ok(Wakeups { end, ring, reload, quiet: Some(hangs_up) })
            }
        }
    }
}
