//! A member's Prometheus metrics, read.

/// One member's metrics at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    samples: Vec<Sample>,
}

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Metrics {
    /// Reads the Prometheus text format. Comments and lines that are no sample are passed over.
    pub fn parse(text: &str) -> Self {
        Self { samples: text.lines().filter_map(sample).collect() }
    }

    /// The metric's value, summed over all its labels; `None` if it is not there.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.value_of(name, &[])
    }

    /// The same over those samples that have all of `labels`.
    pub fn value_of(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |sample: &Sample, (key, value): &(&str, &str)| {
            sample.labels.iter().any(|(known, label)| known == key && label == value)
        };
        self.samples
            .iter()
            .filter(|sample| sample.name == name && labels.iter().all(|label| has(sample, label)))
            .map(|sample| sample.value)
            .reduce(|sum, value| sum + value)
    }

    /// Open watch streams of clients, however many watches each carries. It counts upwards from the member's
    /// start, so a stream that is ending may still count for a moment.
    pub fn watch_streams(&self) -> u64 {
        self.open_streams("etcdserverpb.Watch", "Watch")
    }

    /// Open keepalive streams, however many leases each carries.
    pub fn keepalive_streams(&self) -> u64 {
        self.open_streams("etcdserverpb.Lease", "LeaseKeepAlive")
    }

    /// Watches that the server holds, over all streams.
    pub fn watchers(&self) -> u64 {
        whole(self.value("etcd_debugging_mvcc_watcher_total").unwrap_or(0.0))
    }

    /// Calls or streams of a gRPC method that the server has begun and not ended.
    pub fn open_streams(&self, service: &str, method: &str) -> u64 {
        let labels = [("grpc_service", service), ("grpc_method", method)];
        let count = |name| self.value_of(name, &labels).unwrap_or(0.0);
        whole(count("grpc_server_started_total") - count("grpc_server_handled_total"))
    }
}

/// Counters are whole and far below 2^53; a difference read in mid-change may be negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

/// `name{key="value",...} 1.5e3 [timestamp]`
fn sample(line: &str) -> Option<Sample> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// Reads up to and with the closing brace, and gives what follows.
fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([',', ' ']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (key, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut chars = quoted.char_indices();
        loop {
            match chars.next()?.1 {
                '"' => break,
                '\\' => match chars.next()?.1 {
                    'n' => value.push('\n'),
                    escaped => value.push(escaped),
                },
                plain => value.push(plain),
            }
        }
        labels.push((key.trim().to_owned(), value));
        rest = chars.as_str();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# HELP etcd_debugging_mvcc_watcher_total Total number of watchers.
# TYPE etcd_debugging_mvcc_watcher_total gauge
etcd_debugging_mvcc_watcher_total 3
grpc_server_started_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"} 5
grpc_server_started_total{grpc_method="Watch",grpc_service="grpc.health.v1.Health",grpc_type="server_stream"} 9
grpc_server_handled_total{grpc_code="Canceled",grpc_method="Watch",grpc_service="etcdserverpb.Watch"} 1
grpc_server_handled_total{grpc_code="Unavailable",grpc_method="Watch",grpc_service="etcdserverpb.Watch"} 2
odd{path="C:\\dir",say="a \"b\", {c}\n"} 1.5e3 1395066363000
endless{le="+Inf"} +Inf
not a sample
torn{a="b
"#;

    #[test]
    fn values_are_summed_over_the_labels_asked_for() {
        let metrics = Metrics::parse(TEXT);
        assert_eq!(metrics.watchers(), 3);
        assert_eq!(metrics.value("grpc_server_started_total"), Some(14.0));
        assert_eq!(metrics.watch_streams(), 2, "5 begun, 3 ended; the health service's are others");
        assert_eq!(metrics.keepalive_streams(), 0);
        assert_eq!(metrics.value("absent"), None);
        assert_eq!(metrics.value_of("grpc_server_started_total", &[("grpc_method", "Put")]), None);
    }

    #[test]
    fn escapes_exponents_timestamps_and_torn_lines_are_read() {
        let metrics = Metrics::parse(TEXT);
        let labels = [("path", "C:\\dir"), ("say", "a \"b\", {c}\n")];
        assert_eq!(metrics.value_of("odd", &labels), Some(1500.0));
        assert_eq!(metrics.value("endless"), Some(f64::INFINITY));
        assert_eq!(metrics.value("torn"), None);
    }
}
