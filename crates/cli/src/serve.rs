//! `blksched serve`: the schedulers in front of a real disk, as an NBD server; `blksched ctl` controls a running one.

mod arguments;
mod disks;
mod file;
mod log;

use std::path::PathBuf;

use blksched::Catalogue;
use blksched_disks::stack::DiskOrStack;
use blksched_serve::{
    Arrival, AskError, Caching, Ending, EngineKind, Leave, Listen, Question, Reload, ServeError, ServerConfig, Shares,
    TlsFiles, TotalMemory, UblkConfig, WrittenFiles, check_exports, check_policies, check_tls, serve,
};
use blksched_text::did_you_mean;
use blksched_text::units::number_or_letter;

use crate::failure::Failure;
use crate::output;
use crate::private::private_directory;
use arguments::Keeper;
pub(crate) use arguments::{CtlArguments, CtlVerb, EngineChoice, ExportVerb, ServeArguments};
use blksched_lab::scene::contenders;

/// The least memory of an export: enough for the longest request and some clients \[bytes\].
const LEAST_MEMORY: u64 = 40 << 20;

/// Serves; the exit code is that of the captive command, if there is one.
pub(crate) fn run(arguments: &ServeArguments, catalogue: &Catalogue, ending: Ending) -> Result<(), Failure> {
    let Some(path) = arguments.config.clone() else { return start(arguments, None, catalogue, ending) };
    let mut all = file::read(&path)?;
    all.check = arguments.check;
    all.run = arguments.run.clone().or(all.run);
    all.take_over |= arguments.take_over;
    all.log = arguments.log.clone().or(all.log);
    let again = catalogue.clone();
    let reload = Reload(Box::new(move || {
        let config = file::read(&path).and_then(|all| config(&all, &again));
        config.map(|(config, _)| config).map_err(|failure| match failure {
            Failure::Input(why) | Failure::Excerpts(why) | Failure::Outside(why) => why,
            Failure::Command(_) | Failure::NobodyReads => String::new(),
        })
    }));
    start(&all, Some(reload), catalogue, ending)
}

fn start(
    arguments: &ServeArguments,
    reload: Option<Reload>,
    catalogue: &Catalogue,
    ending: Ending,
) -> Result<(), Failure> {
    let (mut config, private) = config(arguments, catalogue)?;
    (config.reload, config.ending) = (reload, ending);
    if arguments.check {
        private.map(std::fs::remove_dir_all);
        check_exports(&config).map_err(|error| Failure::Input(error.to_string()))?;
        log::check_audit(arguments, &config.exports)?;
        let note = config.elevator.note().map_or(String::new(), |note| format!("note: {note}\n"));
        return Ok(output::print(&format!("{} exports: understood\n{note}", config.exports.len()))?);
    }
    let quiet = arguments.run.is_some();
    if let Err(why) = log::check_audit(arguments, &config.exports).and_then(|()| log::begin(arguments)) {
        private.map(std::fs::remove_dir_all);
        return Err(why);
    }
    let mut say = |line: &str| {
        if !quiet {
            // Serving goes on even if nothing can be printed.
            let _ = output::print(&format!("{line}\n"));
        }
    };
    let served = serve(config, catalogue, &mut say);
    if let Some(directory) = private {
        let _ = std::fs::remove_dir_all(directory);
    }
    match served {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::Command(code)),
        Err(ServeError::Config(why)) => Err(Failure::Input(why)),
        Err(error) => Err(Failure::Outside(error.to_string())),
    }
}

