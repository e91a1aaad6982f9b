//! The sites that people sign in to by passkey. The page's `Origin` chooses among them, compared byte for byte; nothing
//! is ever derived from it, and neither `Host` nor address names a relying party of a ceremony.

use std::{collections::BTreeSet, sync::Arc};

use webauthn_rs::prelude::{Url, Webauthn, WebauthnBuilder};

use super::ceremony::LIFETIME;

/// Distinct names that browsers accept in one list of related origins (W3C Web Authentication 3, 5.11.1).
const RELATED_LABELS: usize = 5;

/// One site, or a family of sites, under one relying party id.
#[derive(Clone, Debug)]
pub struct RelyingParty {
    id: String,
    name: String,
    origins: Vec<String>,
    related: Vec<String>,
    library: Webauthn,
}

impl RelyingParty {
    /// Joins what the configuration names; `web` is any of its own web origins.
    pub(super) fn new(
        id: String,
        name: String,
        origins: Vec<String>,
        related: Vec<String>,
        web: &Url,
    ) -> Result<Self, String> {
        let refused = |_| format!("holds the rp_id {id:?}, which does not fit its origins");
        let mut builder = WebauthnBuilder::new(&id, web).map_err(refused)?.rp_name(&name).timeout(LIFETIME);
        for origin in origins.iter().chain(&related) {
            let url = Url::parse(origin).map_err(|_| format!("holds {origin:?}, which is not an origin"))?;
            builder = builder.append_allowed_origin(&url);
        }
        let library = builder.build().map_err(refused)?;
        Ok(Self { id, name, origins, related, library })
    }

    /// The id to which its passkeys are bound: a domain.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name that people see.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a page or an app of this origin belongs to it.
    pub fn accepts(&self, origin: &str) -> bool {
        self.origins.iter().chain(&self.related).any(|own| own == origin)
    }

    /// The web origins on which its passkeys work, for browsers that ask on a related one.
    pub fn web_origins(&self) -> Vec<&str> {
        let all = self.origins.iter().chain(&self.related).map(String::as_str);
        all.filter(|origin| origin.starts_with("https://")).collect()
    }

    pub(super) const fn library(&self) -> &Webauthn {
        &self.library
    }

    /// How many names a browser counts among the related origins, roughly: the label before the public suffix.
    fn labels(&self) -> usize {
        let own = std::iter::once(label(&self.id));
        let hosts = self.related.iter().filter_map(|origin| origin.strip_prefix("https://"));
        own.chain(hosts.map(|host| label(host.split(':').next().unwrap_or(host)))).collect::<BTreeSet<_>>().len()
    }
}

/// The label that a person would call the site's name. Without the list of public suffixes it knows the usual ones of
/// two labels.
fn label(host: &str) -> &str {
    let mut labels = host.rsplit('.');
    let (top, second, third) = (labels.next().unwrap_or(host), labels.next(), labels.next());
    let paired = matches!(second, Some("co" | "com" | "org" | "net" | "ac" | "gov" | "edu" | "ne" | "or"));
    match (second, third) {
        (Some(_), Some(third)) if top.len() == 2 && paired => third,
        (Some(second), _) => second,
        (None, _) => top,
    }
}

/// Every relying party of this service. The first one is the default.
#[derive(Clone, Debug, Default)]
pub struct RelyingParties(Arc<[RelyingParty]>);

impl RelyingParties {
    pub(super) fn new(parties: Vec<RelyingParty>) -> Self {
        Self(parties.into())
    }

    /// The relying party for a page: by its origin, or the default when the request names none.
    pub fn for_origin(&self, origin: Option<&str>) -> Option<&RelyingParty> {
        match origin {
            None => self.0.first(),
            Some(origin) => self.0.iter().find(|party| party.accepts(origin)),
        }
    }

    /// The relying party with this id.
    pub fn with_id(&self, id: &str) -> Option<&RelyingParty> {
        self.0.iter().find(|party| party.id == id)
    }

    /// Sentences for the operator: lists that browsers will not read to their end.
    pub fn warnings(&self) -> Vec<String> {
        let long = self.0.iter().filter(|party| party.labels() > RELATED_LABELS);
        long.map(|party| {
            format!(
                "WEBAUTHN_RPS lists more than {RELATED_LABELS} differently named sites for {}: browsers ignore the rest",
                party.id
            )
        })
        .collect()
    }
}
