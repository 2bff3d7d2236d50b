//! Configuration: declared keys, files, overrides, and values checked before anything runs.

mod error;
mod fault_keys;
mod file;
pub(crate) mod flash_keys;
pub(crate) mod keys;
mod presets;
pub(crate) mod trace_keys;

pub use error::ConfigError;
pub use keys::{PRECONDITION, Precondition, all_keys, find_key, is_of_time};
pub use layer::TIME;
pub use layer::spelling::did_you_mean;
pub use presets::{Preset, drives, parts, stacks};

use layer::registry::Source;
use layer::{Parameter, Value, Values};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Characters `NAME+key=value` is taken apart at.
const PLUS: char = '+';

/// Keys and values, in the order in which they are laid over each other.
pub type Pairs = Vec<(String, String)>;

/// Takes `NAME+key=value+…` apart: the base of a stack, and the keys and values that are laid over it.
/// Errors: in words, without the stack: a part behind a plus sign has no `=`.
pub fn stack_parts(stack: &str) -> Result<(&str, Pairs), String> {
    let mut parts = stack.split(PLUS);
    let base = parts.next().unwrap_or_default();
    let pair = |part: &str| part.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    let settings: Option<Pairs> = parts.map(pair).collect();
    let settings =
        settings.ok_or_else(|| format!("write NAME{PLUS}key=value, for example page{PLUS}ftl.gc.victim=fifo"))?;
    let mut keys = BTreeSet::new();
    match settings.iter().find(|(key, _)| !keys.insert(key)) {
        Some((key, _)) => Err(format!("{key} is given twice; leave one out")),
        None => Ok((base, settings)),
    }
}

/// A policy that a program has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsidePolicy<'a> {
    /// The key that selects it.
    pub key: &'static str,
    /// Its name.
    pub name: &'a str,
    /// The file that tells what it does, if there is one.
    pub source: Option<Source>,
}

/// A key, whether a name of it was registered, and the file of that name.
type OutsideKind = (&'static str, fn(&str) -> bool, fn(&str) -> Option<Source>);

/// Keys whose values a program can add.
const OUTSIDE_KINDS: [OutsideKind; 3] = [
    ("ftl.gc.victim", ftl::gc::is_from_outside, ftl::gc::source_of),
    ("buffer.kind", buffer::is_from_outside, buffer::source_of),
    ("stripe.cache.victim", stripe::choice::is_from_outside, stripe::choice::source_of),
];

/// The file of a registered policy, by its key and its name.
pub fn policy_source(key: &str, name: &str) -> Option<Source> {
    OUTSIDE_KINDS.iter().find(|(known, ..)| *known == key).and_then(|(_, _, source_of)| source_of(name))
}

/// A configuration in which every key has a checked value.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the stack.
    pub name: String,
    pub values: Values,
    /// The same, as text, to be stored with the result.
    pub resolved: BTreeMap<String, String>,
    /// Keys given beside the stack (`--set`, `NAME+key=value`), with any value.
    pub given: BTreeSet<&'static str>,
    /// Settings that were written as in the version before, and how they are written today.
    pub renamed: BTreeSet<(String, String)>,
}

/// Every key with its default: where each configuration begins. To read them takes longer than a short run.
static DEFAULTS: LazyLock<Config> = LazyLock::new(|| {
    let mut config = Config {
        name: String::new(),
        values: Values::default(),
        resolved: BTreeMap::new(),
        given: BTreeSet::new(),
        renamed: BTreeSet::new(),
    };
    for parameter in all_keys() {
        let set = parameter.default.map_or(Ok(()), |text| config.set(parameter, text, "the default"));
        set.unwrap_or_else(|problem| panic!("a default is not valid: {problem}"));
    }
    config
});

/// One `key = value` with the place it came from, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub key: String,
    /// Value as written, without quotes.
    pub value: String,
    /// Where: `FILE, line N`, `--set`, a preset's name.
    pub place: String,
    /// It is part of a stack, and was not given beside it.
    pub of_stack: bool,
}

impl Setting {
    /// Reads `key=value` as given on a command line.
    /// Errors: there is no `=`.
    pub fn from_argument(text: &str) -> Result<Self, ConfigError> {
        let (key, value) = text.split_once('=').ok_or_else(|| ConfigError::NoValue { text: text.to_owned() })?;
        Ok(Self::new(key.trim(), value.trim(), "--set"))
    }

