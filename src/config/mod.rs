//! The settings, one small struct per concern, read once at the start from a map of variables. Every fault is
//! reported, each with the name of its variable. Only `cli` and `app` read this module.

mod part;
mod reader;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use self::reader::Reader;
pub use self::{
    part::{DataSettings, PostSettings},
    reader::{ConfigFault, Variables},
};
use crate::{
    developer::{
        Terms,
        gate::{Allowed, Doors},
    },
    extract::ServiceKeys,
    limit::{
        Bucket, Prefixes, Quotas, RedisAddress,
        policy::{Hooks, Policies, PolicySource, Profile},
    },
    mail::{MailSettings, Sender, TransportAddress},
    middleware::client_ip::{DEFAULT_COUNT, TrustedProxies},
    oidc::{self, provider::Registration},
    passkey::{
        RelyingParties,
        setting::{self, Surroundings},
    },
    password::{BreachList, Policy},
    public_url::PublicUrl,
    secret::SecretKey,
    session::{Lifetimes, PrivateKey, TokenKeys},
};

/// Prefixes that strangers' pages embed: a stricter ceiling, and any origin may read the answers.
pub const PUBLIC_PREFIXES: [&str; 7] = [
    "/api/scribe",
    "/api/tracking",
    "/api/f/",
    "/api/public",
    "/api/waitlist",
    "/api/feedback",
    "/api/commerce/self-service",
];

/// The database where none is named.
const DEFAULT_DATABASE: &str = "sqlite://data/labs-auth.db";

/// Variables that the original documented and nothing ever read.
const DEAD: [&str; 4] = ["RATE_LIMIT_PER_MINUTE", "RATE_LIMIT_PER_HOUR", "WEB_CONCURRENCY", "WORKERS"];

/// Everything that an operator can set.
#[derive(Clone, Debug)]
pub struct Settings {
    pub environment: Environment,
    pub server: ServerSettings,
    pub database_url: String,
    pub secrets: SecretSettings,
    pub mail: MailSettings,
    pub links: LinkSettings,
    pub accounts: AccountSettings,
    pub passkeys: PasskeySettings,
    pub cors: CorsSettings,
    pub limits: LimitSettings,
    pub infomaniak: InfomaniakSettings,
    pub developers: DeveloperSettings,
    /// The keys of sibling services.
    pub service_keys: ServiceKeys,
    /// Sentences for the log: settings that are dangerous or dead.
    pub warnings: Vec<String>,
}

/// Where the service runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    Production,
    Development,
}

impl Environment {
    /// The name in `ENVIRONMENT` and in `/health/detailed`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Production => "production",
            Self::Development => "development",
        }
    }
}

/// Where the server listens, and under which names it answers.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub listen: ListenAddress,
    /// Host names that are served; empty: any.
    pub allowed_hosts: Vec<String>,
    /// Where the metrics are read, when they are.
    pub metrics: Option<String>,
    /// Whether the hosted screens are served.
    pub screens: bool,
}

/// A TCP address or a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    Tcp(String),
    Unix(String),
}

/// The keys from which all others are derived.
#[derive(Clone, Debug)]
pub struct SecretSettings {
    pub current: SecretKey,
    pub previous: Option<SecretKey>,
    /// What signs access tokens: the two above, or a key pair.
    pub token_keys: TokenKeys,
}

/// The addresses that people see.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    pub frontend: PublicUrl,
    pub api_base: PublicUrl,
}

/// Who may register, and how long sign-ins last.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    pub registration_open: bool,
    /// Whether redeeming a mailed link makes an account for an unknown address.
    pub magic_link_signup: bool,
    pub policy: Policy,
    pub lifetimes: Lifetimes,
}

/// The account at the identity provider, when there is one.
#[derive(Clone, Debug)]
pub struct InfomaniakSettings {
    client: Option<(String, String)>,
    issuer: String,
    /// Whether an address counts as verified when the provider does not say.
    pub trust_email: bool,
    /// Longest that the provider may take in all.
    pub patience: Duration,
}

impl InfomaniakSettings {
    /// What the provider knows us by; `None` while id and secret are not both set.
    pub fn registration(&self, api_base: &PublicUrl) -> Option<Registration> {
        let (client_id, client_secret) = self.client.clone()?;
        let redirect_uri = api_base.page("/api/auth/infomaniak/callback");
        Some(Registration { issuer: self.issuer.clone(), client_id, client_secret, redirect_uri })
    }
}

/// On which sites passkeys work.
#[derive(Clone, Debug)]
pub struct PasskeySettings {
    pub parties: RelyingParties,
    /// Whether `webauthn/check` tells strangers which addresses have passkeys.
    pub check_discloses: bool,
}

/// Which pages may read the answers.
#[derive(Clone, Debug)]
pub struct CorsSettings {
    pub origins: Vec<String>,
    pub public_prefixes: Vec<String>,
}

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

