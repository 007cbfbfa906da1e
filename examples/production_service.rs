//! A service in production: it listens, registers on etcd, answers, and leaves in order on a signal. Beside it a caller.
//!
//! ```sh
//! REGISTRY_TARGET=etcd://127.0.0.1:2379 cargo run -p registry-tests --example production_service
//! ```
//!
//! It stops by itself after a few calls, so that it can be run unattended; Ctrl-C stops it earlier.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use registry_core::{Directory, DirectoryConfig, Query, Registrar, RegistrarConfig, Targets};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // One line of configuration chooses the backend.
    let target = std::env::var("REGISTRY_TARGET").unwrap_or_else(|_| "etcd://127.0.0.1:2379".to_owned());
    let targets = Targets::new().with(registry_memory::target()).with(registry_etcd::target());

    // Listen first, then register: what is listed accepts connections. The wildcard is made a real address.
    let listener = TcpListener::bind("0.0.0.0:0").await?;
    let config = RegistrarConfig::new("greeter".parse()?)
        .listening(listener.local_addr()?)?
        .with_drain(Duration::from_secs(1));
    let mut serving = JoinSet::new();
    let answered = Arc::new(AtomicUsize::new(0));
    serving.spawn(serve(listener, Arc::clone(&answered)));
    let registrar = Registrar::start(targets.open(&target)?, config).await?;
    println!("registered as {}", registrar.id());

    // A caller, in another process as a rule: a target opened twice shares one session.
    let registry = targets.open(&target)?;
    let greeters = Directory::open(&registry, Query::new("greeter".parse()?), DirectoryConfig::default())?;
    greeters.ready(Duration::from_secs(2)).await?;
    let calls = async {
        for _ in 0..3 {
            let greeter = greeters.snapshot().ok().and_then(|list| list.routable().next().cloned());
            let Some(greeter) = greeter else { continue };
            match call(&greeter.endpoints()[0].authority()).await {
                Ok(answer) => println!("{} says {answer}", greeter.id),
                Err(error) => println!("{} did not answer: {error}", greeter.id),
            }
        }
    };

    // On a signal (here: when the calls are done) it says that it is draining, waits, and deregisters.
    let stop = async {
        tokio::select! {
            () = calls => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    registrar.run_until(stop).await?;
    println!("deregistered after {} calls", answered.load(Ordering::Relaxed));
    serving.shutdown().await;
    assert_eq!(answered.load(Ordering::Relaxed), 3, "every call was answered");
    Ok(())
}

async fn serve(listener: TcpListener, answered: Arc<AtomicUsize>) {
    while let Ok((mut connection, _)) = listener.accept().await {
        if connection.write_all(b"hello").await.is_ok() {
            answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn call(address: &str) -> std::io::Result<String> {
    let mut answer = String::new();
    TcpStream::connect(address).await?.read_to_string(&mut answer).await?;
    Ok(answer)
}
