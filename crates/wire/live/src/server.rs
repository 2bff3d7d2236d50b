//! The HTTP server: a thread with a small runtime, a few routes.

use crate::guard::Access;
use crate::metrics::{Exposition, exposition};
use crate::page;
use crate::source::{Kept, Source};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, oneshot};
use tokio::time::timeout;

/// Connections at once. A further one takes the place of the one that the server has waited for longest: for its next
/// request, for its first one, or for the rest of one. Where all are being answered it is told that there are too many.
const CONNECTIONS: usize = 64;
/// What they are told.
const FULL: &str = "too many are watching already: try again in a moment.\n";
/// Bytes of a request's head, and of what is still to be sent to a connection.
const HEAD: usize = 16 << 10;
/// Bytes of a command.
const BODY: usize = 4096;
/// How long a request may take to come, and a connection to ask the next one.
const IDLE: Duration = Duration::from_secs(10);
/// How long a connection lives; browsers make a new one.
const LIFE: Duration = Duration::from_secs(600);
/// How long it gets to take what it was promised.
const GRACE: Duration = Duration::from_secs(5);
/// The same where somebody waits for its place, less than they wait.
const HURRY: Duration = Duration::from_millis(500);
/// How long somebody waits for a place, and may take to be told that there are too many.
const REFUSAL: Duration = Duration::from_secs(1);
/// How long to wait where no connection can be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// A server for viewers that cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The operating system refuses the address.
    #[error(
        "{address}: nobody can watch there: {source}; choose an address of this machine, and a port that is free \
         (0 is any)"
    )]
    Bind {
        /// Where it was to listen.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is no thread for it, or no runtime.
    #[error("the thread for those who watch cannot begin: {0}")]
    Thread(io::Error),
}

