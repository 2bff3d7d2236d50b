//! Parameters of coded striping, and values derived from them.

use crate::layout::{ZoneLayout, ZoneShape};
use crate::policy::{DIRECT, READ_POLICIES, ReadPolicy};
use erasure::{DECODERS, Decoder, GroupCode};
use ftl::alloc::{FRONTIERS, Frontiers};
use layer::{Choices, Condition, IN_TIME, Parameter, ParameterKind, SIDE_BY_SIDE, Values, page_key};
use units::{Nanos, Organization, quantity};

/// The fate of a code block when one of its sources is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stale {
    /// It is not used any more until the next off-line phase.
    Invalidate,
    /// It is written with the source.
    Update,
    /// It is computed again when the host is idle.
    ReencodeIdle,
}

/// How sub-requests wait for their banks (figure 1 of the publication).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queues {
    /// A queue for each bank.
    Bank,
    /// One queue: the first sub-request waits for its bank, the others behind it.
    One,
    /// All banks work in step on one request.
    Lockstep,
}

const STALE: Choices<Stale> = Choices {
    key: "coded.stale_codes",
    table: &[
        ("invalidate", "it is unused until the next off-line phase", Stale::Invalidate),
        ("update", "it is written with the source", Stale::Update),
        ("reencode-idle", "it is encoded again when the host is idle", Stale::ReencodeIdle),
    ],
};
const QUEUES: Choices<Queues> = Choices {
    key: "coded.queues",
    table: &[
        ("bank", "in a queue for each bank", Queues::Bank),
        ("one", "in one queue: the first sub-request waits for its bank, and the others wait behind it", Queues::One),
        ("lockstep", "in one queue of requests: all banks work on one request in step", Queues::Lockstep),
    ],
};
/// How the decoder finds the blocks that follow from the blocks read.
const DECODER: Choices<Decoder> = Choices { key: "coded.decoder", table: DECODERS };
/// Whether banks clean one after the other.
pub(crate) const CLEANS_IN_TURN: Choices<bool> = Choices {
    key: "coded.cleaning",
    table: &[
        ("any", "any number of banks", false),
        ("in-turn", "one bank after the other; writes wait for their bank's turn", true),
    ],
};
/// Whether the first off-line phase comes before the first request.
pub const CODES_AT_START: Choices<bool> = Choices {
    key: "coded.offline_first",
    table: &[
        ("after-one-period", "after the first period (coded.offline_every)", false),
        ("at-start", "before the first request, with the read counts of that moment", true),
    ],
};

const IS_CODED: Condition = Condition::one_of("stripe.kind", |_, name| name == crate::KIND);
const CODED: Condition = Condition::above_zero("coded.code_zones").otherwise("there are no code zones");
const IN_GROUPS: Condition =
    Condition::one_of(QUEUES.key, |_, name| QUEUES.means(name, |queues| queues != Queues::Lockstep))
        .otherwise("all banks work in step");
const READS_AHEAD: Condition = Condition::above_zero("coded.read_ahead.after").otherwise("nothing is read ahead");

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub decoder: Decoder,
    pub reads: &'static ReadPolicy,
    pub stale: Stale,
    pub queues: Queues,
    /// Sectors of a sequential stream after which reads are widened; 0: never.
    pub ahead: u64,
    /// Streams told apart, and recent reads remembered.
    pub threads: usize,
    pub window: usize,
    /// Time between two off-line phases, ns.
    pub every: u64,
    /// The first one comes before the first request.
    pub at_start: bool,
    /// Encoding a block takes simulated time.
    pub charged: bool,
    /// Counts are halved at each off-line phase.
    pub halves: bool,
    /// Rows encoded at once.
    pub encode_rows: usize,
}

impl Settings {
    pub fn read(values: &Values) -> Self {
        let reads = values.name("coded.reads");
        Self {
            decoder: DECODER.read(values),
            reads: READ_POLICIES.iter().find(|policy| policy.name == reads).expect("policies are checked"),
            stale: STALE.read(values),
            queues: QUEUES.read(values),
            ahead: values.whole("coded.read_ahead.after") / units::SECTOR_BYTES,
            threads: values.whole("coded.read_ahead.streams") as usize,
            window: values.whole("coded.read_ahead.window") as usize,
            every: values.whole("coded.offline_every"),
            at_start: CODES_AT_START.read(values),
            charged: values.on("coded.encoding_takes_time"),
            halves: values.on("coded.popularity_halves"),
            encode_rows: values.whole("coded.encode_rows") as usize,
        }
    }
}

const CENTURY: Nanos = 36_500 * 86_400_000_000_000;

/// Every parameter of the layer.
pub fn parameters() -> Vec<Parameter> {
    let all = [shape_parameters(), code_parameters(), phase_parameters(), ahead_parameters()].concat();
    all.into_iter().map(|parameter| parameter.under(IS_CODED)).collect()
}

