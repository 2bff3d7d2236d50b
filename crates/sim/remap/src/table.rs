//! The table of drivers.
//!
//! To add one: a file or folder here, its `mod` in `lib.rs` and a line in the table below. From that line come its
//! name in a configuration, its parameters, the help texts, how it is built and opened over a drive, and the model
//! with power cuts.

use crate::parameters::does_not_fit;
use crate::{DriverOptions, HostDriver, LayoutError, OpenError, ReadSectors, Shape, Shell, Site, Terms};
use layer::{Condition, Declared, Named, Parameter, ParameterKind, Values};
use std::fmt::Debug;
use std::sync::{Arc, LazyLock};

/// The key that chooses a driver.
pub const KEY: &str = "remap.kind";

/// Every driver, in display order.
pub const HOST_DRIVERS: &[HostDriverEntry] =
    &[HostDriverEntry::of::<crate::Options>(), HostDriverEntry::of::<crate::LogOptions>()];

/// A driver of a host: its properties before a drive exists.
#[derive(Clone, Copy, Debug)]
pub struct HostDriverEntry {
    /// Name in a configuration.
    pub name: &'static str,
    /// Its idea, in a line.
    pub doc: &'static str,
    /// When to use it and at which cost, in a sentence or two.
    pub when: &'static str,
    /// The keys it reads, in display order.
    pub parameters: fn() -> Vec<Parameter>,
    /// The plan of a configuration over a drive; an error says in words which value does not fit.
    pub plan: fn(&Values, &Site) -> Result<RemapPlan, String>,
    /// A plan of a small shape, over a device that shows the host these superpages or a few more: for the model with
    /// power cuts. The last argument draws a number below the one it is given.
    pub small: fn(u32, &mut dyn FnMut(u32) -> u32) -> RemapPlan,
}

impl HostDriverEntry {
    /// The line of a driver.
    pub const fn of<O: DriverOptions>() -> Self {
        Self {
            name: O::NAME,
            doc: O::DOC,
            when: O::WHEN,
            parameters: O::parameters,
            plan: configured::<O>,
            small: small::<O>,
        }
    }
}

fn configured<O: DriverOptions>(values: &Values, site: &Site) -> Result<RemapPlan, String> {
    let plan = Plan::new(O::of(values, site)?, site.sectors);
    let plan = plan.map_err(|error| does_not_fit(O::NAME, site.sectors, &error, O::SIZE_KEY))?;
    Ok(Arc::new(plan.into()))
}

fn small<O: DriverOptions>(superpages: u32, dice: &mut dyn FnMut(u32) -> u32) -> RemapPlan {
    Arc::new(Plan::with_superpages(O::small(dice), superpages).into())
}

/// Names of all drivers, and of doing without, with a description of each.
fn choices() -> Vec<Named> {
    let none = ("none", "requests go to the drive as they are");
    std::iter::once(none).chain(HOST_DRIVERS.iter().map(|entry| (entry.name, entry.doc))).collect()
}

/// A key is read where a driver that declares it is chosen.
const READ: Condition = Condition::one_of(KEY, |key, name| DECLARED.declares(key, name));

static DECLARED: LazyLock<Declared> =
    LazyLock::new(|| Declared::new(HOST_DRIVERS.iter().map(|entry| (entry.name, (entry.parameters)()))));

/// Every key of every driver, in display order: one that an earlier driver does not have stands where its own driver
/// has it.
pub fn keys() -> Vec<Parameter> {
    let mut all = vec![Parameter::new(
        KEY,
        ParameterKind::Choice(choices),
        "none",
        "A driver of the host above the drive, which rearranges writes before the drive gets them. With a driver the \
         host sees the driver's size, which is smaller than the drive's.",
    )
    .uses(|| HOST_DRIVERS.iter().map(|entry| (entry.name, entry.when)).collect())];
    for entry in HOST_DRIVERS {
        let mut at = 1;
        for parameter in (entry.parameters)() {
            if let Some(known) = all.iter().position(|known| known.key == parameter.key) {
                at = known + 1;
            } else {
                all.insert(at, parameter.under(READ));
                at += 1;
            }
        }
    }
    all
}

