//! A case per row of the table, and the order in which text, cause and code count.

use super::*;

fn of(code: Code, text: &str) -> Fault {
    classify(VendorError::GRpcStatus(Status::new(code, text)))
}

/// What the next step depends on, in short.
fn short(fault: Fault) -> (&'static str, &'static str) {
    let step = match &fault {
        Fault::Unprocessed(_) => "elsewhere",
        Fault::Lost(_) => "unknown",
        Fault::Refused(_) => "final",
        Fault::Token(_) => "login",
    };
    (step, fault.into_error().kind().name())
}

/// One named test per row, so that a wrong row is named by the run.
macro_rules! rows {
    ($($name:ident: $code:ident, $text:literal => $step:literal, $kind:literal;)*) => {$(
        #[test]
        fn $name() {
            assert_eq!(short(of(Code::$code, $text)), ($step, $kind));
        }
    )*};
}

rows! {
    token_expired: Unauthenticated, "etcdserver: invalid auth token" => "login", "Unauthenticated";
    token_expired_without_its_code: Unknown, "etcdserver: invalid auth token" => "login", "Unauthenticated";
    users_changed_under_jwt: InvalidArgument, "etcdserver: revision of auth store is old" => "login", "Unauthenticated";
    anonymous_under_auth: InvalidArgument, "etcdserver: user name is empty" => "login", "Unauthenticated";
    wrong_password: InvalidArgument, "etcdserver: authentication failed, invalid user ID or password"
        => "final", "Unauthenticated";
    permission_denied: PermissionDenied, "etcdserver: permission denied" => "final", "PermissionDenied";
    compacted: OutOfRange, "etcdserver: mvcc: required revision has been compacted" => "final", "Unavailable";
    from_the_future: OutOfRange, "etcdserver: mvcc: required revision is a future revision" => "final", "Unavailable";
    no_space: ResourceExhausted, "etcdserver: mvcc: database space exceeded" => "final", "ResourceExhausted";
    overload: Unknown, "etcdserver: too many requests" => "final", "ResourceExhausted";
    lease_not_found: NotFound, "etcdserver: requested lease not found" => "final", "NotRegistered";
    ttl_too_large: OutOfRange, "etcdserver: too large lease TTL" => "final", "InvalidArgument";
    request_too_large: InvalidArgument, "etcdserver: request is too large" => "final", "InvalidArgument";
    answer_too_large: OutOfRange, "Error, decoded message length too large: found 9 bytes, the limit is: 4 bytes"
        => "final", "ResourceExhausted";
    too_many_operations: InvalidArgument, "etcdserver: too many operations in txn request" => "final", "Internal";
    key_twice: InvalidArgument, "etcdserver: duplicate key given in txn request" => "final", "Internal";
    no_leader: Unavailable, "etcdserver: no leader" => "elsewhere", "Unavailable";
    corrupt: DataLoss, "etcdserver: corrupt cluster" => "elsewhere", "Unavailable";
    learner: Unavailable, "etcdserver: rpc not supported for learner" => "elsewhere", "Unavailable";
    not_capable: Unavailable, "etcdserver: not capable" => "elsewhere", "Unavailable";

    leader_changed: Unavailable, "etcdserver: leader changed" => "unknown", "Unavailable";
    server_timed_out: Unavailable, "etcdserver: request timed out" => "unknown", "Unavailable";
    leader_failed: Unavailable, "etcdserver: request timed out, possibly due to previous leader failure"
        => "unknown", "Unavailable";
    server_stopped: Unavailable, "etcdserver: server stopped" => "unknown", "Unavailable";
    stream_died: Unknown, "h2 protocol error: error reading a body from connection" => "unknown", "Unavailable";
    cancelled: Cancelled, "operation was canceled" => "unknown", "Unavailable";

    code_permission_denied: PermissionDenied, "?" => "final", "PermissionDenied";
    code_unauthenticated: Unauthenticated, "?" => "login", "Unauthenticated";
    code_resource_exhausted: ResourceExhausted, "?" => "final", "ResourceExhausted";
    code_invalid_argument: InvalidArgument, "?" => "final", "InvalidArgument";
    code_out_of_range: OutOfRange, "?" => "final", "InvalidArgument";
    code_not_found: NotFound, "?" => "final", "NotRegistered";
    code_unimplemented: Unimplemented, "?" => "final", "Unsupported";
    code_failed_precondition: FailedPrecondition, "?" => "final", "Internal";
    code_already_exists: AlreadyExists, "?" => "final", "Internal";
    code_unavailable: Unavailable, "?" => "unknown", "Unavailable";
    code_deadline_exceeded: DeadlineExceeded, "?" => "unknown", "Unavailable";
    code_unknown: Unknown, "?" => "unknown", "Unavailable";
}

fn broken_by(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Fault {
    // As tonic builds it: the cause stands below the status, the code says little.
    classify(VendorError::GRpcStatus(Status::from_error(cause.into())))
}

#[test]
fn a_refused_connect_was_never_sent() {
    let refused = ConnectError(std::io::Error::other("connection refused").into());
    assert_eq!(short(broken_by(refused)), ("elsewhere", "Unavailable"));
}

#[test]
fn our_certificate_refused_is_final() {
    for alert in [
        "AccessDenied",
        "BadCertificate",
        "CertificateExpired",
        "CertificateRequired",
        "CertificateRevoked",
        "CertificateUnknown",
        "UnknownCA",
        "UnsupportedCertificate",
    ] {
        let cause = std::io::Error::other(format!("received fatal alert: {alert}"));
        assert_eq!(short(broken_by(cause)), ("final", "Unauthenticated"), "{alert}");
    }
}

#[test]
fn a_server_certificate_that_is_not_accepted_may_be_renewed() {
    let cause = ConnectError(std::io::Error::other("invalid peer certificate: Expired").into());
    assert_eq!(short(broken_by(cause)), ("elsewhere", "Unavailable"));
}

#[test]
fn history_gone_is_told_apart() {
    let gone = of(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted").into_error();
    assert!(is_history_gone(&gone));
    assert!(!is_history_gone(&of(Code::Unavailable, "etcdserver: no leader").into_error()));
}

#[test]
fn only_refused_credentials_end_a_watch_for_good() {
    let end = |text| classify_watch(text).into_end();
    assert!(matches!(end("etcdserver: permission denied"), FollowEnd::Denied(_)));
    assert!(matches!(end("etcdserver: invalid auth token"), FollowEnd::Disconnected(_)));
    assert!(matches!(end("etcdserver: mvcc: database space exceeded"), FollowEnd::Disconnected(_)));
    assert!(matches!(end("something new"), FollowEnd::Disconnected(_)));
}

#[test]
fn the_servers_text_stands_in_the_cause() {
    let error = of(Code::PermissionDenied, "etcdserver: permission denied").into_error();
    assert!(error.source().is_some_and(|cause| cause.to_string().contains("etcdserver: permission denied")));
    assert!(!error.to_string().contains("etcdserver"));
}
