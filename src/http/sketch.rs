//! How a handler's inputs and outputs describe themselves. A new kind of either says here what the document tells of it;
//! a handler with one that says nothing does not compile.

use actix_web::{HttpRequest, HttpResponse, web};
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr, Required};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::answer::{File, Nothing, Reply};
use super::body::{Body, ListBody};
use super::caller::{Caller, Via};
use super::error::ApiError;
use super::file::{Archive, Download, KIND, Packed, Picture, Upload};
use super::form::Form;
use super::query::{
    Cid, Did, EntryUid, Fid, FilePath, Jid, Lid, Mid, Nid, Oid, Pid, PluginName, ProviderName, Query, Rid, Sid, Tid,
    Vid,
};
use super::wire::List;
use super::wire::events::{ClientFrame, Event};
use crate::app::App;

/// What is known of a route while it is described.
#[derive(Default)]
pub struct Sketch {
    /// What the address and the query take.
    pub parameters: Vec<Parameter>,
    /// The kinds of files that it takes as its body.
    pub takes_files: &'static [&'static str],
    /// Whether it takes a file, as its body or as the field `file` of a form.
    pub takes_form: bool,
    /// The kinds of files that it may answer with.
    pub gives_files: &'static [&'static str],
    /// The body it takes, and whether there must be one.
    pub body: Option<(RefOr<Schema>, bool)>,
    /// The body it answers with.
    pub answer: Option<RefOr<Schema>>,
    /// The frames that a WebSocket sends and those that it takes.
    pub frames: Option<[RefOr<Schema>; 2]>,
    /// Shapes by name.
    pub schemas: Vec<(String, RefOr<Schema>)>,
}

impl Sketch {
    /// A named shape, by reference.
    fn shape<T: ToSchema>(&mut self) -> RefOr<Schema> {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        RefOr::Ref(Ref::from_schema_name(T::name()))
    }

    fn path_text(&mut self, name: &str, what: &str) {
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

/// Something that a handler takes.
pub trait Input {
    /// Adds it to the description.
    fn describe(sketch: &mut Sketch);
}

/// Something that a handler answers.
pub trait Output {
    /// Adds it to the description.
    fn describe(sketch: &mut Sketch);
}

impl<T: ToSchema> Input for Body<T> {
    fn describe(sketch: &mut Sketch) {
        // Nothing at all is read as an object without fields.
        let must_be = matches!(T::schema(), RefOr::T(Schema::Object(object)) if !object.required.is_empty());
        sketch.body = Some((sketch.shape::<T>(), must_be));
    }
}

impl<T: ToSchema> Input for ListBody<T> {
    fn describe(sketch: &mut Sketch) {
        sketch.body = Some((sketch.shape::<List<T>>(), true));
    }
}

impl<T: IntoParams> Input for Query<T> {
    fn describe(sketch: &mut Sketch) {
        sketch.parameters.extend(T::into_params(|| Some(ParameterIn::Query)));
    }
}

macro_rules! path_inputs {
    ($($id:ty),*) => {$(
        impl Input for $id {
            fn describe(sketch: &mut Sketch) {
                sketch.path_text(Self::KEY, Self::WHAT);
            }
        }
    )*};
}

path_inputs!(Cid, Did, Fid, Jid, Lid, Mid, Nid, Oid, Pid, Rid, Sid, Tid, Vid);

impl Input for PluginName {
    fn describe(sketch: &mut Sketch) {
        sketch.path_text("plugin", "the plugin");
    }
}

impl Input for ProviderName {
    fn describe(sketch: &mut Sketch) {
        sketch.path_text("provider", "the provider");
    }
}

impl Input for FilePath {
    fn describe(sketch: &mut Sketch) {
        sketch.path_text("path", "the file");
    }
}

impl Input for EntryUid {
    fn describe(sketch: &mut Sketch) {
        sketch.path_text("uid", "the entry");
    }
}

impl Input for Upload {
    fn describe(sketch: &mut Sketch) {
        sketch.takes_files = &[KIND];
    }
}

impl Input for Form {
    fn describe(sketch: &mut Sketch) {
        sketch.takes_form = true;
    }
}

impl Output for Result<Picture, ApiError> {
    fn describe(sketch: &mut Sketch) {
        sketch.gives_files = &["image/*"];
    }
}

impl Input for Archive {
    fn describe(sketch: &mut Sketch) {
        sketch.takes_files = &Self::KINDS;
    }
}

impl Output for Result<Download, ApiError> {
    fn describe(sketch: &mut Sketch) {
        sketch.gives_files = &[KIND, "application/jsonl", "text/markdown", "text/html"];
    }
}

impl Output for Result<Packed, ApiError> {
    fn describe(sketch: &mut Sketch) {
        sketch.gives_files = &[Archive::KIND];
    }
}

macro_rules! silent_inputs {
    ($($input:ty),*) => {$(
        impl Input for $input {
            fn describe(_: &mut Sketch) {}
        }
    )*};
}

/// Who takes the bytes as they come makes a WebSocket of them.
impl Input for web::Payload {
    fn describe(sketch: &mut Sketch) {
        sketch.frames = Some([sketch.shape::<Event>(), sketch.shape::<ClientFrame>()]);
    }
}

silent_inputs!(Caller, Via, HttpRequest, web::Data<App>, web::Data<super::shared::Shared>);

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Input),*> Input for ($($name,)*) {
            fn describe(sketch: &mut Sketch) {
                $($name::describe(sketch);)*
                let _ = sketch;
            }
        }
    )*};
}

tuples! { () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) }

impl<T: ToSchema> Output for Result<Reply<T>, ApiError> {
    fn describe(sketch: &mut Sketch) {
        sketch.answer = Some(sketch.shape::<T>());
    }
}

impl Output for Result<HttpResponse, ApiError> {
    fn describe(_: &mut Sketch) {}
}

impl Output for Result<Reply<File>, ApiError> {
    fn describe(_: &mut Sketch) {}
}

impl PartialSchema for Nothing {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Null).into()
    }
}

impl ToSchema for Nothing {}
