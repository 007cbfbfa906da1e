//! A unit test of a program that finds its peers by the registry, on the memory backend and in virtual time.
//!
//! `cargo test -p registry-tests --example unit_test`, or as a program: `cargo run -p registry-tests --example unit_test`.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{
    ErrorKind, InstanceFilter, InstanceSpec, Query, Registration, Result, ServiceDiscovery,
    ServiceDiscoveryExt,
};
use registry_memory::MemoryRegistry;

/// The code under test: it takes any registry.
struct Orders {
    registry: Arc<dyn ServiceDiscovery>,
}

impl Orders {
    async fn where_to_send(&self) -> Result<String> {
        let orders = Query::new("orders".parse()?);
        let chosen = self.registry.select(&orders, &InstanceFilter::new()).await?;
        Ok(chosen[0].endpoints()[0].to_string())
    }
}

async fn an_order_is_sent_to_a_living_instance_only() -> Result<()> {
    let registry: Arc<dyn ServiceDiscovery> = Arc::new(MemoryRegistry::new());
    let orders = Orders { registry: Arc::clone(&registry) };

    let instance = InstanceSpec::new("http://10.0.0.1:8080".parse()?);
    registry.register(Registration::new("orders".parse()?, "a".parse()?, instance)).await?;
    assert_eq!(orders.where_to_send().await?, "http://10.0.0.1:8080");

    // It stops beating. Its TTL of 15 s passes in virtual time: the test takes none.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let error = orders.where_to_send().await.expect_err("nobody is left");
    assert!(matches!(error.kind(), ErrorKind::NoAvailableInstances { .. }), "{error}");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn sends_to_the_living_only() -> Result<()> {
    an_order_is_sent_to_a_living_instance_only().await
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<()> {
    an_order_is_sent_to_a_living_instance_only().await?;
    println!("an order is sent to a living instance only");
    Ok(())
}
