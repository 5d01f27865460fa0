//! Which of several nodes that fit is the better one.

use std::collections::BTreeMap;

use super::StaticBinding;

/// The score of a node that suits best.
pub const MAX_NODE_SCORE: i64 = 100;

/// The greatest score of a [`ShapePoint`].
const MAX_SHAPE_SCORE: u8 = 10;
/// A shape's scores are tenths of a node's.
const SCALE: i64 = MAX_NODE_SCORE / MAX_SHAPE_SCORE as i64;
const MAX_UTILIZATION: i64 = 100;

/// A point of a [`ScoreShape`].
///
/// Its score has ten steps, as in the scheduler's configuration; that of a node
/// has a hundred.
///
/// ```
/// use pvbind::scheduling::{ScoreShape, ShapePoint};
/// // Volumes should be used to four fifths, with room to grow.
/// let shape = ScoreShape::new([
///     ShapePoint { utilization: 0, score: 0 },
///     ShapePoint { utilization: 80, score: 10 },
///     ShapePoint { utilization: 100, score: 5 },
/// ])?;
/// assert_eq!([shape.at(40), shape.at(80), shape.at(100)], [50, 100, 50]);
/// # Ok::<(), pvbind::scheduling::ShapeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// How much of the volumes is asked for, in percent: 0 to 100.
    pub utilization: u8,
    /// How well that suits: 0 to 10.
    pub score: u8,
}

/// A broken line from utilisation to score.
///
/// Follows the argument `shape` of the volume binding plug-in of Kubernetes
/// 1.36. Between two points the line is straight, in whole numbers, rounded
/// towards the score of the lower point; below the first point and above the
/// last one it is level.
///
/// # The default
/// What upstream takes where no shape is configured has changed:
///
/// | Kubernetes | feature gate | without a shape |
/// | --- | --- | --- |
/// | up to 1.32 | VolumeCapacityPriority, alpha, off by default | the fuller, the better: [`ScoreShape::default`] |
/// | 1.33 to 1.36 | StorageCapacityScoring, alpha, off by default | the emptier, the better: [`ScoreShape::emptier_first`] |
/// | from 1.37 | StorageCapacityScoring, beta, on by default | the same |
///
/// So a scheduler of Kubernetes 1.36 does not score volumes unless somebody
/// turns the gate on; while it is off it refuses a configured shape. With the
/// gate on, `emptier_first` is what upstream does. The default here stays the
/// older one: of volumes that exist, a claim should not get one far larger than
/// it asks for.
///
/// ```
/// use pvbind::scheduling::ScoreShape;
/// // A claim that asks for a quarter of the volume that was found for it:
/// assert_eq!(ScoreShape::default().at(25), 25);
/// assert_eq!(ScoreShape::emptier_first().at(25), 75);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreShape {
    // INVARIANT (shape): not empty, utilisations rise, at most 100 and 10.
    points: Vec<ShapePoint>,
}

/// What is wrong with the points of a shape.
///
/// ```
/// use pvbind::scheduling::{ScoreShape, ShapeError, ShapePoint};
/// let point = ShapePoint { utilization: 50, score: 11 };
/// assert_eq!(ScoreShape::new([point]), Err(ShapeError::Score { point: 0, score: 11 }));
/// assert_eq!(ScoreShape::new([]).unwrap_err().to_string(), "a shape needs at least one point");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// There are none.
    #[error("a shape needs at least one point")]
    Empty,
    /// A utilisation above 100.
    #[error("point {point}: utilization `{utilization}` is above 100")]
    Utilization {
        /// Which point, from 0.
        point: usize,
        /// Its utilisation.
        utilization: u8,
    },
    /// A score above 10.
    #[error("point {point}: score `{score}` is above 10")]
    Score {
        /// Which point, from 0.
        point: usize,
        /// Its score.
        score: u8,
    },
    /// A utilisation that is not above the one before.
    #[error("point {point}: utilization `{utilization}` is not above that of the point before")]
    NotRising {
        /// Which point, from 0.
        point: usize,
        /// Its utilisation.
        utilization: u8,
    },
}

impl Default for ScoreShape {
    /// The fuller, the better: 0 at 0 percent, 10 at 100 percent, so that a
    /// claim does not get a volume far larger than it asks for.
    fn default() -> Self {
        ScoreShape::line(0, MAX_SHAPE_SCORE)
    }
}

