//! The ceilings over `/api/*`, known paths and unknown ones. Sign-in paths are outside, so that no flood of anything
//! else locks an office out of its own login; they carry buckets of their own.

use http::HeaderMap;
use smallvec::{SmallVec, smallvec};

use super::host::is_health;
use crate::{
    error::ApiError,
    extract::ServiceKeys,
    limit::{Attempt, Charge, ClientIp, Limiter, Verdict},
};

/// The routes under the ceilings that sibling services call for each of their own requests. With a valid service key
/// they are counted nowhere; without one they count like any other path.
const SIBLING_ROUTES: [&str; 1] = ["/api/prima/v1/keys/introspect"];

/// What is counted by whom it is from.
#[derive(Clone, Debug)]
pub struct Volumetric {
    pub enabled: bool,
    /// Prefixes with a second, stricter ceiling.
    pub public_prefixes: Vec<String>,
    pub siblings: ServiceKeys,
}

impl Volumetric {
    pub(super) async fn admit(
        &self,
        limiter: &Limiter,
        path: &str,
        headers: &HeaderMap,
        attempt: &Attempt,
    ) -> Result<(), ApiError> {
        let charges = self.charges(path, attempt.client());
        if charges.is_empty() {
            return Ok(());
        }
        if SIBLING_ROUTES.contains(&path) && self.siblings.admit(headers) {
            return Ok(());
        }
        match limiter.decide(&charges, attempt.client(), "/api/*", attempt).await {
            Verdict::Admitted => Ok(()),
            Verdict::Refused(refusal) => Err(refusal.into()),
        }
    }
}

impl Volumetric {
    /// What a request to this path spends.
    pub fn charges(&self, path: &str, client: &ClientIp) -> SmallVec<[Charge<'static>; 2]> {
        if !self.enabled || !is_counted(path) {
            return SmallVec::new();
        }
        let mut charges = smallvec![Charge::ip(client)];
        if self.public_prefixes.iter().any(|prefix| is_under(path, prefix)) {
            charges.push(Charge::public_ip(client));
        }
        charges
    }
}

/// Whether a path, as it is routed, falls under the ceilings.
fn is_counted(path: &str) -> bool {
    let inside = path == "/api" || path.starts_with("/api/");
    inside && !is_health(path) && !(is_under(path, "/api/auth") && is_plain(path))
}

/// Whole segments: `/api/authx` is not under `/api/auth`. A prefix that ends with a slash wants something behind it.
pub(super) fn is_under(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// No exemption for paths that another server might read differently: empty or dot segments, escapes, parameters.
fn is_plain(path: &str) -> bool {
    let inside = path.strip_prefix('/').unwrap_or(path);
    let inside = inside.strip_suffix('/').unwrap_or(inside);
    let is_odd = |segment: &[u8]| {
        matches!(segment, b"" | b"." | b"..") || segment.iter().any(|byte| matches!(byte, b'%' | b';'))
    };
    !inside.as_bytes().split(|byte| *byte == b'/').any(is_odd)
}
