//! Compressed files, read transparently: gzip, zstd and bzip2, recognised by their first bytes.

use std::io::{self, BufRead, BufReader, Read};

/// The amount read at a time \[bytes\].
const BUFFER: usize = 256 << 10;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// None.
    Plain,
    /// gzip, also with several members.
    Gzip,
    /// zstd.
    Zstd,
    /// bzip2, also with several streams.
    Bzip2,
}

impl Packing {
    /// The compression, by a file's first bytes.
    pub fn of(beginning: &[u8]) -> Packing {
        match beginning {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            _ => Packing::Plain,
        }
    }
}

/// The contents of a file, decompressed while reading; memory stays bounded, however high the compression.
///
/// # Errors
/// If its beginning cannot be read or is not that of a compressed file after all.
pub fn unpacked<'r>(file: impl Read + Send + 'r) -> io::Result<Box<dyn BufRead + Send + 'r>> {
    let mut file = BufReader::with_capacity(BUFFER, file);
    let packing = Packing::of(file.fill_buf()?);
    let inner: Box<dyn Read + Send + 'r> = match packing {
        Packing::Plain => return Ok(Box::new(file)),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        #[cfg(feature = "compressed")]
        Packing::Zstd => Box::new(ruzstd::decoding::StreamingDecoder::new(file).map_err(io::Error::other)?),
        #[cfg(feature = "compressed")]
        Packing::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        #[cfg(not(feature = "compressed"))]
        Packing::Zstd | Packing::Bzip2 => {
            let name = if packing == Packing::Zstd { "zstd" } else { "bzip2" };
            let why =
                format!("packed by {name}, and this was built without `compressed`: expected it unpacked, or gzip");
            return Err(io::Error::other(why));
        }
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER, inner)))
}

#[cfg(all(test, feature = "compressed"))]
mod tests {
    use std::io::Write;

    use super::*;

    fn text_of(packed: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        unpacked(packed)?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn every_packing_is_undone_and_plain_text_stays() {
        let text = "0.1 R 0 8\n".repeat(1000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text.as_bytes()).unwrap();
        let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        bzip2.write_all(text.as_bytes()).unwrap();
        let zstd = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        for packed in [gzip.finish().unwrap(), bzip2.finish().unwrap(), zstd, text.clone().into_bytes()] {
            assert_eq!(text_of(&packed).unwrap(), text);
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic() {
        assert!(text_of(&[0x1f, 0x8b, 8, 0]).is_err());
        assert!(text_of(&[0x28, 0xb5, 0x2f, 0xfd, 255]).is_err());
        assert!(text_of(b"BZh9abc").is_err());
        assert_eq!(text_of(b"").unwrap(), "");
    }
}
