//! How extractors and responders describe themselves for the API document. Each new kind must implement a trait here;
//! otherwise handlers that use it do not compile.

use actix_web::{HttpRequest, HttpResponse, web};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr, Required};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::body::{JsonBody, JsonListBody};
use super::caller::{Caller, ClientIdentity};
use super::error::ApiError;
use super::file::{ArchiveDownload, ArchiveUpload, FileDownload, FileUpload, ImageResponse, SESSION_MEDIA_TYPE};
use super::query::{
    CardVersionPath, CharacterIdPath, ConnectionProfileIdPath, DeviceIdPath, DocumentIdPath, DraftIdPath,
    FragmentIdPath, JobIdPath, LoreEntryUidPath, LorebookIdPath, NodeIdPath, PersonaIdPath, PluginFilePath,
    PluginIdPath, PresetIdPath, ProviderIdPath, QueryParams, SessionIdPath, SummaryIdPath, TrashIdPath,
};
use super::response::{ApiResponse, FileResponse, NoContent};
use super::upload_form::UploadForm;
use super::wire::ListResponse;
use super::wire::events::{ClientFrame, Event};
use crate::app::App;

/// What has been collected about a route.
#[derive(Default)]
pub struct RouteDescription {
    /// Path and query parameters.
    pub parameters: Vec<Parameter>,
    /// Media types of a file body.
    pub request_file_types: &'static [&'static str],
    /// Whether it accepts a file as its body or as the form field `file`.
    pub accepts_upload_form: bool,
    /// Media types of file answers.
    pub response_file_types: &'static [&'static str],
    /// The JSON body, and whether it is required.
    pub body: Option<(RefOr<Schema>, bool)>,
    /// The JSON answer.
    pub response: Option<RefOr<Schema>>,
    /// The WebSocket frames that the server sends and those that it accepts.
    pub frames: Option<[RefOr<Schema>; 2]>,
    /// Schemas by name.
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

impl RouteDescription {
    /// Registers a named schema and returns a reference to it.
    fn add_schema<T: ToSchema>(&mut self) -> RefOr<Schema> {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        RefOr::Ref(Ref::from_schema_name(T::name()))
    }

    fn add_path_parameter(&mut self, name: &str, what: &str) {
        let schema = ObjectBuilder::new().schema_type(Type::String);
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(what))
            .schema(Some(schema));
        self.parameters.push(parameter.build());
    }
}

/// Something that a handler takes: an extractor.
pub trait DescribeInput {
    /// Adds it to the description.
    fn describe(description: &mut RouteDescription);
}

/// Something that a handler returns: a responder.
pub trait DescribeOutput {
    /// Adds it to the description.
    fn describe(description: &mut RouteDescription);
}

impl<T: ToSchema> DescribeInput for JsonBody<T> {
    fn describe(description: &mut RouteDescription) {
        // An empty body is read as an object without fields.
        let must_be = matches!(T::schema(), RefOr::T(Schema::Object(object)) if !object.required.is_empty());
        description.body = Some((description.add_schema::<T>(), must_be));
    }
}

impl<T: ToSchema> DescribeInput for JsonListBody<T> {
    fn describe(description: &mut RouteDescription) {
        description.body = Some((description.add_schema::<ListResponse<T>>(), true));
    }
}

impl<T: IntoParams> DescribeInput for QueryParams<T> {
    fn describe(description: &mut RouteDescription) {
        description.parameters.extend(T::into_params(|| Some(ParameterIn::Query)));
    }
}

macro_rules! path_inputs {
    ($($id:ty),*) => {$(
        impl DescribeInput for $id {
            fn describe(description: &mut RouteDescription) {
                description.add_path_parameter(Self::KEY, Self::WHAT);
            }
        }
    )*};
}

path_inputs!(
    CharacterIdPath,
    DraftIdPath,
    FragmentIdPath,
    JobIdPath,
    LorebookIdPath,
    SummaryIdPath,
    NodeIdPath,
    DocumentIdPath,
    PersonaIdPath,
    PresetIdPath,
    ConnectionProfileIdPath,
    SessionIdPath,
    TrashIdPath,
    DeviceIdPath
);

impl DescribeInput for PluginIdPath {
    fn describe(description: &mut RouteDescription) {
        description.add_path_parameter("plugin", "the plugin");
    }
}

impl DescribeInput for ProviderIdPath {
    fn describe(description: &mut RouteDescription) {
        description.add_path_parameter("provider", "the provider");
    }
}

impl DescribeInput for PluginFilePath {
    fn describe(description: &mut RouteDescription) {
        description.add_path_parameter("path", "the file");
    }
}

impl DescribeInput for CardVersionPath {
    fn describe(description: &mut RouteDescription) {
        description.add_path_parameter("n", "the version, from 1");
    }
}

impl DescribeInput for LoreEntryUidPath {
    fn describe(description: &mut RouteDescription) {
        description.add_path_parameter("uid", "the entry");
    }
}

impl DescribeInput for FileUpload {
    fn describe(description: &mut RouteDescription) {
        description.request_file_types = &[SESSION_MEDIA_TYPE];
    }
}

impl DescribeInput for UploadForm {
    fn describe(description: &mut RouteDescription) {
        description.accepts_upload_form = true;
    }
}

impl DescribeOutput for Result<ImageResponse, ApiError> {
    fn describe(description: &mut RouteDescription) {
        description.response_file_types = &["image/*"];
    }
}

impl DescribeInput for ArchiveUpload {
    fn describe(description: &mut RouteDescription) {
        description.request_file_types = &Self::ACCEPTED_MEDIA_TYPES;
    }
}

impl DescribeOutput for Result<FileDownload, ApiError> {
    fn describe(description: &mut RouteDescription) {
        description.response_file_types = &[SESSION_MEDIA_TYPE, "application/jsonl", "text/markdown", "text/html"];
    }
}

impl DescribeOutput for Result<ArchiveDownload, ApiError> {
    fn describe(description: &mut RouteDescription) {
        description.response_file_types = &[ArchiveUpload::MEDIA_TYPE];
    }
}

macro_rules! undescribed_inputs {
    ($($input:ty),*) => {$(
        impl DescribeInput for $input {
            fn describe(_: &mut RouteDescription) {}
        }
    )*};
}

/// A raw payload is only used for WebSockets.
impl DescribeInput for web::Payload {
    fn describe(description: &mut RouteDescription) {
        description.frames = Some([description.add_schema::<Event>(), description.add_schema::<ClientFrame>()]);
    }
}

undescribed_inputs!(Caller, ClientIdentity, HttpRequest, web::Data<App>, web::Data<super::server_state::ServerState>);

macro_rules! describe_tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: DescribeInput),*> DescribeInput for ($($name,)*) {
            fn describe(description: &mut RouteDescription) {
                $($name::describe(description);)*
                let _ = description;
            }
        }
    )*};
}

describe_tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }

impl<T: ToSchema> DescribeOutput for Result<ApiResponse<T>, ApiError> {
    fn describe(description: &mut RouteDescription) {
        description.response = Some(description.add_schema::<T>());
    }
}

impl DescribeOutput for Result<HttpResponse, ApiError> {
    fn describe(_: &mut RouteDescription) {}
}

impl DescribeOutput for Result<ApiResponse<FileResponse>, ApiError> {
    fn describe(_: &mut RouteDescription) {}
}

impl PartialSchema for NoContent {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Null).into()
    }
}

impl ToSchema for NoContent {}
