//! `docs/schema/*.json`: JSON Schemas, made from the tables of `docs/schema.md`. A section of that page whose heading
//! is `blksched/NAME/VERSION` is a schema; its rows are keys with their types, `a.b[].*` a path.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use crate::shell;

const PAGE: &str = "docs/schema.md";
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What is at one place of a document.
#[derive(Clone, Debug, Default)]
struct Node {
    types: Vec<String>,
    doc: String,
    /// By key; `*` is any key, `[]` a list's elements.
    below: BTreeMap<String, Node>,
}

/// Every schema by its file's name.
///
/// # Errors
/// If the page cannot be read, or names an unknown type.
pub fn all() -> Result<Vec<(String, String)>> {
    let page = fs::read_to_string(shell::root().join(PAGE)).with_context(|| format!("reading {PAGE}"))?;
    of(&page)
}

fn of(page: &str) -> Result<Vec<(String, String)>> {
    let common = compounds(page)?;
    let sections: Vec<(&str, Node)> = page
        .split("\n## ")
        .filter_map(|section| {
            let (heading, text) = section.split_once('\n')?;
            let id = heading.trim_matches('`');
            id.starts_with("blksched/").then(|| (id, tree(rows(text))))
        })
        .collect();
    let mut all = Vec::new();
    for (id, root) in &sections {
        let name = id.split('/').nth(1).unwrap_or_default();
        let mut value = schema(root, &sections).with_context(|| format!("{PAGE}: {id}"))?;
        value["properties"]["schema"] = json!({ "const": id });
        let mut document = json!({ "$schema": DIALECT, "$id": format!("{name}.json"), "title": id });
        if let (Value::Object(document), Value::Object(value)) = (&mut document, value) {
            document.extend(value);
            let used = Value::Object(document.clone()).to_string();
            let of = common.iter().filter(|(name, _)| used.contains(&reference(name)));
            let definitions: Map<String, Value> = of.map(|(name, it)| ((*name).to_owned(), it.clone())).collect();
            if !definitions.is_empty() {
                document.insert("$defs".to_owned(), Value::Object(definitions));
            }
        }
        all.push((format!("docs/schema/{name}.json"), format!("{document:#}\n")));
    }
    Ok(all)
}

/// Samples, ratios and tables, which have tables of their own in the section about them.
fn compounds(page: &str) -> Result<Vec<(&'static str, Value)>> {
    let (_, section) = page.split_once("\n## sample, ratio, table\n").context("no section on samples")?;
    let section = section.split("\n## ").next().unwrap_or_default();
    ["sample", "ratio", "table"]
        .into_iter()
        .map(|name| {
            let (_, rest) =
                section.split_once(&format!("| key of a {name} |")).with_context(|| format!("no table of a {name}"))?;
            let text = rest.split("\n\n").next().unwrap_or_default();
            Ok((name, schema(&tree(rows(text)), &[])?))
        })
        .collect()
}

/// Keys, types and descriptions of each line of a table.
fn rows(text: &str) -> impl Iterator<Item = (Vec<String>, Vec<String>, String)> {
    text.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let cell = |nth: usize| cells.get(nth).copied().unwrap_or_default();
        let keys = cell(0).split(", ").map(|key| key.trim_matches('`').to_owned()).collect();
        let types = cell(1).replace("yes or no", "flag").split(" or ").map(str::to_owned).collect();
        (keys, types, cell(2).to_owned())
    })
}

fn tree(rows: impl Iterator<Item = (Vec<String>, Vec<String>, String)>) -> Node {
    let mut root = Node::default();
    for (keys, types, doc) in rows {
        for key in keys {
            let mut node = &mut root;
            for part in parts(&key) {
                node = node.below.entry(part).or_default();
            }
            (node.types, node.doc) = (types.clone(), doc.clone());
        }
    }
    root
}

/// The parts of `a.b[].p99.9`; a percentile's point separates nothing.
fn parts(key: &str) -> Vec<String> {
    let key = key.replace("p99.9", "p99_9").replace("[]", ".[]");
    key.split('.').map(|part| part.replace("p99_9", "p99.9")).collect()
}

fn reference(name: &str) -> String {
    format!("#/$defs/{name}")
}

/// Whether a document may omit it.
fn is_optional(node: &Node) -> bool {
    let own = node.types.iter().any(|word| word == "left out");
    // What the table does not name itself is as optional as everything below it.
    own || (node.types.is_empty() && !node.below.is_empty() && node.below.values().all(is_optional))
}

