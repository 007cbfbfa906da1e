//! One HTTP/1.0 GET, which is all that readiness and metrics need.

use std::{net::Ipv4Addr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::HarnessError;

/// A member's metrics are about 100 KB.
const MAX_ANSWER: u64 = 16 << 20;

/// The body that `http://127.0.0.1:port{path}` answers with status 200 within `limit`; any other status is
/// [`HarnessError::BadAnswer`]. Dropping it closes the connection.
pub(super) async fn get(port: u16, path: &str, limit: Duration) -> Result<String, HarnessError> {
    let what = || format!("read http://127.0.0.1:{port}{path}");
    let answer = timeout(limit, exchange(port, path))
        .await
        .map_err(|_| {
            HarnessError::BadAnswer(format!("no answer to {path} from port {port} within {limit:?}"))
        })?
        .map_err(HarnessError::io(what()))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) == Some("200") {
        Ok(body.to_owned())
    } else {
        Err(HarnessError::BadAnswer(format!("port {port} answers {path} with {status:?} {}", body.trim())))
    }
}

async fn exchange(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut stream = stream.take(MAX_ANSWER);
    let mut answer = Vec::new();
    // The peer port does not always close after its answer.
    while !complete(&answer) && stream.read_buf(&mut answer).await? > 0 {}
    String::from_utf8(answer).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
}

/// Whether all that the head announces is there. An answer of unknown length ends with its connection.
fn complete(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let length = String::from_utf8_lossy(&answer[..head]).lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| answer.len() >= head + 4 + length)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Serves one connection with `answer`, or holds it silently.
    async fn against(answer: Option<&str>) -> Result<String, HarnessError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 128];
            let read = stream.read(&mut request).await.unwrap();
            assert!(request[..read].starts_with(b"GET /health HTTP/1.0\r\n"));
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
            answer.is_some_and(|answer| answer.contains("Content-Length")).then_some(stream)
        };
        let served = async {
            // Held open if the length is told.
            let _open = serve.await;
            std::future::pending::<std::convert::Infallible>().await
        };
        tokio::select! {
            answer = get(port, "/health", Duration::from_millis(200)) => answer,
            never = served => match never {},
        }
    }

    #[tokio::test]
    async fn only_200_is_an_answer_and_silence_ends() {
        let body = against(Some("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{\"health\":\"true\"}")).await.unwrap();
        assert_eq!(body, "{\"health\":\"true\"}");
        let body = against(Some("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")).await.unwrap();
        assert_eq!(body, "ok", "though the connection stays open");
        for answer in [Some("HTTP/1.0 503 No\r\n\r\nsick"), Some("junk"), None] {
            let error = against(answer).await.unwrap_err();
            assert!(matches!(error, HarnessError::BadAnswer(_)), "{error:?}");
        }
    }
}
