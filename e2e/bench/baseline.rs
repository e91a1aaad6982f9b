//! What the benchmark compares with. `serve ADDRESS STATUS HEADERS BODY` answers every request as the service once did,
//! with nothing in between; `hash SECONDS` runs Argon2id on every core and prints hashes per second; `hash-one PASSWORD`
//! prints one hash. It decides nothing and stores nothing.

use std::{
    env, fs,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use argon2::{
    Algorithm, Argon2, Params, Version,
    password_hash::{PasswordHasher, phc::PasswordHash},
};
use axum::{
    Json, Router,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use serde_json::Value;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", address, status, headers, body] => serve(address, status, headers, body),
        ["hash", seconds] => hash(Duration::from_secs(seconds.parse()?)),
        ["hash-one", password] => {
            println!("{}", one_hash(password.as_bytes())?);
            Ok(())
        }
        _ => Err("serve ADDRESS STATUS HEADERS BODY | hash SECONDS | hash-one PASSWORD".into()),
    }
}

/// The parameters of `src/password/hashing/verify.rs`.
fn argon2() -> Result<Argon2<'static>, Box<dyn std::error::Error + Send + Sync>> {
    let params = Params::new(19 * 1024, 2, 1, None).map_err(|error| error.to_string())?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn one_hash(password: &[u8]) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let hash: PasswordHash =
        argon2()?.hash_password_with_salt(password, b"benchmark-salt-0").map_err(|error| error.to_string())?;
    Ok(hash.to_string())
}

#[expect(clippy::cast_precision_loss, reason = "a count of hashes is small")]
fn hash(span: Duration) -> Outcome {
    let cores = thread::available_parallelism()?.get();
    let count = AtomicU64::new(0);
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while start.elapsed() < span && one_hash(b"Correct-Horse-9!").is_ok() {
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    println!("{:.1}", count.into_inner() as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

#[derive(Clone)]
struct Shape {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl IntoResponse for Shape {
    fn into_response(self) -> Response {
        (self.status, self.headers, Json(self.body)).into_response()
    }
}

/// Header lines as `curl -D` writes them, those aside that the server writes by itself.
fn headers(file: &str) -> Result<HeaderMap, Box<dyn std::error::Error + Send + Sync>> {
    let mut headers = HeaderMap::new();
    for (name, value) in fs::read_to_string(file)?.lines().filter_map(|line| line.split_once(": ")) {
        if !["date", "content-length", "content-type", "connection"].contains(&name.to_ascii_lowercase().as_str()) {
            headers.append(HeaderName::try_from(name)?, HeaderValue::try_from(value.trim())?);
        }
    }
    Ok(headers)
}

#[tokio::main]
async fn serve(address: &str, status: &str, header_file: &str, body: &str) -> Outcome {
    let shape = Shape {
        status: StatusCode::from_bytes(status.as_bytes())?,
        headers: headers(header_file)?,
        body: serde_json::from_str(&fs::read_to_string(body)?)?,
    };
    // A JSON body is read and decoded where there is one, as any handler would.
    let router = Router::new().fallback(move |body: axum::body::Bytes| {
        let shape = shape.clone();
        async move {
            let decoded: Option<Value> = serde_json::from_slice(&body).ok();
            drop(decoded);
            shape
        }
    });
    let listener = tokio::net::TcpListener::bind(address.parse::<SocketAddr>()?).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            // A client that leaves is no event here.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