fn schema(node: &Node, sections: &[(&str, Node)]) -> Result<Value> {
    let mut kinds: Vec<Value> = Vec::new();
    for word in node.types.iter().filter(|word| *word != "left out") {
        kinds.push(match word.as_str() {
            "text" => json!({ "type": "string" }),
            "number" => json!({ "type": "number" }),
            "flag" => json!({ "type": "boolean" }),
            "null" => json!({ "type": "null" }),
            "numbers" => json!({ "type": "array", "items": { "type": ["number", "null"] } }),
            "sample" | "ratio" | "table" => json!({ "$ref": reference(word) }),
            other => match other.strip_prefix("as ").map(|path| found(path.trim_matches('`'), sections)) {
                Some(Some(node)) => schema(&node, sections)?,
                _ => {
                    bail!("`{other}` is no type: expected text, number, numbers, yes or no, null, sample, ratio, table")
                }
            },
        });
    }
    if let Some(element) = node.below.get("[]") {
        kinds.push(json!({ "type": "array", "items": schema(element, sections)? }));
    } else if !node.below.is_empty() {
        kinds.push(object(node, sections)?);
    }
    let mut value = match (kinds.len(), kinds.pop()) {
        (1, Some(one)) => one,
        (_, Some(last)) => json!({ "anyOf": kinds.into_iter().chain([last]).collect::<Vec<_>>() }),
        (_, None) => json!({}),
    };
    if !node.doc.is_empty() {
        value["description"] = Value::from(node.doc.replace('`', ""));
    }
    Ok(value)
}

fn object(node: &Node, sections: &[(&str, Node)]) -> Result<Value> {
    let named = || node.below.iter().filter(|(key, _)| *key != "*");
    let properties = named().map(|(key, below)| Ok((key.clone(), schema(below, sections)?)));
    let properties: Map<String, Value> = properties.collect::<Result<_>>()?;
    let required: Vec<&String> = named().filter(|(_, below)| !is_optional(below)).map(|(key, _)| key).collect();
    let mut value = json!({ "type": "object" });
    if !properties.is_empty() {
        value["properties"] = Value::Object(properties);
    }
    if !required.is_empty() {
        value["required"] = json!(required);
    }
    if let Some(any) = node.below.get("*").filter(|_| named().next().is_none()) {
        value["additionalProperties"] = schema(any, sections)?;
    }
    Ok(value)
}

/// `schedulers[]`, in the section that has it; or a whole section, by its name.
fn found(path: &str, sections: &[(&str, Node)]) -> Option<Node> {
    if let Some((_, root)) = sections.iter().find(|(id, _)| *id == path) {
        return Some(root.clone());
    }
    let parts = parts(path);
    sections.iter().find_map(|(_, root)| {
        let mut node = root;
        for part in &parts {
            node = node.below.get(part)?;
        }
        Some(Node { types: Vec::new(), ..node.clone() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Data

## sample, ratio, table

| key of a sample | type | holds |
|---|---|---|
| `n` | number | seeds |

| key of a ratio | type | holds |
|---|---|---|
| `p` | number | |

| key of a table | type | holds |
|---|---|---|
| `rows[].*` | number or null | |

## `blksched/a/1`

| key | type | holds |
|---|---|---|
| `schema`, `name` | text | which |
| `list[].x` | sample or null | |
| `list[].p99.9` | number or left out | |
| `is` | yes or no | |
| `why` | null or left out | else: |
| `why.words[]` | text or left out | |
";

    #[test]
    fn a_pages_rows_become_a_schema() {
        let all = of(PAGE).unwrap();
        assert_eq!(all[0].0, "docs/schema/a.json");
        let value: Value = serde_json::from_str(&all[0].1).unwrap();
        assert_eq!(value["required"], json!(["is", "list", "name", "schema"]));
        assert_eq!(value["properties"]["schema"], json!({ "const": "blksched/a/1" }));
        let element = &value["properties"]["list"]["items"];
        assert_eq!(element["required"], json!(["x"]));
        assert_eq!(element["properties"]["p99.9"]["type"], "number");
        assert_eq!(element["properties"]["x"]["anyOf"][0], json!({ "$ref": "#/$defs/sample" }));
        assert_eq!(value["$defs"]["sample"]["required"], json!(["n"]));
        assert_eq!(value["properties"]["why"]["anyOf"][1]["properties"]["words"]["items"]["type"], "string");
        assert_eq!(value["properties"]["is"]["type"], "boolean");
    }

    #[test]
    fn a_type_that_nobody_knows_is_refused() {
        let wrong = of(&PAGE.replace("yes or no", "string")).unwrap_err();
        assert!(format!("{wrong:#}").contains("`string` is no type"), "{wrong:#}");
    }
}
