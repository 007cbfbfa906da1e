//! A service of its own process, for tests that kill it: `peer TARGET SERVICE ID ADDRESS TTL`.
//!
//! It binds ADDRESS, registers, says `registered GENERATION` (or `refused KIND`, and ends with 3), and lives until its
//! standard input ends; then it deregisters and says `deregistered`.

use std::error::Error;
use std::net::SocketAddr;

use registry_core::{Registrar, RegistrarConfig, Targets};
use tokio::io::AsyncReadExt;
use tokio::net::TcpSocket;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, service, id, address, ttl] = &arguments[..] else {
        return Err("usage: peer TARGET SERVICE ID ADDRESS TTL".into());
    };
    let address: SocketAddr = address.parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(16)?;
    let ttl = format!("\"{ttl}\"");
    let config = RegistrarConfig::new(service.parse()?)
        .with_id(id.parse()?)
        .with_ttl(serde_json::from_str(&ttl)?)
        .listening(listener.local_addr()?)?;
    let registry = Targets::new().with(registry_etcd::target()).open(target)?;
    let registrar = match Registrar::start(registry, config).await {
        Ok(registrar) => registrar,
        Err(error) => {
            println!("refused {}", error.kind().name());
            std::process::exit(3);
        }
    };
    let generation = registrar.status().borrow().generation();
    println!("registered {}", generation.map_or_else(|| "nowhere".to_owned(), |g| g.to_string()));
    tokio::io::stdin().read_to_end(&mut Vec::new()).await?;
    registrar.deregister().await?;
    println!("deregistered");
    Ok(())
}
