//! Reads and transactions, in etcd's protocol and back.

use etcd_client::proto::{PbKeyValue, PbResponseOp, PbTxnOpResponse};
use etcd_client::{
    Client, Compare as VendorCompare, CompareOp, Error as VendorError, GetOptions, GetResponse, PutOptions,
    TxnOp, TxnResponse,
};

use super::history::{Floor, History};
use super::model::{Compare, KeyEnd, Kv, LeaseId, Op, OpAnswer, RangeAnswer, RangeRequest, Txn, TxnAnswer};

/// The largest answer that is taken: a page of 1,000 keys with values of 64 KiB. Pages are kept far below.
const LARGEST_ANSWER: usize = 64 << 20;

/// Sends a read.
pub(super) async fn range(client: Client, request: &RangeRequest) -> Result<GetResponse, VendorError> {
    let mut kv = client.kv_client().max_decoding_message_size(LARGEST_ANSWER);
    kv.get(request.key.clone(), Some(options(request))).await
}

/// Sends a transaction.
pub(super) async fn txn(client: Client, txn: etcd_client::Txn) -> Result<TxnResponse, VendorError> {
    client.kv_client().max_decoding_message_size(LARGEST_ANSWER).txn(txn).await
}

fn options(request: &RangeRequest) -> GetOptions {
    let mut options = GetOptions::new().with_limit(request.limit);
    if let KeyEnd::Before(end) = &request.end {
        options = options.with_range(end.clone());
    }
    if let Some(revision) = request.revision {
        options = options.with_revision(signed(revision));
    }
    if request.keys_only {
        options = options.with_keys_only();
    }
    if request.stale {
        options = options.with_serializable();
    }
    options
}

/// The transaction in etcd's words.
pub(super) fn transaction(txn: Txn) -> etcd_client::Txn {
    let compare: Vec<_> = txn.compare.into_iter().map(comparison).collect();
    let success: Vec<_> = txn.success.into_iter().map(operation).collect();
    let failure: Vec<_> = txn.failure.into_iter().map(operation).collect();
    etcd_client::Txn::new().when(compare).and_then(success).or_else(failure)
}

fn comparison(compare: Compare) -> VendorCompare {
    match compare {
        Compare::Absent(key) => VendorCompare::create_revision(key, CompareOp::Equal, 0),
        Compare::ModRevision(key, revision) => {
            VendorCompare::mod_revision(key, CompareOp::Equal, signed(revision))
        }
        Compare::Lease(key, lease) => VendorCompare::lease(key, CompareOp::Equal, lease.0),
    }
}

fn operation(op: Op) -> TxnOp {
    match op {
        Op::Put { key, value, lease } => {
            let options = lease.map(|lease| PutOptions::new().with_lease(lease.0));
            TxnOp::put(key, value, options)
        }
        Op::Delete { key } => TxnOp::delete(key, None),
        Op::Get { key } => TxnOp::get(key, None),
    }
}

/// The answer to a read; `floor` if it was linearizable.
pub(super) fn range_answer(answer: GetResponse, history: &History, floor: Option<Floor>) -> RangeAnswer {
    let (cluster, number) =
        answer.header().map_or((0, 0), |header| (header.cluster_id(), unsigned(header.revision())));
    let revision = match floor {
        Some(floor) => history.linearizable(cluster, number, floor),
        None => history.stale(cluster, number),
    };
    let more = answer.more();
    RangeAnswer { revision, kvs: answer.0.kvs.into_iter().map(kv).collect(), more }
}

/// The answer to a transaction.
pub(super) fn txn_answer(answer: TxnResponse, history: &History, floor: Floor) -> TxnAnswer {
    let (cluster, number) =
        answer.header().map_or((0, 0), |header| (header.cluster_id(), unsigned(header.revision())));
    let revision = history.linearizable(cluster, number, floor);
    let answers = answer.0.responses.into_iter().filter_map(op_answer).collect();
    TxnAnswer { succeeded: answer.0.succeeded, revision, answers }
}

fn op_answer(op: PbResponseOp) -> Option<OpAnswer> {
    Some(match op.response? {
        PbTxnOpResponse::ResponsePut(_) => OpAnswer::Put,
        PbTxnOpResponse::ResponseDeleteRange(deleted) => OpAnswer::Deleted(unsigned(deleted.deleted)),
        PbTxnOpResponse::ResponseRange(range) => OpAnswer::Got(range.kvs.into_iter().map(kv).collect()),
        // None is sent.
        PbTxnOpResponse::ResponseTxn(_) => return None,
    })
}

/// A key as the protocol has it.
pub(super) fn kv(kv: PbKeyValue) -> Kv {
    Kv {
        key: kv.key,
        value: kv.value,
        create_revision: unsigned(kv.create_revision),
        mod_revision: unsigned(kv.mod_revision),
        lease: LeaseId::from_wire(kv.lease),
    }
}

/// A revision of the protocol. None is negative.
pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A revision for the protocol. None is that large.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
