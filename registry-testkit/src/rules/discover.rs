//! Q: reading.

use registry_core::{ErrorKind, ReadOptions};

use crate::case::{Case, query};
use crate::refused;

/// Q3: a backend that is gone is an error, never an empty list.
pub async fn q3_unreachable_is_an_error(case: &Case) {
    case.up("orders", "a").await;
    let faults = case.faults();
    faults.kill().await;
    for name in ["orders", "never-registered"] {
        let answer = case.registry.discover(&query(name), ReadOptions::default()).await;
        refused!(answer, ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded);
    }
    let names = case.registry.services(ReadOptions::default()).await;
    refused!(names, ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded);
    faults.heal().await;
    case.eventually("the backend answers again", case.soon(), async || {
        case.registry.discover(&query("orders"), ReadOptions::default()).await.ok()
    })
    .await;
}
