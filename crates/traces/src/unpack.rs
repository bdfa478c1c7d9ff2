//! Compressed files, read transparently: gzip, zstd, bzip2, xz, and zip archives of one file, recognised by their first
//! bytes.

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
    /// xz, also with several streams.
    Xz,
    /// A zip archive; its only file is read.
    Zip,
}

impl Packing {
    /// The compression, by a file's first bytes.
    pub fn of(beginning: &[u8]) -> Packing {
        match beginning {
            [0x1f, 0x8b, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Packing::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Packing::Xz,
            [b'P', b'K', 3, 4, ..] => Packing::Zip,
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
        #[cfg(feature = "compressed")]
        Packing::Xz => Box::new(lzma_rust2::XzReader::new(file, true)),
        Packing::Zip => zip(file)?,
        #[cfg(not(feature = "compressed"))]
        Packing::Zstd | Packing::Bzip2 | Packing::Xz => {
            let name = match packing {
                Packing::Zstd => "zstd",
                Packing::Bzip2 => "bzip2",
                _ => "xz",
            };
            let why =
                format!("packed by {name}, and this was built without `compressed`: expected it unpacked, or gzip");
            return Err(io::Error::other(why));
        }
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER, inner)))
}

/// The first file of a zip archive, which must be the only one.
fn zip<'r>(mut file: impl BufRead + Send + 'r) -> io::Result<Box<dyn Read + Send + 'r>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("zip: {what}"));
    // The header before each file: signature, version, flags, method, time, date, CRC, two lengths, lengths of the name
    // and of what follows it.
    let mut header = [0; 30];
    file.read_exact(&mut header)?;
    let short = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let long = |at: usize| u64::from(u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]));
    let (flags, method, packed) = (short(6), short(8), long(18));
    let mut rest = vec![0; usize::from(short(26)) + usize::from(short(28))];
    file.read_exact(&mut rest)?;
    match (method, flags & 8) {
        _ if flags & 1 != 0 => Err(wrong("the archive is encrypted: unpack it")),
        (8, _) => Ok(Box::new(OnlyFile::Inside(flate2::bufread::DeflateDecoder::new(file), flags & 8 != 0))),
        (0, 0) => Ok(Box::new(file.take(packed))),
        _ => Err(wrong("the archive is packed in a way that is not read here: unpack it")),
    }
}

/// A packed file, after which no other may follow.
enum OnlyFile<R> {
    Inside(flate2::bufread::DeflateDecoder<R>, bool),
    Over,
}

impl<R: BufRead> Read for OnlyFile<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let OnlyFile::Inside(inner, has_trailer) = self else { return Ok(0) };
        let read = inner.read(into)?;
        if read > 0 || into.is_empty() {
            return Ok(read);
        }
        let (mut trailer, has_trailer) = ([0; 16], *has_trailer);
        let OnlyFile::Inside(inner, _) = std::mem::replace(self, OnlyFile::Over) else { return Ok(0) };
        let mut rest = inner.into_inner();
        // Lengths behind the file, with or without a signature; an archive that ends here is whole enough.
        if has_trailer && rest.read_exact(&mut trailer).is_err() {
            return Ok(0);
        }
        let next = rest.fill_buf()?;
        if next.starts_with(b"PK\x03\x04") {
            return Err(io::Error::other("zip: the archive holds several files: unpack it and name one"));
        }
        Ok(0)
    }
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

    /// A file of an archive, packed or not.
    fn zipped(text: &[u8], method: u16) -> Vec<u8> {
        let mut packed = text.to_vec();
        if method == 8 {
            let mut deflate = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
            deflate.write_all(text).unwrap();
            packed = deflate.finish().unwrap();
        }
        let mut archive = b"PK\x03\x04\x14\0\0\0".to_vec();
        archive.extend(method.to_le_bytes());
        archive.extend([0; 8]);
        archive.extend((packed.len() as u32).to_le_bytes());
        archive.extend((text.len() as u32).to_le_bytes());
        archive.extend([1, 0, 0, 0, b'x']);
        archive.extend(packed);
        archive
    }

    #[test]
    fn xz_and_an_archive_of_one_file_are_read_and_of_several_refused() {
        // `printf '0.1 R 0 8\n' | xz` (XZ Utils 5.4.1).
        let xz = [
            0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21, 0x01, 0x16, 0x00,
            0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x09, 0x30, 0x2e, 0x31, 0x20, 0x52, 0x20, 0x30, 0x20, 0x38,
            0x0a, 0x00, 0x00, 0x00, 0x4c, 0xd6, 0x2d, 0x4f, 0xfa, 0xe4, 0x94, 0xd8, 0x00, 0x01, 0x22, 0x0a, 0x15, 0x1a,
            0xe1, 0x67, 0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
        ];
        assert_eq!(text_of(&xz).unwrap(), "0.1 R 0 8\n");
        let text = "0.1 R 0 8\n".repeat(1000);
        for method in [0, 8] {
            let mut archive = zipped(text.as_bytes(), method);
            archive.extend(b"PK\x01\x02");
            assert_eq!(text_of(&archive).unwrap(), text);
        }
        let two = [zipped(text.as_bytes(), 8), zipped(text.as_bytes(), 8)].concat();
        assert!(text_of(&two).unwrap_err().to_string().contains("several files"));
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic() {
        assert!(text_of(&[0x1f, 0x8b, 8, 0]).is_err());
        assert!(text_of(&[0x28, 0xb5, 0x2f, 0xfd, 255]).is_err());
        assert!(text_of(b"BZh9abc").is_err());
        assert!(text_of(b"\xfd7zXZ\0abc").is_err());
        assert!(text_of(b"PK\x03\x04abc").is_err());
        assert_eq!(text_of(b"").unwrap(), "");
    }
}
