# Sourced by `engine` and `properties`: the limiter as a crate of its own in "$crate", and a redis-server at "$port".
#
# The service takes a minute to build for each change. The limiter stands on nothing but the clock and the errors, so it
# is built here without the service: the same sources, and those of its tests that need no service around them.
#
#   MUTANTS_OUT=FOLDER     the crate and its results (default: target/mutants-engine)
set -u -o pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${MUTANTS_OUT:-$root/target/mutants-engine}
crate=$out/crate
fail() { echo "$0: $*" >&2; exit 1; }

rm -rf "$crate"
mkdir -p "$crate/src/middleware" "$crate/tests/api/limit" || exit 1
cp -R "$root"/src/{limit,error,extract} "$root"/src/{clock,secret}.rs "$crate/src/" || exit 1
cp "$root/src/middleware/client_ip.rs" "$crate/src/middleware/" || exit 1
cp "$root/Cargo.lock" "$crate/" || exit 1

cat >"$crate/src/lib.rs" <<'RUST'
//! The limiter and what it stands on.
pub mod clock;
pub mod error;
pub mod extract;
pub mod limit;
pub mod middleware {
    pub mod client_ip;
}
pub mod secret;
/// Only its fault is known to the errors.
pub mod store {
    pub enum Fault {
        Unreachable(String),
        Contended(String),
        Defect(String),
    }
    impl Fault {
        pub fn for_log(&self) -> &str {
            let (Self::Unreachable(cause) | Self::Contended(cause) | Self::Defect(cause)) = self;
            cause
        }
    }
}
RUST

# The tests that open no house, and the crates that are left.
for file in "$root"/tests/api/limit/*.rs; do
    name=$(basename "$file" .rs)
    if [ "$name" = mod ] || grep -qE 'crate::world|\bapp::' "$file"; then continue; fi
    cp "$file" "$crate/tests/api/limit/" || exit 1
    echo "pub(crate) mod $name;"
done >"$crate/tests/api/limit/mod.rs"
echo 'mod limit;' >"$crate/tests/api/main.rs"
crates='arc-swap|arrayvec|axum|base64|blake3|bytes|futures-util|http|http-body|http-body-util|ipnet|itoa|prometheus-client|redis|ring|rustls|serde|serde_json|smallvec|subtle|time|tokio|tokio-util|toml|tracing|tracing-subscriber|url|uuid|validator|zerocopy'
{
    printf '[package]\nname = "labs-auth"\nversion = "0.0.0"\nedition = "2024"\n\n[lib]\nname = "labs_auth"\ndoctest = false\n'
    printf '\n[[test]]\nname = "api"\npath = "tests/api/main.rs"\n\n[profile.dev]\ndebug = false\n\n[workspace]\n\n[dependencies]\n'
    sed -n '/^\[dependencies\]/,/^\[/p' "$root/Cargo.toml" | grep -E "^($crates) ="
    printf '\n[dev-dependencies]\n'
    sed -n '/^\[dev-dependencies\]/,/^\[/p' "$root/Cargo.toml" | grep -E '^(proptest|rcgen|tempfile|tokio|tokio-rustls) ='
} >"$crate/Cargo.toml"

redis=''
trap '[ -z "$redis" ] || { kill -TERM "$redis" && wait "$redis"; }' EXIT
port=$(node "$root/e2e/ports.mjs" 1) || exit 1
redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly no --dir "$out" >"$out/redis.log" 2>&1 &
redis=$!
