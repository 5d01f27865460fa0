//! What happens, as text.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use pvbind::api::{
    ClaimKey, CsiNode, Node, PersistentVolumeClaim, StorageClass, VolumeBindingMode, names,
};
use pvbind::controller::MIGRATED_PLUGINS;
use pvbind::plan::{Done, Step, Write};
use pvbind::provisioner::{
    Backoff, ClaimNext, ClaimOutcome, ClaimReport, Config, Ledger, NotNow, ProvisionError,
    RequestInputs, TopologyConfig, VolumeNames, check_claim, run_claim, sync_claim,
};
use serde::Serialize;
use serde_json::json;

use crate::cluster::{Cluster, uid_note};
use crate::document::escaped;
use crate::driver::Told;
use crate::options::{Answer, Options};
use crate::play::{Played, resume};
use crate::printable::printable;
use crate::summary::summary;

/// The story, and whether it came to rest.
pub fn story(options: &Options) -> Result<(String, bool), String> {
    let mut cluster = Cluster::read(&options.files)?;
    for selection in &options.select_node {
        cluster.select_node(selection)?;
    }
    let elsewhere = add_topology(&mut cluster, options)?;
    let config = config(&cluster, options)?;
    let mut told = BTreeSet::new();
    let mut text = uid_note(&cluster);
    if !elsewhere.is_empty() {
        let nodes = elsewhere.join(", ");
        let driver = &options.driver;
        let told = format!("Nodes without all of these labels, where {driver} is not: {nodes}\n");
        line(&mut text, told.trim_end());
        text.push('\n');
    }

    let played = control(&mut cluster, &mut told, options);
    chapter(&mut text, "The binding controller, until rest", &played);

    let claims = own_claims(&config, &cluster);
    line(
        &mut text,
        &format!("Claims of {} ({}):", options.driver, claims.len()),
    );
    for claim in &claims {
        line(&mut text, &format!("claim {}", ClaimKey::of(claim)));
        ask(&mut text, &config, &cluster, claim);
    }
    let Some(answer) = &options.answer else {
        let hint = "\nThe driver has not answered; give its answer with --answer ok.";
        let _ = writeln!(text, "{hint}");
        return Ok((text, played.is_settled));
    };

    let _ = writeln!(text, "\nThe driver answers:");
    let mut ledger = Ledger::new(Backoff::default());
    for claim in &claims {
        provision(&mut text, &config, &mut cluster, &mut ledger, claim, answer);
    }
    text.push('\n');

    let played = control(&mut cluster, &mut told, options);
    chapter(&mut text, "The binding controller takes over", &played);
    text += &summary(&cluster, &played);
    Ok((text, played.is_settled))
}

fn control(cluster: &mut Cluster, told: &mut BTreeSet<String>, options: &Options) -> Played {
    let hint = |driver: &str| match driver == options.driver {
        true => format!("{driver} is to make the volume"),
        false => format!("{driver}, another driver, is to make the volume"),
    };
    resume(cluster, &[], told, &hint)
}

fn chapter(text: &mut String, title: &str, played: &Played) {
    let _ = writeln!(text, "{title}:");
    for line in played.story.lines() {
        let _ = writeln!(text, "  {line}");
    }
    text.push('\n');
}