impl ScoreShape {
    /// A shape of these points.
    ///
    /// # Errors
    /// The first point that is wrong.
    ///
    /// ```
    /// use pvbind::scheduling::{ScoreShape, ShapePoint};
    /// let point = |utilization, score| ShapePoint { utilization, score };
    /// let shape = ScoreShape::new([point(0, 0), point(50, 10), point(100, 4)])?;
    /// assert_eq!([shape.at(25), shape.at(50), shape.at(75)], [50, 100, 70]);
    /// let error = ScoreShape::new([point(50, 0), point(50, 1)]).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "point 1: utilization `50` is not above that of the point before",
    /// );
    /// # Ok::<(), pvbind::scheduling::ShapeError>(())
    /// ```
    pub fn new(points: impl IntoIterator<Item = ShapePoint>) -> Result<Self, ShapeError> {
        let points: Vec<_> = points.into_iter().collect();
        let mut before = None;
        for (place, &ShapePoint { utilization, score }) in points.iter().enumerate() {
            if i64::from(utilization) > MAX_UTILIZATION {
                return Err(ShapeError::Utilization {
                    point: place,
                    utilization,
                });
            }
            if score > MAX_SHAPE_SCORE {
                return Err(ShapeError::Score {
                    point: place,
                    score,
                });
            }
            if before.is_some_and(|before| before >= utilization) {
                return Err(ShapeError::NotRising {
                    point: place,
                    utilization,
                });
            }
            before = Some(utilization);
        }
        if points.is_empty() {
            return Err(ShapeError::Empty);
        }
        Ok(ScoreShape { points })
    }

    /// The emptier, the better: 10 at 0 percent, 0 at 100 percent. Upstream's
    /// default since Kubernetes 1.33: see [above](ScoreShape#the-default).
    ///
    /// ```
    /// use pvbind::scheduling::ScoreShape;
    /// // A claim of 5Gi that finds 50Gi on one node, and 10Gi on another:
    /// let score = |shape: ScoreShape| (shape.at(10), shape.at(50));
    /// assert_eq!(score(ScoreShape::emptier_first()), (90, 50));
    /// // The other way around than here without a shape.
    /// assert_eq!(score(ScoreShape::default()), (10, 50));
    /// ```
    pub fn emptier_first() -> Self {
        ScoreShape::line(MAX_SHAPE_SCORE, 0)
    }

    fn line(empty: u8, full: u8) -> Self {
        let point = |utilization, score| ShapePoint { utilization, score };
        ScoreShape {
            points: vec![point(0, empty), point(100, full)],
        }
    }

    /// The score at a utilisation in percent: 0 to [`MAX_NODE_SCORE`].
    ///
    /// ```
    /// use pvbind::scheduling::{ScoreShape, ShapePoint};
    /// let shape = ScoreShape::new([ShapePoint { utilization: 50, score: 7 }])?;
    /// // Level on both sides of its points.
    /// assert_eq!([shape.at(0), shape.at(50), shape.at(100)], [70, 70, 70]);
    /// # Ok::<(), pvbind::scheduling::ShapeError>(())
    /// ```
    pub fn at(&self, utilization: i64) -> i64 {
        let mut below: Option<(i64, i64)> = None;
        for point in &self.points {
            let (end, score) = (i64::from(point.utilization), i64::from(point.score) * SCALE);
            if utilization <= end {
                // Utilisations rise, so that the divisor is above zero.
                return below.map_or(score, |(start, from)| {
                    from + (score - from) * (utilization - start) / (end - start)
                });
            }
            below = Some((end, score));
        }
        below.map_or(0, |(_, score)| score)
    }

    /// The points, by rising utilisation; at least one.
    ///
    /// ```
    /// use pvbind::scheduling::ScoreShape;
    /// /// The argument `shape` of the volume binding plug-in.
    /// fn argument(shape: &ScoreShape) -> serde_json::Value {
    ///     let points = shape.points().iter();
    ///     points.map(|p| serde_json::json!({"utilization": p.utilization, "score": p.score})).collect()
    /// }
    /// assert_eq!(
    ///     argument(&ScoreShape::default()).to_string(),
    ///     r#"[{"score":0,"utilization":0},{"score":10,"utilization":100}]"#,
    /// );
    /// ```
    pub fn points(&self) -> &[ShapePoint] {
        &self.points
    }
}

