//! Diagnoses as text for a terminal.

use super::words::Cut;
use super::{Code, Diagnosis, Finding, Kind, ObjectName, Severity, ViewDiagnosis};

/// How far the further lines of an object in an overview stand in.
const INDENT: &str = "        ";

/// How a text is to look.
///
/// ```
/// use pvbind::diagnosis::TextStyle;
/// let style = TextStyle::wide(100).colored(true);
/// assert_eq!((style.width, style.color), (100, true));
/// assert_eq!(TextStyle::default(), TextStyle::wide(80).colored(false));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextStyle {
    /// How many characters fit a line. Words longer than that, and commands,
    /// are not broken.
    pub width: usize,
    /// Whether severities are coloured, by terminal escapes.
    pub color: bool,
}

impl Default for TextStyle {
    /// 80 characters, without colour.
    fn default() -> Self {
        TextStyle {
            width: 80,
            color: false,
        }
    }
}

impl TextStyle {
    /// Lines of so many characters, without colour.
    ///
    /// ```
    /// use pvbind::diagnosis::TextStyle;
    /// // Never broken: for a log, or to be searched by line.
    /// let style = TextStyle::wide(usize::MAX);
    /// assert!(!style.color);
    /// ```
    pub fn wide(width: usize) -> Self {
        TextStyle {
            width,
            ..TextStyle::default()
        }
    }

    /// The same, with or without colour.
    ///
    /// ```
    /// use std::io::IsTerminal as _;
    /// use pvbind::diagnosis::TextStyle;
    /// let style = TextStyle::default().colored(std::io::stdout().is_terminal());
    /// assert_eq!(style.width, 80);
    /// ```
    #[must_use]
    pub fn colored(mut self, color: bool) -> Self {
        self.color = color;
        self
    }
}

impl Diagnosis {
    /// All findings with their remedies, as lines that end with a line feed. The
    /// heading has the severity of the whole, and each finding its own; only the
    /// main cause has none if it is that of the heading.
    ///
    /// Control characters and those that change the direction of writing are
    /// escaped, whatever the objects are called.
    ///
    /// ```
    /// use pvbind::api::PersistentVolumeClaim;
    /// use pvbind::controller::Config;
    /// use pvbind::diagnosis::{TextStyle, diagnose_claim};
    /// use pvbind::view::Snapshot;
    /// let claim: PersistentVolumeClaim = serde_json::from_str(
    ///     r#"{"metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv\u001b[2J"}}"#,
    /// )?;
    /// let diagnosis = diagnose_claim(&Config::default(), &Snapshot::new(), &claim);
    /// assert_eq!(
    ///     diagnosis.text(TextStyle::wide(100)),
    ///     "claim shop/data: fault\n\
    ///      \x20 names volume `pv\\u{1b}[2J`, which does not exist [claim-names-missing-volume]\n\
    ///      \x20   -> delete the claim and create it again, naming a volume that exists, or none\n\
    ///      \x20      (the claim has no data yet)\n",
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn text(&self, style: TextStyle) -> String {
        let mut text = String::new();
        let severity = self.severity();
        let head = format!("{}: {}", named(&self.object), painted(severity, style));
        text.push_str(&head);
        text.push('\n');
        for (place, finding) in self.findings().iter().enumerate() {
            // The heading stands for the main cause, if that is as severe.
            let severity = match finding.severity() {
                own if place > 0 || own != severity => format!("{}: ", painted(own, style)),
                _ => String::new(),
            };
            let sentence = format!("{severity}{}", coded(finding));
            wrap(&mut text, "  ", "    ", &sentence, style.width);
            remedies(&mut text, finding, style);
        }
        text
    }
}

/// An object's kind and name, made harmless; what is longer than Kubernetes
/// admits is cut.
fn named(object: &ObjectName) -> String {
    let parts = [&object.namespace, &object.name].map(|part| Cut(part).to_string());
    let [namespace, name] = parts;
    let short = ObjectName {
        kind: object.kind,
        namespace,
        name,
    };
    printable(&short.to_string())
}

