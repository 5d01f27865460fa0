//! Where claims begin when no node is selected.

/// Where, among `length` segments, a claim of this name begins when no node is
/// selected. `length` must not be 0; of no segments the answer is 0.
///
/// A claim of a StatefulSet has the name `TEMPLATE-SET-NUMBER`. All claims of
/// one replica must be in one place, and replicas should be spread: so the hash
/// of the set's name decides where replica 0 begins, and each further one
/// begins one segment later. Other claims begin where their whole name's hash
/// says.
///
/// Follows `getPVCNameHashAndIndexOffset` of external-provisioner 6.
pub(super) fn first_segment(claim_name: &str, length: usize) -> usize {
    let (hashed, index) = replica_of(claim_name);
    let start = fnv1(hashed).wrapping_add(index);
    // A length beyond 32 bits is more than any start.
    match u32::try_from(length) {
        Ok(length) => start.checked_rem(length).unwrap_or(0) as usize,
        Err(_) => start as usize,
    }
}

/// What of a claim's name is hashed, and how far from there it begins.
fn replica_of(claim_name: &str) -> (&str, u32) {
    let replica = claim_name
        .rsplit_once('-')
        .and_then(|(set, number)| Some((set, ordinal(number)?)));
    match replica {
        Some((set, index)) => (set.rsplit_once('-').map_or(set, |(_, set)| set), index),
        None => (claim_name, 0),
    }
}

/// A number in decimal digits and nothing else, within 32 bits.
fn ordinal(text: &str) -> Option<u32> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    is_decimal.then(|| text.parse().ok()).flatten()
}

/// The 32-bit FNV-1 hash: multiply, then xor.
fn fnv1(text: &str) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    text.bytes().fold(OFFSET, |hash, byte| {
        hash.wrapping_mul(PRIME) ^ u32::from(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1_as_published() {
        assert_eq!(fnv1(""), 0x811c_9dc5);
        assert_eq!(fnv1("a"), 0x050c_5d7e);
        assert_eq!(fnv1("foobar"), 0x31f0_b262);
    }

    #[test]
    fn a_replica_is_known_by_its_set_and_number() {
        for (name, hashed, index) in [
            ("data-mysql-0", "mysql", 0),
            ("logs-mysql-1", "mysql", 1),
            ("data-web-007", "web", 7),
            ("a-b-c-17", "c", 17),
            ("x-4294967295", "x", u32::MAX),
            ("x-4294967296", "x-4294967296", 0),
            ("n-", "n-", 0),
            ("my-claim", "my-claim", 0),
            ("claim", "claim", 0),
            ("x-+1", "x-+1", 0),
            ("-5", "", 5),
            ("", "", 0),
        ] {
            assert_eq!(replica_of(name), (hashed, index), "{name}");
        }
    }

    #[test]
    fn the_sum_wraps_and_no_segments_are_no_mistake() {
        let wrapped = fnv1("x").wrapping_add(u32::MAX);
        assert_eq!(first_segment("x-4294967295", 7), (wrapped % 7) as usize);
        assert_eq!(first_segment("x-1", 0), 0);
    }
}
