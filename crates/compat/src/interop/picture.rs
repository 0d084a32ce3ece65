//! Detects picture formats, limits their size and makes thumbnails. Only PNG, JPEG, WebP and GIF are accepted, because
//! browsers draw them as pictures and nothing else. SVG can contain scripts.

use std::borrow::Cow;
use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage};

use super::png::{self, PngChunk};

/// Maximum size of a picture in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum length of a side in pixels.
const MAX_SIDE: u32 = 8_192;
/// Maximum number of pixels. Decoded, each takes four bytes.
const MAX_PIXELS: u64 = 32 << 20;
/// Longer side of a stored thumbnail in pixels: the size of a portrait on a high-density screen.
const THUMBNAIL_SIDE: u32 = 384;
/// Longer side of a thumbnail in lists, in pixels.
const LIST_THUMBNAIL_SIDE: u32 = 96;
/// Longer side of a picture in a message, in pixels.
const MESSAGE_IMAGE_SIDE: u32 = 1_600;
/// JPEG quality of copies, up to 100.
const QUALITY: u8 = 82;
/// JPEG quality of thumbnails in lists. They are too small to show a difference, and a list has hundreds.
const LIST_THUMBNAIL_QUALITY: u8 = 70;

/// The chunks of a PNG that its pixels need.
const PIXEL_CHUNKS: [&[u8; 4]; 5] = [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"];

/// A picture format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    Png,
    Jpeg,
    WebP,
    Gif,
}

impl PictureFormat {
    /// Returns the media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::WebP => "image/webp",
            Self::Gif => "image/gif",
        }
    }

    const fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::WebP => ImageFormat::WebP,
            Self::Gif => ImageFormat::Gif,
        }
    }
}

/// Why something cannot be shown as a picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// Not one of the accepted formats.
    #[error("this is not a PNG, JPEG, WebP or GIF image")]
    Unknown,
    /// The file has too many bytes.
    #[error("the image has more than {MAX_BYTES} bytes")]
    TooLong,
    /// Too many pixels: width and height.
    #[error("the image has {0} x {1} pixels; the limits are {MAX_SIDE} on a side and {MAX_PIXELS} in all")]
    TooLarge(u32, u32),
    /// The file is damaged.
    #[error("the image cannot be read: {0}")]
    Broken(String),
}

/// Detects the format by the first bytes.
pub fn detect_format(bytes: &[u8]) -> Option<PictureFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PictureFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(PictureFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(PictureFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(PictureFormat::WebP),
        _ => None,
    }
}

/// Returns a small copy: a JPEG, or a PNG if the picture has transparency. This also proves that the picture can be
/// decoded.
///
/// # Errors
/// Returns an error if the bytes are not a picture, or the picture is too large or damaged.
pub fn thumbnail(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, THUMBNAIL_SIDE, QUALITY)
}

/// Returns a copy for lists with hundreds of pictures.
///
/// # Errors
/// Returns an error if the bytes are not a picture, or the picture is too large or damaged.
pub fn list_thumbnail(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, LIST_THUMBNAIL_SIDE, LIST_THUMBNAIL_QUALITY)
}

/// Re-encodes a picture for a message, so that none of the original bytes remain. An animation becomes its first frame.
///
/// # Errors
/// Returns an error if the bytes are not a picture, or the picture is too large or damaged.
pub fn message_image(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, MESSAGE_IMAGE_SIDE, QUALITY)
}

/// Returns a JPEG, or a PNG if the picture has transparency. Neither side is longer than `side` pixels.
fn reencode(bytes: &[u8], side: u32, quality: u8) -> Result<Vec<u8>, PictureError> {
    let image = decode(bytes)?;
    let image = match image.width().max(image.height()) {
        longer if longer > side => image.resize(side, side, FilterType::Triangle),
        _ => image,
    };
    let mut small = Vec::new();
    let written = if image.color().has_alpha() {
        image.to_rgba8().write_to(&mut Cursor::new(&mut small), ImageFormat::Png)
    } else {
        image.to_rgb8().write_with_encoder(JpegEncoder::new_with_quality(&mut small, quality))
    };
    written.map(|()| small).map_err(|error| PictureError::Broken(error.to_string()))
}

fn decode(bytes: &[u8]) -> Result<DynamicImage, PictureError> {
    let kind = detect_format(bytes).ok_or(PictureError::Unknown)?;
    if bytes.len() > MAX_BYTES {
        return Err(PictureError::TooLong);
    }
    let broken = |error: image::ImageError| PictureError::Broken(error.to_string());
    let plain = without_side_data(kind, bytes)?;
    let mut reader = ImageReader::with_format(Cursor::new(plain.as_ref()), kind.format());
    reader.no_limits();
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PictureError::TooLarge(width, height));
    }
    let mut limits = Limits::no_limits();
    // The decoded picture with eight bytes per pixel, and as much again for decoding.
    limits.max_alloc = Some(MAX_PIXELS * 16);
    decoder.set_limits(limits).map_err(broken)?;
    DynamicImage::from_decoder(decoder).map_err(broken)
}

/// Returns a picture with nothing but its pixels. The decoder unpacks colour profiles and texts of a PNG before its
/// limits are set, and a small one can become a thousand times as large. Side data of the other formats are not packed.
fn without_side_data(kind: PictureFormat, bytes: &[u8]) -> Result<Cow<'_, [u8]>, PictureError> {
    if kind != PictureFormat::Png {
        return Ok(Cow::Borrowed(bytes));
    }
    let (chunks, _) = png::read_chunks(bytes).map_err(|error| PictureError::Broken(error.to_string()))?;
    let pixels = chunks.iter().filter(|chunk| PIXEL_CHUNKS.iter().any(|kind| chunk.kind == *kind));
    Ok(Cow::Owned(
        std::iter::once(png::SIGNATURE.as_slice()).chain(pixels.map(|chunk| chunk.raw)).collect::<Vec<_>>().concat(),
    ))
}

