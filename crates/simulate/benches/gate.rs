//! The simulator's cases for `cargo xtask bench --gate`: `--list` names them, `CASE N` simulates N requests (or does N
//! times what else the case is), anything else does nothing. `--heaps` names what is weighed: what one of it is called,
//! and twice a case and how many of it that has.

mod events;
mod scene;
mod whole;

use scene::Scene;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => {
            Scene::all().iter().for_each(|scene| println!("{}", scene.name()));
            whole::CASES.iter().for_each(|(name, _)| println!("{name}"));
        }
        ["--heaps"] => whole::HEAPS.iter().for_each(|(what, [few, many])| {
            println!("{what}\tprocesses/{few}\t{few}\tprocesses/{many}\t{many}");
        }),
        [name, times] => {
            let Ok(times) = times.parse() else { return };
            let processes = name.strip_prefix("processes/").and_then(|count| count.parse().ok());
            let scene = Scene::all().into_iter().find(|scene| scene.name() == name);
            let case = whole::CASES.iter().find(|(case, _)| *case == name);
            match (processes, scene, case) {
                (Some(count), ..) => whole::processes(count),
                (_, Some(scene), _) => scene.begin().complete(times),
                (.., Some((_, case))) => case(times),
                (None, None, None) => {}
            }
        }
        _ => {}
    }
}
