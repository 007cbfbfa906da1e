//! Short ways to say names and instances in tests.

use registry_core::{Endpoint, ErrorKind, InstanceId, InstanceSpec, Metadata, ServiceName, Version};

/// A service's name.
pub fn service(name: &str) -> ServiceName {
    ServiceName::new(name).expect("a service name")
}

/// An instance's id.
pub fn id(name: &str) -> InstanceId {
    InstanceId::new(name).expect("an instance id")
}

/// An interface version.
pub fn version(name: &str) -> Version {
    Version::new(name).expect("a version")
}

/// An instance that listens at this port.
pub fn spec(port: u16) -> InstanceSpec {
    InstanceSpec::new(Endpoint::new("http", "10.0.0.1", port).expect("an endpoint"))
}

/// An instance that can be told from others by one pair of metadata.
pub fn tagged(key: &str, value: impl Into<String>) -> InstanceSpec {
    let mut metadata = Metadata::new();
    metadata.insert(key, value).expect("metadata");
    spec(80).with_metadata(metadata)
}

/// The field that an `InvalidArgument` names.
pub fn invalid_field(error: &registry_core::Error) -> Option<&str> {
    match error.kind() {
        ErrorKind::InvalidArgument { field } => Some(field),
        _ => None,
    }
}

/// Asserts that a call was refused with an error of this kind, and gives the error.
#[macro_export]
macro_rules! refused {
    ($answer:expr, $kind:pat) => {
        match $answer {
            Err(error) if matches!(error.kind(), $kind) => error,
            other => panic!("{} is asked for, not {other:?}", stringify!($kind)),
        }
    };
}
