//! Where the machine's control groups are, and why one of their files is not there.

use std::fs;
use std::path::{Path, PathBuf};

use blksched_lab::live::Place;
use blksched_text::did_you_mean;

/// The kernel's options without which a file does not exist.
const NEEDS: [(&str, &str); 6] = [
    ("io.bfq.weight", "CONFIG_BFQ_GROUP_IOSCHED, and bfq's module loaded"),
    ("io.cost.model", "CONFIG_BLK_CGROUP_IOCOST"),
    ("io.cost.qos", "CONFIG_BLK_CGROUP_IOCOST"),
    ("io.latency", "CONFIG_BLK_CGROUP_IOLATENCY"),
    ("io.max", "CONFIG_BLK_DEV_THROTTLING"),
    ("io.weight", "CONFIG_BLK_CGROUP_IOCOST"),
];

/// The control groups of version 2.
pub(crate) struct GroupTree {
    /// The root group's folder; `None` if nothing of that kind is mounted.
    root: Option<PathBuf>,
    /// Where version 1 has the controller instead.
    of_version_1: Option<PathBuf>,
}

impl GroupTree {
    /// This machine's.
    pub fn here() -> GroupTree {
        GroupTree::below(Path::new("/"))
    }

    /// That of the machine whose file systems are mounted below `root`.
    pub fn below(root: &Path) -> GroupTree {
        let tree = GroupTree::mounted(&fs::read_to_string(root.join("proc/self/mounts")).unwrap_or_default());
        let below = |at: PathBuf| root.join(at.strip_prefix("/").unwrap_or(&at));
        GroupTree { root: tree.root.map(below), of_version_1: tree.of_version_1.map(below) }
    }

    /// A group's folders, in both versions; of those that are not there, too.
    pub fn folders(&self, group: &str) -> Vec<PathBuf> {
        let roots = self.root.iter().chain(&self.of_version_1);
        roots.map(|root| root.join(group.trim_start_matches('/'))).collect()
    }