/// The server's configuration from the arguments, and the private directory made for its sockets, if any.
fn config(arguments: &ServeArguments, catalogue: &Catalogue) -> Result<(ServerConfig, Option<PathBuf>), Failure> {
    let exports = arguments.export.iter().map(|text| {
        text.parse().map_err(|error: blksched_serve::SpecError| Failure::Input(format!("--export {error}")))
    });
    let exports = exports.collect::<Result<Vec<_>, _>>()?;
    let mut elevators = contenders("--elevator", std::slice::from_ref(&arguments.elevator), &arguments.set, catalogue)?;
    let chosen = elevators.remove(0);
    let rules = arguments.allow.iter().map(|text| text.parse().map_err(Failure::input));
    let rules = rules.collect::<Result<Vec<_>, _>>()?;
    let memory = number_or_letter(&arguments.memory).filter(|&memory| memory >= LEAST_MEMORY);
    let expected = || Failure::Input(format!("--memory {}: expected a size from 40M on, as in 64M", arguments.memory));
    let memory = memory.ok_or_else(expected)?;
    let model = arguments.model.as_deref().map(|name| DiskOrStack::load(name).map_err(Failure::input));
    let model = model.transpose()?;
    let mut listen = listen(arguments)?;
    let (vhost, ublk) = (vhost(arguments)?, ublk(arguments)?);
    let private = (listen.is_empty() && arguments.run.is_some()).then(private_directory).transpose()?;
    if let Some(directory) = &private {
        listen.push(Listen::Unix(directory.join("nbd.sock")));
    } else if listen.is_empty() && vhost.is_empty() && ublk.is_empty() {
        listen.push(Listen::Tcp(([127, 0, 0, 1], 10809).into()));
    }
    let control = arguments.control.clone().or_else(|| private.as_ref().map(|path| path.join("control.sock")));
    let config = ServerConfig {
        exports,
        elevator: chosen.choice,
        knobs: chosen.knobs,
        shares: match arguments.shares {
            Keeper::Time => Shares::ByTime,
            Keeper::Scheduler => Shares::ByScheduler,
        },
        disk_files: disk_files(arguments)?,
        depth: arguments.depth,
        disks: disks::disks(arguments, catalogue)?,
        max_sectors: arguments.max_sectors_kb.map(|kib| 2 * kib),
        caching: if arguments.page_cache { Caching::PageCache } else { Caching::Direct },
        engine: match arguments.engine {
            EngineChoice::Auto => EngineKind::Auto,
            EngineChoice::IoUring => EngineKind::Uring,
            EngineChoice::Threads => EngineKind::Threads,
        },
        memory: memory as usize,
        total_memory: total_memory(arguments)?,
        model,
        listen,
        vhost,
        ublk,
        tls: tls(arguments)?,
        control,
        metrics: arguments.metrics.as_deref().map(metrics).transpose()?,
        rules,
        record: arguments.record.clone(),
        patience: arguments.patience,
        arrival: arrival(arguments)?,
        reload: None,
        run: arguments.run.clone(),
        ending: Ending::default(),
    };
    check_policies(&config).map_err(Failure::Input)?;
    Ok((config, private))
}

/// What all exports may have in flight together: as said, or half of the machine's memory.
fn total_memory(arguments: &ServeArguments) -> Result<TotalMemory, Failure> {
    let Some(text) = &arguments.total_memory else {
        let kib = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
            line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
        });
        return Ok(TotalMemory::of(kib.map_or(u64::MAX, |kib| (kib * 512).max(LEAST_MEMORY)) as usize));
    };
    let total = number_or_letter(text).filter(|&total| total >= LEAST_MEMORY);
    let expected = || Failure::Input(format!("--total-memory {text}: expected a size from 40M on, as in 2G"));
    Ok(TotalMemory::of(total.ok_or_else(expected)? as usize))
}

/// Whether the server takes another's place.
fn arrival(arguments: &ServeArguments) -> Result<Arrival, Failure> {
    match (arguments.take_over, &arguments.control) {
        (false, _) => Ok(Arrival::First),
        (true, Some(_)) => Ok(Arrival::TakesOver),
        (true, None) => Err(Failure::Input("--take-over uses the control socket: expected --control".into())),
    }
}

/// The lines written to the disks' own files.
fn disk_files(arguments: &ServeArguments) -> Result<WrittenFiles, Failure> {
    let mut files = WrittenFiles::default();
    let said = [
        ("--io-cost-qos", "io.cost.qos", &arguments.io_cost_qos),
        ("--io-cost-model", "io.cost.model", &arguments.io_cost_model),
    ];
    for (option, file, text) in said {
        let Some(text) = text else { continue };
        WrittenFiles::check(file, text).map_err(|why| Failure::Input(format!("{option} '{text}': {why}")))?;
        files.write(file, text);
    }
    Ok(files)
}

/// The files of TLS.
fn tls(arguments: &ServeArguments) -> Result<Option<TlsFiles>, Failure> {
    // A configuration file's keys are parsed one at a time, so clap cannot require one option for another.
    let (certificate, key) = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) if arguments.tls_clients.is_none() => return Ok(None),
        _ => {
            return Err(Failure::Input(
                "TLS needs a certificate and its key: expected --tls-cert and --tls-key".into(),
            ));
        }
    };
    if arguments.tls_revoked.is_some() && arguments.tls_clients.is_none() {
        return Err(Failure::Input("--tls-revoked is about clients' certificates: expected --tls-clients too".into()));
    }
    let (clients, revoked) = (arguments.tls_clients.clone(), arguments.tls_revoked.clone());
    let files = TlsFiles { certificate: certificate.clone(), key: key.clone(), clients, revoked };
    check_tls(&files).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(Some(files))
}

/// Metrics are for this machine only: clients elsewhere use a proxy, which decides on access.
fn metrics(text: &str) -> Result<Listen, Failure> {
    match text.parse::<std::net::SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(Listen::Tcp(address)),
        Ok(_) => Err(Failure::Input(format!(
            "--metrics {text}: expected an address of this machine, as in 127.0.0.1:9559, or the path of a Unix socket"
        ))),
        Err(_) if text.contains('/') => Ok(Listen::Unix(text.into())),
        Err(_) => Err(Failure::Input(format!(
            "--metrics {text}: expected 127.0.0.1:PORT, [::1]:PORT, or the path of a Unix socket with a slash in it"
        ))),
    }
}

