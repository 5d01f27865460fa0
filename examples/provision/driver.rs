//! A driver that answers as it was told.

use pvbind::provisioner::{CreateAnswer, DeleteAnswer, Driver, SecretReference, csi};

use crate::options::Answer;

pub struct Told<'a> {
    pub answer: &'a Answer,
    /// The volumes that it was to delete.
    pub deleted: Vec<String>,
}

impl Driver for Told<'_> {
    fn create_volume(&mut self, request: csi::CreateVolumeRequest) -> CreateAnswer {
        match self.answer {
            Answer::Ok => {
                let asked = request.capacity_range.unwrap_or_default().required_bytes;
                CreateAnswer::Created(volume(request, asked))
            }
            Answer::Small => CreateAnswer::Created(volume(request, 1)),
            Answer::Ignored(reason) => CreateAnswer::Ignored(reason.clone()),
            Answer::Infeasible(message) => CreateAnswer::Infeasible(message.clone()),
            Answer::Failed(message, state) => CreateAnswer::Failed {
                message: message.clone(),
                state: *state,
            },
        }
    }

    fn delete_volume(&mut self, request: csi::DeleteVolumeRequest) -> DeleteAnswer {
        self.deleted.push(request.volume_id);
        DeleteAnswer::Deleted
    }

    /// No secret is read here.
    fn secrets(&mut self, _secret: &SecretReference) -> Result<csi::Secrets, String> {
        Ok(csi::Secrets::default())
    }
}

/// A volume in the place that is preferred most.
fn volume(request: csi::CreateVolumeRequest, capacity_bytes: i64) -> csi::Volume {
    let preferred = request
        .accessibility_requirements
        .unwrap_or_default()
        .preferred;
    csi::Volume {
        capacity_bytes,
        volume_id: format!("vol-{}", request.name),
        content_source: request.volume_content_source,
        accessible_topology: preferred.into_iter().take(1).collect(),
        ..csi::Volume::default()
    }
}
