//! The tables for Diesel, private to the store. `migrations/` defines the schema.

diesel::table! {
    users (n) {
        n -> BigInt, id -> Binary, name -> Text, role -> Text, created -> BigInt, lore -> Nullable<Text>,
    }
}
diesel::table! {
    blobs (n) { n -> BigInt, hash -> Binary, bytes -> Binary, }
}
diesel::table! {
    characters (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, card -> Text, created -> BigInt, updated -> BigInt,
        trashed -> Nullable<BigInt>, outside -> Nullable<Bool>,
    }
}
diesel::table! {
    personas (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, card -> Text, created -> BigInt, updated -> BigInt,
        trashed -> Nullable<BigInt>,
    }
}
diesel::table! {
    card_files (n) { n -> BigInt, card -> Binary, name -> Text, kind -> Text, blob_n -> BigInt, }
}
diesel::table! {
    card_versions (n) {
        n -> BigInt, card -> Binary, number -> BigInt, content -> Binary, blob_n -> BigInt, origin -> SmallInt,
        created -> BigInt,
    }
}
diesel::table! {
    lorebooks (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, book -> Text, created -> BigInt, updated -> BigInt,
        trashed -> Nullable<BigInt>,
    }
}
diesel::table! {
    persona_choices (owner_n, target) { owner_n -> BigInt, target -> Binary, persona -> Binary, }
}
diesel::table! {
    holds (n) { n -> BigInt, lorebook_n -> BigInt, scope -> Text, target -> Binary, }
}
diesel::table! {
    providers (n) {
        n -> BigInt, id -> Text, kind -> Text, base_url -> Text, sealed_key -> Nullable<Binary>, models -> Text,
        created -> BigInt, updated -> BigInt, context_tokens -> Nullable<BigInt>,
    }
}
diesel::table! {
    choices (name) { name -> Text, value -> Text, }
}
diesel::table! {
    presets (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, kind -> Text, name -> Text, file -> Nullable<Text>, body -> Text,
        created -> BigInt, updated -> BigInt, trashed -> Nullable<BigInt>, models -> Nullable<Text>,
    }
}
diesel::table! {
    connection_profiles (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, name -> Text, settings -> Text, created -> BigInt,
        updated -> BigInt,
    }
}
diesel::table! {
    sessions (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, title -> Text, cards -> Text, persona -> Nullable<Text>,
        root_n -> BigInt, head_n -> BigInt, op -> BigInt, head_op -> BigInt, mode -> Text, model -> Nullable<Text>,
        params -> Text, plugins -> Text, seed -> BigInt, edits -> BigInt, created -> BigInt, updated -> BigInt,
        trashed -> Nullable<BigInt>, node_count -> BigInt, leaf_count -> BigInt, preset -> Nullable<Text>,
        scripts -> Text,
        recall -> Nullable<Text>,
        note -> Nullable<Text>,
        summaries -> Nullable<Text>,
        values_model -> Nullable<Text>,
        requested -> Nullable<Text>,
        connection_profile_id -> Nullable<Text>,
        title_form -> Nullable<Text>, folder -> Nullable<Text>, is_pinned -> Bool,
    }
}
diesel::table! {
    session_tags (session_n, form) { session_n -> BigInt, form -> Text, tag -> Text, }
}
diesel::table! {
    nodes (n) {
        n -> BigInt, id -> Binary, session_n -> BigInt, parent_n -> Nullable<BigInt>,
        role -> SmallInt, kind -> SmallInt, status -> SmallInt, is_enabled -> Bool, is_muted -> Bool,
        is_hidden -> Bool, author -> Nullable<Binary>, persona -> Nullable<Binary>, speaker -> Nullable<Binary>,
        remembered_n -> Nullable<BigInt>, rating -> Nullable<SmallInt>, depth -> Integer, turn -> Integer, since_keyframe -> Integer,
        rules_n -> Nullable<BigInt>, begins_rules -> Bool, dice_seed -> BigInt, revision -> Integer,
        created -> BigInt, fragment_n -> Nullable<BigInt>, is_unread -> Bool,
    }
}
diesel::table! {
    texts (n) {
        n -> BigInt, name -> Nullable<Text>, content -> Text, reasoning -> Nullable<Text>, metadata -> Text,
    }
}
diesel::table! {
    segments (n) { n -> BigInt, node_n -> BigInt, content -> Text, reasoning -> Text, }
}
diesel::table! {
    deltas (n) { n -> BigInt, node_n -> BigInt, revision -> Integer, body -> Text, }
}
diesel::table! {
    keyframes (node_n) { node_n -> BigInt, edits -> BigInt, body -> Binary, }
}
diesel::table! {
    fragments (n) {
        n -> BigInt, id -> Binary, session_n -> BigInt, name -> Nullable<Text>, top_n -> BigInt, created -> BigInt,
    }
}
diesel::table! {
    labels (n) { n -> BigInt, session_n -> BigInt, name -> Text, node_n -> BigInt, following -> Bool, }
}
diesel::table! {
    numbers (name) { name -> Text, highest -> BigInt, }
}
diesel::table! {
    purged (n) { n -> BigInt, hash -> Binary, }
}
diesel::table! {
    remains (n) { n -> BigInt, }
}
diesel::table! {
    edits (n) { n -> BigInt, session_n -> BigInt, edit -> BigInt, node_n -> BigInt, }
}
diesel::table! {
    traces (node_n) { node_n -> BigInt, body -> Binary, base_n -> Nullable<BigInt>, }
}
diesel::table! {
    operations (n) {
        n -> BigInt, session_n -> BigInt, op -> BigInt, step -> BigInt, act -> Text, actor -> Nullable<Binary>,
        at -> BigInt, effects -> Text,
    }
}
diesel::table! {
    answers (n) {
        n -> BigInt, caller_n -> BigInt, key -> Text, request -> Binary, status -> SmallInt, body -> Text,
        created -> BigInt,
    }
}
diesel::table! {
    jobs (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, session -> Nullable<Binary>, began -> BigInt,
        report -> Nullable<Text>,
    }
}
diesel::table! {
    sources (n) {
        n -> BigInt, owner_n -> BigInt, name -> Text, hash -> Nullable<Binary>, became -> Binary,
        node -> Nullable<Binary>, header -> Nullable<Text>,
    }
}
diesel::table! {
    documents (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, collection -> Text, content -> Text, metadata -> Text,
        hash -> Binary, created -> BigInt,
    }
}
diesel::table! {
    devices (n) {
        n -> BigInt, id -> Binary, owner_n -> BigInt, name -> Text, secret -> Binary, created -> BigInt, seen -> BigInt,
    }
}
diesel::table! {
    script_consents (owner_n, hash) { owner_n -> BigInt, hash -> Binary, answer -> SmallInt, }
}
diesel::table! {
    vectors (n) { n -> BigInt, model -> Text, hash -> Binary, vector -> Binary, }
}
diesel::table! {
    embedded (node_n) { node_n -> BigInt, hash -> Binary, }
}
diesel::table! {
    embedders (model) { model -> Text, size -> Integer, cursor -> BigInt, }
}
diesel::table! {
    summaries (n) {
        n -> BigInt, id -> Binary, session_n -> BigInt, level -> SmallInt, first_n -> BigInt, last_n -> BigInt,
        hash -> Binary, content -> Text, is_edited -> Bool, metadata -> Text, created -> BigInt,
    }
}
diesel::table! {
    summarised (summary_n, node_n) { summary_n -> BigInt, node_n -> BigInt, }
}
diesel::table! {
    lore_texts (n) { n -> BigInt, lorebook_n -> BigInt, hash -> Binary, }
}
diesel::table! {
    lore_embedded (n) { n -> BigInt, lorebook_n -> BigInt, model -> Text, updated -> BigInt, }
}
diesel::allow_tables_to_appear_in_same_query!(
    answers,
    blobs,
    card_files,
    card_versions,
    characters,
    connection_profiles,
    deltas,
    devices,
    documents,
    edits,
    embedded,
    fragments,
    holds,
    jobs,
    keyframes,
    labels,
    lore_embedded,
    lore_texts,
    lorebooks,
    nodes,
    operations,
    persona_choices,
    personas,
    presets,
    script_consents,
    segments,
    session_tags,
    sessions,
    sources,
    summaries,
    summarised,
    texts,
    traces,
    users,
    vectors,
);