    /// As a list of mounts says, in the form of `/proc/self/mounts`.
    fn mounted(mounts: &str) -> GroupTree {
        let mut tree = GroupTree { root: None, of_version_1: None };
        for words in mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()) {
            let [_, at, kind, options, ..] = words[..] else { continue };
            match kind {
                "cgroup2" => drop(tree.root.get_or_insert_with(|| PathBuf::from(at))),
                "cgroup" if options.split(',').any(|option| option == "blkio") => {
                    tree.of_version_1 = Some(PathBuf::from(at));
                }
                _ => {}
            }
        }
        tree
    }

    #[cfg(test)]
    pub fn at(root: &Path) -> GroupTree {
        GroupTree { root: Some(root.to_owned()), of_version_1: None }
    }

    /// A group's folder.
    fn folder(&self, group: &str) -> Option<PathBuf> {
        Some(self.root.as_ref()?.join(group))
    }

    /// The groups, by their paths below the root group, each with its folder.
    fn all(root: &Path) -> Vec<(String, PathBuf)> {
        let mut all = Vec::new();
        let mut within = vec![String::new()];
        while let Some(above) = within.pop() {
            let folder = root.join(&above);
            within.extend(groups_in(&folder).iter().map(|name| format!("{above}/{name}").trim_matches('/').to_owned()));
            if !above.is_empty() {
                all.push((above, folder));
            }
        }
        all.sort();
        all
    }

    /// The groups below the root that have this file, and whether none below them has it, too: whose figures are
    /// nobody else's.
    pub fn with_file(&self, file: &str) -> Vec<(String, PathBuf, bool)> {
        let has = |folder: &Path| folder.join(file).exists();
        let all = self.root.iter().flat_map(|root| GroupTree::all(root)).filter(|(_, folder)| has(folder));
        let is_last = |folder: &Path| !groups_in(folder).iter().any(|below| has(&folder.join(below)));
        all.map(|(group, folder)| (is_last(&folder), group, folder))
            .map(|(last, group, at)| (group, at, last))
            .collect()
    }

    /// The files in which BFQ has a weight for one of these disks alone.
    ///
    /// # Errors
    /// Of one that a trial could not give back: of version 1, or in a group with a name that no journal holds.
    pub fn bfqs_weights(&self, numbers: &[String]) -> Result<Vec<Place>, String> {
        let has_line = |file: &Path| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines().any(|line| numbers.iter().any(|number| line.split_whitespace().next() == Some(number)))
        };
        let switch = "a switch away from bfq forgets that";
        let of_version_1 = self.of_version_1.iter().flat_map(|root| GroupTree::all(root));
        if let Some((_, folder)) =
            of_version_1.into_iter().find(|(_, at)| has_line(&at.join("blkio.bfq.weight_device")))
        {
            return Err(format!(
                "{} has a weight for this disk, and {switch}: of groups of version 1 a trial does not give it back: \
                 expected settings of bfq alone, or none of these weights",
                folder.join("blkio.bfq.weight_device").display()
            ));
        }
        let mut places = Vec::new();
        for (group, folder) in self.root.iter().flat_map(|root| GroupTree::all(root)) {
            let file = folder.join("io.bfq.weight");
            if !has_line(&file) {
                continue;
            }
            if group.contains(['=', '\n']) || group.contains("..") {
                return Err(format!(
                    "{} has a weight for this disk, {switch}, and no journal holds this group's name: expected \
                     settings of bfq alone, or a group without `=` and `..` in its name",
                    file.display()
                ));
            }
            places.push(Place::Group { group, file: "io.bfq.weight".to_owned() });
        }
        Ok(places)
    }

    /// Whether there is no such group (any more).
    pub fn is_gone(&self, group: &str) -> bool {
        self.folder(group).is_none_or(|folder| !folder.is_dir())
    }

    /// The file.
    ///
    /// # Errors
    /// Why it is not there, and what would have it there.
    pub fn path(&self, group: &str, file: &str) -> Result<PathBuf, String> {
        let Some(folder) = self.folder(group) else {
            return Err(format!(
                "{file}: it is of control groups of version 2, and none are mounted here{}",
                self.version_1()
            ));
        };
        let path = folder.join(file);
        if path.exists() { Ok(path) } else { Err(self.missing(group, &folder, file)) }
    }

    fn version_1(&self) -> String {
        self.of_version_1.as_ref().map_or_else(String::new, |at| {
            format!(
                "; version 1 has the controller ({}), which systemd.unified_cgroup_hierarchy=1 on the kernel's command \
                 line gives to version 2",
                at.display()
            )
        })
    }

    fn missing(&self, group: &str, folder: &Path, file: &str) -> String {
        let root = self.root.as_deref().unwrap_or(folder);
        let controllers = |at: &Path| fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
        let has_io = |at: &Path| controllers(at).split_whitespace().any(|word| word == "io");
        if !has_io(root) {
            let has = controllers(root).split_whitespace().collect::<Vec<_>>().join(", ");
            let has = if has.is_empty() { "none".to_owned() } else { has };
            return format!(
                "{file}: {} has no io controller (its controllers: {has}){}",
                root.display(),
                self.version_1()
            );
        }
        if !folder.is_dir() {
            // The first part of the path that is not there, and what is there instead.
            let mut at = root.to_owned();
            let part = group.split('/').find(|part| {
                at.push(part);
                !at.is_dir()
            });
            at.pop();
            let part = part.unwrap_or(group);
            let mut all = groups_in(&at);
            let near = did_you_mean(part, all.iter().map(String::as_str));
            all.truncate(12);
            let there = if all.is_empty() { "no groups".to_owned() } else { all.join(", ") };
            return format!("`{group}/{file}`: no group `{part}` in {}, which has {there}{near}", at.display());
        }
        if !has_io(folder) {
            let above = folder.parent().unwrap_or(folder);
            return format!(
                "`{group}/{file}`: {group} has no io controller: expected `echo +io > {}`",
                above.join("cgroup.subtree_control").display()
            );
        }
        let needs = NEEDS.iter().find(|(name, _)| *name == file).map_or("another kernel", |(_, needs)| needs);
        format!("{}: this kernel has no such file (it needs {needs})", folder.join(file).display())
    }
}

