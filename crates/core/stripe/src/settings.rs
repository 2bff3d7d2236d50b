//! Parameters of the stripe layer, and values derived from them.

use crate::choice;
use crate::layout::{MOST_DATA, StripeLayout};
use crate::scheme::{Delay, SCHEMES, Scheme, find};
use ftl::mapping::elastic;
use layer::{Choices, Condition, Named, Parameter, ParameterKind, Values, page_key};
use std::sync::LazyLock;
use units::{Organization, quantity};

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

const READS: Choices<Reads> = Choices {
    key: "stripe.reads",
    table: &[
        ("direct", "from its own chip", Reads::Direct),
        (
            "lazy",
            "from its own chip and from the rest of the stripe at once; the slower commands are cancelled",
            Reads::Lazy,
        ),
        ("gc-aware", "from the rest of the stripe alone", Reads::GcAware),
    ],
};
/// Whether runs of pages on one chip are as long as an erase block.
const BY_BLOCK: Choices<bool> = Choices {
    key: "stripe.granularity",
    table: &[("page", "one page", false), ("block", "as many pages as an erase block has", true)],
};
/// Whether a full parity in memory is used to compute the next one.
const CACHED_PARITY: Choices<bool> = Choices {
    key: "stripe.cache.reads",
    table: &[
        ("as-no-cache", "as many as without a cache, as published", false),
        ("cached", "only pages that are not in memory", true),
    ],
};
/// Whether an update always reads what it replaces.
const UPDATE: Choices<bool> = Choices {
    key: "stripe.update",
    table: &[
        ("least", "the pages and the parity that it replaces, or the rest of the stripe, whichever is less", false),
        ("read-modify-write", "always the pages and the parity that it replaces", true),
    ],
};
/// Whether collection moves old versions that a delayed parity still needs.
pub(crate) const MOVES_OLD: Choices<bool> = Choices {
    key: "stripe.semi_valid",
    table: &[
        ("commit", "it has the parity written first", false),
        ("copy", "it copies the old version like a valid page", true),
    ],
};

/// Whether `name` is one of the schemes that `fits` accepts.
fn is_scheme(name: &str, fits: impl Fn(&Scheme) -> bool) -> bool {
    find(name).is_some_and(fits)
}

const STRIPED: Condition = Condition::one_of(KEY, |_, name| is_scheme(name, |_| true));
const FIXED: Condition = Condition::one_of(KEY, |_, name| is_scheme(name, |scheme| !scheme.elastic))
    .otherwise("no page has a chip of its own");
const HAS_PARITY: Condition = Condition::one_of(KEY, |_, name| is_scheme(name, |scheme| scheme.parity > 0))
    .otherwise("nothing can be computed that a spare could take");
const KEEPS_OLD: Condition =
    Condition::one_of(KEY, |_, name| is_scheme(name, Scheme::keeps_old)).otherwise("no old versions are kept");
const READS_AROUND: Condition = Condition::one_of(KEY, |_, name| is_scheme(name, Scheme::keeps_old))
    .otherwise("no page has a stripe that stays and a parity to read instead");
const DELAYS: Condition =
    Condition::one_of(KEY, |_, name| is_scheme(name, Scheme::delays)).otherwise("no parity is delayed");
const KEEPS_FULL: Condition = Condition::one_of(KEY, |_, name| is_scheme(name, |scheme| scheme.delay == Delay::Full))
    .otherwise("no full parity is kept in memory");
const UPDATES: Condition =
    Condition::one_of(KEY, |_, name| is_scheme(name, Scheme::updates)).otherwise("no write updates a full parity");
const HAS_SPARES: Condition = Condition::above_zero("stripe.spares").otherwise("there is no spare");
const GATHERS: Condition = Condition::above_zero("stripe.buffer_size").otherwise("there is no gathering buffer");

/// A key of mappings is read by the mapping below, or by the one that elastic stripes are.
pub const MAPPED: Condition = Condition::one_of(KEY, |key, name| {
    static OWN: LazyLock<Vec<Parameter>> = LazyLock::new(elastic::parameters);
    !has_own_map(name) || OWN.iter().any(|parameter| parameter.key == key)
})
.otherwise("stripes have a map of their own");

/// Whether stripes of this kind are a mapping themselves, and have none below.
pub fn has_own_map(kind: &str) -> bool {
    find(kind).is_some_and(|scheme| scheme.elastic)
}

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
    /// An update always reads what it replaces, even where the rest of the stripe is less.
    pub modifies: bool,
    /// Stripes rebuilt at once.
    pub rebuild_stripes: u32,
    pub reads: Reads,
}

impl Settings {
    pub fn read(values: &Values) -> Self {
        Self {
            entries: values.whole("stripe.cache.entries") as u32,
            in_flight: values.whole("stripe.in_flight") as u32,
            victim: choice::chosen(values),
            cached_parity: CACHED_PARITY.read(values),
            modifies: UPDATE.read(values),
            rebuild_stripes: values.whole("stripe.rebuild_stripes") as u32,
            reads: READS.read(values),
        }
    }
}