/// How well the volumes that were found on a node suit the claims: 0 to
/// [`MAX_NODE_SCORE`], and 0 if there are none.
///
/// For each class, what its claims ask for is set against what their volumes
/// hold, in percent rounded down; a class whose volumes hold nothing, or less
/// than is asked for, counts as full. The answer is the average of
/// [`ScoreShape::at`] over the classes, which all weigh the same, rounded to
/// the nearest whole number.
///
/// Follows the score of the volume binding plug-in of Kubernetes 1.36, as
/// Kubernetes' documents and enhancement proposals 1845 and 4049 describe it;
/// no recorded case covers it.
///
/// # Differences
/// - Upstream scores volumes only if the feature gate StorageCapacityScoring is
///   on, which it is not by default in 1.36; and the default shape is another
///   there: see [`ScoreShape`].
/// - Sizes beyond 63 bits are read as 2^63-1 by both; their sums do not
///   overflow here.
/// - Volumes that would have to be provisioned have no score; upstream scores
///   them by the capacity pools if no volume was found and the feature
///   StorageCapacityScoring is on.
///
/// Cost: linear in the number of bindings, with a logarithm in that of classes.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::scheduling::{ScoreShape, StaticBinding, utilization_score};
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"resources": {"requests": {"storage": "5Gi"}}}}"#)?;
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "20Gi"}}}"#)?;
/// let binding = StaticBinding { claim: Arc::new(claim), volume: Arc::new(volume) };
/// assert_eq!(utilization_score(&[binding], &ScoreShape::default()), 25);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn utilization_score(bindings: &[StaticBinding], shape: &ScoreShape) -> i64 {
    // 128 bits hold the sum of more 64-bit sizes than memory holds bindings.
    let mut classes: BTreeMap<&str, (i128, i128)> = BTreeMap::new();
    for StaticBinding { claim, volume } in bindings {
        let (asked, held) = classes.entry(volume.class_name()).or_default();
        *asked = asked.saturating_add(claim.requested_storage().value().into());
        *held = held.saturating_add(volume.storage().value().into());
    }
    let total: i64 = classes
        .values()
        .map(|&(asked, held)| shape.at(utilization(asked, held)))
        .sum();
    // Scores are not negative, so that this rounds halves up, away from zero.
    let count = i64::try_from(classes.len()).unwrap_or(i64::MAX / 2);
    let doubled = total.saturating_mul(2).saturating_add(count);
    doubled.checked_div(count.saturating_mul(2)).unwrap_or(0)
}

/// In percent, rounded down: at most 100.
fn utilization(asked: i128, held: i128) -> i64 {
    if held <= 0 || asked > held {
        return MAX_UTILIZATION;
    }
    let percent = asked.saturating_mul(MAX_UTILIZATION.into()) / held;
    i64::try_from(percent).unwrap_or(0)
}

/// How much larger the volumes that were found are than the claims ask for, in
/// bytes, all together. Each size is read in whole bytes, rounded up, and up
/// to 2^63-1, as Kubernetes reads sizes.
///
/// Upstream has no such score: it looks at each class's share, in which one
/// wasted terabyte and one wasted gigabyte can weigh the same.
///
/// Cost: linear in the number of bindings.
///
/// ```
/// use std::sync::Arc;
/// use pvbind::api::{PersistentVolume, PersistentVolumeClaim};
/// use pvbind::scheduling::{StaticBinding, wasted_bytes};
/// let claim: PersistentVolumeClaim = serde_json::from_str(
///     r#"{"spec": {"resources": {"requests": {"storage": "300"}}}}"#)?;
/// let volume: PersistentVolume =
///     serde_json::from_str(r#"{"spec": {"capacity": {"storage": "1k"}}}"#)?;
/// let binding = StaticBinding { claim: Arc::new(claim), volume: Arc::new(volume) };
/// assert_eq!(wasted_bytes(&[binding]), 700);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn wasted_bytes(bindings: &[StaticBinding]) -> i128 {
    bindings.iter().fold(0, |sum: i128, binding| {
        let held = i128::from(binding.volume.storage().value());
        let asked = i128::from(binding.claim.requested_storage().value());
        sum.saturating_add(held.saturating_sub(asked))
    })
}

