//! Small drives of one mapping, with its keys drawn at random.

use engine::random::Stream;
use ftl::mapping::{self, FtlContext, Layout, Mapping};
use layer::{PageLayer, ParameterKind, Value, Values};
use nand::{AgeingOptions, ContentsKind, Correction, ErrorRate, FaultPlan, FlashState, RefreshLimits};
use stack::Stacked;
use testing::{Host, Plan, TestFlash};
use units::{Geometry, Shape};

/// What the cells of a drive are like.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    /// Bits of a cell, where blocks may be programmed with one.
    slc_bits: Option<u32>,
    /// When blocks are written anew. Their pages err, and none so that it is lost.
    refresh: Option<RefreshLimits>,
}

impl Cells {
    fn new(stream: &mut Stream) -> Self {
        // Limits that the refreshes themselves reach would have no end.
        let [reads, age_ns, retries] = [30 + stream.below(60), 1_000_000_000, stream.below(2)];
        let limits = RefreshLimits { reads: reads as u32, age_ns, retries: retries as u32 };
        let refresh = stream.chance(0.3).then_some(limits);
        Self { slc_bits: None, refresh }
    }

    fn flash(&self, geometry: Geometry) -> FlashState {
        let mut state = FlashState::new(geometry, ContentsKind::Stamp);
        if let Some(bits) = self.slc_bits {
            state.blocks.allow_slc(bits, 0);
        }
        if let Some(refresh) = self.refresh {
            // 25 errors in a codeword of which 40 are corrected.
            let floor = 25.0 / 4096.0;
            let none = [0.0, 0.0, 1.0];
            let rate = ErrorRate { floor, wear: [0.0, 1.0], retention: none, disturb: none };
            let correction = Correction { codeword_bytes: 512, bits: 40, retries: 20, gain: 0.5, decode_ns: 1000 };
            state.let_err(AgeingOptions { rate, correction, refresh, data_age_ns: 0 }, geometry.page_bytes, 1);
        }
        state
    }
}

/// A mapping, its settings, and the flash it is built over.
#[derive(Clone)]
pub struct Drawn {
    name: &'static str,
    geometry: Geometry,
    cells: Cells,
    pages: u32,
    values: Values,
    /// Its settings, for whoever reads of a failure.
    settings: Vec<(&'static str, String)>,
    spare: u32,
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (pages_per_block, blocks_per_plane) = (self.geometry.pages_per_block, self.geometry.blocks_per_plane());
        let planes = self.geometry.planes();
        write!(formatter, "{} with {} pages on {planes} planes of {blocks_per_plane} blocks", self.name, self.pages)?;
        write!(formatter, " of {pages_per_block} pages:")?;
        if self.geometry.pages_per_program() > 1 || self.cells.refresh.is_some() {
            write!(formatter, " {} pages a program, {:?}:", self.geometry.pages_per_program(), self.cells)?;
        }
        self.settings.iter().try_for_each(|(key, value)| write!(formatter, " {key}={value}"))
    }
}

/// Whether a key is drawn with every drive: what has to do with cells is drawn with those.
fn is_drawn(key: &str) -> bool {
    !["ftl.slc.", "ftl.refresh.", "ftl.superpage.", "ftl.map_cache"].iter().any(|group| key.starts_with(group))
}

fn any_value(key: &str, kind: ParameterKind, stream: &mut Stream) -> Option<String> {
    Some(match (key, kind) {
        ("ftl.translation.entries", _) => (4 << stream.below(2)).to_string(),
        ("ftl.gc.free_blocks", _) => (1 + stream.below(3)).to_string(),
        (_, ParameterKind::Choice(names)) => names()[stream.below(names().len() as u64) as usize].0.to_owned(),
        (_, ParameterKind::Switch) => stream.chance(0.5).to_string(),
        (_, ParameterKind::Count { min, max }) => (min + stream.below(6)).min(max).to_string(),
        (_, ParameterKind::Share { max }) => format!("{:.1}%", max * 100.0 * stream.unit()),
        _ => return None,
    })
}

impl Drawn {
    /// A drive drawn from `seed`, whose pages are programmed one by one into cells that do not err; `spare`: blocks of
    /// a plane for those that fail.
    pub fn new(mapping: &Mapping, seed: u64, spare: u32) -> Self {
        Self::with(mapping, seed, spare, None)
    }

    /// The same, but its cells are drawn as well: pages of a program, blocks with one bit a cell, and refreshes.
    pub fn with_cells(mapping: &Mapping, seed: u64, spare: u32) -> Self {
        Self::with(mapping, seed, spare, Some(Stream::new(seed, "cells")))
    }

