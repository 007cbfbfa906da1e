//! Benchmarks of the service registry, each a ratio beside a limit or a peer in the same run.
//!
//! ```sh
//! cargo bench -p registry-bench --bench reads      # reads in memory: time and allocations
//! cargo bench -p registry-bench --bench etcd       # beside the raw client, on one real member
//! ```
