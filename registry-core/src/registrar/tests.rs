//! The registrar against a scripted registry, in virtual time.

mod address;
mod double;
mod ending;
mod healing;
mod leaving;
mod outage;
mod over;
mod pausing;
mod starting;
mod tiny;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use self::double::Double;
use super::{Registrar, RegistrarConfig, RegistrarStatus};
use crate::error::Result;

const TTL: Duration = Duration::from_secs(15);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// An instance that has bound its endpoint.
fn config() -> RegistrarConfig {
    RegistrarConfig::new("greeter".parse().unwrap())
        .with_id("a".parse().unwrap())
        .listening_as("default", "http", "10.0.0.1:80".parse().unwrap())
        .unwrap()
}

async fn started(double: &Arc<Double>) -> Registrar {
    started_with(double, config()).await
}

async fn started_with(double: &Arc<Double>, config: RegistrarConfig) -> Registrar {
    Registrar::start(Arc::clone(double) as _, config).await.expect("it registers")
}

/// Waits for a status, for at most `limit`, and says how long that took.
async fn reaches(
    registrar: &Registrar,
    limit: Duration,
    wanted: impl FnMut(&RegistrarStatus) -> bool,
) -> Duration {
    let (begun, mut status) = (Instant::now(), registrar.status());
    let reached = tokio::time::timeout(limit, status.wait_for(wanted)).await;
    assert!(matches!(reached, Ok(Ok(_))), "after {limit:?} it is {}", *registrar.status().borrow());
    begun.elapsed()
}

fn stands(registrar: &Registrar) -> String {
    registrar.status().borrow().to_string()
}

/// All events so far, as words.
async fn told(registrar: &Registrar) -> Vec<String> {
    let (mut events, mut told) = (registrar.events(), Vec::new());
    while let Ok(Some(event)) = tokio::time::timeout(millis(1), events.next()).await {
        assert_eq!(event.sequence, told.len() as u64);
        told.push(event.status.to_string());
    }
    told
}

async fn timed(answer: impl Future<Output = Result<()>>) -> (Result<()>, Duration) {
    let begun = Instant::now();
    let answer = answer.await;
    (answer, begun.elapsed())
}

/// Lets virtual time pass.
async fn pass(time: Duration) {
    sleep(time).await;
}
