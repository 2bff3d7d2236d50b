//! Parameters of the stripe layer, and what follows from them.

use crate::choice;
use crate::layout::{MOST_DATA, StripeLayout};
use crate::scheme::{Delay, SCHEMES, Scheme, find};
use layer::{Named, Parameter, ParameterKind, Values};
use units::quantity;

/// Where a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// From its own chip.
    Direct,
    /// If that is busy, there and from the rest of its stripe, whichever ends first.
    Lazy,
    /// If that is busy, from the rest of its stripe.
    GcAware,
}

/// Name, what it does, and what it is here.
const READS: &[(&str, &str, Reads)] = &[
    ("direct", "from that chip", Reads::Direct),
    ("lazy", "from that chip and from the rest at once, late commands being taken back", Reads::Lazy),
    ("gc-aware", "from the rest alone", Reads::GcAware),
];

/// Settings read once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Most stripes with a delayed parity.
    pub entries: u32,
    /// Most stripes being updated at once beyond those.
    pub in_flight: u32,
    /// Which delayed parity is committed.
    pub victim: &'static str,
    /// A full parity in memory is used to compute the next one.
    pub cached_parity: bool,
    /// Stripes rebuilt at once.
    pub rebuild_stripes: u32,
    pub reads: Reads,
}

impl Settings {
    pub fn read(values: &Values) -> Self {
        let reads = values.name("stripe.reads");
        Self {
            entries: values.whole("stripe.cache.entries") as u32,
            in_flight: values.whole("stripe.in_flight") as u32,
            victim: choice::chosen(values),
            cached_parity: values.name("stripe.cache.reads") == "cached",
            rebuild_stripes: values.whole("stripe.rebuild_stripes") as u32,
            reads: READS.iter().find(|(name, ..)| *name == reads).expect("choices are checked").2,
        }
    }
}

/// Kind of the layer that stripes over zones, which has parameters of its own.
const ZONES: Named = (
    "zones",
    "zones of stripe blocks over banks, each segment with a map of its own; the zones read most may have code zones; \
     its keys are zones.*",
);

/// Names of having no stripes, of all schemes, and of zones, with what each is.
pub fn stripe_choices() -> Vec<Named> {
    let schemes = SCHEMES.iter().map(|scheme| (scheme.name, scheme.doc));
    std::iter::once(("none", "no stripes: the mapping places pages")).chain(schemes).chain([ZONES]).collect()
}

/// Names of all schemes, of having none, and of zones.
pub fn stripe_names() -> Vec<&'static str> {
    stripe_choices().into_iter().map(|(name, _)| name).collect()
}

/// Every parameter of the layer.
pub fn parameters() -> Vec<Parameter> {
    [shape_parameters(), parity_parameters()].concat()
}

/// Where pages are.
fn shape_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "stripe.kind",
            ParameterKind::Choice(stripe_choices),
            "none",
            "How pages are striped over the chips, and what protects them. Parity comes on top of drive.capacity \
                and drive.over_provisioning. raid-elastic has a map of its own and knows of ftl.gc.* only free_blocks \
                (superblocks there) and copies_in_flight.",
        ),
        Parameter::new(
            "stripe.chips",
            ParameterKind::Count { min: 0, max: 22 },
            "0",
            "Chips of a stripe, data and parity; 0: as many as there are channels. With more, two chips of a \
                stripe share a channel, and a channel that fails takes both.",
        ),
        Parameter::new(
            "stripe.granularity",
            ParameterKind::Choice(|| vec![("page", "one"), ("block", "as many as an erase block has")]),
            "page",
            "Consecutive pages that go to one chip.",
        ),
        Parameter::new(
            "stripe.spares",
            ParameterKind::Count { min: 0, max: 64 },
            "0",
            "Dies that hold nothing until another one fails; what that one held is then rebuilt on them. Without \
                one, raid-elastic writes what a lost die held to the others, and needs that much more of \
                drive.over_provisioning to stay writable.",
        ),
    ]
}

/// When parities are written, and what gathers for them.
fn parity_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "stripe.in_flight",
            ParameterKind::Count { min: 1, max: 1 << 16 },
            "256",
            "Stripes whose parity is being written with their data, at once; further writes wait.",
        ),
        Parameter::new(
            "stripe.cache.entries",
            ParameterKind::Count { min: 1, max: 1 << 24 },
            "1024",
            "Stripes whose parity may be delayed, for schemes that delay it (the M of the partial parity cache).",
        ),
        Parameter::new(
            "stripe.cache.victim",
            ParameterKind::Choice(choice::choices),
            "lru",
            "Which delayed parity is written when room is needed.",
        ),
        Parameter::new(
            "stripe.cache.reads",
            ParameterKind::Choice(|| {
                vec![
                    ("as-no-cache", "as much as without a cache, as published"),
                    ("cached", "nothing that memory holds"),
                ]
            }),
            "as-no-cache",
            "What an update of a full parity in memory reads.",
        ),
        Parameter::new(
            "stripe.semi_valid",
            ParameterKind::Choice(|| {
                vec![("commit", "has the parity written first"), ("copy", "moves it like a valid page")]
            }),
            "commit",
            "What collection does with an old version that a delayed parity still needs.",
        ),
        Parameter::new(
            "stripe.reads",
            ParameterKind::Choice(|| READS.iter().map(|(name, doc, _)| (*name, *doc)).collect()),
            "direct",
            "How a page is read whose chip is cleaning, or has a longer queue than the rest of its stripe. Only \
                where the parity of the stripe is up to date.",
        ),
        Parameter::new(
            "stripe.rebuild_stripes",
            ParameterKind::Count { min: 1, max: 4096 },
            "4",
            "Stripes rebuilt at once when a spare takes the place of a lost die: more end sooner and disturb the \
                host more.",
        ),
        Parameter::new(
            "stripe.buffer_size",
            ParameterKind::Size { min: 0, max: 1 << 40 },
            "1MiB",
            "Bytes of the write buffer that gathers the pages of a stripe so that they leave together, least \
                recently written stripe first; a quarter of it may be under way. 0B: none.",
        ),
        Parameter::new(
            "stripe.buffer_nonvolatile",
            ParameterKind::Switch,
            "false",
            "Whether the gathering buffer outlives a power cut.",
        ),
    ]
}

