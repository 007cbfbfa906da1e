//! Planted mistakes: a good backend with one thing broken must fail the rule that names it.

use std::any::type_name;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::panic::catch_unwind;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::{
    Beat, Capabilities, InstanceId, InstanceSpec, LeaseRef, Override, Query, ReadOptions, Registered,
    Registration, Result, Revision, ServiceDiscovery, ServiceName, Services, ServicesStream, Snapshot,
    WatchStream,
};
use registry_testkit::suite::{self, Clock};
use registry_testkit::{Harness, Wrap, Wrapped, model};

use crate::common::Memory;

mod beneath;
mod ending;
mod owning;
mod reading;
mod watching;

/// One mistake: what is not written here is forwarded as it should be.
#[async_trait]
pub(crate) trait Mistake: Debug + Send + Sync + 'static {
    /// Makes it in front of a good registry.
    fn plant(inner: Arc<dyn ServiceDiscovery>) -> Self;
    fn inner(&self) -> &Arc<dyn ServiceDiscovery>;

    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.inner().register(registration).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.inner().heartbeat(lease).await
    }
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.inner().update(lease, instance).await
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.inner().deregister(lease).await
    }
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        self.inner().discover(query, options).await
    }
    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.inner().services(options).await
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.inner().watch(query)
    }
    async fn close(&self) {
        self.inner().close().await;
    }
}

/// A mistake as a registry.
#[derive(Debug)]
struct Mistaken<M>(M);

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<M: Mistake> ServiceDiscovery for Mistaken<M> {
    fn capabilities(&self) -> Capabilities {
        self.0.inner().capabilities()
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.0.register(registration).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.0.heartbeat(lease).await
    }
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.0.update(lease, instance).await
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.0.deregister(lease).await
    }
    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        self.0.inner().holder(service, id).await
    }
    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        self.0.inner().set_override(service, id, value).await
    }
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        self.0.discover(query, options).await
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.0.watch(query)
    }
    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.0.services(options).await
    }
    fn watch_services(&self) -> Result<ServicesStream> {
        self.0.inner().watch_services()
    }
    async fn close(&self) {
        self.0.close().await;
    }
}

/// Wraps every handle with the mistake.
struct With<M>(PhantomData<fn() -> M>);

impl<M: Mistake> Wrap for With<M> {
    const NAME: &'static str = "mistaken";
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery> {
        Arc::new(Mistaken(M::plant(inner)))
    }
}

/// No mistake at all: what the same frame does to a good backend.
#[derive(Debug)]
struct NoMistake(Arc<dyn ServiceDiscovery>);

impl Mistake for NoMistake {
    fn plant(inner: Arc<dyn ServiceDiscovery>) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Arc<dyn ServiceDiscovery> {
        &self.0
    }
}

registry_testkit::conformance!(paused: Wrapped<With<NoMistake>, Memory>, as without_a_mistake);

/// Asserts that each of these rules fails with the mistake `M`; that they hold without it is tested above.
fn caught<M: Mistake>(by: &[&str]) {
    caught_in::<Wrapped<With<M>, Memory>>(type_name::<M>(), by);
}

/// Asserts that each of these rules fails on `H`.
fn caught_in<H: Harness>(mistake: &str, by: &[&str]) {
    for rule in by {
        assert!(suite::Rule::named(rule).is_some(), "no rule is called {rule}");
        let outcome = catch_unwind(|| suite::run::<H>(Clock::Paused, rule));
        assert!(outcome.is_err(), "{rule} does not catch {mistake}");
    }
}

/// One test per mistake, with the rules that must catch it.
macro_rules! mistakes {
    ($($test:ident: $mistake:ty => [$($rule:ident),+ $(,)?],)+) => {
        $(#[test]
        fn $test() {
            caught::<$mistake>(&[$(stringify!($rule)),+]);
        })+
    };
}