fn remedies(text: &mut String, finding: &Finding, style: TextStyle) {
    for remedy in &finding.remedies {
        wrap(
            text,
            "    -> ",
            "       ",
            &printable(&remedy.sentence),
            style.width,
        );
        if !remedy.consequence.is_empty() {
            let consequence = format!("({})", printable(&remedy.consequence));
            wrap(text, "       ", "       ", &consequence, style.width);
        }
        if let Some(patch) = &remedy.patch {
            text.push_str("       ");
            text.push_str(&printable(&patch.to_string()));
            text.push('\n');
        }
    }
}

impl ViewDiagnosis {
    /// A line for each object that is not fine, the worst object first, then how
    /// many objects there are of each severity.
    ///
    /// The line is about its severity: it tells the first finding that is as
    /// severe as the whole diagnosis. If that is not the main cause, and that is
    /// not fine, the main cause follows in a line of its own.
    ///
    /// See [`Diagnosis::text`].
    ///
    /// ```
    /// # use pvbind::api::read_objects;
    /// # use pvbind::controller::Config;
    /// # use pvbind::view::Snapshot;
    /// # let snapshot: Snapshot = read_objects(r#"
    /// #     {"kind": "PersistentVolumeClaim",
    /// #          "metadata": {"namespace": "shop", "name": "data", "uid": "u-1"},
    /// #          "spec": {"storageClassName": "fasst"}}
    /// #     {"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": "csi.example.com",
    /// #          "volumeBindingMode": "Immediate"}
    /// #     {"kind": "PersistentVolume", "metadata": {"name": "pv-1"},
    /// #          "status": {"phase": "Available"},
    /// #          "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
    /// #              "persistentVolumeReclaimPolicy": "Retain"}}
    /// #     {"kind": "Pod", "metadata": {"namespace": "shop", "name": "web-0", "uid": "p-1"},
    /// #          "spec": {
    /// #          "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}}"#)?
    /// # .into_iter()
    /// # .collect();
    /// use pvbind::diagnosis::{TextStyle, diagnose_view};
    /// let view = diagnose_view(&Config::default(), &snapshot);
    /// // What is fine is counted, and not told.
    /// assert_eq!(
    ///     view.text(TextStyle::wide(72)),
    ///     "\
    /// fault   claim shop/data: has class `fasst`, which does not exist; there
    ///         is `fast` [claim-class-missing]
    /// fault   pod shop/web-0: is not scheduled before its claims are bound,
    ///         which cannot be: claim `shop/data` has class `fasst`, which does
    ///         not exist; there is `fast` [pod-claim-unbindable]
    ///
    /// claims  1 fault
    /// volumes 1 fine
    /// pods    1 fault
    /// "
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text(&self, style: TextStyle) -> String {
        let mut text = String::new();
        for diagnosis in self.iter() {
            let severity = diagnosis.severity();
            if severity == Severity::Fine {
                continue;
            }
            let main = diagnosis.main();
            let mut findings = diagnosis.findings().iter();
            let worst = findings.find(|finding| finding.severity() == severity);
            let worst = worst.unwrap_or(main);
            let line = format!(
                "{} {}: {}",
                padded(severity, style),
                named(&diagnosis.object),
                coded(worst)
            );
            wrap(&mut text, "", INDENT, &line, style.width);
            if main.severity() != severity && main.severity() != Severity::Fine {
                let line = format!("{}: {}", painted(main.severity(), style), coded(main));
                wrap(&mut text, INDENT, INDENT, &line, style.width);
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&self.counts(style));
        text
    }

    fn counts(&self, style: TextStyle) -> String {
        let mut text = String::new();
        for (kind, name) in [
            (Kind::Claim, "claims"),
            (Kind::Volume, "volumes"),
            (Kind::Pod, "pods"),
        ] {
            let severities = [
                Severity::Fault,
                Severity::Risk,
                Severity::Waiting,
                Severity::Fine,
            ];
            let counts = severities.map(|severity| (severity, self.count(kind, severity)));
            let parts = counts.iter().filter(|(_, count)| *count > 0);
            let parts: Vec<_> = parts
                .map(|(severity, count)| match (kind, severity) {
                    (Kind::Claim, Severity::Fine) => format!("{count} fine{}", self.unbound()),
                    _ => format!("{count} {severity}"),
                })
                .collect();
            let parts = if parts.is_empty() {
                "none".to_owned()
            } else {
                parts.join(", ")
            };
            let line = format!("{name:<8}{parts}");
            wrap(&mut text, "", INDENT, &line, style.width);
        }
        text
    }
}

impl ViewDiagnosis {
    /// How many of the claims that are fine have no volume yet.
    fn unbound(&self) -> String {
        let is_claim = |one: &&Diagnosis| one.main().code() == Code::ClaimWaitsForConsumer;
        match self.of(Severity::Fine).filter(is_claim).count() {
            0 => String::new(),
            1 => " (1 waits for a pod)".to_owned(),
            count => format!(" ({count} wait for a pod)"),
        }
    }
}

/// A sentence, made harmless, and its code.
fn coded(finding: &Finding) -> String {
    format!("{} [{}]", printable(&finding.to_string()), finding.code())
}

/// A severity, in its colour.
fn painted(severity: Severity, style: TextStyle) -> String {
    paint(severity, severity.as_str(), style)
}

fn padded(severity: Severity, style: TextStyle) -> String {
    paint(severity, &format!("{severity:<7}"), style)
}

fn paint(severity: Severity, word: &str, style: TextStyle) -> String {
    let color = match severity {
        Severity::Fine => "32",
        Severity::Waiting => "36",
        Severity::Risk => "33",
        Severity::Fault => "31",
    };
    match style.color {
        true => format!("\u{1b}[{color}m{word}\u{1b}[0m"),
        false => word.to_owned(),
    }
}

/// Makes a text that does nothing but stand in its line: control characters, and
/// those that change the direction of writing or are not seen, are escaped as
/// Rust does it (`\u{1b}`). That is for people: it does not make a JSON string.
///
/// Kubernetes has no such function. Costs time in proportion to the text.
///
/// ```
/// use pvbind::diagnosis::printable;
/// assert_eq!(printable("a\u{1b}[31mb\n"), "a\\u{1b}[31mb\\n");
/// assert_eq!(printable("pvé"), "pvé");
/// ```
pub fn printable(text: &str) -> String {
    let is_harmful = |char: char| {
        char.is_control()
            || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}')
    };
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        match is_harmful(char) {
            true => printable.extend(char.escape_default()),
            false => printable.push(char),
        }
    }
    printable
}

