//! What is to be written, decided from what was found to stand. Pure: the ownership rules of the contract live here,
//! without any I/O.

mod leave;
mod register;
mod update;

pub(crate) use self::leave::Leave;
pub(crate) use self::register::{Register, Takes};
pub(crate) use self::update::{Update, Writes, Written};

use registry_core::{Error, ErrorKind};

use crate::client::{Compare, LeaseId, Op};
use crate::record::generation;

fn put(key: Vec<u8>, value: &[u8], lease: LeaseId) -> Op {
    Op::Put { key, value: value.to_vec(), lease: Some(lease) }
}

/// That a key stands as it was found: written last by `revision`, or absent.
fn unchanged(key: Vec<u8>, revision: Option<u64>) -> Compare {
    match revision {
        Some(revision) => Compare::ModRevision(key, revision),
        None => Compare::Absent(key),
    }
}

fn already_exists(lease: LeaseId) -> Error {
    let kind = ErrorKind::AlreadyExists { generation: generation(lease) };
    Error::new(kind, "the id lives and is held by another owner")
}

pub(crate) fn fenced() -> Error {
    Error::new(ErrorKind::Fenced, "the id is held by another registration now")
}

pub(crate) fn not_registered() -> Error {
    Error::not_registered("the registration is unknown, has expired or was deregistered")
}

#[cfg(test)]
mod tests;
