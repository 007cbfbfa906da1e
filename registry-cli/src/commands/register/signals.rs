//! SIGINT and SIGTERM: the end is asked for.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

use crate::exit::Failure;

pub(super) struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Failure> {
        let new = || -> io::Result<Self> {
            Ok(Self {
                interrupt: unix::signal(SignalKind::interrupt())?,
                terminate: unix::signal(SignalKind::terminate())?,
            })
        };
        new().map_err(|error| Failure::error(format!("signals cannot be listened to: {error}")))
    }

    /// The next one. Cancel safe: none is lost.
    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::INT,
            Some(()) = self.terminate.recv() => Signal::TERM,
            else => std::future::pending().await,
        }
    }
}
