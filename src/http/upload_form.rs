//! Uploaded files small enough to be held in memory: as the body itself, or as the field `file` of a form. The file
//! type is detected from the bytes; the declared type is ignored.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpRequest};

use super::body::{self, printable};
use super::error::{ApiError, ApiErrorCode};

/// Form field with the file.
const FILE_FIELD: &str = "file";
/// Size allowance for what a form adds to the file: boundaries and part headers.
const FORM_OVERHEAD: usize = 16 << 10;
/// Maximum size of the headers of a part, in bytes.
const MAX_PART_HEAD: usize = 4 << 10;

/// A request with a file.
pub struct UploadForm {
    request: HttpRequest,
    payload: Payload,
}

/// An uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadFormFile {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Original file name without folders.
    pub name: Option<String>,
}

impl FromRequest for UploadForm {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        ready(Ok(Self { request: request.clone(), payload: payload.take() }))
    }
}

impl UploadForm {
    /// Reads the file, of at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if the file is larger or missing, or the form cannot be parsed.
    pub async fn file(self, limit: usize) -> Result<UploadFormFile, ApiError> {
        let text = |name| self.request.headers().get(name).and_then(|value| value.to_str().ok());
        if text(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            let refusal = ApiError::new(ApiErrorCode::UnsupportedMedia, "compressed bodies are not supported");
            return Err(refusal.hint("send the file as it is, without Content-Encoding"));
        }
        let kind = text(header::CONTENT_TYPE).unwrap_or_default().to_owned();
        let bytes = body::read_bytes(&self.request, self.payload, limit + FORM_OVERHEAD).await?;
        let sent = match boundary(&kind) {
            Some(boundary) => only_file(&bytes, &boundary?)?,
            None => UploadFormFile { bytes, name: None },
        };
        match sent.bytes.len() {
            0 => Err(ApiError::invalid(FILE_FIELD, "the file is missing")
                .hint("send the file as the body, or as the field \"file\" of a form")),
            length if length > limit => {
                let message = format!("the file is larger than {limit} bytes");
                Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("limit", limit))
            }
            _ => Ok(sent),
        }
    }
}

/// Returns the boundary if the body is a form.
fn boundary(kind: &str) -> Option<Result<String, ApiError>> {
    let (essence, parameters) = kind.split_once(';').unwrap_or((kind, ""));
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let found = parameters.split(';').find_map(|one| {
        let (name, value) = one.split_once('=')?;
        name.trim().eq_ignore_ascii_case("boundary").then(|| value.trim().trim_matches('"').to_owned())
    });
    let fits = |boundary: &String| (1..=70).contains(&boundary.len());
    Some(found.filter(fits).ok_or_else(|| malformed_form("its Content-Type has no boundary")))
}

fn malformed_form(why: &str) -> ApiError {
    ApiError::new(ApiErrorCode::Malformed, format!("the form cannot be read: {why}"))
        .hint("send multipart/form-data with one field \"file\", or the file itself as the body")
}

/// Returns the only file of a form.
fn only_file(bytes: &[u8], boundary: &str) -> Result<UploadFormFile, ApiError> {
    let mut found = None;
    for (head, content) in parts(bytes, boundary)? {
        let about = disposition(head)?;
        if about.field != FILE_FIELD {
            return Err(ApiError::invalid(&printable(&about.field), "a form has only the field \"file\""));
        }
        if found.is_some() {
            return Err(ApiError::invalid(FILE_FIELD, "send one file at a time"));
        }
        found = Some(UploadFormFile { bytes: content.to_vec(), name: about.name });
    }
    found.ok_or_else(|| malformed_form("it has no field \"file\""))
}

