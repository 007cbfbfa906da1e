//! The address that callers dial, made of the one that a listener is bound to.

use std::net::{IpAddr, SocketAddr};

use crate::endpoint::Host;
use crate::error::{Error, Result};

/// What stands for a listener's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Real {
    /// The address to advertise.
    pub(super) ip: IpAddr,
    /// All that this listener holds and other machines tell apart: who comes after it with one of them in its record
    /// has bound what that one had bound.
    pub(super) bound: Vec<SocketAddr>,
}

impl Real {
    pub(super) fn host(&self) -> Result<Host> {
        Host::from_ip(self.ip)
    }
}

/// Makes the address of a bound listener one that can be dialled, and logs what it chose for a wildcard.
pub(super) fn resolve(listener: SocketAddr) -> Result<Real> {
    let ip = listener.ip().to_canonical();
    if listener.port() == 0 {
        return Err(Error::invalid(
            "port",
            "port 0 cannot be dialled: listen first, then register what was bound",
        ));
    }
    if !ip.is_unspecified() {
        if is_link_local_v6(ip) {
            let why =
                format!("{ip} means another machine on every link: listen on an address that all can dial");
            return Err(Error::invalid("host", why));
        }
        return Ok(Real { ip, bound: vec![SocketAddr::new(ip, listener.port())] });
    }
    let nics = nics()?;
    let ranked = rank(ip, &nics);
    let Some(best) = ranked.first() else {
        let why = format!("{ip} is a wildcard and this machine has no address that fits: name an endpoint");
        return Err(Error::invalid("host", why));
    };
    let candidates: Vec<_> = ranked.iter().map(|nic| format!("{} ({})", nic.ip, nic.name)).collect();
    if class(best) == Class::Loopback {
        tracing::warn!(%listener, advertised = %best.ip, ?candidates, "only the loopback address stands for the wildcard: no other machine can call");
    } else {
        tracing::info!(%listener, advertised = %best.ip, nic = best.name, ?candidates, "a real address stands for the wildcard");
    }
    let told_apart = |nic: &&&Nic| nic.ip == best.ip || class(nic) == Class::Usable;
    let bound =
        ranked.iter().filter(told_apart).map(|nic| SocketAddr::new(nic.ip, listener.port())).collect();
    Ok(Real { ip: best.ip, bound })
}

/// One address of one network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Nic {
    name: String,
    ip: IpAddr,
}

fn nics() -> Result<Vec<Nic>> {
    use if_addrs::IfOperStatus::{Down, LowerLayerDown, NotPresent};
    let all = if_addrs::get_if_addrs().map_err(|error| {
        let why =
            "the wildcard cannot be made real, as the network interfaces cannot be listed: name an endpoint";
        Error::invalid("host", why).with_source(error)
    })?;
    let up = all.into_iter().filter(|nic| !matches!(nic.oper_status, Down | NotPresent | LowerLayerDown));
    Ok(up.map(|nic| Nic { ip: nic.ip(), name: nic.name }).collect())
}

/// How far an address may be of use to a caller, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Usable,
    LinkLocal,
    /// Of a bridge to containers or virtual machines: the same on many machines.
    Bridge,
    Loopback,
}

fn class(nic: &Nic) -> Class {
    const BRIDGES: &[&str] = &[
        "docker", "br-", "veth", "virbr", "vmnet", "vboxnet", "cni", "flannel", "cali", "podman", "lxcbr",
        "lxdbr", "kube-",
    ];
    match nic.ip {
        ip if ip.is_loopback() => Class::Loopback,
        _ if BRIDGES.iter().any(|prefix| nic.name.starts_with(prefix)) => Class::Bridge,
        IpAddr::V4(ip) if ip.is_link_local() => Class::LinkLocal,
        _ => Class::Usable,
    }
}

/// The addresses that may stand for `wildcard`, best first, always in the same order.
///
/// A listener on `::` may take IPv4 too or not, which its address does not tell: IPv6 goes first where there is one.
fn rank(wildcard: IpAddr, nics: &[Nic]) -> Vec<&Nic> {
    let fits = |nic: &&Nic| {
        !nic.ip.is_unspecified() && !is_link_local_v6(nic.ip) && (wildcard.is_ipv6() || nic.ip.is_ipv4())
    };
    let mut ranked: Vec<_> = nics.iter().filter(fits).collect();
    ranked.sort_by_key(|nic| (class(nic), nic.ip.is_ipv4(), !is_private(nic.ip), nic.name.clone(), nic.ip));
    ranked.dedup_by_key(|nic| nic.ip);
    ranked
}

