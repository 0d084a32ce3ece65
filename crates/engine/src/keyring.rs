//! Encryption of API keys in the database: ChaCha20-Poly1305 with a key in a file of its own, so that a copy of the
//! database alone reveals none of them.
//!
//! A sealed key is bound to its purpose: it cannot be opened for another provider or another address.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use clotho_config::Secret;

/// The file in the data directory. Backups do not contain it.
const KEY_FILE: &str = "provider.key";

/// The length of the encryption key, in bytes.
const KEY_LEN: usize = 32;

/// The first byte of a sealed key. Another format gets another number.
const FORMAT_VERSION: u8 = 1;

/// Why a key cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The key file cannot be read or written.
    #[error("{} cannot be used: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    /// The key file exists but contains no valid key.
    #[error("{} has changed: restore the original file, or delete it and enter the keys again", .0.display())]
    Damaged(PathBuf),
    /// The key was sealed with another key file, or for another purpose.
    #[error("the key was encrypted with another {KEY_FILE} than the one in the data folder: enter it again")]
    WrongKey,
    /// The system gives no randomness.
    #[error("the system provides no randomness: {0}")]
    Random(String),
}

/// Seals and opens API keys.
#[derive(Debug, Clone)]
pub struct Keyring {
    path: PathBuf,
}

impl Keyring {
    /// Returns the keyring of a data directory. No file is read or created before the first key.
    pub fn in_dir(data_dir: &Path) -> Self {
        Self { path: data_dir.join(KEY_FILE) }
    }

    /// Seals a key, bound to a purpose. The first call creates the key file.
    ///
    /// # Errors
    /// Returns an error if the key file cannot be created or read, or if there is no randomness.
    pub fn seal(&self, secret: &Secret, bound_to: &str) -> Result<Vec<u8>, KeyringError> {
        let key = match self.read_key_file() {
            Err(KeyringError::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                self.create_key_file()?
            }
            other => other?,
        };
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut text = secret.expose().as_bytes().to_vec();
        let sealed = key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound_to), &mut text);
        sealed.map_err(|_| KeyringError::WrongKey)?;
        Ok([&[FORMAT_VERSION], nonce.as_slice(), &text].concat())
    }

    /// Opens a sealed key for the same purpose.
    ///
    /// # Errors
    /// Returns an error if the key file is missing or another one, or if the key was sealed for another purpose.
    pub fn open(&self, sealed: &[u8], bound_to: &str) -> Result<Secret, KeyringError> {
        let (nonce, text) = match sealed.split_first() {
            Some((&FORMAT_VERSION, rest)) => rest.split_first_chunk::<NONCE_LEN>().ok_or(KeyringError::WrongKey)?,
            _ => return Err(KeyringError::WrongKey),
        };
        let key = match self.read_key_file() {
            Err(KeyringError::File { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
                return Err(KeyringError::WrongKey);
            }
            other => other?,
        };
        let mut text = text.to_vec();
        let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(bound_to), &mut text);
        let opened = opened.map_err(|_| KeyringError::WrongKey)?;
        std::str::from_utf8(opened).map(Secret::new).map_err(|_| KeyringError::WrongKey)
    }

    fn read_key_file(&self) -> Result<LessSafeKey, KeyringError> {
        let bytes = fs::read(&self.path).map_err(|cause| self.file_error(cause))?;
        self.parse_key(&bytes)
    }

    /// Creates the key file atomically: writes a temporary file and renames it.
    fn create_key_file(&self) -> Result<LessSafeKey, KeyringError> {
        let bytes: [u8; KEY_LEN] = random()?;
        let beside = self.path.with_extension("key.new");
        let written = || {
            let mut file = create_private_file(&beside)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            let folder = self.path.parent().unwrap_or(Path::new("."));
            if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
        };
        written().map_err(|cause| self.file_error(cause))?;
        self.parse_key(&bytes)
    }

    fn parse_key(&self, bytes: &[u8]) -> Result<LessSafeKey, KeyringError> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).map_err(|_| KeyringError::Damaged(self.path.clone()))?;
        Ok(LessSafeKey::new(key))
    }

    fn file_error(&self, cause: io::Error) -> KeyringError {
        KeyringError::File { path: self.path.clone(), cause }
    }
}

/// Creates a file that only its owner can read.
fn create_private_file(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn random<const N: usize>() -> Result<[u8; N], KeyringError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| KeyringError::Random(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn temp_keyring() -> (tempfile::TempDir, Keyring) {
        let folder = tempfile::tempdir().unwrap();
        let keyring = Keyring::in_dir(folder.path());
        (folder, keyring)
    }

    proptest! {
        /// A sealed key opens only for the same purpose, and not with one bit changed.
        #[test]
        fn keyring_sealed_key_opens_again(key in "[!-~]{1,200}", bound in ".{0,40}", other in ".{0,40}", at in any::<usize>()) {
            let (_folder, keyring) = temp_keyring();
            let secret = Secret::new(&key);
            let sealed = keyring.seal(&secret, &bound).unwrap();
            prop_assert_eq!(keyring.open(&sealed, &bound).unwrap(), secret.clone());
            prop_assert_ne!(&keyring.seal(&secret, &bound).unwrap(), &sealed, "two of the same are alike");
            if other != bound {
                prop_assert!(matches!(keyring.open(&sealed, &other), Err(KeyringError::WrongKey)));
            }
            let mut bent = sealed.clone();
            bent[at % sealed.len()] ^= 1 << (at % 8);
            prop_assert!(keyring.open(&bent, &bound).is_err());
            prop_assert!(keyring.open(&sealed[..at % sealed.len()], &bound).is_err());
        }
    }

    #[test]
    fn keyring_other_key_file_returns_error() {
        let ((_one, first), (_two, second)) = (temp_keyring(), temp_keyring());
        let sealed = first.seal(&Secret::new("sk-very-secret"), "a").unwrap();
        assert!(!sealed.windows(6).any(|bytes| bytes == b"secret"));
        assert!(matches!(second.open(&sealed, "a"), Err(KeyringError::WrongKey)), "no file");
        second.seal(&Secret::new("x"), "a").unwrap();
        assert!(matches!(second.open(&sealed, "a"), Err(KeyringError::WrongKey)), "another file");
        fs::write(&second.path, b"short").unwrap();
        let error = second.seal(&Secret::new("x"), "a").unwrap_err().to_string();
        assert!(error.contains("provider.key") && error.contains("enter the keys again"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn keyring_file_is_readable_by_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, keyring) = temp_keyring();
        keyring.seal(&Secret::new("x"), "a").unwrap();
        assert_eq!(fs::metadata(&keyring.path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(keyring.path.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    }
}
