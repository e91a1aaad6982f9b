//! The routes of keys: an owner's, by session, and a sibling service's, by service key.

use std::sync::Arc;

use axum::{Json, extract::State, response::IntoResponse};
use http::{StatusCode, header};
use serde::Serialize;
use uuid::Uuid;

use super::{
    ApiKey, ApiKeys, Key,
    manage::{KeyChange, Owner, Rotation, Wanted},
};
use crate::{
    account::AskedWorkspace,
    clock::Timestamp,
    error::ApiError,
    extract::{Fields, FromFields, PathId, ServiceKey, json::JsonBody},
    limit::extract::ApiKeyBudget,
    session::{CurrentSession, Visitor, routes::PresentedToken},
};

/// A key as its owner sees it.
#[derive(Debug, Serialize)]
struct Shown {
    object: &'static str,
    id: Uuid,
    name: String,
    prefix: String,
    scopes: Vec<String>,
    workspace_id: Uuid,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    replaced_by: Option<Uuid>,
}

impl From<ApiKey> for Shown {
    fn from(key: ApiKey) -> Self {
        Self {
            object: "api_key",
            id: key.id,
            name: key.name,
            prefix: key.prefix,
            scopes: key.scopes.0,
            workspace_id: key.workspace_id,
            created_at: key.created_at,
            expires_at: key.expires_at,
            last_used_at: key.last_used_at,
            replaced_by: key.replaced_by,
        }
    }
}

#[derive(Debug, Serialize)]
struct List {
    object: &'static str,
    data: Vec<Shown>,
}

/// A key, with the one sight of it in clear.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    shown: Shown,
    key: String,
    message: &'static str,
}

fn made((row, key): (ApiKey, Key)) -> impl IntoResponse {
    let message = "Store this key now. It is shown only once.";
    let answer = Made { shown: row.into(), key: key.reveal().to_owned(), message };
    (StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(answer))
}

/// `GET /api/prima/v1/keys`
pub(crate) async fn list(
    State(keys): State<Arc<ApiKeys>>,
    CurrentSession(caller): CurrentSession,
) -> Result<impl IntoResponse, ApiError> {
    let data = keys.list(&caller.account).await?.into_iter().map(Shown::from).collect();
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(List { object: "list", data })))
}

impl FromFields for Wanted {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let name = fields.required(&["name"]);
        let scopes = fields.optional(&["scopes"]).unwrap_or_default();
        let expires_at = fields.optional(&["expires_at"]);
        Some(Self { name: name?, scopes, expires_at })
    }
}

/// `POST /api/prima/v1/keys`
pub(crate) async fn create(
    State(keys): State<Arc<ApiKeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    AskedWorkspace(asked): AskedWorkspace,
    JsonBody(wanted): JsonBody<Wanted>,
) -> Result<impl IntoResponse, ApiError> {
    let workspace = keys.workspace(&caller.account, asked, caller.workspace_id).await?;
    let owner = Owner { caller: &caller, client: &visitor.client };
    Ok(made(keys.create(owner, workspace, &wanted).await?))
}

impl FromFields for KeyChange {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            name: fields.if_present(&["name"]),
            scopes: fields.if_present(&["scopes"]),
            expires_at: fields.change(&["expires_at"]),
        })
    }
}

/// `PATCH /api/prima/v1/keys/{id}`
pub(crate) async fn change(
    State(keys): State<Arc<ApiKeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    PathId(id): PathId,
    JsonBody(change): JsonBody<KeyChange>,
) -> Result<impl IntoResponse, ApiError> {
    let owner = Owner { caller: &caller, client: &visitor.client };
    Ok(Json(Shown::from(keys.change(owner, id, &change).await?)))
}

/// `DELETE /api/prima/v1/keys/{id}`
pub(crate) async fn revoke(
    State(keys): State<Arc<ApiKeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    keys.revoke(Owner { caller: &caller, client: &visitor.client }, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl FromFields for Rotation {
    const OPTIONAL: bool = true;

    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self {
            grace: fields.optional(&["grace_days"]).unwrap_or_default(),
            expires_at: fields.change(&["expires_at"]),
        })
    }
}

/// `POST /api/prima/v1/keys/{id}/rotate`
pub(crate) async fn rotate(
    State(keys): State<Arc<ApiKeys>>,
    CurrentSession(caller): CurrentSession,
    visitor: Visitor,
    PathId(id): PathId,
    JsonBody(rotation): JsonBody<Rotation>,
) -> Result<impl IntoResponse, ApiError> {
    let owner = Owner { caller: &caller, client: &visitor.client };
    Ok(made(keys.rotate(owner, id, &rotation).await?))
}

/// A key that a sibling service asks about.
#[derive(Debug)]
pub(crate) struct AskedKey {
    key: PresentedToken,
}

impl FromFields for AskedKey {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        Some(Self { key: fields.required(&["key"])? })
    }
}

/// What a sibling service learns. Why a key is not alive is not its business.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Introspected {
    Alive {
        active: bool,
        account_id: Uuid,
        workspace_id: Uuid,
        scopes: Vec<String>,
        key_id: Uuid,
        expires_at: Option<Timestamp>,
    },
    Not {
        active: bool,
    },
}

/// `POST /api/prima/v1/keys/introspect`
pub(crate) async fn introspect(
    State(keys): State<Arc<ApiKeys>>,
    _: ServiceKey,
    budget: ApiKeyBudget,
    JsonBody(asked): JsonBody<AskedKey>,
) -> Result<impl IntoResponse, ApiError> {
    let answer = match keys.introspect(asked.key.0.reveal()).await? {
        Some(key) => {
            budget.charge(key.id).await?;
            Introspected::Alive {
                active: true,
                account_id: key.user_id,
                workspace_id: key.workspace_id,
                scopes: key.scopes.0,
                key_id: key.id,
                expires_at: key.expires_at,
            }
        }
        None => Introspected::Not { active: false },
    };
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(answer)))
}
