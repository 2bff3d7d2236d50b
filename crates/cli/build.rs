//! Checks that the report page has been built, so that its absence is one clear message.

use std::path::Path;

fn main() {
    for file in ["template.html", "report.css", "report.js"] {
        let path = Path::new("../../web/dist").join(file);
        println!("cargo::rerun-if-changed={}", path.display());
        if !path.is_file() {
            println!(
                "cargo::error=web/dist/{file} is missing: the report page is built before the program. \
                 Run `make build` (or `npm ci && npm run build` in web/), then build again."
            );
        }
    }
}
