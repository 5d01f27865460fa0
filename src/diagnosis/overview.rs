//! The findings of a whole view.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::{Diagnosis, Kind, ObjectName, Severity};

/// What is wrong with every claim, volume and pod of a view, the worst first:
/// by severity, then claims, volumes and pods, each by namespace and name.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewDiagnosis {
    diagnoses: Vec<Diagnosis>,
}

impl ViewDiagnosis {
    pub(super) fn new(diagnoses: Vec<Diagnosis>) -> Self {
        let mut keyed: Vec<_> = diagnoses
            .into_iter()
            .map(|one| (one.severity(), one))
            .collect();
        keyed.sort_by(|(a_severity, a), (b_severity, b)| {
            (b_severity, &a.object).cmp(&(a_severity, &b.object))
        });
        ViewDiagnosis {
            diagnoses: keyed.into_iter().map(|(_, one)| one).collect(),
        }
    }

    /// The diagnoses, the worst first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Diagnosis> {
        self.diagnoses.iter()
    }

    /// Those of a severity.
    pub fn of(&self, severity: Severity) -> impl Iterator<Item = &Diagnosis> {
        self.iter()
            .filter(move |diagnosis| diagnosis.severity() == severity)
    }

    /// How many objects of a kind have a severity.
    pub fn count(&self, kind: Kind, severity: Severity) -> usize {
        self.of(severity)
            .filter(|diagnosis| diagnosis.object.kind == kind)
            .count()
    }

    /// That of an object. Linear in the number of objects.
    pub fn find(&self, object: &ObjectName) -> Option<&Diagnosis> {
        self.iter().find(|diagnosis| diagnosis.object == *object)
    }

    /// Whether there is a fault anywhere.
    pub fn has_faults(&self) -> bool {
        let first = self.diagnoses.first();
        first.is_some_and(|first| first.severity() == Severity::Fault)
    }
}

/// For programs: whether there are faults, and the diagnoses.
impl Serialize for ViewDiagnosis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("ViewDiagnosis", 2)?;
        fields.serialize_field("hasFaults", &self.has_faults())?;
        fields.serialize_field("diagnoses", &self.diagnoses)?;
        fields.end()
    }
}
