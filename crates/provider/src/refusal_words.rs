//! The words by which errors of model servers are recognized as refusals of a part of the request.

/// Words of errors that concern a part of the request.
pub(super) const REFUSING_WORDS: [&str; 50] = [
    "support",
    "recogni",
    "unknown",
    "unexpected",
    "extra ",
    "permitted",
    "allow",
    "invalid",
    "cannot",
    "can't",
    "can not",
    "only",
    "must",
    "should",
    "greater",
    "less than",
    "range",
    "too large",
    "too big",
    "too high",
    "too low",
    "too many",
    "exceed",
    "valid",
    "enable",
    "deprecat",
    "compatib",
    "forbid",
    "reject",
    "exclusive",
    "no longer",
    "disabled",
    "not available",
    "not implemented",
    "require",
    "unable",
    "remove",
    "not a ",
    "no such",
    "expected",
    "extraneous",
    "or equal",
    "incorrect",
    "wrong",
    "不支持",
    "无效",
    "非法",
    "未知",
    "范围",
    "有误",
];

/// Words of a 500 that means a wrong request.
pub(super) const VALIDATION_WORDS: [&str; 17] = [
    "validation error",
    "unexpected keyword argument",
    "unsupported param",
    "unsupported value",
    "unsupported field",
    "unrecognized",
    "unrecognised",
    "unknown field",
    "unknown name",
    "extra inputs",
    "extra fields",
    "extra_forbidden",
    "unexpected field",
    "input should be",
    "invalid_request_error",
    "invalid parameter",
    "invalid_parameter",
];

/// Words of errors that concern a value rather than the parameter.
pub(super) const VALUE_WORDS: [&str; 25] = [
    "must be",
    "should be",
    "greater than",
    "less than",
    "range",
    "too large",
    "too big",
    "too high",
    "too low",
    "too many",
    "at most",
    "at least",
    "maximum",
    "minimum",
    "between",
    "invalid value",
    "exceed",
    "too long",
    "or equal",
    "取值",
    "范围",
    "超过",
    "大于",
    "小于",
    "最大",
];

/// Words before a list of what the server accepts. What follows is not refused.
pub(super) const ACCEPTED_WORDS: [&str; 12] = [
    "expected one of",
    "must be one of",
    "supported parameters",
    "supported fields",
    "supported values",
    "allowed parameters",
    "allowed fields",
    "permitted fields",
    "valid parameters",
    "valid fields",
    "known fields",
    "accepted parameters",
];

/// Words of errors that allow only one of several parameters.
pub(super) const CONFLICT_WORDS: [&str; 9] = [
    "both",
    "only one",
    "mutually exclusive",
    "at the same time",
    "together",
    "simultaneously",
    "one of the two",
    "either",
    "in combination",
];

/// Words of errors that refuse a field without naming it.
pub(super) const UNNAMED_WORDS: [&str; 6] = [
    "extra inputs",
    "extra fields",
    "extra_forbidden",
    "additional properties",
    "additional property",
    "additionalproperties",
];

/// Words in quotes that belong to the error and name no field.
pub(super) const ERROR_WORDS: [&str; 12] = [
    "errors",
    "error",
    "detail",
    "details",
    "message",
    "msg",
    "title",
    "type",
    "code",
    "status",
    "extra_forbidden",
    "invalid_request_error",
];

/// Words of errors about a parameter, with a status that mostly means something else.
pub(super) const PARAMETER_WORDS: [&str; 6] = ["param", "argument", "field", "property", "support", "permitted"];