fn shape_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "coded.size",
            ParameterKind::Size { min: 1, max: 1 << 50 },
            "256MiB",
            "Bytes of a zone, over all banks. nandarium counts reads by zone, and gives the zones read most a code \
             zone.",
        ),
        Parameter::new(
            "coded.block",
            ParameterKind::Size { min: 512, max: 1 << 20 },
            "8KiB",
            "Bytes of a stripe block. Consecutive stripe blocks go to consecutive banks; each block is read, written \
             and mapped as a whole.",
        ),
        Parameter::new(
            "coded.spare_blocks",
            ParameterKind::Count { min: 2, max: 1 << 16 },
            "2",
            "Erase blocks of each segment beyond its data, for cleaning and bad blocks. They replace \
             drive.over_provisioning, which zones do not use.",
        ),
        Parameter::new(
            QUEUES.key,
            ParameterKind::Choice(|| QUEUES.named()),
            "bank",
            "How sub-requests wait for their banks.",
        ),
    ]
}

fn code_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            CLEANS_IN_TURN.key,
            ParameterKind::Choice(|| CLEANS_IN_TURN.named()),
            "any",
            "Which banks may clean at the same time. With in-turn, code blocks on the other banks can answer reads of \
             the bank that cleans.",
        ),
        Parameter::new(
            "coded.code_zones",
            ParameterKind::Count { min: 0, max: 1 << 16 },
            "0",
            "Zones with code blocks. Each one serves a data zone; the zones read most come first. More code zones \
             speed up more reads, and take more flash.",
        ),
        Parameter::new(
            "coded.group",
            ParameterKind::Count { min: 1, max: 16 },
            "4",
            "Neighbouring banks whose stripe blocks in a row are coded together, for example 4.",
        )
        .only(IN_GROUPS),
        Parameter::new(
            "coded.code",
            ParameterKind::Text,
            "regular-2",
            "Code of a group of data blocks: regular-M, mirror, parity, peel-best, mds, or code blocks as rows of \
             bits, for example \"1100 0110 0011 1001\"; see `nandarium code`. parity is one code block for each \
             group. The column m = n of the publication's table 1 has n code blocks that are all the sum of the n \
             data blocks: regular-4 in groups of 4.",
        )
        .example("mirror")
        .only(CODED),
        Parameter::new(
            DECODER.key,
            ParameterKind::Choice(|| DECODER.named()),
            "peel",
            "How the decoder finds the blocks that follow from the blocks read. gauss decodes more sets of blocks; \
             peel is the published decoder.",
        )
        .only(CODED),
        Parameter::new(
            "coded.reads",
            ParameterKind::Choice(|| READ_POLICIES.iter().map(|policy| (policy.name, policy.doc)).collect()),
            "lazy",
            "Which blocks a read asks for when code blocks can help. Reading more blocks lowers tail latency and \
             keeps more banks busy.",
        )
        .uses(|| READ_POLICIES.iter().map(|policy| (policy.name, policy.when)).collect())
        .only(CODED.counts_as(DIRECT)),
        Parameter::new(
            STALE.key,
            ParameterKind::Choice(|| STALE.named()),
            "invalidate",
            "How a code block is treated when one of its sources is written.",
        )
        .only(CODED),
    ]
}

fn phase_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "coded.offline_every",
            ParameterKind::Duration { max: CENTURY },
            "24h",
            "Time between two off-line phases. In an off-line phase the zones read most get code zones. Each phase \
             waits until the host is idle.",
        )
        .only(CODED)
        .only(IN_TIME)
        .only(SIDE_BY_SIDE)
        .of_state(),
        Parameter::new(
            CODES_AT_START.key,
            ParameterKind::Choice(|| CODES_AT_START.named()),
            "after-one-period",
            "When the first off-line phase is.",
        )
        .only(CODED),
        Parameter::new(
            "coded.encoding_takes_time",
            ParameterKind::Switch,
            "false",
            "Whether reads and programs of encoding take time. Without time they are still counted, under the cause \
             code.",
        )
        .only(CODED),
        Parameter::new(
            "coded.popularity_halves",
            ParameterKind::Switch,
            "false",
            "Halve the read counts of zones at each off-line phase, so that recent reads count more. Otherwise the \
             counts accumulate.",
        )
        .only(CODED),
        Parameter::new(
            "coded.encode_rows",
            ParameterKind::Count { min: 1, max: 4096 },
            "16",
            "Groups of a row that are encoded at once.",
        )
        .only(CODED),
    ]
}

fn ahead_parameters() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "coded.read_ahead.after",
            ParameterKind::Size { min: 0, max: 1 << 40 },
            "64KiB",
            "Bytes of a sequential stream after which its reads are widened to whole groups (read-ahead), for example \
             64KiB; 0B: never.",
        ),
        Parameter::new(
            "coded.read_ahead.streams",
            ParameterKind::Count { min: 1, max: 1024 },
            "20",
            "Sequential streams that read-ahead distinguishes (the thread table). Each stream has a buffer of one \
             group.",
        )
        .only(READS_AHEAD),
        Parameter::new(
            "coded.read_ahead.window",
            ParameterKind::Count { min: 1, max: 1024 },
            "20",
            "Recent reads that read-ahead remembers to notice the beginning of a stream (the sliding window).",
        )
        .only(READS_AHEAD),
    ]
}

