//! Random small drives: few blocks, few pages, every mapping with every option it has.

mod layers;

use engine::random::Stream;
use ftl::mapping::{mapping_names, mappings};
use layer::ParameterKind;
use simulator::{Config, ConfigError, DrivePlan, Setting};
use stripe::StripePlan;
use units::Organization;

/// Which media faults a stack may draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    None,
    /// Now and then a program or an erase fails; some blocks are bad from the start.
    Rare,
    /// Dies die, no more of them than the stripes over them can stand.
    Deaths,
}

/// Layers a stack must have; `None`: any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    pub mapping: Option<&'static str>,
    /// The buffer, or `none`.
    pub buffer: Option<&'static str>,
    /// The stripes, or `none`.
    pub stripe: Option<&'static str>,
    /// Blocks with one bit a cell cache writes, wherever the drive drawn can have some.
    pub cached: bool,
    /// A power cut takes what waits until programs are full, wherever the drive drawn can have such memory.
    pub forgetful: bool,
    /// The mapping keeps writes of several pages whole, wherever the drive drawn can do so.
    pub atomic: bool,
}

impl Layers {
    /// A mapping without a buffer.
    pub fn mapping(name: &'static str) -> Self {
        Self { mapping: Some(name), buffer: Some("none"), stripe: Some("none"), ..Self::default() }
    }

    /// Stripes over the mapping that can carry them, without a buffer of the host's.
    pub fn stripe(name: &'static str) -> Self {
        Self { mapping: Some("page"), buffer: Some("none"), stripe: Some(name), ..Self::default() }
    }
}

/// A configuration as `key = value` pairs, printed with every failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    settings: Vec<(&'static str, String)>,
}

/// Stripes of this kind lose nothing with a die.
pub(crate) fn stands_deaths(kind: &str) -> bool {
    !matches!(kind, "none" | "raid0" | "fra" | coded::KIND)
}

struct Shape {
    page_bytes: u64,
    pages_per_block: u64,
    planes: u64,
    /// Blocks of a plane for the user's data.
    data_blocks: u64,
    /// Blocks of a plane beyond those and what the mapping needs.
    spare_blocks: u64,
}

/// The page map over chips in lockstep: drawn from drives with the page map.
const SUPERPAGE: &str = "superpage";
/// Entries of small writes wait in a log of the host: drawn from drives with DFTL.
const SHRD: &str = "shrd";

impl Stack {
    /// A stack with nothing set but time and contents.
    pub fn plain() -> Self {
        let mut stack = Self { settings: Vec::new() };
        stack.set("engine.contents", "stamp");
        stack
    }

    /// Sets a key, replacing an earlier value.
    pub fn set(&mut self, key: &'static str, value: impl std::fmt::Display) -> &mut Self {
        let value = value.to_string();
        match self.settings.iter_mut().find(|setting| setting.0 == key) {
            Some(setting) => setting.1 = value,
            None => self.settings.push((key, value)),
        }
        self
    }

