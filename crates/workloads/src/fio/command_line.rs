//! A command line of fio's, as people paste it: which words are a job file, and which are for the program itself.
//!
//! **Rule** (fio's manual; each tried with fio 3.33) Options before the first `--name` are a `[global]` section, for
//! the command line's own jobs and for every job file, wherever the files' names stand; `--name=X` begins a job. One
//! dash is as good as two. A value may follow `=` or a blank, except that of an option that may stand alone (`thread`,
//! `time_based`), which needs `=`. Options of the program itself (`--output`, `--eta`) may stand anywhere. A beginning
//! that only one option has is as good as its name (`--numj`), behind `fio`.
//!
//! What fio refuses and this accepts: a line without any `--name` and job file is one job called `job`.

use super::Text;
use super::options::{self, Support};
pub use super::shell::commands_in;

/// The name of typed options in messages.
pub const COMMAND_LINE: &str = "command line";

/// What a caller's own options do with the word behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnOption {
    /// Nothing: it stands alone.
    Alone,
    /// It is the option's value, if it does not follow `=`.
    TakesWord,
}

/// What was typed instead of a job file, or beside one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// The job file that the options make.
    pub text: Option<Text>,
    /// The sections of job files that are wanted (`--section`); all if there is none.
    pub sections: Vec<String>,
    /// What was left out of it, and why.
    pub notes: Vec<String>,
    /// The file into which results go (`--output`).
    pub output: Option<String>,
    /// Whether results are wanted as JSON (`--output-format=json`).
    pub json: bool,
    /// Whether a command line of fio's was found in it.
    pub is_fio: bool,
}

/// How many words an option of fio's program has besides its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Alone,
    One,
    /// Only behind `=`.
    Perhaps,
}

/// fio's options that are about fio itself (fio 3.33, `--help` and manual).
const PROGRAM: [(&str, Words); 36] = [
    ("section", Words::One),
    ("output", Words::One),
    ("output-format", Words::One),
    ("minimal", Words::Alone),
    ("append-terse", Words::Perhaps),
    ("terse-version", Words::One),
    ("eta", Words::One),
    ("eta-interval", Words::One),
    ("eta-newline", Words::One),
    ("status-interval", Words::One),
    ("bandwidth-log", Words::Perhaps),
    ("readonly", Words::Alone),
    ("warnings-fatal", Words::Alone),
    ("max-jobs", Words::One),
    ("alloc-size", Words::One),
    ("idle-prof", Words::One),
    ("debug", Words::One),
    ("parse-only", Words::Alone),
    ("showcmd", Words::Alone),
    ("merge-blktrace-only", Words::Alone),
    ("cpuclock-test", Words::Alone),
    ("crctest", Words::Perhaps),
    ("cmdhelp", Words::Perhaps),
    ("enghelp", Words::Perhaps),
    ("latency-log", Words::Perhaps),
    ("daemonize", Words::One),
    ("server", Words::Perhaps),
    ("client", Words::One),
    ("remote-config", Words::One),
    ("inflate-log", Words::One),
    ("trigger-file", Words::One),
    ("trigger-timeout", Words::One),
    ("trigger", Words::One),
    ("trigger-remote", Words::One),
    ("aux-path", Words::One),
    ("timeout", Words::One),
];

/// Options with a note that may stand alone, as fio's `--cmdhelp` says.
const ALONE: [&str; 11] = [
    "thread",
    "threads",
    "refill_buffers",
    "zero_buffers",
    "hipri",
    "fixedbufs",
    "registerfiles",
    "sqthread_poll",
    "nonvectored",
    "userspace_reap",
    "uncached",
];

/// Programs that people start fio with; what they say about processes is not taken over.
const LAUNCHERS: [&str; 36] = [
    "sudo",
    "doas",
    "time",
    "env",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "numactl",
    "nohup",
    "timeout",
    "stdbuf",
    "docker",
    "podman",
    "nerdctl",
    "kubectl",
    "oc",
    "ssh",
    "cgexec",
    "systemd-run",
    "chroot",
    "exec",
    "setsid",
    "eval",
    "watch",
    "strace",
    "perf",
    "unshare",
    "nsenter",
    "su",
    "runuser",
    "screen",
    "srun",
    "xargs",
    "adb",
    "crictl",
];

