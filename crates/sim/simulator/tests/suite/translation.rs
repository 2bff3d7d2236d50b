//! What translation pages cost: operation counts of single misses and collections, hit ratios and write
//! amplification under uniform traffic, and the worked examples of the TPM publication.

use engine::random::Stream;
use nand::{CountedFlash, Flash};
use simulator::run::{Ended, Loop, RunPlan, run};
use simulator::{BlockDevice, Completions, Config, Drive, DrivePlan, Progress, Setting};
use trace::synthetic::{WorkloadParameters, build};
use units::{Cause, DIE_CAUSES, HostOp, Request};

const PAGE: u64 = 2048;
const SECTORS: u64 = PAGE / 512;

fn plan(stack: &str, settings: &[&str]) -> DrivePlan {
    let own = ["engine.time=none", "flash.channels=1", "flash.dies_per_channel=1", "flash.page_size=2KiB"];
    let settings = own.iter().chain(settings).map(|text| Setting::from_argument(text).unwrap());
    DrivePlan::new(Config::load(stack, &settings.collect::<Vec<_>>()).unwrap()).unwrap()
}

fn counted(stack: &str, settings: &[&str]) -> Drive<CountedFlash> {
    let plan = plan(stack, settings);
    plan.assemble(CountedFlash::new(plan.fresh_state()))
}

/// Serves one page; its number of mapping reads and programs.
fn serve(drive: &mut Drive<CountedFlash>, op: HostOp, page: u64) -> [u64; 2] {
    let before = mapping_operations(drive);
    let request = Request { arrival: 0, first_sector: page * SECTORS, sectors: SECTORS as u32, op, fua: false };
    drive.submit(0, &request);
    let mut completions = Completions::default();
    while drive.advance(&mut completions) != Progress::Idle {}
    let after = mapping_operations(drive);
    [after[0] - before[0], after[1] - before[1]]
}

fn mapping_operations(drive: &Drive<CountedFlash>) -> [u64; 2] {
    let counters = &drive.flash().state().counters;
    [counters.reads[Cause::Mapping.index()], counters.programs[Cause::Mapping.index()]]
}

fn counter(drive: &Drive<CountedFlash>, name: &str) -> f64 {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    reports[0].counters[name] as f64
}

fn hit_ratio(drive: &Drive<CountedFlash>) -> f64 {
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let (hits, misses) = reports[0].cache.unwrap();
    hits as f64 / (hits + misses) as f64
}

fn go(drive: &mut Drive<CountedFlash>, workload: &str, requests: u64, seed: u64) {
    let mut parameters = WorkloadParameters::new(drive.sectors(), requests);
    parameters.seed = seed;
    if !workload.starts_with("sequential") {
        parameters.request_bytes = Some(PAGE);
    }
    let mut source = build(workload, &parameters).unwrap();
    let plan = RunPlan {
        arrivals: Loop::Closed { depth: 1 },
        limit: requests,
        sectors_per_page: SECTORS as u32,
        timed: false,
    };
    let (ended, _) = run(drive, &mut *source, plan, &mut (), |_| [0; DIE_CAUSES]).unwrap();
    assert_eq!(ended, Ended::Complete);
}

/// Eight entries a translation page, blocks of four pages, one plane, room for everything.
const FIGURE: [&str; 5] = [
    "flash.pages_per_block=4",
    "ftl.translation.entries=8",
    "drive.capacity=512KiB",
    "drive.over_provisioning=400%",
    "engine.contents=stamp",
];

