//! Structs for JSON objects that other programs extend: typed fields for the keys that the server knows, and everything
//! else kept as it is. A known key whose value has another type (a foreign file may hold one) counts as absent, but stays
//! in the object.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A JSON field that is absent, `null` (it applies, but its value is unknown) or a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NullableField<T> {
    /// The key is not there.
    #[default]
    Absent,
    /// The key is there with `null`: it applies, but its value is not known.
    Unknown,
    /// The value.
    Known(T),
}

impl<T> NullableField<T> {
    /// Returns the value, if it is known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Returns whether the key is there without a value.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl<T> From<Option<T>> for NullableField<T> {
    /// `None` becomes [`NullableField::Unknown`].
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}

/// A field of a struct made by [`json_facts!`](crate::json_facts!).
pub trait JsonField: Default {
    /// Parses the value of a key; `None` if it has another type.
    fn from_json(value: &Value) -> Option<Self>;

    /// Returns the value to write; `None` if the key is left out.
    fn to_json(&self) -> Option<Value>;
}

impl<T: Serialize + DeserializeOwned> JsonField for Option<T> {
    fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() { None } else { T::deserialize(value).ok().map(Some) }
    }

    fn to_json(&self) -> Option<Value> {
        self.as_ref().and_then(|value| serde_json::to_value(value).ok())
    }
}

impl<T: Serialize + DeserializeOwned> JsonField for NullableField<T> {
    fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() { Some(Self::Unknown) } else { T::deserialize(value).ok().map(Self::Known) }
    }

    fn to_json(&self) -> Option<Value> {
        match self {
            Self::Absent => None,
            Self::Unknown => Some(Value::Null),
            Self::Known(value) => serde_json::to_value(value).ok(),
        }
    }
}

/// Moves a field out of an object. If the value has another type, it stays there.
pub fn take<T: JsonField>(object: &mut Map<String, Value>, key: &str) -> T {
    let Some(field) = object.get(key).and_then(T::from_json) else { return T::default() };
    object.shift_remove(key);
    field
}

/// Writes a field into an object, unless it is left out.
pub fn put<T: JsonField>(object: &mut Map<String, Value>, key: &str, field: &T) {
    if let Some(value) = field.to_json() {
        object.insert(key.to_owned(), value);
    }
}

/// Declares a group of JSON fields, each an [`Option`] or a [`NullableField`] with its key. Other structs contain the group.
#[macro_export]
macro_rules! json_facts {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty = $key:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
        }

        impl $name {
            /// The key of each field.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// Moves the fields of the group out of a JSON object.
            pub fn take_from(object: &mut ::serde_json::Map<String, ::serde_json::Value>) -> Self {
                Self { $($field: $crate::json_facts::take(object, $key),)* }
            }

            /// Writes the fields of the group into a JSON object.
            pub fn write_to(&self, object: &mut ::serde_json::Map<String, ::serde_json::Value>) {
                $($crate::json_facts::put(object, $key, &self.$field);)*
            }
        }
    };
}

/// Declares a struct for a whole JSON object: a group of fields, own fields, and the rest.
#[macro_export]
macro_rules! json_object {
    ($(#[$about:meta])* $name:ident ($(#[$group_about:meta])* $group:ident: $group_type:ty) {
        $($(#[$field_about:meta])* $field:ident: $type:ty = $key:literal,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(from = "::serde_json::Map<String, ::serde_json::Value>")]
        #[serde(into = "::serde_json::Map<String, ::serde_json::Value>")]
        pub struct $name {
            $(#[$group_about])*
            pub $group: $group_type,
            $($(#[$field_about])* pub $field: $type,)*
            /// Every other key, as it was.
            pub rest: ::serde_json::Map<String, ::serde_json::Value>,
        }

        impl $name {
            /// The key of each own field, besides those of the group.
            pub const KEYS: &'static [&'static str] = &[$($key),*];

            /// Removes known keys whose value has another type. Files of strangers may hold some, and readers need not
            /// expect them.
            pub fn drop_mistyped(&mut self) {
                let known = [<$group_type>::KEYS, Self::KEYS];
                self.rest.retain(|key, _| !known.iter().any(|keys| keys.contains(&key.as_str())));
            }

            /// Returns the JSON form.
            pub fn to_json(&self) -> ::serde_json::Value {
                ::serde_json::Value::Object(self.clone().into())
            }
        }

        impl From<::serde_json::Map<String, ::serde_json::Value>> for $name {
            fn from(mut object: ::serde_json::Map<String, ::serde_json::Value>) -> Self {
                $(let $field = $crate::json_facts::take(&mut object, $key);)*
                let $group = <$group_type>::take_from(&mut object);
                Self { $group, $($field,)* rest: object }
            }
        }

        impl From<::serde_json::Map<String, ::serde_json::Value>> for Box<$name> {
            fn from(object: ::serde_json::Map<String, ::serde_json::Value>) -> Self {
                Self::new(object.into())
            }
        }

        impl From<Box<$name>> for ::serde_json::Map<String, ::serde_json::Value> {
            fn from(from: Box<$name>) -> Self {
                (*from).into()
            }
        }

        impl From<$name> for ::serde_json::Map<String, ::serde_json::Value> {
            fn from(from: $name) -> Self {
                let mut object = Self::new();
                from.$group.write_to(&mut object);
                $($crate::json_facts::put(&mut object, $key, &from.$field);)*
                object.extend(from.rest);
                object
            }
        }
    };
}
