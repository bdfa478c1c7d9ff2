//! The kernel that runs: what `uname -r` says becomes the era that decides as it does, or the nearest.

use alloc::format;
use alloc::string::{String, ToString};

use super::{Choice, Entry, SpecError, spec};
use crate::entry::StandsFor;
use crate::kernel::{Kernel, RHEL_8_3};

/// The build of Red Hat's 4.18 that was recorded: that of RHEL 8.3.
const RECORDED_EL8: &str = "4.18.0-240.";

/// The elevator `name` as the kernel `release` has it (`6.12.3-amd64`, as `uname -r` prints it). One that nobody
/// examined is the nearest that is known, and its choice says so.
pub(super) fn of_running(entries: &[Entry], name: &str, release: &str) -> Result<Choice, SpecError> {
    let latest = spec::parse(entries, name)?;
    let Some(kernel) = number(release) else { return Ok(stands_for(latest, release, "that is no kernel version")) };
    if let Ok(choice) = spec::parse(entries, &format!("{name}@{kernel}")) {
        if kernel == RHEL_8_3 && !release.starts_with(RECORDED_EL8) {
            return Ok(stands_for(choice, release, "of Red Hat's 4.18 that of RHEL 8.3 was recorded"));
        }
        return Ok(choice);
    }
    let presets = latest.entry.presets.iter();
    let nearest = presets.min_by_key(|preset| preset.kernel.distance(kernel)).expect("an elevator has eras");
    let choice = spec::of_era(&latest.entry, nearest);
    Ok(stands_for(choice, release, "nobody examined it, and this is the nearest that is known"))
}

fn stands_for(mut choice: Choice, release: &str, why: &str) -> Choice {
    choice.stands_for = Some(StandsFor { release: release.trim().to_string(), source: String::from(why) });
    choice
}

/// `6.12` of `6.12.3-amd64`; all of Red Hat's 4.18 are that of RHEL 8.3 here.
fn number(release: &str) -> Option<Kernel> {
    let release = release.trim();
    if release.starts_with("4.18.0-") && release.contains(".el8") {
        return Some(RHEL_8_3);
    }
    let mut numbers = release.split(['.', '-', '+']).map_while(|word| word.parse().ok());
    let (major, minor) = (numbers.next()?, numbers.next()?);
    // Before 3.0 the third number is a release, not a stable update.
    let patch = if major < 3 { numbers.next()? } else { 0 };
    Some(Kernel::new(major, minor, patch))
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::string::{String, ToString};

    use crate::Catalogue;

    #[track_caller]
    fn running(name: &str, release: &str) -> (String, Option<String>) {
        let choice = Catalogue::builtin().of_running(name, release).unwrap();
        let kernel = choice.kernel().to_string();
        (kernel, choice.stands_for.map(|stands| stands.source))
    }

    #[test]
    fn the_running_kernel_has_its_era() {
        assert_eq!(running("bfq", "6.12.3-amd64\n"), ("6.12".to_owned(), None));
        assert_eq!(running("mq-deadline", "5.15.0-89-generic"), ("5.15".to_owned(), None));
        assert_eq!(running("bfq", "4.18.0-240.22.1.el8_3.x86_64"), ("4.18-el8.3".to_owned(), None));
        assert_eq!(running("deadline", "2.6.33.7"), ("2.6.33".to_owned(), None));
    }

    #[test]
    fn one_that_nobody_examined_is_the_nearest_and_says_so() {
        for (name, release, kernel, why) in [
            ("bfq", "4.18.0-553.el8_10.x86_64", "4.18-el8.3", "RHEL 8.3 was recorded"),
            ("bfq", "5.14.0-427.el9.x86_64", "5.15", "the nearest that is known"),
            ("mq-deadline", "9.0.0", "7.3", "the nearest that is known"),
            ("kyber", "unknown", "6.18", "that is no kernel version"),
        ] {
            let (era, told) = running(name, release);
            assert_eq!(era, kernel, "{release}");
            assert!(told.unwrap().contains(why), "{release}");
        }
        assert!(Catalogue::builtin().of_running("bqf", "6.12.3").is_err());
    }
}
