//! Lines of a system-call log, as `strace -f -y -ttt` writes them.
//!
//! ```text
//! 1465  1795838854.281068 fsync(3</mnt/a b>) = 0 <0.000370>
//! 1466  1795838854.357803 fsync(7</mnt/t0> <unfinished ...>
//! 1466  1795838854.358227 <... fsync resumed>) = 0 <0.000424>
//! 1465  1795838854.360049 --- SIGTERM {si_signo=SIGTERM, si_code=SI_USER, si_pid=1465, si_uid=0} ---
//! 1465  1795838854.361229 +++ killed by SIGTERM +++
//! ```
//! Without `-o` a process stands as `[pid  1465]`, and a single process without its number.

use units::Nanos;

/// A line with its process and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number of the process or thread; 0 where the log has one process alone.
    pub process: u32,
    /// Nanoseconds since the beginning of 1970.
    pub time: Nanos,
    /// The part behind the time.
    pub event: Event<'a>,
}

/// The part of a line behind its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A call with its end.
    Call {
        /// Name of the call.
        name: &'a str,
        /// The text between its parentheses.
        arguments: &'a str,
        /// How the call ended.
        outcome: Outcome<'a>,
    },
    /// A call that ends on a later line.
    Begun {
        /// Name of the call.
        name: &'a str,
        /// The arguments that were known.
        arguments: &'a str,
    },
    /// The end of a call that began on an earlier line.
    Resumed {
        /// Name of the call.
        name: &'a str,
        /// The rest of its arguments.
        arguments: &'a str,
        /// How the call ended.
        outcome: Outcome<'a>,
    },
    /// A signal, or the end of a process.
    Signal,
}

/// How a call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The returned number; none of a call that failed or never returned.
    pub value: Option<u64>,
    /// The file of a returned descriptor.
    pub file: Option<String>,
    /// The name of the error, such as `ENOENT`.
    pub error: Option<&'a str>,
}

/// Reads a line. None: it is not understood.
pub fn read(line: &str) -> Option<Line<'_>> {
    let (process, rest) = process(line.trim_end());
    let (time, rest) = rest.split_once(' ')?;
    let (time, rest) = (seconds(time)?, rest.trim_start());
    Some(Line { process, time, event: event(rest)? })
}

/// The number of the process, which may be absent, and the rest of the line.
fn process(line: &str) -> (u32, &str) {
    let bare = || {
        let (number, rest) = line.split_once(' ')?;
        Some((number.parse().ok()?, rest.trim_start()))
    };
    let bracketed = || {
        let (number, rest) = line.strip_prefix("[pid ")?.split_once(']')?;
        Some((number.trim().parse().ok()?, rest.trim_start()))
    };
    bare().or_else(bracketed).unwrap_or((0, line))
}

/// Nanoseconds of a text such as `1.000370`.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction = fraction.parse::<Nanos>().ok()? * 10u64.pow(9 - fraction.len() as u32);
    whole.parse::<Nanos>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn event(text: &str) -> Option<Event<'_>> {
    if text.starts_with("---") || text.starts_with("+++") {
        return Some(Event::Signal);
    }
    if let Some(rest) = text.strip_prefix("<... ") {
        let (name, rest) = rest.split_once(" resumed>")?;
        let (arguments, rest) = until_closed(rest)?;
        return Some(Event::Resumed { name, arguments, outcome: outcome(rest)? });
    }
    let (name, rest) = text.split_once('(')?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    if let Some(arguments) = rest.strip_suffix("<unfinished ...>") {
        return Some(Event::Begun { name, arguments: arguments.trim_end() });
    }
    let (arguments, rest) = until_closed(rest)?;
    Some(Event::Call { name, arguments, outcome: outcome(rest)? })
}

/// Splits behind an open parenthesis at the one that closes it.
fn until_closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0u32;
    for (at, byte) in outside(text) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => return Some((&text[..at], &text[at + 1..])),
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The bytes of a text and their places, without those in quotes and in the names of files.
fn outside(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let bytes = text.as_bytes();
    let mut next = 0;
    std::iter::from_fn(move || {
        let at = next;
        let byte = *bytes.get(at)?;
        next += 1;
        if byte == b'"' {
            while let Some(inner) = bytes.get(next).filter(|inner| **inner != b'"') {
                next += if *inner == b'\\' { 2 } else { 1 };
            }
            next += 1;
        } else if byte == b'<' && at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'D') {
            // The name of a descriptor begins here, or this is a shift such as 1<<3.
            if bytes.get(next).is_some_and(|first| !matches!(first, b'<' | b' ' | b'=')) {
                while bytes.get(next).is_some_and(|inner| *inner != b'>') {
                    next += 1;
                }
                next += 1;
            } else {
                next += 1;
            }
        }
        Some((at, byte))
    })
}

fn outcome(text: &str) -> Option<Outcome<'_>> {
    let text = text.trim_start().strip_prefix("= ")?.trim_start();
    let end = text.find([' ', '<']).unwrap_or(text.len());
    let number = &text[..end];
    let value = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    let file = value.and(descriptor(text)).map(|(_, file)| file);
    let error = text.strip_prefix("-1 ").and_then(|text| text.split(' ').next());
    Some(Outcome { value, file, error })
}

/// The arguments of a call, which commas part.
pub fn split(arguments: &str) -> Vec<&str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0u32);
    for (at, byte) in outside(arguments) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(arguments[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(arguments[from..].trim());
    parts
}

/// The number of a descriptor, or `AT_FDCWD`, and its file: `3</mnt/a>`. A file without a name ends in ` (deleted)`.
pub fn descriptor(text: &str) -> Option<(&str, String)> {
    let (number, rest) = text.split_once('<')?;
    let is_descriptor = number == "AT_FDCWD" || number.parse::<u32>().is_ok();
    let (file, rest) = rest.split_once('>')?;
    let deleted = if rest.starts_with("(deleted)") { " (deleted)" } else { "" };
    is_descriptor.then(|| (number, plain(file) + deleted))
}

/// A text in quotes that is there whole.
pub fn quoted(text: &str) -> Option<String> {
    text.strip_prefix('"')?.strip_suffix('"').map(plain)
}

/// The bytes that the log writes with escapes.
pub fn plain(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [escaped, after @ ..] = rest else { break };
        let octal = rest.iter().take(3).take_while(|byte| (b'0'..b'8').contains(byte)).count();
        let hex = after.iter().take(2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let number =
            |digits: &[u8], base| u32::from_str_radix(&String::from_utf8_lossy(digits), base).unwrap_or(0) as u8;
        rest = after;
        match escaped {
            b'0'..b'8' => {
                rest = &after[octal - 1..];
                bytes.push(number(&[&[*escaped], &after[..octal - 1]].concat(), 8));
            }
            b'x' if hex > 0 => {
                rest = &after[hex..];
                bytes.push(number(&after[..hex], 16));
            }
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'v' => bytes.push(0x0b),
            b'f' => bytes.push(0x0c),
            other => bytes.push(*other),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