/// Prompts of a shell, alone or behind its user, host and folder: `$`, `root@pod:/mnt#`, `[root@db` and `~]#`; and the
/// number of a footnote, `[1]`.
pub(super) fn is_prompt(word: &str) -> bool {
    let alone = ["$", "#", "%", ">"].contains(&word);
    let of_user = word.contains('@') && (word.ends_with(['$', '#', '%', '>']) || word.starts_with('['));
    let footnote = || word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).is_some_and(is_number);
    alone || of_user || word.ends_with("]#") || word.ends_with("]$") || footnote()
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Takes fio's words out of a command line. `own` says whether an option, named without dashes, is the caller's. Comes
/// with the words that are the caller's: its options, and the names of job files and other loads.
pub fn split(words: Vec<String>, own: &dyn Fn(&str) -> Option<OwnOption>) -> (Vec<String>, Typed) {
    let mut line = Line { own, typed: Typed::default(), text: String::new(), rest: Vec::new(), ignored: Vec::new() };
    let words = line.without_launcher(words);
    line.read(words);
    line.finish()
}

struct Line<'o> {
    own: &'o dyn Fn(&str) -> Option<OwnOption>,
    typed: Typed,
    /// The job file so far.
    text: String,
    rest: Vec<String>,
    /// Options of fio's program that change nothing here.
    ignored: Vec<String>,
}

/// Whether a word names the program: `fio`, `/usr/bin/fio`, `xridge/fio:latest`.
pub(super) fn is_fio(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.split(':').next() == Some("fio")
}

