//! Q10: the names of services.

use std::time::Duration;

use futures::StreamExt;
use registry_core::{ReadOptions, ServicesItem, ServicesStream};
use tokio::time::timeout;

use crate::case::{Case, names};

async fn listed(case: &Case) -> Vec<String> {
    let services = case.registry.services(ReadOptions::default()).await.expect("services");
    names(&services.names).into_iter().map(str::to_owned).collect()
}

/// Q10: the names that have a living instance, sorted, each once.
pub async fn q10_names_of_services_with_a_living_instance(case: &Case) {
    assert!(listed(case).await.is_empty());
    for (name, instance) in
        [("orders", "a"), ("orders", "b"), ("bills", "a"), ("Orders", "a"), ("orders-x", "a")]
    {
        case.up(name, instance).await;
    }
    let brief = case.register(&case.brief("brief", "a")).await;
    assert_eq!(listed(case).await, ["Orders", "bills", "brief", "orders", "orders-x"]);
    case.elapse(brief.ttl.get() + case.timing.sweep + case.timing.eps).await;
    assert_eq!(listed(case).await, ["Orders", "bills", "orders", "orders-x"], "expired, and still named");
}

/// Q10: a name goes with its last instance, not with the first.
pub async fn q10_a_name_goes_with_its_last_instance(case: &Case) {
    let a = case.up("orders", "a").await;
    let b = case.up("orders", "b").await;
    case.down(&a.lease).await;
    assert_eq!(listed(case).await, ["orders"]);
    case.down(&b.lease).await;
    assert!(listed(case).await.is_empty());
}

/// Q10: a watch on the names begins with them and follows them.
pub async fn q10_a_watch_follows_the_names(case: &Case) {
    case.up("orders", "a").await;
    let mut stream = case.registry.watch_services().expect("a watch");
    hear(&mut stream, &["orders"], case.soon()).await;
    let bills = case.up("bills", "a").await;
    hear(&mut stream, &["bills", "orders"], case.timing.eps).await;
    case.down(&bills.lease).await;
    hear(&mut stream, &["orders"], case.timing.eps).await;
    let brief = case.register(&case.brief("brief", "a")).await;
    hear(&mut stream, &["brief", "orders"], case.timing.eps).await;
    let bound = brief.ttl.get() + case.timing.sweep + case.timing.eps;
    hear(&mut stream, &["orders"], bound).await;
}

/// Q10: what changes no name is not told.
pub async fn q10_no_item_without_a_difference(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut stream = case.registry.watch_services().expect("a watch");
    hear(&mut stream, &["orders"], case.soon()).await;
    let b = case.up("orders", "b").await;
    case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
    case.down(&b.lease).await;
    let item = timeout(case.timing.eps, next_names(&mut stream)).await;
    assert!(item.is_err(), "no name came or went: {item:?}");
}

/// Reads until the names are these.
async fn hear(stream: &mut ServicesStream, wanted: &[&str], within: Duration) {
    let mut last = Vec::new();
    let heard = timeout(within, async {
        while last != wanted {
            last = next_names(stream).await;
        }
    });
    assert!(heard.await.is_ok(), "not within {within:?}: {wanted:?}; the last was {last:?}");
}

async fn next_names(stream: &mut ServicesStream) -> Vec<String> {
    loop {
        match stream.next().await.expect("the stream goes on").expect("without an error") {
            ServicesItem::Names(services) => {
                return names(&services.names).into_iter().map(str::to_owned).collect();
            }
            ServicesItem::Status(_) => {}
            other => panic!("an unknown item: {other:?}"),
        }
    }
}
