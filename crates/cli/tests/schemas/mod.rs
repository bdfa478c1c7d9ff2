//! Documents held to the JSON Schemas of docs/schema, by Debian's python3-jsonschema.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Validates each document of a directory by the schema that it names.
const VALIDATE: &str = r"
import json, pathlib, sys
try:
    from jsonschema import Draft202012Validator
except ImportError:
    print('no jsonschema')
    sys.exit()
schemas = {}
for path in pathlib.Path(sys.argv[1]).glob('*.json'):
    schema = json.loads(path.read_text())
    Draft202012Validator.check_schema(schema)
    schemas[schema['title']] = Draft202012Validator(schema)
wrong, seen = [], set()
for path in sorted(pathlib.Path(sys.argv[2]).glob('*.json')):
    document = json.loads(path.read_text())
    name = document['schema']
    seen.add(name)
    for error in schemas[name].iter_errors(document):
        wrong.append(f'{path.name}: {name}: {error.json_path}: {error.message[:200]}')
print('\n'.join(wrong[:20]) or ' '.join(sorted(seen)))
sys.exit(len(wrong) > 0)
";

/// A directory, removed when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A failed test may have left anything.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the validator over documents; `None` if it is not installed.
pub fn validated(name: &str, documents: &[Value]) -> Option<Result<String, String>> {
    let folder = Folder(std::env::temp_dir().join(format!("blksched-schema-{name}-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a temporary folder");
    for (nth, document) in documents.iter().enumerate() {
        std::fs::write(folder.0.join(format!("{nth:02}.json")), document.to_string()).expect("written");
    }
    // Debian's packages belong to Debian's Python.
    let name = ["/usr/bin/python3", "python3"].into_iter().find(|name| Command::new(name).arg("-V").output().is_ok());
    let mut python = Command::new(name?);
    let output = python.args(["-c", VALIDATE]).arg(root().join("docs/schema")).arg(&folder.0).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.starts_with("no jsonschema") {
        return None;
    }
    let problem = || format!("{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(if output.status.success() { Ok(said.clone()) } else { Err(problem()) })
}
