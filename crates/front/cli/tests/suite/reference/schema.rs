//! Pages made from the schemas of the JSON documents.

use super::page::{Page, linked};
use super::root;
use layer::Parameter;
use serde_json::Value;
use std::collections::BTreeMap;

/// Deepest member that has a line of its own.
const DEEPEST: usize = 6;

/// Schemas by file name.
struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    fn read() -> Self {
        let files = ["result", "common", "life"].map(|name| format!("{name}.schema.json"));
        Self(
            files
                .into_iter()
                .map(|file| {
                    let text = std::fs::read_to_string(root().join("docs/schemas").join(&file)).expect("it is there");
                    (file, serde_json::from_str(&text).expect("a schema is JSON"))
                })
                .collect(),
        )
    }

    /// What a schema refers to, with the file in which that stands.
    fn follow<'a>(&'a self, file: &'a str, schema: &'a Value) -> (&'a str, &'a Value) {
        let Some(target) = schema["$ref"].as_str() else { return (file, schema) };
        let (other, path) = target.split_once('#').unwrap_or((target, ""));
        let file = self.0.keys().find(|known| *known == other).map_or(file, String::as_str);
        self.follow(file, self.0[file].pointer(path).unwrap_or_else(|| panic!("{target} leads nowhere")))
    }
}

/// `results.md`: every member of a result.
pub fn results(keys: &[Parameter]) -> Page {
    let schemas = Schemas::read();
    let file = "result.schema.json";
    let mut page = Page::new("results.md", "Results", "Every field of result.json.");
    page.paragraph(&format!(
        "{} The schema is [result.schema.json](../schemas/result.schema.json). NAME stands for any of \
         several names.",
        linked(said(&schemas.0[file]), keys, None)
    ));
    for (name, member) in schemas.0[file]["properties"].as_object().expect("a result has members") {
        page.heading(2, name);
        let (other, schema) = schemas.follow(file, member);
        let mut text = linked(said(member), keys, None);
        let has_names = !schema["oneOf"].is_null();
        if said(schema) != said(member) && !said(schema).is_empty() && !has_names {
            text.extend([" ", &linked(said(schema), keys, None)]);
        }
        page.paragraph(&format!("{text} Type: {}.{}", kind(&schemas, other, schema), names(&schemas, other, schema)));
        page.text.push('\n');
        // The life has a document of its own.
        if other != "life.schema.json" && name != "life" {
            for one in schema["oneOf"].as_array().into_iter().flatten().filter(|one| one["const"].is_string()) {
                page.bullet(&format!(
                    "`{}`: {}",
                    one["const"].as_str().unwrap_or_default(),
                    linked(said(one), keys, None)
                ));
            }
            members(&mut page, &schemas, (other, schema), name, keys, 0);
        }
    }
    page
}

/// `causes.md`: why flash commands are given, and what requests wait for.
pub fn causes(keys: &[Parameter]) -> Page {
    let schemas = Schemas::read();
    let common = &schemas.0["common.schema.json"]["$defs"];
    let mut page = Page::new("causes.md", "Causes", "The reasons for flash commands, and the causes of waiting.");
    page.paragraph(
        "Each flash command has one cause. Counts, write amplification and waiting are told by cause. Each waiting \
         nanosecond of a request is charged to the cause of the command in its way, or to a resource. *Direct* waiting \
         names the command in the way; *root* waiting names the first cause of the queue behind which it stood.",
    );
    let rows = |list: &Value| -> Vec<[String; 2]> {
        let all = list.as_array().expect("it is a list").iter();
        all.map(|one| [format!("`{}`", one["const"].as_str().unwrap_or_default()), linked(said(one), keys, None)])
            .collect()
    };
    page.heading(2, "Causes of flash commands");
    page.table(["cause", "meaning"], rows(&common["cause"]["oneOf"]));
    page.heading(2, "Resources that are waited for");
    page.table(["resource", "meaning"], rows(&common["wait"]["anyOf"][1]["oneOf"]));
    page
}

fn said(schema: &Value) -> &str {
    schema["description"].as_str().unwrap_or_default()
}

/// What NAME stands for, where a schema says which names its members have.
fn names(schemas: &Schemas, file: &str, schema: &Value) -> String {
    let (other, followed) = schemas.follow(file, &schema["propertyNames"]);
    let known = kind(schemas, other, followed);
    if known.is_empty() { known } else { format!(" NAME is {known}.") }
}

/// The members of an object, of the objects in a list, and of those under any name.
fn members(
    page: &mut Page,
    schemas: &Schemas,
    (file, schema): (&str, &Value),
    path: &str,
    keys: &[Parameter],
    depth: usize,
) {
    let inner = |page: &mut Page, name: String, member: &Value| {
        let (other, followed) = schemas.follow(file, member);
        let text = if said(member).is_empty() { said(followed) } else { said(member) };
        let kind = kind(schemas, other, followed);
        if !text.is_empty() {
            let names = names(schemas, other, followed);
            page.bullet(&format!("`{name}` ({kind}): {}{names}", linked(text, keys, None)));
        }
        if depth < DEEPEST {
            members(page, schemas, (other, followed), &name, keys, depth + 1);
        }
    };
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        inner(page, format!("{path}.{name}"), member);
    }
    if schema["additionalProperties"].is_object() {
        inner(page, format!("{path}.NAME"), &schema["additionalProperties"]);
    }
    if schema["items"].is_object() {
        inner(page, format!("{path}[]"), &schema["items"]);
    }
    for either in ["anyOf", "oneOf"] {
        for one in schema[either].as_array().into_iter().flatten() {
            let (other, followed) = schemas.follow(file, one);
            members(page, schemas, (other, followed), path, keys, depth);
        }
    }
}

/// What kind of value it is, in a few words.
fn kind(schemas: &Schemas, file: &str, schema: &Value) -> String {
    let mut kinds: Vec<String> = Vec::new();
    let mut add = |kind: String| {
        if !kind.is_empty() && !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    match &schema["type"] {
        Value::String(kind) => add(kind.clone()),
        Value::Array(all) => all.iter().filter_map(Value::as_str).for_each(|kind| add(kind.to_owned())),
        _ => {}
    }
    let named = |value: &Value| value.as_str().map_or_else(|| value.to_string(), |name| format!("`{name}`"));
    schema["enum"].as_array().into_iter().flatten().for_each(|value| add(named(value)));
    if !schema["const"].is_null() {
        add(named(&schema["const"]));
    }
    for either in ["anyOf", "oneOf"] {
        for one in schema[either].as_array().into_iter().flatten() {
            let (other, followed) = schemas.follow(file, one);
            add(kind(schemas, other, followed));
        }
    }
    kinds.join(" or ")
}
