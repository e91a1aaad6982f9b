//! The limiter's settings: who is counted and how often, by which policies, and where Redis is.

use std::path::PathBuf;

use super::reader::Reader;
use crate::{
    limit::{
        Bucket, Prefixes, Quotas, RedisAddress,
        policy::{Hooks, Policies, PolicySource, Profile},
    },
    middleware::client_ip::{DEFAULT_COUNT, TrustedProxies},
};

/// Who is counted, and where.
#[derive(Clone, Debug)]
pub struct LimitSettings {
    pub volumetric: bool,
    pub quotas: Quotas,
    pub source: PolicySource,
    /// As read from the source.
    pub policies: Policies,
    pub memory_mb: usize,
    pub hash_keys: bool,
    pub prefixes: Prefixes,
    pub proxies: TrustedProxies,
    pub redis: Option<RedisAddress>,
}

pub(super) fn limits(reader: &mut Reader<'_>) -> LimitSettings {
    let defaults = Quotas::default();
    let mut quota = |name, default: u32| {
        let number = reader.number(name, default.into(), 1..=u64::from(u32::MAX));
        u32::try_from(number).unwrap_or(default)
    };
    let quotas = Quotas {
        ip_per_minute: quota("RATE_LIMIT_IP_PER_MINUTE", defaults.ip_per_minute),
        public_ip_per_minute: quota("RATE_LIMIT_PUBLIC_IP_PER_MINUTE", defaults.public_ip_per_minute),
        signup_ip_per_hour: quota("PRIMA_SIGNUP_MAX_PER_IP_PER_HOUR", defaults.signup_ip_per_hour),
        signup_email_per_hour: quota("PRIMA_SIGNUP_MAX_PER_EMAIL_PER_HOUR", defaults.signup_email_per_hour),
    };
    let (source, policies) = policies(reader, quotas);
    let memory_mb = usize::try_from(reader.number("RATE_LIMIT_MEMORY_MB", 16, 1..=4096)).unwrap_or(16);
    let ipv4 = reader.number("RATE_LIMIT_IPV4_PREFIX", 32, 8..=32);
    let ipv6 = reader.number("RATE_LIMIT_IPV6_PREFIX", 64, 48..=128);
    let prefixes = Prefixes { ipv4: u8::try_from(ipv4).unwrap_or(32), ipv6: u8::try_from(ipv6).unwrap_or(64) };
    let count = reader.parsed_or("TRUSTED_PROXY_COUNT", DEFAULT_COUNT, TrustedProxies::parse_count);
    let proxies = reader.optional("TRUSTED_PROXIES", |list| TrustedProxies::parse(list, count));
    LimitSettings {
        volumetric: reader.flag("RATE_LIMIT_ENABLED", true),
        quotas,
        source,
        policies,
        memory_mb,
        hash_keys: reader.flag("RATE_LIMIT_HASH_KEYS", false),
        prefixes,
        proxies: proxies.unwrap_or_else(|| TrustedProxies::default_with(count)),
        redis: redis(reader),
    }
}

/// The profile and the policy file. A fault in the file, or a quota that a variable sets too, is a fault of the variable.
fn policies(reader: &mut Reader<'_>, quotas: Quotas) -> (PolicySource, Policies) {
    let profile = reader.parsed_or("RATE_LIMIT_PROFILE", Profile::Reference, Profile::parse);
    let settings = Bucket::ALL.iter().filter_map(|bucket| bucket.setting());
    let quotas_set = settings.filter(|name| reader.is_set(name)).collect();
    let mut source = PolicySource { profile, quotas, path: None, quotas_set, hooks: Hooks::default() };
    let bare = source.load();
    let named = reader.optional("RATE_LIMIT_POLICIES", |path| {
        source.path = Some(PathBuf::from(path));
        source.load().map_err(|faults| faults.join("; "))
    });
    // Without a file only the quotas of the variables can be impossible.
    if let Err(faults) = &bare {
        reader.fault("RATE_LIMIT_PROFILE", faults.join("; "));
    }
    let fallback = || Policies::of_profile(profile, &quotas);
    (source, named.or(bare.ok()).unwrap_or_else(fallback))
}

/// One address, or its parts. With neither, or with `REDIS_ENABLED=false`, the limiter counts in memory.
fn redis(reader: &mut Reader<'_>) -> Option<RedisAddress> {
    let enabled = reader.flag("REDIS_ENABLED", true);
    let address = reader.optional("REDIS_URL", RedisAddress::from_url);
    let host = reader.optional("REDIS_HOST", |host| Ok(host.to_owned()));
    let port = reader.number("REDIS_PORT", 6379, 1..=65535);
    let index = reader.number("REDIS_DB", 0, 0..=65535);
    let password = reader.optional("REDIS_PASSWORD", |password| Ok(password.to_owned()));
    let assembled = |host: String| {
        let (port, index) = (u16::try_from(port).unwrap_or(6379), u32::try_from(index).unwrap_or(0));
        RedisAddress::from_parts(&host, port, index, password.as_deref()).ok()
    };
    let in_cluster = reader.flag("REDIS_CLUSTER", false);
    let sentinels = reader.list("REDIS_SENTINELS", |entry| Ok(entry.to_owned()));
    let primary = reader.optional("REDIS_SENTINEL_MASTER", |name| Ok(name.to_owned()));
    let one_of = usize::from(address.is_some()) + usize::from(host.is_some()) + usize::from(!sentinels.is_empty());
    if sentinels.is_empty() != primary.is_none() {
        reader.fault("REDIS_SENTINELS", String::from("and REDIS_SENTINEL_MASTER belong together"));
    }
    if !sentinels.is_empty() && (one_of > 1 || in_cluster) {
        reader.fault("REDIS_SENTINELS", String::from("stands instead of REDIS_URL, REDIS_HOST and REDIS_CLUSTER"));
    }
    if let Some(name) = primary
        && !sentinels.is_empty()
    {
        let index = u32::try_from(index).unwrap_or(0);
        return match RedisAddress::from_sentinels(&sentinels, &name, index, password.as_deref()) {
            Ok(address) => Some(address).filter(|_| enabled),
            Err(problem) => {
                reader.fault("REDIS_SENTINELS", problem);
                None
            }
        };
    }
    let address = address.or_else(|| host.and_then(assembled)).filter(|_| enabled);
    if in_cluster { address.map(RedisAddress::in_cluster) } else { address }
}
