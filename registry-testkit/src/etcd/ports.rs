//! Ports that nobody else takes.
//!
//! They come from below the ephemeral range: a port from `bind(0)` can be taken as the source of any outgoing
//! connection while its member is down, even by a client that keeps dialling that very member. Between test
//! processes a file lock per port decides, held until the cluster ends, so a restarted member finds its ports
//! free. Against everybody else: the port is tried before, and a member that still meets "address already in
//! use" is started again on others.

use std::{
    env,
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, RandomState},
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
};

use super::HarnessError;

/// Below the ephemeral ranges of Linux (32768) and of the BSDs (49152).
const RANGE: std::ops::Range<u16> = 20_000..32_000;

/// A port of 127.0.0.1, reserved among test processes for as long as this lives.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Finds one. [`HarnessError::NoFreePort`] if the whole range is taken.
    pub(super) fn reserve() -> Result<Self, HarnessError> {
        let folder = folder()?;
        let size = u64::from(RANGE.end - RANGE.start);
        let offset = RandomState::new().hash_one(0) % size;
        (0..size)
            .map(|step| (offset + step) % size)
            .filter_map(|at| Some(RANGE.start + u16::try_from(at).ok()?))
            .find_map(|number| Self::claim(&folder, number))
            .ok_or(HarnessError::NoFreePort)
    }

    fn claim(folder: &std::path::Path, number: u16) -> Option<Self> {
        let file = folder.join(number.to_string());
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(file).ok()?;
        lock.try_lock().ok()?;
        let port = Self { number, _lock: lock };
        (!port.taken()).then_some(port)
    }

    /// Whether somebody listens there now.
    pub(super) fn taken(&self) -> bool {
        TcpListener::bind((Ipv4Addr::LOCALHOST, self.number)).is_err()
    }

    pub(super) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://127.0.0.1:{}", self.number)
    }

    pub(super) fn number(&self) -> u16 {
        self.number
    }
}

/// One folder of lock files per user. The files stay: removing one would let two processes lock different
/// files of one name.
fn folder() -> Result<PathBuf, HarnessError> {
    let user = rustix::process::getuid().as_raw();
    let folder = env::temp_dir().join(format!("registry-testkit-ports-{user}"));
    let what = || format!("make the folder of port locks {}", folder.display());
    fs::create_dir_all(&folder).map_err(HarnessError::io(what()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_port_is_free_to_bind_and_given_to_nobody_else() {
        let port = Port::reserve().unwrap();
        assert!(RANGE.contains(&port.number()));
        TcpListener::bind((Ipv4Addr::LOCALHOST, port.number())).unwrap();
        assert!(Port::claim(&folder().unwrap(), port.number()).is_none(), "locked");
        let number = port.number();
        drop(port);
        assert!(Port::claim(&folder().unwrap(), number).is_some(), "given back");
    }

    #[test]
    fn a_port_in_use_is_passed_over() {
        let port = Port::reserve().unwrap();
        let number = port.number();
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        drop(port);
        assert!(Port::claim(&folder().unwrap(), number).is_none());
        drop(taken);
    }
}
