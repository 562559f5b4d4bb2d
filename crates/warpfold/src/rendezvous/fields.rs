//! Several byte strings as one.

/// One byte string from which [`split`] makes these again.
pub(crate) fn join<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut joined = Vec::new();
    for field in fields {
        joined.extend_from_slice(&(field.len() as u64).to_le_bytes());
        joined.extend_from_slice(field);
    }
    joined
}

/// The byte strings of which [`join`] has made this one. `None` if it has not.
pub(crate) fn split(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let (len, rest) = bytes.split_first_chunk()?;
        let (field, rest) = rest.split_at_checked(u64::from_le_bytes(*len).try_into().ok()?)?;
        fields.push(field);
        bytes = rest;
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_as_they_were_joined() {
        for fields in [&[][..], &[&b""[..]], &[b"a", b"", b"bcd"]] {
            let joined = join(fields.iter().copied());
            assert_eq!(split(&joined).unwrap(), fields);
            for len in 1..joined.len() {
                // Without its end it is fewer fields, or none at all.
                assert!(split(&joined[..len]).is_none_or(|split| split.len() < fields.len()));
            }
        }
        assert_eq!(split(&[0xff; 9]), None);
    }
}
