//! Files as bodies. An upload is written to disk as it arrives, and a download is read in chunks. Neither is ever whole
//! in memory. Temporary files have no name on disk, so nothing is left after a crash.

use std::fs::{self, File};
use std::future::{Ready, ready};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use actix_web::body::SizedStream;
use actix_web::dev::Payload;
use actix_web::http::header::{self, ContentDisposition};
use actix_web::web::{self, Bytes};
use actix_web::{FromRequest, HttpRequest, HttpResponse, Responder};
use futures_util::{StreamExt, stream};
use uuid::Uuid;

use super::body::printable;
use super::content_disposition;
use super::error::{ApiError, ApiErrorCode};
use super::response::matches_etag;
use clotho_compat::interop::picture::{self, PictureFormat};

/// Media type of a session file.
pub const SESSION_MEDIA_TYPE: &str = "application/zstd";
/// Maximum time between two chunks of an upload.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(15);
/// Number of bytes written or read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// A file that a client sends as the body.
pub struct FileUpload {
    request: HttpRequest,
    payload: Payload,
}

impl FromRequest for FileUpload {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self { request: request.clone(), payload: payload.take() }))
    }
}

/// A file of another program that a client sends as the body.
pub struct ArchiveUpload(pub FileUpload);

impl ArchiveUpload {
    /// Media type of an archive.
    pub const MEDIA_TYPE: &str = "application/zip";
    /// Accepted media types.
    pub const ACCEPTED_MEDIA_TYPES: [&str; 2] = [Self::MEDIA_TYPE, "application/json"];
}

impl FromRequest for ArchiveUpload {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(FileUpload::from_request(request, payload).into_inner().map(Self))
    }
}

impl FileUpload {
    /// Returns the file name that the request states, without folders.
    pub fn name(&self) -> Option<String> {
        let header = ContentDisposition::from_raw(self.request.headers().get(header::CONTENT_DISPOSITION)?).ok()?;
        let whole = header.get_filename_ext().and_then(|name| String::from_utf8(name.value.clone()).ok());
        let name = whole.or_else(|| header.get_filename().map(str::to_owned))?;
        let name = printable(name.rsplit(['/', '\\']).next().unwrap_or_default());
        (!name.is_empty()).then_some(name)
    }

    /// Checks the headers of an upload.
    ///
    /// # Errors
    /// Returns an error if the media type is not in `wanted` or the length exceeds `limit` bytes.
    pub fn check_headers(&self, limit: u64, wanted: &[&str]) -> Result<(), ApiError> {
        let text = |name| self.request.headers().get(name).and_then(|value| value.to_str().ok());
        let kind = text(header::CONTENT_TYPE)
            .map(|kind| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
        let is_wanted = kind.is_none_or(|kind| kind == "application/octet-stream" || wanted.contains(&kind.as_str()));
        let is_plain = text(header::CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
        if !is_wanted || !is_plain {
            let refusal = ApiError::new(ApiErrorCode::UnsupportedMedia, "the body must be the exported file itself");
            return Err(refusal.hint(format!("send it with \"Content-Type: {}\"", wanted.join("\" or \""))));
        }
        let announced = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        if announced.is_some_and(|length| length > limit) { Err(too_large(limit)) } else { Ok(()) }
    }

    /// Writes the upload into a file.
    ///
    /// # Errors
    /// Returns an error if the upload exceeds `limit` bytes, breaks off, takes too long, or cannot be written.
    pub async fn write_to(mut self, mut file: File, limit: u64) -> Result<File, ApiError> {
        let late = |_| ApiError::new(ApiErrorCode::Malformed, "the body did not arrive in time");
        let (mut length, mut waiting) = (0_u64, Vec::new());
        while let Some(piece) = tokio::time::timeout(CHUNK_TIMEOUT, self.payload.next()).await.map_err(late)? {
            let piece = piece.map_err(|_| ApiError::new(ApiErrorCode::Malformed, "the body is incomplete"))?;
            length += u64::try_from(piece.len()).unwrap_or(u64::MAX);
            if length > limit {
                return Err(too_large(limit));
            }
            waiting.extend_from_slice(&piece);
            if waiting.len() >= CHUNK_BYTES {
                file = write_chunk(file, std::mem::take(&mut waiting)).await?;
            }
        }
        write_chunk(file, waiting).await
    }
}

fn too_large(limit: u64) -> ApiError {
    ApiError::new(ApiErrorCode::TooLarge, format!("the file is larger than {limit} bytes")).detail("limit", limit)
}

async fn write_chunk(mut file: File, bytes: Vec<u8>) -> Result<File, ApiError> {
    let write = move || file.write_all(&bytes).map(|()| file);
    web::block(write).await.map_err(ApiError::internal)?.map_err(|error| write_error(&error))
}

/// Returns the error for a file that cannot be written.
pub fn write_error(error: &io::Error) -> ApiError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ApiError::new(ApiErrorCode::StorageFull, "the server's disk is full")
        }
        _ => ApiError::internal(error),
    }
}

