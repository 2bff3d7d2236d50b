//! Faults of one die: which requests are late, and for how long.

use crate::small::small;
use drive::{Completions, Drive, Fault};
use engine::random::Stream;
use units::{HostOp, Request};

const PAGES: u64 = 64;

/// A drive of two dies with data on both.
fn filled() -> Drive {
    let mut drive = small(&[]);
    (0..PAGES).for_each(|page| drive.write(page * 4096, &[page as u8; 4096]).unwrap());
    drive.flush().unwrap();
    drive
}

/// How long the read of each page takes, one after the other, ns.
fn times(drive: &mut Drive) -> Vec<u64> {
    let read = |page: u64| {
        let begun = drive.now();
        drive.read(page * 4096, &mut [0; 4096]).unwrap();
        drive.now() - begun
    };
    (0..PAGES).map(read).collect()
}

fn give(drive: &mut Drive, fault: &str) {
    drive.inject(fault.parse().unwrap()).unwrap();
}

#[test]
fn a_slow_die_delays_its_own_reads_and_no_others() {
    let mut drive = filled();
    let usual = times(&mut drive);
    let mut late_by_die = Vec::new();
    for die in 0..2 {
        give(&mut drive, &format!("slow x10 die {die}"));
        let late: Vec<bool> = times(&mut drive).iter().zip(&usual).map(|(time, usual)| *time > 2 * usual).collect();
        let hits = drive.active_faults()[0].hits;
        assert_eq!(hits, late.iter().filter(|late| **late).count() as u64, "die {die}");
        late_by_die.push(late);
        drive.inject(Fault::Off).unwrap();
    }
    assert!(late_by_die[0].iter().zip(&late_by_die[1]).all(|(first, second)| first != second));
    assert!((1..PAGES).contains(&(late_by_die[0].iter().filter(|late| **late).count() as u64)));
    assert_eq!(times(&mut drive), usual, "the fault is over");
}

#[test]
fn a_die_that_stalls_answers_when_the_stall_is_over_and_others_at_once() {
    let mut drive = filled();
    give(&mut drive, "stall 200ms die 1");
    let begun = drive.now();
    for page in 0..PAGES {
        drive.submit(page as u32, &Request::of_bytes(HostOp::Read, page * 4096, 4096, false), &[]).unwrap();
    }
    let (mut early, mut late) = (0, 0);
    let mut completions = Completions::default();
    while drive.outstanding() > 0 {
        drive.advance(&mut completions).unwrap();
        let is_late = drive.now() - begun >= 200_000_000;
        *(if is_late { &mut late } else { &mut early }) += completions.done.len();
    }
    assert!(early > 0 && late > 0 && early + late == PAGES as usize, "{early} early, {late} late");
    assert!(drive.now() - begun < 210_000_000, "a stall ends");
    assert!(times(&mut drive).iter().all(|time| *time < 1_000_000));
}

/// The late work of such a die was over, and its page on the channel: it was taken for work that goes on.
#[test]
fn a_fault_of_a_die_with_a_cache_is_taken_back_while_its_page_is_on_the_channel() {
    for cache in ["flash.cache_read=true", "flash.cache_program=true"] {
        let mut drive = small(&[cache, "flash.channels=1", "flash.dies_per_channel=2", "flash.bus_bandwidth=20MB/s"]);
        let pages = drive.bytes() / 4096;
        let mut random = Stream::new(1, "pages");
        let mut completions = Completions::default();
        for round in 0..200_u8 {
            // Copies of the collection go on behind the last answer.
            give(&mut drive, if round % 2 == 0 { "slow x4 die 0" } else { "off" });
            for tag in 0..=random.below(24) as u32 {
                let page = random.below(pages);
                drive.submit(tag, &Request::of_bytes(HostOp::Write, page * 4096, 4096, false), &[round; 4096]).unwrap();
            }
            while drive.outstanding() > 0 {
                drive.advance(&mut completions).unwrap();
            }
        }
    }
}

#[test]
fn a_stall_of_a_die_comes_back_also_after_a_power_cut() {
    let mut drive = filled();
    give(&mut drive, "stall 200ms die 0 every 1s");
    let stalls = |drive: &mut Drive| times(drive).iter().filter(|time| **time > 20_000_000).count();
    assert_eq!(stalls(&mut drive), 1);
    drive.rest(900_000_000).unwrap();
    assert_eq!(stalls(&mut drive), 1);
    let hits = drive.active_faults()[0].hits;
    drive.power_cut(1);
    assert_eq!(drive.active_faults()[0].hits, hits, "a power cut forgets no hit");
    drive.reopen().unwrap();
    drive.rest(900_000_000).unwrap();
    assert_eq!(stalls(&mut drive), 1);
    assert!(drive.active_faults()[0].hits > hits);
}

#[test]
fn a_die_that_is_not_there_has_no_fault() {
    let problem = filled().inject("stall 1s die 2".parse().unwrap()).unwrap_err().to_string();
    assert!(problem.contains("there is no die 2: this drive has 2"), "{problem}");
}

#[test]
fn a_stall_of_a_die_that_is_taken_back_holds_nothing_any_more() {
    let mut drive = filled();
    give(&mut drive, "stall 1h die 0");
    give(&mut drive, "stall 1h die 1");
    drive.submit(0, &Request::of_bytes(HostOp::Read, 0, 4096, false), &[]).unwrap();
    let begun = drive.now();
    drive.inject(Fault::Off).unwrap();
    let mut completions = Completions::default();
    while drive.outstanding() > 0 {
        drive.advance(&mut completions).unwrap();
    }
    assert!(drive.now() - begun < 1_000_000, "the read took {} ns", drive.now() - begun);
}

#[test]
fn several_faults_of_a_die_delay_it_as_the_slowest_and_the_last_of_them() {
    let mut drive = filled();
    let usual = times(&mut drive);
    give(&mut drive, "slow x10 die 0");
    let slow = times(&mut drive);
    give(&mut drive, "slow x4 die 0");
    assert_eq!(times(&mut drive), slow, "slow by the slowest");
    drive.inject(Fault::Off).unwrap();
    assert_eq!(times(&mut drive), usual);
    give(&mut drive, "stall 1s die 0");
    give(&mut drive, "stall 1s die 0");
    let most = times(&mut drive).into_iter().max().unwrap();
    assert!((900_000_000..1_100_000_000).contains(&most), "{most} ns");
}
