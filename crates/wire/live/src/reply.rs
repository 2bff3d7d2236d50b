//! Answers to viewers.

use crate::page;
use serde_json::json;
use std::sync::Arc;

/// The answer to a request. A clone shares the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Code and phrase of the status line.
    pub(crate) status: &'static str,
    /// Value of `Content-Type`.
    pub(crate) kind: &'static str,
    /// A header that not all answers have.
    pub(crate) own: Option<(&'static str, &'static str)>,
    pub(crate) text: Arc<str>,
}

impl Reply {
    /// The source has no answer, and why.
    pub fn unavailable(problem: &str) -> Self {
        Self::line("503 Service Unavailable", problem)
    }

    pub(crate) fn page() -> Self {
        let own = Some(("content-security-policy", page::POLICY));
        Self { own, ..Self::written("200 OK", "text/html; charset=utf-8", page::HTML) }
    }

    pub(crate) fn line(status: &'static str, line: &str) -> Self {
        Self::written(status, "text/plain; charset=utf-8", &format!("{line}\n"))
    }

    /// A document or, with the status of a failure, the problem.
    pub(crate) fn json(said: Result<String, String>, failure: &'static str) -> Self {
        let status = if said.is_ok() { "200 OK" } else { failure };
        let text = said.unwrap_or_else(|problem| json!({ "error": problem }).to_string());
        Self::written(status, "application/json", &text)
    }

    pub(crate) fn written(status: &'static str, kind: &'static str, text: &str) -> Self {
        let own = status.starts_with("401").then_some(("www-authenticate", "Bearer"));
        Self { status, kind, own, text: text.into() }
    }
}
