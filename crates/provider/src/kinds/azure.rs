//! Azure OpenAI: OpenAI's chat completions at the addresses of a resource.
//!
//! An older address names the deployment, `POST …/openai/deployments/NAME/chat/completions?api-version=…`. The name of
//! the model is the deployment. The newer address `…/openai/v1` has neither, and takes the name from the body. The key
//! has a header of its own. No list tells the deployments of a resource, so their names are typed.

use super::openai;
use crate::{
    Endpoint, ModelInfo, ProviderFailure, Request,
    dialect::{ChunkReader, ProviderDialect},
    parameter_names::ParameterDialect,
    params,
};
use reqwest::Url;
use serde_json::{Map, Value};

/// The version of the API if the address has none: the newest that is not a preview.
const API_VERSION: &str = "2024-10-21";

/// Parameters of other servers that this one refuses.
const OMITTED_PARAMS: [&str; 9] = [
    "top_k",
    "min_p",
    "top_a",
    "typical_p",
    "repetition_penalty",
    "repeat_penalty",
    "rep_pen",
    "cache_control",
    "usage",
];

/// The Azure dialect.
pub(super) struct AzureDialect;

impl ProviderDialect for AzureDialect {
    fn name(&self) -> &'static str {
        "azure"
    }

    fn parameter_dialect(&self, _endpoint: &Endpoint) -> ParameterDialect {
        ParameterDialect::Vendor
    }

    fn reply_url(&self, endpoint: &Endpoint, model: &str) -> Result<Url, ProviderFailure> {
        model_url(endpoint, model, &["chat", "completions"])
    }

    fn body(&self, request: &Request, endpoint: &Endpoint) -> Value {
        let mut messages: Vec<Value> = request.messages.iter().map(openai::message).collect();
        messages.extend(request.rounds.iter().flat_map(openai::tool_round_messages));
        let mut body = openai::body_with(request, messages, endpoint);
        body.retain(|name, _| !OMITTED_PARAMS.contains(&name.as_str()));
        Value::Object(body)
    }

    fn params(&self, request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
        params::merge(request, endpoint, &OMITTED_PARAMS)
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        ("api-key", "")
    }

    fn reader(&self, _request: &Request) -> Box<dyn ChunkReader> {
        openai::reader()
    }

    fn model_list_urls(&self, endpoint: &Endpoint) -> Result<Vec<Url>, ProviderFailure> {
        let url = match AddressForm::of(endpoint)? {
            AddressForm::Version1 => endpoint.url(&["models"])?,
            AddressForm::Deployment => with_version(resource_of(endpoint).url(&["openai", "models"])?),
            AddressForm::Resource => with_version(endpoint.url_with_api_prefix(&["openai"], &["models"])?),
        };
        Ok(vec![url])
    }

    /// The list has the models that could be deployed. It only shows that the address and the key are right.
    fn parse_models(&self, listed: &[Value]) -> Option<Vec<ModelInfo>> {
        listed.first()?.get("data")?.as_array().map(|_| Vec::new())
    }
}

/// What an address names.
enum AddressForm {
    /// The newer API, `…/openai/v1`.
    Version1,
    /// One deployment, `…/openai/deployments/NAME`.
    Deployment,
    /// A resource, with or without `/openai`.
    Resource,
}

impl AddressForm {
    fn of(endpoint: &Endpoint) -> Result<Self, ProviderFailure> {
        let url = endpoint.url(&[])?;
        let path = url.path().trim_end_matches('/');
        let before_name = path.rsplit_once('/').map(|(before, _)| before).unwrap_or_default();
        Ok(match path {
            path if path.ends_with("/openai/v1") => Self::Version1,
            _ if before_name.ends_with("/deployments") => Self::Deployment,
            _ => Self::Resource,
        })
    }
}

