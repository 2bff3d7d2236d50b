//! Rows from measurements.

use super::TARGETS;
use super::drives::{
    BUFFERS, DATA, DriveSetup, ELASTIC, FPC, FPC_CACHED, FRA, GROUPS, NO_PC, NO_PC_BLOCK, PPC, PPC_BLOCK, PPC_COPY,
    PPC6, RAID0, RAID0_DATA, RAID0_SPARE, RAID6, SIZES, UPDATES,
};
use super::exact::{CacheSize, Cost};
use super::loads::{FINANCIAL, LOCAL, POSTMARK, PUBLISHED};
use super::results::{copies, mean, programs, reads, together, whole_stripes, writes};
use super::runs::{ONE, Results, is_bounded};
use super::share::SPARE;
use crate::cells;
use crate::row::Row;
use crate::target::Measured::{self, Figures, Number};
use crate::target::more;

/// The three schemes that were published.
const SCHEMES: [&str; 3] = [NO_PC, FPC, PPC];

/// Rows of measurements under one set of workloads.
struct Table<'a> {
    results: &'a Results,
    workload: &'a str,
}

/// The rows of the study, in the order of their numbers.
pub fn rows(results: &Results, workload: &str) -> Vec<Row> {
    let table = Table { results, workload };
    let mut rows = table.costs();
    rows.extend(cells::rows(|| table.speed()));
    rows.extend(cells::rows(|| table.other_speeds()));
    rows.extend(cells::rows(|| table.gains()));
    rows.extend(cells::rows(|| table.overheads()));
    rows.extend(cells::rows(|| table.full_parities()));
    rows.extend(cells::rows(|| vec![table.savings()]));
    rows.extend(cells::rows(|| table.journal()));
    rows.extend(cells::rows(|| vec![table.most_reads()]));
    rows.push(table.cache_size());
    rows.extend(cells::rows(|| vec![table.granularity()]));
    rows.extend(cells::rows(|| table.beyond()));
    rows.extend(cells::rows(|| vec![table.elastic()]));
    rows.extend(cells::rows(|| table.shares()));
    rows
}

fn cost(cost: &Cost) -> String {
    format!("{} + {}", cost.0, cost.1)
}

fn costs(all: &[Cost]) -> String {
    all.iter().map(cost).collect::<Vec<_>>().join(", ")
}

/// Values with two decimals.
fn list(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(|value| format!("{value:.2}")).collect::<Vec<_>>().join(", ")
}

