//! Checks that the report page has been built, so that its absence is one clear message.

use std::path::Path;

/// The form of results that the program writes and the page reads.
const FORM: &str = "nandarium.result/2";

fn main() {
    for file in ["template.html", "report.css", "report.js"] {
        let path = Path::new("pages").join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        if !path.is_file() {
            println!(
                "cargo::error=crates/front/cli/pages/{file} is missing: the report page is built before the program. \
                 Run `make build` (or `npm ci && npm run build` in web/), then build again."
            );
        } else if file == "report.js" && std::fs::read_to_string(&path).is_ok_and(|script| !script.contains(FORM)) {
            println!(
                "cargo::error=crates/front/cli/pages/{file} reads results of another form than {FORM}: it was built \
                 from an older state. Run `make build` (or `npm run build` in web/), then build again."
            );
        }
    }
}