/// A server for viewers; it ends when this is dropped.
#[derive(Debug)]
pub struct Watching {
    access: Access,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Listens, and answers from a thread of its own from now on.
    /// Errors: the address cannot be had.
    pub fn begin(mut access: Access, source: Box<dyn Source>) -> Result<Self, WatchError> {
        let refused = |source| WatchError::Bind { address: access.address, source };
        let listener = std::net::TcpListener::bind(access.address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        access.address = address;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(1)
            .build()
            .map_err(WatchError::Thread)?;
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::new(Shared {
            access: access.clone(),
            kept: Mutex::new(Kept::new(source)),
            waiting: Waiting::default(),
        });
        let serve = move || {
            runtime.block_on(async {
                match TcpListener::from_std(listener) {
                    Ok(listener) => {
                        let listening = tokio::spawn(listen(listener, shared));
                        // The sender is dropped, which is an error to who hears of it and an end to us.
                        let _ = stopped.await;
                        listening.abort();
                    }
                    Err(error) => tracing::warn!("nobody can watch: {error}"),
                }
            });
            // Who waits for an answer of the source is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("watch".to_owned()).spawn(serve).map_err(WatchError::Thread)?;
        Ok(Self { access, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens: the port that was free, if any was asked for.
    pub fn address(&self) -> SocketAddr {
        self.access.address
    }

    /// The page's address as a browser takes it, with the token if there is one.
    pub fn url(&self) -> String {
        self.access.url()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the thread for those who watch broke down");
        }
    }
}

struct Shared {
    access: Access,
    kept: Mutex<Kept>,
    waiting: Waiting,
}

#[derive(Default)]
struct Connection {
    dismissed: Notify,
    /// An answer was made for it, which may be on its way.
    is_answered: AtomicBool,
}

/// Connections that the server waits for; the first has been waited for longest. Browsers keep theirs for the next
/// question, and programs open some and ask nothing: they would keep the places of others as well.
#[derive(Default)]
struct Waiting(Mutex<VecDeque<Arc<Connection>>>);

impl Waiting {
    /// The server waits for what this connection sends.
    fn begins(&self, connection: &Arc<Connection>) {
        self.queue().push_back(Arc::clone(connection));
    }

    /// A whole request is there, or the connection has ended.
    fn ends(&self, connection: &Arc<Connection>) {
        self.queue().retain(|waiting| !Arc::ptr_eq(waiting, connection));
    }

    /// Asks the one that has been waited for longest to leave. `false`: all are being answered.
    fn dismiss(&self) -> bool {
        let dismissed = self.queue().pop_front();
        dismissed.is_some_and(|connection| {
            connection.dismissed.notify_one();
            true
        })
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Arc<Connection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answer = Response<Full<Bytes>>;

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(receive(stream, Arc::clone(&places), Arc::clone(&shared)))),
            Err(error) => {
                tracing::debug!("somebody who watches could not connect: {error}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// Gives somebody a place, if one is free or is left.
async fn receive(stream: TcpStream, places: Arc<Semaphore>, shared: Arc<Shared>) {
    let place = match Arc::clone(&places).try_acquire_owned() {
        Ok(place) => Some(place),
        Err(_) if shared.waiting.dismiss() => timeout(REFUSAL, places.acquire_owned()).await.ok().and_then(Result::ok),
        Err(_) => None,
    };
    match place {
        Some(_held) => converse(stream, shared).await,
        None => _ = timeout(REFUSAL, refuse(stream)).await,
    }
}

/// Tells somebody that there are too many, once the question has come: an answer before it would be cut off.
async fn refuse(mut stream: TcpStream) {
    let mut question = [0; 1024];
    if stream.read(&mut question).await.is_ok() {
        let head =
            "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nContent-Type: text/plain\r\nConnection: close";
        let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{FULL}", FULL.len());
        // Who does not take it has left.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let own = Arc::new(Connection::default());
    shared.waiting.begins(&own);
    let service = service_fn(|request| {
        let (shared, own) = (Arc::clone(&shared), Arc::clone(&own));
        async move {
            let request = whole(request).await;
            shared.waiting.ends(&own);
            let answer = match request {
                Ok(request) => answer(request, Arc::clone(&shared)).await,
                Err(answer) => answer,
            };
            own.is_answered.store(true, Ordering::Relaxed);
            shared.waiting.begins(&own);
            Ok::<_, Infallible>(answer)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut dismissed = pin!(timeout(LIFE, own.dismissed.notified()));
    let ended = poll_fn(|context| match connection.as_mut().poll(context) {
        Poll::Ready(ended) => Poll::Ready(Ok(ended)),
        Poll::Pending => dismissed.as_mut().poll(context).map(Err),
    });
    match ended.await {
        Ok(Err(error)) => tracing::debug!("somebody who watches left: {error}"),
        Ok(Ok(())) => {}
        // Nothing is on its way to it, and somebody waits for the place.
        Err(Ok(())) if !own.is_answered.load(Ordering::Relaxed) => {}
        Err(why) => {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(if why.is_ok() { HURRY } else { GRACE }, connection).await;
        }
    }
    shared.waiting.ends(&own);
}

/// A request with all of its body.
async fn whole(request: Request<Incoming>) -> Result<Request<Bytes>, Answer> {
    let (head, body) = request.into_parts();
    match timeout(IDLE, Limited::new(body, BODY).collect()).await {
        Ok(Ok(body)) => Ok(Request::from_parts(head, body.to_bytes())),
        _ => Err(text(StatusCode::PAYLOAD_TOO_LARGE, "a command is 4096 bytes at most, and comes within 10 s")),
    }
}

async fn answer(request: Request<Bytes>, shared: Arc<Shared>) -> Answer {
    let (head, body) = request.into_parts();
    let is_look = [Method::GET, Method::HEAD].contains(&head.method);
    let is_command = head.method == Method::POST && head.uri.path() == "/command";
    let mut answer = if !is_look && !is_command {
        text(StatusCode::METHOD_NOT_ALLOWED, "ask with GET; commands are a POST to /command")
    } else if let Err((status, problem)) = shared.access.check(&head.method, &head.uri, &head.headers) {
        text(status, problem)
    } else {
        match head.uri.path() {
            "/" => page(),
            "/state.json" => document(ask(&shared, Kept::state).await),
            "/maps.json" => document(ask(&shared, Kept::maps).await),
            "/metrics" => {
                let accepted = head.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("");
                metrics(Exposition::accepted(accepted), ask(&shared, Kept::state).await)
            }
            "/command" if is_command => command(&shared, body).await,
            "/command" => text(StatusCode::METHOD_NOT_ALLOWED, "a command is a POST"),
            _ => text(StatusCode::NOT_FOUND, "there are: /, /state.json, /maps.json, /metrics, and POST /command"),
        }
    };
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = answer.headers_mut();
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    answer
}

/// Asks the source on a thread that may wait.
async fn ask<T: Send + 'static>(
    shared: &Arc<Shared>,
    question: impl FnOnce(&mut Kept) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let shared = Arc::clone(shared);
    let asked =
        tokio::task::spawn_blocking(move || question(&mut shared.kept.lock().unwrap_or_else(PoisonError::into_inner)));
    asked.await.unwrap_or_else(|error| Err(format!("the question was not answered: {error}")))
}

async fn command(shared: &Arc<Shared>, body: Bytes) -> Answer {
    let given: Option<Value> = serde_json::from_slice(&body).ok();
    let Some(command) = given.as_ref().and_then(|given| given["command"].as_str()).map(str::to_owned) else {
        return text(StatusCode::BAD_REQUEST, "a command is an object, for example {\"command\": \"power-cut 7\"}");
    };
    match ask(shared, move |kept| kept.command(&command)).await {
        Ok(done) => written(StatusCode::OK, JSON, json!({ "ok": done }).to_string()),
        Err(problem) => written(StatusCode::BAD_REQUEST, JSON, json!({ "error": problem }).to_string()),
    }
}

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

fn page() -> Answer {
    let mut answer = written(StatusCode::OK, "text/html; charset=utf-8", page::HTML);
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(page::POLICY));
    answer
}

fn document(said: Result<Arc<Value>, String>) -> Answer {
    match said {
        Ok(document) => written(StatusCode::OK, JSON, document.to_string()),
        Err(problem) => written(StatusCode::SERVICE_UNAVAILABLE, JSON, json!({ "error": problem }).to_string()),
    }
}

fn metrics(form: Exposition, said: Result<Arc<Value>, String>) -> Answer {
    match said.and_then(|state| exposition(&state, form).map_err(|error| error.to_string())) {
        Ok(text) => written(StatusCode::OK, form.content_type(), text),
        Err(problem) => text(StatusCode::SERVICE_UNAVAILABLE, &problem),
    }
}

fn text(status: StatusCode, line: &str) -> Answer {
    written(status, TEXT, format!("{line}\n"))
}

fn written(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(bytes.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if status == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::sync::mpsc::{Receiver, channel};

    /// A source that answers once it may.
    struct Slow(Receiver<()>);

    impl Source for Slow {
        fn state(&mut self) -> Result<Value, String> {
            let _ = self.0.recv();
            Err("slow".to_owned())
        }

        fn maps(&mut self) -> Result<Value, String> {
            self.state()
        }

        fn command(&mut self, _: &str) -> Result<Value, String> {
            self.state()
        }
    }

    /// Whoever came after them waited until one of them was done, and was told nothing.
    #[test]
    fn with_too_many_viewers_the_next_is_told_so() {
        let (answers, may_answer) = channel();
        let access = Access::new("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let watching = Watching::begin(access, Box::new(Slow(may_answer))).unwrap();
        let address = watching.address();
        let ask = || {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            // One that is sent away may be so before it has asked.
            drop(write!(stream, "GET /state.json HTTP/1.1\r\nHost: {address}\r\n\r\n"));
            stream
        };
        let many: Vec<_> = (0..CONNECTIONS).map(|_| ask()).collect();
        // They have asked, but the server may hear of it later than of the next one.
        std::thread::sleep(Duration::from_secs(2));
        let answer = || {
            let mut said = String::new();
            ask().read_to_string(&mut said).ok().map(|_| said)
        };
        let said = (0..20).find_map(|_| answer()).expect("one of them hears the answer");
        assert!(said.starts_with("HTTP/1.1 503") && said.contains("too many are watching"), "{said}");
        drop(answers);
        drop(many);
    }
}
