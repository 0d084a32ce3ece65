//! `ctx`: read access to the state, the text, the node and the people. Nothing here changes anything.

use std::sync::Arc;

use rhai::{Array, Dynamic, ImmutableString, Map};
use serde_json::Value;

use super::{Ctx, CtxSurface, RunningCall};
use crate::call::Hook;
use crate::convert::to_script;
use crate::error::ScriptErrorKind;
use crate::host_fault::{RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use crate::permission::Permission;
use crate::slash_command::SlashCommand;
use crate::{localized_text, suggest};
use clotho_core::world::{Pointer, World};

/// The most messages of `ctx.recent`.
const MAX_RECENT: usize = 50;

/// The most bytes of a name in `ctx.recent`.
const MAX_NAME_BYTES: usize = 200;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Reading");
    register_state(surface);
    register_node(surface);
    register_people(surface);
}

fn register_state(surface: &mut CtxSurface<'_>) {
    // Permissions.
    surface.function(
        "may",
        &["ctx: Ctx", "permission: string", "bool"],
        "Returns whether the session grants a permission, by its name in the manifest.",
        |ctx: &mut Ctx, word: &str| -> Result<bool, RhaiThrow> {
            let parsed = word.parse::<Permission>();
            let permission = parsed.map_err(|error| throw(ScriptErrorKind::Runtime, format!("may: {error}")))?;
            Ok(ctx.0.call.grants.contains(&permission))
        },
    );
    // The current state.
    surface.function(
        "get",
        &["ctx: Ctx", "path: string", "?"],
        "Returns the value at a path; an error if there is none.",
        |ctx: &mut Ctx, path: &str| ctx.0.get(path),
    );
    surface.function(
        "get",
        &["ctx: Ctx", "path: string", "default: ?", "?"],
        "Returns the value at a path, or the default if there is none.",
        |ctx: &mut Ctx, path: &str, default: Dynamic| -> Result<Dynamic, RhaiThrow> {
            Ok(ctx.0.find("get", path)?.unwrap_or(default))
        },
    );
    surface.function(
        "has",
        &["ctx: Ctx", "path: string", "bool"],
        "Returns whether there is a value at a path.",
        |ctx: &mut Ctx, path: &str| -> Result<bool, RhaiThrow> {
            let place = ctx.0.readable_pointer("has", path)?;
            Ok(view_at(&ctx.0.effects().world, &place).is_some())
        },
    );
    surface.function(
        "keys",
        &["ctx: Ctx", "path: string", "Array"],
        "Returns the keys of the map (or the positions of the list) at a path; none if there is nothing.",
        |ctx: &mut Ctx, path: &str| ctx.0.keys(path),
    );
    // The parent's state.
    surface.function(
        "before",
        &["ctx: Ctx", "path: string", "?"],
        "Returns the value at a path in the parent's state, or () if there was none.",
        |ctx: &mut Ctx, path: &str| ctx.0.before(path).map(Option::unwrap_or_default),
    );
    surface.function(
        "before",
        &["ctx: Ctx", "path: string", "default: ?", "?"],
        "Returns the value at a path in the parent's state, or the default.",
        |ctx: &mut Ctx, path: &str, default: Dynamic| -> Result<Dynamic, RhaiThrow> {
            Ok(ctx.0.before(path)?.unwrap_or(default))
        },
    );
}

fn register_node(surface: &mut CtxSurface<'_>) {
    surface.property(
        "text",
        "string",
        "The text of this hook, cut after 64 KiB; find, block and the like use all of it.",
        |ctx: &mut Ctx| -> ImmutableString { truncate_end(&ctx.0.call.text, ctx.0.limits().string).into() },
    );
    surface.property(
        "role",
        "string",
        "The role of the text: user, assistant or system.",
        |ctx: &mut Ctx| -> ImmutableString { ctx.0.call.role.as_str().into() },
    );
    surface.property(
        "command",
        "string",
        "The slash command of this plugin that the user typed, by its name in the manifest. () if there is none, or \
         an earlier plugin runs it.",
        |ctx: &mut Ctx| ctx.0.command().map_or(Dynamic::UNIT, |(name, _)| name.into()),
    );
    surface.property("args", "string", "The text after the slash command.", |ctx: &mut Ctx| -> ImmutableString {
        ctx.0.command().map(|(_, args)| args.into()).unwrap_or_default()
    });
    surface.property(
        "node",
        "Map",
        "The node: id, depth, turn and its stored time in milliseconds.",
        |ctx: &mut Ctx| node(&ctx.0),
    );
    surface.function(
        "recent",
        &["ctx: Ctx", "n: int", "Array"],
        "Returns the last n messages before this one, oldest first, each #{role, name, text}. At most fifty; long \
         ones are shortened in the middle.",
        |ctx: &mut Ctx, n: i64| recent(&ctx.0, n),
    );
}

