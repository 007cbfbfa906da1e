//! `registryctl demo`: the life of three instances, watched by a caller. It is the real thing running, and it checks
//! what it shows.

mod acts;
mod caller;
mod process;
mod promises;
mod recording;
mod timeline;
mod world;

use serde_json::json;

use self::promises::Promises;
use self::timeline::{Timeline, told};
use self::world::World;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::output::view::SnapshotView;

/// Without a target the registry is embedded. The variable for targets is not looked at: a first look must not write
/// into somebody's production.
pub(crate) async fn run(target: Option<&str>, output: Output) -> Outcome {
    let world = World::new(target.unwrap_or("memory:"))?;
    let timeline = Timeline::begin(output);
    let mut promises = Promises::new();
    timeline.head(&format!(
        "Three instances of {:?} register at {}, a caller follows them: one drains and leaves, one is killed, one \
         loses its lease and heals. TTL {}.",
        world.service.as_str(),
        world.shown,
        told(acts::TTL)
    ))?;
    let last = acts::play(&world, &timeline, &mut promises).await?;
    let (kept, broken) = (promises.kept(), promises.broken());
    if output.is_json() {
        output.json_line(&json!({ "kept": kept, "broken": broken, "last": SnapshotView::from(&*last) }))?;
    } else {
        output.line("")?;
        output.instances(&last)?;
        output.line("")?;
    }
    if broken.is_empty() {
        if !output.is_json() {
            let took = told(timeline.elapsed());
            output.line(&format!("{kept} promises of the contract were checked, all were kept. {took}."))?;
        }
        return Ok(0);
    }
    Err(Failure::error(format!("{} of {} promises were broken", broken.len(), kept + broken.len())).next(
        "on a machine that is busy run it again; if it stays, please report it with the lines marked BROKEN",
    ))
}