/// Who may sign up as a developer, and where to.
#[derive(Clone, Debug)]
pub struct DeveloperSettings {
    pub doors: Doors,
    pub terms: Terms,
    pub portal: PublicUrl,
}

impl Settings {
    /// Reads every setting.
    ///
    /// # Errors
    /// All faults at once.
    pub fn read(variables: &Variables) -> Result<Self, Vec<ConfigFault>> {
        let mut reader = Reader::new(variables);
        let settings = Self::read_with(&mut reader);
        let faults = reader.into_faults();
        settings.filter(|_| faults.is_empty()).ok_or(faults)
    }

    /// The name of every variable that is read, for the documentation's test.
    pub fn variable_names() -> BTreeSet<&'static str> {
        let nothing = Variables::default();
        let mut reader = Reader::new(&nothing);
        let _ = Self::read_with(&mut reader);
        reader.into_names()
    }

    fn read_with(reader: &mut Reader<'_>) -> Option<Self> {
        let environment = reader.parsed_or("ENVIRONMENT", Environment::Production, |text| match text {
            "production" => Ok(Environment::Production),
            "development" => Ok(Environment::Development),
            _ => Err(String::from("must be production or development")),
        });
        let server = ServerSettings {
            listen: reader.parsed_or("LISTEN_ADDR", ListenAddress::Tcp(String::from("127.0.0.1:8020")), listen_address),
            allowed_hosts: reader.list("ALLOWED_HOSTS", |host| Ok(host.to_ascii_lowercase())),
            metrics: reader.optional("METRICS_ADDR", |text| match listen_address(text)? {
                ListenAddress::Tcp(address) => Ok(address),
                ListenAddress::Unix(_) => Err(String::from("must be HOST:PORT")),
            }),
            screens: reader.flag("HOSTED_SCREENS", false),
        };
        let database_url = reader.parsed_or("DATABASE_URL", DEFAULT_DATABASE.to_owned(), database_url);
        let secrets = secrets(reader);
        let mail = mail(reader);
        let frontend = reader.required("FRONTEND_URL", PublicUrl::parse);
        let api_base = reader.required("API_BASE_URL", PublicUrl::parse);
        let accounts = accounts(reader);
        let cors = cors(reader);
        let passkeys = passkeys(reader, environment, &cors);
        let limits = limits(reader);
        let infomaniak = infomaniak(reader);
        let developers = developers(reader, frontend.as_ref());
        let service_keys = ServiceKeys::new(reader.list("SERVICE_KEYS", ServiceKeys::parse));
        let mut warnings = reader.dead(&DEAD);
        warnings.extend(passkeys.parties.warnings());
        if !limits.volumetric && environment == Environment::Production {
            warnings.push(String::from("RATE_LIMIT_ENABLED is false: the volumetric ceilings are off in production"));
        }
        Some(Self {
            environment,
            server,
            database_url,
            secrets: secrets?,
            mail: mail?,
            links: LinkSettings { frontend: frontend?, api_base: api_base? },
            accounts,
            passkeys,
            cors,
            limits,
            infomaniak,
            developers: developers?,
            service_keys,
            warnings,
        })
    }
}

fn listen_address(text: &str) -> Result<ListenAddress, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return if path.is_empty() {
            Err(String::from("names no path after unix:"))
        } else {
            Ok(ListenAddress::Unix(path.to_owned()))
        };
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
            Ok(ListenAddress::Tcp(text.to_owned()))
        }
        _ => Err(String::from("must be HOST:PORT or unix:/path")),
    }
}

fn database_url(text: &str) -> Result<String, String> {
    let known = ["postgres://", "postgresql://", "sqlite:"].iter().any(|scheme| text.starts_with(scheme));
    if known { Ok(text.to_owned()) } else { Err(String::from("must start with postgres:// or sqlite://")) }
}

fn secrets(reader: &mut Reader<'_>) -> Option<SecretSettings> {
    let current = reader.required("SECRET_KEY", SecretKey::parse);
    let previous = reader.optional("SECRET_KEY_PREVIOUS", SecretKey::parse);
    let pair = reader.optional("JWT_PRIVATE_KEY", private_key);
    let named = pair.is_some();
    let previous_pair = reader.optional("JWT_PRIVATE_KEY_PREVIOUS", |text| {
        if named { private_key(text) } else { Err(String::from("needs JWT_PRIVATE_KEY beside it")) }
    });
    let current = current?;
    let token_keys = match pair {
        Some(pair) => TokenKeys::Pair { current: pair, previous: previous_pair },
        None => TokenKeys::Shared { current: current.clone(), previous: previous.clone() },
    };
    Some(SecretSettings { current, previous, token_keys })
}

/// A key in PEM, or the path to a file that holds one.
fn private_key(text: &str) -> Result<PrivateKey, String> {
    if text.contains("-----BEGIN") {
        return PrivateKey::from_pem(text);
    }
    let pem = std::fs::read_to_string(text).map_err(|error| format!("names a file that cannot be read: {error}"))?;
    PrivateKey::from_pem(&pem)
}