/// The settings and properties of flash that decide where stripe blocks are.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub layout: ZoneLayout,
    pub code: GroupCode,
    /// Erase blocks of a segment, spare ones included.
    pub segment_blocks: u32,
}

/// Refuses values that are no multiple of others.
fn multiple(key: &str, value: u64, of: u64, what: &str) -> Result<u64, String> {
    if value == 0 || !value.is_multiple_of(of) {
        let near =
            quantity::size_at_most(value, of).or_else(|| quantity::size_at_least(value.max(1), of)).unwrap_or_default();
        return Err(format!(
            "{key} is {}, no multiple of {what}, {}; try \"{near}\"",
            quantity::exact_size(value),
            quantity::exact_size(of)
        ));
    }
    Ok(value / of)
}

/// One plane a bank, and spare blocks enough for the frontiers.
fn check_banks(values: &Values, organization: &Organization) -> Result<(), String> {
    if organization.planes_per_die > 1 {
        return Err(
            "a bank of stripe.kind = coded is a die with one plane; set flash.planes_per_die to 1 and use more dies"
                .to_owned(),
        );
    }
    if FRONTIERS.read_if_set(values) == Some(Frontiers::Separate) && values.whole("coded.spare_blocks") < 3 {
        return Err("two spare blocks of a segment (coded.spare_blocks) are enough only if copies and writes share a \
            block; set ftl.gc.frontier to \"shared\", or coded.spare_blocks to 3"
            .to_owned());
    }
    Ok(())
}

/// Where stripe blocks of `user_pages` are, or why the values do not fit the flash; nothing where `stripe.kind` is
/// not `coded`.
/// 1. A stripe block is a number of pages that divides an erase block; a zone has whole erase blocks of each bank, and
///    whole rows.
/// 2. The capacity is a number of zones, at least as many as there are code zones; all pages fit a map entry.
/// 3. In lockstep one group takes all banks, and there are no code zones; otherwise the group divides the banks.
/// 4. The code parses, and can be kept up to date in the way that is set.
///
/// # Errors
/// The value that does not fit, in words.
pub(crate) fn plan(values: &Values, organization: &Organization, user_pages: u64) -> Result<Option<Plan>, String> {
    if values.name("stripe.kind") != crate::KIND {
        return Ok(None);
    }
    let [banks, page, block_pages] =
        [organization.dies(), organization.page_bytes, organization.pages_per_block].map(u64::from);
    let erase = block_pages * page;
    check_banks(values, organization)?;
    let page_key = page_key(values, page);
    let pages = multiple("coded.block", values.whole("coded.block"), page, page_key)?;
    let size = values.whole("coded.size");
    let segment_blocks = multiple("coded.size", size, banks * erase, "one erase block of each bank")?;
    let rows = size / banks / (pages * page);
    if !(size / banks).is_multiple_of(pages * page) || !block_pages.is_multiple_of(pages) {
        return Err(format!(
            "coded.block is {pages} pages of {0} ({page_key}), which do not divide an erase block of {block_pages}; \
             \"{0}\", one page, always does",
            quantity::format_size(page)
        ));
    }
    let zones = multiple("drive.capacity", user_pages * page, size, "coded.size")?;
    let code_zones = values.whole("coded.code_zones");
    if code_zones > zones {
        return Err(format!(
            "coded.code_zones is {code_zones}, and there are only {zones} zones to code (drive.capacity / coded.size)"
        ));
    }
    let all = (zones + code_zones).saturating_mul(size / page);
    if all >= 1 << 31 {
        return Err(format!(
            "data and code zones have {all} pages; the limit is {}; lower drive.capacity",
            (1_u64 << 31) - 1
        ));
    }
    let lockstep = QUEUES.read(values) == Queues::Lockstep;
    if lockstep && (banks > 16 || code_zones > 0) {
        return Err(
            "coded.queues = lockstep works on up to 16 banks and without code zones: every request takes all banks"
                .to_owned(),
        );
    }
    let group = if lockstep { banks as u32 } else { values.whole("coded.group") as u32 };
    if !banks.is_multiple_of(u64::from(group)) {
        return Err(format!(
            "coded.group is {group}, which does not divide the {banks} banks (flash.channels x flash.dies_per_channel)"
        ));
    }
    let code = GroupCode::parse(values.name("coded.code"), values.whole("coded.group") as u32)
        .map_err(|error| format!("coded.code: {error}"))?;
    let code = if lockstep { GroupCode::regular(group, 1).expect("up to 16 banks") } else { code };
    if code.is_mds() && STALE.read(values) == Stale::Update {
        return Err(
            "coded.stale_codes = update changes code blocks by the difference, which coded.code = mds does not \
            take; use invalidate or reencode-idle"
                .to_owned(),
        );
    }
    let shape = ZoneShape {
        banks: banks as u32,
        zones: zones as u32,
        code_zones: code_zones as u32,
        rows: rows as u32,
        pages: pages as u32,
        group,
    };
    let layout = ZoneLayout::new(shape, &code)?;
    Ok(Some(Plan { layout, code, segment_blocks: (segment_blocks + values.whole("coded.spare_blocks")) as u32 }))
}
