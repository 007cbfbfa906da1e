use std::path::PathBuf;

use registry_core::ErrorKind;
use tempfile::TempDir;

use super::*;

struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn field(config: &TlsConfig) -> String {
    match load(config).unwrap_err().kind() {
        ErrorKind::InvalidArgument { field } => field.clone(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn good_files_are_taken_and_bad_ones_are_named() {
    let files = Files::new();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = files.write("cert.pem", made.cert.pem());
    let key = files.write("key.pem", made.signing_key.serialize_pem());
    let garbage = files.write("garbage.pem", "not a certificate");
    let armoured = files.write(
        "armoured.pem",
        "-----BEGIN CERTIFICATE-----\nbm90IGEgY2VydGlmaWNhdGU=\n-----END CERTIFICATE-----\n",
    );

    let good = TlsConfig::new(&cert).with_identity(&cert, &key).with_domain("localhost");
    assert!(load(&good).is_ok());
    assert_eq!(field(&TlsConfig::default()), "tls.ca");
    assert_eq!(field(&TlsConfig::new(files.folder.path().join("missing.pem"))), "tls.ca");
    assert_eq!(field(&TlsConfig::new(&garbage)), "tls.ca");
    assert_eq!(field(&TlsConfig::new(&armoured)), "tls.ca", "PEM around something else");
    assert_eq!(field(&TlsConfig::new(&cert).with_identity(&garbage, &key)), "tls.cert");
    assert_eq!(field(&TlsConfig::new(&cert).with_identity(&cert, &garbage)), "tls.key");
}
