//! The cost of a request on drives of 8 GiB to 8 TB: tables that do not fit the processor's caches should not show.

use crate::rows::{drive_it, plan_of};
use figures::{Figure, Page, Panel, Series, Shape, section};
use serde_json::{Value, json};
use std::path::Path;

/// Names and bytes of the drives.
const SIZES: [(&str, u64); 5] =
    [("8 GiB", 8 << 30), ("64 GiB", 64 << 30), ("512 GiB", 512 << 30), ("2 TiB", 2 << 40), ("8 TB", 8_000_000_000_000)];
/// Requests a figure is measured over.
const REQUESTS: u64 = 4_000_000;
/// Bytes of memory a page needs, its share of what else there is included.
const PAGE: u64 = 10;
/// The largest drive may cost so many times what the smallest does.
const LIMIT: f64 = 2.0;

/// One drive: ns of a random read and of a random write without cleaning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    name: &'static str,
    bytes: u64,
    ns: [f64; 2],
}

/// Measures the drives that fit into memory; `free`: bytes of it.
pub(crate) fn measure(free: u64) -> Vec<Cost> {
    let mut costs = Vec::new();
    for (name, bytes) in SIZES {
        if bytes / 4096 * PAGE > free {
            eprintln!("{name}: needs {} MiB of memory, which are not free", (bytes / 4096 * PAGE) >> 20);
            continue;
        }
        eprintln!("{name}");
        let plan = plan_of("page", bytes as f64 / f64::from(1 << 30), &["drive.over_provisioning=8%".to_owned()]);
        let mut drive = plan.assemble(plan.timed(plan.fresh_state()));
        drive_it(&mut drive, "sequential-write", u64::from(plan.user_pages) / 32, 32, 1);
        let spare = u64::from(plan.geometry.pages() - plan.user_pages);
        let ns =
            [("uniform-read", REQUESTS), ("uniform-write", REQUESTS.min(spare / 2))].map(|(workload, requests)| {
                drive_it(&mut drive, workload, requests / 8, 32, 2); // fills the caches
                1e9 / drive_it(&mut drive, workload, requests - requests / 8, 32, 3).per_second
            });
        costs.push(Cost { name, bytes, ns });
    }
    costs
}

/// How many times the cost on the smallest drive the largest one costs, read and written, if both were measured.
fn ratios(costs: &[Cost]) -> Option<[f64; 2]> {
    let of = |(name, _): (&str, u64)| costs.iter().find(|cost| cost.name == name);
    let (first, last) = (of(SIZES[0])?, of(SIZES[SIZES.len() - 1])?);
    Some([0, 1].map(|op| last.ns[op] / first.ns[op]))
}

pub(crate) fn print(costs: &[Cost]) {
    println!("{:<10} {:>12} {:>12}", "drive", "read, ns", "write, ns");
    for Cost { name, ns, .. } in costs {
        println!("{name:<10} {:>12.1} {:>12.1}", ns[0], ns[1]);
    }
    let Some([reads, writes]) = ratios(costs) else {
        println!("largest to smallest: not measured, for want of memory");
        return;
    };
    let verdict = if reads.max(writes) <= LIMIT { "ok" } else { "MISSED" };
    println!("largest to smallest: reads {reads:.2}, writes {writes:.2} (limit {LIMIT}) {verdict}");
}

pub(crate) fn to_json(costs: &[Cost]) -> Value {
    let row =
        |cost: &Cost| json!({"drive": cost.name, "bytes": cost.bytes, "read_ns": cost.ns[0], "write_ns": cost.ns[1]});
    json!({"limit": LIMIT, "ratios": ratios(costs), "rows": costs.iter().map(row).collect::<Vec<_>>()})
}

/// Draws it as a page.
pub(crate) fn draw(costs: &[Cost], folder: &Path) -> std::io::Result<()> {
    let series = |name: &str, op: usize| Series {
        name: name.to_owned(),
        values: costs.iter().map(|cost| Some(cost.ns[op])).collect(),
    };
    let figure = Figure {
        name: "sizes",
        title: "What a request costs",
        axis: "ns of the processor",
        shape: Shape::Lines,
        most: None,
        panels: vec![Panel {
            title: String::new(),
            categories: costs.iter().map(|cost| cost.name.to_owned()).collect(),
            series: vec![series("random reads", 0), series("random writes", 1)],
            published: Vec::new(),
        }],
        published: Vec::new(),
        caption: "4 KiB at random places over the whole drive, depth 32, no cleaning.".to_owned(),
    };
    let page = Page {
        brand: "bench",
        title: "Cost of a request by the size of the drive",
        top: String::new(),
        sections: section(&figure),
    };
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("sizes.html"), page.render())
}