    /// A stack small enough to be read back after every event, of the layers named or of any.
    pub fn draw(stream: &mut Stream, faults: Faults, layers: Layers) -> Self {
        let mut stack = Self::plain();
        // The mapping and its keys are drawn apart, so that the rest of a drive does not depend on how many there are.
        let mut own = stream.clone();
        let names: Vec<_> = mapping_names().into_iter().filter(|name| ![SUPERPAGE, SHRD].contains(name)).collect();
        let drawn = names[own.below(names.len() as u64) as usize];
        let has_stripes = faults == Faults::Deaths || layers.stripe.is_some_and(|stripe| stripe != "none");
        let under_stripes = has_stripes.then_some("page");
        stack.set("ftl.kind", layers.mapping.or(under_stripes).unwrap_or(drawn));
        stack.set("engine.seed", stream.below(1 << 32));
        stack.draw_policies(stream);
        stack.draw_commands(stream);
        stack.draw_mapping(&mut own);
        if layers.atomic {
            stack.set("ftl.gc.frontier", "separate").set("ftl.allocation.placement", "dynamic");
        }
        let spare = if faults == Faults::Rare { 3 } else { 0 };
        let channels = 1 + stream.below(2);
        let dies = 1 + stream.below(2);
        let planes_per_die = 1 + stream.below(2);
        stack.set("flash.channels", channels);
        stack.set("flash.dies_per_channel", dies);
        stack.set("flash.planes_per_die", planes_per_die);
        let mut shape = Shape {
            page_bytes: 512 << stream.below(3),
            pages_per_block: 4 + stream.below(5),
            planes: channels * dies * planes_per_die,
            data_blocks: 2 + stream.below(4),
            spare_blocks: spare,
        };
        stack.draw_stripes(&mut own, &mut shape, layers.stripe, faults);
        if stack.get("stripe.kind") == coded::KIND {
            stack.draw_zones(&mut own, &mut shape);
        } else {
            stack.set_size(&shape, stream);
        }
        stack.draw_buffer(&mut own, &shape, layers.buffer);
        if drawn == "page"
            && layers.mapping.is_none()
            && !has_stripes
            && stack.get("stripe.kind") == "none"
            && own.chance(0.3)
        {
            stack.set("ftl.kind", SUPERPAGE);
        }
        if drawn == "dftl" && layers.mapping.is_none() && !has_stripes && own.chance(0.3) {
            stack
                .set("ftl.kind", SHRD)
                .set("ftl.shrd.log", ["1%", "10%", "40%"][own.below(3) as usize])
                .set("ftl.shrd.most_pages", 1 + own.below(4));
        }
        stack.group_chips(&shape, channels);
        stack.draw_units(&mut own.clone(), &shape, layers);
        stack.draw_promise(own.clone(), &shape, layers);
        stack.lower_promise(shape.page_bytes);
        stack.draw_errors(&mut own.clone());
        stack.draw_collection(own.clone());
        if own.chance(0.1) {
            stack.set("engine.contents", "bytes");
        }
        if faults == Faults::Rare {
            stack.draw_faults(stream);
        }
        stack
    }

    /// Capacity and spare space that give exactly `shape`, full or with some slack.
    fn set_size(&mut self, shape: &Shape, stream: &mut Stream) {
        let stripe = shape.planes * shape.pages_per_block;
        let most = self.without_parity(shape.data_blocks * stripe, shape);
        let slack = if stream.chance(0.5) { 0 } else { stream.below(most / 3 + 1) };
        // The smallest capacity a configuration accepts is 4 KiB.
        let user = (most - slack).max((4096 / shape.page_bytes).min(most)).max(4096 / shape.page_bytes);
        self.set("flash.page_size", format!("{}B", shape.page_bytes));
        self.set("flash.pages_per_block", shape.pages_per_block);
        self.set("drive.capacity", format!("{}B", user * shape.page_bytes));
        let organization = self.organization(shape);
        let config = Config::load("page", &self.settings()).expect("drawn values are valid");
        let stripes = StripePlan::new(&config.values, &organization, user).expect("stripes fit the dies");
        let mapped = stripes.map_or(user, |stripes| stripes.layout().pages()) as u32;
        let spare = |reserve: u64| {
            let physical = (shape.data_blocks + shape.spare_blocks + reserve) * stripe;
            // Half a stripe below the exact share, so that rounding up lands on the wanted count.
            (physical as f64 - stripe as f64 / 2.0) / f64::from(mapped) - 1.0
        };
        let mut share = spare(self.reserve_blocks(&organization, mapped, stripes.as_ref()));
        if share > 10.0 && !self.get("ftl.log.merge_blocks").is_empty() {
            // More than a configuration accepts.
            self.set("ftl.log.merge_blocks", 2);
            share = spare(self.reserve_blocks(&organization, mapped, stripes.as_ref()));
        }
        self.set("drive.over_provisioning", format!("{:.4}%", share * 100.0));
    }

