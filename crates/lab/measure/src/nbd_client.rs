//! A small client of the NBD protocol that waits for what it asks: handshake, writes, flush.
//!
//! Faithful to: the protocol's fixed newstyle negotiation (`GO`) and simple replies. Simplified: no TLS, no structured
//! replies, no sizes asked for.

use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const GREETING: &[u8; 8] = b"NBDMAGIC";
const OPTION: &[u8; 8] = b"IHAVEOPT";
const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
const REQUEST: u32 = 0x2560_9513;
const SIMPLE_REPLY: u32 = 0x6744_6698;
/// Client and server know each other's flags: no zeros after the handshake.
const FLAGS: u16 = 3;
const GO: u32 = 7;
const ACK: u32 = 1;
const INFO: u32 = 3;
const IS_ERROR: u32 = 1 << 31;
/// Most bytes of an answer to an option.
const MOST_ANSWER: u32 = 64 << 10;
const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;
const FLUSH: u16 = 3;
/// The export takes flushes.
const HAS_FLUSH: u16 = 4;
/// It takes no writes.
const READ_ONLY: u16 = 2;
const PORT: u16 = 10_809;
const PATIENCE: Duration = Duration::from_secs(60);

trait Wire: Read + Write {}
impl<T: Read + Write> Wire for T {}

/// A connection to an export.
pub(crate) struct Client {
    wire: Box<dyn Wire>,
    bytes: u64,
    flags: u16,
    cookie: u64,
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, what.into())
}

/// Where a URI leads.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Tcp(String),
    Unix(String),
}

/// Place and export of `nbd://HOST[:PORT]/NAME` or `nbd+unix:///NAME?socket=PATH`.
fn parse(uri: &str) -> Option<(Place, String)> {
    if let Some(rest) = uri.strip_prefix("nbd+unix:///") {
        let (name, socket) = rest.split_once("?socket=")?;
        return Some((Place::Unix(socket.to_owned()), name.to_owned()));
    }
    let rest = uri.strip_prefix("nbd://")?;
    let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
    // A colon within brackets is part of an address.
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()));
    let host = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
    Some((Place::Tcp(host), name.to_owned()))
}

impl Client {
    /// Whether a target is to be reached by this.
    pub fn is_uri(target: &str) -> bool {
        target.starts_with("nbd://") || target.starts_with("nbd+unix://")
    }

