//! The fuzz targets (`fuzz`) without a fuzzer: every file of their corpora, and mutations of it, truncated or with
//! changed bytes. The corpora contain the inputs that once caused a failure.

use std::fs;
use std::path::Path;

use clotho_core::clock::SplitMix64;
use clotho_plugin::STACK_BYTES;

#[path = "../../fuzz/src/lib.rs"]
mod targets;

/// Mutations of each file.
const VARIANTS: usize = 60;

/// No input panics, and each target's invariants hold.
#[test]
fn fuzz_corpus_and_mutations_do_not_panic() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, target) in targets::TARGETS {
        let mut files: Vec<_> = fs::read_dir(corpora.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has a corpus");
        // Deeply nested input is read on threads with this stack size.
        let run = move || {
            let mut random = SplitMix64::new(8);
            for file in files {
                let bytes = fs::read(&file).unwrap();
                target(&bytes);
                for _ in 0..VARIANTS {
                    target(&mutate_bytes(&bytes, &mut random));
                }
            }
        };
        std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap();
    }
}

/// Returns a mutation of the bytes: truncated, or with some of them changed.
fn mutate_bytes(bytes: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = |random: &mut SplitMix64, length: usize| {
        usize::try_from(random.next_below(u64::try_from(length.max(1)).unwrap())).unwrap()
    };
    if random.next_below(3) == 0 {
        bytes.truncate(place(random, bytes.len()));
    }
    for _ in 0..random.next_below(4) {
        let at = place(random, bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = u8::try_from(random.next_below(256)).unwrap();
        }
    }
    bytes
}
