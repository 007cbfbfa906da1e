//! Listening comes first (S75).

use std::net::TcpListener;
use std::sync::Arc;

use super::double::Double;
use super::*;
use crate::endpoint::Host;

/// A wildcard listener, its real address, and a connection to it.
fn listed_accepts(wildcard: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind(wildcard)?;
    let config = RegistrarConfig::new("greeter".parse().unwrap()).listening(listener.local_addr()?).unwrap();
    let Host::Ip(ip) = config.endpoints[0].host() else { panic!("no address: {:?}", config.endpoints) };
    assert!(!ip.is_unspecified());
    std::net::TcpStream::connect(config.endpoints[0].authority()).map(drop)
}

#[test]
fn s75_what_is_listed_for_a_wildcard_accepts_connections() {
    listed_accepts("0.0.0.0:0").unwrap();
    // A machine without IPv6 cannot listen there, which is no fault of ours.
    if TcpListener::bind("[::]:0").is_ok() {
        listed_accepts("[::]:0").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_id_a_restart_is_the_same_instance() {
    let config = || {
        RegistrarConfig::new("greeter".parse().unwrap()).listening("10.0.0.1:80".parse().unwrap()).unwrap()
    };
    let (first, second) = (Double::new(), Double::new());
    let a = Registrar::start(Arc::clone(&first) as _, config()).await.unwrap();
    let b = Registrar::start(Arc::clone(&second) as _, config()).await.unwrap();
    assert_eq!(a.id(), b.id());
    assert_eq!(a.service().as_str(), "greeter");
}
