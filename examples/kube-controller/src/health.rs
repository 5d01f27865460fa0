//! `/healthz` and `/readyz`.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tracing::debug;

/// How long the worker may be silent and still count as alive.
const SILENCE: Duration = Duration::from_secs(180);

/// How the controller is.
#[derive(Clone)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Clone, Copy)]
struct State {
    part: Part,
    last_beat: Instant,
}

/// What the controller does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It waits for the lead.
    StandsBy,
    /// It leads, and does not know everything yet.
    Lists,
    /// It leads and works.
    Works,
}

impl Default for Health {
    fn default() -> Self {
        Health(Arc::new(Mutex::new(State {
            part: Part::StandsBy,
            last_beat: Instant::now(),
        })))
    }
}

impl Health {
    /// It waits for the lead.
    pub fn stands_by(&self) {
        self.change(|state| state.part = Part::StandsBy);
    }

    /// It has the lead.
    pub fn leads(&self) {
        self.change(|state| state.part = Part::Lists);
    }

    /// It knows everything.
    pub fn ready(&self) {
        self.change(|state| state.part = Part::Works);
    }

    /// The worker is alive.
    pub fn beat(&self) {
        self.change(|_| {});
    }

    /// The answer to a path: the code and the text.
    pub fn answer(&self, path: &str) -> (u16, &'static str) {
        let state = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_stuck = state.part != Part::StandsBy && state.last_beat.elapsed() > SILENCE;
        match (path, state.part) {
            ("/healthz" | "/livez" | "/readyz", _) if is_stuck => (503, "the worker is stuck"),
            ("/healthz" | "/livez", _) => (200, "ok"),
            ("/readyz", Part::StandsBy) => (200, "ok, another one leads"),
            ("/readyz", Part::Lists) => (503, "not everything is listed yet"),
            ("/readyz", Part::Works) => (200, "ok, leads"),
            _ => (404, "not found"),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.last_beat = Instant::now();
        change(&mut state);
    }

    /// Answers on this listener, forever.
    pub async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let health = self.clone();
                    tokio::spawn(async move {
                        let served = tokio::time::timeout(PATIENCE, health.reply(stream)).await;
                        debug!(?served, "a question about health");
                    });
                }
                // Too many files are open, say.
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    async fn reply(self, mut stream: TcpStream) -> io::Result<()> {
        let mut head = [0; 1024];
        let length = stream.read(&mut head).await?;
        let head = String::from_utf8_lossy(head.get(..length).unwrap_or_default()).into_owned();
        let path = head.split_whitespace().nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let (code, text) = self.answer(path);
        let length = text.len() + 1;
        let reply = format!(
            "HTTP/1.1 {code} \r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{text}\n"
        );
        stream.write_all(reply.as_bytes()).await?;
        stream.shutdown().await
    }
}

/// How long a question may take.
const PATIENCE: Duration = Duration::from_secs(5);
