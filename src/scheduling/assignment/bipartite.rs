//! Volumes for claims, all at once: a matching of least cost, by comparisons
//! alone.
//!
//! What is wanted is, in this order: as many claims with a volume as can be;
//! of such matchings one that leaves the smallest claims without; of those one
//! that wastes the fewest bytes. The waste of a matching is the sum of its
//! volumes' sizes less the sum of its claims' requests. So the cost of a pair
//! is a cost of the volume less a worth of the claim, and the two sides can be
//! chosen apart:
//!
//! - The sets of claims that can have volumes at the same time are the
//!   independent sets of a matroid, and so are the sets of volumes that can be
//!   given away at the same time. In a matroid the greedy choice (take the
//!   next best if it can be had beside those taken) gives the best base.
//! - By the theorem of Mendelsohn and Dulmage, if one matching covers a set of
//!   claims and another a set of volumes, some matching covers both. The best
//!   claims and the best volumes are as many, so it pairs exactly them.
//!
//! Greedy choices only compare, so that there is no arithmetic to overflow or
//! round, however large the sizes.

/// A place that nothing is paired with.
const FREE: usize = usize::MAX;

/// Which volume each claim gets.
///
/// `candidates` holds for each claim the ranks of the volumes that fit it, in
/// rising order; ranks are below `volumes`, the smaller volume first. `worth`
/// holds all claims, those that should rather have a volume first. `order`
/// holds all claims in the order in which they may choose among the volumes
/// that are given away: each gets the smallest that leaves volumes for the
/// others.
///
/// The answer has three properties, and they decide it: the claims with a
/// volume are the first base in the order of `worth`, the volumes the first
/// base in the order of their ranks, the pairs the first in `order`.
///
/// # Cost
/// With n claims and m pairs that fit: O(n m) time and O(m) memory.
pub(super) fn assign(
    candidates: &[Vec<usize>],
    volumes: usize,
    worth: &[usize],
    order: &[usize],
) -> Vec<Option<usize>> {
    // The claims: each is added if the earlier ones keep a volume.
    let mut by_claim = Pairing::new(candidates.len(), volumes);
    let mut pairs = 0;
    for &claim in worth {
        pairs += usize::from(by_claim.augment(claim, candidates));
    }
    // The volumes, among those claims: the same search from the other side.
    let mut claims_of = vec![Vec::new(); volumes];
    for (claim, ranks) in candidates.iter().enumerate() {
        if by_claim.right_of(claim).is_some() {
            for &rank in ranks {
                if let Some(claims) = claims_of.get_mut(rank) {
                    claims.push(claim);
                }
            }
        }
    }
    let mut by_volume = Pairing::new(volumes, candidates.len());
    for rank in 0..volumes {
        if pairs == 0 {
            break;
        }
        pairs -= usize::from(by_volume.augment(rank, &claims_of));
    }
    // The pairs: every claim in turn moves to its smallest volume, if those
    // that have not chosen yet can make way.
    let mut pairing = by_volume.reversed();
    let mut may_move = vec![true; candidates.len()];
    for &claim in order {
        if let Some(may_move) = may_move.get_mut(claim) {
            *may_move = false;
        }
        let ranks = candidates.get(claim).map_or(&[][..], Vec::as_slice);
        pairing.improve(claim, ranks, &claims_of, &may_move);
    }
    (0..candidates.len())
        .map(|claim| pairing.right_of(claim))
        .collect()
}

/// Pairs of a left and a right side.
struct Pairing {
    // INVARIANT (pairing): the two are the inverse of each other.
    right: Vec<usize>,
    left: Vec<usize>,
    /// When each place on the right was last visited.
    visited: Vec<usize>,
    round: usize,
}

impl Pairing {
    fn new(left: usize, right: usize) -> Self {
        Pairing {
            right: vec![FREE; left],
            left: vec![FREE; right],
            visited: vec![0; right],
            round: 1,
        }
    }

    /// Adds a place on the left, if those that are paired can stay so. Such a
    /// search never leaves a paired place without partner, on either side.
    ///
    /// Depth first, without recursion: the path on which partners are exchanged
    /// can be long. Where a search finds no way, nor do the next ones until one
    /// succeeds: so all searches between two that succeed visit a place once.
    fn augment(&mut self, start: usize, edges: &[Vec<usize>]) -> bool {
        // A place on the left, how many of its edges were tried, and by which
        // place on the right it goes on.
        let mut path = vec![(start, 0_usize, FREE)];
        while let Some((left, tried, via)) = path.last_mut() {
            let next = edges.get(*left).and_then(|edges| edges.get(*tried));
            let Some(&right) = next else {
                path.pop();
                continue;
            };
            *tried += 1;
            let Some(visited) = self.visited.get_mut(right) else {
                continue;
            };
            if *visited == self.round {
                continue;
            }
            *visited = self.round;
            *via = right;
            match self.left_of(right) {
                Some(next) => path.push((next, 0, FREE)),
                None => {
                    for (left, _, right) in path {
                        self.pair(left, right);
                    }
                    self.round += 1;
                    return true;
                }
            }
        }
        false
    }

