//! The id of an instance that was given none: the same after a restart.

use crate::endpoint::Endpoint;
use crate::error::Result;
use crate::name::{InstanceId, MAX_ID, ServiceName};

/// The host's name and a short hash of service and endpoint.
pub(super) fn default_id(service: &ServiceName, endpoint: &Endpoint) -> Result<InstanceId> {
    id_of(&gethostname::gethostname().to_string_lossy(), service, endpoint)
}

fn id_of(host: &str, service: &ServiceName, endpoint: &Endpoint) -> Result<InstanceId> {
    let hash = fnv1a(&format!("{service}\n{}", endpoint.authority()));
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let host: String = host.chars().map(plain).take(MAX_ID - 9).collect();
    let host = host.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let host = if host.is_empty() { "host" } else { host };
    InstanceId::new(format!("{host}-{hash:08x}"))
}

/// 32 bits of FNV-1a: written out because it must give the same id in every version of this crate.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(host: &str, endpoint: &str) -> String {
        id_of(host, &"greeter".parse().unwrap(), &endpoint.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn the_hash_is_the_published_one_and_stays() {
        assert_eq!(fnv1a(""), 0x811c_9dc5);
        assert_eq!(fnv1a("a"), 0xe40c_292c);
        assert_eq!(fnv1a("foobar"), 0xbf9c_f968);
    }

    #[test]
    fn a_restart_is_the_same_instance_and_another_endpoint_another() {
        assert_eq!(id("web-1", "http://10.0.0.1:80"), id("web-1", "https://10.0.0.1:80"));
        assert_ne!(id("web-1", "10.0.0.1:80"), id("web-1", "10.0.0.1:81"));
        assert_ne!(id("web-1", "10.0.0.1:80"), id("web-2", "10.0.0.1:80"));
        assert!(id("web-1", "10.0.0.1:80").starts_with("web-1-"));
    }

    #[test]
    fn any_host_name_makes_a_valid_id() {
        for host in ["", "-", "büro pc", "_x.", &"h".repeat(500), "a/b\0c", "..."] {
            assert!(id(host, "10.0.0.1:80").len() <= MAX_ID, "{host:?}");
        }
        default_id(&"greeter".parse().unwrap(), &"10.0.0.1:80".parse().unwrap()).unwrap();
    }
}
