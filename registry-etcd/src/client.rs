//! Everything that speaks to etcd, in words that are not the vendor's.
//!
//! [`Session`] is what the rest of the backend holds. It owns three connections of different purpose, so that none
//! delays another: one for calls, one for all heartbeats ([`lease`]), one for all watches ([`watch`]).

mod feed;
mod model;
mod session;

pub(crate) use self::feed::{Event, EventKind, Feed, FeedEvent};
pub(crate) use self::model::{
    Compare, Granted, KeyEnd, KeyRange, Kv, LeaseId, Op, OpAnswer, RangeAnswer, RangeRequest, Txn, TxnAnswer,
};
pub(crate) use self::session::Session;
