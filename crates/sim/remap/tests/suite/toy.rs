//! The smallest driver there is, added from outside: every page goes to its place, and nothing is kept in mind.
//!
//! It shows what a driver has to say, and in how many places: this file, and in the crate itself its `mod` and one line
//! of a table.

use layer::{Parameter, Value, Values};
use remap::{
    Completion, Counter, Driver, DriverOptions, Host, HostDriverEntry, LayoutError, OpenError, PageWrite, ReadSectors,
    Shape, Site, Source, Terms, WriteCache,
};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use units::HostOp;

#[derive(Clone, Copy, Debug)]
pub struct ToyOptions(Terms);

impl ToyOptions {
    fn new(page_sectors: u32, write_cache: WriteCache) -> Self {
        // A cut may tear a page: there is no other place for it.
        Self(Terms { page_sectors, write_cache, replaces_pages: false, ..Terms::default() })
    }
}

impl DriverOptions for ToyOptions {
    type Driver = Toy;
    type Layout = Shape;

    const NAME: &'static str = "toy";
    const DOC: &'static str = "pages go to the drive as they are";
    const WHEN: &'static str = "Use it to test the shell of a driver alone. It saves nothing.";
    const KEEPS: &'static str = "there is no rest";
    const SIZE_KEY: &'static str = "remap.superpage";

    fn parameters() -> Vec<Parameter> {
        vec![remap::parameters::write_cache()]
    }

    fn of(values: &Values, _site: &Site) -> Result<Self, String> {
        Ok(Self::new(8, remap::parameters::write_cache_of(values)))
    }

    fn terms(&self) -> &Terms {
        &self.0
    }

    /// All of the device, and nothing beside it.
    fn layout(&self, device_sectors: u64) -> Result<Shape, LayoutError> {
        let page_sectors = self.0.page_sectors;
        let sectors = device_sectors / u64::from(page_sectors) * u64::from(page_sectors);
        Ok(Shape {
            sectors,
            device_sectors: sectors,
            page_sectors,
            superpage_sectors: page_sectors,
            buffer_sectors: page_sectors,
            own_sectors: 0,
        })
    }

    fn small(dice: &mut dyn FnMut(u32) -> u32) -> Self {
        let write_cache = [WriteCache::Through, WriteCache::Volatile][dice(2) as usize];
        Self::new(1 << dice(3), write_cache)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Work {
    Page(u32),
    Flush(u64),
}

/// What a page is to be: a change by its number, and its data.
#[derive(Debug)]
struct Version {
    number: u64,
    buffer: u32,
    is_sent: bool,
}

#[derive(Debug)]
pub struct Toy {
    layout: Shape,
    /// Versions of pages that are not on the device, oldest first; only the first one is under way.
    pages: BTreeMap<u32, VecDeque<Version>>,
    is_flushing: bool,
}

impl Toy {
    fn new(layout: Shape) -> Self {
        Self { layout, pages: BTreeMap::new(), is_flushing: false }
    }

    fn sector_of(&self, page: u32) -> u64 {
        u64::from(page) * u64::from(self.layout.page_sectors)
    }

    fn send_page(&mut self, host: &mut Host<Work>) -> bool {
        let sectors = self.layout.page_sectors;
        let waits = |(page, versions): (&u32, &VecDeque<Version>)| {
            (!versions[0].is_sent && !host.is_read(self.sector_of(*page), sectors)).then_some(*page)
        };
        let Some(page) = self.pages.iter().find_map(waits) else { return false };
        let sector = self.sector_of(page);
        let version = &mut self.pages.get_mut(&page).unwrap()[0];
        version.is_sent = true;
        host.write(Work::Page(page), (version.buffer, 0), sector, sectors);
        true
    }

    fn send_flush(&mut self, host: &mut Host<Work>) -> bool {
        let wants = !self.is_flushing && host.written() > host.durable() && host.has_waiter();
        if wants {
            self.is_flushing = true;
            host.send(Work::Flush(host.written()), HostOp::Flush, 0, 0);
        }
        wants
    }

    fn page_written(&mut self, host: &mut Host<Work>, page: u32) {
        let versions = self.pages.get_mut(&page).unwrap();
        let Version { number, buffer, .. } = versions.pop_front().unwrap();
        if versions.is_empty() {
            self.pages.remove(&page);
        }
        host.buffers.release(buffer);
        host.wrote(number);
    }
}

impl Driver for Toy {
    type Options = ToyOptions;
    type Work = Work;

    const TRIM_TAKES_ROOM: bool = true;

    fn format(layout: Shape, _options: &ToyOptions, _id: u64, _host: &mut Host<Work>) -> Self {
        Self::new(layout)
    }

    fn open(
        options: &ToyOptions,
        device_sectors: u64,
        _read: &mut ReadSectors,
    ) -> Result<(Self, Host<Work>), OpenError> {
        let layout = options.layout(device_sectors).map_err(|_| OpenError::Foreign)?;
        Ok((Self::new(layout), Host::found(layout, options.terms())))
    }

    fn locate(&self, page: u32) -> Source {
        match self.pages.get(&page).and_then(VecDeque::back) {
            Some(version) => Source::Memory { buffer: version.buffer, at: 0 },
            None => Source::Device { sector: self.sector_of(page), part: 0 },
        }
    }

    fn has_room(&self, _host: &Host<Work>) -> bool {
        self.pages.len() < 16
    }

    fn place(&mut self, host: &mut Host<Work>, write: PageWrite<'_>) {
        let PageWrite { page, data, owner, .. } = write;
        let buffer = host.buffers.take();
        host.buffers.get_mut(buffer).copy_from_slice(data);
        let version = Version { number: host.issue(owner.into_iter().collect()), buffer, is_sent: false };
        self.pages.entry(page).or_default().push_back(version);
    }

    fn trim(&mut self, host: &mut Host<Work>, pages: Range<u32>) {
        let data = vec![0; host.page_bytes()];
        for page in pages {
            self.place(host, PageWrite { page, pages: 1, data: &data, owner: None });
        }
    }

    fn completed(&mut self, host: &mut Host<Work>, work: Work, done: &Completion) {
        match work {
            Work::Page(page) if done.failed => {
                self.pages.get_mut(&page).unwrap()[0].is_sent = false;
                host.failed();
            }
            Work::Page(page) => {
                host.succeeded();
                self.page_written(host, page);
            }
            Work::Flush(number) => {
                self.is_flushing = false;
                host.set_durable(number);
            }
        }
    }

    fn pump_last(&mut self, host: &mut Host<Work>) -> bool {
        self.send_page(host) || self.send_flush(host)
    }

    fn counters(&self, host: &Host<Work>) -> Vec<Counter> {
        vec![Counter::sum("host_pages", host.counts().host_pages)]
    }
}

/// What a configuration needs to know of a driver is in its line of the table.
#[test]
fn its_line_says_its_keys_and_plans_it_over_a_drive() {
    let entry = HostDriverEntry::of::<ToyOptions>();
    let keys: Vec<&str> = (entry.parameters)().iter().map(|parameter| parameter.key).collect();
    assert_eq!((entry.name, keys), ("toy", vec!["remap.write_cache"]));
    let mut values = Values::default();
    values.set("remap.write_cache", Value::Name("volatile".to_owned()));
    let plan = (entry.plan)(&values, &Site { sectors: 81, unit_bytes: 4096, cell_bytes: 0 }).unwrap();
    assert_eq!((plan.shape.sectors, plan.shape.page_sectors, plan.format(1).front().shape().sectors), (80, 8, 80));
}
