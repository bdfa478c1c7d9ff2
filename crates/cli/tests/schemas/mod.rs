//! Documents held to the JSON Schemas of docs/schema, by Debian's python3-jsonschema.

use std::path::{Path, PathBuf};
use std::process::Command;

use blksched_testkit::Folder;
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

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs the validator over documents; `None` if it is not installed.
pub fn validated(documents: &[Value]) -> Option<Result<String, String>> {
    let folder = Folder::new();
    for (nth, document) in documents.iter().enumerate() {
        std::fs::write(folder.join(format!("{nth:02}.json")), document.to_string()).expect("written");
    }
    // Debian's packages belong to Debian's Python.
    let name = ["/usr/bin/python3", "python3"]
        .into_iter()
        .find(|name| blksched_testkit::output(Command::new(name).arg("-V")).is_ok());
    let mut python = Command::new(name?);
    let output =
        blksched_testkit::output(python.args(["-c", VALIDATE]).arg(root().join("docs/schema")).arg(&*folder)).ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.starts_with("no jsonschema") {
        return None;
    }
    let problem = || format!("{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(if output.status.success() { Ok(said.clone()) } else { Err(problem()) })
}
