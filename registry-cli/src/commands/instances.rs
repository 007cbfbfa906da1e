//! `registryctl instances SERVICE`

use registry_core::Query;

use super::Registry;
use crate::args::Instances;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::output::view::SnapshotView;
use crate::words::plain;

pub(super) async fn run(registry: &Registry, output: Output, asked: Instances) -> Outcome {
    let query = Query::from(asked.which);
    let snapshot = registry.discover(&query, asked.read.into()).await?;
    if output.is_json() {
        output.json(&SnapshotView::from(&*snapshot))?;
    } else if !snapshot.is_empty() {
        output.instances(&snapshot)?;
    }
    for rejected in snapshot.rejected.iter() {
        let how = if rejected.served { "corrected" } else { "passed over" };
        eprintln!("{how}: {}: {}", plain(&rejected.key), plain(&rejected.reason));
    }
    if snapshot.is_empty() {
        let version = query.version.map(|version| format!(" of version {version}")).unwrap_or_default();
        let why = format!("{} has no living instance{version}", query.service);
        return Err(Failure::not_found(why)
            .next("`registryctl services` lists what has; look also at the target's namespace and prefix"));
    }
    Ok(0)
}
