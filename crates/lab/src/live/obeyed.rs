//! What an arm sets and nothing would obey.

use super::{LiveArm, LiveMachine, Place, group};

/// Refuses arms that set what nothing obeys: weights and figures of io.cost where it is off under the same arm.
///
/// # Errors
/// Which, and what would have it obeyed.
pub fn check_cost(machine: &mut impl LiveMachine, arms: &[LiveArm]) -> Result<(), String> {
    let qos = Place::Group { group: String::new(), file: "io.cost.qos".to_owned() };
    for arm in arms {
        let is_of_cost = |file: &str| file == "io.weight" || file == "io.cost.model";
        let needs = |(place, _): &&(Place, String)| matches!(place, Place::Group { file, .. } if is_of_cost(file));
        let Some((place, _)) = arm.groups().find(needs) else { continue };
        let now = machine.read(&qos).unwrap_or_default();
        let set =
            arm.groups().find(|(place, _)| *place == qos).map(|(_, value)| group::merged("io.cost.qos", &now, value));
        if group::get(&set.unwrap_or(now), "enable") == Some("1") {
            continue;
        }
        let instead = match place {
            Place::Group { group, file } if file == "io.weight" => {
                format!("; or the weight that bfq obeys, `bfq:{group}/io.bfq.weight=…`")
            }
            _ => String::new(),
        };
        return Err(format!(
            "`{arm}`: {} is io.cost's, which is off on this disk under that setting, so nothing would obey it: \
             expected `io.cost.qos=enable=1` in the same setting{instead}",
            place.path()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::simulated::SimulatedMachine;

    #[test]
    fn what_only_io_cost_obeys_is_refused_where_it_is_off() {
        let qos = Place::of_path("io.cost.qos");
        let check = |was: &str, arm: &str| {
            let mut machine = SimulatedMachine::new(1);
            machine.write(&qos, was).unwrap();
            check_cost(&mut machine, &[LiveArm::parse("none").unwrap(), LiveArm::parse(arm).unwrap()])
        };
        let (off, on) = ("enable=0", "enable=1");
        let weight = check(off, "none:web/io.weight=300").unwrap_err();
        assert!(weight.starts_with("`none:web/io.weight=300`: web/io.weight is io.cost's, which is off"), "{weight}");
        assert!(weight.contains("expected `io.cost.qos=enable=1` in the same setting"), "{weight}");
        assert!(weight.contains("`bfq:web/io.bfq.weight=…`"), "{weight}");
        let model = check(off, "none:io.cost.model=rbps=1000000").unwrap_err();
        assert!(model.contains("io.cost.model is io.cost's") && !model.contains("bfq"), "{model}");
        assert!(check(on, "none:io.cost.qos=enable=0:web/io.weight=300").is_err());
        assert!(check(off, "none:io.cost.qos=min=50:web/io.weight=300").is_err());
        for (was, arm) in [
            (on, "none:web/io.weight=300"),
            (on, "none:io.cost.qos=min=50:web/io.weight=300"),
            (off, "none:io.cost.qos=enable=1:web/io.weight=300"),
            (off, "none:web/io.max=rbps=1000000"),
            (off, "bfq:web/io.bfq.weight=300"),
        ] {
            assert_eq!(check(was, arm), Ok(()), "{was} {arm}");
        }
    }
}
