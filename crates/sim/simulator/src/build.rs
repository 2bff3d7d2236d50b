//! Turning a configuration into a drive.

use crate::array::{self, Array};
use crate::clocked::Clocked;
use crate::config::{Config, ConfigError, flash_keys, keys};
use crate::drive::{Drive, Firmware, HOST_TIMERS, HostOptions};
use crate::errors;
use crate::scale::Scale;
use crate::spare::is_above_zero;
use buffer::{ACKNOWLEDGED_ON_FLASH, Buffer};
use coded::CodedPlan;
use engine::random::Stream;
use ftl::mapping::{self, Layout, Mapping, mappings};
use layer::{ATOMIC, Value, Values};
use nand::{
    CommandOptions, ContentsKind, FaultPlan, FlashState, MeteredFlash, PageTimes, Part, ServiceMeter, SuspendOption,
    TimedFlash,
};
use stack::{Layers, StackPlan, Stacked as _};
use stripe::StripePlan;
use units::{BlockId, DieId, Geometry, Nanos, Organization, SECTOR_BYTES, quantity};

/// Everything needed to build drives of one configuration.
#[derive(Clone, Debug)]
pub struct DrivePlan {
    /// The configuration.
    pub config: Config,
    /// How much smaller the drive is than its keys say.
    pub scale: Scale,
    /// The flash array that its keys describe.
    pub array: Array,
    /// Shape of the flash.
    pub geometry: Geometry,
    /// Logical pages the user sees.
    pub user_pages: u32,
    /// Share of them, from the first on, that the workload may write: the value of `workload.footprint` says, until a
    /// workload is known.
    pub(crate) touched: f64,
    /// Stripes over the chips, if there are any.
    pub stripes: Option<StripePlan>,
    /// Zones over the banks, if there are any.
    pub coded: Option<CodedPlan>,
    /// The driver of the host over the drive, if there is one. This plan does not build it.
    pub remap: Option<remap::RemapPlan>,
    /// Values of the buffer that gathers their pages.
    pub(crate) gather: Option<Values>,
    /// Dies that fail during the measured run.
    deaths: Vec<DieId>,
    /// Times and endurance of the flash.
    pub part: Part,
    options: CommandOptions,
    host: HostOptions,
}

/// How a drive serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Without time: commands are only counted.
    Counted,
    /// Dies and channels work side by side.
    Parallel,
    /// One request at a time (see [`crate::SerialDrive`]).
    Serial,
}

/// One page in this many of the gathering buffer may be on its way to flash. A stripe takes two programs, data and then
/// parity: one page for each chip would leave most chips idle. A page under way gathers no longer.
const GATHERED_UNDER_WAY: u64 = 4;

/// A capacity is rounded down to whole pages where that takes no more than one in this many of its bytes.
const ROUNDED_OFF: u64 = 10_000;

pub(crate) fn together(problem: String) -> ConfigError {
    ConfigError::Together { problem }
}