/// Settings of the layer that this configuration does not read, and why.
pub fn unused(values: &Values) -> Vec<(&'static str, String)> {
    let name = values.name("stripe.kind");
    let of_kind = |keys: &[&'static str], why: &str| {
        keys.iter().map(|key| (*key, format!("stripe.kind is {name}{why}"))).collect::<Vec<_>>()
    };
    let Some(scheme) = find(name) else {
        return parameters()
            .into_iter()
            .filter(|own| own.key != "stripe.kind")
            .flat_map(|own| of_kind(&[own.key], ""))
            .collect();
    };
    let mut unused = Vec::new();
    if !scheme.delays() {
        unused.extend(of_kind(&["stripe.cache.entries", "stripe.cache.victim"], ", which delays no parity"));
    }
    if scheme.delay != Delay::Full {
        unused.extend(of_kind(&["stripe.cache.reads"], ", which keeps no full parity in memory"));
    }
    if scheme.elastic {
        unused.extend(of_kind(&["stripe.reads"], ", whose pages have no stripe that stays"));
    } else if scheme.parity == 0 {
        unused.extend(of_kind(&["stripe.reads"], ", which has no parity to read instead"));
        unused.extend(of_kind(&["stripe.spares"], ", from which nothing can be computed that a spare could take"));
    }
    if scheme.elastic || scheme.parity == 0 {
        unused.extend(of_kind(
            &["stripe.semi_valid", "stripe.in_flight", "stripe.rebuild_stripes"],
            ", which keeps no old versions",
        ));
    } else if values.whole("stripe.spares") == 0 {
        unused.push(("stripe.rebuild_stripes", "there is no spare (stripe.spares = 0)".to_owned()));
    }
    if values.whole("stripe.buffer_size") == 0 {
        unused.push(("stripe.buffer_nonvolatile", "there is no gathering buffer (stripe.buffer_size = 0B)".to_owned()));
    }
    unused
}

/// What of the configuration and the flash decides where pages are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub scheme: &'static Scheme,
    pub layout: StripeLayout,
    pub spares: u32,
}

/// Elastic stripes have a map of their own, which does not know everything the page map does.
///
/// # Errors
/// Which value has no meaning there, in words.
fn check_elastic(values: &Values) -> Result<(), String> {
    let knows = [
        ("stripe.granularity", "page"),
        ("ftl.kind", "page"),
        ("ftl.gc.victim", "greedy"),
        ("ftl.allocation.placement", "dynamic"),
    ];
    for (key, only) in knows {
        if values.get(key).is_some() && values.name(key) != only {
            return Err(format!(
                "stripe.kind = raid-elastic knows only {key} = {only}, and it is {}; leave it out",
                values.name(key)
            ));
        }
    }
    Ok(())
}

/// Where pages are, or why the values do not fit the flash.
///
/// # Errors
/// What does not fit, in words.
pub(crate) fn plan(values: &Values, user_pages: u64) -> Result<Option<Plan>, String> {
    let Some(scheme) = find(values.name("stripe.kind")) else { return Ok(None) };
    let channels = values.whole("flash.channels") as u32;
    let dies = channels * values.whole("flash.dies_per_channel") as u32;
    let spares = values.whole("stripe.spares") as u32;
    let chips = match values.whole("stripe.chips") as u32 {
        0 => channels,
        chips => chips,
    };
    let least = scheme.parity + if scheme.parity == 0 { 1 } else { 2 };
    if chips < least || chips - scheme.parity > MOST_DATA {
        let most = MOST_DATA + scheme.parity;
        return Err(format!(
            "stripe.kind = {} needs {least} to {most} chips a stripe, and there are {chips}; set stripe.chips, or \
             flash.channels where it is 0",
            scheme.name
        ));
    }
    let used = dies.saturating_sub(spares);
    if used == 0 || !used.is_multiple_of(chips) {
        return Err(format!(
            "stripes of {chips} chips (stripe.chips) cannot be spread evenly over {dies} dies less {spares} spares \
             (flash.channels, flash.dies_per_channel, stripe.spares); \
             the dies in use must be a multiple of the chips of a stripe"
        ));
    }
    if scheme.elastic {
        check_elastic(values)?;
    }
    let (buffer, page) = (values.whole("stripe.buffer_size"), values.whole("flash.page_size"));
    if buffer > 0 && buffer < page {
        let [has, least] = [buffer, page].map(quantity::exact_size);
        return Err(format!(
            "stripe.buffer_size is {has}, less than a page (flash.page_size); raise it to \"{least}\" or more, or set \
             it to \"0B\" for none"
        ));
    }
    let unit =
        if values.name("stripe.granularity") == "block" { values.whole("flash.pages_per_block") as u32 } else { 1 };
    let layout = StripeLayout {
        data: chips - scheme.parity,
        parity: scheme.parity,
        rotates: scheme.rotates,
        unit,
        user_pages: user_pages as u32,
    };
    if layout.pages() >= 1 << 31 {
        return Err(format!(
            "with parity the drive has {} pages; the limit is {}; lower drive.capacity or raise flash.page_size",
            layout.pages(),
            (1_u64 << 31) - 1
        ));
    }
    Ok(Some(Plan { scheme, layout, spares }))
}
