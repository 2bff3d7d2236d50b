//! A connection to a viewer: bytes in, questions out, answers as bytes (HTTP/1.1).

use crate::guard::{Access, value_of};
use crate::metrics::Exposition;
use crate::reply::Reply;
use crate::source::Question;
use httparse::{Header, InvalidChunkSize, Status};
use serde_json::Value;
use std::time::SystemTime;

/// Bytes of the head of a request.
const HEAD: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 100;
/// Bytes of a command.
const BODY: usize = 4096;
/// Bytes kept of what a viewer has sent: a head, and a body with the frames of its chunks.
const ROOM: usize = HEAD + 4 * BODY;

/// Requests that a viewer has sent, and answers that it has not been sent yet. The owner of the socket moves the bytes.
#[derive(Debug, Default)]
pub struct Connection {
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of the output that were sent.
    taken: usize,
    /// The head of a request is there, and not all of its body.
    has_head: bool,
    is_asked: bool,
    /// The request asks for the head of the answer only.
    is_head: bool,
    /// The next answer is the last one, or there is no further one.
    is_last: bool,
    is_turned_away: bool,
}

/// A request that is there as a whole.
struct Heard {
    length: usize,
    is_head: bool,
    is_last: bool,
    /// What it asks of the source, or the answer that needs none.
    asked: Result<Question, Reply>,
}

impl Connection {
    /// Its viewer is told that there are too many, once it has sent a request: an answer before the request would be
    /// lost.
    pub fn turned_away() -> Self {
        Self { is_turned_away: true, ..Self::default() }
    }

    /// Takes bytes that the viewer has sent; after its last request they are ignored.
    pub fn hear(&mut self, bytes: &[u8]) {
        if !self.is_last {
            self.input.extend_from_slice(bytes);
        }
    }

    /// Whether [`Connection::hear`] may be given bytes.
    pub fn has_room(&self) -> bool {
        self.input.len() < ROOM || self.is_last
    }

    /// The next question for the source. Requests that need no source are answered, and a viewer that has an answer to
    /// take is not heard.
    pub fn next_question(&mut self, access: &Access) -> Option<Question> {
        if self.is_asked || self.is_last || !self.output.is_empty() || self.input.is_empty() {
            return None;
        }
        if self.is_turned_away {
            let full = Reply::line("503 Service Unavailable", "too many are watching already: try again in a moment.");
            self.refuse(&Reply { own: Some(("retry-after", "10")), ..full });
            return None;
        }
        match self.understand(access) {
            Ok(Some(Heard { length, is_head, is_last, asked })) => {
                self.input.drain(..length);
                (self.has_head, self.is_head, self.is_last, self.is_asked) = (false, is_head, is_last, true);
                asked.map_err(|reply| self.answer(&reply)).ok()
            }
            Ok(None) => None,
            Err(reply) => {
                self.refuse(&reply);
                None
            }
        }
    }

