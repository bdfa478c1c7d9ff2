//! No description of a disk panics, whatever became of its bytes: it can be built, or the error names the file.

use std::path::Path;

use blksched_disks::disksim::import;

/// SplitMix64.
fn draw(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33) as usize
}

/// Bytes changed and dropped, digits added, lines repeated.
fn mutate(text: &str, state: &mut u64) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=draw(state) % 5 {
        let at = draw(state) % bytes.len();
        match draw(state) % 4 {
            0 => bytes[at] = draw(state) as u8 & 0x7f,
            1 => bytes.insert(at, b'0' + (draw(state) % 10) as u8),
            2 => drop(bytes.remove(at)),
            _ => {
                let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
                let twice = lines[at % lines.len()].to_vec();
                bytes.push(b'\n');
                bytes.extend(twice);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_presets_can_be_built_or_are_refused_by_name() {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/disksim");
    let imported = import(&files.join("hp_c3323a.model")).unwrap();
    let texts = [
        &imported,
        include_str!("../../presets/hdd-7200-ideal.toml"),
        include_str!("../../presets/ide-2002.toml"),
        include_str!("../../presets/nvme-ssd-ideal.toml"),
        include_str!("../../presets/sata-ssd-ideal.toml"),
        include_str!("../../presets/fixed.toml"),
        include_str!("../../presets/null.toml"),
        "kind = \"raid\"\ndescription = \"\"\nlevel = \"5\"\nmembers = [\"hdd-7200-ideal\", \"ide-2002\", \"fixed\"]\n\
         chunk = \"64KiB\"\n[[fault]]\naction = \"slow\"\nafter = \"5ms\"\nop = \"read\"\nnth = 3\n\
         [delay]\ntime = \"1ms\"\njitter = \"20us\"\n[tracer]\nkeep = 64\n",
    ];
    texts.iter().for_each(|text| drop(blksched_disks::parse("whole.toml", text).unwrap()));
    let mut state = 1;
    for nth in 0..1600 {
        let text = mutate(texts[nth % texts.len()], &mut state);
        match blksched_disks::parse("mutated.toml", &text) {
            Ok(spec) => assert!(spec.build(1).facts().depth > 0),
            Err(error) => assert!(error.to_string().starts_with("mutated.toml:"), "{error}\n{text}"),
        }
    }
}
