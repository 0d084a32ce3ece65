//! Structs for JSON objects that other programs extend: typed fields for the keys that the server knows, and everything
//! else kept as it is. A known key whose value has another type (a foreign file may hold one) counts as absent, but stays
//! in the object.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserializer, Serialize, Serializer};
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
    /// The type of the value.
    type Value: Serialize;

    /// Parses the value of a key; `None` if it has another type.
    fn from_json(value: &Value) -> Option<Self>;

    /// Returns what is written: `None` if the key is left out, `Some(None)` for `null`.
    fn to_write(&self) -> Option<Option<&Self::Value>>;
}

impl<T: Serialize + DeserializeOwned> JsonField for Option<T> {
    type Value = T;

    fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() { None } else { T::deserialize(value).ok().map(Some) }
    }

    fn to_write(&self) -> Option<Option<&T>> {
        self.as_ref().map(Some)
    }
}

impl<T: Serialize + DeserializeOwned> JsonField for NullableField<T> {
    type Value = T;

    fn from_json(value: &Value) -> Option<Self> {
        if value.is_null() { Some(Self::Unknown) } else { T::deserialize(value).ok().map(Self::Known) }
    }

    fn to_write(&self) -> Option<Option<&T>> {
        match self {
            Self::Absent => None,
            Self::Unknown => Some(None),
            Self::Known(value) => Some(Some(value)),
        }
    }
}

/// A struct of JSON fields, made by [`json_facts!`](crate::json_facts!) or [`json_object!`](crate::json_object!).
pub trait JsonFields: Default {
    /// Sets the field of a key. Returns the value if no field has this key, or if its value has another type.
    fn set(&mut self, key: &str, value: Value) -> Option<Value>;

    /// Writes each field, except those with a key in `besides`.
    ///
    /// # Errors
    /// Returns the error of the serializer.
    fn write<M: SerializeMap>(&self, map: &mut M, besides: &Map<String, Value>) -> Result<(), M::Error>;
}

/// A struct for a whole JSON object: known fields, and every other key as it was.
pub trait ExtensibleObject: JsonFields {
    /// The other keys.
    fn rest(&self) -> &Map<String, Value>;

    /// The other keys.
    fn rest_mut(&mut self) -> &mut Map<String, Value>;

    /// Sets the field of a key, or keeps the value among the other keys. Of two values of a key the last one counts.
    fn insert(&mut self, key: String, value: Value) {
        if let Some(value) = self.set(&key, value) {
            self.rest_mut().insert(key, value);
        } else if !self.rest().is_empty() {
            self.rest_mut().shift_remove(&key);
        }
    }
}

/// Sets a field. Clears it and returns the value if that has another type.
pub fn set_field<T: JsonField>(field: &mut T, value: Value) -> Option<Value> {
    let parsed = T::from_json(&value);
    let other = if parsed.is_some() { None } else { Some(value) };
    *field = parsed.unwrap_or_default();
    other
}

/// Writes a field, unless it is left out or its key is in `besides`.
///
/// # Errors
/// Returns the error of the serializer.
pub fn write_field<T: JsonField, M: SerializeMap>(
    field: &T,
    key: &str,
    map: &mut M,
    besides: &Map<String, Value>,
) -> Result<(), M::Error> {
    match field.to_write() {
        Some(value) if besides.is_empty() || !besides.contains_key(key) => map.serialize_entry(key, &value),
        _ => Ok(()),
    }
}

/// Serializes an object: its fields, then the other keys.
///
/// # Errors
/// Returns the error of the serializer.
pub fn serialize_object<T: ExtensibleObject, S: Serializer>(object: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    object.write(&mut map, object.rest())?;
    for (key, value) in object.rest() {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// Returns an object as a map of JSON values. All keys are strings, so this cannot fail.
pub fn to_object<T: Serialize>(object: &T) -> Map<String, Value> {
    match serde_json::to_value(object) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Deserializes an object without a map in between: a page of a session has the metadata of many nodes.
///
/// # Errors
/// Returns the error of the deserializer.
pub fn deserialize_object<'de, T: ExtensibleObject, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: ExtensibleObject> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<T, A::Error> {
        let mut object = T::default();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            object.insert(key, value);
        }
        Ok(object)
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
        }

        impl $crate::json_facts::JsonFields for $name {
            fn set(&mut self, key: &str, value: ::serde_json::Value) -> Option<::serde_json::Value> {
                match key {
                    $($key => $crate::json_facts::set_field(&mut self.$field, value),)*
                    _ => Some(value),
                }
            }

            fn write<M: ::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
                besides: &::serde_json::Map<String, ::serde_json::Value>,
            ) -> Result<(), M::Error> {
                $($crate::json_facts::write_field(&self.$field, $key, map, besides)?;)*
                Ok(())
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
        #[derive(Debug, Clone, Default, PartialEq)]
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
                ::serde_json::Value::Object($crate::json_facts::to_object(self))
            }
        }

        impl $crate::json_facts::JsonFields for $name {
            fn set(&mut self, key: &str, value: ::serde_json::Value) -> Option<::serde_json::Value> {
                match key {
                    $($key => $crate::json_facts::set_field(&mut self.$field, value),)*
                    _ => self.$group.set(key, value),
                }
            }

            fn write<M: ::serde::ser::SerializeMap>(
                &self,
                map: &mut M,
                besides: &::serde_json::Map<String, ::serde_json::Value>,
            ) -> Result<(), M::Error> {
                self.$group.write(map, besides)?;
                $($crate::json_facts::write_field(&self.$field, $key, map, besides)?;)*
                Ok(())
            }
        }

        impl $crate::json_facts::ExtensibleObject for $name {
            fn rest(&self) -> &::serde_json::Map<String, ::serde_json::Value> {
                &self.rest
            }

            fn rest_mut(&mut self) -> &mut ::serde_json::Map<String, ::serde_json::Value> {
                &mut self.rest
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::json_facts::serialize_object(self, serializer)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::json_facts::deserialize_object(deserializer)
            }
        }

        impl From<::serde_json::Map<String, ::serde_json::Value>> for $name {
            fn from(object: ::serde_json::Map<String, ::serde_json::Value>) -> Self {
                let mut this = Self::default();
                object.into_iter().for_each(|(key, value)| $crate::json_facts::ExtensibleObject::insert(&mut this, key, value));
                this
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
                $crate::json_facts::to_object(&from)
            }
        }
    };
}