fn register_people(surface: &mut CtxSurface<'_>) {
    surface.property("config", "Config", "The plugin's settings: ctx.config.name.", |ctx: &mut Ctx| {
        ConfigHandle(Arc::clone(&ctx.0))
    });
    surface.module.set_custom_type::<ConfigHandle>("Config");
    rhai::FuncRegistration::new_index_getter()
        .in_global_namespace()
        .with_params_info(["config: Config", "name: string", "?"])
        .with_comments(["/// The value of a setting."])
        .set_into_module(surface.module, |config: &mut ConfigHandle, name: &str| config.get(name));
    surface.property("user", "Map", "The user's persona: name.", |ctx: &mut Ctx| named(&ctx.0.call.user));
    surface.property("char", "Map", "The speaking character: name.", |ctx: &mut Ctx| named(&ctx.0.call.character));
    surface.property(
        "language",
        "string",
        "The language to write in: the best match for the reader, from the manifest's languages.",
        |ctx: &mut Ctx| language(&ctx.0),
    );
}

/// The settings, as a value whose properties are read one by one.
#[derive(Clone)]
struct ConfigHandle(Arc<RunningCall>);

impl ConfigHandle {
    fn get(&self, name: &str) -> Result<Dynamic, RhaiThrow> {
        match self.0.call.config.get(name) {
            Some(value) => script_value(&self.0, "config", value),
            None => {
                let known = self.0.call.config.keys().map(String::as_str);
                let hint = suggest::did_you_mean(name, known);
                Err(throw(ScriptErrorKind::Runtime, format!("the plugin has no setting \"{name}\"{hint}")))
            }
        }
    }
}

impl RunningCall {
    fn get(&self, path: &str) -> Result<Dynamic, RhaiThrow> {
        if let Some(value) = self.find("get", path)? {
            return Ok(value);
        }
        let near = self.siblings(path);
        let hint = match suggest::did_you_mean(path, near.iter().map(String::as_str)) {
            none if none.is_empty() => format!(" (give a default: ctx.get(\"{path}\", 0))"),
            some => some,
        };
        Err(throw(ScriptErrorKind::Runtime, format!("state has no \"{path}\"{hint}")))
    }

    fn find(&self, function: &str, path: &str) -> Result<Option<Dynamic>, RhaiThrow> {
        let place = self.readable_pointer(function, path)?;
        let world = Arc::clone(&self.effects().world);
        view_at(&world, &place).map(|value| script_value(self, path, &value.to_value())).transpose()
    }

    fn before(&self, path: &str) -> Result<Option<Dynamic>, RhaiThrow> {
        let place = self.readable_pointer("before", path)?;
        view_at(&self.call.world_before, &place).map(|value| script_value(self, path, &value.to_value())).transpose()
    }

    fn keys(&self, path: &str) -> Result<Array, RhaiThrow> {
        let place = self.readable_pointer("keys", path)?;
        let done = self.effects();
        let keys: Array = match view_at(&done.world, &place) {
            Some(StateView::Vars(map)) | Some(StateView::Value(Value::Object(map))) => {
                map.keys().map(|key| key.as_str().into()).collect()
            }
            Some(StateView::Value(Value::Array(list))) => (0_i64..).take(list.len()).map(Dynamic::from).collect(),
            _ => Array::new(),
        };
        if keys.len() > self.limits().array {
            return Err(throw_limit(
                ScriptLimit::Size,
                format!("keys(\"{path}\"): there are too many keys for one list"),
            ));
        }
        Ok(keys)
    }