pub(super) fn is_launcher(word: &str) -> bool {
    let is_assignment = || {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    LAUNCHERS.contains(&word.rsplit('/').next().unwrap_or(word)) || is_prompt(word) || is_assignment()
}

impl Line<'_> {
    /// The words without `fio` and what stands in front of it: `$ sudo fio`, `docker run … image fio`, `sh -c 'fio …'`.
    fn without_launcher(&mut self, words: Vec<String>) -> Vec<String> {
        let mut at = 0;
        // Options of the caller may come first.
        while let Some(own) = words.get(at).and_then(|word| self.own_option(word)) {
            at += if own == OwnOption::TakesWord && !words[at].contains('=') { 2 } else { 1 };
        }
        let Some(first) = words.get(at) else { return words };
        // Pasted in quotes, or as the argument of a shell.
        let is_shell = |word: &str| matches!(word.rsplit('/').next(), Some("sh" | "bash"));
        let quotes = is_shell(first) || words[at..].iter().take(3).any(|word| word == "eval");
        let quoted = if quotes { at + 1..words.len().min(at + 3) } else { at..at + 1 };
        let inside = quoted.clone().map(|at| (at, commands_in(&words[at]))).find(|(_, calls)| !calls.is_empty());
        if let Some((place, calls)) = inside {
            if calls.len() > 1 {
                let (all, them) = (calls.len(), "give the others by themselves");
                self.typed.notes.push(format!("the line calls fio {all} times: this is the first of them; {them}"));
            }
            if let Some(quote) = super::shell::unclosed_quote(&words[place]) {
                let all = "what follows it is one word";
                self.typed.notes.push(format!("the line opens a quote ({quote}) and does not close it: {all}"));
            }
            let inside = calls.into_iter().next().unwrap_or_default();
            let mut all: Vec<String> = words[..at].to_vec();
            all.extend(inside);
            all.extend(words[place + 1..].iter().cloned());
            return self.without_launcher(all);
        }
        // `log_must eval fio …`, in a test's script.
        let is_eval = words.get(at + 1).is_some_and(|word| word == "eval");
        if !is_fio(first) && !is_launcher(first) && !is_eval {
            return words;
        }
        let has_image =
            words[at..].iter().any(|word| matches!(&**word, "docker" | "podman" | "nerdctl" | "kubectl" | "oc"));
        let found = match has_image {
            // Its own options may have values that look like fio.
            true => words.iter().rposition(|word| is_fio(word)),
            false => words[at..].iter().position(|word| is_fio(word)).map(|found| found + at),
        };
        let Some(found) = found else { return words };
        let before: Vec<&str> = words[at..found].iter().map(String::as_str).collect();
        let told: Vec<&str> = before.iter().copied().filter(|word| !is_prompt(word) && *word != "sudo").collect();
        if !told.is_empty() {
            let told = told.join(" ");
            self.typed.notes.push(format!(
                "`{told}` in front of fio is left out: say priorities and processors in the job, as in --prioclass, \
                 --cpus_allowed"
            ));
        }
        self.typed.is_fio = true;
        [&words[..at], &words[found + 1..]].concat()
    }

    fn own_option(&self, word: &str) -> Option<OwnOption> {
        let name = word.strip_prefix("--")?;
        (self.own)(name.split('=').next().unwrap_or(name))
    }

    /// The option of which this is the beginning, if there is only one, and none of the caller's.
    fn whole_name<'n>(&self, name: &'n str) -> &'n str {
        let is_known = |name: &str| options::is_option(name) || PROGRAM.iter().any(|row| row.0 == name);
        if !self.typed.is_fio || is_known(name) || (self.own)(name).is_some() {
            return name;
        }
        let of_program = PROGRAM.iter().map(|row| row.0).filter(|other| other.starts_with(name));
        match &options::beginning_with(name).into_iter().chain(of_program).collect::<Vec<_>>()[..] {
            &[only] => only,
            _ => name,
        }
    }

    fn read(&mut self, words: Vec<String>) {
        // Several options in one word: a variable in quotes.
        let words = words.into_iter().flat_map(|word| apart(&word).unwrap_or_else(|| vec![word]));
        let words: Vec<String> = words.collect();
        let has_name = words.iter().any(|word| option(word).is_some_and(|(name, _)| name == "name"));
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            // A backslash in front of a blank, where a line was to go on.
            let plain = word.trim_matches(['\\', '\n', '\r']);
            let plain = if plain.trim_start().starts_with('-') { plain.trim_start() } else { plain };
            if plain.trim().is_empty() && !word.is_empty() {
                continue;
            }
            let Some((name, value)) = option(plain) else {
                self.rest.push(word);
                continue;
            };
            let name = self.whole_name(name);
            // What could be either's belongs to fio only behind `fio`.
            let own = plain.starts_with("--").then(|| (self.own)(name)).flatten();
            let is_job = options::is_option(name);
            let program = PROGRAM.iter().find(|row| row.0 == name).map(|row| row.1);
            let is_ours = own.is_some() && !(self.typed.is_fio && (is_job || program.is_some()));
            let takes = match (is_job, program) {
                _ if is_ours => own == Some(OwnOption::TakesWord),
                (true, _) => !may_stand_alone(name),
                (false, Some(words)) => words == Words::One,
                (false, None) => false,
            };
            let is_value = |next: &String| takes && value.is_none() && option(next).is_none();
            let next = words.next_if(is_value);
            // Behind `fio` a word that neither knows is a misspelt option, or one of an engine's own: the job's errors
            // say more about it.
            let is_misspelt = || has_name && options::nearest_accepted(name).is_some();
            let is_job = is_job || (own.is_none() && program.is_none() && (self.typed.is_fio || is_misspelt()));
            if is_ours || !is_job && program.is_none() {
                self.rest.push(word.clone());
                self.rest.extend(next);
                continue;
            }
            let value = value.map(str::to_owned).or(next);
            match is_job {
                true => self.job(name, value.as_deref()),
                false => self.program(name, value.as_deref()),
            }
        }
    }

    /// An option of a job; `name` begins one.
    fn job(&mut self, name: &str, value: Option<&str>) {
        if self.text.is_empty() && name != "name" {
            self.text.push_str("[global]\n");
        }
        let plain = |text: &str| text.replace(['\n', '\r'], " ");
        self.text.push_str(&match (name, value) {
            ("name", Some(job)) => format!("[{}]\n", plain(job).replace(']', "_")),
            (_, Some(value)) => format!("{name}={}\n", plain(value)),
            (_, None) => format!("{name}\n"),
        });
    }

    /// An option of fio's program.
    fn program(&mut self, name: &str, value: Option<&str>) {
        match (name, value) {
            ("section", Some(section)) => self.typed.sections.push(section.to_owned()),
            ("output", Some(file)) => self.typed.output = Some(file.to_owned()),
            ("output-format", Some(formats)) => {
                self.typed.json |= formats.split(',').any(|format| format.starts_with("json"));
                let other = |format: &&str| !format.starts_with("json") && *format != "normal";
                self.ignored.extend(formats.split(',').find(other).map(|other| format!("output-format={other}")));
            }
            // An old word of fio's for the option of a job.
            ("timeout", Some(time)) => self.job("runtime", Some(time)),
            (name, _) => self.ignored.push(name.to_owned()),
        }
    }

    fn finish(mut self) -> (Vec<String>, Typed) {
        let has_job = self.text.lines().any(|line| line.starts_with('[') && line != "[global]");
        let is_load = |at: usize| {
            let before = at.checked_sub(1).map(|at| &self.rest[at]);
            let is_value =
                before.is_some_and(|word| !word.contains('=') && self.own_option(word) == Some(OwnOption::TakesWord));
            option(&self.rest[at]).is_none() && !is_value
        };
        if !self.text.is_empty() && !has_job && !(0..self.rest.len()).any(is_load) {
            self.text.push_str("[job]\n");
            let note = "fio would refuse the line, since it has neither --name nor a job file; the job is called `job`";
            self.typed.notes.push(note.to_owned());
        }
        if !self.ignored.is_empty() {
            let all: Vec<String> = self.ignored.iter().map(|name| format!("--{name}")).collect();
            let (verb, they) = if all.len() == 1 { ("changes", "it is") } else { ("change", "they are") };
            self.typed
                .notes
                .push(format!("{} {verb} nothing: {they} about fio's own output and process", all.join(", ")));
        }
        let text = (!self.text.is_empty()).then(|| Text { name: COMMAND_LINE.to_owned(), text: self.text });
        (self.rest, Typed { text, ..self.typed })
    }
}

