//! The rule in Lua 5.4, with a memory limit and a deadline check every thousand instructions.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, VmState};

use crate::host::{Host, SharedHost};

const SOURCE: &str = include_str!("../rule/main.lua");

/// A state of the interpreter with the rule.
pub struct Script {
    lua: Lua,
    hook: Function,
    host: Rc<RefCell<Option<SharedHost>>>,
}

impl Script {
    pub fn new() -> Self {
        let lua = Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, LuaOptions::default()).unwrap();
        lua.set_memory_limit(16 << 20).unwrap();
        let host: Rc<RefCell<Option<SharedHost>>> = Rc::default();
        register(&lua, &host);
        lua.load(SOURCE).exec().unwrap();
        let hook = lua.globals().get("on_reply").unwrap();
        Self { lua, hook, host }
    }

    pub fn call(&self, host: Host) -> Host {
        let end = Instant::now() + Duration::from_millis(50);
        let late = move |_: &Lua, _: &mlua::debug::Debug<'_>| match Instant::now() < end {
            true => Ok(VmState::Continue),
            false => Err(mlua::Error::runtime("too long")),
        };
        self.lua.set_hook(HookTriggers::new().every_nth_instruction(1_000), late).unwrap();
        let shared = Rc::new(RefCell::new(host));
        *self.host.borrow_mut() = Some(Rc::clone(&shared));
        self.hook.call::<()>(()).unwrap();
        *self.host.borrow_mut() = None;
        Rc::into_inner(shared).unwrap().into_inner()
    }
}

fn register(lua: &Lua, host: &Rc<RefCell<Option<SharedHost>>>) {
    let (globals, of) = (lua.globals(), || {
        let host = Rc::clone(host);
        move || Rc::clone(host.borrow().as_ref().unwrap())
    });
    let host = of();
    let find_all = move |lua: &Lua, pattern: String| {
        let found = host().borrow().find_all(&pattern);
        let maps = found.into_iter().map(|groups| lua.create_table_from(groups)).collect::<mlua::Result<Vec<_>>>();
        lua.create_sequence_from(maps?)
    };
    globals.set("find_all", lua.create_function(find_all).unwrap()).unwrap();
    let host = of();
    let get = move |_: &Lua, (path, default): (String, i64)| Ok(host().borrow().get(&path, default));
    globals.set("get", lua.create_function(get).unwrap()).unwrap();
    let host = of();
    let add = move |_: &Lua, (path, n, why): (String, i64, String)| {
        host().borrow_mut().add(&path, n, &why);
        Ok(())
    };
    globals.set("add", lua.create_function(add).unwrap()).unwrap();
    let host = of();
    let set = move |_: &Lua, (path, value, why): (String, bool, String)| {
        host().borrow_mut().set(&path, value, &why);
        Ok(())
    };
    globals.set("set", lua.create_function(set).unwrap()).unwrap();
    let host = of();
    let roll = move |_: &Lua, spec: String| Ok(host().borrow_mut().roll(&spec));
    globals.set("roll", lua.create_function(roll).unwrap()).unwrap();
    let host = of();
    let note = move |_: &Lua, text: String| {
        host().borrow_mut().note(&text);
        Ok(())
    };
    globals.set("note", lua.create_function(note).unwrap()).unwrap();
}
