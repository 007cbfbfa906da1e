//! Reads: a directory's list and `discover` in memory, for 10 and for 10,000 instances, with their allocations.
//!
//! Asked: a directory read allocates nothing and takes the same time for any number of instances; `discover` allocates
//! once (the boxed future) and copies no instance. The counts are asserted before anything is timed.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use criterion::{Criterion, criterion_group, criterion_main};
use futures::FutureExt;
use registry_core::{
    Directory, DirectoryConfig, InstanceSpec, Query, ReadOptions, Registration, ServiceDiscovery, Ttl,
};
use registry_memory::MemoryRegistry;
use tokio::runtime::{Builder, Runtime};

const SIZES: [usize; 2] = [10, 10_000];

struct Stage {
    /// Drives the directory's task.
    _runtime: Runtime,
    registry: Arc<dyn ServiceDiscovery>,
    directory: Directory,
    query: Query,
}

fn stage(instances: usize) -> Stage {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let query = Query::new("orders".parse().expect("a name"));
    let registry: Arc<dyn ServiceDiscovery> = Arc::new(MemoryRegistry::new());
    let directory = runtime.block_on(async {
        let instance = InstanceSpec::new("http://10.0.0.1:80".parse().expect("an endpoint"));
        for n in 0..instances {
            let id = format!("i{n}").parse().expect("an id");
            let registration =
                Registration::new(query.service.clone(), id, instance.clone()).with_ttl(Ttl::MAX);
            registry.register(registration).await.expect("registered");
        }
        let directory =
            Directory::open(&registry, query.clone(), DirectoryConfig::default()).expect("opened");
        directory.ready(Duration::from_secs(2)).await.expect("a list");
        directory
    });
    Stage { _runtime: runtime, registry, directory, query }
}

fn count(what: &str, instances: usize, most: u64, read: impl FnOnce()) {
    let counted = measure(read);
    println!(
        "{what}, {instances} instances: {} allocations, {} bytes",
        counted.count_total, counted.bytes_total
    );
    assert!(counted.count_total <= most, "{what} allocates more than {most} times");
    assert!(counted.bytes_total < 4096, "{what} copies");
}

fn reads(criterion: &mut Criterion) {
    for instances in SIZES {
        let stage = stage(instances);
        let mut group = criterion.benchmark_group(format!("{instances} instances"));
        // In memory it never waits: polled once, without a runtime, whose own allocations would be counted too.
        let discover = || {
            let found = stage.registry.discover(&stage.query, ReadOptions::default()).now_or_never();
            assert_eq!(found.expect("no wait").expect("a list").len(), instances);
        };

        let mut reader = stage.directory.reader();
        reader.snapshot().expect("a list");
        count("a directory's reader", instances, 0, || {
            black_box(reader.snapshot().expect("a list").len());
        });
        group.bench_function("directory, a reader of its own", |b| {
            b.iter(|| black_box(reader.snapshot().expect("a list").len()));
        });

        count("a directory's snapshot", instances, 0, || {
            black_box(stage.directory.snapshot().expect("a list").len());
        });
        group.bench_function("directory, a shared snapshot", |b| {
            b.iter(|| black_box(stage.directory.snapshot().expect("a list").len()));
        });

        discover();
        count("discover", instances, 1, discover);
        group.bench_function("discover in memory", |b| b.iter(discover));
        group.finish();
    }
}

criterion_group!(benches, reads);
criterion_main!(benches);