fn mail(reader: &mut Reader<'_>) -> Option<MailSettings> {
    let transport = reader.required("MAIL_URL", TransportAddress::parse);
    let from = reader.required("MAIL_FROM", Sender::parse);
    Some(MailSettings::new(transport?, from?))
}

fn accounts(reader: &mut Reader<'_>) -> AccountSettings {
    let minutes = reader.number("ACCESS_TOKEN_EXPIRE_MINUTES", 30, 1..=24 * 60);
    let days = reader.number("REFRESH_TOKEN_EXPIRE_DAYS", 30, 1..=400);
    // Not beyond the refresh token: a session that nobody can renew is no longer one.
    let idle = reader.number("SESSION_IDLE_DAYS", days, 1..=days);
    let absolute = reader.number("SESSION_ABSOLUTE_DAYS", 180, 1..=3650);
    let of_days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
    AccountSettings {
        registration_open: reader.flag("REGISTRATION_ENABLED", true),
        magic_link_signup: reader.flag("MAGIC_LINK_ALLOW_SIGNUP", false),
        policy: Policy { breached: reader.optional("PASSWORD_BREACH_FILE", |path| BreachList::open(Path::new(path))) },
        lifetimes: Lifetimes {
            access: Duration::from_secs(minutes * 60),
            refresh: of_days(days),
            idle: of_days(idle),
            absolute: of_days(absolute),
        },
    }
}

/// Id and secret belong together; one without the other leaves the provider unconfigured.
fn infomaniak(reader: &mut Reader<'_>) -> InfomaniakSettings {
    let id = reader.optional("INFOMANIAK_CLIENT_ID", |id| Ok(id.to_owned()));
    let secret = reader.optional("INFOMANIAK_CLIENT_SECRET", |secret| Ok(secret.to_owned()));
    let issuer = String::from("https://login.infomaniak.com");
    InfomaniakSettings {
        client: id.zip(secret),
        issuer: reader.parsed_or("INFOMANIAK_ISSUER", issuer, Registration::parse_issuer),
        trust_email: reader.flag("INFOMANIAK_TRUST_EMAIL", false),
        patience: oidc::PATIENCE,
    }
}

fn developers(reader: &mut Reader<'_>, frontend: Option<&PublicUrl>) -> Option<DeveloperSettings> {
    let doors = Doors {
        allowed: reader.list("PRIMA_SIGNUP_ALLOWLIST", Allowed::parse),
        codes: reader.list("PRIMA_SIGNUP_INVITE_CODES", Doors::parse_code),
    };
    let terms = Terms {
        required: reader.flag("PRIMA_SIGNUP_REQUIRE_TERMS", false),
        version: reader.parsed_or("PRIMA_SIGNUP_TERMS_VERSION", String::from("1"), |text| Ok(text.to_owned())),
    };
    let portal = reader.optional("DEVELOPER_PORTAL_URL", PublicUrl::parse);
    let portal = portal.or_else(|| PublicUrl::parse(&frontend?.page("/developers")).ok());
    Some(DeveloperSettings { doors, terms, portal: portal? })
}

fn cors(reader: &mut Reader<'_>) -> CorsSettings {
    let origins = reader.list("CORS_ORIGINS", origin);
    let prefixes = reader.list("PUBLIC_CORS_PREFIXES", |prefix| {
        if prefix.starts_with('/') {
            Ok(prefix.to_owned())
        } else {
            Err(String::from("holds a prefix that does not start with /"))
        }
    });
    let defaults = || PUBLIC_PREFIXES.map(str::to_owned).to_vec();
    CorsSettings { origins, public_prefixes: if prefixes.is_empty() { defaults() } else { prefixes } }
}

/// Without a list no site has passkeys.
fn passkeys(reader: &mut Reader<'_>, environment: Environment, cors: &CorsSettings) -> PasskeySettings {
    let around = Surroundings { development: environment == Environment::Development, cors_origins: &cors.origins };
    PasskeySettings {
        parties: reader.thorough("WEBAUTHN_RPS", |text| setting::parse(text, around)).unwrap_or_default(),
        check_discloses: reader.flag("WEBAUTHN_CHECK_DISCLOSE", false),
    }
}

/// An exact origin as browsers send it: scheme, host, and the port when it is not the scheme's own.
fn origin(text: &str) -> Result<String, String> {
    if text.contains('*') {
        return Err(String::from("must list exact origins: * would let any page act with a visitor's credentials"));
    }
    let url = url::Url::parse(text).map_err(|_| format!("holds {text:?}, which is not an origin"))?;
    let origin = url.origin().ascii_serialization();
    if matches!(url.scheme(), "http" | "https") && origin == text.trim_end_matches('/').to_ascii_lowercase() {
        Ok(origin)
    } else {
        Err(format!("holds {text:?}, which is not an origin (scheme://host[:port])"))
    }
}

fn limits(reader: &mut Reader<'_>) -> LimitSettings {
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
