//! As a script that writes into sysfs, and remembers the previous values.

use super::target::EmitTarget;
use super::writes::{EmitSetting, writes};

/// The script. It saves the scheduler, every knob of it (which a change of scheduler discards), and the other files
/// written.
pub(super) fn script(chosen: &EmitSetting, target: &EmitTarget) -> String {
    let writes = writes(chosen, target);
    let own = |(file, _): &&(String, String)| !file.starts_with("queue/iosched/") && file != "queue/scheduler";
    let others: Vec<&str> = writes.iter().filter(own).map(|(file, _)| file.as_str()).collect();
    let set: String = writes.iter().map(|(file, value)| format!("    echo {value} > {file}\n")).collect();
    format!(
        "# As root: `sh THIS_FILE sda` applies it to sda, `sh THIS_FILE sda undo` restores what was there.
set -eu
disk=${{1:?usage: sh $0 DISK [undo]}}
was=/run/blksched-$disk.was
cd \"/sys/block/$disk\"
case ${{2-apply}} in
apply)
    [ -e \"$was\" ] && {{ echo \"$was exists: it is applied already; undo first\" >&2; exit 1; }}
    {{
        echo \"queue/scheduler $(sed 's/.*\\[\\(.*\\)\\].*/\\1/' queue/scheduler)\"
        for file in queue/iosched/* {others}; do
            if [ -f \"$file\" ]; then echo \"$file $(cat \"$file\")\"; fi
        done
    }} > \"$was\"
{set}    ;;
undo)
    # What a knob shows is not always what it takes.
    while read -r file value; do echo \"$value\" > \"$file\" || echo \"$file keeps its value\" >&2; done < \"$was\"
    rm \"$was\"
    ;;
*)  echo \"usage: sh $0 DISK [undo]\" >&2; exit 2 ;;
esac
",
        others = others.join(" "),
    )
}
