//! The files of TLS: read and checked, so that a bad one is found where it is named.

use std::path::Path;

use etcd_client::{Certificate, Identity, TlsOptions};
use registry_core::{Error, Result};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsConfig;

/// Reads the files. They are read for each connection, so that renewed ones need no restart.
pub(super) fn load(config: &TlsConfig) -> Result<TlsOptions> {
    let mut options = TlsOptions::new();
    let Some(ca) = &config.ca else {
        return Err(Error::invalid(
            "tls.ca",
            "is missing: name the authority that the members' certificates come from",
        ));
    };
    options = options.ca_certificate(Certificate::from_pem(authority(ca)?));
    if let (Some(cert), Some(key)) = (&config.cert, &config.key) {
        options = options.identity(Identity::from_pem(certificate(cert)?, private_key(key)?));
    }
    if let Some(domain) = &config.domain {
        options = options.domain_name(domain.clone());
    }
    Ok(options)
}

fn authority(path: &Path) -> Result<Vec<u8>> {
    let (pem, certificates) = certificates("tls.ca", path)?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots
            .add(certificate)
            .map_err(|error| wrong("tls.ca", path, "a certificate of an authority", error))?;
    }
    Ok(pem)
}

fn certificate(path: &Path) -> Result<Vec<u8>> {
    certificates("tls.cert", path).map(|(pem, _)| pem)
}

fn private_key(path: &Path) -> Result<Vec<u8>> {
    let pem = read("tls.key", path)?;
    PrivateKeyDer::from_pem_slice(&pem)
        .map_err(|error| wrong("tls.key", path, "a PEM private key", error))?;
    Ok(pem)
}

fn certificates(field: &'static str, path: &Path) -> Result<(Vec<u8>, Vec<CertificateDer<'static>>)> {
    let pem = read(field, path)?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(field, path, "PEM certificates", error))?;
    if found.is_empty() {
        return Err(Error::invalid(field, format!("{} holds no PEM certificate", path.display())));
    }
    Ok((pem, found))
}

fn read(field: &'static str, path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| Error::invalid(field, format!("cannot read {}", path.display())).with_source(error))
}

fn wrong<E>(field: &'static str, path: &Path, wanted: &str, error: E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    Error::invalid(field, format!("{} does not hold {wanted}", path.display())).with_source(error)
}

#[cfg(test)]
mod tests;