/// The key that says how many pages leave the gathering buffer together.
const GROUP_KEY: &str = "stripe.buffer_group";

/// The key whose value is the name of a scheme.
const KEY: &str = "stripe.kind";

/// Kind of the layer of coded striping, which has parameters of its own.
const CODED: Named = (
    "coded",
    "zones of stripe blocks over banks, each segment with a map of its own; the zones read most may have code zones \
     (see the keys coded.*)",
);

/// When to use coded striping.
const CODED_WHEN: &str = "Use it to shorten the tail of reads, on drives that are mostly read. Code blocks take flash, \
    protect no data, and are out of date from a write of their sources until they are encoded again.";

/// When to use each scheme, and coded striping.
fn stripe_uses() -> Vec<Named> {
    let schemes = SCHEMES.iter().map(|scheme| (scheme.name, scheme.when));
    schemes.chain([(CODED.0, CODED_WHEN)]).collect()
}

/// Names of having no stripes, of all schemes, and of coded striping, with a description of each.
pub fn stripe_choices() -> Vec<Named> {
    let schemes = SCHEMES.iter().map(|scheme| (scheme.name, scheme.doc));
    std::iter::once(("none", "no stripes: the mapping places pages")).chain(schemes).chain([CODED]).collect()
}

/// Names of all schemes, of having none, and of coded striping.
pub fn stripe_names() -> Vec<&'static str> {
    stripe_choices().into_iter().map(|(name, _)| name).collect()
}

/// Kinds of stripes of which all that outlives a power cut is in the pages of flash.
pub fn kinds_in_pages() -> Vec<&'static str> {
    let schemes = SCHEMES.iter().filter(|scheme| scheme.not_in_pages().is_none());
    schemes.map(|scheme| scheme.name).collect()
}

/// Every parameter of the layer.
pub fn parameters() -> Vec<Parameter> {
    [shape_parameters(), parity_parameters(), gathering_parameters()].concat()
}

fn shape_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            KEY,
            ParameterKind::Choice(stripe_choices),
            "none",
            "How pages are striped over the chips, and how the stripes are protected. Parity protects against a \
             failing die, and costs programs and spare space: its flash comes on top of drive.capacity and \
             drive.over_provisioning. Where pages have no chip of their own, ftl.gc.* apply to superblocks: one block \
             of every plane, collected together.",
        )
        .uses(stripe_uses),
        Parameter::new(
            "stripe.chips",
            ParameterKind::Count { min: 0, max: 22 },
            "0",
            "Chips of a stripe, data and parity, for example 8; 0: as many as there are channels. With more chips \
             than channels, two chips of a stripe share a channel, and a channel that fails takes both.",
        )
        .only(STRIPED),
        Parameter::new(
            BY_BLOCK.key,
            ParameterKind::Choice(|| BY_BLOCK.named()),
            "page",
            "Consecutive pages that go to one chip before the next chip follows.",
        )
        .only(FIXED),
        Parameter::new(
            "stripe.spares",
            ParameterKind::Count { min: 0, max: 64 },
            "0",
            "Spare dies. They hold nothing until another die fails; then nandarium rebuilds the data of the lost die \
             on a spare. Without a spare, raid-elastic writes the lost data to the other dies, and needs that much \
             more drive.over_provisioning to stay writable.",
        )
        .only(HAS_PARITY),
    ]
}

/// When parities are written, and what they are needed for.
fn parity_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "stripe.in_flight",
            ParameterKind::Count { min: 1, max: 1 << 16 },
            "256",
            "Stripes that may be under way at once, writing their data and parity. Further writes wait.",
        )
        .only(KEEPS_OLD),
        Parameter::new(
            "stripe.cache.entries",
            ParameterKind::Count { min: 1, max: 1 << 24 },
            "1024",
            "Stripes whose parity may be delayed, in schemes that delay parity (the M of the partial parity cache). \
             More entries save parity programs and take more non-volatile memory.",
        )
        .only(DELAYS),
        Parameter::new(
            "stripe.cache.victim",
            ParameterKind::Choice(choice::choices),
            "lru",
            "Which delayed parity is written when the cache needs room.",
        )
        .uses(choice::uses)
        .only(DELAYS),
        Parameter::new(
            CACHED_PARITY.key,
            ParameterKind::Choice(|| CACHED_PARITY.named()),
            "as-no-cache",
            "The pages that an update reads while the full parity of its stripe is in memory.",
        )
        .only(KEEPS_FULL),
        Parameter::new(
            UPDATE.key,
            ParameterKind::Choice(|| UPDATE.named()),
            "least",
            "What a write to a part of a stripe reads to compute the parity. A full stripe reads nothing. What is lost \
                with a die is computed from the rest of its stripe in any case.",
        )
        .only(UPDATES),
        Parameter::new(
            MOVES_OLD.key,
            ParameterKind::Choice(|| MOVES_OLD.named()),
            "commit",
            "How collection treats an old version that a delayed parity still needs (a semi-valid page).",
        )
        .only(KEEPS_OLD),
        Parameter::new(
            READS.key,
            ParameterKind::Choice(|| READS.named()),
            "direct",
            "How a page is read whose chip is cleaning, or has a longer queue than the rest of its stripe. Reading \
             the rest of the stripe instead lowers tail latency. It needs an up-to-date parity.",
        )
        .only(READS_AROUND),
        Parameter::new(
            "stripe.rebuild_stripes",
            ParameterKind::Count { min: 1, max: 4096 },
            "4",
            "Stripes that are rebuilt at once when a spare replaces a lost die. With more the rebuild ends sooner and \
             slows the host more.",
        )
        .only(KEEPS_OLD)
        .only(HAS_SPARES),
    ]
}

