//! The available models.

use std::time::Duration;

use actix_web::HttpRequest;
use futures_util::future::join_all;

use super::{AppData, language};
use crate::http::caller::Caller;
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::server_info::{ModelResponse, ModelsResponse, ProviderProblem};
use clotho_config::ToolMode;
use clotho_provider::{ModelInfo, ProviderClient};

/// Maximum time for a provider to list its models; afterwards only its configured models are listed.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Lists narrator plugins, aliases, and the models of every provider, both configured and listed by the provider.
///
/// # Errors
/// Returns no error of its own; a provider that cannot be reached is a problem in the answer.
pub async fn list(app: AppData, request: HttpRequest, _: Caller) -> ApiResult<ModelsResponse> {
    let language = language(&request);
    // Narrator plugins and aliases.
    let mut items: Vec<ModelResponse> = app
        .models
        .narrators()
        .iter()
        .map(|plugin| {
            model_response(format!("plugin:{}", plugin.id()), "plugin", plugin.manifest().title.get(&language), None)
        })
        .collect();
    items.extend(app.models.aliases().map(|(name, stands_for, why)| ModelResponse {
        unusable: why,
        stands_for: stands_for.to_vec(),
        ..model_response(name.to_owned(), "models", name, None)
    }));
    // Models of the providers, which are asked in parallel.
    let mut problems = Vec::new();
    let providers: Vec<(String, ProviderClient, Vec<String>)> = app.models.providers().collect();
    let listed = join_all(providers.iter().map(|(id, client, _)| fetch_models(id, client))).await;
    for ((id, _, named), listed) in providers.into_iter().zip(listed) {
        let listed = listed.unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        });
        let missing = named.iter().filter(|name| !listed.iter().any(|info| info.id == **name));
        items.extend(missing.map(|name| model_response(format!("{id}/{name}"), &id, name, None)));
        items.extend(listed.iter().map(|info| model_response(format!("{id}/{}", info.id), &id, &info.id, Some(info))));
    }
    // Providers that cannot be used.
    for (id, why, named) in app.models.unusable() {
        problems.push(ProviderProblem::unusable(&id, &why));
        let unusable = |name: &String| ModelResponse {
            unusable: Some(why.to_string()),
            ..model_response(format!("{id}/{name}"), &id, name, None)
        };
        items.extend(named.iter().map(unusable));
    }
    // The default model, context lengths of the settings, and tool support.
    let default = &app.models.default_name();
    let is_alias = app.models.aliases().any(|(name, ..)| name == default);
    for item in &mut items {
        let is_named_so = !is_alias && item.name == *default && item.provider != "plugin";
        item.is_default = item.id == *default || is_named_so;
        let server = item.id.split_once('/').filter(|_| item.provider != "models");
        if let Some((provider, model)) = server {
            item.context_length = app.models.context_length_beside(provider, model, item.context_length);
        }
        item.tools = server.and_then(|(provider, model)| app.models.tools_of(provider, model)).map(tool_support_name);
    }
    ApiResponse::ok(&ModelsResponse { items, next: None, default_model: default.clone(), problems })
}

async fn fetch_models(id: &str, client: &ProviderClient) -> Result<Vec<ModelInfo>, ProviderProblem> {
    match tokio::time::timeout(LIST_TIMEOUT, client.models()).await {
        Ok(listed) => listed.map_err(|failure| ProviderProblem::unlisted(id, &failure)),
        Err(_) => Err(ProviderProblem::late(id, LIST_TIMEOUT)),
    }
}

/// Returns the name used in the configuration.
const fn tool_support_name(tools: ToolMode) -> &'static str {
    match tools {
        ToolMode::RequestField => "native",
        ToolMode::PromptText => "words",
        ToolMode::Disabled => "none",
    }
}

fn model_response(id: String, provider: &str, name: &str, info: Option<&ModelInfo>) -> ModelResponse {
    ModelResponse {
        id,
        provider: provider.to_owned(),
        name: name.to_owned(),
        context_length: info.and_then(|info| info.context_length),
        prompt_price: info.and_then(|info| info.prompt_price),
        completion_price: info.and_then(|info| info.completion_price),
        is_default: false,
        stands_for: Vec::new(),
        tools: None,
        unusable: None,
    }
}
