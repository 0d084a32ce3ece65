//! Requests embeddings from a server with OpenAI's `/embeddings` or Ollama's `/api/embed`. Responses are validated: one
//! vector per text, all of the same length, only numbers, and none of them zero.

use super::{ProviderClient, ProviderFailure, http::OutgoingRequest, json};
use bytes::Bytes;
use clotho_core::json_scan::JsonBounds;
use serde_json::{Value, json};

/// Maximum size of a response in bytes: some hundred vectors with some thousand numbers each.
const MAX_BYTES: usize = 64 << 20;
/// Bounds of a response. A number needs 80 bytes until it is converted.
const BOUNDS: JsonBounds = JsonBounds { depth: 8, memory: 256 << 20, growth: 0 };
/// Maximum length of a vector. The largest models have about eight thousand numbers.
const MAX_NUMBERS: usize = 16_384;

/// A model that computes embeddings. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Embedder {
    /// `provider/model`. Vectors of different models are never compared.
    pub name: String,
    client: ProviderClient,
    model: String,
}

impl Embedder {
    /// Creates an embedder. Nothing is sent before the first text.
    pub fn new(name: String, client: ProviderClient, model: String) -> Self {
        Self { name, client, model }
    }

    /// Checks that this kind of server has embeddings.
    ///
    /// # Errors
    /// Returns [`ProviderFailure::Misconfigured`] if it does not.
    pub fn check(&self) -> Result<(), ProviderFailure> {
        self.client.kind().dialect().embeddings_url(self.client.endpoint()).map(drop)
    }

    /// Returns the vectors of the texts, in order, each of length 1. Sends one request without retries, because the
    /// caller decides how long to wait.
    ///
    /// # Errors
    /// Returns an error as for a reply, or [`ProviderFailure::InvalidResponse`] if the response contains no usable vectors.
    pub async fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderFailure> {
        let http = &self.client.shared.http;
        let url = http.kind.dialect().embeddings_url(&http.endpoint)?;
        let body = json!({"model": self.model, "input": texts}).to_string();
        let response = http.send_once(&OutgoingRequest { url, body: Some(Bytes::from(body)) }).await?;
        let (body, end) = http.read_up_to(response, MAX_BYTES).await;
        end?;
        let garbled = |why: &str| {
            let words =
                format!("{why}; it begins with: {}", http.scrub().text_of_body(body.get(..200).unwrap_or(&body)));
            ProviderFailure::InvalidResponse { words: http.scrub().clean(&words) }
        };
        let answer: Value = json::parse_bytes(&body, BOUNDS).map_err(|_| garbled("it is not JSON"))?;
        vectors(&answer, texts.len()).map_err(|why| garbled(&why))
    }
}

/// Returns the vectors in a response.
fn vectors(answer: &Value, count: usize) -> Result<Vec<Vec<f32>>, String> {
    let list = answer.get("data").or_else(|| answer.get("embeddings")).and_then(Value::as_array);
    let list = list.ok_or("it has no list of vectors")?;
    if list.len() != count {
        return Err(format!("it has {} vectors for {count} texts", list.len()));
    }
    let mut placed: Vec<Option<Vec<f32>>> = vec![None; count];
    for (at, entry) in list.iter().enumerate() {
        let index = entry.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
        let place = placed.get_mut(index.unwrap_or(at)).ok_or("a vector has no text")?;
        *place = Some(vector(entry.get("embedding").unwrap_or(entry))?);
    }
    let vectors: Option<Vec<Vec<f32>>> = placed.into_iter().collect();
    let vectors = vectors.ok_or("two vectors have the same text")?;
    let sizes: Vec<usize> = vectors.iter().map(Vec::len).collect();
    match sizes.iter().zip(sizes.iter().skip(1)).find(|(one, next)| one != next) {
        Some((one, next)) => Err(format!("one vector has {one} numbers, and the next has {next}")),
        None => Ok(vectors),
    }
}

fn vector(value: &Value) -> Result<Vec<f32>, String> {
    let numbers = value.as_array().ok_or("a vector is not a list of numbers")?;
    if numbers.is_empty() || numbers.len() > MAX_NUMBERS {
        return Err(format!("a vector has {} numbers, expected 1 to {MAX_NUMBERS}", numbers.len()));
    }
    let numbers: Option<Vec<f64>> =
        numbers.iter().map(|number| number.as_f64().filter(|one| one.is_finite())).collect();
    normalize(&numbers.ok_or("a vector contains a value that is not a number")?)
        .ok_or_else(|| "all numbers of a vector are 0".to_owned())
}

/// Scales a vector to length 1.
fn normalize(numbers: &[f64]) -> Option<Vec<f32>> {
    let largest = numbers.iter().fold(0.0_f64, |largest, number| largest.max(number.abs()));
    // Divided by the largest number, no square can overflow.
    let length = numbers.iter().map(|number| (number / largest).powi(2)).sum::<f64>().sqrt() * largest;
    let is_usable = length.is_finite() && length > 0.0;
    is_usable.then(|| numbers.iter().map(|number| to_f32(number / length)).collect())
}

/// Converts a number between -1 and 1 to 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "fewer digits are intended, and no value is out of range")]
fn to_f32(number: f64) -> f32 {
    number as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embeddings_shuffled_answer_returns_input_order() {
        let answer = json!({"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3.0, 4.0]}]});
        assert_eq!(vectors(&answer, 2).unwrap(), [[0.6, 0.8], [0.0, 1.0]]);
        assert_eq!(vectors(&json!({"embeddings": [[0, -5]]}), 1).unwrap(), [[0.0, -1.0]]);
        assert_eq!(vectors(&json!({"data": []}), 0).unwrap(), Vec::<Vec<f32>>::new());
        let huge = json!({"data": [{"embedding": [1e300, 0]}]});
        assert_eq!(vectors(&huge, 1).unwrap(), [[1.0, 0.0]]);
    }

    /// Hostile responses are rejected with the reason.
    #[test]
    fn embeddings_invalid_vector_returns_error() {
        let check = |answer: Value, count: usize, expected: &str| {
            let said = vectors(&answer, count).unwrap_err();
            assert!(said.contains(expected), "{answer}: {said}");
        };
        let one = |vector: Value| json!({"data": [{"index": 0, "embedding": vector}]});
        check(json!({}), 1, "no list");
        check(json!({"data": 7}), 1, "no list");
        check(json!({"data": []}), 1, "0 vectors for 1");
        check(one(json!("AAAA")), 1, "not a list of numbers");
        check(one(json!([])), 1, "0 numbers");
        check(one(json!(vec![1; MAX_NUMBERS + 1])), 1, "16385 numbers");
        check(one(json!([1, null])), 1, "not a number");
        check(one(json!([1, "NaN"])), 1, "not a number");
        check(one(json!([0, 0.0])), 1, "are 0");
        check(json!({"data": [{"index": 5, "embedding": [1]}]}), 1, "has no text");
        check(json!({"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}), 2, "the same text");
        check(json!({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]}), 2, "1 numbers");
    }
}
