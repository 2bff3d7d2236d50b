//! The page, built from `web/src/watch`, or else `plain/`.

/// The whole page: styles and script are in it.
pub(crate) const HTML: &str = include_str!(concat!(env!("PAGES"), "/watch.html"));
/// Sources that the page may load: itself, and the data of this server. The build puts the hashes of its styles and
/// script in.
pub(crate) const POLICY: &str = include_str!(concat!(env!("PAGES"), "/watch.csp"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_outside() {
        assert!(POLICY.starts_with("default-src 'none'") && !POLICY.contains("unsafe") && !POLICY.contains('\n'));
        for (element, source) in [("<script>", "script-src 'sha256-"), ("<style>", "style-src 'sha256-")] {
            assert_eq!(HTML.contains(element), POLICY.contains(source), "{element}");
        }
        for attribute in ["src=\"", "href=\"http", "url(http", "@import"] {
            assert!(!HTML.contains(attribute), "{attribute}");
        }
    }
}