impl DrivePlan {
    /// Checks that the values of a configuration fit together.
    ///
    /// # Errors
    /// [`ConfigError::Together`], with the limit and how to mend it.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        let scale = Scale::of(&config, |whole| match Self::new(whole) {
            // What is too large for the addresses here may well be run smaller.
            Err(ConfigError::TooLarge { .. }) => Ok(()),
            plan => plan.map(drop),
        })?;
        Self::scaled(config, scale).map_err(|error| scale.explained(error))
    }

    fn scaled(config: Config, scale: Scale) -> Result<Self, ConfigError> {
        let values = &config.values;
        Self::check_stripes(&config)?;
        let array = Array::of(values, scale.pages_per_block, &mapping_of(&config)).map_err(together)?;
        let user_pages = Self::whole_pages(&config, scale.capacity, &array)?;
        let stripes = StripePlan::new(values, &array.mapped, user_pages).map_err(together)?;
        let coded = CodedPlan::new(values, &array.mapped, user_pages).map_err(together)?;
        let blocks = match &coded {
            Some(coded) => coded.bank_blocks(),
            None => Self::die_blocks(&config, &array, user_pages, stripes.as_ref())?,
        };
        let problem = || "the drive has more than 2^32 blocks in a die; use more dies".to_owned();
        let too_many = |_| ConfigError::TooLarge { problem: problem() };
        let shape = array.mapped.with_blocks(u32::try_from(blocks).map_err(too_many)?);
        let geometry = Geometry::new(shape).and_then(|geometry| geometry.programmed_by(array.units_per_program));
        let geometry = geometry.map_err(|error| array.impossible(&error, &config))?;
        let plan = Self {
            part: Self::part(&config, &array, scale.erase_ns)?,
            scale,
            array,
            deaths: Self::read_deaths(&config, &array)?,
            remap: crate::remapped::plan(&config.values, &geometry, user_pages as u32).map_err(together)?,
            gather: Self::gather(&config, &array, stripes.as_ref()),
            stripes,
            coded,
            options: Self::options(&config, &array),
            host: Self::host(values),
            geometry,
            user_pages: user_pages as u32,
            touched: crate::in_use::touched(&config),
            config,
        };
        plan.check_faults()?;
        plan.check_cleaning()?;
        plan.check_buffer()?;
        plan.check_promises()?;
        crate::session::rest::check(&plan.config, plan.service()).map_err(together)?;
        errors::check(&plan.config.values, array.flash_page_bytes().into()).map_err(together)?;
        Ok(plan)
    }

    fn host(values: &Values) -> HostOptions {
        let of_writes = |key, all| values.get(key).map_or_else(|| values.whole(all), |_| values.whole(key));
        HostOptions {
            link_bytes_per_second: values.whole("host.link_bandwidth"),
            latency_ns: values.whole("host.latency"),
            drive_latency_ns: values.whole("controller.latency"),
            of_writes: Firmware {
                request_ns: of_writes("controller.write_request_time", "controller.request_time"),
                page_ns: of_writes("controller.write_time", "controller.page_time"),
            },
            of_others: Firmware {
                request_ns: values.whole("controller.request_time"),
                page_ns: values.whole("controller.page_time"),
            },
            cores: values.whole("controller.cores") as u32,
            reads_in_order: keys::READS_WHEN_FULL.read(values),
            idle_after_ns: values.whole("host.idle_after"),
        }
    }

    /// Whole pages of a capacity, rounded down where that takes next to nothing of it: drives are sold by sizes that
    /// are no whole number of pages, and a size of a few digits is rounded anyway.
    fn whole_pages(config: &Config, capacity: u64, array: &Array) -> Result<u64, ConfigError> {
        let page = u64::from(array.mapped.page_bytes);
        if capacity % page <= capacity / ROUNDED_OFF {
            return Ok(capacity / page);
        }
        let near = quantity::size_at_most(capacity, page)
            .or_else(|| quantity::size_at_least(capacity, page))
            .unwrap_or_default();
        Err(together(format!(
            "drive.capacity is {}, no whole number of pages of {} ({}); try \"{near}\"",
            config.resolved["drive.capacity"],
            quantity::format_size(page),
            array.page_key()
        )))
    }

    /// Blocks of a die: those of a plane follow from capacity and spare space; a plane also needs its reserve.
    fn die_blocks(
        config: &Config,
        array: &Array,
        user_pages: u64,
        stripes: Option<&StripePlan>,
    ) -> Result<u64, ConfigError> {
        let (values, organization) = (&config.values, &array.mapped);
        let planes_per_die = u64::from(organization.planes_per_die);
        let planes = u64::from(organization.dies() - stripes.map_or(0, StripePlan::spares)) * planes_per_die;
        // Parity counts as data: what is spare is spare beyond it.
        let user_pages = stripes.map_or(user_pages, |stripes| stripes.layout().pages());
        let per_plane = planes * u64::from(organization.pages_per_block);
        let physical = (user_pages as f64 * (1.0 + values.real("drive.over_provisioning"))).ceil() as u64;
        let blocks = physical.div_ceil(per_plane);
        let reserve = u64::from(reserve_blocks(config, organization, user_pages as u32, stripes)?);
        // Collection may have to fill up a program for each block that it empties.
        let usable = planes * u64::from(array.usable_units().map_err(together)?);
        let room = blocks.saturating_sub(reserve) * usable;
        if room < user_pages {
            let needed = (user_pages.div_ceil(usable) + reserve) * per_plane;
            let share = ((needed as f64 / user_pages as f64 - 1.0) * 1000.0).ceil() / 10.0;
            let raise = format!("raise it to \"{share:.1}%\"");
            let remedy = match share {
                // More spare flash than user data is hardly meant, and more than the key takes is no remedy.
                1000.1.. => format!(
                    "use a smaller flash.pages_per_block, fewer planes ({}) or a larger drive.capacity",
                    array.plane_keys()
                ),
                100.1.. => {
                    format!("use a smaller flash.pages_per_block or fewer planes ({}), or {raise}", array.plane_keys())
                }
                _ => format!("{raise}, or use fewer planes or smaller blocks"),
            };
            let lower = |key: &str| format!(", or lower {key} from {}", config.resolved[key]);
            let given = RESERVING.into_iter().filter(|key| is_above_zero(values, key));
            let logs: String = given.map(lower).collect();
            let old = stripes.and_then(|stripes| Some((stripes.most_old(values), stripes.old_keys()?)));
            let logs = match old {
                Some((old, keys)) if old > 0 => {
                    format!("{logs}; {old} old versions have to find room in each plane: lower {keys}")
                }
                _ => logs,
            };
            let pages = if stripes.is_some_and(|stripes| stripes.layout().parity > 0) {
                "pages of data and parity"
            } else {
                "user pages"
            };
            return Err(together(format!(
                "too little spare flash: {user_pages} {pages} and {reserve} reserved blocks in each of {planes} planes \
                 need {needed} flash pages, drive.over_provisioning gives {}; {remedy}{logs}",
                blocks * per_plane,
            )));
        }
        Ok(blocks * planes_per_die)
    }

    fn part(config: &Config, array: &Array, erase_ns: Nanos) -> Result<Part, ConfigError> {
        let values = &config.values;
        let [page_read_ns, page_program_ns] = array.page_times(values).map_err(together)?;
        let mean = |times: Option<PageTimes>, key| times.map_or_else(|| values.whole(key), |times| times.mean());
        Ok(Part {
            read_ns: mean(page_read_ns, "flash.read_time"),
            program_ns: mean(page_program_ns, "flash.program_time"),
            page_read_ns,
            page_program_ns,
            slc: array::slc_times(values),
            first_pass_ns: array::first_pass(values),
            erase_ns,
            bus_bytes_per_second: values.whole("flash.bus_bandwidth"),
            page_bytes: array.page_bytes,
            planes_as_one: array.planes_as_one,
            side_by_side: array.side_by_side(),
            command_ns: values.whole("flash.command_overhead"),
            endurance: values.whole("flash.endurance") as u32,
        })
    }

    fn options(config: &Config, array: &Array) -> CommandOptions {
        let values = &config.values;
        CommandOptions {
            multi_plane: flash_keys::MULTI_PLANE.read(values),
            cache_read: values.on("flash.cache_read"),
            cache_program: values.on("flash.cache_program"),
            read_priority: values.on("flash.read_priority"),
            uninterrupted: flash_keys::CLEANING.read(values),
            host_reads_first: flash_keys::URGENT.read(values),
            suspend: flash_keys::SUSPEND.read(values),
            suspend_ns: values.whole("flash.suspend_time"),
            suspend_step_ns: values.whole("flash.suspend_step"),
            suspend_end_ns: values.whole("flash.suspend_end"),
            suspend_limit: values.whole("flash.suspend_limit") as u8,
            read_in_flight: values.on("flash.read_in_flight"),
            reads_in_order: keys::READS_WHEN_FULL.read(values),
            command_cycles: flash_keys::COMMAND_CYCLES.read(values),
            tells_waits: values.on(metrics::CAUSES_KEY),
            gather_pages: array.gather_units,
            gather_forgets: array.forgets,
        }
    }

    /// Dies of the layers that fail during the measured run.
    ///
    /// # Errors
    /// Something that is not a number of a die or channel.
    fn read_deaths(config: &Config, array: &Array) -> Result<Vec<DieId>, ConfigError> {
        let mut dies: Vec<u32> = Vec::new();
        for (key, what, count) in
            [("flash.fault.dies", "dies", array.dies()), ("flash.fault.channels", "channels", array.channels())]
        {
            let text = config.values.get(key).map_or("", |_| config.values.name(key));
            for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                let number = word.parse::<u32>().ok().filter(|number| *number < count).ok_or_else(|| {
                    together(format!(
                        "`{word}` in {key} is none of the drive's {count} {what}; write numbers from 0 to \
                        {}, separated by commas",
                        count - 1
                    ))
                })?;
                let named = if what == "dies" { vec![number] } else { array.dies_behind(number) };
                if named.iter().any(|die| dies.contains(die)) {
                    return Err(together(format!(
                        "{key} names {what} that fail already: `{word}` stands there twice, or in both keys"
                    )));
                }
                dies.extend(named);
            }
        }
        Ok(array.mapped_dies(&dies))
    }

    /// Dies that are to fail (`flash.fault.dies`).
    pub fn deaths(&self) -> &[DieId] {
        &self.deaths
    }

    /// Lets the dies of `flash.fault.dies` and `flash.fault.channels` fail when their time comes.
    pub fn arm_deaths<F: Clocked>(&self, drive: &mut Drive<F>) {
        drive.fail_dies_after(&self.deaths, self.config.values.whole("flash.fault.dies_after"));
    }

    fn check_faults(&self) -> Result<(), ConfigError> {
        let values = &self.config.values;
        crate::in_use::check(&self.config, self.user_pages.into()).map_err(together)?;
        if values.real("flash.fault.read") > 0.0 && keys::CONTENTS.read(values) == ContentsKind::None {
            return Err(together(
                "flash.fault.read needs contents to lose: set engine.contents to \"stamp\"".to_owned(),
            ));
        }
        Ok(())
    }

    /// A read cannot both go before what a collection does and wait until it has ended.
    fn check_cleaning(&self) -> Result<(), ConfigError> {
        let CommandOptions { uninterrupted, read_priority, suspend, .. } = self.options;
        if !uninterrupted || !read_priority && suspend == SuspendOption::Off {
            return Ok(());
        }
        let key = if read_priority { "flash.read_priority" } else { "flash.suspend" };
        Err(together(format!(
            "flash.cleaning = uninterrupted lets nothing run before a collection has ended, and {key} lets reads; set \
             flash.cleaning to \"interleaved\", or {key} to \"{}\"",
            if read_priority { "false" } else { "off" }
        )))
    }

    fn check_stripes(config: &Config) -> Result<(), ConfigError> {
        let (entry, stripes) = (mapping_of(config), config.values.name("stripe.kind"));
        if stripes == "none" || entry.is_versioned {
            return Ok(());
        }
        let able = mappings().into_iter().filter(|entry| entry.is_versioned);
        let able: Vec<_> = able.map(|entry| entry.name).collect();
        Err(together(format!(
            "stripe.kind = {stripes} needs a mapping that leaves every page on its chip, and ftl.kind = {} moves pages \
             to any; use ftl.kind = {}",
            entry.name,
            able.join(" or ")
        )))
    }

    fn check_buffer(&self) -> Result<(), ConfigError> {
        let entry = buffer_of(&self.config);
        entry.map_or(Ok(()), |entry| (entry.check)(&self.stack().buffer_context()).map_err(together))
    }

    /// Which commands of its flash fail.
    pub(crate) fn fault_plan(&self) -> FaultPlan {
        let values = &self.config.values;
        FaultPlan {
            program: values.real("flash.fault.program"),
            erase: values.real("flash.fault.erase"),
            read: values.real("flash.fault.read"),
            endurance: self.part.endurance,
            ..FaultPlan::default()
        }
    }

    /// Bytes of the user's pages.
    pub fn capacity(&self) -> u64 {
        u64::from(self.user_pages) * u64::from(self.geometry.page_bytes)
    }

    /// Sectors the host sees: the drive's, or its driver's.
    pub fn host_sectors(&self) -> u64 {
        self.remap.as_ref().map_or(self.capacity() / SECTOR_BYTES, |remap| remap.shape.sectors)
    }

    /// Sectors of a page as the host sees it: of the mapping, or of the map of a driver of the host.
    pub fn host_page_sectors(&self) -> u32 {
        self.remap.as_ref().map_or(self.geometry.sectors_per_page(), |remap| remap.shape.page_sectors)
    }

    /// Pages that the mapping serves: pages of the user, of parity or of code.
    pub fn mapped_pages(&self) -> u64 {
        match (&self.stripes, &self.coded) {
            (Some(stripes), _) => stripes.layout().pages(),
            (_, Some(coded)) => coded.layout().mapped_pages(),
            _ => self.user_pages.into(),
        }
    }

    /// Blocks of each plane, or of each segment of a bank, that hold no user data or parity.
    pub fn reserve_blocks(&self) -> u32 {
        let pages = self.stripes.map_or(self.user_pages, |stripes| stripes.layout().pages() as u32);
        reserve_blocks(&self.config, &self.array.mapped, pages, self.stripes.as_ref()).expect("the plan was checked")
    }

    fn seed(&self) -> u64 {
        self.config.values.whole("engine.seed")
    }

    /// Whether commands take time.
    pub fn is_timed(&self) -> bool {
        layer::TIME.read(&self.config.values)
    }

    /// How requests are served.
    pub fn service(&self) -> Service {
        if !self.is_timed() {
            Service::Counted
        } else if layer::SERVICE.read(&self.config.values) {
            Service::Serial
        } else {
            Service::Parallel
        }
    }

    /// Factory-fresh flash.
    pub fn fresh_state(&self) -> FlashState {
        let mut flash = FlashState::new(self.geometry, keys::CONTENTS.read(&self.config.values));
        let bad = self.config.values.real("flash.fault.factory_bad");
        let mut stream = Stream::new(self.seed(), "flash.factory");
        for block in (0..self.geometry.blocks()).map(BlockId) {
            if bad > 0.0 && stream.chance(bad) {
                flash.mark_bad(block);
            }
        }
        flash.set_faults(self.fault_plan(), self.seed());
        array::allow_slc(&self.config.values, &mut flash);
        errors::let_err(&self.config.values, self.array.page_bytes, self.seed(), &mut flash);
        flash
    }

    /// Bytes of memory that the tables of a drive take at least: at once, and in all when everything has been written,
    /// contents apart. `carries`: it holds the host's cells, and nothing is checked.
    pub fn least_table_bytes(&self, carries: bool) -> [u64; 2] {
        let (user, pages) = (u64::from(self.user_pages), u64::from(self.geometry.pages()));
        let has_contents = keys::CONTENTS.read(&self.config.values) != ContentsKind::None;
        // The map in both directions; 16 bytes a sector of what is expected.
        let maps = 4 * (user + pages);
        let expected = if has_contents && !carries { 16 * self.host_sectors() } else { 0 };
        // Kind, logical page and sequence number of each page.
        let areas = if has_contents { 13 * pages } else { 0 };
        [maps + expected, maps + expected + areas]
    }

    /// Timed flash over a state.
    pub fn timed(&self, flash: FlashState) -> TimedFlash {
        TimedFlash::new(flash, self.part, self.options, HOST_TIMERS)
    }

    /// Counted flash over a state that tells what its commands would cost one after the other.
    pub fn metered(&self, flash: FlashState) -> MeteredFlash {
        let meter = ServiceMeter::new(&self.part, &flash);
        MeteredFlash::with_meter(flash, meter)
    }

    /// The recipe of the layers.
    pub fn stack(&self) -> StackPlan<'_> {
        StackPlan {
            geometry: self.geometry,
            user_pages: self.user_pages,
            seed: self.seed(),
            values: &self.config.values,
            stripes: self.stripes.as_ref(),
            coded: self.coded.as_ref(),
            gather: self.gather.as_ref(),
        }
    }

    /// State that outlives a power cut and is not in the pages of flash, and the keys that turn it off; `None` where
    /// all is.
    pub fn not_in_pages(&self) -> Option<(String, String)> {
        let values = &self.config.values;
        if let Some(what) = self.stripes.as_ref().and_then(StripePlan::not_in_pages) {
            let others = stripe::kinds_in_pages().join(", ");
            let user = format!("stripe.kind = {} keeps {what}", values.name("stripe.kind"));
            return Some((user, format!("set stripe.kind to none, {others} or {}", coded::KIND)));
        }
        let buffers = [
            (self.gather.is_some(), "stripe.buffer_nonvolatile"),
            (buffer_of(&self.config).is_some(), "buffer.nonvolatile"),
        ];
        let (_, key) = buffers.into_iter().find(|(is_there, key)| *is_there && values.on(key))?;
        Some((format!("{key} = true keeps data in non-volatile memory"), format!("set {key} to false")))
    }

    /// Whether stripes are gathered in a buffer that has more room where no two commands are under way at once.
    pub(crate) fn gathers_more_without_time(&self) -> bool {
        self.gather.is_some() && self.stripes.is_some_and(|stripes| !stripes.keeps_room())
    }

    /// Values of the buffer that gathers the pages of a stripe, if there is one.
    fn gather(config: &Config, array: &Array, stripes: Option<&StripePlan>) -> Option<Values> {
        let (values, stripes) = (&config.values, stripes?);
        let page = u64::from(array.mapped.page_bytes);
        let size = values.whole("stripe.buffer_size").max(page);
        let mut gather = values.clone();
        for (key, value) in [
            ("buffer.size", Value::Whole(size)),
            ("buffer.block_size", Value::Whole(u64::from(stripes.group()) * page)),
            ("buffer.write_back_pages", Value::Whole((size / page / GATHERED_UNDER_WAY).max(1))),
            (ACKNOWLEDGED_ON_FLASH.key, Value::Name(ACKNOWLEDGED_ON_FLASH.name_of(false).to_owned())),
            ("buffer.nonvolatile", Value::On(values.on("stripe.buffer_nonvolatile"))),
            (ATOMIC, Value::Whole(SECTOR_BYTES)),
        ] {
            gather.set(key, value);
        }
        (values.whole("stripe.buffer_size") > 0).then_some(gather)
    }

    /// A drive with an empty stack of layers over `flash` in its fresh state.
    pub fn assemble<F: Clocked>(&self, flash: F) -> Drive<F> {
        let top = flash.layers(&self.stack());
        self.drive(flash, top)
    }

    /// A drive whose layers rebuild themselves from what a power cut left.
    ///
    /// # Errors
    /// The mapping cannot be rebuilt.
    pub fn recover(&self, image: FlashState) -> Result<Drive<TimedFlash>, ftl::RecoverError> {
        let top = TimedFlash::recovered(&self.stack(), &image)?;
        Ok(self.drive(self.timed(image), top))
    }

    fn drive<F: Clocked>(&self, flash: F, top: Layers<F>) -> Drive<F> {
        let mut drive = Drive::new(flash, top, self.user_pages, self.host);
        if let Some(oracle) = drive.oracle_mut() {
            oracle.set_volatile(self.is_volatile());
        }
        drive
    }
}