    /// Moves a place on the left to the first of these partners, if those that
    /// may move can arrange themselves so that all keep one: what it leaves goes
    /// to somebody else.
    ///
    /// `holders` holds for each place on the right those on the left that it
    /// could be paired with.
    fn improve(
        &mut self,
        left: usize,
        partners: &[usize],
        holders: &[Vec<usize>],
        may_move: &[bool],
    ) {
        let Some(current) = self.right_of(left) else {
            return;
        };
        let movable = |place: usize| may_move.get(place) == Some(&true);
        let smaller = partners.iter().copied();
        let mut smaller = smaller.take_while(|&right| right < current);
        if !smaller.any(|right| self.left_of(right).is_some_and(movable)) {
            return;
        }
        // From the place that is left behind backwards: where its partner can
        // go when it must leave each place on the right.
        let mut goes_to = vec![FREE; self.left.len()];
        let mut reached = vec![current];
        while let Some(free) = reached.pop() {
            let takers = holders.get(free).into_iter().flatten().copied();
            for taker in takers.filter(|&taker| movable(taker)) {
                let Some(leaves) = self.right_of(taker) else {
                    continue;
                };
                match goes_to.get_mut(leaves) {
                    Some(next) if *next == FREE && leaves != current => {
                        *next = free;
                        reached.push(leaves);
                    }
                    _ => {}
                }
            }
        }
        let next = |right: usize| goes_to.get(right).copied().filter(|&next| next != FREE);
        let smaller = partners.iter().copied();
        let mut smaller = smaller.take_while(|&right| right < current);
        let Some(wanted) = smaller.find(|&right| next(right).is_some()) else {
            return;
        };
        let (mut comes, mut right) = (left, wanted);
        while let Some(goes) = self.left_of(right) {
            self.pair(comes, right);
            let Some(next) = next(right) else {
                break;
            };
            (comes, right) = (goes, next);
        }
    }

    fn pair(&mut self, left: usize, right: usize) {
        if let (Some(partner), Some(back)) = (self.right.get_mut(left), self.left.get_mut(right)) {
            *partner = right;
            *back = left;
        }
    }

    fn reversed(self) -> Pairing {
        Pairing {
            visited: vec![0; self.right.len()],
            round: 1,
            right: self.left,
            left: self.right,
        }
    }

    fn right_of(&self, left: usize) -> Option<usize> {
        self.right.get(left).copied().filter(|&right| right != FREE)
    }

    fn left_of(&self, right: usize) -> Option<usize> {
        self.left.get(right).copied().filter(|&left| left != FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assigned(candidates: &[&[usize]], volumes: usize) -> Vec<Option<usize>> {
        let candidates: Vec<_> = candidates.iter().map(|ranks| ranks.to_vec()).collect();
        let order: Vec<_> = (0..candidates.len()).collect();
        let worth: Vec<_> = order.iter().copied().rev().collect();
        assign(&candidates, volumes, &worth, &order)
    }

    #[test]
    fn a_claim_leaves_its_smallest_volume_to_one_that_has_no_other() {
        assert_eq!(assigned(&[&[0, 1], &[0]], 2), [Some(1), Some(0)]);
    }

    #[test]
    fn where_all_find_one_each_takes_its_smallest_in_turn() {
        assert_eq!(assigned(&[&[0, 1, 2], &[0, 1, 2]], 3), [Some(0), Some(1)]);
    }

    #[test]
    fn the_claim_of_more_worth_gets_the_only_volume() {
        assert_eq!(assigned(&[&[0], &[0]], 1), [None, Some(0)]);
    }

    #[test]
    fn the_smallest_volumes_are_given_away_even_if_nobody_starts_with_them() {
        // The last claim is first in worth and takes volume 0; a search from
        // the claims alone would send the first one on to volume 3.
        assert_eq!(
            assigned(&[&[1, 3], &[0, 2], &[0, 1]], 4),
            [Some(1), Some(2), Some(0)]
        );
    }

    #[test]
    fn a_long_chain_of_moves_needs_no_stack() {
        let n = 20_000;
        let mut candidates: Vec<_> = (0..n).map(|claim| vec![claim, claim + 1]).collect();
        candidates.push(vec![0]);
        let worth: Vec<_> = (0..=n).collect();
        let pairs = assign(&candidates, n + 1, &worth, &worth);
        assert_eq!(pairs.last(), Some(&Some(0)));
        assert!(pairs.iter().all(Option::is_some));
    }

    /// Every way to give volumes away, by trying all.
    fn all_pairings(candidates: &[Vec<usize>]) -> Vec<Vec<Option<usize>>> {
        let mut all = vec![Vec::new()];
        for ranks in candidates {
            let mut longer = Vec::new();
            for pairs in &all {
                for choice in std::iter::once(None).chain(ranks.iter().copied().map(Some)) {
                    if choice.is_none() || !pairs.contains(&choice) {
                        longer.push([&pairs[..], &[choice]].concat());
                    }
                }
            }
            all = longer;
        }
        all
    }

    #[test]
    #[allow(clippy::indexing_slicing, reason = "a test fails by panicking")]
    fn the_answer_is_the_first_of_the_best_by_brute_force() {
        // A small generator: every graph of 4 claims and 4 volumes in a walk.
        let mut state = 7_u64;
        for _ in 0..3_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let bits = state >> 40;
            let candidates: Vec<Vec<usize>> = (0..4)
                .map(|claim| {
                    (0..4)
                        .filter(|rank| bits >> (claim * 4 + rank) & 1 == 1)
                        .collect()
                })
                .collect();
            let order: Vec<_> = (0..4).collect();
            let worth = [3, 2, 1, 0];
            let key = |pairs: &Vec<Option<usize>>| {
                let claims: Vec<_> = worth.iter().map(|&claim| pairs[claim].is_none()).collect();
                let mut ranks: Vec<_> = pairs.iter().flatten().copied().collect();
                ranks.sort_unstable();
                (std::cmp::Reverse(ranks.len()), claims, ranks, pairs.clone())
            };
            let best = all_pairings(&candidates)
                .into_iter()
                .min_by_key(key)
                .unwrap();
            assert_eq!(
                assign(&candidates, 4, &worth, &order),
                best,
                "{candidates:?}"
            );
        }
    }
}
