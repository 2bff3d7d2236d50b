//! Chooses the report page that is built in: the charts that Node.js has bundled, or else a page of figures alone.

use std::path::Path;

/// The form of results that the program writes and the page reads.
const FORM: &str = "nandarium.result/2";

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rerun-if-changed=pages");
    println!("cargo::rerun-if-changed=plain");
    let is_built =
        ["template.html", "report.css", "report.js"].iter().all(|file| Path::new("pages").join(file).is_file());
    if is_built && std::fs::read_to_string("pages/report.js").is_ok_and(|script| !script.contains(FORM)) {
        println!(
            "cargo::error=crates/front/cli/pages/report.js reads results of another form than {FORM}: it was built \
             from an older state. Run `make build` (or `npm run build` in web/), then build again."
        );
    }
    if !is_built {
        println!(
            "cargo::warning=the report page has no charts: they are built before the program, by `make build` or by \
             `npm ci && npm run build` in web/"
        );
    }
    println!("cargo::rustc-env=PAGES={root}/{}", if is_built { "pages" } else { "plain" });
}
