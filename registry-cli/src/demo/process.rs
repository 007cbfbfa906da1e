//! An instance as if in a process of its own: a runtime, a listener, a registrar and connections that die with it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use registry_core::{
    InstanceId, Registrar, RegistrarConfig, RegistrarEvents, RegistrarStatus, ServiceDiscovery, Ttl,
};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;

use super::recording::{Beats, Recording};
use super::world::World;
use crate::exit::Failure;

pub(super) struct Process {
    pub(super) id: InstanceId,
    pub(super) address: SocketAddr,
    beats: Beats,
    registry: Arc<dyn ServiceDiscovery>,
    registrar: Registrar,
    /// What is listed accepts connections: until the end.
    _listener: TcpListener,
    _runtime: Mortal,
}

/// It listens and is not registered yet.
pub(super) struct Starting {
    id: InstanceId,
    pub(super) address: SocketAddr,
    registry: Arc<dyn ServiceDiscovery>,
    listener: TcpListener,
    handle: Handle,
    runtime: Mortal,
}

/// A runtime that ends without waiting for what runs on it.
struct Mortal(Option<Runtime>);

impl Drop for Mortal {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Starting {
    /// A process that listens.
    pub(super) fn listen(world: &World, id: &str) -> Result<Self, Failure> {
        let broken = |what: &str, error| Failure::error(format!("{what}: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| broken("no port of 127.0.0.1 can be listened to", error))?;
        let address = listener.local_addr().map_err(|error| broken("the listener is lost", error))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| broken("no runtime could be started", error))?;
        let handle = runtime.handle().clone();
        let runtime = Mortal(Some(runtime));
        Ok(Self { id: id.parse()?, address, registry: world.open()?, listener, handle, runtime })
    }

    /// Registers what listens.
    pub(super) async fn register(self, world: &World, ttl: Ttl, drain: Duration) -> Result<Process, Failure> {
        let Self { id, address, registry, listener, handle, runtime } = self;
        let config = RegistrarConfig::new(world.service.clone())
            .with_id(id.clone())
            .with_ttl(ttl)
            .with_drain(drain)
            .listening_as("default", "http", address)?;
        let (recording, beats) = Recording::over(Arc::clone(&registry));
        // On its own runtime, where the registrar then lives.
        let started = handle.spawn(Registrar::start(Arc::new(recording), config)).await;
        let registrar = started.map_err(|error| Failure::error(format!("its start failed: {error}")))??;
        Ok(Process { id, address, beats, registry, registrar, _listener: listener, _runtime: runtime })
    }
}

impl Process {
    /// What its own registrar tells, from its start on.
    pub(super) fn events(&self) -> RegistrarEvents {
        self.registrar.events()
    }

    /// The TTL that was granted.
    pub(super) fn ttl(&self) -> Option<Ttl> {
        match *self.registrar.status().borrow() {
            RegistrarStatus::Registered { ttl, .. } => Some(ttl),
            _ => None,
        }
    }

    /// Ends it as an orderly process ends, draining first.
    pub(super) async fn drain(self) -> Result<(), Failure> {
        self.registrar.drain().await?;
        self.registry.close().await;
        Ok(())
    }

    /// Ends it at once, and says so.
    pub(super) async fn stop(self) -> Result<(), Failure> {
        self.registrar.deregister().await?;
        self.registry.close().await;
        Ok(())
    }

    /// Ends it without a word, as SIGKILL does: its tasks and connections are gone, and nobody deregisters.
    pub(super) fn kill(self) -> Beats {
        // Else dropping it would say goodbye.
        self.registrar.detach();
        self.beats
    }
}

/// Waits for the event that `wanted` picks, passing over the others.
pub(super) async fn event(
    events: &mut RegistrarEvents,
    limit: Duration,
    wanted: impl Fn(&RegistrarStatus) -> bool,
) -> Result<(), Failure> {
    let found = async {
        while let Some(event) = events.next().await {
            if wanted(&event.status) {
                return true;
            }
        }
        false
    };
    match timeout(limit, found).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::error("an instance gave up")),
        Err(_) => Err(Failure::error(format!("an instance told nothing for {limit:?}"))),
    }
}
