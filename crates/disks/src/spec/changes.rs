//! A disk with some keys of its file changed, for an experiment or a sweep.

use core::ops::Range;

use blksched_text::document::Source;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DiskError;
use super::{DiskSpec, Model, preset_text, raid, read_disk, text_of};

/// A preset (or a TOML file, by its path) with some keys changed: `("write_cache.order", "off")`, with values as in the
/// file, without quotes. A list of changes may be contradictory in between. For an array by its name
/// (`raid0:4xhdd-7200`) each member is changed.
///
/// # Errors
/// As [`load`](super::load); an error about a change has the position of the table that it changes, and names the key.
pub fn load_changed(name_or_path: &str, changes: &[(String, String)]) -> Result<DiskSpec, DiskError> {
    if changes.is_empty() {
        return super::load(name_or_path);
    }
    if let Some(varied) = name_or_path.strip_prefix(super::IDEAL) {
        return Ok(super::ideal(load_changed(varied, changes)?));
    }
    if let Some(array) = super::raid_short::short(name_or_path) {
        return members_changed(array?, changes);
    }
    let text = match preset_text(name_or_path) {
        Some(text) => text.to_owned(),
        None => match super::iocost::asked(name_or_path) {
            Some(asked) => super::iocost::text(name_or_path, asked)?,
            None => text_of(name_or_path)?,
        },
    };
    Ok(changed(parse_changed(name_or_path, &text, changes)?))
}

/// An array of one kind of member, each with these keys changed.
fn members_changed(mut array: DiskSpec, changes: &[(String, String)]) -> Result<DiskSpec, DiskError> {
    if let Model::Raid(raid) = &mut array.model
        && let Some(member) = raid.members.first()
    {
        raid.members = vec![load_changed(&member.name, changes)?; raid.members.len()];
        raid.depth = raid::usual_depth(&raid.members);
    }
    Ok(changed(array))
}

fn changed(mut disk: DiskSpec) -> DiskSpec {
    disk.name = format!("{} changed", disk.name);
    // Published figures are about the unchanged disk.
    (disk.published, disk.validated, disk.fits) = (Vec::new(), Vec::new(), Vec::new());
    disk
}

/// The text of a file with some keys changed.
pub(crate) fn parse_changed(file: &str, text: &str, changes: &[(String, String)]) -> Result<DiskSpec, DiskError> {
    let source = Source { file, text };
    let snippets: Vec<String> = changes.iter().map(|(_, value)| snippet(value)).collect();
    let mut document = source.parse()?;
    for ((key, _), snippet) in changes.iter().zip(&snippets) {
        let value = DeTable::parse(snippet).expect("a snippet is TOML").into_inner();
        let value = value.into_iter().next().expect("it has one key").1.into_inner();
        set(document.get_mut(), key, value);
    }
    let (top, model, attached, middleware) = read_disk(source, document.get_ref(), 0..0)?;
    let (name, description) = (file.to_owned(), top.needs_text("description")?.value);
    Ok(DiskSpec {
        name,
        description,
        model,
        attached,
        middleware,
        published: Vec::new(),
        validated: Vec::new(),
        fits: Vec::new(),
    })
}

/// `x = "8ms"`, or `x = 16` for what is a whole number.
fn snippet(value: &str) -> String {
    match value.parse::<i64>() {
        Ok(number) => format!("x = {number}"),
        Err(_) => format!("x = \"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")),
    }
}

/// Sets `a.b.c` to `value`, creating the tables on the way.
fn set<'t>(table: &mut DeTable<'t>, key: &'t str, value: DeValue<'t>) {
    let (head, rest) = key.split_once('.').map_or((key, None), |(head, rest)| (head, Some(rest)));
    let at: Range<usize> = table.get(head).map_or(0..0, Spanned::span);
    let Some(rest) = rest else {
        table.insert(Spanned::new(at.clone(), head.into()), Spanned::new(at, value));
        return;
    };
    if table.get(head).is_none_or(|found| !found.get_ref().is_table()) {
        let empty = DeValue::Table(DeTable::default());
        table.insert(Spanned::new(at.clone(), head.into()), Spanned::new(at, empty));
    }
    if let Some(DeValue::Table(inner)) = table.get_mut(head).map(Spanned::get_mut) {
        set(inner, rest, value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Model, load};
    use super::*;

    fn changed(changes: &[(&str, &str)]) -> Result<DiskSpec, DiskError> {
        let changes: Vec<_> = changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        load_changed("ide-2002", &changes)
    }

    #[test]
    fn a_changed_key_is_all_that_differs() {
        let mut plain = load("ide-2002").unwrap();
        let disk = changed(&[("write_cache.order", "off"), ("zones.count", "20")]).unwrap();
        let spec = plain.hdd_mut().unwrap();
        spec.write_cache = None;
        spec.zones.count = 20;
        assert_eq!(disk.model, plain.model);
        assert_eq!(changed(&[]).unwrap(), load("ide-2002").unwrap());
    }

    #[test]
    fn of_an_array_each_member_is_changed() {
        let off = [("write_cache.order".to_owned(), "off".to_owned())];
        let Model::Raid(array) = load_changed("raid0:4xide-2002", &off).unwrap().model else { panic!("an array") };
        let member = load_changed("ide-2002", &off).unwrap();
        assert_eq!(array.members, vec![member; 4]);
        let error = load_changed("raid0:4xide-2002", &[("write_cache.ordre".to_owned(), "off".to_owned())]);
        assert!(error.unwrap_err().to_string().contains("unknown key `ordre`"));
    }

    #[test]
    fn changes_are_judged_together() {
        let disk = changed(&[("look_ahead.segment", "128KiB"), ("look_ahead.hold", "64KiB")]).unwrap();
        let Model::Hdd(spec) = disk.model else { panic!("an hdd") };
        assert_eq!(spec.look_ahead.unwrap().hold_sectors, 128);
    }

    #[test]
    fn a_key_or_value_that_does_not_exist_gets_the_nearest_word() {
        let error = changed(&[("write_cache.ordre", "off")]).unwrap_err().to_string();
        assert!(error.contains("unknown key `ordre`") && error.ends_with("did you mean `order`?"), "{error}");
        let error = changed(&[("write_cache.order", "of\"f")]).unwrap_err().to_string();
        assert!(error.contains("`of\"f` is not a value of `order`"), "{error}");
        assert!(changed(&[("speed.of.light", "1")]).is_err());
    }
}
