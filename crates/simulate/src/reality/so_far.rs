//! The accuracy of the recorded predictions, by kind of disk, to be shown with the next prediction. `tests/reality.rs`
//! writes `so_far.tsv` beside `docs/reality.md`, from the same cells, and checks that it is current.

use blksched_disks::Model;

const TABLE: &str = include_str!("so_far.tsv");
/// The table's first line.
pub const HEAD: &str = "# disk\tkernel\tkind\twithin_20_percent\tcells\tmedian_error_percent\tp90_error_percent\t\
                        verdicts_right\tverdicts\tpairs_right\tpairs\n";

/// One disk that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoFar {
    /// The disk, and its number of tags.
    pub disk: String,
    /// The kernel.
    pub kernel: String,
    /// The kind of disk: [`kind`].
    pub kind: String,
    /// Bandwidths predicted within 20 %, and all.
    pub within: (u32, u32),
    /// The greatest errors of half and of nine tenths of them \[percent\].
    pub errors: (u32, u32),
    /// Jobs whose best scheduler was predicted, and all.
    pub verdicts: (u32, u32),
    /// Pairs of schedulers that really differ and were predicted in the right direction, and all.
    pub pairs: (u32, u32),
}

impl SoFar {
    /// A line of the table.
    pub fn line(&self) -> String {
        let SoFar { disk, kernel, kind, within, errors, verdicts, pairs } = self;
        let numbers = [within.0, within.1, errors.0, errors.1, verdicts.0, verdicts.1, pairs.0, pairs.1];
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        format!("{disk}\t{kernel}\t{kind}\t{}\n", numbers.join("\t"))
    }

    fn parse(line: &str) -> Option<SoFar> {
        let mut words = line.split('\t');
        let [disk, kernel, kind] = [words.next()?, words.next()?, words.next()?].map(str::to_owned);
        let numbers: Vec<u32> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let &[near, all, half, nine, right, jobs, agreed, pairs] = &numbers[..] else { return None };
        Some(SoFar {
            disk,
            kernel,
            kind,
            within: (near, all),
            errors: (half, nine),
            verdicts: (right, jobs),
            pairs: (agreed, pairs),
        })
    }
}

/// The kind of disk of a model; for an array, its first member's.
pub fn kind(model: &Model) -> &'static str {
    match model {
        Model::Null(_) => "null",
        Model::Fixed(_) => "fixed",
        Model::Hdd(_) => "hdd",
        Model::Ssd(_) => "ssd",
        Model::Raid(raid) => raid.members.first().map_or("raid", |member| kind(&member.model)),
    }
}

/// Every disk that was recorded.
pub fn all() -> Vec<SoFar> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(SoFar::parse).collect()
}

/// How good such predictions have been: a sentence without its full stop.
pub fn sentence(model: &Model) -> String {
    let all = all();
    let kind = kind(model);
    let own: Vec<&SoFar> = all.iter().filter(|one| one.kind == kind).collect();
    let of = |them: &[&SoFar]| {
        let sum = |pick: fn(&SoFar) -> (u32, u32)| {
            them.iter().map(|one| pick(one)).fold((0, 0), |(a, b), (c, d)| (a + c, b + d))
        };
        let ((near, cells), (right, jobs)) = (sum(|one| one.within), sum(|one| one.verdicts));
        let errors = match them {
            [one] => format!(" (half of them within {} %)", one.errors.0),
            _ => String::new(),
        };
        let best = format!("the best scheduler predicted right in {right} of {jobs} jobs");
        format!("{near} of {cells} bandwidths within 20 %{errors}, {best}")
    };
    let kernels = |them: &[&SoFar]| {
        let mut kernels: Vec<&str> = them.iter().map(|one| one.kernel.as_str()).collect();
        kernels.sort_by_key(|kernel| kernel.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>());
        kernels.dedup();
        format!("Linux {}", kernels.join(" and "))
    };
    let array = if matches!(model, Model::Raid(_)) { ", none of them in an array" } else { "" };
    if own.is_empty() {
        let others: Vec<&SoFar> = all.iter().collect();
        return format!(
            "none recorded on {}; on other disks, compared with {}, {}",
            disks(kind),
            kernels(&others),
            of(&others)
        );
    }
    format!("compared with {} on {}{array}, {}", kernels(&own), disks(kind), of(&own))
}

fn disks(kind: &str) -> &'static str {
    match kind {
        "fixed" => "disks of constant speed",
        "hdd" => "a spinning disk",
        "ssd" => "flash",
        _ => "such a disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_as_it_is_written() {
        let lines: String = all().iter().map(SoFar::line).collect();
        assert_eq!(HEAD.to_owned() + &lines, TABLE);
        assert!(all().len() >= 4);
    }

    #[test]
    fn each_kind_of_disk_has_its_own_figures_and_what_was_never_recorded_says_so() {
        let said = |disk: &str| sentence(&blksched_disks::load(disk).unwrap().model);
        let hdd = said("hdd-7200");
        assert!(
            hdd.starts_with("compared with Linux 6.18 on a spinning disk, ") && hdd.contains(" bandwidths within 20 %")
        );
        let ssd = said("sata-ssd");
        assert!(ssd.starts_with("none recorded on flash; on other disks, compared with Linux 6.1 and 6.18, "), "{ssd}");
        assert!(said("fixed").starts_with("compared with Linux 6.1 and 6.18 on disks of constant speed, "));
    }
}
