use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use registry_core::ErrorKind;
use registry_testkit::etcd::TlsFiles;
use tempfile::TempDir;

use super::*;
use crate::config::TlsConfig;

async fn guarded(ttl: &str) -> EtcdCluster {
    let cluster = EtcdCluster::builder().auth("root-pw").extra_arg(ttl).start().await.unwrap();
    for args in [
        &["role", "add", "reader"][..],
        &["role", "grant-permission", "reader", "readwrite", "mine/", "mine0"],
        &["user", "add", "app:app-pw"],
        &["user", "grant-role", "app", "reader"],
    ] {
        cluster.ctl(args).await.unwrap();
    }
    cluster
}

fn login(cluster: &EtcdCluster, user: &str, password: &str) -> Session {
    Session::open(&config(cluster).with_auth(user, password)).unwrap()
}

fn mine() -> RangeRequest {
    RangeRequest::of(KeyRange::prefix("mine/"))
}

#[tokio::test]
async fn refused_credentials_are_final_for_calls_heartbeats_and_watches() {
    let cluster = guarded("--auth-token-ttl=300").await;
    let wrong = login(&cluster, "app", "guess");
    let error = wrong.range(mine(), SOON).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unauthenticated);
    assert!(!error.is_retryable());
    let error = wrong.renew(LeaseId(7), SOON).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unauthenticated);
    assert!(matches!(end(&mut wrong.follow(KeyRange::prefix("mine/"), 1)).await, FollowEnd::Denied(_)));

    let nobody = open(&cluster);
    assert_eq!(*nobody.range(mine(), SOON).await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert!(matches!(end(&mut nobody.follow(KeyRange::prefix("mine/"), 1)).await, FollowEnd::Denied(_)));

    let app = login(&cluster, "app", "app-pw");
    let at = app.range(mine(), SOON).await.unwrap().revision.number();
    assert_eq!(*read(&app, "theirs/1").await.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let mut feed = app.follow(KeyRange::prefix("mine/"), at);
    live(&mut feed).await;
    assert!(matches!(end(&mut app.follow(KeyRange::prefix("theirs/"), at)).await, FollowEnd::Denied(_)));
    write(&app, "mine/1", "v").await;
    assert_eq!(batch(&mut feed).await.1, 1, "a watch that is denied harms no other");
}

#[tokio::test]
async fn a_refused_login_is_tried_anew_by_the_next_call() {
    let cluster = guarded("--auth-token-ttl=300").await;
    let late = login(&cluster, "late", "late-pw");
    assert_eq!(*late.range(mine(), SOON).await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    assert_eq!(*late.renew(LeaseId(7), SOON).await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    cluster.ctl(&["user", "add", "late:late-pw"]).await.unwrap();
    cluster.ctl(&["user", "grant-role", "late", "reader"]).await.unwrap();
    late.range(mine(), SOON).await.unwrap();
    assert_eq!(late.renew(LeaseId(7), SOON).await.unwrap(), None);
    live(&mut late.follow(KeyRange::prefix("mine/"), 1)).await;
}

#[tokio::test]
async fn an_outdated_login_is_renewed_once_and_watches_go_on() {
    // A simple token that is not used dies after this many seconds.
    let cluster = guarded("--auth-token-ttl=1").await;
    let app = login(&cluster, "app", "app-pw");
    let at = app.range(mine(), SOON).await.unwrap().revision.number();
    let lease = app.grant(Duration::from_mins(1)).await.unwrap().lease;
    app.renew(lease, SOON).await.unwrap();
    let mut old = app.follow(KeyRange::prefix("mine/"), at);
    live(&mut old).await;
    sleep(Duration::from_secs(3)).await;
    let written = write(&app, "mine/1", "v").await;
    app.renew(lease, SOON).await.unwrap();
    assert_eq!(batch(&mut old).await.0, written);

    // The stream's login is too old for another watch: it is replaced, and each watch resumes.
    sleep(Duration::from_secs(3)).await;
    let mut new = app.follow(KeyRange::prefix("mine/"), at);
    let seen = match next(&mut new).await {
        Ok(FeedEvent::Batch { revision, .. }) => Ok(revision.number()),
        Ok(other) => panic!("{other:?}"),
        Err(end) => Err(end),
    };
    match seen {
        Err(FollowEnd::Disconnected(_)) => {
            assert!(matches!(end(&mut old).await, FollowEnd::Disconnected(_)));
            let mut again = app.follow(KeyRange::prefix("mine/"), at);
            assert_eq!(batch(&mut again).await.0, written);
        }
        // This version looks at the login only when the stream is opened.
        Ok(revision) => assert_eq!(revision, written),
        Err(end) => panic!("{end:?}"),
    }
}

#[tokio::test]
async fn a_login_is_not_needed_where_authentication_is_off() {
    let cluster = one().await;
    login(&cluster, "app", "app-pw").range(mine(), SOON).await.unwrap();
}

#[tokio::test]
async fn authentication_switched_on_later_is_noticed() {
    let cluster = one().await;
    let app = login(&cluster, "root", "root-pw");
    app.range(mine(), SOON).await.unwrap();
    cluster.enable_auth("root-pw").await.unwrap();
    app.range(mine(), SOON).await.unwrap();
}

struct Authority {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
    ca: PathBuf,
}

impl Authority {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = write_file(folder.path(), "ca.pem", &issuer.pem());
        Self { folder, issuer, ca }
    }

    fn certify(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), name.to_owned()]).unwrap();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let folder = self.folder.path();
        let cert = write_file(folder, &format!("{name}.pem"), &cert.pem());
        (cert, write_file(folder, &format!("{name}.key"), &key.serialize_pem()))
    }
}

