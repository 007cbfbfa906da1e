//! Whether something accepts connections at an address.

use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::args::Address;

const ATTEMPT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(50);
/// When to wonder aloud.
const LONG: Duration = Duration::from_secs(2);

pub(super) async fn accepts(address: &Address) -> bool {
    matches!(timeout(ATTEMPT, TcpStream::connect(address.authority())).await, Ok(Ok(_)))
}

/// Waits until every address accepts connections, however long that takes.
pub(super) async fn all(addresses: &[Address]) {
    let begun = Instant::now();
    let mut wondered = false;
    let mut ticks = interval(POLL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for address in addresses {
        while !accepts(address).await {
            if begun.elapsed() > LONG && !wondered {
                wondered = true;
                let authority = address.authority();
                eprintln!(
                    "registryctl: not registered yet: nothing accepts connections at {authority} (--no-wait registers at once)"
                );
            }
            ticks.tick().await;
        }
    }
}
