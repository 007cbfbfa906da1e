//! `--address`: what callers dial, or a wildcard that stands for it.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use registry_core::{Endpoint, Host, Result};

/// Where an instance listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// An address that callers dial as it stands.
    Dialled(Endpoint),
    /// Every address of this machine.
    Wildcard { name: String, scheme: String, listener: SocketAddr },
}

impl Address {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Dialled(endpoint) => endpoint.name(),
            Self::Wildcard { name, .. } => name,
        }
    }

    pub(crate) fn scheme(&self) -> &str {
        match self {
            Self::Dialled(endpoint) => endpoint.scheme(),
            Self::Wildcard { scheme, .. } => scheme,
        }
    }

    /// What a listener there is bound to, where it is a number.
    pub(crate) fn listener(&self) -> Option<SocketAddr> {
        match self {
            Self::Dialled(endpoint) => match endpoint.host() {
                Host::Ip(ip) => Some(SocketAddr::new(*ip, endpoint.port())),
                Host::Name(_) => None,
            },
            Self::Wildcard { listener, .. } => Some(*listener),
        }
    }

    /// What to dial from this machine, `host:port`.
    pub(crate) fn authority(&self) -> String {
        match self {
            Self::Dialled(endpoint) => endpoint.authority(),
            Self::Wildcard { listener, .. } => {
                let loopback = match listener.ip() {
                    IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
                    IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
                };
                SocketAddr::new(loopback, listener.port()).to_string()
            }
        }
    }
}

impl FromStr for Address {
    type Err = registry_core::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (start, authority) = text.rfind(['/', '=']).map_or(("", text), |at| text.split_at(at + 1));
        match authority.parse::<SocketAddr>() {
            Ok(listener) if listener.ip().to_canonical().is_unspecified() => {
                // All but the host is checked as it is for any other.
                let model: Endpoint = format!("{start}127.0.0.1:{}", listener.port()).parse()?;
                let (name, scheme) = (model.name().to_owned(), model.scheme().to_owned());
                Ok(Self::Wildcard { name, scheme, listener })
            }
            _ => text.parse().map(Self::Dialled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn a_wildcard_keeps_its_name_and_scheme() {
        let wildcard = address("admin=http://0.0.0.0:80");
        assert_eq!((wildcard.name(), wildcard.scheme()), ("admin", "http"));
        assert_eq!(wildcard.authority(), "127.0.0.1:80");
        assert_eq!(address("[::]:80").authority(), "[::1]:80");
        assert_eq!(address("0.0.0.0:80").listener(), "0.0.0.0:80".parse().ok());
    }

    #[test]
    fn what_is_no_wildcard_is_an_endpoint() {
        assert_eq!(address("http://a:80"), Address::Dialled("http://a:80".parse().unwrap()));
        assert_eq!(address("http://a:80").listener(), None);
        assert_eq!(address("[::1]:80").listener(), "[::1]:80".parse().ok());
    }

    #[test]
    fn what_nobody_can_dial_is_refused() {
        for bad in ["0.0.0.0:0", "0.0.0.0", "a=HTTP://0.0.0.0:1", "http://a", "a:0", ""] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }
}