mistakes! {
    a_heartbeat_that_revives: owning::RevivingHeartbeat =>
        [h2_a_deregistered_lease_is_not_registered, h2_an_expired_lease_is_not_registered],
    a_late_deregister_that_deletes_the_successor: owning::DeletesTheSuccessor =>
        [d3_a_late_deregistration_spares_the_successor],
    no_fence: owning::NoFence => [h3_who_was_taken_over_is_fenced, h3_a_fenced_heartbeat_prolongs_nobody],
    a_takeover_nobody_asked_for: owning::AlwaysTakesOver =>
        [r5_live_id_of_another_owner_is_refused, r5_takeover_of_a_named_generation_spares_others],
    a_takeover_by_removal: owning::TakesOverByRemoval => [x4_a_takeover_is_one_update],
    the_old_body_on_re_registration: owning::OldBody => [r5_the_same_owner_repeats_itself],
    the_old_body_after_a_loss: owning::OldBody => [h6_it_comes_back_with_the_newest_body],
    a_renew_loop_that_gives_up: owning::GoneIsFenced =>
        [h6_a_lost_registration_comes_back, h2_a_deregistered_lease_is_not_registered],
    an_update_in_two_steps: owning::TornUpdate => [r7_an_update_is_one_change_from_old_to_new],
    a_heartbeat_that_writes: owning::WritingHeartbeat => [h1_a_heartbeat_changes_nothing],
    an_update_that_lifts_the_override: owning::LiftsOverrides => [q11_an_override_outlasts_its_instance],
    a_sweep_that_removes_early: ending::EarlySweep => [x1_not_before_the_ttl, h1_what_beats_lives],
    a_sweep_that_never_removes: ending::NeverRemoves => [x2_not_after_the_sweep_bound, r3_no_instance_is_without_a_ttl],
    a_ttl_lowered: ending::LowersTheTtl => [r4_a_ttl_is_never_lowered, r4_the_answer_tells_what_was_granted],
    a_re_register_after_deregister: ending::Resurrects =>
        [d1_acknowledged_is_absent_for_every_client, h9_pause_and_resume],
    a_second_deregister_that_fails: ending::NotIdempotent => [d2_deregistering_is_idempotent],
    a_close_that_deregisters: ending::CloseDeregisters => [c3_close_ends_one_handle_and_deregisters_nothing],
    a_close_that_does_nothing: ending::NeverCloses => [c3_after_close_calls_answer_closed, w11_a_stream_ends_by_close],
    a_call_that_hides_a_task: ending::HidesATask => [c1_a_dropped_update_was_done_or_not],
    an_error_turned_into_an_empty_list: reading::EmptyOnError => [q3_closed_is_an_error],
    a_prefix_that_leaks_siblings: reading::LeaksSiblings => [q4_a_list_is_of_exactly_one_service],
    a_list_out_of_order: reading::Unsorted => [q1_a_snapshot_is_sorted_and_without_duplicates],
    a_list_of_all_versions: reading::IgnoresTheVersion => [q9_a_version_comes_alone],
    a_list_from_a_cache: reading::Remembers =>
        [r2_acknowledged_is_listed_for_every_client, q7_what_a_watch_told_is_listed],
    a_list_of_the_routable_only: reading::HidesTheUnroutable => [q8_all_living_are_listed_and_the_routable_told_apart],
    a_deadline_not_kept: reading::TakesItsTime => [q6_a_short_deadline_is_kept],
    a_removal_without_an_event: watching::SilentRemoval => [x2_not_after_the_sweep_bound, d6_a_removal_says_why],
    two_removals: watching::TwoRemovals => [x4_one_removal_per_generation],
    a_removal_with_the_wrong_reason: watching::WrongReason => [d6_a_removal_says_why],
    history_replayed: watching::ReplaysHistory => [w1_every_prefix_folds_to_the_state_at_its_revision],
    a_change_lost: watching::LosesAChange => [w2_every_change_once_and_in_order],
    a_change_lost_when_the_watcher_lags: watching::LosesWhenLagging => [w8_a_slow_consumer_gets_one_resync],
    a_resync_that_drops_a_removal: watching::ResyncWithoutRemovals => [w5_what_vanished_in_a_gap_is_removed],
    an_empty_list_at_the_end: watching::EmptyAtTheEnd => [w11_a_stream_ends_by_close],
    an_update_told_as_removal_and_addition: watching::SplitsUpdates => [r7_an_update_is_one_change_from_old_to_new],
    a_list_called_fresh_for_ever: watching::CalledFresh => [c3_a_closed_watch_is_not_called_fresh],
    a_watch_that_outlives_its_drop: watching::OutlivesItsDrop => [w13_dropped_watches_leave_no_task],
}

/// The model finds mistakes that nobody told it of, the rules aside.
macro_rules! found_by_the_model {
    ($($test:ident: $mistake:ty,)+) => {
        $(#[test]
        fn $test() {
            let outcome = catch_unwind(|| model::check::<Wrapped<With<$mistake>, Memory>>(Clock::Paused));
            let panic = outcome.expect_err("the model does not find it");
            let text = panic.downcast_ref::<String>().expect("words");
            assert!(text.contains("differs from the model") && text.contains("REGISTRY_SEED="), "{text}");
        })+
    };
}

found_by_the_model! {
    the_model_finds_a_revival: owning::RevivingHeartbeat,
    the_model_finds_no_fence: owning::NoFence,
    the_model_finds_a_deleted_successor: owning::DeletesTheSuccessor,
    the_model_finds_a_lifted_override: owning::LiftsOverrides,
    the_model_finds_an_early_end: ending::EarlySweep,
    the_model_finds_a_missing_end: ending::NeverRemoves,
    the_model_finds_the_wrong_version: reading::IgnoresTheVersion,
    the_model_finds_a_silent_removal: watching::SilentRemoval,
    the_model_finds_a_lost_change: watching::LosesAChange,
    the_model_finds_a_loss_by_lag: watching::LosesWhenLagging,
}

#[test]
fn a_malformed_record_that_fails_the_list() {
    let healthy = "q5_junk_is_rejected_and_the_good_are_served";
    suite::run::<beneath::Overlaid<false>>(Clock::Paused, healthy);
    caught_in::<beneath::Overlaid<true>>("a malformed record that fails the list", &[healthy]);
}