/// A recording without CSINodes of the driver has them made, one for each node
/// that has all the labels; the names of the others are returned.
fn add_topology(cluster: &mut Cluster, options: &Options) -> Result<Vec<String>, String> {
    let keys = &options.topology_keys;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    for csi_node in cluster.snapshot.csi_nodes() {
        let mut drivers = csi_node.spec.drivers.iter().flatten();
        if let Some(entry) = drivers.find(|entry| entry.name.as_ref() == Some(&options.driver)) {
            let has = entry.topology_keys.as_deref().unwrap_or_default();
            return Err(format!(
                "--topology-keys: CSINode `{}` says what they are: {}",
                csi_node.name(),
                if has.is_empty() {
                    "none".to_owned()
                } else {
                    format!("`{}`", has.join("`, `"))
                }
            ));
        }
    }
    let has_all = |node: &Node| {
        let labels = node.metadata.labels();
        keys.iter().all(|key| labels.contains_key(key))
    };
    let nodes = cluster.snapshot.nodes();
    let nodes: Vec<_> = nodes
        .map(|node| (node.name().to_owned(), has_all(node)))
        .collect();
    let (with, without): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|(_, has)| *has);
    for (name, _) in with {
        let found = cluster.snapshot.find::<CsiNode>("", &name);
        let mut csi_node = found.map(|found| (**found).clone()).unwrap_or_default();
        csi_node.metadata.name = Some(name.clone());
        let driver = json!({"name": options.driver, "nodeID": name, "topologyKeys": keys});
        if let Ok(driver) = serde_json::from_value(driver) {
            csi_node.spec.drivers.get_or_insert_default().push(driver);
        }
        cluster.snapshot.apply(Arc::new(csi_node));
    }
    Ok(without.into_iter().map(|(name, _)| name).collect())
}

fn config(cluster: &Cluster, options: &Options) -> Result<Config, String> {
    let driver = &options.driver;
    let mut config = Config::new(driver);
    config.additional_names = MIGRATED_PLUGINS
        .into_iter()
        .filter(|(_, to)| to == driver)
        .map(|(plugin, _)| plugin.to_owned())
        .collect();
    config.knows_single_node_modes = options.single_node_modes;
    config.supports_block = !options.no_block;
    let length = options.volume_name_uuid_length;
    config.volume_names = VolumeNames::new(&options.volume_name_prefix, length)
        .map_err(|error| format!("--volume-name-prefix, --volume-name-uuid-length: {error}"))?;
    let knows_places = cluster.snapshot.csi_nodes().any(|csi_node| {
        let mut drivers = csi_node.spec.drivers.iter().flatten();
        drivers.any(|entry| {
            let keys = entry.topology_keys.as_deref().unwrap_or_default();
            entry.name.as_ref() == Some(driver) && !keys.is_empty()
        })
    });
    if knows_places {
        let mut topology = TopologyConfig::default();
        topology.is_strict = options.strict_topology;
        config.topology = Some(topology);
    } else if !options.topology_keys.is_empty() {
        let keys = options.topology_keys.join("`, `");
        return Err(format!("--topology-keys: no node has all of `{keys}`"));
    } else if options.strict_topology {
        return Err(format!(
            "--strict-topology: no CSINode says which labels make up a place for `{driver}`; \
             name them with --topology-keys"
        ));
    }
    let classes = || cluster.snapshot.classes();
    if !classes().any(|class| config.answers_to(class.provisioner())) {
        let known: BTreeSet<_> = classes().map(|class| class.provisioner()).collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        return Err(format!(
            "--driver: no class is provisioned by `{driver}`, only by {known}"
        ));
    }
    Ok(config)
}

/// The claims without a volume that are for the driver, or of one of its
/// classes.
fn own_claims(config: &Config, cluster: &Cluster) -> Vec<Arc<PersistentVolumeClaim>> {
    let snapshot = &cluster.snapshot;
    let is_own = |claim: &&Arc<PersistentVolumeClaim>| {
        let class = class_of(cluster, claim);
        match check_claim(config, snapshot, claim) {
            Ok(()) | Err(NotNow::NoNodeSelected { .. } | NotNow::ClassNotFound { .. }) => true,
            Err(NotNow::NoProvisioner) => {
                class.is_some_and(|class| config.answers_to(class.provisioner()))
            }
            Err(_) => false,
        }
    };
    snapshot.claims().filter(is_own).cloned().collect()
}

fn class_of<'c>(cluster: &'c Cluster, claim: &PersistentVolumeClaim) -> Option<&'c StorageClass> {
    let found = cluster.snapshot.find("", claim.class_name());
    found.map(|class| &**class)
}

