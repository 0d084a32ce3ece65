//! Problems: what the fold clamped, rounded or skipped, each with a code, arguments and a sentence.

use std::fmt;

use serde_json::{Number, Value};

use super::value_kind::{LengthPhrase, QuotedValue, ValueKind, ValueKinds};
use super::{Pointer, pointer};
use crate::coded_message::{CodedMessage, MessageArgs};
use crate::coded_messages;

/// One deviation of the fold from an operation. It never costs the text of the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The index of the operation in its delta.
    pub operation: usize,
    /// The path in the section. It lies below the operation's path if only a part of the value is concerned.
    pub path: Pointer,
    /// The name of the place in messages (see `place_name`).
    pub name: String,
    /// What happened there.
    pub detail: ProblemDetail,
}

/// The kind of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A note: a number was clamped to its range.
    Clamped,
    /// A note: a fraction was rounded, because an integer is required.
    Rounded,
    /// There was nothing to remove or take.
    NothingThere,
    /// The operation breaks the schema or does not fit the value there; it was skipped.
    Refused,
}

coded_messages! {
    /// What was clamped, rounded, missing or refused at one place. The name of the place is not part of the sentence.
    pub enum ProblemDetail {
        /// A number was raised to its lower bound.
        #[error("{value} is below {bound}, kept at {bound}")]
        BelowRange { value: Number, bound: Number } = "below_range",
        /// A number was lowered to its upper bound.
        #[error("{value} is above {bound}, kept at {bound}")]
        AboveRange { value: Number, bound: Number } = "above_range",
        /// A fraction was rounded.
        #[error("{value} is not whole, rounded to {whole}")]
        Rounded { value: Number, whole: Number } = "rounded",
        /// There is no value to remove.
        #[error("there is nothing to remove")]
        NothingToRemove {} = "nothing_to_remove",
        /// The list does not contain the value.
        #[error("the list does not contain this value")]
        NoValueToTake {} = "no_value_to_take",
        /// The events do not contain the event.
        #[error("the events do not contain this event")]
        NoEventToTake {} = "no_event_to_take",
        /// There is no value to move.
        #[error("there is nothing to move")]
        NothingToMove {} = "nothing_to_move",
        /// The number must be larger than a bound.
        #[error("{value} must be above {bound}")]
        NotAbove { value: Number, bound: Number } = "not_above",
        /// The number must be smaller than a bound.
        #[error("{value} must be below {bound}")]
        NotBelow { value: Number, bound: Number } = "not_below",
        /// The schema expects another type.
        #[error("{value} is not {kinds}")]
        WrongType { value: QuotedValue, kinds: ValueKinds } = "wrong_type",
        /// The schema lists the possible values.
        #[error("{value} is not one of {choices}")]
        NotAChoice { value: QuotedValue, choices: String } = "not_a_choice",
        /// The text does not match the pattern of the schema.
        #[error("{value} does not match {pattern}")]
        NoMatch { value: QuotedValue, pattern: String } = "no_match",
        /// The text is too short.
        #[error("it has {count} characters and needs at least {least}")]
        TextTooShort { count: usize, least: LengthPhrase } = "text_too_short",
        /// The text is too long.
        #[error("it has {count} characters and may have at most {most}")]
        TextTooLong { count: usize, most: LengthPhrase } = "text_too_long",
        /// The list has too few values.
        #[error("it has {count} values and needs at least {least}")]
        ListTooShort { count: usize, least: LengthPhrase } = "list_too_short",
        /// The list has too many values.
        #[error("it has {count} values and may have at most {most}")]
        ListTooLong { count: usize, most: LengthPhrase } = "list_too_long",
        /// The list is full, so nothing can be appended.
        #[error("it may have at most {most}")]
        ListFull { most: LengthPhrase } = "list_full",
        /// The list would get too short.
        #[error("its list needs at least {least}")]
        ListAtMinimum { least: LengthPhrase } = "list_at_minimum",
        /// A list of unique values contains a value twice.
        #[error("it contains {value} twice")]
        ValueTwice { value: QuotedValue } = "value_twice",
        /// A list of unique values already contains the appended value.
        #[error("it already contains this value")]
        ValueInList {} = "value_in_list",
        /// A list of unique values already contains the new value of one of its places.
        #[error("the list already contains this value")]
        ValueElsewhereInList {} = "value_elsewhere_in_list",
        /// A required key is missing.
        #[error("\"{key}\" is missing")]
        MissingKey { key: String } = "missing_key",
        /// The schema does not allow this key.
        #[error("this key is not allowed here")]
        ForbiddenKey {} = "forbidden_key",
        /// A number can be added to numbers only.
        #[error("nothing can be added to {kind}")]
        CannotAdd { kind: ValueKind } = "cannot_add",
        /// An entry can be inserted into maps only.
        #[error("nothing can be inserted into {kind}")]
        CannotInsert { kind: ValueKind } = "cannot_insert",
        /// A value can be appended to lists only.
        #[error("nothing can be appended to {kind}")]
        CannotAppend { kind: ValueKind } = "cannot_append",
        /// A value can be taken from lists only.
        #[error("nothing can be taken from {kind}")]
        CannotTake { kind: ValueKind } = "cannot_take",
        /// A value cannot be moved below itself.
        #[error("it cannot be moved into itself")]
        MoveIntoItself {} = "move_into_itself",
        /// The value is read-only and exists.
        #[error("it is read-only and already has a value")]
        ReadOnly {} = "read_only",
        /// A part of the value is read-only and exists.
        #[error("a part of it is read-only and already has a value")]
        ReadOnlyPart {} = "read_only_part",
        /// The value is computed from others.
        #[error("it is computed: change the values that it is computed from")]
        Computed {} = "computed",
        /// The schema requires the value.
        #[error("it is required")]
        Required {} = "required",
        /// The value contains the root of another plugin.
        #[error("it contains {root}, which has its own schema")]
        HoldsRoot { root: String } = "holds_root",
        /// The path goes through a value that has no such place.
        #[error("the path leads through a value that is not a map, or past the end of a list")]
        Blocked {} = "blocked",
        /// The path is empty.
        #[error("the path is empty: an operation never replaces the whole state")]
        EmptyPath {} = "empty_path",
        /// The lore does not know this operation.
        #[error("lore only supports set, remove, insert, append and take")]
        LoreOperation {} = "lore_operation",
        /// The summary does not know this operation.
        #[error("the summary can only be set as a whole, with an empty path")]
        SummaryOperation {} = "summary_operation",
        /// The events do not know this operation.
        #[error("events can only be appended or taken, with an empty path")]
        EventsOperation {} = "events_operation",
        /// The sum has too many digits.
        #[error("the result is too large to be exact")]
        SumTooLarge {} = "sum_too_large",
        /// The world would be too deep.
        #[error("the state may have at most {most} levels")]
        TooDeep { most: usize } = "too_deep",
        /// The value is too large.
        #[error("the value is larger than {mib} MiB")]
        ValueTooLarge { mib: usize } = "value_too_large",
        /// The number has too large an exponent.
        #[error("the absolute value of a number must be between 1e-308 and 1e308")]
        NumberOutOfReach {} = "number_out_of_reach",
        /// The key has a meaning inside the server.
        #[error("a key cannot begin with \"{prefix}\"")]
        ReservedKey { prefix: &'static str } = "reserved_key",
    }
}

impl ProblemDetail {
    /// Returns the kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        match self {
            Self::BelowRange { .. } | Self::AboveRange { .. } => ProblemKind::Clamped,
            Self::Rounded { .. } => ProblemKind::Rounded,
            Self::NothingToRemove {} | Self::NoValueToTake {} | Self::NoEventToTake {} => ProblemKind::NothingThere,
            _ => ProblemKind::Refused,
        }
    }
}

impl Problem {
    /// Returns the kind of the problem.
    pub fn kind(&self) -> ProblemKind {
        self.detail.kind()
    }
}

/// The arguments are `name`, the name of the place, and those of the detail.
impl CodedMessage for Problem {
    fn code(&self) -> &'static str {
        self.detail.code()
    }

    fn args(&self) -> MessageArgs {
        let name = ("name".to_owned(), Value::from(self.name.as_str()));
        std::iter::once(name).chain(self.detail.args()).collect()
    }
}

/// Formats one sentence without a final period: "hp: -5 is below 0, kept at 0".
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_sentence(f, &self.name, &self.detail)
    }
}

/// Writes the name of a place, if it has one, and what happened there.
pub(super) fn write_sentence(f: &mut fmt::Formatter<'_>, name: &str, detail: &ProblemDetail) -> fmt::Result {
    if name.is_empty() { write!(f, "{detail}") } else { write!(f, "{name}: {detail}") }
}

/// Returns the name of a place in messages: its last key, or a list's name with the position. The root has none.
pub(super) fn place_name(keys: &[String]) -> String {
    match keys {
        [] => String::new(),
        [.., list, position] if pointer::index(position).is_some() => format!("{list}/{position}"),
        [.., key] => key.clone(),
    }
}