    /// Gives the answer to the last question.
    pub fn answer(&mut self, reply: &Reply) {
        let (date, length) = (httpdate::fmt_http_date(SystemTime::now()), reply.text.len().to_string());
        let fixed = [
            ("content-type", reply.kind),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
            ("date", &date),
            ("content-length", &length),
        ];
        let close = self.is_last.then_some(("connection", "close"));
        self.output.extend_from_slice(format!("HTTP/1.1 {}\r\n", reply.status).as_bytes());
        for (name, value) in fixed.into_iter().chain(reply.own).chain(close) {
            self.output.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        let text = if self.is_head { "" } else { &*reply.text };
        self.output.extend_from_slice(format!("\r\n{text}").as_bytes());
        self.is_asked = false;
    }

    fn refuse(&mut self, reply: &Reply) {
        (self.is_last, self.is_head) = (true, false);
        self.answer(reply);
    }

    /// Reads no further requests: pending requests are answered, then the connection ends.
    pub fn end(&mut self) {
        self.is_last = true;
    }

    /// The same, as the request takes too long to come.
    pub fn give_up(&mut self) {
        if std::mem::take(&mut self.has_head) {
            self.refuse(&too_long());
        }
        self.is_last = true;
    }

    /// Bytes to send.
    pub fn output(&self) -> &[u8] {
        &self.output[self.taken..]
    }

    /// So many bytes of the output were sent.
    pub fn taken(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.output.len() {
            (self.output, self.taken) = (Vec::new(), 0);
        }
    }

    /// Whether a question waits for its answer.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// Whether everything is said and sent.
    pub fn is_closed(&self) -> bool {
        self.is_last && !self.is_asked && self.output.is_empty()
    }

    /// Takes a request apart, if all of it is there.
    /// Errors: the answer to what is no request, after which nothing can be understood.
    fn understand(&mut self, access: &Access) -> Result<Option<Heard>, Reply> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let length = match head.parse(&self.input) {
            Ok(Status::Complete(length)) if length <= HEAD => length,
            Ok(Status::Partial) if self.input.len() < HEAD => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                let limits = "the head of a request is 16 KiB and 100 headers at most";
                return Err(Reply::line("431 Request Header Fields Too Large", limits));
            }
            Err(error) => return Err(Reply::line("400 Bad Request", &format!("this is not HTTP: {error}"))),
        };
        let says = |name, wanted: &str| {
            let mut words = value_of(head.headers, name).unwrap_or("").split(',');
            words.any(|word| word.trim().eq_ignore_ascii_case(wanted))
        };
        let Some((body, end)) = body(head.headers, &self.input[length..])? else {
            if !std::mem::replace(&mut self.has_head, true) && says("expect", "100-continue") {
                self.output.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            }
            return Ok(None);
        };
        Ok(Some(Heard {
            length: length + end,
            is_head: head.method == Some("HEAD"),
            is_last: head.version == Some(0) || says("connection", "close"),
            asked: route(access, &head, &body),
        }))
    }
}

fn too_long() -> Reply {
    Reply::line("413 Payload Too Large", "a command is 4096 bytes at most, and comes within 10 s")
}

/// The body of a request and how many bytes it takes, if all of it is there.
/// Errors: it is too long, or its end cannot be known.
fn body(headers: &[Header<'_>], rest: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Reply> {
    let is = |header: &Header<'_>, name| header.name.eq_ignore_ascii_case(name);
    let mut told = headers.iter().filter(|header| is(header, "content-length") || is(header, "transfer-encoding"));
    let found = match (told.next(), told.next()) {
        (None, _) => Ok(Some((Vec::new(), 0))),
        (Some(one), None) if is(one, "transfer-encoding") && one.value.eq_ignore_ascii_case(b"chunked") => chunks(rest),
        (Some(Header { value, .. }), None) if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
            let length = value_of(headers, "content-length").and_then(|digits| digits.parse().ok());
            let length = length.filter(|length| *length <= BODY).ok_or_else(too_long)?;
            Ok(rest.get(..length).map(|body| (body.to_vec(), length)))
        }
        _ => Err(InvalidChunkSize),
    };
    match found {
        Ok(Some((body, _))) if body.len() > BODY => Err(too_long()),
        Ok(None) if rest.len() >= ROOM - HEAD => Err(too_long()),
        Ok(body) => Ok(body),
        Err(_) => Err(Reply::line("400 Bad Request", "where the body ends is not clear: send one Content-Length")),
    }
}

/// The same of a body in chunks.
/// Errors: these are no chunks.
fn chunks(rest: &[u8]) -> Result<Option<(Vec<u8>, usize)>, InvalidChunkSize> {
    let (mut body, mut at) = (Vec::new(), 0);
    while let Status::Complete((head, size)) = httparse::parse_chunk_size(&rest[at..])? {
        at += head;
        if size == 0 {
            let mut trailers = [httparse::EMPTY_HEADER; HEADERS];
            let trailers = httparse::parse_headers(&rest[at..], &mut trailers).map_err(|_| InvalidChunkSize)?;
            return Ok(if let Status::Complete((end, _)) = trailers { Some((body, at + end)) } else { None });
        }
        let Some(chunk) = rest[at..].get(..(size as usize).saturating_add(2)) else { break };
        body.extend_from_slice(chunk.strip_suffix(b"\r\n").ok_or(InvalidChunkSize)?);
        at += chunk.len();
    }
    Ok(None)
}

