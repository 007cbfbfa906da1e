//! Registered while a command runs: start it, register when it listens, drain, pass the signal on, deregister.

use std::time::Duration;

use registry_core::{InstanceStatus, Registrar, RegistrarConfig, RegistrarStatus, TakeoverPolicy};
use rustix::process::Signal;
use tokio::time::sleep;

use super::child::Child;
use super::signals::Signals;
use super::{Command, Registry, listening, report};
use crate::exit::{Failure, Outcome};

pub(super) async fn run(
    registry: &Registry,
    mut config: RegistrarConfig,
    command: &Command<'_>,
    signals: &mut Signals,
) -> Outcome {
    let mut taken = false;
    for address in command.addresses {
        taken |= listening::accepts(address).await;
    }
    let mut child = Child::start(command)?;
    if command.wait {
        tokio::select! {
            code = child.wait() => {
                eprintln!("registryctl: the command ended before it accepted connections: it was never registered");
                return code;
            }
            signal = signals.next() => return end(&mut child, signal, signals).await,
            () = listening::all(command.addresses) => {}
        }
        // Nobody listened there before the command was started: it is the command who does, and what is registered
        // with these addresses is its own previous life.
        if !taken && config.takeover == TakeoverPolicy::Never {
            config.takeover = TakeoverPolicy::OwnPreviousLife;
            for address in command.addresses {
                if let Some(listener) = address.listener() {
                    config = config.listening_as(address.name(), address.scheme(), listener)?;
                }
            }
        }
    }
    let drain = config.drain;
    let registrar = Registrar::start_in_background(registry.clone(), config)?;
    let what = format!("{}/{}", registrar.service(), registrar.id());
    let events = registrar.events();
    let (outcome, ()) =
        tokio::join!(serve(registrar, drain, &mut child, signals), report::tell(&what, events));
    outcome
}

/// Until the command has ended and the instance is deregistered.
async fn serve(
    registrar: Registrar,
    drain: Option<Duration>,
    child: &mut Child,
    signals: &mut Signals,
) -> Outcome {
    let code = tokio::select! {
        code = child.wait() => code,
        signal = signals.next() => {
            tokio::select! {
                () = drained(&registrar, drain) => end(child, signal, signals).await,
                again = signals.next() => end(child, again, signals).await,
                // It did not need to be told.
                code = child.wait() => code,
            }
        }
        error = refused(&registrar) => {
            end(child, Signal::TERM, signals).await?;
            return Err(error);
        }
    };
    // Why it could not, if it could not, is reported as its status.
    let _ = registrar.deregister().await;
    code
}

/// Asks the command to end and waits for that; further signals are passed on.
async fn end(child: &mut Child, signal: Signal, signals: &mut Signals) -> Outcome {
    child.signal(signal);
    loop {
        tokio::select! {
            code = child.wait() => return code,
            signal = signals.next() => child.signal(signal),
        }
    }
}

/// Says that it drains, and gives callers the time to turn away.
async fn drained(registrar: &Registrar, time: Option<Duration>) {
    let ttl = match &*registrar.status().borrow() {
        RegistrarStatus::Registered { ttl, .. } => *ttl,
        // Nobody calls what is not known to be registered.
        _ => return,
    };
    eprintln!("registryctl: {}/{} draining", registrar.service(), registrar.id());
    if registrar.set_status(InstanceStatus::Draining).await.is_ok() {
        sleep(time.unwrap_or(ttl.interval() * 2)).await;
    }
}

/// Waits until the first registration is refused. Being fenced later is no reason to end a command that serves: it is
/// reported, and it goes on unregistered.
async fn refused(registrar: &Registrar) -> Failure {
    let mut status = registrar.status();
    let refused = status.wait_for(|status| matches!(status, RegistrarStatus::Refused { .. })).await;
    if let Ok(RegistrarStatus::Refused { error }) = refused.as_deref() {
        return error.clone().into();
    }
    std::future::pending().await
}
