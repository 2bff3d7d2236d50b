//! Two write buffers over each other: what each asks for and each is told stays its own, with and without time,
//! and through power cuts.

use buffer::buffer_names;
use engine::random::Stream;
use ftl::mapping::mapping_names;
use layer::{BUFFER_OWNER, GATHER_OWNER, LayerReport, PageLayer};
use nand::{CountedFlash, Flash, FlashState};
use simulator::{Clocked, Drive, DrivePlan, HostOptions};
use stack::{StackPlan, Stacked};
use testkit::{Ended, Faults, Habits, Host, Layers, Stack, read_back_from, work};

/// A drive with a buffer for the host, over one that gathers, over a mapping.
struct Pair {
    /// The mapping and the host's buffer.
    upper: Stack,
    /// The same drive with the other buffer.
    lower: Stack,
    plans: [DrivePlan; 2],
}

impl Pair {
    fn draw(stream: &mut Stream, buffer: &'static str, mapping: &'static str) -> Self {
        let layers = Layers { mapping: Some(mapping), buffer: Some(buffer), stripe: Some("none"), ..Layers::default() };
        let upper = Stack::draw(stream, Faults::None, layers);
        let plan = upper.plan().unwrap();
        let page = u64::from(plan.geometry.page_bytes);
        let mut lower = upper.clone();
        lower.set("buffer.kind", "group-lru");
        lower.set("buffer.size", format!("{}B", page * (1 + stream.below(20))));
        lower.set("buffer.block_size", format!("{}B", page * (1 + stream.below(9))));
        lower.set("buffer.write_back_pages", stream.below(9));
        lower.set("buffer.acknowledge", "buffer");
        lower.set("drive.atomic", "512B"); // the upper one keeps it
        lower.set("buffer.nonvolatile", stream.chance(0.5));
        let plans = [plan, lower.plan().unwrap()];
        assert_eq!(plans[0].geometry, plans[1].geometry);
        Self { upper, lower, plans }
    }

    /// The lower buffer is the one that gathers.
    fn stack(&self) -> StackPlan<'_> {
        let [upper, lower] = &self.plans;
        let DrivePlan { geometry, user_pages, config, .. } = upper;
        let seed = config.values.whole("engine.seed");
        StackPlan {
            geometry: *geometry,
            user_pages: *user_pages,
            seed,
            values: &config.values,
            stripes: None,
            coded: None,
            gather: Some(&lower.config.values),
        }
    }

    fn drive<F: Clocked>(&self, flash: F) -> Drive<F> {
        let layers = flash.layers(&self.stack());
        let options = HostOptions { idle_after_ns: 10_000, ..HostOptions::default() };
        let mut drive = Drive::new(flash, layers, self.plans[0].user_pages, options);
        drive.oracle_mut().unwrap().set_volatile(self.is_volatile());
        drive
    }

    /// What the upper one forgets when it is acknowledged must be safe in the lower one or on flash.
    fn is_volatile(&self) -> bool {
        let decides = if self.upper.get("buffer.kind") == "none" { &self.plans[1] } else { &self.plans[0] };
        decides.is_volatile()
    }

    fn recover(&self, image: &FlashState) -> Box<dyn PageLayer<CountedFlash>> {
        CountedFlash::recovered(&self.stack(), image).unwrap()
    }

    fn describe(&self) -> String {
        let sizes = ["buffer.size", "buffer.block_size", "buffer.write_back_pages", "buffer.nonvolatile"];
        format!("{}over {:?}", self.upper, sizes.map(|key| self.lower.get(key)))
    }
}

fn reports<F: Clocked>(drive: &Drive<F>) -> Vec<LayerReport> {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    reports
}

fn serve<F: Clocked>(pair: &Pair, mut drive: Drive<F>, habits: Habits, seed: u64) -> Vec<LayerReport> {
    let ended = work(&mut drive, &mut Host::new(habits, seed), 1200);
    assert_eq!(ended, Ok(Ended::Served), "seed {seed}: {}", pair.describe());
    reports(&drive)
}

#[test]
fn a_gathering_buffer_serves_every_host_buffer_over_every_mapping() {
    let mut gathered = 0;
    for (at, buffer) in (0..).zip(buffer_names()) {
        for (number, mapping) in (0..).zip(mapping_names()) {
            let seed = 100 * at + number;
            let mut stream = Stream::new(seed, "stacked buffers");
            let pair = Pair::draw(&mut stream, buffer, mapping);
            let habits = Habits::draw(&mut stream);
            let plan = &pair.plans[0];
            for reports in [
                serve(&pair, pair.drive(CountedFlash::new(plan.fresh_state())), habits, seed),
                serve(&pair, pair.drive(plan.timed(plan.fresh_state())), habits, seed),
            ] {
                let names: Vec<&str> = reports.iter().map(|report| report.name).collect();
                assert_eq!(
                    names,
                    if buffer == "none" { vec!["gather", "ftl"] } else { vec!["buffer", "gather", "ftl"] }
                );
                gathered += reports[names.len() - 2].counters["block_pages_written_back"];
            }
        }
    }
    assert!(gathered > 50_000, "{gathered} pages went through the lower buffer");
}

#[test]
fn memories_over_each_other_lose_nothing_with_power() {
    let (mut cuts, mut both) = (0, 0);
    for (at, buffer) in (0..).zip(buffer_names()) {
        for (number, mapping) in (0..).zip(mapping_names()) {
            let seed = 100 * at + number;
            let mut stream = Stream::new(seed, "stacked cuts");
            let pair = Pair::draw(&mut stream, buffer, mapping);
            let mut host = Host::new(Habits::draw(&mut stream), seed);
            let mut drive = pair.drive(pair.plans[0].timed(pair.plans[0].fresh_state()));
            let per_page = u64::from(drive.flash().state().geometry.sectors_per_page());
            let mut found = Vec::new();
            for event in 0..800 {
                host.fill(&mut drive, per_page);
                let moved = drive.step();
                let done = drive.take_done();
                assert!(
                    moved || !done.is_empty() || host.outstanding() == 0,
                    "stuck, seed {seed}: {}",
                    pair.describe()
                );
                for completion in &done {
                    host.completed(completion.failed);
                }
                if event % 5 > 0 {
                    continue;
                }
                let image = drive.flash().power_cut(&mut stream);
                let held = |owner| image.memory.nvram.of(owner).len();
                both += u64::from(held(BUFFER_OWNER) > 0 && held(GATHER_OWNER) > 0);
                cuts += 1;
                let layers = pair.recover(&image);
                read_back_from(layers, pair.plans[0].user_pages, image, &mut found).unwrap();
                let oracle = drive.oracle_mut().unwrap();
                (0..).zip(&found).for_each(|(sector, value)| oracle.check_after_cut(sector, value.unwrap()));
                assert_eq!(oracle.violation(), None, "event {event}, seed {seed}: {}", pair.describe());
            }
            drive.top().check(drive.flash()).unwrap();
        }
    }
    assert!(both > cuts / 20, "{both} of {cuts} cuts found pages of both in non-volatile memory");
}
