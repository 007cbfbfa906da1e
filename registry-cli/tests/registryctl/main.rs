//! The built program, run as people run it.

mod demo;
#[cfg(feature = "etcd")]
mod etcd;
mod running;
mod usage;