fn write_file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[tokio::test]
async fn tls_is_mutual_where_it_is_asked_for() {
    let authority = Authority::new();
    let (cert, key) = authority.certify("server");
    let files = TlsFiles { cert, key, ca: authority.ca.clone(), client_cert_auth: true };
    let cluster = EtcdCluster::builder().tls(files).start().await.unwrap();
    let with = |tls: TlsConfig| Session::open(&config(&cluster).with_tls(tls)).unwrap();

    let (cert, key) = authority.certify("client");
    let good = with(TlsConfig::new(&authority.ca).with_identity(&cert, &key));
    write(&good, "k", "v").await;
    let mut feed = good.follow(KeyRange::one("k"), 1);
    batch(&mut feed).await;
    let named = with(TlsConfig::new(&authority.ca).with_identity(&cert, &key).with_domain("server"));
    read(&named, "k").await.unwrap();

    let error = read(&with(TlsConfig::new(&authority.ca)), "k").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unauthenticated, "no certificate: {error:?}");
    let other = Authority::new();
    let (cert_2, key_2) = other.certify("client");
    let error =
        read(&with(TlsConfig::new(&authority.ca).with_identity(&cert_2, &key_2)), "k").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unauthenticated, "another authority's: {error:?}");
    let error = read(&with(TlsConfig::new(&other.ca).with_identity(&cert, &key)), "k").await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }), "{error:?}");
    let renamed = with(TlsConfig::new(&authority.ca).with_identity(&cert, &key).with_domain("elsewhere"));
    assert!(matches!(read(&renamed, "k").await.unwrap_err().kind(), ErrorKind::Unavailable { .. }));
}

#[test]
fn what_cannot_work_is_found_without_a_network() {
    let folder = TempDir::new().unwrap();
    let garbage = write_file(folder.path(), "ca.pem", "garbage");
    let field = |config: &EtcdConfig| match Session::open(config).unwrap_err().kind() {
        ErrorKind::InvalidArgument { field } => field.clone(),
        kind => panic!("{kind:?}"),
    };
    assert_eq!(field(&EtcdConfig::new([] as [&str; 0])), "endpoints");
    assert_eq!(field(&EtcdConfig::new(["http://a:1", "https://b:1"])), "endpoints");
    assert_eq!(field(&EtcdConfig::new(["https://a:1"]).with_tls(TlsConfig::new(&garbage))), "tls.ca");
    let authority = Authority::new();
    let (cert, _) = authority.certify("one");
    let (_, key) = authority.certify("two");
    let mismatched = TlsConfig::new(&authority.ca).with_identity(&cert, &key);
    assert_eq!(field(&EtcdConfig::new(["a"]).with_tls(mismatched)), "tls");
    let mut ping = EtcdConfig::new(["a"]);
    ping.http2_ping = Some(Duration::from_secs(1));
    assert_eq!(field(&ping), "http2_ping");
    assert!(
        Session::open(&EtcdConfig::new(["a", "a:2379", "http://a:2379"])).is_ok(),
        "one member, named thrice"
    );
}

#[test]
fn secrets_are_not_printed() {
    let config = EtcdConfig::new(["a"]).with_auth("app", "hush");
    let session = Session::open(&config).unwrap();
    assert!(!format!("{config:?} {session:?}").contains("hush"));
}
