//! Built-in stacks, drives and flash parts: data files embedded at build time.

use super::{ConfigError, Setting, file};
use layer::Named;
use std::sync::LazyLock;

/// A built-in stack, drive or flash part.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub name: &'static str,
    pub text: &'static str,
}

impl Preset {
    /// A description in a line.
    pub fn description(&self) -> String {
        file::description(self.text)
    }
}

macro_rules! embedded {
    ($folder:literal, [$($name:literal),* $(,)?]) => {
        vec![$(Preset {
            name: $name,
            text: include_str!(concat!("../../presets/", $folder, "/", $name, ".toml")),
        }),*]
    };
}

/// All built-in stacks, alphabetically.
pub fn stacks() -> Vec<Preset> {
    embedded!(
        "stacks",
        [
            "bast",
            "block",
            "block-lru",
            "block-only",
            "cbm",
            "cdftl",
            "cflru",
            "dftl",
            "fab",
            "fast",
            "fra",
            "hard",
            "hard-log-cache",
            "hard-shrd",
            "lb-clock",
            "leaftl",
            "nftl",
            "page",
            "page-only",
            "raid-elastic",
            "raid0",
            "raid4",
            "raid5",
            "raid5-fpc",
            "raid5-ppc",
            "raid6",
            "raid6-ppc",
            "striping-coded",
            "striping-eager",
            "striping-gc-aware",
            "striping-in-turn",
            "striping-interleave",
            "striping-mirror",
            "striping-single-queue",
            "striping-static",
            "superpage",
            "tpftl",
            "tpm",
            "two-level",
            "two-level-victim-only"
        ]
    )
}

/// Stacks that stand for drives for sale, alphabetically: each fitted to some measured figures of one.
pub fn drives() -> Vec<Preset> {
    embedded!(
        "drives",
        [
            "generic-qlc-client",
            "generic-tlc-client",
            "intel-s4610-like",
            "micron-7450-max-like",
            "samsung-980-pro-like",
            "samsung-pm883-like",
            "sk-hynix-pe8110-like",
            "solidigm-p5520-like",
        ]
    )
}

/// Everything that can be named where a stack is asked for.
pub(super) fn all() -> Vec<Preset> {
    [stacks(), drives()].concat()
}

/// All built-in parts, alphabetically.
pub fn parts() -> Vec<Preset> {
    embedded!(
        "parts",
        [
            "fast-4k",
            "mlc-4k",
            "qlc-96l",
            "slc-16k",
            "slc-2k",
            "slc-2k-serial",
            "tlc-128l",
            "tlc-16k",
            "tlc-176l",
            "tlc-64l",
            "tlc-96l",
            "tlc-v6",
            "znand-2k",
        ]
    )
}

/// Names of the built-in parts, with their descriptions.
pub(super) fn part_choices() -> Vec<Named> {
    // Read from their files once, to be kept as long as the program runs.
    static CHOICES: LazyLock<Vec<Named>> = LazyLock::new(|| {
        let described = |part: &Preset| (part.name, &*part.description().leak());
        parts().iter().map(described).collect()
    });
    CHOICES.clone()
}

/// Values of a part for the keys of the group `flash`.
pub(super) fn part_settings(name: &str) -> Result<Vec<Setting>, ConfigError> {
    let part = parts().into_iter().find(|part| part.name == name);
    let part = part.expect("part names are checked with the configuration");
    let place = format!("built-in part `{name}`");
    let settings = file::read(part.text, &place, 0)?.into_iter().filter(|setting| setting.key != "source");
    Ok(settings.map(|setting| Setting { key: format!("flash.{}", setting.key), ..setting }).collect())
}
