//! The one list of rules.

use registry_core::Capability;

use super::Rule;

/// Hands every rule to the macro named first: `file { name [What, It, Needs], ... }`.
#[macro_export]
macro_rules! for_each_rule {
    ($callback:ident $($context:tt)*) => {
        $crate::$callback! {
            $($context)*
            order {
                a1_revisions_rise_with_every_change,
                a1_watchers_see_a_change_at_its_acknowledged_revision,
                a1_concurrent_changes_have_revisions_of_their_own,
                a2_lineages_do_not_compare,
                a3_deadlines_are_told_on_the_clock_of_the_runtime,
            }
            register {
                r1_bad_fields_are_named_and_without_effect,
                r1_checks_come_before_io [Outage],
                r2_acknowledged_is_listed_for_every_client,
                r3_no_instance_is_without_a_ttl,
                r3_a_dropped_registration_is_gone_within_its_ttl,
                r4_the_answer_tells_what_was_granted,
                r4_a_ttl_is_never_lowered,
                r5_live_id_of_another_owner_is_refused,
                r5_takeover_makes_a_new_generation_and_fences_the_old,
                r5_takeover_of_a_named_generation_spares_others,
                r5_the_same_owner_repeats_itself,
                r5_of_rivals_one_wins,
                r5_an_owner_may_hold_many_instances,
                r6_a_dropped_call_is_repeated_with_the_same_token,
            }
            update {
                r7_an_update_is_one_change_from_old_to_new,
                r7_readers_see_old_or_new,
                r7_a_changed_version_is_one_update,
                r7_only_the_owner_updates,
            }
            heartbeat {
                h1_a_heartbeat_prolongs_from_when_it_was_sent,
                h1_what_beats_lives,
                h1_a_heartbeat_changes_nothing,
                h2_an_unknown_lease_is_not_registered,
                h2_a_deregistered_lease_is_not_registered,
                h2_an_expired_lease_is_not_registered,
                h3_who_was_taken_over_is_fenced,
                h3_who_came_back_too_late_is_fenced,
                h3_a_fenced_heartbeat_prolongs_nobody,
            }
            renewal {
                h4_the_loop_outlives_any_outage,
                h4_giving_up_is_for_the_application_to_choose,
                h5_a_heartbeat_every_third_of_the_ttl,
                h5_two_lost_heartbeats_never_cost_an_instance,
                h5_the_first_two_retries_are_quick,
                h5_an_attempt_is_bounded,
            }
            healing {
                h6_a_lost_registration_comes_back,
                h6_it_comes_back_with_the_newest_body,
                h6_it_comes_back_through_trouble,
                h6_a_rival_ends_the_loop_as_fenced,
                h6_a_rival_found_by_registering_ends_the_loop,
                h8_the_loop_mends_a_deleted_record [Stranger],
            }
            leaving {
                d4_heartbeats_stop_first,
                d4_it_answers_within_its_deadline_and_goes_on,
                d4_an_ambiguous_call_can_be_repeated,
                d5_a_drain_is_seen_before_the_removal,
                d5_a_drain_that_cannot_be_written_does_not_stop_the_removal,
                h7_nothing_comes_back_after_deregister,
                h7_nothing_comes_back_after_close,
                h9_pause_and_resume,
                h9_deregister_and_close_end_a_pause,
                h9_neither_blocks_for_ever,
            }
            expiry {
                x1_not_before_the_ttl,
                x1_not_before_the_ttl_of_the_last_heartbeat,
                x2_not_after_the_sweep_bound,
                x2_many_expire_in_time,
                x2_neighbours_are_spared,
                x4_one_removal_per_generation,
                x4_a_takeover_is_one_update,
                x4_the_end_of_the_old_lease_is_no_event,
            }
            deregister {
                d1_acknowledged_is_absent_for_every_client,
                d2_deregistering_is_idempotent,
                d3_a_late_deregistration_spares_the_successor,
                d3_what_shares_something_is_spared,
                d3_an_operator_deregisters_with_the_holders_proof,
                d6_a_removal_says_why,
            }
            discover {
                q1_a_snapshot_is_sorted_and_without_duplicates,
                q1_a_snapshot_is_of_one_revision,
                q2_reads_are_linearizable_by_default,
                q2_a_stale_read_says_so [StaleReads],
                q3_empty_is_ok_and_empty,
                q3_closed_is_an_error,
                q3_unreachable_is_an_error [Outage],
                q4_a_list_is_of_exactly_one_service,
                q4_a_watch_is_of_exactly_one_service,
                q6_a_short_deadline_is_kept,
                q6_the_deadline_holds_against_silence [Outage],
                q7_what_a_watch_told_is_listed,
                q7_no_event_is_ahead_of_a_list,
                q8_all_living_are_listed_and_the_routable_told_apart,
                q9_a_version_comes_alone,
            }
            services {
                q10_names_of_services_with_a_living_instance,
                q10_a_name_goes_with_its_last_instance,
                q10_a_watch_follows_the_names,
                q10_no_item_without_a_difference,
            }
            overrides {
                q11_an_override_is_one_update,
                q11_an_override_that_changes_nothing_is_no_event,
                q11_the_more_restrictive_status_counts,
                q11_an_override_outlasts_its_instance,
                q11_an_override_makes_nothing_appear,
                q11_an_override_ends_by_its_life,
                q11_a_new_override_has_a_life_of_its_own,
                q11_a_bad_override_is_refused,
            }
            watch {
                w1_the_first_data_is_a_snapshot,
                w1_every_prefix_folds_to_the_state_at_its_revision,
                w1_the_state_beside_the_items_is_current,
                w2_every_change_once_and_in_order,
                w3_one_item_per_revision,
                w4_an_outage_is_a_status [Outage],
                w6_a_watch_never_goes_back,
                w11_a_stream_ends_by_close,
                w14_an_unknown_service_is_an_empty_snapshot,
                w15_nothing_differs_nothing_is_told,
                w2_a_change_is_delivered_within_eps,
            }
            slow {
                w8_a_slow_consumer_gets_one_resync,
                w8_a_consumer_that_never_read_begins_with_a_snapshot,
                w8_a_slow_consumer_delays_nobody,
                w5_a_gap_that_came_to_nothing_tells_nothing,
                w5_what_vanished_in_a_gap_is_removed,
                w16_back_inside_a_gap_is_another_generation,
                w9_every_watch_equals_the_list_within_two_seconds,
                w13_dropped_watches_leave_no_task,
            }
            versions {
                w18_entering_is_added_leaving_is_filtered,
                w18_what_concerns_other_versions_is_not_told,
                w18_a_view_hears_the_end_of_what_it_saw,
            }
            strangers {
                h8_a_deleted_record_is_noticed_and_mended [Stranger],
                h8_an_overwritten_record_is_noticed_and_mended [Stranger],
                h8_a_deleted_claim_is_noticed_and_mended [Stranger],
                h8_a_lost_claim_belongs_to_its_new_owner [Stranger],
                h2_a_revoked_lease_is_not_registered [Stranger],
                d6_a_record_made_unreadable_is_expired [Stranger],
                q5_junk_is_rejected_and_the_good_are_served [Stranger],
                r3_a_record_without_a_lease_is_rejected [Stranger],
                q5_a_foreign_record_under_a_lease_is_served [Stranger],
                i9_a_record_whose_body_names_another_is_served_and_counted [Stranger],
                i10_a_record_of_a_newer_schema_is_never_overwritten [Stranger],
                q5_junk_that_goes_is_forgotten [Stranger],
            }
            outage {
                h4_unreachable_tells_the_time_left [Outage],
                r6_a_write_into_an_outage_is_repeated [Outage],
                x5_no_expiry_is_invented [Outage],
                d4_leaving_a_dead_registry_is_bounded [Outage],
            }
            close {
                c1_a_dropped_update_was_done_or_not,
                c1_a_dropped_deregistration_can_be_repeated,
                c1_dropped_reads_and_heartbeats_have_no_effect,
                c1_a_dropped_next_loses_no_item,
                c3_after_close_calls_answer_closed,
                c3_close_is_safe_from_anywhere,
                c3_close_ends_one_handle_and_deregisters_nothing [SecondClient],
                c3_close_is_bounded_with_the_backend_dead [Outage, SecondClient],
                c4_a_consumer_that_panics_harms_itself_alone,
                c3_a_dropped_handle_leaves_no_task [SecondClient],
                c3_a_closed_watch_is_not_called_fresh,
            }
            handle {
                c2_a_dropped_registrar_deregisters,
                c2_dropped_outside_a_runtime_it_expires,
                c2_detached_it_beats_on,
            }
            input {
                i1_bad_names_are_refused,
                i2_bad_ids_are_refused_and_addresses_are_ids,
                i3_secrets_are_refused_in_metadata,
                i4_metadata_is_kept_byte_for_byte,
                i4_a_record_too_large_is_refused,
                i5_hosts_and_ports_are_checked,
                i6_ttls_are_checked,
                i7_any_weight_is_taken,
                i8_foreign_json_is_read_or_refused,
                i8_unknown_fields_are_kept_on_rewrite,
                i9_the_key_wins_over_the_body,
                i10_a_newer_schema_is_read_if_it_says_so,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __rule_list {
    ($($file:ident { $($rule:ident $([$($needs:ident),+])?,)+ })+) => {
        pub(super) static RULES: &[Rule] = &[
            $($(Rule {
                name: stringify!($rule),
                file: stringify!($file),
                needs: &[$($(Capability::$needs),+)?],
                body: |case| Box::pin($crate::rules::$file::$rule(case)),
            },)+)+
        ];
    };
}

for_each_rule!(__rule_list);
