//! Arrays read piece by piece are those that were written. What the command `warpfold` says of
//! files of every kind is in the tests of that command.

use std::io::Write as _;

use half::f16;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};

use super::*;

#[test]
fn pieces_of_any_length_are_the_whole() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array");
    for n in [0usize, 1, 7, 1000] {
        let elements: Vec<u16> = (0..n).map(|_| rng.random()).collect();
        write_npy(&path, Dtype::U16, &[n as u64], bytemuck::cast_slice(&elements)).unwrap();
        let mut array = Array::open(path.as_os_str(), None).unwrap();
        assert_eq!(array.mapped::<u16>(), Some(&elements[..]));
        let mut read: Vec<u16> = Vec::new();
        loop {
            let mut piece = vec![0u16; rng.random_range(1..300)];
            let found = array.read(&mut piece).unwrap();
            read.extend(&piece[..found]);
            if found < piece.len() {
                break;
            }
        }
        assert_eq!(read, elements);
    }
}

#[test]
fn c_order_is_that_of_nested_loops() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..100 {
        let shape: Vec<u64> = (0..rng.random_range(1..5)).map(|_| rng.random_range(1..6)).collect();
        let n: u64 = shape.iter().product();
        // The element with the number k in C order is k.
        let mut elements = vec![0; n as usize];
        for k in 0..n {
            let (mut rest, mut index) = (k, vec![0; shape.len()]);
            for axis in (0..shape.len()).rev() {
                (index[axis], rest) = (rest % shape[axis], rest / shape[axis]);
            }
            let place =
                index.iter().zip(&shape).rev().fold(0, |place, (at, extent)| place * extent + at);
            elements[place as usize] = k;
        }
        let start = rng.random_range(0..n);
        let mut out = vec![0; rng.random_range(0..=n - start) as usize];
        in_c_order(&elements, &shape, start, &mut out);
        assert!(out.iter().copied().eq(start..start + out.len() as u64), "{shape:?} from {start}");
    }
}

#[test]
fn archives_are_compared_with_their_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("x.npy");
    write_npy(&array, Dtype::F16, &[2], bytemuck::cast_slice(&[f16::ONE, f16::NEG_ONE])).unwrap();
    let npy = std::fs::read(&array).unwrap();
    let path = folder.path().join("x.npz");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    archive
        .start_file("x.npy", options.compression_method(zip::CompressionMethod::Stored))
        .unwrap();
    archive.write_all(&npy).unwrap();
    archive.finish().unwrap();

    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let mut elements = [f16::ZERO; 3];
        Array::open(path.as_os_str(), None)?.read(&mut elements).map(|n| elements[..n].to_vec())
    };
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(read(&bytes).unwrap(), [f16::ONE, f16::NEG_ONE]);
    let at = bytes.windows(4).position(|four| four == [0, 0x3c, 0, 0xbc]).unwrap();
    bytes[at] = 1;
    let error = read(&bytes).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}

#[test]
fn types_are_read_as_they_are_written() {
    for dtype in Dtype::ALL {
        assert_eq!(dtype.to_string().parse(), Ok(dtype));
        assert_eq!(dtype.is_float(), dtype.name().contains('f'));
    }
    assert_eq!(
        "int".parse::<Dtype>().unwrap_err().to_string(),
        "unknown type 'int': it is one of bool, i8, u8, i16, u16, i32, u32, i64, u64, i128, u128, f16, bf16, f32, f64"
    );
}
