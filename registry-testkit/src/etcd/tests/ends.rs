//! Nothing outlives the tests: dropped, panicked, killed, ended.

use std::{
    env, fs,
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use super::*;

/// Where a child of these tests writes what it started.
const REPORT: &str = "REGISTRY_TESTKIT_CHILD_REPORT";
/// Whether it starts a cluster of its own or takes the shared one.
const KIND: &str = "REGISTRY_TESTKIT_CHILD_KIND";

/// The pids of a cluster and its folder.
fn traces(cluster: &EtcdCluster) -> (Vec<u32>, &Path) {
    let pids: Vec<_> = (0..cluster.len()).filter_map(|member| cluster.pid(member)).collect();
    assert_eq!(pids.len(), cluster.len());
    assert!(pids.iter().all(|&pid| alive(pid)) && cluster.folder().is_dir());
    (pids, cluster.folder())
}

#[tokio::test]
async fn a_dropped_cluster_leaves_no_process_and_no_folder() {
    let cluster = EtcdCluster::builder().members(3).start().await.unwrap();
    let (pids, folder) = traces(&cluster);
    let folder = folder.to_owned();
    cluster.stop(1).unwrap();
    let begun = Instant::now();
    drop(cluster);
    println!("dropped in {:?}", begun.elapsed());
    assert!(pids.iter().all(|&pid| !alive(pid)), "at once, the frozen one too");
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_panicking_test_leaves_nothing() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    let (pids, folder) = traces(&cluster);
    let folder = folder.to_owned();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _held = cluster;
        panic!("as a failed assertion does");
    }));
    assert!(panicked.is_err());
    assert!(pids.iter().all(|&pid| !alive(pid)));
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_start_that_is_given_up_leaves_nothing() {
    let asked = EtcdCluster::builder().members(3);
    let cluster = EtcdCluster::new(&asked, &binaries::find(None).unwrap()).unwrap();
    (0..3).for_each(|member| cluster.launch(member).unwrap());
    let (pids, folder) = traces(&cluster);
    let folder = folder.to_owned();
    assert!(timeout(Duration::from_millis(1), cluster.ready()).await.is_err());
    drop(cluster);
    assert!(pids.iter().all(|&pid| !alive(pid)));
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_killed_test_process_leaves_nothing() {
    for victim in ["own", "shared"] {
        let (mut child, report) = start_child(victim);
        let (pids, folder) = reported(&report).await;
        child.kill().unwrap();
        child.wait().unwrap();
        gone(&pids, &folder).await;
    }
}

/// Run again by [`start_child`] it is the child.
#[test]
fn the_shared_member_ends_with_its_process() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(report) = env::var_os(REPORT) {
        return be_the_child(&runtime, Path::new(&report));
    }
    runtime.block_on(async {
        let (mut child, report) = start_child("shared");
        let (pids, folder) = reported(&report).await;
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        gone(&pids, &folder).await;
    });
}

#[tokio::test]
async fn what_the_guard_was_told_to_forget_is_not_killed() {
    // A process of ours stands for whoever has a reaped member's pid now.
    let folder = tempfile::tempdir().unwrap();
    let guard = guard::Guard::start(folder.path()).unwrap();
    let sleep = || {
        let child = guard.launch("sleep").unwrap().arg("60").stderr(Stdio::null()).spawn().unwrap();
        let name = format!("/proc/{}/comm", child.id());
        (child, name)
    };
    let ((mut kept, kept_name), (mut left, left_name)) = (sleep(), sleep());
    let is_sleep = |name: &str| fs::read_to_string(name).is_ok_and(|comm| comm.trim() == "sleep");
    eventually("both are what they become", || is_sleep(&kept_name) && is_sleep(&left_name)).await;
    guard.forget(kept.id());
    drop(guard);
    assert!(alive(kept.id()));
    assert!(!folder.path().exists());
    kept.kill().unwrap();
    kept.wait().unwrap();
    eventually("the other is killed", || !alive(left.id())).await;
    assert_eq!(left.wait().unwrap().signal(), Some(9));
}

#[test]
fn the_shared_member_is_bound_to_no_runtime() {
    let on_its_own_runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let shared = EtcdCluster::shared().await.unwrap();
            shared.metrics(0).await.unwrap();
            shared.ctl(&["put", "shared/k", "v"]).await.unwrap();
            (shared.endpoints(), shared.pid(0))
        })
    };
    let first = std::thread::spawn(on_its_own_runtime).join().unwrap();
    assert_eq!(first, std::thread::spawn(on_its_own_runtime).join().unwrap());
    assert_eq!(first.0.len(), 1);
}

/// Starts this test binary again, as a process that has a cluster and holds it until its input ends.
fn start_child(kind: &str) -> (Child, tempfile::TempDir) {
    let report = tempfile::tempdir().unwrap();
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "etcd::tests::ends::the_shared_member_ends_with_its_process"])
        .env(REPORT, report.path())
        .env(KIND, kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    (child, report)
}

/// The other process of the tests above.
fn be_the_child(runtime: &tokio::runtime::Runtime, report: &Path) {
    let own = EtcdCluster::builder().members(3).start();
    let held;
    let cluster = if env::var(KIND).as_deref() == Ok("shared") {
        runtime.block_on(EtcdCluster::shared()).unwrap()
    } else {
        held = runtime.block_on(own).unwrap();
        &held
    };
    let (pids, folder) = traces(cluster);
    let text = pids.iter().map(ToString::to_string).chain([folder.display().to_string()]);
    fs::write(report.join("new"), text.collect::<Vec<_>>().join("\n")).unwrap();
    fs::rename(report.join("new"), report.join("report")).unwrap();
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
}

async fn reported(report: &tempfile::TempDir) -> (Vec<u32>, PathBuf) {
    let file = report.path().join("report");
    eventually("the child has its cluster", || file.exists()).await;
    let text = fs::read_to_string(file).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    let folder = PathBuf::from(lines.pop().unwrap());
    let pids: Vec<u32> = lines.iter().map(|pid| pid.parse().unwrap()).collect();
    assert!(!pids.is_empty() && pids.iter().all(|&pid| alive(pid)) && folder.is_dir());
    (pids, folder)
}

async fn gone(pids: &[u32], folder: &Path) {
    let begun = Instant::now();
    eventually("the members and the folder go", || !pids.iter().any(|&pid| alive(pid)) && !folder.exists())
        .await;
    println!("gone {:?} after the process", begun.elapsed());
}