    /// The array as the layers are to see it.
    fn organization(&self, shape: &Shape) -> Organization {
        let [channels, dies_per_channel, planes_per_die] = ["channels", "dies_per_channel", "planes_per_die"]
            .map(|key| self.get(&format!("flash.{key}")).parse().expect("it was drawn as a number"));
        let [pages_per_block, page_bytes] = [shape.pages_per_block, shape.page_bytes].map(|count| count as u32);
        Organization { channels, dies_per_channel, planes_per_die, pages_per_block, page_bytes }
    }

    /// On some drives the pages drawn are units of larger flash pages, and are programmed together: the same blocks.
    fn draw_units(&mut self, stream: &mut Stream, shape: &Shape, layers: Layers) {
        let Layers { cached, forgetful, .. } = layers;
        self.choose(stream, "flash.command_cycles", &["die", "channel", "channel-first"]);
        if stream.chance(0.3) {
            self.set("host.latency", "3us").set("controller.latency", "2us").set("controller.page_time", "1us");
            self.set("controller.request_time", "500ns").set("controller.reads_when_full", "in-order");
            self.set("controller.cores", 1 + stream.below(2));
        }
        let name = self.get("ftl.kind").to_owned();
        let is_collected = mappings().iter().any(|entry| entry.name == name && entry.kept_erased.is_some());
        if name == SUPERPAGE || !is_collected || stream.chance(if cached || forgetful { 0.0 } else { 0.6 }) {
            return;
        }
        let mut left = shape.pages_per_block;
        let mut take = |wanted: &[u64]| {
            let fit: Vec<u64> = wanted.iter().copied().filter(|part| left.is_multiple_of(*part)).collect();
            let part = if fit.is_empty() { 1 } else { fit[stream.below(fit.len() as u64) as usize] };
            left /= part;
            part
        };
        let is_one_plane = self.get("flash.planes_per_die") == "1";
        let in_page = if cached { 1 } else { take(&[1, 2, 4]) };
        let planes = if is_one_plane && !cached { take(&[1, 2]) } else { 1 };
        let in_word_line = take(if cached { &[2, 3] } else { &[1, 2, 3] });
        let per_program = in_page * planes * in_word_line;
        if per_program == 1 || left * in_word_line < 2 {
            return;
        }
        self.set("ftl.unit", format!("{}B", shape.page_bytes))
            .set("flash.page_size", format!("{}B", shape.page_bytes * in_page))
            .set("flash.pages_per_block", left * in_word_line)
            .set("flash.word_line_pages", in_word_line);
        if planes > 1 {
            self.set("flash.planes_per_die", planes).set("flash.planes_as_one", true);
        }
        if self.is_on("ftl.gc.copyback") {
            self.set("ftl.gc.copyback", false);
        }
        let has_cache = name == "page" && self.get("stripe.kind") == "none" && in_word_line > 1;
        if has_cache && self.get("ftl.gc.frontier") == "separate" && (cached || stream.chance(0.8)) {
            self.set("ftl.slc.share", ["20%", "60%", "100%"][stream.below(3) as usize])
                .set("ftl.slc.fold_idle", stream.chance(0.5))
                .set("ftl.slc.after", ["direct", "fold"][stream.below(2) as usize])
                .set("ftl.slc.fold_below", ["0%", "50%"][stream.below(2) as usize])
                .set("flash.slc_program_time", "50us");
        }
        let memory = per_program * [1, 2, 5][stream.below(3) as usize];
        if stream.chance(0.7) {
            self.set("flash.program_memory", format!("{}B", memory * shape.page_bytes));
        }
        if in_word_line > 1 && !forgetful && stream.chance(0.3) {
            self.set("flash.first_pass_time", "40us");
            return;
        }
        if name == "page" && self.get("stripe.kind") == "none" && (forgetful || stream.chance(0.4)) {
            self.let_forget();
        }
    }

