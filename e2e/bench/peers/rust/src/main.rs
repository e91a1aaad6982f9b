//! The Rust half of the comparison with peers: servers, a filler, and the small measurements that need no network.
//! Every server answers the same bytes to `GET /` and is told by the same header who the client is.

mod counts;
mod fill;
mod micro;
mod ours;
mod serve;

use std::{env, error::Error, process::ExitCode};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const USAGE: &str = "serve CONTENDER ADDRESS POLICIES QUOTA REDIS-URL|- | schedule ADDRESS POLICIES REDIS-URL|- | \
                     fill ADDRESS FIRST COUNT CONNECTIONS | micro | bytes ALGORITHM QUOTA | flood REDIS-URL";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("labs-auth-peers: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Outcome {
    match arguments {
        ["serve", contender, address, policies, quota, redis] => {
            serve::serve(contender, address, policies, quota.parse()?, redis)
        }
        ["schedule", address, policies, redis] => serve::schedule(address, policies, redis),
        ["fill", address, first, count, connections] => {
            fill::fill(address, first.parse()?, count.parse()?, connections.parse()?)
        }
        ["micro"] => micro::micro(),
        ["bytes", algorithm, quota] => micro::bytes(algorithm, quota.parse()?),
        ["flood", redis] => micro::flood(redis),
        _ => Err(USAGE.into()),
    }
}
