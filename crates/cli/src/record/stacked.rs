//! What a device lies on, in a shell: for machines without blksched.

/// Functions of a shell that print what `input::stacked` reads: `members DEVICE`, each on a line and in an array's
/// order; `below DEVICE…`, all devices below these that are none of them; and `stacked DEVICE`, the word of a device's
/// line, nothing for a disk.
pub(super) const SHELL: &str = r#"members() {
  if ls /sys/block/$1/md/ 2>/dev/null | grep -q '^rd[0-9]'; then
    ls /sys/block/$1/md | sed -n 's/^rd\([0-9][0-9]*\)$/\1/p' | sort -n | while read -r r; do
      readlink /sys/block/$1/md/rd$r | sed 's/.*dev-//'
    done
  else
    ls /sys/block/$1/slaves 2>/dev/null || true
  fi | while read -r m; do
    [ ! -e /sys/class/block/$m/partition ] || m=$(basename "$(dirname "$(readlink -f /sys/class/block/$m)")")
    echo $m
  done
}
below() {
  seen=" $* "
  while [ $# -gt 0 ]; do
    for m in $(members $1); do
      case $seen in *" $m "*) continue ;; esac
      seen="$seen$m "; echo $m; set -- "$@" $m
    done
    shift
  done
}
stacked() {
  b=$(members $1 | paste -s -d+ -); [ -n "$b" ] || return 0
  f=/sys/block/$1; c=$(cat $f/md/chunk_size 2>/dev/null || echo 0); y=$(cat $f/md/layout 2>/dev/null || echo -)
  [ $c = 0 ] && c= || c=,chunk=$((c >> 10))k
  s=$(cat $f/md/stripe_cache_size 2>/dev/null || echo 256)
  [ $s = 256 ] && s= || s=,stripe_cache_size=$s
  case $(cat $f/md/level 2>/dev/null || cat $f/dm/uuid 2>/dev/null || echo $1)/$y in
    linear/*) echo " stack=linear:$b" ;;
    raid0/*) echo " stack=md-raid0:$b$c" ;;
    raid1/*) echo " stack=md-raid1:$b" ;;
    raid10/258|raid10/-) echo " stack=md-raid10:$b$c" ;;
    raid4/*) echo " stack=md-raid4:$b$c$s" ;;
    raid5/2|raid5/-) echo " stack=md-raid5:$b$c$s" ;;
    raid6/2|raid6/-) echo " stack=md-raid6:$b$c$s" ;;
    CRYPT-*) echo " stack=crypt:$b" ;;
    LVM-*) echo " stack=lvm:$b" ;;
    bcache*) echo " stack=bcache:$b" ;;
    *) echo "$1 is recorded without what it lies on: $b" >&2 ;;
  esac
}
"#;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::input::stacked;

    /// What the functions print about a made-up machine.
    fn said(blocks: &std::path::Path, command: &str) -> String {
        let text = SHELL.replace("/sys/block/", "/sys/class/block/");
        let text = text.replace("/sys/class/block", &blocks.display().to_string());
        let output = Command::new("sh").args(["-euc", &format!("{text}{command}")]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_shell_finds_what_we_find() {
        let (_root, blocks) = stacked::tests::sysfs();
        for top in ["dm-0", "dm-1", "md0", "md1", "md2", "sda"] {
            let ours = stacked::stack(&blocks, top).map_or_else(Vec::new, Result::unwrap);
            for (name, word) in &ours {
                assert_eq!(said(&blocks, &format!("stacked {name}")), format!(" stack={word}\n"));
            }
            let mut below: Vec<String> = said(&blocks, &format!("below {top}")).lines().map(str::to_owned).collect();
            let members = ours.iter().flat_map(|(_, word)| stacked::members(word));
            let mut expected: Vec<String> = members.map(str::to_owned).collect();
            below.sort();
            expected.sort();
            assert_eq!(below, expected, "{top}");
        }
        assert_eq!(said(&blocks, "stacked sda; stacked dm-2 2>/dev/null"), "");
        assert_eq!(said(&blocks, "below md0 sda"), "sdb\n", "sda is recorded itself");
    }
}
