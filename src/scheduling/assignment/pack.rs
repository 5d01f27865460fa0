//! Volumes that must be provisioned, in pools that have room for some.

/// What a pool has room for, in whole bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The largest single volume.
    pub(super) largest: i64,
    /// All volumes together, if that is known.
    pub(super) together: Option<i64>,
}

/// The steps after which no further arrangement is tried. Six volumes in six
/// pools take fewer.
const MOST_STEPS: usize = 1 << 16;

/// A pool for each volume, or the first volume, in the order of sizes from the
/// largest, that has none whatever was tried.
///
/// The volumes are placed largest first, of equal ones the first first, each
/// in the first pool with room, as long as the others find room too: the
/// answer is the first such arrangement. With one pool that decides. With
/// several this is the problem of packing bins, which nobody solves in
/// polynomial time: after a bounded number of steps the search gives up.
pub(super) fn pack(sizes: &[i64], pools: &[Room]) -> Result<Vec<usize>, usize> {
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    let size = |volume: usize| sizes.get(volume).copied().unwrap_or(0);
    by_size.sort_by_key(|&volume| std::cmp::Reverse(size(volume)));
    let mut left: Vec<Room> = pools.to_vec();
    // The pool of each volume placed so far, in the order of sizes.
    let mut placed: Vec<usize> = Vec::with_capacity(by_size.len());
    let mut from = 0;
    let mut deepest = 0;
    let mut steps = 0_usize;
    while let Some(&volume) = by_size.get(placed.len()) {
        let size = size(volume);
        let mut next = None;
        for (place, pool) in left.iter().enumerate().skip(from) {
            steps += 1;
            // A pool that looks like an earlier one leads nowhere else.
            let is_new = || !left.iter().take(place).any(|earlier| earlier == pool);
            if pool.holds(size) && (place == 0 || left.len() > MOST_COMPARED || is_new()) {
                next = Some(place);
                break;
            }
        }
        if let Some(place) = next {
            if let Some(pool) = left.get_mut(place) {
                pool.take(size);
            }
            placed.push(place);
            deepest = deepest.max(placed.len());
            from = 0;
            continue;
        }
        let back = placed.pop().filter(|_| steps < MOST_STEPS);
        let Some(place) = back else {
            return Err(by_size.get(deepest).copied().unwrap_or(volume));
        };
        let undone = by_size.get(placed.len()).copied().unwrap_or(volume);
        if let (Some(pool), Some(&size)) = (left.get_mut(place), sizes.get(undone)) {
            pool.give_back(size);
        }
        from = place + 1;
    }
    let mut answer = vec![0; sizes.len()];
    for (volume, place) in by_size.into_iter().zip(placed) {
        if let Some(answer) = answer.get_mut(volume) {
            *answer = place;
        }
    }
    Ok(answer)
}

/// Among more pools than this, like ones are not looked for.
const MOST_COMPARED: usize = 64;

impl Room {
    fn holds(&self, size: i64) -> bool {
        size <= self.largest && self.together.is_none_or(|room| size.max(0) <= room.max(0))
    }

    // INVARIANT (room): what is taken was there, so that nothing overflows.
    fn take(&mut self, size: i64) {
        self.together = self.together.map(|room| room.saturating_sub(size.max(0)));
    }

    fn give_back(&mut self, size: i64) {
        self.together = self.together.map(|room| room.saturating_add(size.max(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(room: i64) -> Room {
        Room {
            largest: room,
            together: Some(room),
        }
    }

    #[test]
    fn volumes_share_the_room_of_a_pool() {
        assert_eq!(pack(&[4, 6], &[pool(10)]), Ok(vec![0, 0]));
        assert_eq!(pack(&[5, 6], &[pool(10)]), Err(0));
    }

    #[test]
    fn the_first_pool_with_room_is_taken() {
        assert_eq!(pack(&[3], &[pool(2), pool(9), pool(3)]), Ok(vec![1]));
    }

    #[test]
    fn an_earlier_volume_makes_way_where_the_first_pool_leads_nowhere() {
        // 4 in the first pool would leave no room for 3, 3.
        assert_eq!(pack(&[3, 4, 3], &[pool(6), pool(4)]), Ok(vec![0, 1, 0]));
    }

    #[test]
    fn a_pool_that_says_only_how_large_a_volume_can_be_takes_any_number() {
        let pools = [Room {
            largest: 5,
            together: None,
        }];
        assert_eq!(pack(&[5, 5, 5], &pools), Ok(vec![0, 0, 0]));
        assert_eq!(pack(&[5, 6], &pools), Err(1));
    }

    #[test]
    fn sizes_at_the_ends_of_the_range_do_not_overflow() {
        assert_eq!(pack(&[i64::MAX, 1], &[pool(i64::MAX)]), Err(1));
        assert_eq!(pack(&[i64::MIN, i64::MIN], &[pool(0)]), Ok(vec![0, 0]));
        assert_eq!(pack(&[], &[]), Ok(vec![]));
        assert_eq!(pack(&[0], &[]), Err(0));
    }

    #[test]
    fn a_puzzle_too_large_ends() {
        let sizes: Vec<i64> = (0..60).map(|n| 1_000 + n * 7).collect();
        let pools: Vec<_> = (0..25).map(|n| pool(2_500 + n)).collect();
        assert!(pack(&sizes, &pools).is_err());
    }
}