    /// What waits until programs are full is lost with power, if a drive of a bounded size has the spare space for it.
    fn let_forget(&mut self) {
        let before = self.clone();
        self.set("flash.program_memory_protected", false).set("ftl.gc.frontier", "separate");
        let share: f64 = self.get("drive.over_provisioning").trim_end_matches('%').parse().expect("it was drawn so");
        for more in [0.0, 50.0, 150.0, 400.0] {
            self.set("drive.over_provisioning", format!("{:.4}%", share + more));
            if share + more <= 1000.0 && self.plan().is_ok() {
                return;
            }
        }
        *self = before;
    }

    /// Some drives without a buffer keep writes of several pages whole.
    fn draw_promise(&mut self, mut stream: Stream, shape: &Shape, layers: Layers) {
        stream.next_u64(); // the first one has drawn whether cells err
        stream.next_u64();
        let has_groups = mappings().iter().any(|entry| entry.name == self.get("ftl.kind") && entry.keeps_groups);
        let is_alone = self.get("buffer.kind") == "none" && self.get("stripe.kind") == "none";
        if has_groups && is_alone && (layers.atomic || stream.chance(0.4)) {
            self.set("drive.atomic", format!("{}B", shape.page_bytes << (1 + stream.below(2))));
        }
    }

    /// A drive promises less than was drawn where it cannot keep so much.
    fn lower_promise(&mut self, page_bytes: u64) {
        for bytes in [2 * page_bytes, page_bytes] {
            if self.get("drive.atomic").is_empty() || self.plan().is_ok() {
                return;
            }
            self.set("drive.atomic", format!("{bytes}B"));
        }
    }

    /// Some drives collect superblocks, and some keep pace with the host, where their mapping can.
    fn draw_collection(&mut self, mut stream: Stream) {
        stream.next_u64(); // the first one has drawn whether cells err
        if stream.chance(0.25) {
            self.set("ftl.gc.superblocks", true);
        }
        if stream.chance(0.3) && self.get("stripe.kind") == "none" {
            self.set("ftl.gc.pace", "host");
        }
    }

    /// Cells of some drives err: reads are repeated until all is corrected, and blocks written anew.
    fn draw_errors(&mut self, stream: &mut Stream) {
        if stream.chance(0.7) {
            return;
        }
        self.set("flash.errors.model", "powers")
            .set("flash.errors.floor", "3e-3")
            .set("flash.errors.codeword", "512B")
            .set("flash.errors.corrected", 10)
            .set("flash.errors.retries", 1000)
            .set("flash.errors.decode_time", "2us");
        let name = self.get("ftl.kind").to_owned();
        let is_collected = mappings().iter().any(|entry| entry.name == name && entry.kept_erased.is_some());
        if is_collected && self.get("stripe.kind") != "raid-elastic" {
            self.choose(stream, "ftl.refresh.reads", &["0", "4", "20"]);
            self.choose(stream, "ftl.refresh.retries", &["0", "3"]);
            self.choose(stream, "ftl.refresh.age", &["0ns", "500us"]);
        }
    }

    /// Under a mapping of superpages, twice the channels with half a page each: the same drive.
    fn group_chips(&mut self, shape: &Shape, channels: u64) {
        if self.get("ftl.kind") == SUPERPAGE {
            let together = if shape.page_bytes > 512 { 2 } else { 1 };
            self.set("ftl.superpage.channels", together).set("ftl.superpage.ways", 1);
            self.set("flash.channels", channels * together)
                .set("flash.page_size", format!("{}B", shape.page_bytes / together));
        }
    }