/// What the driver would be asked for.
fn ask(text: &mut String, config: &Config, cluster: &Cluster, claim: &Arc<PersistentVolumeClaim>) {
    let view = &cluster.snapshot;
    match sync_claim(config, view, claim).verdict {
        ClaimNext::CreateVolume(operation) => {
            match operation.request(config, view, &RequestInputs::default()) {
                Ok(request) => block(text, "asks for", &request),
                Err(error) => {
                    let code = error.code();
                    line(text, &format!("  cannot be asked for ({code}): {error}"));
                }
            }
            if let Ok(Some(secret)) = operation.provisioner_secret() {
                line(text, &format!("  with the secret {secret}"));
            }
        }
        ClaimNext::Over(end) => {
            end_of(text, &end.outcome);
            if waits_for_node(cluster, claim) {
                let key = ClaimKey::of(claim);
                line(
                    text,
                    &format!("  choose a node for it with --select-node {key}=NODE"),
                );
            }
        }
        _ => {}
    }
}

/// Whether the claim is of a class that waits for a node, and has none.
fn waits_for_node(cluster: &Cluster, claim: &PersistentVolumeClaim) -> bool {
    let class = class_of(cluster, claim);
    let node = claim.metadata.annotation(names::SELECTED_NODE);
    class.is_some_and(|class| {
        class.volume_binding_mode == Some(VolumeBindingMode::WaitForFirstConsumer)
            && node.is_none_or(str::is_empty)
    })
}

fn end_of(text: &mut String, outcome: &Result<ClaimOutcome, ProvisionError>) {
    line(
        text,
        &match outcome {
            Ok(ClaimOutcome::NotNow(refusal)) => format!("  not now: {refusal}"),
            Ok(outcome) => format!("  done ({}): {outcome}", outcome.code()),
            Err(error) => format!("  error ({}): {error}", error.code()),
        },
    );
}

/// One line, whatever stands in it: what is of a cluster may be anything.
fn line(text: &mut String, line: &str) {
    /// In characters.
    const LONGEST: usize = 2000;
    text.push_str(&printable(line, LONGEST));
    text.push('\n');
}

fn provision(
    text: &mut String,
    config: &Config,
    cluster: &mut Cluster,
    ledger: &mut Ledger,
    claim: &Arc<PersistentVolumeClaim>,
    answer: &Answer,
) {
    let mut driver = Told {
        answer,
        deleted: Vec::new(),
    };
    let (view, server) = (&cluster.snapshot, &mut cluster.server);
    let ClaimReport { done, end } = run_claim(config, view, server, &mut driver, ledger, claim);
    line(text, &format!("claim {}", ClaimKey::of(claim)));
    let due = ledger.claim_ended(view, claim, &end, 0);
    for done in &done {
        tell(text, done);
        cluster.follow(done);
    }
    for volume in &driver.deleted {
        line(text, &format!("  the driver is to delete `{volume}` again"));
    }
    end_of(text, &end.outcome);
    if let Some(due) = due {
        let _ = writeln!(text, "  tried again in {} s", due / 1000);
    }
    if ledger.is_in_progress(claim) {
        let _ = writeln!(
            text,
            "  in progress: continued even if the claim is deleted"
        );
    }
}

fn tell(text: &mut String, done: &Done) {
    match &done.step {
        Step::Event(event) => {
            let (kind, reason, message) = (event.event_type, event.reason, &event.message);
            line(text, &format!("  event {kind} {reason}: {message}"));
        }
        Step::Write { write, .. } => match write {
            Write::CreateVolume { volume, .. } => block(text, "creates", volume),
            other => {
                let patch = other.merge_patch().unwrap_or_default();
                line(text, &format!("  writes {}: {patch}", other.key()));
            }
        },
        _ => {}
    }
    if let Err(error) = &done.result {
        line(text, &format!("  which failed: {error}"));
    }
}

fn block(text: &mut String, what: &str, value: &impl Serialize) {
    let _ = writeln!(text, "  {what}");
    // Whole, or it would be no JSON.
    for row in escaped(value).lines() {
        let _ = writeln!(text, "    {row}");
    }
}
