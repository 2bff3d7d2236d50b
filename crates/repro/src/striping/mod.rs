mod drives;
mod loads;

const NAMES: [&str; 1] = ["umpc"];

#[cfg(test)]
mod scratch {
    use super::drives::*;
    use super::loads::*;
    use crate::study::*;
    #[test]
    fn tail() {
        use crate::simulate::Bench;
        use trace::synthetic::{WorkloadParameters, build};
        let env = |name: &str, default: &str| std::env::var(name).unwrap_or(default.into());
        let run = |name: &str, settings: &[(&str, &str)], spare: &str, cap: &str| {
            let mut all: Vec<(&str, String)> = [("drive.capacity", cap), ("flash.part", "slc-2k"), ("flash.channels", "8"), ("flash.dies_per_channel", "1"), ("ftl.kind", "page"), ("ftl.gc.victim", "greedy"), ("ftl.gc.frontier", "shared"), ("ftl.gc.free_blocks", "0"), ("ftl.gc.copies_in_flight", "64"), ("stripe.kind", "zones"), ("zones.size", "256MiB"), ("zones.read_ahead.after", "0B"), ("zones.offline_first", "at-start"), ("zones.spare_blocks", spare)].iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
            all.extend(settings.iter().map(|(k, v)| (*k, (*v).to_owned())));
            let bench = Bench::new(name, &all).unwrap();
            let requests: u64 = env("REQ", "1000000").parse().unwrap();
            let state = bench.filled(&()).unwrap();
            let mut w = build(&env("W", "financial2"), &WorkloadParameters::new(bench.sectors(), requests * 2)).unwrap();
            let state = bench.warmed(&state, &mut *w, requests, &()).unwrap();
            let m = bench.time(&state, &mut *w, &()).unwrap();
            eprintln!("{name} {spare} R mean {:.3} p99.. {:?} W mean {:.3} {:?} gc {} {:?}", m.reads.mean / 1e6, m.reads.tail.map(|t| t as f64 / 1e6), m.writes.mean / 1e6, m.writes.tail.map(|t| t as f64 / 1e6), m.flash.programs[units::Cause::Gc.index()] as f64 / m.flash.programs[0] as f64, m.zones["coded_groups_partly_stale"]);
        };
        let cap = env("CAP", "4GiB");
        let codes = (cap.trim_end_matches("GiB").parse::<u64>().unwrap() * 4).to_string();
        let spare = env("SPARE", "64");
        let tt = |cleaning: &'static str, stale: &'static str, code: &'static str| [("zones.code_zones", codes.as_str()), ("zones.code", code), ("zones.stale_codes", stale), ("zones.reads", "gc-aware"), ("zones.cleaning", cleaning)].map(|(k, v)| (k, v.to_owned()));
        let go = |name: &str, s: &[(&'static str, String)], spare: &str| { let s: Vec<(&str, &str)> = s.iter().map(|(k, v)| (*k, v.as_str())).collect(); run(name, &s, spare, &cap); };
        go("none", &[("zones.reads", "direct".into())], "800");
        go("base", &[("zones.reads", "direct".into())], &spare);
        go("tt any", &tt("any", "update", "parity"), &spare);
        go("tt turn", &tt("in-turn", "update", "parity"), &spare);
        go("tt turn none", &tt("in-turn", "update", "parity"), "800");
        go("turn mirror", &tt("in-turn", "update", "mirror"), &spare);
        go("turn regular2", &tt("in-turn", "update", "regular-2"), &spare);
    }
    #[test]
    fn explore() {
        let options = Options { scale: Scale::parse(&std::env::var("SCALE").unwrap_or("1/16".into())).unwrap(), ..Options::default() };
        let trace = trace(&options).unwrap();
        let go = |place: Place, length| {
            let bench = bench(&options, &place).unwrap();
            let share = place.used as f64 / 100.0;
            let started = std::time::Instant::now();
            let state = bench.filled_to(share, &()).unwrap();
            let filled = started.elapsed();
            let mut workload = trace.open(bench.sectors(), share, length).unwrap();
            let state = bench.warmed(&state, &mut *workload, trace.warm_up, &()).unwrap();
            let warmed = started.elapsed();
            let m = bench.time(&state, &mut *workload, &()).unwrap();
            eprintln!("{place:?} R {:.3} ms W {:.3} ms p99 {:?} {:?} gc/host {:.2} req {} {:?} fill {filled:?} warm {warmed:?} all {:?}", m.reads.mean / 1e6, m.writes.mean / 1e6, m.reads.tail, m.writes.tail,
              m.flash.programs[units::Cause::Gc.index()] as f64 / m.flash.programs[0] as f64, m.requests, m.zones, started.elapsed());
            m
        };
        for used in std::env::var("USED").unwrap_or("90".into()).split(',') {
            let base = Place { used: used.parse().unwrap(), ..RECORD };
            let s = go(base.plain(), Length::Record);
            let d = go(base, Length::Record);
            eprintln!("used {used} RR {:.3} WR {:.3}", d.reads.mean / s.reads.mean, d.writes.mean / s.writes.mean);
        }
    }
}
