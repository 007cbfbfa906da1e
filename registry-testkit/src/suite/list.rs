//! The one list of rules.

use registry_core::Capability;

use super::Rule;

/// Hands every rule to the macro named first: `file { name [What, It, Needs], ... }`.
#[macro_export]
macro_rules! for_each_rule {
    ($callback:ident $($context:tt)*) => {
        $crate::$callback! {
            $($context)*
            register {
                r4_the_answer_tells_what_was_granted,
                r5_live_id_of_another_owner_is_refused,
            }
            discover {
                q3_unreachable_is_an_error [Outage],
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
