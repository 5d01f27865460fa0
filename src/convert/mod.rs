//! Conversions from and to the objects of other crates, each behind a feature.
//!
//! | feature | opens |
//! | --- | --- |
//! | `k8s-openapi029` | `convert::k8s_openapi029`: the types of k8s-openapi 0.29, which kube 5 uses |
//!
//! Any other crate, and any other version, needs no feature: what reads and writes
//! Kubernetes' JSON can be converted through it.
//!
//! ```
//! use pvbind::api::PersistentVolumeClaim;
//! # mod other_crate {
//! #     #[derive(serde::Serialize, serde::Deserialize)]
//! #     pub struct PersistentVolumeClaim { pub metadata: serde_json::Value, pub spec: serde_json::Value }
//! # }
//! # let text = r#"{"metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv-1"}}"#;
//! # let theirs: other_crate::PersistentVolumeClaim = serde_json::from_str(text)?;
//! // From another crate's type …
//! let claim: PersistentVolumeClaim = serde_json::from_value(serde_json::to_value(&theirs)?)?;
//! assert_eq!(claim.volume_name(), "pv-1");
//! // … and back.
//! let theirs: other_crate::PersistentVolumeClaim =
//!     serde_json::from_value(serde_json::to_value(&claim)?)?;
//! # assert_eq!(theirs.spec["volumeName"], "pv-1");
//! # Ok::<(), serde_json::Error>(())
//! ```

#[cfg(feature = "k8s-openapi029")]
pub mod k8s_openapi029;
