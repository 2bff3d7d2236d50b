//! The report page: the built web page with results filled in.

use serde_json::{Value, json};

const TEMPLATE: &str = include_str!("../pages/template.html");
const CSS: &str = include_str!("../pages/report.css");
const JS: &str = include_str!("../pages/report.js");

/// The page for these results, self-contained. `notes`: what is to be said of all of them together.
pub fn render(title: &str, results: &[Value], notes: &[String]) -> String {
    // `<` would end the script element that holds the data.
    let data = json!({ "results": results, "notes": notes }).to_string().replace('<', "\\u003c");
    fill(TEMPLATE, &[("<!--TITLE-->", &escape(title)), ("/*CSS*/", CSS), ("/*JS*/", JS), ("/*RESULTS*/", &data)])
}

/// Replaces each placeholder of the template once; what was filled in is never looked at again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut places: Vec<(usize, &str, &str)> = values
        .iter()
        .map(|(name, value)| {
            (template.find(name).expect("the page's own build checks its placeholders"), *name, *value)
        })
        .collect();
    places.sort_unstable();
    let mut page = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut done = 0;
    for (at, name, value) in places {
        page.push_str(&template[done..at]);
        page.push_str(value);
        done = at + name.len();
    }
    page.push_str(&template[done..]);
    page
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Advice that names a key which does not exist would send people looking for it.
    #[test]
    fn what_the_page_advises_can_be_set() {
        const CAUSES: &str = include_str!("../../../../web/src/causes.ts");
        const PALETTE: &str = include_str!("../../../lab/figures/src/style/palette.css");
        let keys = simulator::config::all_keys();
        let advised: Vec<_> = CAUSES.split(" key: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(advised.len() > 20, "{advised:?}");
        for key in advised {
            assert!(keys.iter().any(|known| known.key == key), "{key} is no key");
        }
        for cause in units::CAUSES
            .iter()
            .map(|cause| cause.name())
            .chain((units::DIE_CAUSES..units::WAIT_KINDS).map(units::Wait::name_at))
        {
            assert!(CAUSES.contains(&format!("\n  {cause}: {{")), "{cause} has no meaning and advice");
            assert!(PALETTE.contains(&format!("  --cause-{cause}: ")), "{cause} has no colour");
        }
    }

    #[test]
    fn data_cannot_break_out_of_its_element_or_be_taken_for_a_placeholder() {
        let page = render("<b> & co", &[json!({"stack": "</script><!--TITLE-->/*JS*/"})], &["</script>".to_owned()]);
        assert!(page.contains("<title>&lt;b&gt; &amp; co</title>"));
        assert!(page.contains(r#""results":[{"stack":"\u003c/script>\u003c!--TITLE-->/*JS*/"}]"#));
        assert!(page.contains(r#""notes":["\u003c/script>"]"#));
        assert_eq!(page.matches(JS).count(), 1);
    }
}
