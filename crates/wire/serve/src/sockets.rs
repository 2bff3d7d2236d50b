//! Sockets: where a server listens, and streams to its clients.

use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Where clients find the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    /// A port of this machine that only programs on it reach; 0: any that is free.
    Loopback(u16),
}

impl Address {
    /// A path as the value of a query.
    pub(crate) fn in_uri(path: &Path) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
        let bytes = path.as_os_str().as_encoded_bytes().iter();
        bytes.map(|byte| if plain(*byte) { (*byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
    }
}

/// A server that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The operating system refuses a socket.
    #[error("{place}: {source}{hint}")]
    Socket {
        /// Path of a unix socket, or address, and whom it is for.
        place: String,
        /// What the operating system said.
        source: io::Error,
        /// How to mend it, or nothing.
        hint: &'static str,
    },
    /// The export cannot be offered.
    #[error(transparent)]
    Export(#[from] nbd::ExportError),
    /// Waiting for events fails.
    #[error("waiting for clients: {0}")]
    Wait(#[from] io::Error),
    /// The record of requests could not be written.
    #[error("{0}")]
    Record(String),
    /// The target could not be closed.
    #[error("when the server ended: {0}")]
    Close(String),
}

pub(crate) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address; with the port that was free, if any was asked for.
    pub fn bind(address: &Address, sockets: &mut Sockets) -> Result<(Self, Address), ServeError> {
        match address {
            Address::Unix(path) => Ok((sockets.bind(path)?, address.clone())),
            Address::Loopback(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                let refused = |source| ServeError::Socket {
                    place: address.to_string(),
                    source,
                    hint: "; choose another port, or 0 for any that is free",
                };
                let listener = TcpListener::bind(address).map_err(refused)?;
                let port = listener.local_addr().map_err(refused)?.port();
                Ok((Self::Tcp(listener), Address::Loopback(port)))
            }
        }
    }

    /// The listener of a unix socket for a thread that waits for its clients.
    pub fn into_blocking(self) -> io::Result<std::os::unix::net::UnixListener> {
        match self {
            Self::Unix(listener) => {
                let listener = std::os::unix::net::UnixListener::from(OwnedFd::from(listener));
                listener.set_nonblocking(false)?;
                Ok(listener)
            }
            Self::Tcp(_) => Err(ErrorKind::Unsupported.into()),
        }
    }

    pub fn source(&mut self) -> &mut dyn Source {
        match self {
            Self::Unix(listener) => listener,
            Self::Tcp(listener) => listener,
        }
    }

    pub fn accept(&self) -> io::Result<Box<dyn Stream>> {
        match self {
            Self::Unix(listener) => Ok(Box::new(listener.accept()?.0)),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                // Small answers are not to wait for larger ones.
                let _ = stream.set_nodelay(true);
                Ok(Box::new(stream))
            }
        }
    }
}

/// A connected socket.
pub(crate) trait Stream: Source + Read + Write + Send {
    /// Says that no more follows.
    #[cfg(feature = "watch")]
    fn finish(&self) -> io::Result<()>;
}

impl Stream for UnixStream {
    #[cfg(feature = "watch")]
    fn finish(&self) -> io::Result<()> {
        self.shutdown(std::net::Shutdown::Write)
    }
}

impl Stream for TcpStream {
    #[cfg(feature = "watch")]
    fn finish(&self) -> io::Result<()> {
        self.shutdown(std::net::Shutdown::Write)
    }
}

/// Paths of unix sockets, which go with the server.
#[derive(Debug, Default)]
pub(crate) struct Sockets(Vec<PathBuf>);

impl Drop for Sockets {
    fn drop(&mut self) {
        for path in &self.0 {
            // It may be gone already.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Sockets {
    /// A unix socket at `path`; one that a killed server left behind is replaced.
    pub fn bind(&mut self, path: &Path) -> Result<Listener, ServeError> {
        let place = path.display().to_string();
        let refused = |source, hint| ServeError::Socket { place: place.clone(), source, hint };
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            let source = io::Error::from(ErrorKind::AddrInUse);
            return Err(refused(source, "; another server listens there: end it, or choose another path"));
        }
        let is_socket =
            std::fs::metadata(path).is_ok_and(|meta| std::os::unix::fs::FileTypeExt::is_socket(&meta.file_type()));
        if is_socket {
            std::fs::remove_file(path).map_err(|source| refused(source, ""))?;
        }
        let listener = UnixListener::bind(path).map_err(|source| {
            let hint = if source.kind() == ErrorKind::AddrInUse {
                "; a file of that name is in the way"
            } else {
                "; choose a path in a folder that is there, of less than 100 bytes"
            };
            refused(source, hint)
        })?;
        self.0.push(path.to_owned());
        Ok(Listener::Unix(listener))
    }
}