/// Keys that reserve blocks of each plane.
const RESERVING: [&str; 2] = ["ftl.log.blocks", "ftl.slc.blocks"];

/// Blocks of each plane that hold no user data or parity where the mapping serves this many pages, parity included: the
/// reserve of the mapping, and room for the old versions that delayed parities need.
///
/// # Errors
/// [`ConfigError::Together`] if the values do not fit such a drive.
pub fn reserve_blocks(
    config: &Config,
    organization: &Organization,
    pages: u32,
    stripes: Option<&StripePlan>,
) -> Result<u32, ConfigError> {
    if let Some(own) = stripes.and_then(StripePlan::own_reserve) {
        return Ok(own);
    }
    let values = &config.values;
    let layout = Layout {
        page_bytes: organization.page_bytes,
        pages_per_block: organization.pages_per_block,
        planes: (organization.dies() - stripes.map_or(0, StripePlan::spares)) * organization.planes_per_die,
        user_pages: pages,
    };
    let kept = (mapping_of(config).reserve_blocks)(values, &layout).map_err(together)?;
    let old = stripes.map_or(0, |stripes| stripes.most_old(values));
    Ok(kept + old.div_ceil(organization.pages_per_block.into()) as u32)
}

pub(crate) fn mapping_of(config: &Config) -> Mapping {
    mapping::find(config.values.name(mapping::KEY)).expect("mapping names are checked")
}

/// The buffer; nothing for `none`.
pub(crate) fn buffer_of(config: &Config) -> Option<Buffer> {
    buffer::find(config.values.name(buffer::KEY))
}