    /// The user's pages on a drive with room for `pages`, where parity takes its share.
    fn without_parity(&self, pages: u64, shape: &Shape) -> u64 {
        let parity = match self.get("stripe.kind") {
            "" | "none" => return pages,
            "raid0" => 0,
            kind if kind.starts_with("raid6") => 2,
            _ => 1,
        };
        let chips: u64 = self.get("stripe.chips").parse().expect("it was drawn as a number");
        let unit = if self.get("stripe.granularity") == "block" { shape.pages_per_block } else { 1 };
        pages / (chips * unit) * (chips - parity) * unit
    }

    fn is_on(&self, key: &str) -> bool {
        self.get(key) == "true"
    }

    /// What the mapping keeps of each plane; its cache is enlarged until it suffices.
    fn reserve_blocks(&mut self, organization: &Organization, pages: u32, stripes: Option<&StripePlan>) -> u64 {
        for _ in 0..16 {
            let config = Config::load("page", &self.settings()).expect("drawn values are valid");
            if let Ok(blocks) = simulator::reserve_blocks(&config, organization, pages, stripes) {
                return u64::from(blocks);
            }
            let size: u64 = self.get("ftl.map_cache").trim_end_matches('B').parse().expect("it was drawn in bytes");
            self.set("ftl.map_cache", format!("{}B", size * 2));
        }
        panic!("no map cache is large enough for {self}");
    }

    /// Whatever else the mapping can be told: every choice and switch, small counts, any share.
    fn draw_mapping(&mut self, stream: &mut Stream) {
        let entries = 4 << stream.below(4);
        self.set("ftl.translation.entries", entries);
        self.set("ftl.map_cache", format!("{}B", entries * 4 * (1 + stream.below(5))));
        let all = mappings();
        let kind = self.get("ftl.kind").to_owned();
        let entry = all.into_iter().find(|entry| entry.name == kind).expect("the mapping was named");
        let parameters = (entry.parameters)();
        if parameters.iter().all(|parameter| parameter.key != "ftl.allocation.placement") {
            self.set("ftl.allocation.placement", "dynamic");
        }
        for parameter in parameters {
            // Some are drawn by themselves; blocks with one bit a cell need a word line of several pages.
            let is_apart = ["ftl.gc.", "ftl.slc.", "ftl.refresh."].iter().any(|group| parameter.key.starts_with(group));
            if is_apart || !self.get(parameter.key).is_empty() {
                continue;
            }
            // As many log blocks as there is room for, half of the time.
            if parameter.key == "ftl.log.blocks" && stream.chance(0.5) {
                continue;
            }
            // Drawn from a copy, this key leaves seeds the drives that they had before it.
            let mut copy = stream.clone();
            let stream = if parameter.key == "ftl.allocation.run_pages" { &mut copy } else { &mut *stream };
            if let Some(value) = draw_value(stream, parameter.kind) {
                self.set(parameter.key, value);
            }
        }
    }

    fn draw_policies(&mut self, stream: &mut Stream) {
        let victims = ["greedy", "greedy", "cost-benefit", "d-choices", "fifo", "random", "windowed-greedy"];
        let orders = ["cdp", "cpd", "dcp", "dpc", "pcd", "pdc"];
        self.choose(stream, "ftl.gc.victim", &victims);
        self.choose(stream, "ftl.gc.frontier", &["separate", "shared"]);
        self.choose(stream, "ftl.allocation.placement", &["dynamic", "dynamic", "static"]);
        self.choose(stream, "ftl.allocation.order", &orders);
        self.choose(stream, "ftl.gc.copyback", &["false", "true"]);
        self.choose(stream, "ftl.wear.dynamic", &["true", "false"]);
        self.choose(stream, "ftl.wear.static_gap", &["0", "1", "2", "4"]);
        self.set("ftl.gc.copies_in_flight", 1 + stream.below(8));
        self.set("ftl.gc.free_blocks", 1 + stream.below(3));
        self.set("ftl.gc.background_free_blocks", stream.below(4));
    }