/// An address of `fe80::/10` needs a zone, which no endpoint carries.
fn is_link_local_v6(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

/// Addresses of an organisation's own network go before those of the whole internet.
fn is_private(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || (ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64),
        IpAddr::V6(ip) => ip.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nics(all: &[(&str, &str)]) -> Vec<Nic> {
        all.iter().map(|(name, ip)| Nic { name: (*name).to_owned(), ip: ip.parse().unwrap() }).collect()
    }

    fn chosen(wildcard: &str, all: &[(&str, &str)]) -> String {
        let mut nics = nics(all);
        let first = rank(wildcard.parse().unwrap(), &nics)[0].ip;
        nics.reverse();
        assert_eq!(
            rank(wildcard.parse().unwrap(), &nics)[0].ip,
            first,
            "the order of the interfaces decided"
        );
        first.to_string()
    }

    const LO: (&str, &str) = ("lo", "127.0.0.1");
    const LO6: (&str, &str) = ("lo", "::1");

    #[test]
    fn s75_bridges_of_containers_are_skipped_unless_nothing_else_is_there() {
        let docker = [("docker0", "172.17.0.1"), ("br-1f2e", "172.18.0.1"), ("veth12", "10.0.0.1")];
        let with = |more: &[(&str, &str)]| chosen("0.0.0.0", &[&docker[..], &[LO], more].concat());
        assert_eq!(with(&[("eth0", "203.0.113.9")]), "203.0.113.9");
        assert_eq!(with(&[("eth0", "169.254.3.4")]), "169.254.3.4");
        assert_eq!(with(&[]), "172.18.0.1");
    }

    #[test]
    fn a_private_address_goes_before_a_public_one_and_both_before_link_local() {
        let all = [("eth0", "169.254.1.1"), ("eth1", "203.0.113.9"), ("eth2", "10.1.2.3"), LO];
        assert_eq!(chosen("0.0.0.0", &all), "10.1.2.3");
        assert_eq!(chosen("0.0.0.0", &all[..2]), "203.0.113.9");
        assert_eq!(chosen("0.0.0.0", &[("eth0", "100.64.0.1"), ("eth1", "8.8.8.8")]), "100.64.0.1");
    }

    #[test]
    fn of_several_equals_the_first_by_name_and_address_is_taken() {
        let all = [("eth1", "10.0.0.1"), ("eth0", "10.0.0.9"), ("eth0", "10.0.0.3")];
        assert_eq!(chosen("0.0.0.0", &all), "10.0.0.3");
    }

    #[test]
    fn ipv6_goes_first_for_its_wildcard_and_is_never_taken_for_the_other() {
        let all = [("eth0", "10.0.0.1"), ("eth0", "2001:db8::7"), ("eth0", "fe80::1"), LO, LO6];
        assert_eq!(chosen("::", &all), "2001:db8::7");
        assert_eq!(chosen("0.0.0.0", &all), "10.0.0.1");
        assert_eq!(chosen("::", &[("eth0", "2001:db8::7"), ("eth0", "fd00::1")]), "fd00::1");
        assert_eq!(chosen("::", &[("eth0", "10.0.0.1"), ("eth0", "fe80::1"), LO6]), "10.0.0.1");
    }

    #[test]
    fn loopback_is_the_last_resort() {
        assert_eq!(chosen("0.0.0.0", &[LO, LO6]), "127.0.0.1");
        assert_eq!(chosen("::", &[LO, LO6, ("eth0", "fe80::1")]), "::1");
        assert!(rank("0.0.0.0".parse().unwrap(), &nics(&[LO6])).is_empty());
    }

    #[test]
    fn a_bound_address_stands_for_itself() {
        for (listener, real) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
        ] {
            let resolved = resolve(listener.parse().unwrap()).unwrap();
            assert_eq!(resolved.bound, [real.parse().unwrap()]);
        }
        assert!(resolve("[fe80::1]:80".parse().unwrap()).is_err());
    }
}
