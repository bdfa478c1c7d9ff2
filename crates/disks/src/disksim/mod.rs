//! DiskSim's parameter files as a disk of ours: `DRIVE.model`, with `DRIVE.seek` and `DRIVE.diskspecs` beside it.
//!
//! `syntax` reads the files, `keys` knows the parameters, `drive`, `layout`, `sparing` and `seek` interpret them, and
//! `write` produces our TOML, which is then read like any other. Nothing is fitted: values missing from the files are
//! listed in the TOML's head.
//!
//! Written from DiskSim's manual and the files themselves. Not modelled, and refused or noted: layouts other than
//! `dm_layout_g1`, remapped defects (read where they would be), disks without rotation (other access time types).

use std::fs;
use std::path::Path;

use crate::DiskError;

pub mod demerit;
mod drive;
mod fields;
mod keys;
mod layout;
mod seek;
mod sparing;
mod syntax;
mod write;

/// A drive's three files as the text of a TOML file.
///
/// # Errors
/// If a file is missing or invalid: file, line, column and what was expected.
pub fn import(model: &Path) -> Result<String, DiskError> {
    import_with(model, &model.with_extension("diskspecs"))
}

/// The same with a `.diskspecs` of another name, as DiskSim's own `hp_c3323a_validate.model` and
/// `hp_c3323a.diskspecs` have.
///
/// # Errors
/// As of [`import`].
pub fn import_with(model: &Path, specs: &Path) -> Result<String, DiskError> {
    let paths = [model, specs];
    let names = paths.map(|path| path.display().to_string());
    let texts = paths.into_iter().map(text_of).collect::<Result<Vec<String>, DiskError>>()?;
    let file = |nth: usize| syntax::File { name: &names[nth], text: &texts[nth] };
    // Beside the model, by the name that it gives, or by the model's own name.
    let seek = |given: &str| {
        let named = model.with_file_name(Path::new(given.trim_matches('"')).file_name().unwrap_or_default());
        let path = if named.is_file() { named } else { model.with_extension("seek") };
        let (name, text) = (path.display().to_string(), text_of(&path)?);
        seek::points(&syntax::File { name: &name, text: &text })
    };
    // A path of somebody else's machine is of no use: its last part, beside the model.
    let path = |name: String| model.with_file_name(Path::new(&name).file_name().unwrap_or_default());
    let layout = drive::layout_file(&file(0))?.map(path);
    let layout = layout.map(|path| Ok::<_, DiskError>((path.display().to_string(), text_of(&path)?))).transpose()?;
    let layout = layout.as_ref().map(|(name, text)| syntax::File { name, text });
    let files = drive::DriveFiles { model: file(0), specs: file(1), layout, seek: &seek };
    let drive = drive::Drive::read(&files)?;
    let name = model.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(write::toml(&name, &drive))
}

fn text_of(path: &Path) -> Result<String, DiskError> {
    let unreadable = |reason: String| DiskError::Unreadable { file: path.display().to_string(), reason };
    // A comment may have an older encoding than ours.
    let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specifications_may_have_another_name() {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/disksim");
        let folder = std::env::temp_dir().join(format!("blksched-disksim-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let model = folder.join("hp_c3323a_validate.model");
        fs::copy(from.join("hp_c3323a.model"), &model).unwrap();
        for name in ["hp_c3323a.seek", "hp_c3323a_validate.seek"] {
            fs::copy(from.join("hp_c3323a.seek"), folder.join(name)).unwrap();
        }
        let alone = import(&model).unwrap_err().to_string();
        let pair = import_with(&model, &from.join("hp_c3323a.diskspecs"));
        fs::remove_dir_all(&folder).unwrap();
        assert!(alone.contains("hp_c3323a_validate.diskspecs"), "{alone}");
        assert!(pair.unwrap().contains("kind = \"hdd\""));
    }
}
