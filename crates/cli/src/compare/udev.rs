//! A verdict as a udev rules file: the rule, what applies it now, what undoes it, and the evidence as comments.

use super::action::Action;
use super::measured::{Control, Measured};

/// Whole disks that a scheduler can be set on.
const DISKS: &str = "sd[a-z]*|hd[a-z]|vd[a-z]*|xvd[a-z]*|mmcblk[0-9]*|nvme[0-9]*n[0-9]*";

/// The file.
pub(super) fn rules(heading: &str, sentences: &[String], action: &Action<'_>, rotational: bool) -> String {
    let mut text = String::from("# Made by `blksched compare --emit udev`: simulated, on one model of a disk.\n#\n");
    for line in [heading.trim()].into_iter().chain(sentences.iter().map(String::as_str)) {
        text += &comment(line);
    }
    let Some(chosen) = &action.chosen else { return text + "#\n# So there is no rule.\n" };
    let (chosen, default) = (chosen.scheduler, action.default);
    text += "#\n# Put this into /etc/udev/rules.d/60-io-scheduler.rules. Now, without a restart \
             (DISK: yours, as in sda):\n";
    text += &commands(&set(chosen, |control| &control.value));
    text += "#\n# To undo it, remove the file, and:\n";
    if default.is_present {
        text += &commands(&undo(chosen, default));
    } else {
        text += "#   echo NAME > /sys/block/$DISK/queue/scheduler, NAME being what stood there in brackets before\n";
    }
    text + "\n" + &rule(chosen, rotational)
}

fn rule(chosen: &Measured, rotational: bool) -> String {
    let mut rule = format!(
        "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", KERNEL==\"{DISKS}\", \
         ATTR{{queue/rotational}}==\"{}\", ATTR{{queue/scheduler}}=\"{}\"",
        u8::from(rotational),
        chosen.scheduler
    );
    for Control { name, value, .. } in &chosen.controls {
        rule += &format!(", ATTR{{queue/iosched/{name}}}=\"{value}\"");
    }
    rule + "\n"
}

/// File below the queue's directory, and what to write into it.
type Write = (String, String);

fn set(scheduler: &Measured, value: fn(&Control) -> &String) -> Vec<Write> {
    let knob = |control: &Control| (format!("iosched/{}", control.name), value(control).clone());
    let scheduler_file = ("scheduler".to_owned(), scheduler.scheduler.to_owned());
    std::iter::once(scheduler_file).chain(scheduler.controls.iter().map(knob)).collect()
}

/// Back to the default: another scheduler brings its knobs as they were, the same one must have its own turned back.
fn undo(chosen: &Measured, default: &Measured) -> Vec<Write> {
    let mut writes = set(default, |control| &control.value);
    if chosen.scheduler == default.scheduler {
        let turned_only_here = |control: &&Control| default.controls.iter().all(|other| other.name != control.name);
        let back = |control: &Control| (format!("iosched/{}", control.name), control.default.clone());
        writes.extend(chosen.controls.iter().filter(turned_only_here).map(back));
    }
    writes
}

fn commands(writes: &[Write]) -> String {
    writes.iter().map(|(file, value)| format!("#   echo {value} > /sys/block/$DISK/queue/{file}\n")).collect()
}

/// A comment, broken between words.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if last.chars().count() + 1 + word.chars().count() > 118 {
            lines.push(format!("#   {word}"));
        } else {
            *last += &format!(" {word}");
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_breaks_between_words_and_every_line_is_one() {
        let text = comment(&"word ".repeat(60));
        assert!(text.lines().all(|line| line.starts_with("# ") && line.len() <= 118), "{text}");
        assert_eq!(text.matches("word").count(), 60);
    }
}
