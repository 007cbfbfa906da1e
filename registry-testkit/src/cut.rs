//! Cutting calls off in the middle.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Polls `call` at most `polls` times and drops it then; nothing if it had not ended by then.
///
/// With `polls` from 1 upwards until there is an answer, every await of a call is tried.
pub(crate) async fn cut_after<T>(polls: usize, call: impl Future<Output = T>) -> Option<T> {
    let mut call = pin!(call);
    let mut left = polls;
    poll_fn(|cx| {
        let answer = call.as_mut().poll(cx);
        left = left.saturating_sub(1);
        match answer {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::cut_after;

    #[tokio::test]
    async fn a_call_is_dropped_at_the_await_that_was_asked_for() {
        async fn two_awaits() -> u8 {
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            7
        }
        assert_eq!(cut_after(1, two_awaits()).await, None);
        assert_eq!(cut_after(2, two_awaits()).await, None);
        assert_eq!(cut_after(3, two_awaits()).await, Some(7));
    }
}