fn small(stack: &str, more: &[&'static str]) -> Drive<CountedFlash> {
    counted(stack, &FIGURE.iter().chain(more).copied().collect::<Vec<_>>())
}

/// Flash page that holds the newest version of a logical page.
fn place(drive: &Drive<CountedFlash>, logical: u32) -> u32 {
    let state = drive.flash().state();
    let contents = state.contents().unwrap();
    let pages = (0..state.geometry.pages()).filter(|page| contents.oob(*page).logical == logical);
    pages.max_by_key(|page| contents.oob(*page).sequence).unwrap()
}

#[test]
fn a_dftl_miss_costs_one_read_or_two_reads_and_a_program() {
    let mut drive = small("dftl", &["ftl.map_cache=8B"]);
    assert_eq!(serve(&mut drive, HostOp::Write, 0), [0, 0], "nothing on flash yet");
    assert_eq!(serve(&mut drive, HostOp::Write, 8), [0, 1], "the first version has nothing to be patched into");
    assert_eq!(serve(&mut drive, HostOp::Write, 16), [0, 1]);
    assert_eq!(serve(&mut drive, HostOp::Read, 16), [0, 0], "a hit");
    assert_eq!(serve(&mut drive, HostOp::Read, 0), [1, 1], "dirty victim, no version on flash");
    assert_eq!(serve(&mut drive, HostOp::Read, 8), [1, 0], "clean victim: the best miss");
    assert_eq!(serve(&mut drive, HostOp::Write, 8), [0, 0]);
    assert_eq!(serve(&mut drive, HostOp::Read, 0), [2, 1], "dirty victim: the worst miss");
}

#[test]
fn a_tpm_miss_never_reads_what_it_writes_back() {
    let mut drive = small("tpm", &["ftl.map_cache=32B"]);
    serve(&mut drive, HostOp::Write, 0);
    assert_eq!(serve(&mut drive, HostOp::Write, 8), [0, 1]);
    assert_eq!(serve(&mut drive, HostOp::Read, 0), [1, 1], "dirty victim, complete in memory");
    assert_eq!(serve(&mut drive, HostOp::Read, 7), [0, 0], "the whole page came in");
    assert_eq!(serve(&mut drive, HostOp::Read, 8), [1, 0], "clean victim");
    serve(&mut drive, HostOp::Write, 9);
    assert_eq!(serve(&mut drive, HostOp::Read, 0), [1, 1]);
}

#[test]
fn batch_update_takes_all_dirty_entries_of_a_translation_page_along() {
    for (batch, second) in [("ftl.dftl.batch_update=true", 0), ("ftl.dftl.batch_update=false", 1)] {
        let mut drive = small("dftl", &["ftl.map_cache=16B", "ftl.dftl.replacement=lru", batch]);
        for page in [0, 1, 8, 9, 0, 1] {
            serve(&mut drive, HostOp::Write, page);
        }
        // Both entries of the first translation page are dirty and cached; their eviction one by one:
        assert_eq!(serve(&mut drive, HostOp::Read, 8)[1], 1, "{batch}");
        assert_eq!(serve(&mut drive, HostOp::Read, 9)[1], second, "{batch}");
    }
}

/// Figure 3 of the TPM publication: eight entries a translation page, four pages a block. Logical page
/// 135 is in translation page 16 and at page 34; page 145 is in translation page 18, whose write pointer
/// is at page 23.
#[test]
fn tpm_finds_and_places_the_pages_of_the_published_example() {
    let mut drive = small("tpm", &["ftl.map_cache=4KiB"]);
    for other in 0..5 {
        serve(&mut drive, HostOp::Write, other * 8); // blocks 0 to 4
    }
    for page in [18 * 8, 18 * 8 + 2, 18 * 8 + 3] {
        serve(&mut drive, HostOp::Write, page); // block 5: pages 20 to 22
    }
    for other in [5, 6] {
        serve(&mut drive, HostOp::Write, other * 8);
    }
    for page in [16 * 8, 16 * 8 + 1, 135] {
        serve(&mut drive, HostOp::Write, page); // block 8: pages 32 to 34
    }
    serve(&mut drive, HostOp::Write, 145);
    assert_eq!((place(&drive, 135), place(&drive, 145)), (34, 23));
    assert_eq!((135 / 8, 145 / 8), (16, 18));
    // Page 23 was the last of its block, so the next page of translation page 18 opens another one.
    serve(&mut drive, HostOp::Write, 146);
    assert_eq!(place(&drive, 146) % 4, 0);
    drive.top().check(drive.flash()).unwrap();
}

/// Figure 2: a collected block holds four valid pages of four translation pages that are on flash and not
/// cached.
#[test]
fn collecting_four_pages_of_four_translation_pages_costs_four_reads_and_four_programs_under_dftl() {
    let settings =
        ["ftl.map_cache=8B", "flash.pages_per_block=8", "drive.over_provisioning=80%", "ftl.gc.free_blocks=1"];
    let mut drive = small("dftl", &settings);
    let mut stream = Stream::new(3, "figure");
    // Every translation page gets a version on flash first.
    for _ in 0..2000 {
        serve(&mut drive, HostOp::Write, stream.below(256));
    }
    let mut seen_four = 0;
    for _ in 0..20_000 {
        let names = ["data_victims", "translation_copies", "translation_gc_updates"];
        let count = |drive: &Drive<CountedFlash>| names.map(|name| counter(drive, name));
        let gc = |drive: &Drive<CountedFlash>| drive.flash().state().counters.programs[Cause::Gc.index()] as f64;
        let (before, moved) = (count(&drive), gc(&drive));
        let [reads, programs] = serve(&mut drive, HostOp::Write, stream.below(256)).map(|count| count as f64);
        let after = count(&drive);
        let [victims, copies, updates] = std::array::from_fn(|n| after[n] - before[n]);
        let user = gc(&drive) - moved - copies;
        assert!(updates <= user, "{updates} translation pages for {user} moved pages");
        // The write itself evicts a dirty entry (a read and a program) and fetches its own page.
        let evicted = programs - updates;
        assert!((0.0..=1.0).contains(&evicted), "{programs} programs, {updates} by collection");
        assert!((evicted..=evicted + 1.0).contains(&(reads - updates)), "{reads} reads, {updates} by collection");
        seen_four += u32::from((victims, user, updates) == (1.0, 4.0, 4.0));
    }
    assert!(seen_four > 0, "{seen_four} collections moved four pages of four translation pages");
}

#[test]
fn cold_sequential_reads_miss_once_a_page_or_once_a_translation_page() {
    let settings = ["drive.capacity=8MiB", "drive.over_provisioning=60%", "flash.pages_per_block=64"];
    for (stack, misses) in [("dftl", 4096), ("tpm", 8)] {
        // Segmented LRU would protect what the backward half used twice.
        let more: &[&str] = if stack == "dftl" { &["ftl.dftl.replacement=lru"] } else { &[] };
        let mut drive = counted(stack, &[&settings[..], &["ftl.map_cache=2KiB"], more].concat());
        go(&mut drive, "sequential-write", 64, 1); // 128 KiB each
        // Reading backwards from the end leaves nothing of the beginning in either cache.
        for page in (2048..4096).rev() {
            serve(&mut drive, HostOp::Read, page);
        }
        let before = mapping_operations(&drive);
        for page in 0..4096 {
            serve(&mut drive, HostOp::Read, page);
        }
        // The backward half left its lower end in the cache; DFTL evicts it before it is reached.
        let reads = mapping_operations(&drive)[0] - before[0];
        assert!(reads == misses, "{stack}: {reads} reads of translation pages");
    }
}

#[test]
fn uniform_reads_hit_as_often_as_the_cache_holds_the_map() {
    let settings = ["drive.capacity=512MiB", "drive.over_provisioning=25%", "flash.pages_per_block=64"];
    // 512 translation pages; 8,192 entries of 262,144; 32 translation pages of 512.
    for (stack, expected) in [("dftl", 8192.0 / 262_144.0), ("tpm", 32.0 / 512.0)] {
        let mut drive = counted(stack, &[&settings[..], &["ftl.map_cache=64KiB"]].concat());
        go(&mut drive, "sequential-write", 4096, 1);
        go(&mut drive, "uniform-read", 100_000, 2);
        drive.top_mut().reset_counters();
        go(&mut drive, "uniform-read", 1_000_000, 3);
        let found = hit_ratio(&drive);
        assert!((found / expected - 1.0).abs() < 0.02, "{stack}: hit ratio {found}, expected {expected}");
    }
}

#[test]
fn uniform_writes_without_batching_cost_three_or_two_translation_operations_a_miss() {
    // So much spare flash that hardly anything valid is collected.
    let settings = ["drive.capacity=64MiB", "drive.over_provisioning=900%", "flash.pages_per_block=64"];
    let more = ["ftl.map_cache=16KiB", "ftl.dftl.batch_update=false"];
    for (stack, each) in [("dftl", 3.0), ("tpm", 2.0)] {
        let mut drive = counted(stack, &[&settings[..], &more[..if stack == "dftl" { 2 } else { 1 }]].concat());
        go(&mut drive, "sequential-write", 512, 1);
        go(&mut drive, "uniform-write", 50_000, 2);
        drive.top_mut().reset_counters();
        let writes = 200_000;
        go(&mut drive, "uniform-write", writes, 3);
        let updates = counter(&drive, "translation_gc_updates");
        let operations = counter(&drive, "translation_reads") + counter(&drive, "translation_writes") - 2.0 * updates;
        let expected = each * (1.0 - hit_ratio(&drive));
        let found = operations / writes as f64;
        assert!((found / expected - 1.0).abs() < 0.02, "{stack}: {found} operations a write, expected {expected}");
    }
}

/// Data pages copied and blocks collected for each host write.
#[derive(Clone, Copy, Debug)]
struct Cleaning {
    waf: f64,
    passes: f64,
}

/// A model apart from the drive: `units` groups of pages, each filling one block at a time (`own`), or
/// all pages filling one block; greedy; copies go where writes go. Uniform writes over all pages.
fn modelled(blocks: usize, per_block: usize, user: usize, group: usize, own: bool) -> Cleaning {
    let mut stream = Stream::new(7, "cleaning");
    let mut at = vec![usize::MAX; user];
    let mut holds: Vec<Vec<u32>> = vec![Vec::new(); blocks];
    let mut valid = vec![0_u32; blocks];
    let mut closed = vec![false; blocks];
    let mut free: Vec<usize> = (0..blocks).rev().collect();
    // One stream for each group, and one more for copies where writes and copies are apart.
    let mut open: Vec<Option<usize>> = vec![None; if own { user.div_ceil(group) } else { 2 }];
    let (mut programs, mut writes, mut passes) = (0_u64, 0_u64, 0_u64);
    let mut order: Vec<u32> = (0..user as u32).collect();
    order.extend((0..user * 8).map(|_| stream.below(user as u64) as u32));
    for (step, page) in order.into_iter().enumerate() {
        if step == user * 4 {
            (programs, writes, passes) = (0, 0, 0);
        }
        let mut todo = vec![(page, true)];
        while let Some((page, host)) = todo.pop() {
            let stream = if own { page as usize / group } else { usize::from(!host) };
            let block = *open[stream].get_or_insert_with(|| free.pop().expect("two blocks are kept"));
            let old = std::mem::replace(&mut at[page as usize], block);
            if old != usize::MAX {
                valid[old] -= 1;
            }
            holds[block].push(page);
            valid[block] += 1;
            programs += 1;
            writes += u64::from(host);
            if holds[block].len() == per_block {
                closed[block] = true;
                open[stream] = None;
            }
            if free.len() <= 2 && todo.is_empty() {
                let victim = (0..blocks).filter(|block| closed[*block]).min_by_key(|block| valid[*block]).unwrap();
                passes += 1;
                closed[victim] = false;
                let mut pages = std::mem::take(&mut holds[victim]);
                pages.sort_unstable();
                pages.dedup();
                pages.retain(|page| at[*page as usize] == victim);
                todo.extend(pages.into_iter().map(|page| (page, false)));
                free.insert(0, victim);
            }
        }
    }
    Cleaning { waf: programs as f64 / writes as f64, passes: passes as f64 / writes as f64 }
}

/// The drive itself, with the whole map cached so that data is all that is collected.
fn measured(stack: &str, blocks: u64, user: u64) -> Cleaning {
    let over = ((blocks * 64) as f64 / user as f64 - 1.0) * 100.0 - 1e-6;
    let settings = [
        "flash.pages_per_block=64".to_owned(),
        format!("drive.capacity={}B", user * PAGE),
        format!("drive.over_provisioning={over:.9}%"),
        "ftl.map_cache=16MiB".to_owned(),
    ];
    let mut drive = counted(stack, &settings.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(u64::from(drive.flash().state().geometry.blocks()), blocks);
    go(&mut drive, "sequential-write", user / 64, 1);
    go(&mut drive, "uniform-write", user * 3, 2);
    drive.flash_mut().state_mut().reset_counters();
    drive.top_mut().reset_counters();
    go(&mut drive, "uniform-write", user * 5, 3);
    drive.top().check(drive.flash()).unwrap();
    let writes = (user * 5) as f64;
    let copies = drive.flash().state().counters.programs[Cause::Gc.index()] as f64;
    assert!(counter(&drive, "translation_copies") < 1.0, "blocks are cleaned of data alone here");
    Cleaning { waf: 1.0 + copies / writes, passes: counter(&drive, "data_victims") / writes }
}

/// 512 translation pages; 15 % of the user's pages to spare. The translation-page write pointers cost
/// copies (about 5.0 against 3.9), less than the half-empty blocks they hold would suggest.
#[test]
fn write_pointers_cost_the_copies_that_a_model_of_them_predicts() {
    let user = 512 * 512;
    let blocks = (f64::from(user) * 1.15 / 64.0).ceil() as usize;
    // Beside the model, what another Monte Carlo run of the two schemes gave.
    for (stack, own, waf, passes) in [("dftl", false, 3.87, 0.0605), ("tpm", true, 5.04, 0.0788)] {
        let expected = modelled(blocks, 64, user as usize, 512, own);
        let found = measured(stack, blocks as u64, user as u64);
        assert!((found.waf / expected.waf - 1.0).abs() < 0.02, "{stack}: {found:?}, expected {expected:?}");
        assert!((found.passes / expected.passes - 1.0).abs() < 0.02, "{stack}: {found:?}, expected {expected:?}");
        assert!((found.waf / waf - 1.0).abs() < 0.02, "{stack}: {found:?}, expected {waf}");
        assert!((found.passes / passes - 1.0).abs() < 0.02, "{stack}: {found:?}, expected {passes}");
    }
}

#[test]
fn translation_pages_leave_as_many_free_blocks_as_data_does() {
    for stack in ["dftl", "tpm", "cdftl", "tpftl"] {
        let settings = ["ftl.map_cache=512B", "flash.pages_per_block=8", "ftl.gc.free_blocks=6"];
        let mut drive = small(stack, &settings);
        let mut stream = Stream::new(7, "threshold");
        for number in 0..20_000 {
            serve(&mut drive, HostOp::Write, stream.below(256));
            let free = drive.flash().state().blocks().iter().filter(|row| row.issued == 0).count();
            assert!(free >= 6, "{stack}: {free} free blocks after write {number}, collection begins at 6");
        }
    }
}

#[test]
fn a_translation_block_without_a_valid_page_is_no_data_victim() {
    let mut drive = small("dftl", &["ftl.map_cache=8B"]);
    let pages_per_block = 4.0;
    // Two pages of two translation pages in turn: every write programs a page of each kind, and none stays valid long.
    for number in 0..8000 {
        serve(&mut drive, HostOp::Write, number % 2 * 8);
    }
    let [_, programs] = mapping_operations(&drive);
    let [of_translation, of_data] = ["translation_victims", "data_victims"].map(|name| counter(&drive, name));
    let filled = [programs as f64 / pages_per_block, 8000.0 / pages_per_block];
    let blocks = f64::from(drive.flash().state().geometry.blocks());
    assert!((filled[0] - blocks..=filled[0]).contains(&of_translation), "{of_translation} of {} blocks", filled[0]);
    assert!((filled[1] - blocks..=filled[1]).contains(&of_data), "{of_data} of {} blocks", filled[1]);
}

#[test]
fn collection_programs_one_translation_page_for_each_that_a_victim_touches() {
    let settings = ["drive.capacity=512MiB", "drive.over_provisioning=15%", "flash.pages_per_block=64"];
    for (stack, a_write) in [("dftl", 2.74), ("tpm", 0.079)] {
        let mut drive = counted(stack, &[&settings[..], &["ftl.map_cache=2KiB"]].concat());
        go(&mut drive, "sequential-write", 4096, 1);
        // Five times the drive: hardly anything is left of the order of the fill.
        go(&mut drive, "uniform-write", 1_310_720, 2);
        let gc = |drive: &Drive<CountedFlash>| drive.flash().state().counters.programs[Cause::Gc.index()] as f64;
        drive.flash_mut().state_mut().reset_counters();
        drive.top_mut().reset_counters();
        go(&mut drive, "uniform-write", 400_000, 3);
        let victims = counter(&drive, "data_victims");
        let pages = (gc(&drive) - counter(&drive, "translation_copies")) / victims;
        let updates = counter(&drive, "translation_gc_updates") / victims;
        // So many of 512 are touched by `pages` drawn at random; with write pointers always one.
        let touched = 512.0 * (1.0 - (1.0 - 1.0 / 512.0_f64).powf(pages));
        let expected = if stack == "tpm" { 1.0 } else { touched };
        assert!((updates / expected - 1.0).abs() < 0.02, "{stack}: {updates} a victim of {pages}, expected {expected}");
        assert!(stack == "dftl" || updates <= 1.0, "at most one translation page a victim");
        let updates = counter(&drive, "translation_gc_updates") / 400_000.0;
        // The translation pages themselves take some of the spare room, which the other run did not count.
        assert!((updates / a_write - 1.0).abs() < 0.03, "{stack}: {updates} a write, expected {a_write}");
    }
}

/// Bytes that a page map takes for each byte that `leaftl` learns, after uniform writes of single pages.
fn learned(settings: &[&str]) -> f64 {
    let own = [
        "drive.capacity=64MiB",
        "drive.over_provisioning=100%",
        "flash.channels=4",
        "ftl.leaftl.error_bound=4",
        "ftl.leaftl.batch_pages=4096",
    ];
    let mut drive = counted("leaftl", &[&own[..], settings].concat());
    let pages = drive.sectors() / SECTORS;
    go(&mut drive, "uniform-write", pages, 5);
    let mut reports = Vec::new();
    drive.top().report(&mut reports);
    let ftl = reports.iter().find(|report| report.name == "ftl").expect("there is a mapping");
    ftl.counters["learned_page_map_bytes"] as f64 / ftl.counters["learned_bytes"] as f64
}

#[test]
fn pages_are_learned_where_a_buffer_sorts_them_and_runs_stay_on_a_plane() {
    let (sorted, runs) = ("buffer.kind=sorted", "ftl.allocation.run_pages=64");
    let alone = learned(&["buffer.kind=none"]);
    let lru = learned(&["buffer.kind=page-lru", "buffer.size=4MiB", runs]);
    let spread = learned(&[sorted, "buffer.size=4MiB"]);
    let both = learned(&[sorted, "buffer.size=4MiB", runs]);
    assert!(alone < 1.01 && lru < 1.01, "nothing is learned of pages in no order: {alone} {lru}");
    assert!(both > 1.1 && spread < 1.0, "{spread} {both}");
}
