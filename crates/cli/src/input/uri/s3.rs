//! Stores that speak S3. Endpoint, region and credentials come from the environment (`AWS_…`), as in the crate
//! `object_store`.
//!
//! **Rule** An object is requested in pieces of a few MiB, the next ones while one is read: memory stays bounded
//! however large it is, and a broken connection costs one piece. All pieces are of one version of it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Cursor, Read};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use glob::{MatchOptions, Pattern};
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::Opened;

/// The size of one request \[bytes\].
const PIECE: u64 = 4 << 20;
/// Pieces requested in advance while one is read.
const AHEAD: usize = 2;
/// How long to retry a store that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
const ATTEMPTS: usize = 5;

/// What is known of buckets.
#[derive(Default)]
struct KnownBuckets {
    stores: BTreeMap<String, Arc<AmazonS3>>,
    /// The sizes of objects that were listed or opened, by URI \[bytes\].
    sizes: BTreeMap<String, u64>,
}

static KNOWN: LazyLock<Mutex<KnownBuckets>> = LazyLock::new(Mutex::default);

fn known<T>(look: impl FnOnce(&mut KnownBuckets) -> T) -> T {
    look(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// One thread carries all transfers.
fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().worker_threads(1).thread_name("s3").enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

fn store(bucket: &str) -> Result<Arc<AmazonS3>, String> {
    if let Some(store) = known(|known| known.stores.get(bucket).cloned()) {
        return Ok(store);
    }
    // rustls may be built with two cryptographic libraries; this chooses the server's, unless the embedding program has
    // chosen.
    drop(rustls::crypto::ring::default_provider().install_default());
    let retry = RetryConfig { max_retries: ATTEMPTS, retry_timeout: PATIENCE, ..RetryConfig::default() };
    let built = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry).build();
    let built = Arc::new(built.map_err(|error| told(&error))?);
    known(|known| known.stores.insert(bucket.to_owned(), built.clone()));
    Ok(built)
}

/// An error without its type's name, and a hint where one is known.
fn told(error: &object_store::Error) -> String {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => "there is no such object".to_owned(),
        Error::Precondition { .. } => "it was changed while it was read".to_owned(),
        Error::Generic { source, .. } => {
            let source = source.to_string();
            // Without keys, a cloud machine is asked for its own.
            let hint = if source.contains("169.254.169.254") {
                "; without AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY the machine's own role is used; a public \
                 bucket needs AWS_SKIP_SIGNATURE=true"
            } else {
                ""
            };
            format!("{source}{hint}")
        }
        other => other.to_string(),
    }
}

fn key_of(uri: &str, key: &str) -> Result<Path, String> {
    Path::parse(key).map_err(|error| format!("{uri}: {error}"))
}

pub(super) fn open(uri: &str, bucket: &str, key: &str) -> Result<Opened, String> {
    let failed = |why: String| format!("{uri}: {why}");
    let (store, path) = (store(bucket).map_err(failed)?, key_of(uri, key)?);
    let head = runtime().map_err(|error| failed(error.to_string()))?.block_on(store.head(&path));
    let meta = match head {
        Ok(meta) => meta,
        Err(object_store::Error::NotFound { .. }) => return Ok(Opened::Missing),
        Err(error) => return Err(failed(told(&error))),
    };
    known(|known| known.sizes.insert(uri.to_owned(), meta.size));
    let object = Object {
        store,
        path,
        version: meta.e_tag,
        size: meta.size,
        asked: 0,
        coming: VecDeque::new(),
        here: Cursor::new(Vec::new()),
    };
    Ok(Opened::Stream(Box::new(object)))
}

pub(super) fn size(uri: &str, bucket: &str, key: &str) -> u64 {
    if let Some(size) = known(|known| known.sizes.get(uri).copied()) {
        return size;
    }
    drop(open(uri, bucket, key));
    known(|known| known.sizes.get(uri).copied()).unwrap_or(0)
}

/// An object, read in pieces.
struct Object {
    store: Arc<AmazonS3>,
    path: Path,
    version: Option<String>,
    size: u64,
    /// How much was requested so far \[bytes\].
    asked: u64,
    coming: VecDeque<JoinHandle<object_store::Result<Vec<u8>>>>,
    here: Cursor<Vec<u8>>,
}

impl Object {
    fn ask(&mut self) -> io::Result<()> {
        while self.asked < self.size && self.coming.len() < AHEAD {
            let end = (self.asked + PIECE).min(self.size);
            let options = GetOptions { if_match: self.version.clone(), ..GetOptions::default() };
            let options = options.with_range(Some(self.asked..end));
            let (store, path) = (self.store.clone(), self.path.clone());
            let piece = async move { Ok(store.get_opts(&path, options).await?.bytes().await?.into()) };
            self.coming.push_back(runtime()?.spawn(piece));
            self.asked = end;
        }
        Ok(())
    }
}

impl Read for Object {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.here.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.ask()?;
            let Some(next) = self.coming.pop_front() else { return Ok(0) };
            let piece = runtime()?.block_on(next).map_err(io::Error::other)?;
            self.here = Cursor::new(piece.map_err(|error| io::Error::other(told(&error)))?);
            self.ask()?;
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        self.coming.iter().for_each(JoinHandle::abort);
    }
}

/// Lists only the folders whose part of the pattern has wildcards.
pub(super) fn matches(pattern: &str, bucket: &str, key: &str) -> Result<Vec<String>, String> {
    let failed = |why: String| format!("{pattern}: {why}");
    let store = store(bucket).map_err(failed)?;
    let parts: Vec<&str> = key.split('/').collect();
    let mut folders = vec![String::new()];
    for (nth, part) in parts.iter().enumerate() {
        let is_last = nth + 1 == parts.len();
        if !is_last && !part.contains(['*', '?', '[']) {
            folders.iter_mut().for_each(|folder| *folder = joined(folder, part));
            continue;
        }
        let wanted = Pattern::new(part).map_err(|error| failed(error.to_string()))?;
        let mut found = Vec::new();
        for folder in &folders {
            let prefix = key_of(pattern, folder)?;
            let prefix = (!folder.is_empty()).then_some(&prefix);
            let runtime = runtime().map_err(|error| failed(error.to_string()))?;
            let listed = runtime.block_on(store.list_with_delimiter(prefix)).map_err(|error| failed(told(&error)))?;
            let fits = |path: &Path| path.filename().is_some_and(|name| wanted.matches_with(name, WHOLE));
            if is_last {
                for meta in listed.objects.into_iter().filter(|meta| fits(&meta.location)) {
                    known(|known| known.sizes.insert(format!("s3://{bucket}/{}", meta.location), meta.size));
                    found.push(meta.location.to_string());
                }
            } else {
                found.extend(listed.common_prefixes.iter().filter(|path| fits(path)).map(Path::to_string));
            }
        }
        folders = found;
    }
    folders.sort_unstable();
    Ok(folders.into_iter().map(|key| format!("s3://{bucket}/{key}")).collect())
}

const WHOLE: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

fn joined(folder: &str, part: &str) -> String {
    if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") }
}
