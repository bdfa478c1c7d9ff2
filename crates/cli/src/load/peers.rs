//! Servers side by side: the same load for each, and the cost of a request in processor time and system calls.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use blksched::Span;
use blksched_nbd::{Address, Uri};

use super::{LoadPlan, LoadReport, load};

/// A server to be measured: its name and how it is started.
pub struct Peer {
    /// For the table.
    pub name: String,
    /// The program.
    pub program: String,
    /// Its arguments; `{file}` and `{socket}` are replaced.
    pub arguments: Vec<String>,
}

/// What a server did.
pub struct ServerCost {
    /// What its clients saw.
    pub report: LoadReport,
    /// Its processor time \[ns per request\].
    pub cpu_ns: f64,
    /// Its system calls per request; none where strace is not.
    pub system_calls: Option<f64>,
}

impl Peer {
    /// nbdkit and qemu-nbd, serving a file through the page cache.
    pub fn known() -> Vec<Peer> {
        let peer = |name: &str, program: &str, arguments: &str| Peer {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments.split(' ').map(str::to_owned).collect(),
        };
        vec![
            peer("nbdkit file", "nbdkit", "-f -U {socket} file {file}"),
            peer("qemu-nbd", "qemu-nbd", "-f raw -t -e 64 -k {socket} {file}"),
            peer("qemu-nbd io_uring", "qemu-nbd", "-f raw -t -e 64 --aio=io_uring -k {socket} {file}"),
        ]
    }

    /// Measure it; `None` if its program is not here.
    ///
    /// # Errors
    /// If it does not serve.
    pub fn measure(&self, plan: &LoadPlan, file: &Path, folder: &Path) -> Result<Option<ServerCost>, String> {
        let socket = folder.join("peer.sock");
        let _ = fs::remove_file(&socket);
        let words = self.arguments.iter().map(|word| {
            let word = word.replace("{file}", &file.display().to_string());
            word.replace("{socket}", &socket.display().to_string())
        });
        let started = Command::new(&self.program).args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut child = match started {
            Ok(child) => OwnedChild(child),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", self.name)),
        };
        child.wait_for(&socket).map_err(|why| format!("{}: {why}", self.name))?;
        let export = if self.program.ends_with("blksched") { "file" } else { "" };
        let address = Address::Unix { path: socket.display().to_string() };
        let plan = LoadPlan { uri: Uri { address, export: export.to_owned() }, ..plan.clone() };
        // Once to fill the page cache and every pool.
        fs::File::open(file).and_then(|mut file| io::copy(&mut file, &mut io::sink())).map_err(|e| e.to_string())?;
        load(&LoadPlan { time: Span::from_ms(300), ..plan.clone() })?;
        let before = child.cpu_ns();
        let report = load(&plan)?;
        let cpu_ns = (child.cpu_ns() - before) as f64 / report.requests.max(1) as f64;
        let system_calls = child.count_system_calls(&plan, folder)?;
        Ok(Some(ServerCost { report, cpu_ns, system_calls }))
    }
}

/// A process that does not outlive its measurement.
struct OwnedChild(Child);

impl Drop for OwnedChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OwnedChild {
    fn wait_for(&mut self, socket: &Path) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if UnixStream::connect(socket).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("it has ended with {status}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err("it does not listen".to_owned())
    }

    /// The processor time of all its threads, those that have ended included \[ns\].
    fn cpu_ns(&self) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        // Behind the name, which may have spaces: user and system time are the 12th and 13th word.
        let words = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(2);
        let ticks: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
        ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
    }

    /// System calls per request, in a run of their own: counting them makes everything slower.
    fn count_system_calls(&self, plan: &LoadPlan, folder: &Path) -> Result<Option<f64>, String> {
        let output = folder.join("strace.txt");
        let pid = self.0.id().to_string();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-c", "-U", "name,calls", "-o"]).arg(&output).args(["-p", &pid]);
        let Ok(mut tracer) = strace.stderr(Stdio::null()).spawn() else { return Ok(None) };
        std::thread::sleep(Duration::from_millis(500));
        let report = load(&LoadPlan { time: Span::from_secs(1), ..plan.clone() });
        let pid = rustix::process::Pid::from_child(&tracer);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = tracer.wait();
        let text = fs::read_to_string(&output).unwrap_or_default();
        let total = text
            .lines()
            .find(|line| line.contains("total"))
            .and_then(|line| line.split_whitespace().find_map(|word| word.parse::<f64>().ok()));
        Ok(total.map(|calls| calls / report.map_or(1, |report| report.requests.max(1)) as f64))
    }
}
