//! The endpoint list: checked, given its scheme and port, each member once.

use registry_core::{Endpoint, Error, Result};

const PORT: &str = "2379";

/// The URLs of `endpoints`; those without a scheme are `https` where `tls` is set.
pub(super) fn urls(endpoints: &[String], tls: bool) -> Result<Vec<String>> {
    let invalid = |why: String| Err(Error::invalid("endpoints", why));
    let mut urls = Vec::with_capacity(endpoints.len());
    for text in endpoints {
        let url = match url(text, tls) {
            Ok(url) => url,
            Err(error) => return invalid(format!("{text:?}: {error}")),
        };
        if url.starts_with("https:") != tls {
            return invalid(if tls {
                format!("{text:?} is plain although TLS is configured: all endpoints are https or none")
            } else {
                format!("{text:?} needs TLS: give `tls.ca`; all endpoints are https or none")
            });
        }
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    if urls.is_empty() {
        return invalid("is empty: give the client address of at least one etcd member".to_owned());
    }
    Ok(urls)
}

fn url(text: &str, tls: bool) -> Result<String> {
    let default = if tls { "https" } else { "http" };
    let (scheme, authority) = text.split_once("://").unwrap_or((default, text));
    if !matches!(scheme, "http" | "https") {
        return Err(Error::invalid("scheme", "is neither http nor https"));
    }
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    // A colon inside brackets belongs to an IPv6 address.
    let has_port = authority.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
    let port = if has_port { String::new() } else { format!(":{PORT}") };
    // Parsed as any endpoint: nobody dials a wildcard, a URL with a path or user information.
    let endpoint: Endpoint = format!("etcd={scheme}://{authority}{port}").parse()?;
    Ok(endpoint.to_string())
}