/// The write buffer that gathers the pages of a stripe.
fn gathering_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "stripe.buffer_size",
            ParameterKind::Size { min: 0, max: 1 << 40 },
            "1MiB",
            "Bytes of the write buffer that gathers the pages of a stripe, so that they are written together. The \
             least recently written stripe leaves first, and at most a quarter of the buffer is on its way to flash. \
             0B: no gathering buffer.",
        )
        .only(STRIPED),
        Parameter::new(
            "stripe.buffer_nonvolatile",
            ParameterKind::Switch,
            "false",
            "Whether the gathering buffer (stripe.buffer_size) outlives a power cut. If not, a power cut loses \
             buffered pages that were not flushed.",
        )
        .only(STRIPED)
        .only(GATHERS),
        Parameter::new(
            GROUP_KEY,
            ParameterKind::Count { min: 0, max: 22 },
            "0",
            "Most pages of a stripe that leave the gathering buffer together, neighbours of each other: a divisor of \
                its data pages, so that 1 sends pages one by one; 0: all of them.",
        )
        .only(STRIPED)
        .only(GATHERS),
    ]
}

/// Properties of the configuration and the flash that decide where pages are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub scheme: &'static Scheme,
    pub layout: StripeLayout,
    pub spares: u32,
    /// Most pages that leave the gathering buffer together.
    pub group: u32,
}

/// Where pages are, or why the values do not fit the flash.
/// 1. A stripe has as many chips as are set, or as there are channels: enough for its parity, and no more than a set
///    holds.
/// 2. The dies less the spares are a multiple of them.
/// 3. The buffer that gathers pages has room for one, if there is one, and its groups divide the stripes.
/// 4. Pages lie page by page or block by block, and their numbers fit a map entry.
///
/// # Errors
/// The value that does not fit, in words.
pub(crate) fn plan(values: &Values, organization: &Organization, user_pages: u64) -> Result<Option<Plan>, String> {
    let Some(scheme) = find(values.name(KEY)) else { return Ok(None) };
    let (channels, dies) = (organization.channels, organization.dies());
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
             (flash.channels, flash.dies_per_channel, stripe.spares). The dies in use must be a multiple of the chips \
             of a stripe"
        ));
    }
    let (buffer, page) = (values.whole("stripe.buffer_size"), u64::from(organization.page_bytes));
    if buffer > 0 && buffer < page {
        let [has, least] = [buffer, page].map(quantity::exact_size);
        return Err(format!(
            "stripe.buffer_size is {has}, less than a page ({}); raise it to \"{least}\" or more, or set it to \"0B\" \
             for none",
            page_key(values, page)
        ));
    }
    let data = chips - scheme.parity;
    let group = match values.whole(GROUP_KEY) as u32 {
        0 => data,
        group if buffer == 0 || data.is_multiple_of(group) => group,
        group => {
            let divisors: Vec<String> =
                (1..=data).filter(|of| data.is_multiple_of(*of)).map(|of| of.to_string()).collect();
            return Err(format!(
                "{GROUP_KEY} is {group}, which does not divide the {data} data pages of a stripe; set it to one of {}, \
                 or to 0 for all",
                divisors.join(", ")
            ));
        }
    };
    let by_block = BY_BLOCK.read(values) && !scheme.elastic;
    let unit = if by_block { organization.pages_per_block } else { 1 };
    let layout =
        StripeLayout { data, parity: scheme.parity, rotates: scheme.rotates, unit, user_pages: user_pages as u32 };
    if layout.pages() >= 1 << 31 {
        return Err(format!(
            "the stripes of the drive have {} pages; the limit is {}; lower drive.capacity",
            layout.pages(),
            (1_u64 << 31) - 1
        ));
    }
    Ok(Some(Plan { scheme, layout, spares, group }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use layer::Value;

    #[test]
    fn of_the_keys_of_mappings_elastic_stripes_read_those_of_victims() {
        let read = |kind: &str, key: &str| {
            let mut values = Values::default();
            values.set(KEY, Value::Name(kind.to_owned()));
            MAPPED.holds(key, &values)
        };
        for (name, _) in stripe_choices() {
            assert!(read(name, "ftl.gc.victim") && read(name, "ftl.gc.window_blocks"), "{name}");
            assert_eq!(read(name, "ftl.gc.copyback"), !has_own_map(name), "{name}");
        }
    }
}
