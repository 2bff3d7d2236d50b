//! Chooses the watch page that is built in: the charts that Node.js has bundled, or else a page that names the numbers.

use std::path::Path;

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::rerun-if-changed=pages");
    println!("cargo::rerun-if-changed=plain");
    let is_built = ["watch.html", "watch.csp"].iter().all(|file| Path::new("pages").join(file).is_file());
    println!("cargo::rustc-env=PAGES={root}/{}", if is_built { "pages" } else { "plain" });
}