/// The scores of nodes by [`wasted_bytes`], one for each amount: 100 for the
/// least, 0 for the most, the others in proportion, rounded down. Where all
/// waste the same, all score 100. Upstream has no such score.
///
/// Cost: linear in the number of nodes.
///
/// ```
/// use pvbind::scheduling::least_waste_scores;
/// assert_eq!(least_waste_scores(&[700, 100, 400]), [0, 100, 50]);
/// assert_eq!(least_waste_scores(&[7, 7]), [100, 100]);
/// ```
pub fn least_waste_scores(wasted: &[i128]) -> Vec<i64> {
    let least = wasted.iter().copied().min().unwrap_or(0);
    let most = wasted.iter().copied().max().unwrap_or(0);
    // Of amounts whose hundredfold has no room, the last digits do not matter.
    let shift = if most.saturating_sub(least) > i128::MAX / 128 {
        8
    } else {
        0
    };
    let range = most.saturating_sub(least) >> shift;
    let score = |&amount: &i128| {
        let saved = most.saturating_sub(amount) >> shift;
        let hundredfold = saved.saturating_mul(MAX_NODE_SCORE.into());
        let score = hundredfold.checked_div(range);
        score.map_or(MAX_NODE_SCORE, |score| i64::try_from(score).unwrap_or(0))
    };
    wasted.iter().map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn binding(class: &str, asked: &str, held: &str) -> StaticBinding {
        let claim = json!({"spec": {"storageClassName": class,
            "resources": {"requests": {"storage": asked}}}});
        let volume = json!({"spec": {"storageClassName": class, "capacity": {"storage": held}}});
        StaticBinding {
            claim: Arc::new(serde_json::from_value(claim).unwrap()),
            volume: Arc::new(serde_json::from_value(volume).unwrap()),
        }
    }

    fn score(bindings: &[StaticBinding]) -> i64 {
        utilization_score(bindings, &ScoreShape::default())
    }

    #[test]
    fn sizes_are_summed_by_class_and_the_classes_averaged() {
        let (a, b) = (
            binding("fast", "10Gi", "100Gi"),
            binding("fast", "50Gi", "100Gi"),
        );
        assert_eq!(score(&[a.clone(), b.clone()]), 30);
        // 30 and 61 percent: 45.5, rounded up.
        assert_eq!(score(&[a, b, binding("slow", "61", "100")]), 46);
    }

    #[test]
    fn nothing_found_scores_nothing() {
        assert_eq!(score(&[]), 0);
        assert_eq!(utilization_score(&[], &ScoreShape::emptier_first()), 0);
    }

    #[test]
    fn volumes_without_room_count_as_full() {
        assert_eq!(score(&[binding("fast", "0", "0")]), 100);
        assert_eq!(score(&[binding("fast", "2", "1")]), 100);
        assert_eq!(score(&[binding("fast", "-7", "-5")]), 100);
    }

    #[test]
    fn sizes_beyond_63_bits_neither_panic_nor_leave_the_range() {
        for (asked, held) in [
            ("1e40", "1e40"),
            ("1", "1e40"),
            ("-1e40", "1e40"),
            ("1e40", "-1e40"),
        ] {
            let many = vec![binding("fast", asked, held); 9];
            for shape in [ScoreShape::default(), ScoreShape::emptier_first()] {
                assert!((0..=100).contains(&utilization_score(&many, &shape)));
            }
            let waste = wasted_bytes(&many);
            assert_eq!(waste % 9, 0);
        }
        assert_eq!(
            least_waste_scores(&[i128::MIN, 0, i128::MAX]),
            [100, 100, 0]
        );
        assert_eq!(
            least_waste_scores(&[0, i128::MAX / 2, i128::MAX]),
            [100, 50, 0]
        );
    }

    #[test]
    fn the_line_is_level_outside_its_points_and_rounds_towards_the_lower_point() {
        let point = |utilization, score| ShapePoint { utilization, score };
        let shape = ScoreShape::new([point(10, 9), point(40, 2)]).unwrap();
        assert_eq!(
            [shape.at(i64::MIN), shape.at(0), shape.at(10)],
            [90, 90, 90]
        );
        // 90 - 70 * 1 / 30 = 87.67
        assert_eq!(shape.at(11), 88);
        assert_eq!(
            [shape.at(40), shape.at(100), shape.at(i64::MAX)],
            [20, 20, 20]
        );
    }

    #[test]
    fn a_shape_says_which_point_is_wrong() {
        let point = |utilization, score| ShapePoint { utilization, score };
        assert_eq!(ScoreShape::new([]), Err(ShapeError::Empty));
        assert_eq!(
            ScoreShape::new([point(0, 0), point(101, 0)])
                .unwrap_err()
                .to_string(),
            "point 1: utilization `101` is above 100"
        );
        assert_eq!(
            ScoreShape::new([point(0, 11)]).unwrap_err().to_string(),
            "point 0: score `11` is above 10"
        );
    }
}