/// Creates a file without a name in the file system of the data directory.
///
/// # Errors
/// Returns an error if it cannot be created.
pub fn unlinked_file(data_dir: &Path, id: Uuid) -> io::Result<File> {
    let path = data_dir.join(format!("{id}.part"));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A file that a client downloads.
pub struct FileDownload {
    name: String,
    kind: &'static str,
    file: File,
    length: u64,
}

impl FileDownload {
    /// Creates a download of the whole file with a name and a media type.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn new(name: String, kind: &'static str, mut file: File) -> io::Result<Self> {
        file.rewind()?;
        let length = file.metadata()?.len();
        Ok(Self { name, kind, file, length })
    }

    /// Returns whether the file is compressed already, so that the server does not compress it again.
    fn is_compressed(&self) -> bool {
        matches!(self.kind, SESSION_MEDIA_TYPE | ArchiveUpload::MEDIA_TYPE)
    }
}

impl Responder for FileDownload {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let is_packed = self.is_compressed();
        let pieces = stream::try_unfold(self.file, |file| async move {
            let (bytes, file) = web::block(move || read_chunk(file)).await.map_err(io::Error::other)??;
            Ok::<_, io::Error>((!bytes.is_empty()).then_some((bytes, file)))
        });
        let mut answer = HttpResponse::Ok();
        answer.insert_header((header::CONTENT_DISPOSITION, content_disposition::attachment(&self.name)));
        answer.insert_header((header::CACHE_CONTROL, "no-store"));
        if is_packed {
            answer.insert_header((header::CONTENT_ENCODING, "identity"));
        }
        answer.content_type(self.kind).body(SizedStream::new(self.length, Box::pin(pieces)))
    }
}

/// An archive that a client downloads.
pub struct ArchiveDownload(pub FileDownload);

impl Responder for ArchiveDownload {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        self.0.respond_to(request)
    }
}

/// An image for a browser. Its type is detected from its bytes.
pub struct ImageResponse {
    bytes: Vec<u8>,
    kind: PictureFormat,
    /// Whether the URL names this exact content.
    is_immutable: bool,
}

impl ImageResponse {
    /// Returns an image response if the bytes are an image.
    pub fn new(bytes: Vec<u8>, is_named: bool) -> Option<Self> {
        picture::detect_format(&bytes).map(|kind| Self { bytes, kind, is_immutable: is_named })
    }
}

impl Responder for ImageResponse {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let tag = format!("\"{}\"", blake3::hash(&self.bytes).to_hex());
        let is_known = matches_etag(request.headers(), &tag);
        let mut answer = if is_known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        let keep = if self.is_immutable { "private, max-age=31536000, immutable" } else { "private, no-cache" };
        answer.insert_header((header::CACHE_CONTROL, keep));
        answer.insert_header((header::ETAG, tag));
        // The archive is compressed already. If a browser opens it as a page, nothing in it may run.
        answer.insert_header((header::CONTENT_ENCODING, "identity"));
        answer.insert_header((header::CONTENT_DISPOSITION, "inline"));
        if is_known { answer.finish() } else { answer.content_type(self.kind.media_type()).body(self.bytes) }
    }
}

fn read_chunk(file: File) -> io::Result<(Bytes, File)> {
    let mut bytes = Vec::with_capacity(CHUNK_BYTES);
    (&file).take(u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
    Ok((bytes.into(), file))
}
