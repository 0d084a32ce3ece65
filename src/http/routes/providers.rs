//! Model servers, connected without a restart. In mode `local` the one user is the owner, who may reach every address from
//! this machine anyway; before others may call these routes, they must be the administrator's alone.

use super::Program;
use crate::http::answer::{Answer, Nothing, Reply};
use crate::http::body::Body;
use crate::http::caller::Caller;
use crate::http::query::ProviderName;
use crate::http::wire::providers::{
    DefaultModel, DefaultModelChoice, KnownTrial, NewProvider, Provider, ProviderChange, ProviderTrial, Providers,
    TrialResult,
};
use crate::store::{Claim, ConnectedProvider};

/// The model servers: those of the settings, then those that were connected. No key is told.
///
/// # Errors
/// The database fails.
pub async fn list(app: Program, _: Caller) -> Answer<Providers> {
    let configured = app.config.providers.iter();
    let mut items: Vec<Provider> =
        configured.map(|one| Provider::configured(one, app.models.trouble(&one.id))).collect();
    items.extend(app.connections.list().await?.into_iter().map(|one| shown(&app, one)));
    let DefaultModel { default_model, is_chosen } = default_of(&app);
    Reply::ok(&Providers { items, next: None, kinds: Provider::kinds(), default_model, is_chosen })
}

/// Connects one: its models can be asked from now on.
///
/// # Errors
/// A field does not fit, or another is called so.
pub async fn create(app: Program, _: Caller, body: Body<NewProvider>) -> Answer<Provider> {
    if let Some(made) = Claim::made_before::<String>() {
        return Reply::created(&shown(&app, app.connections.get(&made).await?));
    }
    let (new, key) = body.0.parts()?;
    Reply::created(&shown(&app, app.connections.add(new, key).await?))
}

/// Changes what the request names. Replies under way go on as they began.
///
/// # Errors
/// It is not there or of the settings, or a field does not fit.
pub async fn change(app: Program, _: Caller, name: ProviderName, body: Body<ProviderChange>) -> Answer<Provider> {
    let changed = app.connections.change(&name.0, body.0.change()?).await?;
    Reply::ok(&shown(&app, changed))
}

/// Forgets one, and its key.
///
/// # Errors
/// It is not there, or of the settings.
pub async fn delete(app: Program, _: Caller, name: ProviderName) -> Answer<Nothing> {
    app.connections.remove(&name.0).await?;
    Ok(Reply::done())
}

/// Tries one that is there. That it fails is an answer, and no refusal.
///
/// # Errors
/// It is not there.
pub async fn test(app: Program, _: Caller, name: ProviderName, body: Body<KnownTrial>) -> Answer<TrialResult> {
    let seen = app.connections.try_known(&name.0, body.0.model.as_deref()).await?;
    Reply::ok(&seen.into())
}

/// Tries one before it is kept.
///
/// # Errors
/// A field does not fit.
pub async fn test_new(app: Program, _: Caller, body: Body<ProviderTrial>) -> Answer<TrialResult> {
    let (new, key, model) = body.0.parts()?;
    Reply::ok(&app.connections.try_out(new, key, model.as_deref()).await?.into())
}

/// Chooses the model of sessions that name none.
///
/// # Errors
/// No model is named so.
pub async fn set_default(app: Program, _: Caller, body: Body<DefaultModelChoice>) -> Answer<DefaultModel> {
    app.connections.choose(body.0.model).await?;
    Reply::ok(&default_of(&app))
}

fn default_of(app: &Program) -> DefaultModel {
    DefaultModel { default_model: app.models.default_name(), is_chosen: app.models.chosen().is_some() }
}

fn shown(app: &Program, one: ConnectedProvider) -> Provider {
    let unusable = match app.models.is_configured(&one.id) {
        true => Some("config.toml has a provider of this name by now, which is asked in its place".to_owned()),
        false => app.models.trouble(&one.id),
    };
    Provider::connected(one, unusable)
}
