//! Certificates for tests: an authority of their own, a server's for 127.0.0.1, a client's.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr},
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use tempfile::TempDir;

use super::{HarnessError, TlsFiles};

/// PEM files in a temporary folder, newly made and removed with this. Two of them trust each other's
/// certificates in nothing.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes an authority, a server's certificate for 127.0.0.1 and `localhost`, and a client's whose common
    /// name is `client_name` (etcd under authentication takes it for the user).
    pub fn new(client_name: &str) -> Result<Self, HarnessError> {
        let folder = tempfile::Builder::new()
            .prefix("registry-certificates-")
            .tempdir()
            .map_err(HarnessError::io("make a temporary folder"))?;
        write(folder.path(), client_name).map_err(HarnessError::io("make certificates"))?;
        Ok(Self { folder })
    }

    /// What a cluster is asked for.
    pub fn server(&self, client_cert_auth: bool) -> TlsFiles {
        let (cert, key) = (self.file("server.pem"), self.file("server.key"));
        TlsFiles { cert, key, ca: self.ca(), client_cert_auth }
    }

    /// The authority's certificate.
    pub fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// The client's certificate.
    pub fn client_cert(&self) -> PathBuf {
        self.file("client.pem")
    }

    /// The client's key.
    pub fn client_key(&self) -> PathBuf {
        self.file("client.key")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn write(folder: &Path, client_name: &str) -> io::Result<()> {
    let mut params = named("registry tests");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let authority = params.self_signed(&key).map_err(io::Error::other)?;
    fs::write(folder.join("ca.pem"), authority.pem())?;
    let authority = Issuer::new(params, key);

    // A server's certificate that is a client's too: etcd presents it to itself.
    let mut server = named("server");
    let localhost = "localhost".try_into().map_err(io::Error::other)?;
    server.subject_alt_names =
        vec![SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)), SanType::DnsName(localhost)];
    server.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    let mut client = named(client_name);
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    for (name, mut params) in [("server", server), ("client", client)] {
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let cert = params.signed_by(&key, &authority).map_err(io::Error::other)?;
        fs::write(folder.join(format!("{name}.pem")), cert.pem())?;
        fs::write(folder.join(format!("{name}.key")), key.serialize_pem())?;
    }
    Ok(())
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}