/// The driver that `values` ask for over a drive; `None`: none.
///
/// # Errors
/// In words, where values do not fit the drive, or each other.
pub fn plan(values: &Values, site: &Site) -> Result<Option<RemapPlan>, String> {
    let kind = values.name(KEY);
    HOST_DRIVERS.iter().find(|entry| entry.name == kind).map(|entry| (entry.plan)(values, site)).transpose()
}

/// Any driver over a drive: where everything is, and how it gets there.
pub type RemapPlan = Arc<DriverPlan>;

/// The properties of a driver over a device of a certain size.
#[derive(Debug)]
pub struct DriverPlan {
    /// How large it is, and its units.
    pub shape: Shape,
    /// The options that every driver has.
    pub terms: Terms,
    /// The purpose of the part of the drive that the host does not see, as a clause.
    pub keeps: &'static str,
    /// Its difference where no two commands are under way at once, a sentence. `None`: nothing that changes
    /// what is written.
    pub alone: Option<&'static str>,
    begins: Box<dyn Begins>,
}

impl DriverPlan {
    /// A fresh driver that will format its device; `id` tells it from any other that the device held.
    pub fn format(&self, id: u64) -> Box<dyn HostDriver> {
        self.begins.format(id)
    }

    /// The driver that a device of `device_sectors` holds.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<dyn HostDriver>, OpenError> {
        self.begins.open(device_sectors, read)
    }
}

impl<O: DriverOptions> From<Plan<O>> for DriverPlan {
    fn from(plan: Plan<O>) -> Self {
        let (shape, terms) = (plan.layout.into(), *plan.options.terms());
        Self { shape, terms, keeps: O::KEEPS, alone: O::ALONE, begins: Box::new(plan) }
    }
}

/// How a driver begins, whichever it is.
trait Begins: Debug + Send + Sync {
    fn format(&self, id: u64) -> Box<dyn HostDriver>;
    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<dyn HostDriver>, OpenError>;
}

/// A driver over a device of a certain size.
#[derive(Clone, Copy, Debug)]
pub struct Plan<O: DriverOptions> {
    pub options: O,
    pub layout: O::Layout,
}

impl<O: DriverOptions> Plan<O> {
    /// Over a device of `device_sectors`.
    ///
    /// # Errors
    /// The options do not fit it.
    pub fn new(options: O, device_sectors: u64) -> Result<Self, LayoutError> {
        Ok(Self { options, layout: options.layout(device_sectors)? })
    }

    /// Over the smallest device of whole superpages that shows the host `superpages`.
    ///
    /// # Panics
    /// The options fit no device at all.
    pub fn with_superpages(options: O, superpages: u32) -> Self {
        // How large a superpage is does not depend on the device.
        let large: Shape = options.layout(1 << 22).expect("it fits a large device").into();
        let size = u64::from(large.superpage_sectors);
        let wanted = u64::from(superpages) * size;
        let plan =
            |count: u64| Self::new(options, count * size).ok().filter(|plan| plan.layout.into().sectors >= wanted);
        (u64::from(superpages)..1 << 20).find_map(plan).expect("a large one will do")
    }

    /// A fresh driver that will format its device.
    pub fn format(&self, id: u64) -> Shell<O::Driver> {
        Shell::format(self.layout, &self.options, id)
    }
}

impl<O: DriverOptions> Begins for Plan<O> {
    fn format(&self, id: u64) -> Box<dyn HostDriver> {
        Box::new(self.format(id))
    }

    fn open(&self, device_sectors: u64, read: &mut ReadSectors) -> Result<Box<dyn HostDriver>, OpenError> {
        Ok(Box::new(Shell::<O::Driver>::open(&self.options, device_sectors, read)?))
    }
}