    /// Connects to an export.
    /// Errors: no such place or export, or the server says something else than the protocol has.
    pub fn connect(uri: &str) -> io::Result<Self> {
        let form = "write nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH";
        let (place, name) = parse(uri).ok_or_else(|| Error::new(ErrorKind::InvalidInput, form))?;
        let wire: Box<dyn Wire> = match place {
            Place::Tcp(address) => {
                let stream = TcpStream::connect(address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
            Place::Unix(path) => unix(&path)?,
        };
        Self::negotiate(wire, &name)
    }

    fn negotiate(wire: Box<dyn Wire>, name: &str) -> io::Result<Self> {
        let mut client = Self { wire, bytes: 0, flags: 0, cookie: 0 };
        let greeting: [u8; 16] = client.take()?;
        if &greeting[..8] != GREETING || &greeting[8..] != OPTION {
            return Err(wrong("no NBD server of today answers there"));
        }
        let flags = u16::from_be_bytes(client.take()?) & FLAGS;
        client.wire.write_all(&u32::from(flags).to_be_bytes())?;
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend(name.as_bytes());
        data.extend([0; 2]);
        let head = [&OPTION[..], &GO.to_be_bytes(), &(data.len() as u32).to_be_bytes()].concat();
        client.wire.write_all(&[head, data].concat())?;
        client.wire.flush()?;
        loop {
            let (kind, data) = client.option_reply()?;
            match kind {
                ACK if client.bytes > 0 => return Ok(client),
                // Kind 0 is size and flags; others are of no use here.
                INFO if data.len() >= 12 && data[..2] == [0, 0] => {
                    client.bytes = u64::from_be_bytes(data[2..10].try_into().expect("eight bytes"));
                    client.flags = u16::from_be_bytes([data[10], data[11]]);
                }
                INFO => {}
                _ if kind & IS_ERROR != 0 => {
                    return Err(Error::other(format!(
                        "the server refuses export `{name}`: {}",
                        String::from_utf8_lossy(&data)
                    )));
                }
                _ => return Err(wrong("the server does not tell the size of the export")),
            }
        }
    }

    fn option_reply(&mut self) -> io::Result<(u32, Vec<u8>)> {
        if u64::from_be_bytes(self.take()?) != OPTION_REPLY {
            return Err(wrong("an answer to an option begins with something else"));
        }
        let _option: [u8; 4] = self.take()?;
        let kind = u32::from_be_bytes(self.take()?);
        let length = u32::from_be_bytes(self.take()?);
        if length > MOST_ANSWER {
            return Err(wrong("an answer to an option is too long"));
        }
        let mut data = vec![0; length as usize];
        self.wire.read_exact(&mut data)?;
        Ok((kind, data))
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.wire.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Bytes of the export.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn ask(&mut self, kind: u16, offset: u64, length: u32, data: &[u8]) -> io::Result<()> {
        let mut head = REQUEST.to_be_bytes().to_vec();
        head.extend([0; 2]);
        head.extend(kind.to_be_bytes());
        head.extend(self.cookie.to_be_bytes());
        head.extend(offset.to_be_bytes());
        head.extend(length.to_be_bytes());
        self.cookie += 1;
        self.wire.write_all(&head)?;
        self.wire.write_all(data)?;
        self.wire.flush()
    }

    fn answer(&mut self) -> io::Result<()> {
        if u32::from_be_bytes(self.take()?) != SIMPLE_REPLY {
            return Err(wrong("an answer begins with something else"));
        }
        let error = u32::from_be_bytes(self.take()?);
        let _cookie: [u8; 8] = self.take()?;
        if error == 0 { Ok(()) } else { Err(Error::other(format!("the server answers with error {error}"))) }
    }

    /// Writes the same data at all these offsets, with `depth` requests under way, and waits for all.
    /// Errors: the export takes no writes, or one failed.
    pub fn write_all(&mut self, offsets: impl Iterator<Item = u64>, data: &[u8], depth: u32) -> io::Result<()> {
        if self.flags & READ_ONLY != 0 {
            return Err(Error::new(ErrorKind::PermissionDenied, "the export is read-only"));
        }
        let mut under_way = 0;
        for offset in offsets {
            if under_way == depth {
                self.answer()?;
                under_way -= 1;
            }
            self.ask(WRITE, offset, data.len() as u32, data)?;
            under_way += 1;
        }
        (0..under_way).try_for_each(|_| self.answer())
    }

    /// Waits until all is durable; nothing where the export has no flush.
    /// Errors: the server failed.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.flags & HAS_FLUSH == 0 {
            return Ok(());
        }
        self.ask(FLUSH, 0, 0, &[])?;
        self.answer()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Who hangs up without a word is only less polite.
        let _ = self.ask(DISCONNECT, 0, 0, &[]);
    }
}

#[cfg(unix)]
fn unix(path: &str) -> io::Result<Box<dyn Wire>> {
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

#[cfg(not(unix))]
fn unix(_: &str) -> io::Result<Box<dyn Wire>> {
    Err(Error::new(ErrorKind::Unsupported, "there are no such sockets here; use nbd://HOST:PORT/NAME"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn uris_say_place_and_export() {
        let tcp = |host: &str, name: &str| Some((Place::Tcp(host.to_owned()), name.to_owned()));
        assert_eq!(parse("nbd://localhost:7/a"), tcp("localhost:7", "a"));
        assert_eq!(parse("nbd://localhost"), tcp("localhost:10809", ""));
        assert_eq!(parse("nbd://[::1]/x"), tcp("[::1]:10809", "x"));
        assert_eq!(parse("nbd+unix:///d?socket=/run/s"), Some((Place::Unix("/run/s".to_owned()), "d".to_owned())));
        assert_eq!(parse("nbd+unix:///d"), None);
    }

    /// A server of one export that takes what it is sent, written out from the protocol's numbers.
    fn serve(listener: &TcpListener, refuse: bool) -> Vec<(u16, u64, u32)> {
        let (mut wire, _) = listener.accept().unwrap();
        wire.write_all(b"NBDMAGICIHAVEOPT\0\x03").unwrap();
        let mut head = [0; 4 + 16];
        wire.read_exact(&mut head).unwrap();
        let mut data = vec![0; u32::from_be_bytes(head[16..].try_into().unwrap()) as usize];
        wire.read_exact(&mut data).unwrap();
        assert_eq!(data, b"\0\0\0\x01d\0\0");
        let reply = |kind: u32, data: &[u8]| {
            [
                &OPTION_REPLY.to_be_bytes()[..],
                &GO.to_be_bytes(),
                &kind.to_be_bytes(),
                &(data.len() as u32).to_be_bytes(),
                data,
            ]
            .concat()
        };
        if refuse {
            wire.write_all(&reply(0x8000_0006, b"no such drive")).unwrap();
            return Vec::new();
        }
        let info = [&[0, 0][..], &(8_u64 << 20).to_be_bytes(), &5_u16.to_be_bytes()].concat();
        wire.write_all(&[reply(INFO, &info), reply(ACK, &[])].concat()).unwrap();
        let mut asked = Vec::new();
        loop {
            let mut head = [0; 28];
            wire.read_exact(&mut head).unwrap();
            let kind = u16::from_be_bytes([head[6], head[7]]);
            let length = u32::from_be_bytes(head[24..].try_into().unwrap());
            asked.push((kind, u64::from_be_bytes(head[16..24].try_into().unwrap()), length));
            if kind == DISCONNECT {
                return asked;
            }
            wire.read_exact(&mut vec![0; if kind == WRITE { length as usize } else { 0 }]).unwrap();
            wire.write_all(&[&SIMPLE_REPLY.to_be_bytes()[..], &[0; 4], &head[8..16]].concat()).unwrap();
        }
    }

    fn with_server(refuse: bool, work: impl FnOnce(io::Result<Client>)) -> Vec<(u16, u64, u32)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let uri = format!("nbd://{}/d", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || serve(&listener, refuse));
        work(Client::connect(&uri));
        server.join().unwrap()
    }

    #[test]
    fn writes_and_a_flush_reach_the_server_in_order() {
        let asked = with_server(false, |client| {
            let mut client = client.unwrap();
            assert_eq!(client.bytes(), 8 << 20);
            client.write_all([0, 4096, 8192, 4096].into_iter(), &[7; 4096], 2).unwrap();
            client.flush().unwrap();
        });
        let writes = [0, 4096, 8192, 4096].map(|offset| (WRITE, offset, 4096));
        assert_eq!(asked, [&writes[..], &[(FLUSH, 0, 0), (DISCONNECT, 0, 0)]].concat());
    }

    #[test]
    fn a_refused_export_is_named_with_what_the_server_says() {
        with_server(true, |client| {
            let error = client.err().unwrap().to_string();
            assert!(error.contains("`d`") && error.contains("no such drive"), "{error}");
        });
    }
}