/// Returns the URL of a method of a deployment.
fn model_url(endpoint: &Endpoint, model: &str, method: &[&str]) -> Result<Url, ProviderFailure> {
    Ok(match AddressForm::of(endpoint)? {
        AddressForm::Version1 => endpoint.url(method)?,
        AddressForm::Deployment => with_version(endpoint.url(method)?),
        AddressForm::Resource => {
            let path = [&["deployments", model], method].concat();
            with_version(endpoint.url_with_api_prefix(&["openai"], &path)?)
        }
    })
}

/// Returns the endpoint of the resource of a deployment.
fn resource_of(endpoint: &Endpoint) -> Endpoint {
    let base_url = endpoint.base_url.split_once("/openai/").map_or(endpoint.base_url.as_str(), |(base, _)| base);
    let query = endpoint.base_url.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
    Endpoint { base_url: base_url.to_owned() + &query, ..endpoint.clone() }
}

/// Adds the version of the API, unless the address has one.
fn with_version(mut url: Url) -> Url {
    if !url.query_pairs().any(|(name, _)| name == "api-version") {
        url.query_pairs_mut().append_pair("api-version", API_VERSION);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RequestMessage, RequestRole};
    use serde_json::json;

    #[test]
    fn azure_addresses_any_form_name_the_deployment() {
        let chat = "deployments/my%20gpt/chat/completions";
        for (base, reply, list) in [
            (
                "https://n.openai.azure.com",
                format!("https://n.openai.azure.com/openai/{chat}?api-version=2024-10-21"),
                "https://n.openai.azure.com/openai/models?api-version=2024-10-21",
            ),
            (
                "https://n.openai.azure.com/openai?api-version=2025-01-01-preview",
                format!("https://n.openai.azure.com/openai/{chat}?api-version=2025-01-01-preview"),
                "https://n.openai.azure.com/openai/models?api-version=2025-01-01-preview",
            ),
            (
                "https://n.openai.azure.com/openai/deployments/other?api-version=2024-06-01",
                "https://n.openai.azure.com/openai/deployments/other/chat/completions?api-version=2024-06-01"
                    .to_owned(),
                "https://n.openai.azure.com/openai/models?api-version=2024-06-01",
            ),
            (
                "https://n.openai.azure.com/openai/v1/",
                "https://n.openai.azure.com/openai/v1/chat/completions".to_owned(),
                "https://n.openai.azure.com/openai/v1/models",
            ),
        ] {
            let endpoint = Endpoint::new("a", base);
            assert_eq!(AzureDialect.reply_url(&endpoint, "my gpt").unwrap().as_str(), reply);
            assert_eq!(AzureDialect.model_list_urls(&endpoint).unwrap()[0].as_str(), list);
        }
    }

    #[test]
    fn azure_body_has_no_samplers_of_others() {
        let message = RequestMessage { role: RequestRole::User, name: None, content: "Hi.".into() };
        let params = json!({"temperature": 0.7, "seed": 7, "top_k": 40, "min_p": 0.1, "repetition_penalty": 1.1});
        let request = Request {
            model: "my-gpt".into(),
            messages: vec![message],
            params: params.as_object().unwrap().clone(),
            ..Request::default()
        };
        let endpoint = Endpoint::new("a", "https://n.openai.azure.com");
        let expected = json!({"model": "my-gpt", "messages": [{"role": "user", "content": "Hi."}], "stream": true,
            "stream_options": {"include_usage": true}, "temperature": 0.7, "seed": 7});
        assert_eq!(AzureDialect.body(&request, &endpoint), expected);
        let params = Value::Object(AzureDialect.params(&request, &endpoint));
        assert_eq!(params, json!({"temperature": 0.7, "seed": 7}));
    }

    #[test]
    fn azure_list_of_models_names_no_deployments() {
        assert_eq!(AzureDialect.parse_models(&[json!({"data": [{"id": "gpt-4o-2024-08-06"}]})]), Some(Vec::new()));
        assert_eq!(AzureDialect.parse_models(&[json!({"error": {}})]), None);
    }
}