/// A text for each workload.
fn by_load(text: impl Fn(&'static str) -> String) -> String {
    PUBLISHED.map(|load| format!("{load} {}", text(load))).join("; ")
}

/// A text for each variant.
fn by_variant(variants: &[&'static str], text: impl Fn(&'static str) -> String) -> String {
    variants.iter().map(|variant| format!("{variant} {}", text(variant))).collect::<Vec<_>>().join("; ")
}

impl Table<'_> {
    fn row(&self, id: &str, measured: Measured, note: &str) -> Row {
        TARGETS.row(id, measured, self.workload, note)
    }

    /// A row of what was counted on small drives.
    fn counted(id: &str, measured: Measured, note: &str) -> Row {
        TARGETS.row(id, measured, "single pages", note)
    }

    fn of(&self, variant: &'static str) -> DriveSetup {
        self.results.drive(variant)
    }

    fn mean_iops(&self, variant: &'static str) -> f64 {
        self.results.mean_iops(self.of(variant))
    }

    fn costs(&self) -> Vec<Row> {
        let exact = &self.results.exact;
        let as_published = |data: u64, newer: u64| (if newer < data.div_ceil(2) { newer + 1 } else { data - newer }, 1);
        let holds = exact.commits.iter().all(|(data, costs)| {
            (1..*data).zip(costs).all(|(newer, cost)| *cost == as_published(*data, newer))
                && costs.len() as u64 == data - 1
        });
        let commits: Vec<String> =
            exact.commits.iter().map(|(data, all)| format!("N = {data}: {}", costs(all))).collect();
        vec![
            Self::counted(
                "2.1a",
                Measured::statement(exact.cases == [(0, 0), (0, 0), (1, 0)], costs(&exact.cases)),
                "Page without entry, page beside it, first page again.",
            ),
            Self::counted(
                "2.1b",
                Measured::statement(holds, commits.join("; ")),
                "k = 1 to N - 1. All N pages leave the cache at once: no read, one program.",
            ),
            Self::counted(
                "2.2",
                Measured::statement(exact.update == (2, 2), cost(&exact.update)),
                "The published text calls this an increase by over 50 %; it is more than 100 %.",
            ),
            Self::recovery(&exact.recovery),
        ]
    }

    /// Both cases of figure 5 of the publication.
    fn recovery((covered, others): &(Vec<u64>, [u64; 2])) -> Row {
        let holds =
            (0..).zip(covered).all(|(others, reads)| *reads == others) && others.iter().all(|reads| *reads == DATA);
        let each = covered.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let figures = format!("{each} (k = 1, 2, 3); {} (k = 2); {} (k = 0)", others[0], others[1]);
        let note = "One chip is lost, and one of its pages is read. The last one's stripe has no entry in the cache.";
        Self::counted("2.2r", Measured::statement(holds, figures), note)
    }

    fn speed(&self) -> Vec<Row> {
        let [none, full, partial] = SCHEMES.map(|variant| self.mean_iops(variant));
        let note = format!("{} requests under way, {} entries.", self.results.depth, self.results.record.entries);
        vec![
            self.row("2.3a", Number(none), &note),
            self.row("2.3b", Number(full), &format!("{note} {}", self.published_programs())),
            self.row("2.3c", Number(partial), &note),
            self.row(
                "2.3d",
                Measured::statement(none <= full && full < partial && partial < 1.0, list([none, full, partial, 1.0])),
                "",
            ),
        ]
    }

    fn other_speeds(&self) -> Vec<Row> {
        let against =
            |base| list(SCHEMES.map(|variant| mean(|load| self.results.normalised(self.of(variant), load, base))));
        let others = by_variant(&[RAID0_DATA, RAID0_SPARE], |base| format!("= 1: {}", against(base)));
        let one = SCHEMES.map(|variant| self.results.mean_iops_at(self.of(variant), ONE));
        let each = by_load(|load| list(SCHEMES.map(|variant| self.results.normalised(self.of(variant), load, RAID0))));
        vec![
            self.row("2.3q", Figures(list(one)), ""),
            self.row(
                "2.3v",
                Figures(others),
                "The second has the flash of RAID-5, and what RAID-5 needs for parity as spare flash.",
            ),
            self.row("2.3w", Figures(each), "no-PC, FPC, PPC."),
        ]
    }

    /// How many parities the published speed of full parities stands for.
    fn published_programs(&self) -> String {
        let [full, partial] = [FPC, PPC].map(|variant| self.results.mean_writes(self.of(variant)));
        format!(
            "With the published reads, 0.56 stands for 0.48 programs of parities a page write; with caches of equal \
             size FPC needs {full:.2}, and PPC {partial:.2}."
        )
    }

    fn gains(&self) -> Vec<Row> {
        let [none, full, partial] = SCHEMES.map(|variant| self.mean_iops(variant));
        let note = "Of the means, as the published numbers follow from the published means.";
        vec![self.row("2.4a", Number(more(partial, none)), note), self.row("2.4b", Number(more(partial, full)), note)]
    }

    fn journal(&self) -> Vec<Row> {
        let [none, full, partial] = SCHEMES.map(|variant| self.mean_iops(variant));
        let note = "The abstract of the journal version: another configuration, of which nothing more is known here.";
        vec![self.row("2.9a", Number(more(partial, none)), note), self.row("2.9b", Number(more(partial, full)), note)]
    }

    fn overheads(&self) -> Vec<Row> {
        let none = |load| self.results.of(self.of(NO_PC), load);
        let own = |load| self.results.of(self.of(PPC), load);
        let no_pc = by_load(|load| format!("{:.2}, {:.0} %", reads(none(load)), whole_stripes(none(load), DATA)));
        let ppc = by_load(|load| format!("{:.2} + {:.2}", reads(own(load)), writes(own(load))));
        vec![
            self.row(
                "2.5",
                Number(self.results.mean_reads(self.of(NO_PC))),
                "The cheaper of read-modify-write and reconstruct-write each time: row 2.13i has the first one alone.",
            ),
            self.row("2.5w", Figures(no_pc), ""),
            self.row("2.6a", Number(self.results.mean_reads(self.of(PPC))), ""),
            self.row("2.6b", Number(self.results.mean_writes(self.of(PPC))), ""),
            self.row("2.6w", Figures(ppc), ""),
        ]
    }

    fn full_parities(&self) -> Vec<Row> {
        let both = |load, value: &dyn Fn(&crate::simulate::Measurement) -> f64| {
            [NO_PC, FPC].map(|variant| value(self.results.of(self.of(variant), load)))
        };
        let equal = PUBLISHED.into_iter().all(|load| {
            let [none, full] = both(load, &reads);
            (none - full).abs() <= 0.02 * none.max(full)
        });
        let nowhere_more = PUBLISHED.into_iter().all(|load| {
            let [none, full] = both(load, &writes);
            full <= none * 1.001
        });
        let [none, full] = [NO_PC, FPC].map(|variant| self.results.mean_writes(self.of(variant)));
        let text = |value: &dyn Fn(&crate::simulate::Measurement) -> f64| {
            by_load(|load| {
                let [none, full] = both(load, value);
                format!("{full:.2} against {none:.2}")
            })
        };
        vec![
            self.row(
                "2.7a",
                Measured::statement(equal, text(&reads)),
                "It is made so (stripe.cache.reads = as-no-cache): see 2.13c for what memory saves.",
            ),
            self.row("2.7b", Measured::statement(full < none && nowhere_more, text(&writes)), ""),
        ]
    }

    fn savings(&self) -> Row {
        let saved = |load| reads(self.results.of(self.of(NO_PC), load)) - reads(self.results.of(self.of(PPC), load));
        let random = saved(FINANCIAL).min(saved(POSTMARK));
        let others = PUBLISHED.into_iter().filter(|load| ![FINANCIAL, POSTMARK].contains(load));
        let holds = others.clone().map(saved).all(|other| random > other);
        self.row(
            "2.8",
            Measured::statement(holds, by_load(|load| format!("{:.2}", saved(load)))),
            "Extra reads of a page write under no-PC, less those under PPC.",
        )
        .with_effect(random - others.map(saved).fold(f64::NEG_INFINITY, f64::max))
    }

    fn most_reads(&self) -> Row {
        let exact = &self.results.exact.most_reads;
        let small = exact.iter().all(|(data, most, commits)| *commits > 0 && *most == data.div_ceil(2));
        let runs = self.results.raced.iter().filter(|(place, _)| is_bounded(place.drive));
        let most = runs.map(|(_, measured)| measured.stripe_counter("commit_reads_most")).max().unwrap_or(0);
        let text: Vec<String> =
            exact.iter().map(|(data, most, commits)| format!("N = {data}: {most} ({commits} commits)")).collect();
        let figures = format!("{}; N = {DATA}, all runs: {most}", text.join("; "));
        self.row(
            "2.10",
            Measured::statement(small && most <= DATA.div_ceil(2), figures),
            "PPC, and RAID-5 whose updates read the least; read-modify-write reads all that it replaces.",
        )
    }

    fn cache_size(&self) -> Row {
        let CacheSize { bits, entries, stripes, data, page_bits } = self.results.exact.cache;
        let number = u64::from(stripes.next_power_of_two().ilog2());
        let expected = entries * (number + data + page_bits);
        let figures = format!("{bits} = {entries} ({number} + {data} + {page_bits})");
        Self::counted("2.11", Measured::statement(bits == expected, figures), &format!("{stripes} stripes."))
    }

    fn granularity(&self) -> Row {
        let pairs = [(NO_PC, NO_PC_BLOCK), (PPC, PPC_BLOCK)];
        let holds = pairs.iter().all(|(page, block)| self.mean_iops(page) > self.mean_iops(block));
        let each = pairs
            .map(|(page, block)| format!("{page} {:.2} against {:.2}", self.mean_iops(page), self.mean_iops(block)));
        self.row(
            "2.12",
            Measured::statement(holds, each.join("; ")),
            "RAID-0 by page = 1. The buffer gathers consecutive pages, which are no stripe where chips take blocks.",
        )
    }

    /// What the publication does not report.
    fn beyond(&self) -> Vec<Row> {
        let results = self.results;
        let swept = by_variant(&[PPC, FPC], |variant| {
            list(SIZES.map(|entries| results.mean_iops(DriveSetup { entries, ..self.of(variant) })))
        });
        let buffers = by_variant(&SCHEMES, |variant| {
            BUFFERS.map(|buffer| self.cost_of(DriveSetup { buffer, ..self.of(variant) })).join(", ")
        });
        let others =
            by_variant(&[PPC_COPY, FRA, RAID6, PPC6, ELASTIC], |variant| format!("{:.2}", self.mean_iops(variant)));
        let local = by_variant(&[NO_PC, FPC, FPC_CACHED, PPC], |variant| {
            let measured = results.of(self.of(variant), LOCAL);
            let iops = results.normalised(self.of(variant), LOCAL, RAID0);
            format!("{iops:.2} ({:.2} + {:.2})", reads(measured), writes(measured))
        });
        let commits = by_load(|load| {
            let measured = results.of(self.of(PPC), load);
            let [replaced, collected] =
                ["commits_replacement", "commits_collection"].map(|name| measured.stripe_counter(name) as f64);
            let share =
                |part: f64| if replaced + collected > 0.0 { part / (replaced + collected) * 100.0 } else { 0.0 };
            format!("{:.0}, {:.0}", share(replaced), share(collected))
        });
        let copied = by_variant(&[RAID0, NO_PC, FPC, PPC], |variant| {
            format!("{:.2}", mean(|load| copies(results.of(self.of(variant), load))))
        });
        vec![
            self.row("2.13a", Figures(swept), ""),
            self.row("2.13b", Figures(buffers), ""),
            self.row("2.13c", Figures(self.cost_of(self.of(FPC_CACHED))), ""),
            self.row("2.13d", Figures(others), "RAID-6 has six chips, four of data."),
            self.row("2.13e", Figures(local), ""),
            self.row("2.13f", Figures(commits), ""),
            self.row("2.13g", Figures(copied), ""),
            self.row("2.13h", Figures(self.groups()), "k: mean pages of a stripe that no-PC updates together."),
            self.row(
                "2.13i",
                Figures(self.updates()),
                "Copies are those of collection for each page write; the gain is that of PPC with the same buffer.",
            ),
        ]
    }

    /// The mean IOPS of a drive, and its extra reads and programs.
    fn cost_of(&self, drive: DriveSetup) -> String {
        let Self { results, .. } = self;
        let [iops, reads, writes] = [results.mean_iops(drive), results.mean_reads(drive), results.mean_writes(drive)];
        format!("{iops:.2} ({reads:.2} + {writes:.2})")
    }

    /// What the pages of a stripe that leave together cost each scheme.
    fn groups(&self) -> String {
        let each = GROUPS.map(|group| {
            let of = |variant| DriveSetup { group, ..self.of(variant) };
            let k = mean(|load| together(self.results.of(of(NO_PC), load)));
            let costs = by_variant(&SCHEMES, |variant| self.cost_of(of(variant)));
            format!("{group} together (k = {k:.2}): {}", costs.replace("; ", ", "))
        });
        each.join("; ")
    }

    /// What both ways to update a full parity cost.
    fn updates(&self) -> String {
        let each = UPDATES.into_iter().flat_map(|update| GROUPS.map(|group| (update, group)));
        let each = each.map(|(update, group)| {
            let of = |variant| DriveSetup { group, update, ..self.of(variant) };
            let partial = DriveSetup { group, ..self.of(PPC) };
            let gain = more(self.results.mean_iops(partial), self.results.mean_iops(of(NO_PC)));
            let copied = mean(|load| copies(self.results.of(of(NO_PC), load)));
            format!("{update}, {group} together: {}, {copied:.2} copies, PPC {gain:+.0} %", self.cost_of(of(NO_PC)))
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// Elastic stripes against fixed ones where writes are random.
    fn elastic(&self) -> Row {
        let of = |variant, load| programs(self.results.of(self.of(variant), load));
        let both = [FINANCIAL, POSTMARK].map(|load| (load, of(ELASTIC, load), of(NO_PC, load)));
        let holds = both.iter().all(|(_, elastic, fixed)| elastic < fixed);
        let text = both.map(|(load, elastic, fixed)| {
            format!("{load} {elastic:.2} against {fixed:.2} ({:+.1} %)", more(elastic, fixed))
        });
        let note = "Programs for each page write, copies included. The published log of new parities is on a device of \
            its own, which does not count there; here it does.";
        self.row("5.6", Measured::statement(holds, text.join("; ")), note)
    }

    /// Parity under a Zipf law.
    fn shares(&self) -> Vec<Row> {
        let shares = &self.results.shares;
        let zipf = |id, measured, note: &str| TARGETS.row(id, measured, "zipf", note);
        let of_record = shares[&SPARE[0]];
        let by_spare = shares.iter().map(|(spare, share)| format!("{spare} %: {:.1} %", share.end));
        vec![
            zipf("5.7a", Number(of_record.start), "No collection yet: a page and its parity each."),
            zipf(
                "5.7b",
                Number(of_record.end),
                &format!("{} % of spare flash beyond parity; copies by collection count as programs.", SPARE[0]),
            ),
            zipf("5.7v", Figures(by_spare.collect::<Vec<_>>().join("; ")), ""),
        ]
    }
}