    fn with(mapping: &Mapping, seed: u64, spare: u32, cells: Option<Stream>) -> Self {
        let mut stream = Stream::new(seed, mapping.name);
        let mut settings = Vec::new();
        let mut values = Values::default();
        for parameter in mapping::parameters() {
            let own = (mapping.parameters)().iter().any(|own| own.key == parameter.key) && is_drawn(parameter.key);
            // With a stream of its own, this key leaves all other values as they were when `lives` were found.
            let mut apart = Stream::new(seed, parameter.key);
            let stream = if parameter.key == "ftl.allocation.run_pages" { &mut apart } else { &mut stream };
            let drawn = if own { any_value(parameter.key, parameter.kind, stream) } else { None };
            if let Some(text) = drawn.as_deref().or(parameter.default) {
                values.set(parameter.key, parameter.parse(text).expect("a drawn value is valid"));
            }
            settings.extend(drawn.map(|text| (parameter.key, text)));
        }
        let (channels, planes_per_die) = (1 + stream.below(2) as u32, 1 + stream.below(2) as u32);
        let (pages_per_block, sectors) = (4 + stream.below(5) as u32, 1 << stream.below(3));
        let (mut drawn, mut program) = (Cells::default(), 1);
        if let Some(mut stream) = cells {
            drawn = Cells::new(&mut stream);
            let programs: Vec<u32> = (1..=4).filter(|pages| pages_per_block % pages == 0).collect();
            program = programs[stream.below(programs.len() as u64) as usize];
            let has_slc = (mapping.parameters)().iter().any(|own| own.key == "ftl.slc.share");
            if has_slc && program > 1 && values.name("ftl.gc.frontier") == "separate" && stream.chance(0.7) {
                drawn.slc_bits = Some(program);
                values.set("flash.word_line_pages", Value::Whole(program.into()));
                let (share, blocks) = (stream.unit(), stream.below(3));
                values.set("ftl.slc.share", Value::Real(share));
                values.set("ftl.slc.blocks", Value::Whole(blocks));
                let after = if stream.chance(0.5) { "fold" } else { "direct" };
                values.set("ftl.slc.after", Value::Name(after.to_owned()));
                let below = if stream.chance(0.3) { stream.unit() } else { 0.0 };
                values.set("ftl.slc.fold_below", Value::Real(below));
                let (share, blocks, below) = (share.to_string(), blocks.to_string(), below.to_string());
                settings.extend([("ftl.slc.share", share), ("ftl.slc.blocks", blocks)]);
                settings.extend([("ftl.slc.after", after.to_owned()), ("ftl.slc.fold_below", below)]);
            }
        }
        let (planes, data_blocks) = (channels * planes_per_die, 2 + stream.below(4) as u32);
        let pages = planes * data_blocks * pages_per_block - stream.below(3) as u32;
        let layout = Layout { page_bytes: 512 * sectors, pages_per_block, planes, user_pages: pages };
        let mut cache = 16;
        let reserve = loop {
            values.set("ftl.map_cache", Value::Whole(cache));
            match (mapping.reserve_blocks)(&values, &layout) {
                Ok(reserve) => break reserve,
                Err(problem) => assert!(cache < 1 << 20, "{problem}; {settings:?}"),
            }
            cache *= 2;
        };
        let more = (mapping.kept_for_failures)(&values, &layout, data_blocks + reserve + spare);
        let blocks = data_blocks + reserve + if spare > 0 { spare + more } else { 0 };
        let shape = Shape {
            channels,
            dies_per_channel: 1,
            planes_per_die,
            blocks_per_die: blocks * planes_per_die,
            pages_per_block,
            page_bytes: 512 * sectors,
        };
        settings.push(("ftl.map_cache", cache.to_string()));
        let geometry =
            Geometry::new(shape).and_then(|geometry| geometry.programmed_by(program)).expect("a valid shape");
        Self { name: mapping.name, geometry, cells: drawn, pages, values, settings, spare }
    }

    /// Its host.
    pub fn host<F: TestFlash + Stacked>(&self, faults: Option<FaultPlan>) -> Host<F> {
        let mut flash = F::over(self.cells.flash(self.geometry));
        if let Some(plan) = faults {
            flash.state_mut().set_faults(plan, 1);
        }
        let mut host = Host::new(flash, self.pages, true, self.clone());
        host.rig.spare_blocks = self.spare;
        host
    }

    fn context(&self) -> FtlContext<'_> {
        let Self { geometry, pages, values, .. } = self;
        FtlContext { geometry: *geometry, user_pages: *pages, owner: 0, seed: 1, values, stripes: None, group_pages: 1 }
    }
}

impl<F: TestFlash + Stacked> Plan<F> for Drawn {
    fn build(&self, flash: &F) -> Box<dyn PageLayer<F>> {
        let builder = F::mapping(self.name).expect("it is in the table");
        (builder.build)(&self.context(), flash)
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<F>> {
        let builder = F::mapping(self.name).expect("it is in the table");
        (builder.recover)(&self.context(), image).expect("it has contents")
    }
}
