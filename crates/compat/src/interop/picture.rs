//! Pictures: what they are by their bytes, how large they may be, small copies of them. What is not one of the four kinds that
//! every browser draws as a picture and nothing else (an SVG can carry scripts) is none.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage};

use super::png::{self, PngChunk};

/// The most bytes of a picture.
pub const MAX_BYTES: usize = 16 << 20;
/// The longest side, in pixels.
const MAX_SIDE: u32 = 8_192;
/// The most pixels: decoded they take four bytes each.
const MAX_PIXELS: u64 = 32 << 20;
/// The longer side of the small copy that is kept, in pixels: what a portrait takes on a dense screen.
const THUMBNAIL_SIDE: u32 = 384;
/// The longer side of what a list shows, in pixels.
const LIST_THUMBNAIL_SIDE: u32 = 96;
/// The longer side of a picture in a message, in pixels.
const MESSAGE_IMAGE_SIDE: u32 = 1_600;
/// How well a copy is kept, of 100.
const QUALITY: u8 = 82;
/// How well what a list shows is kept: it is small enough that nobody sees the difference, and there are hundreds.
const LIST_THUMBNAIL_QUALITY: u8 = 70;

/// What a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG.
    Png,
    /// JPEG.
    Jpeg,
    /// WebP.
    WebP,
    /// GIF.
    Gif,
}

impl PictureFormat {
    /// Its media type.
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
    /// It is something else.
    #[error("this is no picture of a kind that is shown: PNG, JPEG, WebP or GIF")]
    Unknown,
    /// Too many bytes.
    #[error("the picture has more than {MAX_BYTES} bytes")]
    TooLong,
    /// Too many pixels.
    #[error("the picture has {0} x {1} pixels; {MAX_SIDE} on a side and {MAX_PIXELS} in all are taken")]
    TooLarge(u32, u32),
    /// Damaged.
    #[error("the picture cannot be read: {0}")]
    Broken(String),
}

/// What bytes are, by how they begin.
pub fn detect_format(bytes: &[u8]) -> Option<PictureFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PictureFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(PictureFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(PictureFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(PictureFormat::WebP),
        _ => None,
    }
}

/// A small copy of a picture, which proves that it can be drawn. A JPEG, or a PNG where one can see through it.
///
/// # Errors
/// It is no picture, too large or damaged.
pub fn thumbnail(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, THUMBNAIL_SIDE, QUALITY)
}

/// A copy of a small copy, for a list of hundreds.
///
/// # Errors
/// It is no picture, too large or damaged.
pub fn row(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, LIST_THUMBNAIL_SIDE, LIST_THUMBNAIL_QUALITY)
}

/// A picture as a message shows it: drawn anew, so that nothing of the bytes that came is left. Of one that moves, the first
/// picture.
///
/// # Errors
/// It is no picture, too large or damaged.
pub fn shown(bytes: &[u8]) -> Result<Vec<u8>, PictureError> {
    reencode(bytes, MESSAGE_IMAGE_SIDE, QUALITY)
}

/// A JPEG, or a PNG where one can see through it, no longer than `side` on either side.
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
    let mut reader = ImageReader::with_format(Cursor::new(bytes), kind.format());
    reader.no_limits();
    let mut decoder = reader.into_decoder().map_err(broken)?;
    let (width, height) = decoder.dimensions();
    if width.max(height) > MAX_SIDE || u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PictureError::TooLarge(width, height));
    }
    let mut limits = Limits::no_limits();
    // What is drawn, with eight bytes for a pixel, and as much again to draw it with.
    limits.max_alloc = Some(MAX_PIXELS * 16);
    decoder.set_limits(limits).map_err(broken)?;
    DynamicImage::from_decoder(decoder).map_err(broken)
}

/// A PNG of a picture; a plain one where there is none, or none that can be drawn.
pub fn png_or_placeholder(picture: Option<&[u8]>) -> Vec<u8> {
    picture.and_then(|picture| to_png(picture).ok()).unwrap_or_else(|| encode_png(&placeholder_image()))
}

/// A PNG of a picture: one that is a PNG stays as it is.
///
/// # Errors
/// It cannot be drawn, or its chunks do not hold together.
pub fn to_png(picture: &[u8]) -> Result<Vec<u8>, PictureError> {
    if detect_format(picture) != Some(PictureFormat::Png) {
        return decode(picture).map(|image| encode_png(&image));
    }
    match png::read(picture) {
        Ok((_, None)) => Ok(picture.to_vec()),
        Ok((_, Some(fault))) | Err(fault) => Err(PictureError::Broken(fault.to_string())),
    }
}

fn encode_png(image: &DynamicImage) -> Vec<u8> {
    let mut png = Vec::new();
    // Into memory, where nothing is too large for it.
    let _ = image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png);
    png
}

/// A calm evening, for a card without a picture.
fn placeholder_image() -> DynamicImage {
    let shade = |_, y: u32| {
        let fall = u8::try_from(y / 16).unwrap_or(u8::MAX);
        image::Rgb([70_u8.saturating_sub(fall), 62_u8.saturating_sub(fall), 96_u8.saturating_sub(fall)])
    };
    RgbImage::from_fn(400, 600, shade).into()
}

/// A PNG without the texts of cards, and without what stands behind its end.
pub fn strip_text_chunks(chunks: &[PngChunk<'_>]) -> Vec<u8> {
    let is_card = |chunk: &&PngChunk<'_>| chunk.is_text() && matches!(chunk.keyword().as_str(), "chara" | "ccv3");
    let kept = chunks.iter().filter(|chunk| !is_card(chunk)).map(|chunk| chunk.raw);
    std::iter::once(png::SIGNATURE.as_slice()).chain(kept).collect::<Vec<_>>().concat()
}

/// A PNG with more chunks before its end.
pub fn insert_chunks(png: &[u8], texts: &[u8]) -> Vec<u8> {
    let (chunks, _) = png::read(png).unwrap_or_default();
    let bare = strip_text_chunks(&chunks);
    let end = png::encode_chunk(b"IEND", b"");
    let body = bare.strip_suffix(end.as_slice()).unwrap_or(&bare);
    [body, texts, &end].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a stranger sends is known by its bytes, and what carries scripts is no picture.
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
        let listed = decode(&row(&copy).unwrap()).unwrap();
        assert_eq!((listed.width(), listed.height()), (64, 96));
        assert!(matches!(thumbnail(&drawn[..200]), Err(PictureError::Broken(_))));
    }

    /// A few bytes can say that they are a picture of billions of pixels.
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
