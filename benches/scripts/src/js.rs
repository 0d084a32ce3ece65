//! The rule in JavaScript on QuickJS, with a memory limit and a deadline check whenever the engine allows one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::{Array, Context, Ctx, Function, Object, Persistent, Runtime};

use crate::host::{Host, NamedGroups, SharedHost};

const SOURCE: &str = include_str!("../rule/main.js");

/// A context of the interpreter with the rule. Drop order: the function before its context, the context before its
/// runtime.
pub struct Script {
    hook: Persistent<Function<'static>>,
    context: Context,
    _runtime: Runtime,
    host: Rc<RefCell<Option<SharedHost>>>,
    deadline: Rc<Cell<Option<Instant>>>,
}

impl Script {
    pub fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        runtime.set_memory_limit(16 << 20);
        let end: Rc<Cell<Option<Instant>>> = Rc::default();
        let late = Rc::clone(&end);
        runtime.set_interrupt_handler(Some(Box::new(move || late.get().is_some_and(|end| Instant::now() >= end))));
        let context = Context::full(&runtime).unwrap();
        let host: Rc<RefCell<Option<SharedHost>>> = Rc::default();
        let hook = context.with(|ctx| {
            register(&ctx, &host);
            ctx.eval::<(), _>(SOURCE).unwrap();
            Persistent::save(&ctx, ctx.globals().get::<_, Function<'_>>("on_reply").unwrap())
        });
        Self { hook, context, _runtime: runtime, host, deadline: end }
    }

    pub fn call(&self, host: Host) -> Host {
        self.deadline.set(Some(Instant::now() + Duration::from_millis(50)));
        let shared = Rc::new(RefCell::new(host));
        *self.host.borrow_mut() = Some(Rc::clone(&shared));
        self.context.with(|ctx| self.hook.clone().restore(&ctx).unwrap().call::<_, ()>(()).unwrap());
        *self.host.borrow_mut() = None;
        Rc::into_inner(shared).unwrap().into_inner()
    }
}

fn register(ctx: &Ctx<'_>, host: &Rc<RefCell<Option<SharedHost>>>) {
    let (globals, of) = (ctx.globals(), || {
        let host = Rc::clone(host);
        move || Rc::clone(host.borrow().as_ref().unwrap())
    });
    let host = of();
    globals.set("find_all", Function::new(ctx.clone(), find_all_function(host)).unwrap()).unwrap();
    let host = of();
    let get = move |path: String, default: i64| host().borrow().get(&path, default);
    globals.set("get", Function::new(ctx.clone(), get).unwrap()).unwrap();
    let host = of();
    let add = move |path: String, n: i64, why: String| host().borrow_mut().add(&path, n, &why);
    globals.set("add", Function::new(ctx.clone(), add).unwrap()).unwrap();
    let host = of();
    let set = move |path: String, value: bool, why: String| host().borrow_mut().set(&path, value, &why);
    globals.set("set", Function::new(ctx.clone(), set).unwrap()).unwrap();
    let host = of();
    let roll = move |spec: String| host().borrow_mut().roll(&spec);
    globals.set("roll", Function::new(ctx.clone(), roll).unwrap()).unwrap();
    let host = of();
    let note = move |text: String| host().borrow_mut().note(&text);
    globals.set("note", Function::new(ctx.clone(), note).unwrap()).unwrap();
}

fn find_all_function(
    host: impl Fn() -> SharedHost,
) -> impl for<'js> Fn(Ctx<'js>, String) -> rquickjs::Result<Array<'js>> {
    move |ctx, pattern| {
        let found: Vec<NamedGroups> = host().borrow().find_all(&pattern);
        let all = Array::new(ctx.clone())?;
        for (n, groups) in found.into_iter().enumerate() {
            let map = Object::new(ctx.clone())?;
            for (name, text) in groups {
                map.set(name, text)?;
            }
            all.set(n, map)?;
        }
        Ok(all)
    }
}
