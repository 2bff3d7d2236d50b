//! What a drive says of itself, and who watches it: log pages, the page, metrics, Prometheus.

use super::{SMALL, Serving, fio, small, succeeds};
use crate::support::{nandarium, said};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A port that nobody listens on.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Asks a server on this machine; status, head and body of its answer.
fn http(port: u16, request: &str, headers: &[&str], body: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let host = format!("Host: 127.0.0.1:{port}");
    let host = if headers.iter().any(|header| header.starts_with("Host:")) { "" } else { &host };
    let length = format!("Content-Length: {}", body.len());
    let lines = [&[request, host, "Connection: close", &length], headers].concat();
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    stream.write_all(format!("{}\r\n\r\n{body}", lines.join("\r\n")).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

pub fn get(port: u16, path: &str) -> (u16, String, String) {
    http(port, &format!("GET {path} HTTP/1.1"), &[], "")
}

pub fn command(port: u16, line: &str) -> (u16, Value) {
    let body = json!({ "command": line }).to_string();
    let (status, _, body) = http(port, "POST /command HTTP/1.1", &["Content-Type: application/json"], &body);
    (status, serde_json::from_str(&body).unwrap())
}

fn told(serving: &Serving, command: &str) -> Value {
    serde_json::from_str(&serving.ctl(&[command])).unwrap()
}

/// A small drive that can be watched on a port.
fn watched(more: &[&str]) -> (Serving, u16) {
    let port = free_port();
    let address = format!("127.0.0.1:{port}");
    (Serving::begin(&[&SMALL[..], &["--watch", &address], more].concat()), port)
}

/// Collectors ended with an error, and gave none of the other numbers either.
#[test]
fn collectors_that_subtract_273_from_the_temperature_get_a_number() {
    let serving = Serving::begin(&small(&[]));
    assert_eq!(told(&serving, "smart-log")["temperature"].as_i64().map(|kelvin| kelvin - 273), Some(37));
    serving.end();
}

#[test]
fn log_pages_agree_with_what_was_written_and_with_the_other_reports() {
    let serving = Serving::begin(&small(&["--set", "flash.endurance=100", "--set", "drive.over_provisioning=30%"]));
    let unused = told(&serving, "smart-log");
    assert_eq!(unused["data_units_written"], 0);
    assert_eq!((&unused["avail_spare"], &unused["critical_warning"]), (&json!(100), &json!(0)));
    let job = ["--rw=randwrite", "--bs=4k", "--iodepth=8", "--size=112M", "--io_size=320M", "--norandommap"];
    fio(&serving.uri(), serving.folder.path(), &job);
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", "h.pread(512512, 0)"]);
    let [stats, smart, log, ocp] = ["stats", "smart", "smart-log", "ocp-log"].map(|command| told(&serving, command));
    let written = 320_u64 << 20;
    assert_eq!(stats["since_start"]["requests"]["write"]["bytes"], written);
    assert_eq!(log["data_units_written"], written.div_ceil(512_000));
    assert_eq!(log["data_units_read"], 2, "a unit and a sector more are two");
    assert_eq!(log["host_write_commands"], stats["since_start"]["requests"]["write"]["requests"]);
    let programs = &stats["since_start"]["flash"]["programs"]["total"];
    let programmed = ocp["Physical media units written"]["lo"].as_u64().unwrap();
    assert_eq!(programmed, programs.as_u64().unwrap() * 4096);
    assert!(programmed > written, "a drive that is written more than once copies");
    assert_eq!(ocp["Max User data erase counts"], stats["lifetime"]["most_erases"]);
    assert_eq!(ocp["Min User data erase counts"], stats["lifetime"]["least_erases"]);
    let mean = stats["lifetime"]["mean_erases_thousandths"].as_u64().unwrap();
    assert!(mean > 0 && log["percent_used"] == mean / 10 / 100, "{log}");
    let waf = |value: &Value| value.as_f64().unwrap();
    assert!((waf(&smart["since_start"]["write_amplification"]) - programmed as f64 / written as f64).abs() < 1e-9);
    assert!((waf(&stats["since_start"]["waf"]) - programmed as f64 / written as f64).abs() < 1e-9);
    serving.ctl(&["power-cut", "1"]);
    serving.ctl(&["fault", "die", "0"]);
    let [log, ocp] = ["smart-log", "ocp-log"].map(|command| told(&serving, command));
    assert_eq!((&log["unsafe_shutdowns"], &log["power_cycles"]), (&json!(1), &json!(2)));
    assert_eq!(log["critical_warning"].as_u64().unwrap() & 4, 4, "a die is dead");
    assert!(log["avail_spare"].as_u64() < Some(100) && ocp["Media dies offline"] == 1, "{log} {ocp}");
    // The rest of the drive is not enough to keep it all, and it cannot be closed well.
    serving.kill();
}

#[test]
fn the_page_its_data_and_the_metrics_say_what_ctl_says() {
    let (serving, port) = watched(&[]);
    fio(&serving.uri(), serving.folder.path(), &["--rw=randrw", "--bs=4k", "--iodepth=8", "--size=24M"]);
    let (status, head, page) = get(port, "/");
    assert!(status == 200 && head.contains("content-security-policy: default-src 'none'"), "{head}");
    assert!(head.contains("x-content-type-options: nosniff") && page.contains("</html>"));
    let (_, _, state) = get(port, "/state.json");
    let (state, live): (Value, _) = (serde_json::from_str(&state).unwrap(), told(&serving, "live"));
    let stats = told(&serving, "stats");
    for (watched, given) in [
        (&state["requests"], &live["requests"]),
        (&state["requests"], &stats["since_start"]["requests"]),
        (&state["flash"], &stats["since_start"]["flash"]),
        (&state["waf"], &stats["since_start"]["waf"]),
        (&state["latency_ns"]["write"]["count"], &stats["since_start"]["latency_ns"]["write"]["count"]),
        (&state["smart"]["lifetime"], &stats["lifetime"]),
        (&state["smart_log"], &told(&serving, "smart-log")),
        (&state["ocp_log"], &told(&serving, "ocp-log")),
    ] {
        assert_eq!(watched, given);
    }
    let waits = stats["since_start"]["waiting_ns"]["write"]["all"]["service"].as_f64().unwrap();
    let count = state["latency_ns"]["write"]["count"].as_f64().unwrap();
    let service = state["waiting_ns"]["write"]["service"].as_f64().unwrap() / count;
    assert!((service - waits).abs() < waits * 1e-6, "{service} {waits}");
    assert_eq!(serde_json::from_str::<Value>(&get(port, "/maps.json").2).unwrap(), told(&serving, "maps"));
    let (_, head, metrics) = get(port, "/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let writes = stats["since_start"]["requests"]["write"]["requests"].as_f64().unwrap();
    assert!(metrics.contains(&format!("nandarium_requests_total{{op=\"write\"}} {writes:?}\n")), "{metrics}");
    let open = ["Accept: application/openmetrics-text; version=1.0.0"];
    let (_, head, metrics) = http(port, "GET /metrics HTTP/1.1", &open, "");
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(metrics.ends_with("# EOF\n"));
    serving.end();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err(), "the page outlives its server");
}

/// A client that looks at an empty drive made the read percentiles of one that reads its data.
#[test]
fn reads_of_unwritten_pages_are_told_apart_by_ctl_the_page_and_the_metrics() {
    let (serving, port) = watched(&[]);
    let script =
        "h.pwrite(b'x' * 4096, 0); [h.pread(4096, 0) for _ in range(3)]; [h.pread(4096, 1 << 20) for _ in range(5)]";
    succeeds("nbdsh", &["-u", &serving.uri(), "-c", script]);
    let stats = &told(&serving, "stats")["since_start"];
    let counts = |from: &Value, key: &str| ["read", "unwritten_read"].map(|op| from[op][key].clone());
    assert_eq!(counts(&stats["requests"], "requests"), [json!(3), json!(5)], "{stats}");
    assert_eq!(counts(&stats["latency_ns"], "count"), [json!(3), json!(5)], "{stats}");
    assert!(stats["latency_ns"]["read"]["mean"].as_f64() > Some(1_000.0), "reads are of flash: {stats}");
    let state: Value = serde_json::from_str(&get(port, "/state.json").2).unwrap();
    assert_eq!(counts(&state["latency_ns"], "count"), [json!(3), json!(5)], "{state}");
    assert_eq!(told(&serving, "smart-log")["host_read_commands"], 8, "a drive counts all that it is asked");
    let metrics = get(port, "/metrics").2;
    for line in ["requests_total{op=\"read\"} 3.0", "requests_total{op=\"unwritten_read\"} 5.0"] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let text = said(nandarium(&["ctl", serving.path("s.ctl").to_str().unwrap(), "stats"])).out;
    assert_eq!(text.matches("read of unwritten pages  ").count(), 2, "{text}");
    serving.end();
}

#[test]
fn a_page_commands_power_and_faults_and_nothing_else() {
    let (serving, port) = watched(&[]);
    assert_eq!(
        command(port, "power-cut 7"),
        (
            200,
            json!({ "ok": { "power": "cut and back", "problem": null, "seed": 7,
        "power_cuts": 1 } })
        )
    );
    assert_eq!(command(port, "power-off").0, 200);
    let state: Value = serde_json::from_str(&get(port, "/state.json").2).unwrap();
    assert!(state["power_on"] == false && state["power_cuts"] == 2, "{state}");
    assert_eq!(command(port, "power-on").0, 200);
    let (status, answer) = command(port, "fault die 999");
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("there is no die 999"), "{answer}");
    for line in ["shut-down", "power-on\nshut-down", "stats"] {
        assert_eq!(command(port, line).0, 400, "{line}");
    }
    // Pages of other sites, whatever name they have given this machine.
    let json = "Content-Type: application/json";
    let cut = json!({ "command": "power-cut" }).to_string();
    let post = |headers: &[&str]| http(port, "POST /command HTTP/1.1", headers, &cut).0;
    assert_eq!(post(&[json, "Origin: http://evil.example"]), 403);
    assert_eq!(post(&["Content-Type: text/plain"]), 415);
    assert_eq!(post(&[json, &format!("Host: evil.example:{port}")]), 421);
    assert_eq!(http(port, "GET /state.json HTTP/1.1", &["Host: evil.example"], "").0, 421);
    assert_eq!(http(port, "PUT / HTTP/1.1", &[json], "").0, 405);
    assert_eq!(get(port, "/etc/passwd").0, 404);
    let long = json!({ "command": "x".repeat(5000) }).to_string();
    assert_eq!(http(port, "POST /command HTTP/1.1", &[json], &long).0, 413);
    assert_eq!(told(&serving, "live")["power_cuts"], 2);
    serving.end();
}

#[test]
fn a_free_port_is_told_and_a_token_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let mut server = Command::new(assert_cmd::cargo::cargo_bin("nandarium"));
    let file = folder.path().join("token");
    fs::write(&file, "a-token-of-mine\n").unwrap();
    server.arg("serve").args(&SMALL[2..]).args(["--watch", "localhost:0", "--watch-token-file"]).arg(&file);
    let mut server = server.arg("--socket").arg(&socket).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(server.stderr.take().unwrap()).lines();
    let url = said.find_map(|line| Some(line.unwrap().strip_prefix("watch: ")?.to_owned())).unwrap();
    let (address, token) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once("/?token=").unwrap();
    let (port, token) = (address.parse().unwrap(), token.to_owned());
    assert_eq!(token, "a-token-of-mine");
    assert_eq!(get(port, "/").0, 401);
    assert_eq!(get(port, &format!("/?token={token}")).0, 200);
    assert_eq!(http(port, "GET /metrics HTTP/1.1", &[&format!("Authorization: Bearer {token}")], "").0, 200);
    server.kill().unwrap();
    server.wait().unwrap();
    for (arguments, variable, wanted) in [
        (&["--watch", "9099"][..], "", "an address and a port"),
        (&["--watch", "127.0.0.1:0"], "short", "8 letters"),
        (&["--watch", "0.0.0.0:0", "--quiet"], "", "--watch-token-file FILE"),
        (&["--watch-token-file", "token"], "", "--watch <ADDRESS:PORT>"),
        // Everybody on the machine could read it in the list of processes.
        (&["--watch", "127.0.0.1:0", "--watch-token", "a-token-of-mine"], "", "every user of this machine"),
    ] {
        let socket = folder.path().join("t");
        let all = [&["serve"], &SMALL[2..], &["--socket", socket.to_str().unwrap()], arguments].concat();
        let mut program = nandarium(&all);
        if !variable.is_empty() {
            program.env("NANDARIUM_WATCH_TOKEN", variable);
        }
        let output = program.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(wanted), "{arguments:?}: {said}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let socket = folder.path().join("u");
    let all = [&["serve"], &SMALL[2..], &["--socket", socket.to_str().unwrap(), "--watch", &address]].concat();
    let said = nandarium(&all).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains(&address) && said.contains("a port that is free") && !said.contains("serving"), "{said}");
}

