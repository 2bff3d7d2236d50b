//! One style of pages: colours stand in one file, each one that is used is there, and readers can tell them apart.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PALETTE: &str = "crates/lab/figures/src/style/palette.css";

/// Least distance of two colours of series as any reader sees them, in CIE L*a*b* of 1976, where 2.3 are just seen.
const APART: f64 = 18.0;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("groups of crates lie in a folder of the root")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Texts of which pages are made, by their path.
fn sources() -> Vec<(String, String)> {
    fn find(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("a folder can be listed").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.is_dir() && !["target", "node_modules", "pages", "tests", "test"].contains(&name) {
                find(&path, found);
            } else if [".css", ".ts", ".html", ".rs"].iter().any(|kind| name.ends_with(kind)) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["web/src", "crates"] {
        find(&root().join(folder), &mut found);
    }
    let name = |path: &Path| path.strip_prefix(root()).expect("found below it").to_string_lossy().replace('\\', "/");
    found.iter().map(|path| (name(path), read(path))).collect()
}

/// Colours that a text gives as numbers.
fn colours(text: &str) -> Vec<String> {
    let in_hex = text.split('#').skip(1).filter_map(|rest| {
        let word: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let is_colour = [3, 6, 8].contains(&word.len()) && word.chars().all(|letter| letter.is_ascii_hexdigit());
        is_colour.then(|| format!("#{word}"))
    });
    let functions = ["rgb(", "rgba(", "hsl(", "oklch(", "lab("].into_iter();
    in_hex.chain(functions.filter(|name| text.contains(&format!(" {name}"))).map(str::to_owned)).collect()
}

/// Colours of the palette by name, as they stand in a part of it.
fn palette(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": "))
}

fn named<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    palette(text).filter(|(name, _)| name.starts_with(start)).map(|(_, colour)| colour).collect()
}

/// Reports, figures and the page that watches had four palettes, each with an orange and a grey of its own.
#[test]
fn no_page_has_a_colour_that_is_not_of_the_palette() {
    for (name, text) in sources() {
        let found = colours(&text);
        assert!(found.is_empty() || name == PALETTE, "{name} has {found:?}: name them in {PALETTE}");
    }
    let python = read("python/nandarium/_html.py");
    let (_, own) = python.split_once("\nCOLOURS = (").expect("it has colours");
    let own: Vec<&str> = own.split(')').next().unwrap().split(", ").map(|colour| colour.trim_matches('"')).collect();
    assert_eq!(own, named(&read(PALETTE), "either-"));
    assert_eq!(colours(&python).len(), own.len());
}

#[test]
fn each_name_of_a_colour_that_is_used_is_one_of_the_palette() {
    let sources = sources();
    let declared: BTreeSet<&str> = sources
        .iter()
        .flat_map(|(_, text)| text.split("--").skip(1))
        .filter_map(|rest| rest.split_once(':'))
        .map(|(name, _)| name)
        .collect();
    for (path, text) in &sources {
        for used in text.split("var(--").skip(1) {
            let name: String =
                used.chars().take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect();
            // The rest of a name that ends so is put in by the program.
            assert!(name.ends_with('-') || name.is_empty() || declared.contains(name.as_str()), "{path}: --{name}");
        }
        for used in text.split("ink(\"").skip(1) {
            let name = used.split('"').next().unwrap();
            assert!(declared.contains(name), "{path}: {name}");
        }
    }
}

/// Readers with deuteranopia could not tell two runs of a comparison apart: their colours were 5 steps from each other.
#[test]
fn series_are_told_apart_by_every_reader_and_stand_out_from_the_page() {
    let text = read(PALETTE);
    let (light, rest) = text.split_once("@media").expect("there are two schemes");
    let (dark, both) = rest.split_once("\n}\n").expect("a block ends");
    for (scheme, pages, series) in [
        ("light", named(light, "surface"), named(light, "series-")),
        ("dark", named(dark, "surface"), named(dark, "series-")),
        ("either", vec!["#ffffff", "#000000"], named(both, "either-")),
    ] {
        assert!(series.len() >= 6, "{scheme}: {series:?}");
        for (at, colour) in series.iter().enumerate() {
            for page in &pages {
                assert!(contrast(colour, page) >= 3.0, "{scheme}: {colour} on {page}: {}", contrast(colour, page));
            }
            for other in &series[..at] {
                for (reader, seen) in READERS {
                    let apart = distance(perceived(colour, seen), perceived(other, seen));
                    assert!(apart >= APART, "{scheme}: {colour} and {other} for {reader}: {apart:.1}");
                }
            }
        }
    }
}

type Vector = [f64; 3];

/// What readers see of linear red, green and blue: Machado, Oliveira and Fernandes, 2009, without any cone of one kind.
const READERS: [(&str, [Vector; 3]); 4] = [
    ("most readers", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]]),
    ("deuteranopia", [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]),
    ("tritanopia", [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]]),
];

fn times(matrix: [Vector; 3], vector: Vector) -> Vector {
    matrix.map(|row| row.iter().zip(vector).map(|(factor, value)| factor * value).sum())
}

fn linear(colour: &str) -> Vector {
    [1, 3, 5].map(|at| {
        let share = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("a colour in hex")) / 255.0;
        if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    })
}

fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour| times([[0.2126, 0.7152, 0.0722]; 3], linear(colour))[0];
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// A colour as a reader sees it, in CIE 1976 L*a*b*.
fn perceived(colour: &str, reader: [Vector; 3]) -> Vector {
    let seen = times(reader, linear(colour)).map(|share| share.clamp(0.0, 1.0));
    let white = [0.95047, 1.0, 1.08883];
    let xyz = times([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]], seen);
    let [x, y, z] = [0, 1, 2].map(|at| {
        let share: f64 = xyz[at] / white[at];
        if share > 216.0 / 24389.0 { share.cbrt() } else { (24389.0 / 27.0 * share + 16.0) / 116.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn distance(one: Vector, other: Vector) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}
