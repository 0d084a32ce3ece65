#![no_main]

// The library that reads tokenizers panics for some files, and the program catches that. The fuzzer's own hook would
// end it there; a panic that nobody catches still does.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| clotho_fuzz::tokenizer(bytes)
);
