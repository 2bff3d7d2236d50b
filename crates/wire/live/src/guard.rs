//! Viewers that may look, and viewers that may command.
//!
//! On loopback anybody on this machine may, and nobody else: a page of another site that the browser shows can send
//! requests here too. Those have the wrong name in `Host` (a name that its owner has pointed to this machine), or tell
//! their origin when they command. Elsewhere a token is asked for.

use httparse::Header;
use std::net::SocketAddr;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;
/// Shortest token that somebody may choose.
const SHORTEST: usize = 8;

/// The address to listen on, and the token to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Address and port; port 0: any that is free.
    pub address: SocketAddr,
    /// The token that a request has to bring; `None`: nothing, on loopback only.
    pub token: Option<String>,
}

/// An address or a token that will not do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccessError {
    /// A token that does not stand in a URL as it is, or is too short.
    #[error(
        "a token is {SHORTEST} letters, digits, `-` or `_` at least, as it stands in URLs; leave it out, and one is \
         made up"
    )]
    Token,
    /// There are no random numbers.
    #[error("the operating system has no random numbers for a token: {0}; give one")]
    Random(getrandom::Error),
}

impl Access {
    /// With this token, or where others reach the address and none is given, with a new one.
    /// Errors: the token will not do, or cannot be made up.
    pub fn new(address: SocketAddr, token: Option<String>) -> Result<Self, AccessError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if token.as_ref().is_some_and(|token| token.len() < SHORTEST || !token.bytes().all(plain)) {
            return Err(AccessError::Token);
        }
        let token = match token {
            None if !address.ip().is_loopback() => Some(made_up()?),
            given => given,
        };
        Ok(Self { address, token })
    }

    /// The page's address as a browser takes it.
    pub fn url(&self) -> String {
        let token = self.token.as_ref().map_or_else(String::new, |token| format!("?token={token}"));
        format!("http://{}/{token}", self.address)
    }

    /// Whether a request may be served; `is_look`: it changes nothing.
    /// Errors: the status of the refusal, and its text.
    pub(crate) fn check(
        &self,
        is_look: bool,
        query: &str,
        headers: &[Header<'_>],
    ) -> Result<(), (&'static str, &'static str)> {
        let text = |name| value_of(headers, name);
        let host = text("host").unwrap_or("");
        if self.address.ip().is_loopback() && !self.is_own_name(host) {
            return Err((
                "421 Misdirected Request",
                "this server answers to 127.0.0.1, [::1] and localhost with its port alone: use the address it told",
            ));
        }
        if let Some(token) = &self.token {
            let bearer = text("authorization")
                .and_then(|value| value.split_once(' '))
                .and_then(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer").then_some(token.trim()));
            let given = bearer.or_else(|| token_in(query)).unwrap_or("");
            if !is_same(given, token) {
                return Err((
                    "401 Unauthorized",
                    "this server asks for its token: add ?token=TOKEN to the address, or send Authorization: Bearer \
                     TOKEN",
                ));
            }
        }
        if !is_look {
            let is_own = |origin: &str| origin.split_once("://").is_some_and(|(_, name)| name == host);
            let is_foreign = text("origin").is_some_and(|origin| !is_own(origin));
            let is_sent_from_elsewhere =
                text("sec-fetch-site").is_some_and(|site| !["same-origin", "none"].contains(&site));
            if is_foreign || is_sent_from_elsewhere {
                return Err(("403 Forbidden", "another site may not give commands here"));
            }
            let is_json = text("content-type").is_some_and(|kind| {
                kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
            });
            if !is_json {
                return Err((
                    "415 Unsupported Media Type",
                    "a command comes as Content-Type: application/json, for example {\"command\": \"power-cut 7\"}",
                ));
            }
        }
        Ok(())
    }

    fn is_own_name(&self, host: &str) -> bool {
        let port = format!(":{}", self.address.port());
        let name = host.strip_suffix(&port).or_else(|| (self.address.port() == 80).then_some(host));
        name.is_some_and(|name| {
            ["127.0.0.1", "[::1]", "localhost"].contains(&name) || name == self.address.ip().to_string()
        })
    }
}

/// The value of the first header of this name; one that is not text is empty.
pub(crate) fn value_of<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a str> {
    let header = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
    Some(std::str::from_utf8(header.value).unwrap_or("").trim())
}

fn token_in(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// Compares in a time that does not tell where two texts differ.
fn is_same(given: &str, wanted: &str) -> bool {
    let different = given.bytes().zip(wanted.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == wanted.len() && std::hint::black_box(different) == 0
}

fn made_up() -> Result<String, AccessError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(AccessError::Random)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(access: &Access, is_look: bool, path: &str, headers: &[(&'static str, &str)]) -> u16 {
        let header = |(name, value): &(&'static str, &'_ str)| (name.to_uppercase(), (*value).to_owned());
        let headers: Vec<_> = headers.iter().map(header).collect();
        let headers: Vec<_> = headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
        let query = path.split_once('?').map_or("", |(_, query)| query);
        access.check(is_look, query, &headers).err().map_or(200, |(status, _)| status[..3].parse().unwrap())
    }

    #[test]
    fn names_of_others_and_commands_of_their_pages_are_refused() {
        let access = Access::new("127.0.0.1:9000".parse().unwrap(), None).unwrap();
        let get = |host| status(&access, true, "/", &[("host", host)]);
        assert_eq!(["127.0.0.1:9000", "localhost:9000", "[::1]:9000"].map(get), [200; 3]);
        assert_eq!(["evil.example:9000", "127.0.0.1", "127.0.0.1:9001", "", "localhost:9000.evil"].map(get), [421; 5]);
        let own = ("host", "localhost:9000");
        let post = |more: &[(&'static str, &str)]| {
            status(&access, false, "/command", &[&[own, ("content-type", "application/json")], more].concat())
        };
        assert_eq!(post(&[]), 200);
        assert_eq!(post(&[("origin", "http://localhost:9000"), ("sec-fetch-site", "same-origin")]), 200);
        assert_eq!(post(&[("origin", "http://evil.example")]), 403);
        assert_eq!(post(&[("origin", "null")]), 403);
        assert_eq!(post(&[("sec-fetch-site", "cross-site")]), 403);
        // A form of another site that tells no origin cannot send JSON.
        assert_eq!(status(&access, false, "/command", &[own, ("content-type", "text/plain")]), 415);
    }

    #[test]
    fn whom_others_reach_asks_for_a_token() {
        let access = Access::new("192.0.2.1:9000".parse().unwrap(), None).unwrap();
        let token = access.token.clone().unwrap();
        assert!(token.len() == 32 && access.url() == format!("http://192.0.2.1:9000/?token={token}"));
        assert_ne!(Access::new(access.address, None).unwrap().token, Some(token.clone()));
        let get = |path: &str, headers: &[(&'static str, &str)]| status(&access, true, path, headers);
        assert_eq!(get("/", &[("host", "a")]), 401);
        assert_eq!(get(&format!("/?token={token}x"), &[]), 401);
        assert_eq!(get("/?token=", &[]), 401);
        assert_eq!(get(&format!("/?x=1&token={token}"), &[("host", "name.example:9000")]), 200);
        assert_eq!(get("/metrics", &[("authorization", &format!("Bearer {token}"))]), 200);
        assert_eq!(get("/metrics", &[("authorization", &format!("bearer {token}"))]), 200);
        for short in ["", "1234567", "with space"] {
            assert!(Access::new(access.address, Some(short.to_owned())).is_err());
        }
    }
}
