//! A loop device, its scheduler and its knobs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// A loop device of ours; detached when dropped.
pub struct LoopDevice {
    path: PathBuf,
    queue: PathBuf,
    /// Its number, if it was made for us and goes with us.
    made: Option<u32>,
}

/// loop(4): the numbers of the requests `LOOP_CTL_ADD` and `LOOP_CTL_REMOVE`.
const ADD: u32 = 0x4c80;
const REMOVE: u32 = 0x4c81;
/// Devices that we make have numbers from this on: `losetup --find` takes the lowest.
const OUR_NUMBERS: core::ops::Range<u32> = 40..200;

impl LoopDevice {
    /// A free loop device over `file`.
    pub fn over(file: PathBuf) -> Result<LoopDevice> {
        LoopDevice::attached(&file, "--find", None)
    }

    /// A loop device that did not exist before. The kernel keeps what it learned of a device's rate of writing while
    /// other files are attached to it; of this one it knows nothing.
    pub fn new_over(file: &Path) -> Result<LoopDevice> {
        let is_unused = |number: &u32| !Path::new("/sys/block").join(format!("loop{number}")).exists();
        let number = OUR_NUMBERS.into_iter().find(is_unused).context("no loop device is left")?;
        control(ADD, number)?;
        let made = LoopDevice::attached(file, &format!("/dev/loop{number}"), Some(number));
        if made.is_err() {
            control(REMOVE, number)?;
        }
        made
    }

    fn attached(file: &Path, which: &str, made: Option<u32>) -> Result<LoopDevice> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--show", "--direct-io=on", which]).arg(file);
        let done = shell::capture(losetup)?;
        if !done.good {
            bail!("losetup: {}", done.output.trim());
        }
        let path = PathBuf::from(done.output.lines().last().unwrap_or_default().trim());
        let name = path.file_name().context("losetup names the device")?.to_owned();
        let device = LoopDevice { path, queue: Path::new("/sys/block").join(name).join("queue"), made };
        device.all_tags()?;
        Ok(device)
    }

    /// Restores all of the driver's tags. Writing `nr_requests` under `none` cuts the driver's own tags, and a loop
    /// device keeps them cut when it is detached, attached again, or given a scheduler, while `nr_tags` and, under
    /// `none`, `nr_requests` report the full number (observed on 6.18.44, in debugfs: `hctx0/tags` has `nr_tags=128`
    /// and `depth=8`). Writing the reported number does nothing, hence two writes.
    fn all_tags(&self) -> Result<()> {
        self.choose("none")?;
        let tags = self.tags()?;
        for number in [tags.saturating_sub(1).max(1), tags] {
            self.set("nr_requests", &number.to_string())?;
        }
        Ok(())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The schedulers that this kernel offers for it.
    pub fn schedulers(&self) -> Result<Vec<String>> {
        let text = self.read("scheduler")?;
        Ok(text.split_whitespace().map(|name| name.trim_matches(['[', ']']).to_owned()).collect())
    }

    pub fn choose(&self, scheduler: &str) -> Result<()> {
        fs::write(self.queue.join("scheduler"), scheduler).with_context(|| format!("choosing {scheduler}"))
    }

    /// Writes a file of the queue.
    pub fn set(&self, name: &str, value: &str) -> Result<()> {
        let path = self.queue.join(name);
        fs::write(&path, value).with_context(|| format!("writing `{value}` to {}", path.display()))
    }

    /// A knob's text, if this kernel has it.
    pub fn knob(&self, name: &str) -> Result<Option<String>> {
        let path = self.queue.join("iosched").join(name);
        if path.exists() { Ok(Some(fs::read_to_string(path)?.trim().to_owned())) } else { Ok(None) }
    }

    /// A number in a file of the queue.
    pub fn number_in(&self, name: &str) -> Result<u32> {
        let text = self.read(name)?;
        text.trim().parse().with_context(|| format!("{name} is `{}`", text.trim()))
    }

    /// How many requests the driver accepts at a time, unless they were cut.
    pub fn tags(&self) -> Result<u32> {
        let path = self.queue.with_file_name("mq").join("0/nr_tags");
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        text.trim().parse().with_context(|| format!("nr_tags is `{}`", text.trim()))
    }

    /// Its number in the form of traces' filters: major << 20 | minor.
    pub fn number(&self) -> Result<u32> {
        let text = fs::read_to_string(self.queue.with_file_name("dev"))?;
        let (major, minor) = text.trim().split_once(':').context("a device's number is major:minor")?;
        Ok(major.parse::<u32>()? << 20 | minor.parse::<u32>()?)
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.queue.join(name);
        fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = self.all_tags() {
            eprintln!("{} may keep fewer tags than it says: {error:#}", self.path.display());
        }
        let mut losetup = Command::new("losetup");
        losetup.arg("--detach").arg(&self.path);
        if !shell::capture(losetup).is_ok_and(|done| done.good) {
            eprintln!("{} stays attached: losetup --detach {}", self.path.display(), self.path.display());
        }
        if let Some(number) = self.made
            && let Err(error) = removed(number)
        {
            eprintln!("{} stays: {error:#}", self.path.display());
        }
    }
}

/// Removes a device, which is busy for an instant after it was detached.
fn removed(number: u32) -> Result<()> {
    let mut tried = control(REMOVE, number);
    for _ in 0..20 {
        if tried.is_ok() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        tried = control(REMOVE, number);
    }
    tried
}

/// Adds or removes a device.
fn control(request: u32, number: u32) -> Result<()> {
    let code = format!("import fcntl\nfcntl.ioctl(open('/dev/loop-control', 'rb+', 0), {request}, {number})");
    let mut python = Command::new("python3");
    python.args(["-c", &code]);
    let done = shell::capture(python)?;
    if !done.good {
        bail!("/dev/loop-control, {request:#x} of {number}: {}", done.output.lines().last().unwrap_or_default());
    }
    Ok(())
}
