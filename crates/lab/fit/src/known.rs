//! Measured drives that are part of the program, each with the stack that was fitted to it.

#[derive(Clone, Copy, Debug)]
pub struct KnownDrive {
    pub name: &'static str,
    /// The stack that stands for it, of `nandarium list drives`.
    pub stack: &'static str,
    pub text: &'static str,
}

macro_rules! known {
    ($($name:literal => $stack:literal),* $(,)?) => {
        [$(KnownDrive {
            name: $name,
            stack: $stack,
            text: include_str!(concat!("../measured/", $name, ".toml")),
        }),*]
    };
}

/// All of them, in the order in which they are shown.
pub const KNOWN: [KnownDrive; 8] = known! {
    "micron-7450-max" => "micron-7450-max-like",
    "sk-hynix-pe8110" => "sk-hynix-pe8110-like",
    "solidigm-p5520" => "solidigm-p5520-like",
    "samsung-980-pro" => "samsung-980-pro-like",
    "intel-s4610" => "intel-s4610-like",
    "samsung-pm883" => "samsung-pm883-like",
    "generic-tlc-client" => "generic-tlc-client",
    "generic-qlc-client" => "generic-qlc-client",
};