fn listen(arguments: &ServeArguments) -> Result<Vec<Listen>, Failure> {
    let mut listen: Vec<Listen> = arguments.unix.iter().cloned().map(Listen::Unix).collect();
    for address in &arguments.tcp {
        if !address.ip().is_loopback() && arguments.tls_cert.is_none() && !arguments.plain_tcp_beyond_loopback {
            return Err(Failure::Input(format!(
                "--tcp {address}: NBD without TLS is neither private nor safe beyond this machine: expected --tls-cert \
                 and --tls-key, or, if that network is trusted, --plain-tcp-beyond-loopback"
            )));
        }
        listen.push(Listen::Tcp(*address));
    }
    if arguments.systemd {
        listen.push(Listen::Systemd);
    }
    Ok(listen)
}

/// Exports as block devices.
fn ublk(arguments: &ServeArguments) -> Result<Vec<UblkConfig>, Failure> {
    let names: Vec<&str> = arguments.export.iter().map(|export| export.split('=').next().unwrap_or_default()).collect();
    let read = |text: &String| {
        let said = |why: String| Failure::Input(format!("--ublk {text}: {why}"));
        let config = text.parse::<UblkConfig>().map_err(said)?;
        if !names.contains(&config.export.as_str()) {
            let near = did_you_mean(&config.export, names.iter().copied());
            let export = &config.export;
            return Err(said(format!("no export is called `{export}`{near} (known: {})", names.join(", "))));
        }
        Ok(config)
    };
    arguments.ublk.iter().map(read).collect()
}

/// Sockets for virtual machines; with a single export its name may be left out.
fn vhost(arguments: &ServeArguments) -> Result<Vec<(String, PathBuf)>, Failure> {
    let name = |export: &'_ str| export.split('=').next().unwrap_or_default().to_owned();
    let names: Vec<String> = arguments.export.iter().map(|export| name(export)).collect();
    let read = |text: &String| match (text.split_once('='), names.as_slice()) {
        (Some((export, path)), _) if !path.is_empty() && names.iter().any(|name| name == export) => {
            Ok((export.to_owned(), path.into()))
        }
        (None, [only]) => Ok((only.clone(), text.into())),
        (said, _) => {
            let word = said.map_or("", |(export, _)| export);
            let near = did_you_mean(word, names.iter().map(String::as_str));
            let all = names.join(", ");
            Err(Failure::Input(format!("--vhost-user {text}: expected EXPORT=PATH, with an export of {all}{near}")))
        }
    };
    arguments.vhost_user.iter().map(read).collect()
}

/// An export with its path made absolute.
fn absolute(export: &str) -> String {
    let Some((name, rest)) = export.split_once('=').filter(|(_, rest)| !rest.starts_with("mem:")) else {
        return export.to_owned();
    };
    let (path, options) = rest.split_once(',').map_or((rest, String::new()), |(path, more)| (path, format!(",{more}")));
    let path = std::path::absolute(path).map_or(path.to_owned(), |path| path.display().to_string());
    format!("{name}={path}{options}")
}

/// Asks a running server.
pub(crate) fn ctl(arguments: &CtlArguments) -> Result<(), Failure> {
    let question = match &arguments.verb {
        CtlVerb::Get { name } => Question::Get(name.clone()),
        CtlVerb::Set { name, value } => Question::Set(name.clone(), value.clone()),
        CtlVerb::List { prefix } => Question::List(prefix.clone().unwrap_or_default()),
        CtlVerb::Export { verb: ExportVerb::Add { export } } => {
            // Parsed here so that a mistake is reported with its column.
            let text = export.parse::<blksched_serve::ExportConfig>();
            text.map_err(|error| Failure::Input(error.to_string()))?;
            Question::Add(absolute(export))
        }
        CtlVerb::Export { verb: ExportVerb::Remove { name, hard } } => {
            Question::Remove(name.clone(), if *hard { Leave::Hard } else { Leave::IfUnused })
        }
        CtlVerb::Export { verb: ExportVerb::Resize { name, size } } => {
            let bytes = |text: &String| {
                let expected = || Failure::Input(format!("{text}: expected a size, as in 8G"));
                number_or_letter(text).ok_or_else(expected)
            };
            Question::Resize(name.clone(), size.as_ref().map(bytes).transpose()?)
        }
    };
    let answer = blksched_serve::ask(&arguments.socket, &question).map_err(|error| match error {
        AskError::NoServer(why) => Failure::Outside(why),
        AskError::Refused(why) => Failure::Input(why),
    })?;
    if let (CtlVerb::List { prefix: Some(prefix) }, true) = (&arguments.verb, answer.is_empty()) {
        let message = format!("no name begins with `{prefix}`: `blksched ctl SOCKET list` shows all");
        return Err(Failure::Input(message));
    }
    let newline = if answer.is_empty() || answer.ends_with('\n') { "" } else { "\n" };
    Ok(output::print(&format!("{answer}{newline}"))?)
}
