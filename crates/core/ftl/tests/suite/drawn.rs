//! Small drives of one mapping, with its keys drawn at random.

use engine::random::Stream;
use ftl::mapping::{self, FtlContext, Layout, Mapping};
use layer::testing::{Host, Plan, TestFlash, flash_of};
use layer::{PageLayer, ParameterKind, Value, Values};
use nand::{FaultPlan, FlashState};
use units::{Geometry, Shape};

/// A mapping, its settings, and the flash it is built over.
#[derive(Clone)]
pub struct Drawn {
    name: &'static str,
    geometry: Geometry,
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
        self.settings.iter().try_for_each(|(key, value)| write!(formatter, " {key}={value}"))
    }
}

/// Whether a key is drawn: blocks with one bit a cell and refreshes need cells of another kind.
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
    /// A drive drawn from `seed`; `spare`: blocks of a plane for those that fail.
    pub fn new(mapping: &Mapping, seed: u64, spare: u32) -> Self {
        let mut stream = Stream::new(seed, mapping.name);
        let mut settings = Vec::new();
        let mut values = Values::default();
        for parameter in mapping::parameters() {
            let own = (mapping.parameters)().iter().any(|own| own.key == parameter.key) && is_drawn(parameter.key);
            let drawn = if own { any_value(parameter.key, parameter.kind, &mut stream) } else { None };
            if let Some(text) = drawn.as_deref().or(parameter.default) {
                values.set(parameter.key, parameter.parse(text).expect("a drawn value is valid"));
            }
            settings.extend(drawn.map(|text| (parameter.key, text)));
        }
        let (channels, planes_per_die) = (1 + stream.below(2) as u32, 1 + stream.below(2) as u32);
        let (pages_per_block, sectors) = (4 + stream.below(5) as u32, 1 << stream.below(3));
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
        let geometry = Geometry::new(shape).expect("a valid shape");
        Self { name: mapping.name, geometry, pages, values, settings, spare }
    }

    /// Its host.
    pub fn host<F: TestFlash>(&self, faults: Option<FaultPlan>) -> Host<F> {
        let mut flash = flash_of::<F>(self.geometry);
        if let Some(plan) = faults {
            flash.state_mut().set_faults(plan, 1);
        }
        let mut host = Host::new(flash, self.pages, true, self.clone());
        host.rig.spare_blocks = self.spare;
        host
    }

    fn context(&self) -> FtlContext<'_> {
        let Self { geometry, pages, values, .. } = self;
        FtlContext { geometry: *geometry, user_pages: *pages, owner: 0, seed: 1, values, stripes: None }
    }
}

impl<F: TestFlash> Plan<F> for Drawn {
    fn build(&self, flash: &F) -> Box<dyn PageLayer<F>> {
        let builder = mapping::builder::<F>(self.name).expect("it is in the table");
        (builder.build)(&self.context(), flash)
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<F>> {
        let builder = mapping::builder::<F>(self.name).expect("it is in the table");
        (builder.recover)(&self.context(), image).expect("it has contents")
    }
}
