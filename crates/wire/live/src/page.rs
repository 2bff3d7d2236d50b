//! The page, built from `web/src/watch`.

/// The whole page: styles and script are in it.
pub(crate) const HTML: &str = include_str!("../pages/watch.html");
/// Sources that the page may load: itself, and the data of this server. The build puts the hashes of its styles and
/// script in.
pub(crate) const POLICY: &str = include_str!("../pages/watch.csp");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_outside() {
        assert!(POLICY.starts_with("default-src 'none'") && !POLICY.contains("unsafe") && !POLICY.contains('\n'));
        assert!(POLICY.contains("script-src 'sha256-") && POLICY.contains("style-src 'sha256-"));
        for attribute in ["src=\"", "href=\"http", "url(http", "@import"] {
            assert!(!HTML.contains(attribute), "{attribute}");
        }
    }
}