    /// A setting given beside the stack; `place` is the name of its source in messages.
    pub fn new(key: &str, value: &str, place: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_owned(), place: place.to_owned(), of_stack: false }
    }

    /// What of it is written as in the version before, and how that is written today.
    fn renamed(&self) -> Vec<(String, String)> {
        let key = metrics::key_of_today(&self.key);
        let value = metrics::value_of_today(&key, &self.value);
        let of_key = (*key != *self.key).then(|| (self.key.clone(), key.to_string()));
        let of_value = (value != self.value).then(|| (format!("{key} = {}", self.value), format!("{key} = {value}")));
        of_key.into_iter().chain(of_value).collect()
    }
}

impl Config {
    /// The stack called `name_or_path`, changed by `overrides`.
    /// Errors: no such stack or file, a file that cannot be read, an unknown key, a value out of range.
    pub fn load(name_or_path: &str, overrides: &[Setting]) -> Result<Self, ConfigError> {
        let (name, mut settings) = Self::read(name_or_path)?;
        settings.extend_from_slice(overrides);
        Self::resolve(name, &settings)
    }

    /// Name and settings of the stack called `name_or_path`, for [`Config::resolve`]: their meaning stays the same when
    /// its file changes.
    /// Errors: no such stack or file, a file that cannot be read.
    pub fn read(name_or_path: &str) -> Result<(String, Vec<Setting>), ConfigError> {
        file::stack_settings(name_or_path, 0)
    }

    /// The stack written in `text`; `name` is its name and stands for the file in messages.
    pub fn from_text(name: &str, text: &str) -> Result<Self, ConfigError> {
        Self::from_text_with(name, text, &[])
    }

    /// The stack written in `text`, changed by `overrides`.
    pub fn from_text_with(name: &str, text: &str, overrides: &[Setting]) -> Result<Self, ConfigError> {
        let mut settings = file::read(text, name, 0)?;
        settings.extend_from_slice(overrides);
        Self::resolve(name.to_owned(), &settings)
    }

    /// Checks settings (later ones win) and completes them with part values and defaults.
    /// Errors: an unknown key, a value out of range.
    pub fn resolve(name: String, settings: &[Setting]) -> Result<Self, ConfigError> {
        let (config, problems) = Self::resolve_all(name, settings);
        problems.into_iter().next().map_or(Ok(config), Err)
    }