/// Returns the picture as a PNG, or a placeholder if there is none or it cannot be decoded.
pub fn png_or_placeholder(picture: Option<&[u8]>) -> Vec<u8> {
    picture.and_then(|picture| to_png(picture).ok()).unwrap_or_else(|| encode_png(&placeholder_image()))
}

/// Returns a picture as a PNG. A PNG stays unchanged.
///
/// # Errors
/// Returns an error if the picture cannot be decoded or has damaged chunks.
pub fn to_png(picture: &[u8]) -> Result<Vec<u8>, PictureError> {
    if detect_format(picture) != Some(PictureFormat::Png) {
        return decode(picture).map(|image| encode_png(&image));
    }
    match png::read_chunks(picture) {
        Ok((_, None)) => Ok(picture.to_vec()),
        Ok((_, Some(fault))) | Err(fault) => Err(PictureError::Broken(fault.to_string())),
    }
}

fn encode_png(image: &DynamicImage) -> Vec<u8> {
    let mut png = Vec::new();
    // Writing to memory has no size limit.
    let _ = image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png);
    png
}

/// A plain gradient for cards without a picture.
fn placeholder_image() -> DynamicImage {
    let shade = |_, y: u32| {
        let fall = u8::try_from(y / 16).unwrap_or(u8::MAX);
        image::Rgb([70_u8.saturating_sub(fall), 62_u8.saturating_sub(fall), 96_u8.saturating_sub(fall)])
    };
    RgbImage::from_fn(400, 600, shade).into()
}

/// Returns a PNG without card chunks and without data after its end.
pub fn strip_text_chunks(chunks: &[PngChunk<'_>]) -> Vec<u8> {
    let is_card = |chunk: &&PngChunk<'_>| chunk.is_text() && matches!(chunk.keyword().as_str(), "chara" | "ccv3");
    let kept = chunks.iter().filter(|chunk| !is_card(chunk)).map(|chunk| chunk.raw);
    std::iter::once(png::SIGNATURE.as_slice()).chain(kept).collect::<Vec<_>>().concat()
}

/// Inserts chunks before the end of a PNG. Removes card chunks.
pub fn insert_chunks(png: &[u8], texts: &[u8]) -> Vec<u8> {
    let (chunks, _) = png::read_chunks(png).unwrap_or_default();
    let bare = strip_text_chunks(&chunks);
    let end = png::encode_chunk(b"IEND", b"");
    let body = bare.strip_suffix(end.as_slice()).unwrap_or(&bare);
    [body, texts, &end].concat()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// The bytes decide the format, and formats with scripts are rejected.
    #[test]
    fn picture_format_is_detected_by_bytes() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some(PictureFormat::Png)),
            (b"\xff\xd8\xff\xe0", Some(PictureFormat::Jpeg)),
            (b"GIF89a", Some(PictureFormat::Gif)),
            (b"RIFF\0\0\0\0WEBP", Some(PictureFormat::WebP)),
            (b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>", None),
            (b"<html>", None),
            (b"", None),
        ] {
            assert_eq!(detect_format(bytes), expected);
        }
        assert_eq!(thumbnail(b"<svg/>"), Err(PictureError::Unknown));
    }

    #[test]
    fn picture_thumbnail_is_scaled_down() {
        let drawn = png_or_placeholder(None);
        let copy = thumbnail(&drawn).unwrap();
        let image = decode(&copy).unwrap();
        assert_eq!((detect_format(&copy), image.width(), image.height()), (Some(PictureFormat::Jpeg), 256, 384));
        let listed = decode(&list_thumbnail(&copy).unwrap()).unwrap();
        assert_eq!((listed.width(), listed.height()), (64, 96));
        assert!(matches!(thumbnail(&drawn[..200]), Err(PictureError::Broken(_))));
    }

    /// A colour profile and a text are packed, and neither reaches the decoder. The pixels stay the same.
    #[test]
    fn picture_side_data_is_dropped_before_decoding() {
        let drawn = png_or_placeholder(None);
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(&vec![b' '; 1 << 20]).unwrap();
        let packed = packer.finish().unwrap();
        assert!(packed.len() < 2_000);
        let profile = png::encode_chunk(b"iCCP", &[b"profile\0\0".as_slice(), &packed].concat());
        let text = png::encode_chunk(b"zTXt", &[b"comment\0\0".as_slice(), &packed].concat());
        let (head, rest) = drawn.split_at(png::SIGNATURE.len() + 25);
        let heavy = [head, &profile, &text, rest].concat();
        assert_eq!(without_side_data(PictureFormat::Png, &heavy).unwrap().as_ref(), drawn);
        assert_eq!(decode(&heavy).unwrap(), decode(&drawn).unwrap());
    }

    /// A few bytes can claim a picture of billions of pixels.
    #[test]
    fn picture_huge_dimensions_returns_error() {
        let head = [&100_000_u32.to_be_bytes()[..], &100_000_u32.to_be_bytes(), b"\x08\x02\0\0\0"].concat();
        let chunks =
            [png::encode_chunk(b"IHDR", &head), png::encode_chunk(b"IDAT", b""), png::encode_chunk(b"IEND", b"")]
                .concat();
        let huge = [png::SIGNATURE.as_slice(), &chunks].concat();
        assert_eq!(thumbnail(&huge), Err(PictureError::TooLarge(100_000, 100_000)));
    }
}