/// What a request asks of the source.
/// Errors: the answer, where that needs no source.
fn route(access: &Access, head: &httparse::Request<'_, '_>, body: &[u8]) -> Result<Question, Reply> {
    let (method, target) = (head.method.unwrap_or(""), head.path.unwrap_or(""));
    // Proxies may send the whole address.
    let target = target.strip_prefix("http://").map_or(target, |rest| rest.find('/').map_or("/", |at| &rest[at..]));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let not_so = |why| Err(Reply::line("405 Method Not Allowed", why));
    let is_look = ["GET", "HEAD"].contains(&method);
    let is_command = method == "POST" && path == "/command";
    if !is_look && !is_command {
        return not_so("ask with GET; commands are a POST to /command");
    }
    access.check(is_look, query, head.headers).map_err(|(status, problem)| Reply::line(status, problem))?;
    match path {
        "/" => Err(Reply::page()),
        "/state.json" => Ok(Question::State),
        "/maps.json" => Ok(Question::Maps),
        "/metrics" => Ok(Question::Metrics(Exposition::accepted(value_of(head.headers, "accept").unwrap_or("")))),
        "/command" if is_command => {
            let given: Option<Value> = serde_json::from_slice(body).ok();
            let command = given.as_ref().and_then(|given| given["command"].as_str());
            let example = "a command is an object, for example {\"command\": \"power-cut 7\"}";
            command
                .map(|command| Question::Command(command.to_owned()))
                .ok_or_else(|| Reply::line("400 Bad Request", example))
        }
        "/command" => not_so("a command is a POST"),
        _ => {
            let all = "there are: /, /state.json, /maps.json, /metrics, and POST /command";
            Err(Reply::line("404 Not Found", all))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Questions and answers to bytes that come in pieces; the source answers "said".
    fn told(sent: &str, piece: usize) -> (Vec<Question>, String, Connection) {
        let access = Access::new("127.0.0.1:9000".parse().unwrap(), None).unwrap();
        let (mut connection, mut questions, mut answers) = (Connection::default(), Vec::new(), Vec::new());
        for bytes in sent.as_bytes().chunks(piece) {
            connection.hear(bytes);
            loop {
                if let Some(question) = connection.next_question(&access) {
                    questions.push(question);
                    connection.answer(&Reply::line("200 OK", "said"));
                } else if connection.output().is_empty() {
                    break;
                }
                let count = connection.output().len().div_ceil(2);
                answers.extend_from_slice(&connection.output()[..count]);
                connection.taken(count);
            }
        }
        (questions, String::from_utf8(answers).unwrap(), connection)
    }

    fn statuses(answers: &str) -> Vec<&str> {
        answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
    }

    const OWN: &str = "Host: localhost:9000\r\n";

    #[test]
    fn requests_in_a_row_are_answered_in_order_however_they_come() {
        let command = "{\"command\": \"power-cut 7\"}";
        let post = format!("POST /command HTTP/1.1\r\n{OWN}Content-Type: application/json\r\n");
        let chunked =
            "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"com\r\n15;x=y\r\nmand\": \"power-cut 7\"}\r\n0\r\nX: y\r\n\r\n";
        let sent = [
            format!("GET /state.json HTTP/1.1\r\n{OWN}\r\n"),
            format!("{post}Content-Length: {}\r\n\r\n{command}", command.len()),
            format!("{post}{chunked}"),
            format!("GET /nothing HTTP/1.1\r\n{OWN}\r\n"),
            format!("GET http://localhost:9000/metrics HTTP/1.1\r\n{OWN}Accept: application/openmetrics-text\r\n\r\n"),
        ]
        .concat();
        for piece in [1, 7, 100, sent.len()] {
            let (questions, answers, connection) = told(&sent, piece);
            let cut = Question::Command("power-cut 7".to_owned());
            let metrics = Question::Metrics(Exposition::OpenMetrics);
            assert_eq!(questions, [Question::State, cut.clone(), cut, metrics]);
            assert_eq!(statuses(&answers), ["200", "200", "200", "404", "200"], "{answers}");
            assert!(!connection.is_last && connection.has_room());
        }
    }

    /// Parts of requests, in which chance finds requests now and then.
    const PARTS: [&str; 22] = [
        "GET ",
        "HEAD ",
        "POST ",
        "/",
        "/command",
        "/state.json",
        "?token=",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
        OWN,
        "Connection: close\r\n",
        "Content-Type: application/json\r\n",
        "Content-Length: 3\r\n",
        "Content-Length: 23\r\n",
        "Transfer-Encoding: chunked\r\n",
        "\r\n",
        "3\r\nabc\r\n",
        "0\r\n\r\n",
        "{\"command\": \"power-on\"}",
        "GET / HTTP/1.1\r\nHost: localhost:9000\r\n\r\n",
        "POST /command HTTP/1.1\r\nHost: localhost:9000\r\nContent-Type: application/json\r\n",
        "\u{0}\u{ff}\n",
    ];

    proptest! {
        #[test]
        fn whatever_comes_is_understood_alike_in_one_piece_and_in_many(
            parts in prop::collection::vec(0..PARTS.len(), 0..20),
            piece in 1_usize..40,
        ) {
            let sent: String = parts.into_iter().map(|part| PARTS[part]).collect();
            let (whole, pieces) = (told(&sent, sent.len().max(1)), told(&sent, piece));
            prop_assert_eq!(whole.0, pieces.0);
            prop_assert_eq!(statuses(&whole.1), statuses(&pieces.1));
            let rest = |connection: Connection| (!connection.is_last).then_some(connection.input);
            prop_assert_eq!(rest(whole.2), rest(pieces.2));
        }
    }

    #[test]
    fn requests_that_cannot_be_understood_are_answered_once_and_are_the_last() {
        let headers = |count| "X: y\r\n".repeat(count);
        let post = |more: &str| format!("POST /command HTTP/1.1\r\n{OWN}{more}\r\n");
        let get = format!("GET / HTTP/1.1\r\n{OWN}\r\n");
        let both = "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n";
        for (sent, status) in [
            ("\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
            ("GET /\r\n\r\n".to_owned(), "400"),
            (format!("GET / HTTP/1.1\r\n{}\r\n", headers(101)), "431"),
            (format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(HEAD)), "431"),
            (post("Content-Length: 4097\r\n"), "413"),
            (post("Content-Length: 99999999999999999999999\r\n"), "413"),
            (post("Content-Length: -1\r\n"), "400"),
            (post("Content-Length: 5\r\nContent-Length: 6\r\n"), "400"),
            (post(both), "400"),
            (post("Transfer-Encoding: gzip\r\n"), "400"),
            (post("Transfer-Encoding: chunked\r\n") + "x\r\n", "400"),
            (post("Content-Length: chunked\r\n"), "400"),
            (post("Content-Length:\r\n"), "400"),
            (post("Transfer-Encoding: chunked\r\n") + "ffffffffffffffff\r\n" + &"x".repeat(20_000), "413"),
            (post("Transfer-Encoding: chunked\r\n") + "5000\r\n" + &"x".repeat(20_000), "413"),
            (post("Transfer-Encoding: chunked\r\n") + &"1\r\nx\r\n".repeat(5000), "413"),
        ] {
            let (questions, answers, connection) = told(&(sent.clone() + &get), 1000);
            assert!(questions.is_empty() && connection.is_closed(), "{sent}");
            assert_eq!(statuses(&answers), [status], "{sent}");
            assert!(answers.contains("connection: close\r\n"), "{answers}");
        }
    }

    #[test]
    fn a_viewer_that_wants_the_head_or_a_single_answer_gets_that() {
        let (questions, answers, connection) = told(&format!("HEAD /state.json HTTP/1.1\r\n{OWN}\r\n"), 9);
        assert!(questions == [Question::State] && !connection.is_last);
        assert!(answers.contains("content-length: 5\r\n") && answers.ends_with("\r\n\r\n"), "{answers}");
        for last in
            [format!("GET / HTTP/1.0\r\n{OWN}\r\n"), format!("GET / HTTP/1.1\r\n{OWN}Connection: Close\r\n\r\n")]
        {
            let (_, answers, connection) = told(&(last.clone() + &last), 9);
            assert!(statuses(&answers) == ["200"] && connection.is_closed(), "{answers}");
        }
    }

    #[test]
    fn a_body_that_waits_to_be_asked_for_is_and_one_that_never_comes_is_not_awaited() {
        let head = format!("POST /command HTTP/1.1\r\n{OWN}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n");
        let (_, answers, mut connection) = told(&head, 9);
        assert_eq!(answers, "HTTP/1.1 100 Continue\r\n\r\n");
        connection.give_up();
        assert!(connection.output().starts_with(b"HTTP/1.1 413"));
        let (_, answers, mut silent) = told("GET / HT", 9);
        silent.give_up();
        assert!(answers.is_empty() && silent.is_closed());
    }
}