/// Returns the headers and contents of the parts.
fn parts<'a>(bytes: &'a [u8], boundary: &str) -> Result<Vec<(&'a str, &'a [u8])>, ApiError> {
    let opening = format!("--{boundary}");
    let between = format!("\r\n--{boundary}");
    let start = if bytes.starts_with(opening.as_bytes()) {
        opening.len()
    } else {
        find(bytes, between.as_bytes()).ok_or_else(|| malformed_form("its beginning is missing"))? + between.len()
    };
    let mut rest = bytes.get(start..).unwrap_or_default();
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        let inner = rest.strip_prefix(b"\r\n").ok_or_else(|| malformed_form("the beginning of a part is missing"))?;
        let end = find(inner, between.as_bytes()).ok_or_else(|| malformed_form("its end is missing"))?;
        let (part, behind) = inner.split_at_checked(end).unwrap_or_default();
        let head = find(part, b"\r\n\r\n").filter(|length| *length <= MAX_PART_HEAD);
        let (head, content) =
            head.and_then(|at| part.split_at_checked(at)).ok_or_else(|| malformed_form("a part has no headers"))?;
        let head = std::str::from_utf8(head).map_err(|_| malformed_form("the headers of a part are not UTF-8"))?;
        parts.push((head, content.get(4..).unwrap_or_default()));
        rest = behind.get(between.len()..).unwrap_or_default();
    }
    Ok(parts)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The fields of a part's `Content-Disposition`.
struct PartDisposition {
    field: String,
    name: Option<String>,
}

fn disposition(head: &str) -> Result<PartDisposition, ApiError> {
    let line = head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let line = line.ok_or_else(|| malformed_form("a part has no Content-Disposition"))?;
    let parameter = |wanted: &str| {
        let (_, rest) = line.split_once(&format!("; {wanted}=\""))?;
        // Browsers write quotes inside as %22 or escape them with a backslash.
        let end = rest.char_indices().scan(false, |escaped, (at, c)| {
            let ends = c == '"' && !*escaped;
            *escaped = c == '\\' && !*escaped;
            Some((at, ends))
        });
        let end = end.filter(|(_, ends)| *ends).map(|(at, _)| at).next()?;
        rest.get(..end).map(|text| text.replace("%22", "\"").replace("\\\"", "\""))
    };
    let field = parameter("name").ok_or_else(|| malformed_form("a part has no name"))?;
    let bare = |name: String| printable(name.rsplit(['/', '\\']).next().unwrap_or_default());
    Ok(PartDisposition { field, name: parameter("filename").map(bare).filter(|name| !name.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form_body(parts: &[(&str, &str)]) -> Vec<u8> {
        let each = parts
            .iter()
            .map(|(head, content)| format!("--xyz\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n"));
        format!("{}--xyz--\r\n", each.collect::<String>()).into_bytes()
    }

    #[test]
    fn upload_form_with_file_field_returns_file() {
        let check = |head: &str, content: &str, name: Option<&str>| {
            let sent = only_file(&form_body(&[(head, content)]), "xyz").unwrap();
            assert_eq!((sent.bytes.as_slice(), sent.name.as_deref()), (content.as_bytes(), name), "{head}");
        };
        check(r#"name="file"; filename="a.png""#, "x\r\n\r\n--xy\r\n", Some("a.png"));
        check(r#"name="file"; filename="../../etc/狐%22.png""#, "", Some("狐\".png"));
        check(r#"name="file"; filename="C:\\x\\b.json""#, "1", Some("b.json"));
        check(r#"name="file""#, "1", None);
        let with_more = [b"preamble\r\n".as_slice(), &form_body(&[(r#"name="file""#, "1")]), b"after"].concat();
        assert_eq!(only_file(&with_more, "xyz").unwrap().bytes, b"1");
    }

    #[test]
    fn upload_form_malformed_is_refused() {
        let check = |bytes: &[u8], words: &str| {
            let error = only_file(bytes, "xyz").unwrap_err();
            assert!(error.message.contains(words), "{error}");
        };
        check(b"", "beginning is missing");
        check(b"--xyz", "beginning of a part is missing");
        check(b"--xyz\r\n", "end is missing");
        check(b"--xyz--", "no field");
        check(b"--xyz\r\nabc\r\n--xyz--", "no headers");
        check(b"--xyz\r\nA: b\r\n\r\n1\r\n--xyz--", "no Content-Disposition");
        check(&form_body(&[("filename=\"x\"", "1")]), "no name");
        check(&form_body(&[("name=\"other\"", "1")]), "only the field");
        check(&form_body(&[("name=\"file\"", "1"), ("name=\"file\"", "2")]), "one file at a time");
        assert!(boundary("multipart/form-data").unwrap().is_err());
        assert!(boundary("multipart/form-data; boundary=\"a b\"").unwrap().is_ok_and(|found| found == "a b"));
        assert!(boundary("application/json").is_none());
    }
}
