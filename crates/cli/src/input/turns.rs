//! A verb on each disk of a scene in turn.

use blksched_lab::Scene;
use blksched_lab::scene::Stage;

use super::on_disk::OnDisk;
use crate::failure::Failure;
use crate::output;

/// Calls `of` for each disk in turn; texts are separated by an empty line, JSON by nothing. `single` lists options,
/// with whether they were given, that allow only one disk.
pub(crate) fn in_turn(
    scene: &Scene,
    single: &[(bool, &str)],
    json: bool,
    mut of: impl FnMut(Stage) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for (nth, stage) in Stage::each(scene, &OnDisk, single)?.into_iter().enumerate() {
        if nth > 0 && !json {
            output::print("\n")?;
        }
        of(stage)?;
    }
    Ok(())
}