/// The name and value of an option, with one dash or two; letters behind one dash, as in `-o`, are none of fio's.
pub(super) fn option(word: &str) -> Option<(&str, Option<&str>)> {
    let name = word.strip_prefix("--").or_else(|| word.strip_prefix('-').filter(|name| name.len() > 1))?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let (name, value) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
    begins.then_some((name, value))
}

/// The words of several options that stand in one; `None` if it is one.
fn apart(word: &str) -> Option<Vec<String>> {
    option(word)?;
    let words = super::shell::words(word);
    let names = words.iter().skip(1).filter_map(|word| option(word)).any(|(name, _)| options::is_option(name));
    (words.len() > 1 && names).then_some(words)
}

/// Whether an option of a job may have no value, so that the next word is not its value.
fn may_stand_alone(name: &str) -> bool {
    match options::find(name).map(|option| (option.name, option.support)) {
        // In a job file it may stand alone here, but not in fio.
        Some(("pre_read", _)) => false,
        Some((_, Support::Supported(takes))) => takes.nothing(),
        Some((name, _)) => ALONE.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::words as shell_words;
    use super::*;

    fn own(name: &str) -> Option<OwnOption> {
        match name {
            "disk" | "threads" | "seeds" => Some(OwnOption::TakesWord),
            "json" | "parse-only" => Some(OwnOption::Alone),
            _ => None,
        }
    }

    fn of(line: &str) -> (String, Typed) {
        let (rest, typed) = split(shell_words(line), &own);
        (rest.join(" "), typed)
    }

    fn text(line: &str) -> String {
        of(line).1.text.map_or(String::new(), |text| text.text)
    }

    #[test]
    fn every_way_of_calling_fio_makes_the_same_job_file() {
        let wanted = "[a]\nrw=randread\nbs=4k\ngroup_reporting\ndirect=1\n";
        for line in [
            "--name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "-name=a -rw=randread -bs=4k -group_reporting -direct=1",
            "--name a --rw randread --bs 4k --group_reporting --direct 1",
            "fio --name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "$ sudo fio --name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "/usr/bin/fio --name=a \\\n  --rw=randread \\\n --bs=4k --group_reporting --direct=1",
            "docker run --rm -v /data:/data --name=bench xridge/fio:3 --name=a --rw=randread --bs=4k --group_reporting \
             --direct=1",
            "docker run -it img fio --name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "kubectl exec -it pod -- fio --name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "'fio --name=a --rw=randread --bs=4k --group_reporting --direct=1'",
            "sh -c 'sudo fio --name=a --rw=randread --bs=4k --group_reporting --direct=1'",
            "--disk nvme-ssd fio --name=a --rw=randread --bs=4k --group_reporting --direct=1",
            "fio --name=a --rw=randread --bs=4k --group_reporting --direct=1 --disk nvme-ssd",
        ] {
            assert_eq!(text(line), wanted, "{line}");
            assert!(["", "--disk nvme-ssd"].contains(&&*of(line).0), "{line}: {}", of(line).0);
        }
    }

    #[test]
    fn options_before_the_first_name_are_global_and_those_beside_a_file_too() {
        assert_eq!(text("--rw=read --name=a --bs=8k --name b"), "[global]\nrw=read\n[a]\nbs=8k\n[b]\n");
        let (rest, typed) = of("x.fio --filename=/dev/sdb --seeds 2");
        assert_eq!(
            (rest.as_str(), typed.text.unwrap().text.as_str()),
            ("x.fio --seeds 2", "[global]\nfilename=/dev/sdb\n")
        );
        let (_, typed) = of("--rw=read --size=1g --seeds 2");
        assert_eq!(typed.text.unwrap().text, "[global]\nrw=read\nsize=1g\n[job]\n");
        assert!(typed.notes[0].contains("the job is called `job`"), "{:?}", typed.notes);
    }

    #[test]
    fn what_is_fios_own_is_obeyed_or_named_once() {
        let (rest, typed) =
            of("fio --name=a --eta=never --output-format=json --output o.json --minimal --section=b x.fio");
        assert_eq!((rest.as_str(), typed.json, typed.output.as_deref()), ("x.fio", true, Some("o.json")));
        assert_eq!(typed.sections, ["b"]);
        assert_eq!(typed.notes, ["--eta, --minimal change nothing: they are about fio's own output and process"]);
        let (_, typed) = of("ionice -c 3 fio --name=a --status-interval 5");
        assert!(typed.notes[0].starts_with("`ionice -c 3` in front of fio is left out"), "{:?}", typed.notes);
        assert!(typed.notes[1].starts_with("--status-interval changes nothing"), "{:?}", typed.notes);
    }

    #[test]
    fn the_callers_options_stay_its_own_unless_fio_stands_before_them() {
        assert_eq!(of("--threads 2 --name=a").0, "--threads 2");
        assert_eq!(of("fio --name=a --threads 2").0, "2");
        assert_eq!(of("--json --parse-only --frobnicate=1 -o x").0, "--json --parse-only --frobnicate=1 -o x");
        assert_eq!(of("backup.fio").1, Typed::default());
        assert_eq!(of("dd size=1g").1, Typed::default());
    }

    #[test]
    fn a_beginning_that_only_one_option_has_is_its_name() {
        assert_eq!(
            text("fio --name=a --numj=4 --rwmixre 30 --group_rep"),
            "[a]\nnumjobs=4\nrwmixread=30\ngroup_reporting\n"
        );
        assert!(of("fio --name=a --readon").1.notes[0].starts_with("--readonly changes nothing"));
        // Ambiguous ones are left to the job's errors, as are unknown ones; without `fio` in front, to the caller.
        assert_eq!(text("fio --name=a --dire=1 --uri=x"), "[a]\ndire=1\nuri=x\n");
        assert_eq!(of("--numj=4 x.fio").0, "--numj=4 x.fio");
    }

    #[test]
    fn a_value_is_the_next_word_unless_that_is_an_option() {
        assert_eq!(text("--name=a --direct --bs=4k"), "[a]\ndirect\nbs=4k\n");
        assert_eq!(text("--name=a --nice -5 --thread x.fio"), "[a]\nnice=-5\nthread\n");
        assert_eq!(of("--name=a --thread x.fio").0, "x.fio");
        assert_eq!(text("'--name=a --rw=read --bs 4k' --direct=1"), "[a]\nrw=read\nbs=4k\ndirect=1\n");
        assert_eq!(text("'--name=a job' --rw=read"), "[a job]\nrw=read\n");
    }

    #[test]
    fn a_misspelt_option_beside_a_job_is_the_jobs_and_any_other_word_the_callers() {
        assert_eq!(text("--name=a --iodepht=3"), "[a]\niodepht=3\n");
        assert_eq!(of("--name=a --seedz=3").0, "--seedz=3");
        assert_eq!(of("--iodepht=3 x.fio").0, "--iodepht=3 x.fio");
    }

    #[test]
    fn a_line_that_calls_fio_twice_says_which_is_run() {
        let (_, typed) = of("'fio --name=a --rw=read > a.log && fio --name=b'");
        assert_eq!(typed.text.unwrap().text, "[a]\nrw=read\n");
        assert!(typed.notes[0].contains("calls fio 2 times"), "{:?}", typed.notes);
        let (_, typed) = of("\"fio --name=a --rw='read --bs=4k\"");
        assert!(typed.notes[0].contains("opens a quote (') and does not close it"), "{:?}", typed.notes);
        assert!(of("'fio --name=a --rw=read'").1.notes.is_empty());
    }
}