fn groups_in(at: &Path) -> Vec<String> {
    let entries = fs::read_dir(at).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use blksched_testkit::Folder;

    use super::*;

    fn group(root: &Folder, group: &str, controllers: &str, files: &[&str]) {
        let folder = root.path(group);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cgroup.controllers"), controllers).unwrap();
        files.iter().for_each(|file| fs::write(folder.join(file), "").unwrap());
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_what_would_have_it_there() {
        let root = Folder::new();
        group(&root, "", "cpu io memory\n", &["io.cost.qos"]);
        group(&root, "system.slice", "io memory\n", &["io.max"]);
        group(&root, "system.slice/db.service", "memory\n", &[]);
        let tree = GroupTree::at(&root);
        assert_eq!(tree.path("", "io.cost.qos"), Ok(root.path("io.cost.qos")));
        assert_eq!(tree.path("system.slice", "io.max"), Ok(root.path("system.slice/io.max")));
        let refused = |group: &str, file: &str| tree.path(group, file).unwrap_err();
        assert!(refused("system.slice", "io.latency").contains("it needs CONFIG_BLK_CGROUP_IOLATENCY"));
        assert!(refused("system.slice/db.service", "io.max").contains("system.slice/cgroup.subtree_control"));
        let near = refused("system.slice/db.servise", "io.max");
        assert!(near.contains("no group `db.servise` in") && near.contains("did you mean `db.service`?"), "{near}");
        assert!(refused("system.slise/db.service", "io.max").contains("did you mean `system.slice`?"));
        assert!(tree.is_gone("web") && !tree.is_gone("system.slice") && !tree.is_gone(""));
    }

    #[test]
    fn weights_for_one_disk_are_found_in_all_groups_and_those_that_cannot_be_given_back_are_named() {
        let root = Folder::new();
        let weights = |group: &str, file: &str, text: &str| {
            fs::create_dir_all(root.path(group)).unwrap();
            fs::write(root.path(group).join(file), text).unwrap();
        };
        weights("two/system.slice/db.service", "io.bfq.weight", "default 100\n8:16 50\n8:0 300\n");
        weights("two/system.slice", "io.bfq.weight", "default 500\n");
        weights("two/web", "io.bfq.weight", "default 100\n8:0 20\n");
        weights("one/web", "blkio.bfq.weight_device", "");
        let place = |group: &str| Place::Group { group: group.to_owned(), file: "io.bfq.weight".to_owned() };
        let mut tree = GroupTree::at(&root.path("two"));
        tree.of_version_1 = Some(root.path("one"));
        let of = |tree: &GroupTree, disk: &str| tree.bfqs_weights(&[disk.to_owned()]);
        assert_eq!(of(&tree, "8:0").unwrap(), [place("system.slice/db.service"), place("web")]);
        assert_eq!(of(&tree, "8:16").unwrap(), [place("system.slice/db.service")]);
        assert_eq!(of(&tree, "8:1").unwrap(), []);
        weights("one/web", "blkio.bfq.weight_device", "8:0 300\n");
        let refused = of(&tree, "8:0").unwrap_err();
        assert!(refused.contains("one/web/blkio.bfq.weight_device has a weight for this disk"), "{refused}");
        assert!(refused.contains("expected settings of bfq alone"), "{refused}");
        weights("two/a=b", "io.bfq.weight", "default 100\n8:16 20\n");
        assert!(of(&tree, "8:16").unwrap_err().contains("a=b/io.bfq.weight has a weight"));
    }

    #[test]
    fn a_machine_whose_controller_is_of_version_1_or_that_has_none_is_told_so() {
        let root = Folder::new();
        group(&root, "", "hugetlb\n", &[]);
        let mounts = format!(
            "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n\
             cgroup2 {} cgroup2 rw 0 0\n",
            root.display()
        );
        let said = GroupTree::mounted(&mounts).path("", "io.cost.qos").unwrap_err();
        assert!(said.contains("has no io controller (its controllers: hugetlb); version 1 has"), "{said}");
        assert!(said.contains("/sys/fs/cgroup/blkio") && said.starts_with("io.cost.qos: "), "{said}");
        let none = GroupTree::mounted("proc /proc proc rw 0 0\n").path("web", "io.max").unwrap_err();
        assert!(none.contains("none are mounted here") && !none.contains("version 1 has"), "{none}");
    }
}
