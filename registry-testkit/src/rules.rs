//! The rules of the contract as ordinary functions, one file per subject.
//!
//! Each takes a [`Case`](crate::Case): a fresh registry and what is needed to try it. Each panics where its rule is
//! broken; none can skip itself. A function that is not in the list of [`for_each_rule!`](crate::for_each_rule) fails
//! the testkit's own tests.

pub mod close;
pub mod deregister;
pub mod discover;
pub mod expiry;
pub mod handle;
pub mod healing;
pub mod heartbeat;
pub mod input;
pub mod leaving;
pub mod order;
pub mod outage;
pub mod overrides;
pub mod register;
pub mod renewal;
pub mod services;
pub mod slow;
pub mod strangers;
pub mod update;
pub mod versions;
pub mod watch;