    fn draw_commands(&mut self, stream: &mut Stream) {
        for key in [
            "flash.multi_plane",
            "flash.cache_program",
            "flash.cache_read",
            "flash.read_priority",
            "flash.read_in_flight",
        ] {
            self.choose(stream, key, &["false", "true"]);
        }
        // From a copy of the stream: what is drawn after it stays as it is.
        if stream.clone().chance(0.5) {
            self.set("flash.cleaning", "uninterrupted");
        }
        self.choose(stream, "flash.suspend", &["off", "off", "erase", "program-erase"]);
        if self.get("flash.read_priority") == "true" || self.get("flash.suspend") != "off" {
            self.set("flash.cleaning", "interleaved");
        }
        let mut own = stream.clone();
        own.next_u64(); // the first one draws what follows
        if own.chance(0.25) {
            self.set("flash.suspend_step", "70us").set("flash.suspend_end", "150us");
        }
        if self.get("flash.multi_plane") == "true" && own.chance(0.3) {
            self.set("flash.multi_plane", "host-reads");
        }
        self.choose(stream, "flash.suspend_time", &["0ns", "5us"]);
        self.choose(stream, "flash.bus_bandwidth", &["unlimited", "20MB/s", "400MB/s"]);
        self.choose(stream, "flash.command_overhead", &["0ns", "1us"]);
        self.choose(stream, "flash.read_time", &["25us", "60us"]);
        self.choose(stream, "flash.program_time", &["100us", "200us", "900us"]);
        self.choose(stream, "flash.erase_time", &["300us", "1500us", "5ms"]);
        self.choose(stream, "host.link_bandwidth", &["unlimited", "unlimited", "50MB/s"]);
        self.choose(stream, "host.idle_after", &["10us", "1ms", "0ns"]);
    }

    fn draw_faults(&mut self, stream: &mut Stream) {
        // A worn-out drive never has room for the write that reads in order wait behind.
        self.set("controller.reads_when_full", "pass").choose(stream, "flash.fault.program", &["0%", "0.05%", "0.2%"]);
        self.choose(stream, "flash.fault.erase", &["0%", "0.1%", "0.5%"]);
    }

    fn choose(&mut self, stream: &mut Stream, key: &'static str, values: &[&str]) {
        self.set(key, values[stream.below(values.len() as u64) as usize]);
    }

    /// The value of a key that was set.
    pub fn get(&self, key: &str) -> &str {
        self.settings.iter().find(|setting| setting.0 == key).map_or("", |setting| &setting.1)
    }

    /// Whether blocks of any plane serve any page, so that only their sum counts.
    pub fn pools_blocks(&self) -> bool {
        matches!(self.get("ftl.kind"), "bast" | "block" | "fast")
    }

    /// The plan of drives of this stack.
    /// Errors: the values do not fit together.
    pub fn plan(&self) -> Result<DrivePlan, ConfigError> {
        DrivePlan::new(Config::load("page", &self.settings())?)
    }

    fn settings(&self) -> Vec<Setting> {
        let setting = |(key, value): &(&'static str, String)| Setting::new(key, value, "the test");
        self.settings.iter().map(setting).collect()
    }
}

/// Any value of the kinds that need no knowledge of the drive.
fn draw_value(stream: &mut Stream, kind: ParameterKind) -> Option<String> {
    Some(match kind {
        ParameterKind::Choice(names) => names()[stream.below(names().len() as u64) as usize].0.to_owned(),
        ParameterKind::Switch => stream.chance(0.5).to_string(),
        ParameterKind::Count { min, max } => (min + stream.below(8)).min(max).to_string(),
        ParameterKind::Share { max } => format!("{:.1}%", max * 100.0 * stream.unit()),
        _ => return None,
    })
}

impl std::fmt::Display for Stack {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (key, value) in &self.settings {
            write!(formatter, "{key}={value} ")?;
        }
        Ok(())
    }
}