/// Clients that send nothing, or half a request, must not keep the page from others, nor the server from ending.
#[test]
fn viewers_that_stall_do_not_keep_the_server() {
    let (mut serving, port) = watched(&[]);
    let stalled: Vec<_> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream.write_all(b"GET /state.json HT").unwrap();
            stream
        })
        .collect();
    assert_eq!(get(port, "/state.json").0, 200);
    fio(&serving.uri(), serving.folder.path(), &["--rw=randwrite", "--bs=4k", "--iodepth=8", "--size=4M"]);
    let begun = Instant::now();
    assert_eq!(serving.terminate(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(stalled);
}

/// Browsers that had asked once kept all places until they left.
#[test]
fn viewers_who_rest_give_their_places_to_others() {
    let (serving, port) = watched(&[]);
    let request = format!("GET /state.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let ask = |stream: &mut TcpStream| -> std::io::Result<usize> {
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        stream.write_all(request.as_bytes())?;
        stream.read(&mut [0; 64])
    };
    let many: Vec<_> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            assert!(ask(&mut stream).unwrap() > 0);
            stream
        })
        .collect();
    let begun = Instant::now();
    for _ in 0..100 {
        assert_eq!(get(port, "/metrics").0, 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    drop(many);
    serving.end();
}

/// Others were told for 10 s that too many are watching, and again with the next such crowd.
#[test]
fn connections_that_ask_nothing_give_their_places_to_others() {
    let (serving, port) = watched(&[]);
    let unfinished =
        "POST /command HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{";
    for sent in ["", "GET /metr", unfinished] {
        let many: Vec<_> = (0..64)
            .map(|_| {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
                stream.write_all(sent.as_bytes()).unwrap();
                stream
            })
            .collect();
        let begun = Instant::now();
        for _ in 0..70 {
            assert_eq!(get(port, "/metrics").0, 200, "{sent}");
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{sent}: {:?}", begun.elapsed());
        drop(many);
    }
    assert_eq!(http(port, "PUT /metrics HTTP/1.1", &[], "").0, 405, "and not that a command is JSON");
    serving.end();
}

/// The metrics that the dashboard asks for, by name.
fn queried() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(include_str!("../../../../../../docs/grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names: Vec<_> = targets
        .flat_map(|target| {
            let query = target["expr"].as_str().unwrap().to_owned();
            let words: Vec<_> = query.split(|letter| !is_word(letter)).map(str::to_owned).collect();
            words.into_iter().filter(|word| word.starts_with("nandarium_"))
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// A program of Prometheus, of the system or fetched by `make setup`.
fn prometheus(name: &str) -> Command {
    let program = assert_cmd::cargo::cargo_bin("nandarium");
    let fetched = program.ancestors().nth(2).unwrap().join("clients/usr/bin").join(name);
    Command::new(if fetched.exists() { fetched } else { name.into() })
}

/// It ends with the test.
struct Scraper(Child);

impl Drop for Scraper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn prometheus_scrapes_every_metric_that_the_dashboard_asks_for() {
    let (serving, port) = watched(&[]);
    fio(&serving.uri(), serving.folder.path(), &["--rw=randrw", "--bs=4k", "--iodepth=8", "--size=24M", "--fsync=64"]);
    let (config, data) = (serving.path("prometheus.yml"), serving.path("tsdb"));
    let scrape = format!(
        "scrape_configs:\n- {{job_name: nandarium, scrape_interval: 1s, static_configs: [{{targets: \
         ['127.0.0.1:{port}']}}]}}\n"
    );
    fs::write(&config, scrape).unwrap();
    let own = free_port();
    let log = fs::File::create(serving.path("prometheus.log")).unwrap();
    let child = prometheus("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", data.display()))
        .arg(format!("--web.listen-address=127.0.0.1:{own}"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn();
    let _scraper = Scraper(child.expect("prometheus is missing: `make setup` fetches it"));
    let written = serving.path("metrics");
    fs::write(&written, get(port, "/metrics").2).unwrap();
    let checked = prometheus("promtool").args(["check", "metrics"]).stdin(fs::File::open(&written).unwrap()).output();
    let checked = checked.expect("promtool is missing: `make setup` fetches it");
    assert!(checked.status.success() && checked.stderr.is_empty(), "{}", String::from_utf8_lossy(&checked.stderr));
    let ask = |query: &str| -> Value {
        let (status, _, body) = get(own, &format!("/api/v1/query?query={query}"));
        let body = body.find('{').map_or("", |at| &body[at..]);
        if status == 200 {
            serde_json::from_str(body.trim_end_matches(['\r', '\n', '0'])).unwrap()
        } else {
            Value::Null
        }
    };
    let begun = Instant::now();
    // It may not listen yet, and scrapes some time after that.
    let is_up =
        || TcpStream::connect(("127.0.0.1", own)).is_ok() && ask("up")["data"]["result"][0]["value"][1] == json!("1");
    while !is_up() {
        let said = || fs::read_to_string(serving.path("prometheus.log")).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(30), "{}", said());
        std::thread::sleep(Duration::from_millis(200));
    }
    let (names, stats) = (queried(), told(&serving, "stats"));
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(ask(&name)["data"]["result"][0]["value"].is_array(), "no {name}");
    }
    let written = &ask("nandarium_request_data_bytes_total%7Bop=%22write%22%7D")["data"]["result"][0]["value"][1];
    let wanted = &stats["since_start"]["requests"]["write"]["bytes"];
    assert_eq!(written.as_str().unwrap(), wanted.to_string());
    let kinds = &ask("nandarium_request_duration_seconds_count")["data"]["result"];
    assert_eq!(kinds.as_array().unwrap().len(), 5, "histograms by kind of request: {kinds}");
    serving.end();
}
