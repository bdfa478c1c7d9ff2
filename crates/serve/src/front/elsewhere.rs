//! What may take long is done on other threads: files are opened and configurations read there (a disk may hang),
//! shards are asked, and answers are written. The front thread goes on, and hears of the result.
//!
//! **Rule** There are at most [`MOST`] such threads. One that hangs is left alone: its question is answered after
//! [`LONG`] with that, and the end of the server does not wait for it.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::ServeError;
use crate::backend::{Backend, new_size};
use crate::config::{Caching, ExportConfig, ExportSource, ServerConfig};
use crate::exports::Removal;
use crate::handshaking::HandshakingClient;
use crate::orders::Question;
use crate::reload::Reload;
use crate::tls::Tls;

/// The most threads at a time.
const MOST: usize = 128;
/// How long the client of a question waits for it.
pub const LONG: Duration = Duration::from_secs(15);

/// A back end, or why there is none.
pub type Opened = Result<Backend, String>;

/// A result.
pub enum Told {
    /// The answer to the question of a client with this number.
    Answer(u64, String),
    /// An export to be added was opened.
    Opened(u64, Box<(ExportConfig, Opened)>),
    /// The size that an export can have was found.
    Sized(u64, Question, Result<u64, String>),
    /// An export was removed, or not.
    Removed(u64, Removal, Result<String, String>),
    /// A configuration was read.
    Read(Reload, Result<Box<Renewed>, String>),
    /// A client's TLS handshake went on, and this is how its socket was read.
    Shaken(Box<HandshakingClient>, Result<bool, ()>),
}

/// A configuration that was read again, with all that had to be opened for it.
pub struct Renewed {
    /// The configuration.
    pub config: ServerConfig,
    /// Its new exports.
    pub opened: Vec<(ExportConfig, Opened)>,
    /// The exports whose sizes differ, what was wished, and what they can have.
    pub sizes: Vec<(String, Option<u64>, Result<u64, String>)>,
    /// Its certificates.
    pub tls: Option<Result<Tls, ServeError>>,
}

/// How results come back.
#[derive(Clone)]
pub struct Speaker {
    sender: Sender<Told>,
    rings: Arc<UnixStream>,
}

impl Speaker {
    /// Tells the front thread. It fails only if the server ends; a full socket rings as well.
    pub fn tell(&self, told: Told) {
        let _ = self.sender.send(told);
        let _ = (&*self.rings).write(&[0]);
    }
}

/// The threads, and their way back.
pub struct Elsewhere {
    /// Becomes readable when there is a result.
    pub bell: UnixStream,
    /// The way back.
    pub speaker: Speaker,
    told: Receiver<Told>,
    busy: Arc<AtomicUsize>,
}

impl Elsewhere {
    /// None yet.
    ///
    /// # Errors
    /// If there can be no more sockets.
    pub fn new() -> Result<Elsewhere, ServeError> {
        let (bell, rings) = UnixStream::pair().map_err(ServeError::system("making a pair of sockets"))?;
        for end in [&bell, &rings] {
            end.set_nonblocking(true).map_err(ServeError::system("making a pair of sockets"))?;
        }
        let (sender, told) = channel();
        let speaker = Speaker { sender, rings: Arc::new(rings) };
        Ok(Elsewhere { bell, speaker, told, busy: Arc::default() })
    }

    /// Does it on a thread.
    ///
    /// # Errors
    /// If there are too many.
    pub fn run<J: FnOnce() -> Told + Send + 'static>(&self, job: J) -> Result<(), String> {
        if self.busy.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.busy.fetch_sub(1, Ordering::Relaxed);
            return Err("too many other questions are being answered: try again".to_owned());
        }
        let (speaker, busy) = (self.speaker.clone(), self.busy.clone());
        let life = move || {
            let told = job();
            busy.fetch_sub(1, Ordering::Relaxed);
            speaker.tell(told);
        };
        let spawned = std::thread::Builder::new().name("elsewhere".to_owned()).spawn(life);
        spawned.map(drop).map_err(|error| {
            self.busy.fetch_sub(1, Ordering::Relaxed);
            format!("no thread for that: {error}")
        })
    }

    /// The results since the last call.
    pub fn results(&self) -> Vec<Told> {
        let mut bytes = [0; 256];
        while rustix::io::read(&self.bell, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        self.told.try_iter().collect()
    }
}

/// Opens an export.
pub fn open(export: &ExportConfig, caching: Caching) -> Opened {
    Backend::open(export, caching)
}

/// The size that an export of this source can be given.
pub fn size(source: Option<&ExportSource>, wished: Option<u64>) -> Result<u64, String> {
    source.ok_or_else(|| "it is not an export of the configuration".to_owned()).and_then(|from| new_size(from, wished))
}
