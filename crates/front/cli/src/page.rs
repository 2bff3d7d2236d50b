//! The report page: a web page with results filled in. It is the one that Node.js has built, or else `plain/`.

use serde_json::{Value, json};

const TEMPLATE: &str = include_str!(concat!(env!("PAGES"), "/template.html"));
const CSS: &str = include_str!(concat!(env!("PAGES"), "/report.css"));
const JS: &str = include_str!(concat!(env!("PAGES"), "/report.js"));

/// Where the page draws its results.
const MAIN: &str = "<main id=\"report\">";

/// The page for these results, self-contained. `answer`: what a comparison answers, or null; `notes`: what is to be
/// said of all of them together.
pub fn render(title: &str, answer: &Value, results: &[Value], notes: &[String]) -> String {
    // `<` would end the script element that holds the data.
    let data = json!({ "results": results, "notes": notes, "answer": answer }).to_string().replace('<', "\\u003c");
    let main = format!("{}{MAIN}", answered(answer));
    let values = [("<!--TITLE-->", &*escape(title)), ("/*CSS*/", CSS), (MAIN, &main), ("/*RESULTS*/", &data)];
    fill(TEMPLATE, &[&values[..], &[("/*JS*/", JS)]].concat())
}

/// The answer of a comparison for a reader whose browser runs no script: the answer, the differences that matter, and
/// what it assumes.
fn answered(answer: &Value) -> String {
    let text = |value: &Value| escape(value.as_str().unwrap_or_default());
    if answer.is_null() {
        return String::new();
    }
    let lines = answer["differences"].as_array().into_iter().flatten();
    let lines = figures::each(lines, |line| format!("<li>{}</li>", text(&line["sentence"])));
    format!(
        "<noscript><div style=\"max-width:1240px;margin:0 auto;padding:0 24px\">\
         <section id=\"answer\" aria-label=\"Answer\">\
         <p style=\"max-width:84ch;font-size:18px;line-height:1.4\">{}</p>\
         <div><p class=\"lead\">{}</p><ul style=\"margin-top:4px;font-size:14px\">{lines}</ul></div>\
         <p class=\"lead\" style=\"max-width:none;margin-top:12px\">Assumed: {}.</p></section></div></noscript>\n",
        text(&answer["sentence"]),
        text(&answer["about_differences"]),
        text(&answer["assumptions"])
    )
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
        let advised: Vec<&str> = compare::advice::table().values().flatten().map(|advice| &*advice.key).collect();
        assert!(advised.len() > 20, "{advised:?}");
        for key in advised {
            assert!(keys.iter().any(|known| known.key == key), "{key} is no key");
        }
        for cause in units::CAUSES
            .iter()
            .map(|cause| cause.name())
            .chain((units::DIE_CAUSES..units::WAIT_KINDS).map(units::Wait::name_at))
        {
            assert!(CAUSES.contains(&format!("\n  {cause}: {{")), "{cause} has no meaning");
            assert!(PALETTE.contains(&format!("  --cause-{cause}: ")), "{cause} has no colour");
        }
    }

    #[test]
    fn data_cannot_break_out_of_its_element_or_be_taken_for_a_placeholder() {
        let page = render(
            "<b> & co",
            &Value::Null,
            &[json!({"stack": "</script><!--TITLE-->/*JS*/"})],
            &["</script>".to_owned()],
        );
        assert!(page.contains("<title>&lt;b&gt; &amp; co</title>"));
        assert!(page.contains(r#""results":[{"stack":"\u003c/script>\u003c!--TITLE-->/*JS*/"}]"#));
        assert!(page.contains(r#""notes":["\u003c/script>"]"#));
        assert_eq!(page.matches(JS).count(), 1);
    }

    #[test]
    fn a_page_begins_with_the_answer() {
        let differences = [json!({"sentence": "read p99: a 1 us; b 2 us (x2)"})];
        let answer = json!({"sentence": "a < b", "about_differences": "differences:", "differences": differences,
            "assumptions": "whole drives"});
        let page = render("title", &answer, &[], &[]);
        let body = page.split("<body>").nth(1).unwrap();
        for part in ["a &lt; b</p>", "<li>read p99: a 1 us; b 2 us (x2)</li>", "Assumed: whole drives."] {
            let at = body.find(part).unwrap_or_else(|| panic!("{part} is missing"));
            assert!(at < body.find(MAIN).unwrap(), "{part}");
        }
        assert!(!render("title", &Value::Null, &[], &[]).contains("id=\"answer\""));
    }
}
