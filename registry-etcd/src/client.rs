//! Everything that speaks to etcd, in words that are not the vendor's.
//!
//! [`Session`] is what the rest of the backend holds. It owns three connections of different purpose, so that none
//! delays another: one for calls, one for all heartbeats, one for all watches.
//!
//! | file | its subject |
//! |---|---|
//! | `session` | what is offered |
//! | `call` | the time limit, the meaning of errors, the next member |
//! | `line`, `connection`, `tls` | which member, one connection at a time, how it comes up |
//! | `tasks` | that all tasks end |
//! | `history` | which lineage an answer belongs to |
//! | `kv`, `lease` | reads, transactions, leases |
//! | `keepalive` | one stream for all heartbeats |
//! | `watch`, `feed` | one stream for all watches, and what one sees of it |

mod call;
mod connection;
mod feed;
mod history;
mod keepalive;
mod kv;
mod lease;
mod line;
mod model;
mod session;
mod tasks;
mod tls;
mod watch;

pub(crate) use self::feed::{Event, EventKind, Feed, FeedEvent};
pub(crate) use self::model::{
    Compare, Granted, KeyEnd, KeyRange, Kv, LeaseId, Op, OpAnswer, RangeRequest, Txn, TxnAnswer,
};
pub(crate) use self::session::Session;

#[cfg(test)]
mod tests;