    /// Returns paths beside a missing one, at most 200.
    fn siblings(&self, path: &str) -> Vec<String> {
        let (folder, prefix) = match path.rsplit_once('/') {
            Some((folder, _)) => (folder, format!("{folder}/")),
            None => ("", String::new()),
        };
        let Ok(place) = self.readable_pointer("get", folder) else { return Vec::new() };
        let done = self.effects();
        match view_at(&done.world, &place) {
            Some(StateView::Vars(map)) | Some(StateView::Value(Value::Object(map))) => {
                map.keys().take(200).map(|key| format!("{prefix}{key}")).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the typed slash command of this plugin and its arguments. Ignores commands that belong to other plugins
    /// or do not exist.
    fn command(&self) -> Option<(&str, &str)> {
        let is_own = self.call.hook == Hook::OnInput && self.call.command_plugin.is_none();
        let typed = is_own.then(|| SlashCommand::parse(&self.call.text)).flatten()?;
        Some((self.runtime.manifest.command(typed.word)?.name.as_str(), typed.args))
    }
}

/// The value at a path. The top of the state is a map without a `Value` of its own.
enum StateView<'w> {
    Vars(&'w serde_json::Map<String, Value>),
    Value(&'w Value),
}

impl StateView<'_> {
    fn to_value(&self) -> std::borrow::Cow<'_, Value> {
        match self {
            Self::Vars(map) => std::borrow::Cow::Owned(Value::Object((*map).clone())),
            Self::Value(value) => std::borrow::Cow::Borrowed(value),
        }
    }
}

fn view_at<'w>(world: &'w World, place: &Pointer) -> Option<StateView<'w>> {
    if place.is_root() { Some(StateView::Vars(&world.vars)) } else { world.get(place).map(StateView::Value) }
}

fn script_value(running: &RunningCall, what: &str, value: &Value) -> Result<Dynamic, RhaiThrow> {
    to_script(value, running.limits()).map_err(|_| {
        throw_limit(ScriptLimit::Size, format!("\"{what}\" is too large to read at once: read parts of it"))
    })
}

fn node(running: &RunningCall) -> Map {
    let facts = &running.call.node;
    let number = |n: u64| Dynamic::from(i64::try_from(n).unwrap_or(i64::MAX));
    [
        ("id".into(), facts.id.as_str().into()),
        ("depth".into(), number(facts.depth)),
        ("turn".into(), number(facts.turn)),
        ("time".into(), facts.time.map_or(Dynamic::UNIT, |time| time.0.into())),
    ]
    .into_iter()
    .collect()
}

fn named(name: &str) -> Map {
    [("name".into(), name.into())].into_iter().collect()
}

fn recent(running: &RunningCall, n: i64) -> Array {
    let wanted = usize::try_from(n).unwrap_or(0).min(MAX_RECENT);
    let all = &running.call.recent;
    let messages = all.get(all.len().saturating_sub(wanted)..).unwrap_or_default();
    // All texts of a list together must fit in half of one text's limit; names and roles need the rest.
    let room = running.limits().string / 2;
    let fits = messages.iter().map(|message| message.text.len()).sum::<usize>() <= room;
    let each = if fits { room } else { room / wanted.max(1) };
    let map = |message: &crate::RecentMessage| -> Dynamic {
        let entries: [(&str, Dynamic); 3] = [
            ("role", message.role.as_str().into()),
            ("name", truncate_end(&message.name, MAX_NAME_BYTES).into()),
            ("text", truncate_start(&message.text, each).into()),
        ];
        entries.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>().into()
    };
    messages.iter().map(map).collect()
}

/// Returns the beginning of a text, up to `room` bytes.
fn truncate_end(text: &str, room: usize) -> &str {
    text.get(..text.floor_char_boundary(room)).unwrap_or(text)
}

/// Returns the end of a text, up to `room` bytes.
fn truncate_start(text: &str, room: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(room))..).unwrap_or_default()
}

fn language(running: &RunningCall) -> ImmutableString {
    let written = &running.runtime.manifest.languages;
    let wanted = running.call.language.as_str();
    match localized_text::best_language(written.iter().map(String::as_str), wanted).and_then(|at| written.get(at)) {
        Some(tag) => tag.as_str().into(),
        None => written.first().map_or(wanted, String::as_str).into(),
    }
}