    /// Policies that decide and that a program has registered: a name does not tell what such a policy does.
    pub fn outside_policies(&self) -> Vec<OutsidePolicy<'_>> {
        let named = |(key, is_from_outside, source_of): OutsideKind| {
            let name = self.values.get(key).map(|_| self.values.name(key)).filter(|name| is_from_outside(name))?;
            Some(OutsidePolicy { key, name, source: source_of(name) })
        };
        OUTSIDE_KINDS.into_iter().filter_map(named).collect()
    }

    /// The stack called `name_or_path`, or everything that is wrong with it.
    /// Errors: all problems of its settings; a file that cannot be read at all is one.
    pub fn check(name_or_path: &str) -> Result<Self, Vec<ConfigError>> {
        let (name, settings) = file::stack_settings(name_or_path, 0).map_err(|error| vec![error])?;
        let (config, problems) = Self::resolve_all(name, &settings);
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// The configuration with defaults where a setting is wrong, and what is wrong.
    fn resolve_all(name: String, settings: &[Setting]) -> (Self, Vec<ConfigError>) {
        let keys = all_keys();
        let mut problems = Vec::new();
        let mut chosen: BTreeMap<&'static str, &Setting> = BTreeMap::new();
        // What a later one wins over is looked at as well: a wrong value is a mistake wherever it stands.
        let mut overridden = Vec::new();
        for setting in settings {
            match find_key(keys, &setting.key) {
                Some(parameter) => {
                    overridden.extend(chosen.insert(parameter.key, setting).map(|before| (parameter, before)));
                }
                None => problems.push(ConfigError::unknown_key(setting, keys)),
            }
        }
        let given = chosen.iter().filter(|(_, setting)| !setting.of_stack).map(|(key, _)| *key).collect();
        let renamed = settings.iter().flat_map(Setting::renamed).collect();
        let mut config = Self { name, given, renamed, ..DEFAULTS.clone() };
        for (parameter, setting) in overridden {
            problems.extend(config.set(parameter, &setting.value, &setting.place).err());
        }
        for parameter in keys {
            if let Some(setting) = chosen.get(parameter.key) {
                problems.extend(config.set(parameter, &setting.value, &setting.place).err());
            }
        }
        match presets::part_settings(config.values.name(flash_keys::PART)) {
            Ok(part) => {
                problems.extend(part.iter().filter_map(|setting| config.set_part(setting, keys, &chosen).err()));
            }
            Err(error) => problems.push(error),
        }
        (config, problems)
    }

    /// A part's value for a key nobody has set.
    fn set_part(
        &mut self,
        setting: &Setting,
        keys: &[Parameter],
        chosen: &BTreeMap<&'static str, &Setting>,
    ) -> Result<(), ConfigError> {
        let parameter = find_key(keys, &setting.key).ok_or_else(|| ConfigError::unknown_key(setting, keys))?;
        if chosen.contains_key(parameter.key) {
            return Ok(());
        }
        self.set(parameter, &setting.value, &setting.place)
    }

    fn set(&mut self, parameter: &Parameter, text: &str, place: &str) -> Result<(), ConfigError> {
        let text = metrics::value_of_today(parameter.key, text);
        let value = parameter.parse(text).map_err(|problem| ConfigError::Value {
            key: parameter.key,
            place: place.to_owned(),
            problem,
        })?;
        self.values.set(parameter.key, value);
        self.resolved.insert(parameter.key.to_owned(), text.to_owned());
        Ok(())
    }

    /// Gives a key the value that something else than a setting chose, written as in a file.
    /// Errors: the key is unknown or the value out of its range.
    pub fn choose(&mut self, key: &str, text: &str) -> Result<(), ConfigError> {
        let keys = all_keys();
        let chosen = Setting::new(key, text, "chosen for the workload");
        let parameter = find_key(keys, key).ok_or_else(|| ConfigError::unknown_key(&chosen, keys))?;
        self.set(parameter, text, &chosen.place)
    }

    /// Gives a key another whole number, as if that had been written: for keys that any number will do for, as seeds.
    pub fn set_whole(&mut self, key: &'static str, whole: u64) {
        self.values.set(key, Value::Whole(whole));
        self.resolved.insert(key.to_owned(), whole.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(overrides: &[&str]) -> Result<Config, ConfigError> {
        let overrides: Result<Vec<_>, _> = overrides.iter().map(|text| Setting::from_argument(text)).collect();
        Config::load("page", &overrides?)
    }

    #[test]
    fn every_preset_resolves_and_every_default_is_valid() {
        for preset in presets::all() {
            Config::load(preset.name, &[]).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        }
        for part in parts() {
            load(&[&format!("flash.part={}", part.name)]).unwrap_or_else(|error| panic!("{}: {error}", part.name));
        }
        let keys = all_keys();
        let mut names: Vec<_> = keys.iter().map(|key| key.key).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), keys.len(), "a key is declared twice");
    }

    #[test]
    fn a_part_gives_defaults_and_a_setting_wins_over_it() {
        let config = load(&["flash.part=mlc-4k"]).unwrap();
        assert_eq!(config.values.whole("flash.pages_per_block"), 128);
        let config = load(&["flash.part=mlc-4k", "flash.pages_per_block=64"]).unwrap();
        assert_eq!(config.values.whole("flash.pages_per_block"), 64);
    }

    #[test]
    fn a_stack_of_the_version_before_means_the_same() {
        let before = "[stripe]\nkind = \"zones\"\n[zones]\ncode_zones = 2\nsize = \"8MiB\"\n";
        let before = Config::from_text("before", before).expect("old names are read");
        let today = "[stripe]\nkind = \"coded\"\n[coded]\ncode_zones = 2\nsize = \"8MiB\"\n";
        let today = Config::from_text("today", today).expect("so are new ones");
        assert_eq!(before.resolved, today.resolved);
        assert!(today.renamed.is_empty());
        let told = before.renamed.iter().map(|(before, today)| format!("{before} -> {today}")).collect::<Vec<_>>();
        let expected = [
            "stripe.kind = zones -> stripe.kind = coded",
            "zones.code_zones -> coded.code_zones",
            "zones.size -> coded.size",
        ];
        assert_eq!(told, expected);
        let set = load(&["zones.block=16KiB", "coded.block=8KiB"]).expect("both are read");
        assert_eq!(set.resolved["coded.block"], "8KiB", "the later one wins");
    }

    #[test]
    fn mistakes_are_named_with_a_remedy() {
        for (setting, wanted) in [
            ("drive.capactiy=8GiB", "did you mean `drive.capacity`"),
            ("drive.capacity=8", "has no unit"),
            ("drive.capacity=-8GiB", "negative"),
            ("ftl.gc.victim=gredy", "greedy"),
            ("flash.channels=0", "smallest value"),
            ("drive.capacity", "key=value"),
        ] {
            let message = load(&[setting]).unwrap_err().to_string();
            assert!(message.contains(wanted), "{setting}: {message}");
        }
        assert!(Config::load("pgae", &[]).unwrap_err().to_string().contains("did you mean `page`"));
    }
}