/// Puts a sentence into lines, broken at spaces.
fn wrap(text: &mut String, first: &str, further: &str, sentence: &str, width: usize) {
    text.push_str(first);
    let mut column = first.chars().count();
    let mut is_first_word = true;
    for word in sentence.split(' ') {
        let length = seen(word);
        let fits = column.saturating_add(length).saturating_add(1) <= width;
        if is_first_word {
            is_first_word = false;
        } else if fits {
            text.push(' ');
            column = column.saturating_add(1);
        } else {
            text.push('\n');
            text.push_str(further);
            column = further.chars().count();
        }
        text.push_str(word);
        column = column.saturating_add(length);
    }
    text.push('\n');
}

/// How many characters of a word are seen: those of colours are not.
fn seen(word: &str) -> usize {
    let escapes = word.split('\u{1b}').skip(1);
    let hidden = escapes.map(|escape| escape.find('m').map_or(0, |end| end.saturating_add(2)));
    let hidden: usize = hidden.sum();
    word.chars().count().saturating_sub(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width_and_colours_take_no_room() {
        let mut text = String::new();
        wrap(&mut text, "  ", "    ", "one two three four five", 12);
        assert_eq!(text, "  one two\n    three\n    four\n    five\n");
        let style = TextStyle {
            width: 80,
            color: true,
        };
        assert_eq!(seen(&painted(Severity::Fault, style)), "fault".len());
    }

    #[test]
    fn a_word_longer_than_a_line_stands_alone_and_no_width_is_too_small() {
        let mut text = String::new();
        wrap(&mut text, "", "", "a unbreakable b", 0);
        assert_eq!(text, "a\nunbreakable\nb\n");
    }

    #[test]
    fn what_could_deceive_the_reader_is_escaped() {
        assert_eq!(
            printable("a\u{202e}b\u{9b}c\u{200b}"),
            "a\\u{202e}b\\u{9b}c\\u{200b}"
        );
    }
}
