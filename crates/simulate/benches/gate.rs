//! The simulator's cases for `cargo xtask bench --gate`: `--list` names them, `CASE N` simulates N requests, anything
//! else does nothing.

mod scene;

use scene::Scene;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--list"] => Scene::all().iter().for_each(|scene| println!("{}", scene.name())),
        [name, requests] => {
            let scene = Scene::all().into_iter().find(|scene| scene.name() == name);
            if let (Some(scene), Ok(requests)) = (scene, requests.parse()) {
                scene.begin().complete(requests);
            }
        }
        _ => {}
    }
}
