//! protoc, which the build of the etcd client asks for.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::apt::Archive;
use super::{Origin, Tool};
use crate::workspace::{on_path, output, program, tools};

/// The packages bring the compiler, its libraries and the well-known types; the script lets it find them.
const SCRIPT: &str = "#!/bin/sh
# protoc of this folder with the libraries that came with it.
here=$(CDPATH='' cd -- \"$(dirname -- \"$0\")\" && pwd) || exit 1
for folder in \"$here\"/usr/lib/*; do
    [ -d \"$folder\" ] && LD_LIBRARY_PATH=\"$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"
done
export LD_LIBRARY_PATH
exec \"$here/usr/bin/protoc\" \"$@\"
";

pub(super) fn private() -> PathBuf {
    tools().join("protoc").join("protoc")
}

pub(super) fn ensure(archive: &mut Archive) -> Result<Tool> {
    let private = private();
    // Cargo sets PROTOC for this very process once tools.toml names the private one.
    let named = env::var_os("PROTOC").map(PathBuf::from).filter(|path| *path != private);
    if let Some(path) = named {
        return found(path, Origin::Variable).context("PROTOC names a protoc that does not run");
    }
    if let Some(path) = on_path("protoc") {
        return found(path, Origin::Path);
    }
    if let Ok(tool) = found(private.clone(), Origin::Private) {
        return Ok(tool);
    }
    fetch(archive).and_then(|()| found(private, Origin::Private)).map_err(|why| {
        why.context("install protoc (the package protobuf-compiler or protobuf) or name one with PROTOC")
    })
}

fn found(path: PathBuf, origin: Origin) -> Result<Tool> {
    let words = output(&mut program(&path, &["--version"]))?;
    let version = words.split_whitespace().last().context("protoc tells no version")?.to_owned();
    Ok(Tool { path, version, origin })
}

fn fetch(archive: &mut Archive) -> Result<()> {
    eprintln!("setup: fetching protoc");
    let suite = archive.own_suite()?;
    let mut packages = suite.with_missing_dependencies("protobuf-compiler")?;
    if suite.version("libprotobuf-dev").is_ok() {
        packages.push("libprotobuf-dev".to_owned());
    }
    let folder = archive.scratch("protoc")?;
    suite.unpack(&packages, &folder)?;
    let script = folder.join("protoc");
    fs::write(&script, SCRIPT)?;
    make_executable(&script)?;
    let place = tools().join("protoc");
    super::remove(&place)?;
    fs::rename(&folder, &place)?;
    Ok(())
}

fn make_executable(file: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
    }
    let _ = file;
    Ok(())
}
