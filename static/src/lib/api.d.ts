// Generated from docs/openapi.json by `npm run wire` in tools/vendor. Do not edit.

type AnyJson = null | boolean | number | string | AnyJson[] | {
    [key: string]: AnyJson;
};
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Branches that lost texts by the summary of another branch. */
        AffectedBranchesResponse: {
            /** @description Number of these branches. */
            count: number;
            /** @description Their leaves, at most 100. */
            leafIds: components["schemas"]["Id"][];
        };
        /** @description The alternatives of a node. */
        AlternativesResponse: {
            /** @description If the node is a context node: its replies in creation order. */
            generations: components["schemas"]["ChatMessageNode"][];
            /** @description All alternatives in creation order, including the node. */
            items: components["schemas"]["ChatMessageNode"][];
            /** @description The requested node. */
            nodeId: components["schemas"]["Id"];
            parentId: components["schemas"]["Id"] | null;
            selectedGenerationId: components["schemas"]["Id"] | null;
            selectedId: components["schemas"]["Id"] | null;
        };
        /** @description The model call of a plugin that was answered. */
        AnsweredCall: components["schemas"]["OtherFields"] & {
            /** @description Name of the call. */
            name: string;
            /** @description The message at which it was requested. */
            nodeId: components["schemas"]["Id"];
            /** @description The plugin. */
            plugin: string;
        };
        /**
         * @description The author's note of a session: a text of the author that is put into every prompt and is no message. Defaults for
         *     absent fields: `inChat`, depth 4, role `system`, sent with every message, not scanned by lore.
         */
        AuthorsNoteFields: {
            /**
             * Format: int32
             * @description For `inChat`: how many messages follow the note.
             * @default 4
             */
            depth: number;
            /**
             * Format: int32
             * @description Sent with every nth user message; 1 = always, 0 = never.
             * @default 1
             */
            every: number;
            /**
             * @description Whether lorebook keys are also searched in the note.
             * @default false
             */
            lore: boolean;
            /**
             * @description Position in the prompt: `afterMain`, `beforeMain` or `inChat`.
             * @default inChat
             */
            place: components["schemas"]["NotePlace"];
            /**
             * @description Role of the message that carries the note.
             * @default system
             */
            role: components["schemas"]["Role"];
            /**
             * @description The text; macros are expanded.
             * @default
             */
            text: string;
        };
        /** @description One branch: the path from the root to a leaf, or to a node with a following label. */
        BranchResponse: {
            /**
             * Format: int32
             * @description Number of edges from the root to the leaf.
             */
            depth: number;
            /** @description Whether the leaf is HEAD. */
            isTrunk: boolean;
            /** @description Whether the leaf is a reply that nobody has seen. */
            isUnread: boolean;
            /** @description Labels on the leaf. */
            labels: components["schemas"]["Label"][];
            /** @description The last node of the branch. */
            leafId: components["schemas"]["Id"];
            /** @description The last node shared with the path to HEAD. The leaf itself if it is on that path. */
            partingId: components["schemas"]["Id"];
            /** @description Start of the last message, as displayed. */
            preview: string;
            /** @description Status of the leaf. */
            status: components["schemas"]["Status"];
            /** @description Creation time of the leaf, ISO 8601 UTC. */
            timestamp: string;
            /**
             * Format: int32
             * @description Number of turns from the root to the leaf.
             */
            turns: number;
        };
        BranchResponsePage: {
            items: components["schemas"]["BranchResponse"][];
            next: string | null;
        };
        /** @description The answer to a cancellation; the end of the reply follows as an event. */
        CancelReplyResponse: {
            /** @description Node of the reply. */
            id: components["schemas"]["Id"];
        };
        /** @description The code to install, as the caller saw it. */
        CardRulesAccept: {
            /** @description Hash of the embedded code. */
            codeHash: string;
            /** @description Hash of the installed code; absent if no plugin was installed. */
            installedHash?: string | null;
        };
        /** @description One file, embedded and installed. */
        CardRulesFile: {
            /** @description Embedded text; null if there is none. */
            after: string | null;
            /** @description Installed text; null if there is none, if it is not text, or if it is the same. */
            before: string | null;
            /** @description `same`, `added`, `changed` or `removed`. */
            change: components["schemas"]["FileChange"];
            /** @description Path inside the plugin. */
            path: string;
        };
        /** @description A version of a character's card. */
        CardVersion: components["schemas"]["CardVersionHead"] & {
            /** @description The character as it was in this version. Its picture, favourite mark and lorebooks are those of today. */
            character: components["schemas"]["Character"];
        };
        /** @description A version of a character's card, without its texts. */
        CardVersionHead: {
            /** @description Fields that differ from the version before, such as `firstMessage` and `metadata.creator`; empty for the first. */
            changedFields: string[];
            /** @description Time at which the card became this version, ISO 8601 UTC. */
            createdAt: string;
            /** @description Hash of the content. Two versions with one hash differ in nothing that a version has. */
            hash: string;
            /**
             * Format: int64
             * @description Number of the version, from 1.
             */
            number: number;
            /** @description Where the version came from. */
            origin: components["schemas"]["CardVersionOrigin"];
        };
        CardVersionHeadPage: {
            items: components["schemas"]["CardVersionHead"][];
            next: string | null;
        };
        /**
         * @description Where a version of a card came from: as the character first came, an edit, an imported file, or an older version.
         * @enum {string}
         */
        CardVersionOrigin: "created" | "edit" | "import" | "restore";
        /** @description One change of several sessions. */
        ChangeSessionsRequest: {
            /** @description What happens to them. */
            action: components["schemas"]["SessionsAction"];
            /** @description Only for `move`, which needs it: the folder; null = no folder. */
            folder?: string | null;
            /** @description The sessions, 1 to 500. */
            ids: components["schemas"]["Id"][];
            /** @description Only for `tag` and `untag`, which need it: the tag. */
            tag?: string | null;
        };
        /** @description What happened to each session. */
        ChangeSessionsResponse: {
            /** @description The sessions, in the order of the request. */
            items: components["schemas"]["ChangedSessionResponse"][];
        };
        /** @description What happened to one session. */
        ChangedSessionResponse: {
            error?: {
                /** @description Stable error code. */
                code: string;
                /** @description Machine-readable arguments of the code: `field`, `leafId`, `op`, …. `reason` is a stable word for the exact reason. */
                details: components["schemas"]["JsonObject"];
                /** @description What the user can do about it. */
                hint: string;
                /** @description Id of the server log line with the cause; only for faults of the server. */
                incident: string | null;
                /** @description The error in one sentence. */
                message: string;
            } & Record<string, never>;
            /** @description Id of the session. */
            id: components["schemas"]["Id"];
            /** @description Whether it was changed, or already was as requested. */
            isDone: boolean;
        };
        /** @description A character that a session is played with. */
        Character: {
            /** @description Alternative greetings. */
            alternateGreetings: string[];
            /** @description URL of the avatar on this server; null if there is none. */
            avatar: string | null;
            /** @description Creation or import time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Notes of the creator for users of the card. */
            creatorNotes: string;
            /** @description Description of the character. */
            description: string;
            /** @description Example dialogue. */
            exampleMessages: string;
            /** @description Further lorebooks of the character, usually from an imported card. */
            extraLorebookIds: string[];
            /** @description First greeting. */
            firstMessage: string;
            /** @description Id of the character. */
            id: components["schemas"]["Id"];
            /** @description Whether the character is a favourite of its owner; favourites are listed first. */
            isFavourite: boolean;
            /** @description The main lorebook of the character. */
            lorebookId: string | null;
            /** @description All other fields of the card. */
            metadata: components["schemas"]["JsonObject"];
            /** @description Name of the character; `{{char}}` in prompts. */
            name: string;
            /** @description Personality of the character. */
            personality: string;
            /** @description Instructions after the chat history. */
            postHistoryInstructions: string;
            /** @description Whether the regex scripts of the card run in new sessions; `true` also if it has none. */
            regexScripts: boolean;
            requestedSettings: components["schemas"]["RequestedScriptsResponse"] | null;
            /** @description Setting of the story. */
            scenario: string;
            /** @description Replaces the default system prompt. */
            systemPrompt: string;
            /** @description Tags for search and sorting. */
            tags: string[];
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        /** @description Fields of a character: all fields of a new one, or the fields to change. */
        CharacterFields: {
            /** @description Alternative greetings. */
            alternateGreetings?: string[] | null;
            /** @description URL of the avatar on this server; null removes it. */
            avatar?: string | null;
            /** @description Notes of the creator for users of the card. */
            creatorNotes?: string | null;
            /** @description Description of the character. */
            description?: string | null;
            /** @description Example dialogue. */
            exampleMessages?: string | null;
            /** @description First greeting. */
            firstMessage?: string | null;
            /** @description Whether the character is a favourite. Belongs to the owner and is not exported with the card. */
            isFavourite?: boolean | null;
            lorebookId?: components["schemas"]["Id"] | null;
            metadata?: components["schemas"]["JsonObject"] | null;
            /** @description Name of the character; required on creation. */
            name?: string | null;
            /** @description Personality of the character. */
            personality?: string | null;
            /** @description Instructions after the chat history. */
            postHistoryInstructions?: string | null;
            /** @description Whether the regex scripts of the card run in new sessions. Ends the question of an imported card. */
            regexScripts?: boolean | null;
            requestedSettings?: components["schemas"]["JsonObject"] | null;
            /** @description Setting of the story. */
            scenario?: string | null;
            /** @description Replaces the default system prompt. */
            systemPrompt?: string | null;
            /** @description Tags for search and sorting. */
            tags?: string[] | null;
        };
        /** @description A character imported from a card. */
        CharacterImportResponse: components["schemas"]["Character"] & {
            /** @description What was imported, and which parts work here. */
            report: components["schemas"]["ImportReportResponse"];
        };
        CharacterPage: {
            items: components["schemas"]["Character"][];
            next: string | null;
        };
        /** @description A whole tree. */
        ChatHistoryTree: {
            /** @description HEAD of the session. */
            activeLeafId: components["schemas"]["Id"];
            /** @description Creation time of the session, ISO 8601 UTC. */
            createdAt: string;
            /** @description Labels on nodes. */
            labels: components["schemas"]["Label"][];
            /** @description Cursor of the next page; null if all nodes fit into this answer. */
            next: string | null;
            /** @description Nodes by id, in creation order. */
            nodes: {
                [key: string]: components["schemas"]["ChatMessageNode"];
            };
            /**
             * Format: int64
             * @description Number of the newest operation.
             */
            op: number;
            /** @description Root node of the tree. */
            rootNodeId: components["schemas"]["Id"];
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
            /** @description Pruned fragments outside the tree. */
            stash: components["schemas"]["Fragment"][];
            /** @description Title of the session. */
            title: string;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        /** @description One node of a tree: a message, or a hidden node such as a state change. */
        ChatMessageNode: {
            authorId: components["schemas"]["Id"] | null;
            characterId: components["schemas"]["Id"] | null;
            /** @description Children in creation order. */
            childrenIds: components["schemas"]["Id"][];
            /** @description The text exactly as received. */
            content: string;
            /**
             * Format: int32
             * @description Number of edges from the root.
             */
            depth: number;
            /**
             * @description The displayed text, if it differs from `content`: without blocks for machines, and as plugins render it. Whole
             *     trees do not include the rendering of plugins.
             */
            display: string | null;
            /** @description `on`: the delta is applied to the state; `muted`: it is ignored. */
            effects: components["schemas"]["Effects"];
            /** @description Id of the node. */
            id: components["schemas"]["Id"];
            /** @description Whether the text is part of prompts and of the chat view. */
            isEnabled: boolean;
            /** @description Whether this is a reply that nobody has seen: HEAD has never been on it or below it. */
            isUnread: boolean;
            /** @description Kind of the node. */
            kind: components["schemas"]["Kind"];
            /**
             * @description Everything else: `model, params, seed, phase, queuePosition, finishReason, isTruncated, error, latencyMs,
             *     firstTokenMs, tokenCount, cost, costFrom, rating, editedFrom, …`.
             */
            metadata: components["schemas"]["NodeMetadata"];
            /** @description Name of the speaker. */
            name: string | null;
            /** @description Visible lines below the message, written by plugins. */
            notes: components["schemas"]["Note"][];
            parentId: components["schemas"]["Id"] | null;
            personaId: components["schemas"]["Id"] | null;
            /** @description What went wrong while the node was made. */
            problems: components["schemas"]["Problem"][];
            /** @description Reasoning of the model. */
            reasoning: string | null;
            /** @description Role of the message. */
            role: components["schemas"]["Role"];
            /** @description Position among the siblings; only in views of one branch. */
            siblings?: components["schemas"]["Siblings"];
            /** @description `generating`, `complete` or `error`. */
            status: components["schemas"]["Status"];
            /** @description Creation time, ISO 8601 UTC. */
            timestamp: string;
            /**
             * Format: int32
             * @description Number of the turn.
             */
            turn: number;
        };
        /** @description A request to move HEAD. */
        Checkout: {
            /** @description `true`: exactly this node. `false` (default): the leaf last visited below it. */
            exact?: boolean;
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            /** @description Alternatively, the label of the target node. */
            label?: string | null;
            nodeId?: components["schemas"]["Id"] | null;
        };
        /** @description A choice of a persona for new sessions. */
        ChoosePersonaRequest: {
            characterId?: components["schemas"]["Id"] | null;
            personaId: components["schemas"]["Id"] | null;
        };
        /** @description A code that a device presents to be paired. */
        ClaimDeviceRequest: {
            /** @description The code of a link, or the short code. Case, spaces and dashes of the short code are ignored. */
            code: string;
        };
        /** @description A frame from a client. A plain struct, because a tagged enum cannot deserialize the numbers inside. */
        ClientFrame: {
            id?: components["schemas"]["Id"] | null;
            /** @description For `resume`: length of the text the client has, in UTF-16 code units. */
            offset?: number | null;
            /** @description For `resume`: length of the reasoning the client has, in UTF-16 code units. */
            reasoningOffset?: number | null;
            /** @description `resume`, `typing` or `ping`. */
            type: string;
        };
        /** @description A message for people: a code with arguments, and the sentence made from them. Older records have only the sentence. */
        CodedMessage: {
            /** @description Arguments of the code: texts and numbers by name. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code; absent if there is none. */
            code?: string;
            /** @description The message in one sentence. */
            message: string;
        };
        /** @description A slash command. */
        Command: {
            /** @description Alternative names. */
            aliases: string[];
            /** @description Syntax of the arguments. */
            args: string;
            /** @description Help text, in the reader's language. */
            help: string;
            /** @description Name after the slash. */
            name: string;
            /** @description The plugin that implements the command. */
            plugin: string;
        };
        CommandList: components["schemas"]["Command"][];
        /**
         * @description A connection profile: the models of a story, their preset and their parameters under one name. It has no persona and
         *     no key.
         */
        ConnectionProfile: {
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Id of the profile. */
            id: components["schemas"]["Id"];
            /** @description Model, as `provider/model` or an alias; null = the server's default. */
            model: string | null;
            /** @description Name of the profile, unique among those of its owner. */
            name: string;
            /** @description Model parameters. */
            params: components["schemas"]["JsonObject"];
            presetId: components["schemas"]["Id"] | null;
            /** @description Probable mistakes in what the request sets, such as models that their provider does not list; otherwise absent. */
            problems?: components["schemas"]["CodedMessage"][];
            /** @description Model that writes summaries; null = the model of the story. */
            summariesModel: string | null;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
            /** @description Model that writes the changes of values after each reply; null = the model of the reply. */
            valuesModel: string | null;
        };
        ConnectionProfilePage: {
            items: components["schemas"]["ConnectionProfile"][];
            next: string | null;
        };
        /** @description One context node on the path from the root to a leaf. */
        ContextPathStop: {
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Id of the context node. */
            id: components["schemas"]["Id"];
            /** @description Whether the leaf belongs to this turn. */
            isCurrent: boolean;
            /** @description Kind of the node. */
            kind: string;
            parentId: components["schemas"]["Id"] | null;
            /** @description Start of the text, at most 80 characters. */
            preview: string;
            /** @description Role of the node. */
            role: string;
            /**
             * Format: int32
             * @description Number of the turn.
             */
            turn: number;
        };
        ContextPathStopList: components["schemas"]["ContextPathStop"][];
        /** @description A request to continue a reply. */
        ContinueRequest: {
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            /** @description Overrides the model of the original reply. */
            model?: string | null;
            /** @description Whether HEAD moves to the new reply; default true. */
            moveHead?: boolean | null;
            /** @description Overrides single parameters of the original reply. */
            params?: components["schemas"]["JsonObject"];
        };
        /** @description Options for copying a session. */
        CopySessionRequest: {
            /** @description Title of the copy; default: the same title. */
            title?: string | null;
        };
        /** @description The size of a session. */
        Counts: {
            /**
             * Format: int64
             * @description Number of leaves, which is the number of branches.
             */
            branches: number;
            /**
             * Format: int64
             * @description Number of nodes without the root.
             */
            nodes: number;
            /**
             * Format: int64
             * @description Number of turns from the root to HEAD.
             */
            turns: number;
        };
        /** @description A new document. */
        CreateDocumentRequest: {
            /** @description Collection of the document; created if it does not exist. */
            collection: string;
            /** @description Full text. */
            content: string;
            /** @description Free-form data, at most 16 KiB as JSON. */
            metadata?: components["schemas"]["JsonObject"];
        };
        /** @description A new lorebook entry. */
        CreateLoreEntryRequest: {
            /** @description Fields of the entry. */
            entry: components["schemas"]["LoreEntryResponse"];
        };
        /** @description A new preset: from a kind and a body, or as a copy. */
        CreatePresetRequest: {
            body?: components["schemas"]["JsonObject"] | null;
            /** @description Instead of `kind` and `body`: the id of the preset to copy, or `own` for the built-in default. */
            from?: string | null;
            /** @description Kind of the preset; requires `body`. */
            kind?: string | null;
            /** @description Name of the preset. */
            name: string;
        };
        /** @description A provider to add. */
        CreateProviderRequest: {
            /** @description Base URL of the API. */
            baseUrl: string;
            /**
             * Format: int32
             * @description Context length of its models in tokens; null = the server is asked.
             */
            contextTokens?: number | null;
            /** @description Id: lower-case letters, digits, `-` and `_`. */
            id: string;
            /** @description API key; null = none needed. */
            key?: string | null;
            /** @description API kind. */
            kind: string;
            /** @description Model names; empty = ask the server for its list. */
            models?: string[];
        };
        /** @description The default model. */
        DefaultModelResponse: {
            /** @description Model of sessions without a model of their own. */
            defaultModel: string;
            /** @description Whether the default model was set here and overrides `config.toml`. */
            isChosen: boolean;
        };
        /** @description Deletion of a lorebook entry. */
        DeleteLoreEntryRequest: {
            expectedEntry?: components["schemas"]["LoreEntryResponse"] | null;
        };
        /** @description The delta of a node: what it does to its parent's state, and how that came about. */
        Delta: {
            /** @description Effect of the delta: paths of `vars` that differ from the parent's state. */
            changes: components["schemas"]["PathChangeResponse"][];
            /** @description Visible lines below the message. */
            notes: components["schemas"]["RecordedNote"][];
            /** @description Proposed operations, in order. */
            operations: components["schemas"]["WorldOperation"][];
            /** @description Operations that were clamped or skipped, and errors. */
            problems: components["schemas"]["RecordedProblem"][];
            /** @description Recorded random draws. */
            rolls: components["schemas"]["DiceRoll"][];
            /** @description Hooks that ran. */
            rules: components["schemas"]["HookRun"][];
        };
        /** @description The deltas of a branch. */
        DeltasResponse: {
            /** @description Nodes with a non-empty delta, oldest first. */
            items: components["schemas"]["NodeDeltaResponse"][];
            /** @description Leaf of the branch. */
            leafId: components["schemas"]["Id"];
            next: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /** @description A paired device. */
        DeviceResponse: {
            /** @description Pairing time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Id of the device. */
            id: components["schemas"]["Id"];
            /** @description Whether the caller uses this device. */
            isThis: boolean;
            /** @description Time of the last request, to the hour, ISO 8601 UTC. */
            lastSeenAt: string;
            /** @description Display name of the device. */
            name: string;
        };
        DeviceResponseList: components["schemas"]["DeviceResponse"][];
        /** @description A recorded random draw. */
        DiceRoll: {
            /** @description Every die, in order. */
            dice: number[];
            /** @description The hook that drew. */
            hook: string;
            /**
             * Format: int32
             * @description Position among the draws of the hook, from 0.
             */
            n: number;
            /** @description The plugin that drew. */
            plugin: string;
            /** @description What was rolled, such as `2d6+3`. */
            spec: string;
            /**
             * Format: int64
             * @description The result.
             */
            total: number;
        };
        /**
         * @description The operations of each branch on one path, oldest first. Each is an operation with its node: `{nodeId, op, path, …,
         *     why, by}`.
         */
        DiffOperations: {
            /** @description Operations of the first branch. */
            from: components["schemas"]["NodeOperation"][];
            /** @description Whether older operations were left out. */
            more: boolean;
            /** @description Operations of the second branch. */
            to: components["schemas"]["NodeOperation"][];
        };
        /** @description The differences between two branches. */
        DiffResponse: {
            /** @description The last node that both branches share. */
            ancestorId: components["schemas"]["Id"];
            /** @description The nodes that only the first branch has. */
            from: components["schemas"]["DiffSide"];
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
            /** @description The nodes that only the second branch has. */
            to: components["schemas"]["DiffSide"];
            /** @description Differences between the two states, as deep in `vars` as possible. */
            world: components["schemas"]["WorldDifferenceResponse"][];
        };
        /** @description The nodes of one branch below the common ancestor. */
        DiffSide: {
            /**
             * Format: int32
             * @description Number of nodes below the common ancestor, including disabled and `change` nodes.
             */
            count: number;
            /** @description The newest of these nodes, oldest first. */
            items: components["schemas"]["ChatMessageNode"][];
            /** @description The leaf of the branch. */
            leafId: components["schemas"]["Id"];
            next: components["schemas"]["Id"] | null;
        };
        /** @description Macro values while one character speaks. */
        DisplayScriptMacros: {
            characterId: components["schemas"]["Id"] | null;
            /** @description Macro values by macro name. */
            values: {
                [key: string]: string;
            };
        };
        /** @description A regex script that changes the display. */
        DisplayScriptResponse: {
            characterId: components["schemas"]["Id"] | null;
            /** @description The regular expression to find. */
            find: string;
            /** @description Applies to the display only. A script with neither this nor `isForPrompts` applies to both and runs first. */
            isForDisplay: boolean;
            /** @description Applies to prompts only; together with `isForDisplay`, to both. */
            isForPrompts: boolean;
            /** @description Also runs after an edit. */
            isOnEdit: boolean;
            /**
             * @description Macros in the pattern: `plain` (not expanded), `raw` (expanded as part of the pattern) or `escaped` (expanded
             *     literally).
             */
            macros: components["schemas"]["ScriptMacros"];
            /**
             * Format: double
             * @description Maximum depth of a message, counted from the newest; null = no limit.
             */
            maxDepth: number | null;
            /**
             * Format: double
             * @description Minimum depth of a message, counted from the newest; null = no limit.
             */
            minDepth: number | null;
            /** @description Name of the script. */
            name: string;
            /** @description Kinds of text: 1 user input, 2 reply, 3 narrator, 6 reasoning. */
            placements: number[];
            /** @description The replacement text. */
            replace: string;
            /** @description Source: `global` (the caller's own), `preset` or `card`. */
            scope: components["schemas"]["ScriptScope"];
            /** @description Strings removed from inserted groups. */
            trim: string[];
        };
        /** @description All that a client needs to apply the regex scripts of a session to displayed messages. */
        DisplayScriptsResponse: {
            /**
             * @description Macro values for each speaking character. The first entry applies to all other speakers. Empty if there is no
             *     script.
             */
            casts: components["schemas"]["DisplayScriptMacros"][];
            /** @description Global variables, if a script uses one. */
            globals: components["schemas"]["JsonObject"];
            /** @description The enabled and permitted scripts that change the display, in execution order. */
            items: components["schemas"]["DisplayScriptResponse"][];
        };
        /** @description A collection of documents. */
        DocumentCollectionResponse: {
            /**
             * Format: int64
             * @description Number of documents in the collection.
             */
            count: number;
            /** @description Name of the collection. */
            name: string;
        };
        DocumentCollectionResponseList: components["schemas"]["DocumentCollectionResponse"][];
        /** @description A text that can be retrieved for prompts. */
        DocumentResponse: {
            /** @description Collection of the document; sessions search whole collections. */
            collection: string;
            /** @description Full text. */
            content: string;
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Id of the document. */
            id: components["schemas"]["Id"];
            /** @description Free-form data of the owner. */
            metadata: components["schemas"]["JsonObject"];
        };
        DocumentResponsePage: {
            items: components["schemas"]["DocumentResponse"][];
            next: string | null;
        };
        /** @description One search result. */
        DocumentSearchHit: components["schemas"]["DocumentResponse"] & {
            /**
             * Format: float
             * @description Relevance within this result list; not comparable between searches.
             */
            score: number;
            /**
             * Format: float
             * @description Cosine similarity, -1 to 1; null if found by keywords alone.
             */
            similarity: number | null;
        };
        /** @description A search for documents. */
        DocumentSearchRequest: {
            /** @description Collections to search; no others are searched. */
            collections: string[];
            /**
             * Format: int32
             * @description Maximum number of results, 1 to 50; default 10.
             */
            limit?: number | null;
            /** @description Query text, 1 to 4000 characters. */
            query: string;
        };
        /** @description Search results. */
        DocumentSearchResponse: {
            /** @description The same as code, arguments and sentence; absent otherwise. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Found documents, best match first. */
            items: components["schemas"]["DocumentSearchHit"][];
            /** @description Why only keywords were searched although an embedding model is configured; null otherwise. */
            problem?: string;
        };
        /** @description The current state of a draft. It is kept until the server stops or many newer drafts replace it. */
        Draft: {
            /** @description Text received so far. */
            content: string;
            error: components["schemas"]["DraftErrorResponse"] | null;
            /** @description Id of the draft. */
            id: components["schemas"]["Id"];
            /** @description `impersonate` or `summarise`. */
            kind: string;
            /** @description The model that writes the draft. */
            model: string;
            /** @description Position in the queue, from 1, while `status` is `queued`. */
            queuePosition: number | null;
            /** @description `queued`, `waiting`, `thinking`, `streaming`, `done` or `error`. */
            status: components["schemas"]["DraftStatus"];
        };
        /** @description A started draft; its text arrives as events. */
        DraftBegunResponse: {
            /** @description Id of the draft. */
            draftId: components["schemas"]["Id"];
        };
        /** @description A chunk of a draft. */
        DraftChunkEvent: {
            /** @description The new text; may be empty. */
            contentChunk: string;
            /** @description Why the draft failed; absent otherwise. */
            error?: components["schemas"]["DraftErrorResponse"];
            /** @description Id of the draft. */
            id: components["schemas"]["Id"];
            /** @description True if the chunk is all of the text, because earlier text turned out to be a thought; absent otherwise. */
            isWhole?: boolean;
            /** @description Length of the text before the chunk, in UTF-16 code units. */
            offset: number;
            /** @description Position in the queue, from 1, while `status` is `queued`. */
            queuePosition?: number;
            /** @description `queued`, `waiting`, `thinking` or `streaming`; `done` or `error` in the last chunk. */
            status: components["schemas"]["DraftStatus"];
        };
        /** @description Why a draft failed. */
        DraftErrorResponse: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable error code, as on messages. */
            code: string;
            /** @description What the user can do about it. */
            hint: string;
            /** @description The error in one sentence. */
            message: string;
        };
        /**
         * @description The phase of a draft.
         * @enum {string}
         */
        DraftStatus: "queued" | "waiting" | "thinking" | "streaming" | "done" | "error";
        /** @description A new version of a message, written as a sibling. */
        Edit: {
            /** @description Whether the children of the old version move below the new one; default false. */
            carry?: boolean;
            /** @description The new text. */
            content: string;
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            generate?: components["schemas"]["GenerateField"] | null;
            /** @description Whether HEAD moves to the new version; default true. */
            moveHead?: boolean | null;
            /**
             * @description Time zone of the person who writes, for dates in prompts: an IANA name, or an offset such as `+02:00`. It is
             *     kept with the message. Default: that of the old version.
             */
            timeZone?: string | null;
        };
        /**
         * @description Whether a node's delta is applied to the state (`on`) or ignored (`muted`).
         * @enum {string}
         */
        Effects: "on" | "muted";
        /** @description The plugin to embed in a card. */
        EmbedPluginRequest: {
            /** @description Id of an installed plugin. */
            plugin: string;
        };
        /** @description The plugin embedded in a card. Nothing of it runs before it is installed. */
        EmbeddedPluginResponse: {
            /** @description Requested permissions that the installed plugin does not request. */
            asksMore: string[];
            /** @description Hash of the code. Installing must name it, so that nobody installs code they have not seen. */
            codeHash: string | null;
            /** @description What the plugin does, in the reader's language. */
            description: string;
            error: components["schemas"]["HookError"] | null;
            /** @description All files compared with the installed ones, sorted by path. */
            files: components["schemas"]["CardRulesFile"][];
            /** @description Id of the plugin; null if the card has none, or an unreadable one. */
            id: string | null;
            /** @description Hash of the installed code. */
            installedHash: string | null;
            /** @description Version of the installed plugin with this id. */
            installedVersion: string | null;
            /** @description Requested permissions, to be shown before installing. */
            permissions: components["schemas"]["Permission"][];
            /**
             * @description `none`: no plugin in the card. `broken`: it cannot run, see `error`. `new`: no plugin of this id is installed.
             *     `same`: the installed code is identical. `newer`, `older`, `other`: another version is installed, or other code
             *     of the same version. `bundled`: the id belongs to a bundled plugin, which a card cannot replace.
             */
            state: components["schemas"]["EmbeddedPluginState"];
            /** @description Display name, in the reader's language. */
            title: string;
            /** @description Version of the embedded plugin. */
            version: string | null;
            /** @description Probable mistakes that do not prevent it from running. */
            warnings: components["schemas"]["ScriptError"][];
        };
        /**
         * @description The embedded plugin of a card, compared with the installed one.
         * @enum {string}
         */
        EmbeddedPluginState: "none" | "broken" | "new" | "same" | "newer" | "older" | "other" | "bundled";
        /** @description The body of every error. */
        Error: {
            error: {
                /** @description Stable error code. */
                code: string;
                /** @description Machine-readable arguments of the code: `field`, `leafId`, `op`, …. `reason` is a stable word for the exact reason. */
                details: components["schemas"]["JsonObject"];
                /** @description What the user can do about it. */
                hint: string;
                /** @description Id of the server log line with the cause; only for faults of the server. */
                incident: string | null;
                /** @description The error in one sentence. */
                message: string;
            } & Record<string, never>;
        };
        /** @description The fields of an error. */
        ErrorFields: {
            /** @description Stable error code. */
            code: string;
            /** @description Machine-readable arguments of the code: `field`, `leafId`, `op`, …. `reason` is a stable word for the exact reason. */
            details: components["schemas"]["JsonObject"];
            /** @description What the user can do about it. */
            hint: string;
            /** @description Id of the server log line with the cause; only for faults of the server. */
            incident: string | null;
            /** @description The error in one sentence. */
            message: string;
        };
        /** @description One line of source. */
        ExcerptLine: {
            /**
             * Format: int32
             * @description Line, from 1.
             */
            line: number;
            /** @description The text, possibly cut. */
            text: string;
        };
        /** @description Precondition: values as the caller saw them, null for absent ones. If one differs, nothing is changed. */
        ExpectedPresetFields: {
            /** @description Expected settings and samplers. */
            fields?: components["schemas"]["JsonObject"];
            /** @description Expected name. */
            name?: string | null;
            /** @description Expected order. */
            order?: components["schemas"]["PresetOrderEntry"][] | null;
            /** @description Expected fields of `extensions.clotho`. */
            own?: components["schemas"]["JsonObject"];
            /** @description Expected prompts: `identifier` and their fields. */
            prompts?: components["schemas"]["JsonObject"][];
        };
        /**
         * @description How a file differs.
         * @enum {string}
         */
        FileChange: "same" | "added" | "changed" | "removed";
        /** @description The result for one part of a file of another program. */
        ForeignImportFinding: {
            /** @description Arguments of the code: texts and numbers by name; absent if there are none. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code of the finding. */
            code: string;
            /** @description Number of occurrences. */
            count: number;
            /** @description The result. */
            fate: components["schemas"]["ImportFate"];
            /**
             * Format: int64
             * @description Line of the file, from 1.
             */
            line?: number;
            /** @description Explanation for people. */
            message: string;
            /** @description Names of the affected files; absent if there are none. */
            names?: string[];
        };
        /** @description The result for one card or file of another program. */
        ForeignImportItem: {
            /** @description Overall result. */
            fate: components["schemas"]["ImportFate"];
            /** @description File that contained it. */
            file?: string;
            /** @description Results for single parts worth mentioning. */
            findings: components["schemas"]["ForeignImportFinding"][];
            /** @description Id of the result here; absent if nothing was imported. */
            id?: string;
            /** @description `character`, `session`, `lorebook`, `persona`, `preset`, `regex` or `file`. */
            kind: string;
            /** @description Name of the imported thing. */
            name: string;
        };
        /** @description The report of an import from another program. In contrast to other reports, it leaves out what is not known. */
        ForeignImportReport: {
            /** @description One item for each card or file. */
            items: components["schemas"]["ForeignImportItem"][];
        };
        /** @description The result of an import from another program. */
        ForeignImportResult: {
            /** @description The result of each file. */
            report: components["schemas"]["ForeignImportReport"];
            /** @description Numbers of new things. */
            totals: components["schemas"]["ImportTotals"];
        };
        /** @description A pruned part of a tree. */
        Fragment: {
            /** @description Whether the former parent is still in the tree, so that the fragment can return there. */
            canReturn: boolean;
            /**
             * Format: int64
             * @description Number of nodes in the fragment.
             */
            count: number;
            /** @description Time of pruning, ISO 8601 UTC. */
            createdAt: string;
            /** @description First line of the first text, with `…` if more lines follow. */
            firstLine: string;
            /** @description Id of the fragment. */
            id: string;
            /** @description Name of the fragment; null if it has none. */
            name: string | null;
            /** @description Top node of the fragment. */
            nodeId: components["schemas"]["Id"];
            originId: components["schemas"]["Id"] | null;
        };
        /** @description The tree of a fragment, or a page of it. */
        FragmentTreeResponse: {
            /** @description Id of the fragment. */
            fragmentId: string;
            /** @description Nodes in creation order; parents precede their children. */
            items: components["schemas"]["ChatMessageNode"][];
            /** @description Cursor of the next page; null on the last page. */
            next: string | null;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
        };
        /** @description Options of a generation. */
        Generate: {
            characterId?: components["schemas"]["Id"] | null;
            /** @description Overrides the session's model. */
            model?: string | null;
            /**
             * Format: int32
             * @description Number of replies, 1 to 16; default 1.
             */
            n?: number | null;
            /** @description Overrides single parameters of the session. */
            params?: components["schemas"]["JsonObject"];
        };
        GenerateField: boolean | components["schemas"]["Generate"];
        /** @description What a request set instead of the session's settings. */
        GenerationOverride: components["schemas"]["OtherFields"] & {
            /** @description The model. */
            model?: string | null;
            /** @description The parameters. */
            params?: components["schemas"]["JsonObject"];
        };
        /** @description The position of HEAD. */
        HeadResponse: {
            contextNodeId: components["schemas"]["Id"] | null;
            /** @description The node at HEAD. */
            leafId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /** @description The health of the server. */
        HealthResponse: {
            /** @description Parts by name: `ok`, or what is wrong. */
            parts?: components["schemas"]["JsonObject"];
            /** @description What is wrong with a part, by its name: a code with arguments, and the sentence. */
            problems?: {
                [key: string]: components["schemas"]["CodedMessage"];
            };
            /** @description `ok`, or `degraded` if a part fails. */
            status: string;
            /** @description Version of the server. */
            version: string;
        };
        /** @description Where the history of a prompt was cut. */
        HistoryCut: {
            /** @description The newest message that was left out. */
            through: components["schemas"]["Id"];
            /** @description The reason, as a word. */
            why: string;
        };
        /** @description One search result. */
        Hit: {
            /** @description Nearest label below the node; without one, the nearest above it. */
            branch: string | null;
            /**
             * Format: int32
             * @description Number of edges from the root.
             */
            depth: number;
            /** @description Fragment that contains the node, if it is in the stash. */
            fragmentId: string | null;
            /** @description Name of the speaker. */
            name: string | null;
            /** @description Id of the node. */
            nodeId: components["schemas"]["Id"];
            /** @description Whether the node is on the path to HEAD. */
            onTrunk: boolean;
            /**
             * Format: int32
             * @description Rating, 1 to 5 stars; null if unrated.
             */
            rating: number | null;
            /** @description Role of the message. */
            role: components["schemas"]["Role"];
            /**
             * Format: float
             * @description Relevance; only comparable within this answer, and meaningless when sorted by time.
             */
            score: number;
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
            /** @description Title of the session. */
            sessionTitle: string;
            /** @description Excerpt that shows the match. */
            snippet: components["schemas"]["SearchSnippetResponse"];
            /** @description Whether the node is in the stash. */
            stashed: boolean;
            /** @description Creation time, ISO 8601 UTC. */
            timestamp: string;
        };
        /** @description Why a call of a plugin failed, or why an embedded plugin cannot be read. */
        HookError: components["schemas"]["OtherFields"] & {
            /** @description Path of the file. */
            file?: string | null;
            /**
             * Format: int32
             * @description Line, from 1.
             */
            line?: number | null;
            /** @description The error in one sentence. */
            message: string;
        };
        /** @description One call of a plugin, or one declarative rule that fired. */
        HookRun: components["schemas"]["OtherFields"] & {
            /** @description For a tool: its answer; for `on_answer`: the answer of the model. */
            answer?: components["schemas"]["Json"];
            /** @description For a tool: the arguments from the model. */
            arguments?: components["schemas"]["Json"];
            /** @description The model calls that it requests. */
            asks?: components["schemas"]["ModelCall"][];
            /** @description The reason why a declarative rule fired. */
            because?: string;
            error?: components["schemas"]["HookError"] | null;
            /** @description Name of the hook; `rule:<name>` for a declarative rule, `tool_<name>` for a tool. */
            hook: string;
            /**
             * Format: int64
             * @description CPU time in microseconds.
             */
            micros?: number;
            /**
             * Format: int64
             * @description Number of its operations.
             */
            ops?: number;
            /** @description The plugin. */
            plugin: string;
            /** @description The same with code and arguments. Older records have only the sentence. */
            refusal?: components["schemas"]["CodedMessage"];
            /** @description For a tool: why the call was refused, as one sentence. The model got it. */
            refused?: string;
            /** @description Version of the plugin. */
            version?: string;
            /** @description Warnings for the author of the plugin. */
            warnings?: string[];
        };
        /**
         * Format: uuid
         * @description A lower-case UUID
         */
        Id: string;
        /** @description A request to draft the user's next message. */
        ImpersonateRequest: {
            leafId?: components["schemas"]["Id"] | null;
            /** @description Overrides the session's model. */
            model?: string | null;
            /** @description Overrides single parameters of the session. */
            params?: components["schemas"]["JsonObject"];
        };
        /**
         * @description What became of an imported part; `kept`: it is exported again, but has no effect here.
         * @enum {string}
         */
        ImportFate: "works" | "translated" | "kept" | "skipped";
        /** @description The result for one part of a file. */
        ImportReportFinding: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable code of the finding. */
            code: string;
            /** @description Number of occurrences. */
            count: number;
            /** @description `works`, `translated`, `kept` (exported again, but no effect here) or `skipped`. */
            fate: components["schemas"]["ImportFate"];
            /**
             * Format: int64
             * @description Line of the file, from 1.
             */
            line: number | null;
            /** @description Explanation for people. */
            message: string;
            /** @description Names of the affected files. */
            names: string[];
        };
        /** @description The result for one card or file. */
        ImportReportItem: {
            /** @description Overall result: `works`, `translated`, `kept` or `skipped`. */
            fate: components["schemas"]["ImportFate"];
            /** @description File that contained it. */
            file: string | null;
            /** @description Results for single parts worth mentioning. */
            findings: components["schemas"]["ImportReportFinding"][];
            /** @description Id of the result here; null if nothing was imported. */
            id: string | null;
            /** @description `character`, `session`, `lorebook`, `persona`, `preset`, `regex`, `profile` or `file`. */
            kind: string;
            /** @description Name of the imported thing. */
            name: string;
        };
        /** @description The result of an import, item by item. */
        ImportReportResponse: {
            /** @description One item for each card or file. */
            items: components["schemas"]["ImportReportItem"][];
        };
        /** @description Numbers of new things. */
        ImportTotals: {
            /**
             * Format: int64
             * @description New or changed characters.
             */
            characters: number;
            /**
             * Format: int64
             * @description Chats that were read.
             */
            chats: number;
            /**
             * Format: int64
             * @description Other things that existed already.
             */
            known: number;
            /**
             * Format: int64
             * @description New or changed lorebooks.
             */
            lorebooks: number;
            /**
             * Format: int64
             * @description New messages, including alternatives.
             */
            messages: number;
            /**
             * Format: int64
             * @description New or changed personas.
             */
            personas: number;
            /**
             * Format: int64
             * @description New or changed presets, regular expressions and groups.
             */
            presets: number;
            /**
             * Format: int64
             * @description New sessions.
             */
            sessions: number;
            /**
             * Format: int64
             * @description Files and lines that were skipped.
             */
            skipped: number;
            /**
             * Format: int64
             * @description Chats that were imported completely before.
             */
            unchanged: number;
        };
        /** @description The state of a job. Kept for a week; `error` only until the server stops. */
        JobResponse: {
            /**
             * Format: int64
             * @description Progress in bytes; the file is read twice.
             */
            done: number;
            error: components["schemas"]["ErrorFields"] | null;
            /** @description Id of the job. */
            id: components["schemas"]["Id"];
            /** @description `import`. */
            kind: string;
            result: components["schemas"]["JobResultResponse"] | null;
            /** @description `queued`, `running`, `done`, `failed`, `cancelled` or `interrupted` (the server stopped before the end). */
            state: components["schemas"]["JobState"];
            /**
             * Format: int64
             * @description Total in bytes; 0 while queued and after a restart.
             */
            total: number;
        };
        /** @description The result of a job. */
        JobResultResponse: {
            report: components["schemas"]["ForeignImportResult"] | null;
            sessionId: components["schemas"]["Id"] | null;
        };
        /** @description A started job. */
        JobStartResponse: {
            /** @description Id to poll with `GET /api/jobs/{jid}`. */
            jobId: components["schemas"]["Id"];
        };
        /**
         * @description The state of a job; `interrupted`: the server stopped before the end.
         * @enum {string}
         */
        JobState: "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";
        /** @description Any JSON value */
        Json: AnyJson;
        /** @description A JSON object with any fields */
        JsonObject: {
            [key: string]: components["schemas"]["Json"];
        };
        /**
         * @description Kind of a node.
         * @enum {string}
         */
        Kind: "root" | "message" | "greeting" | "change" | "summary" | "merge";
        /** @description A label on a node. */
        Label: {
            /** @description Whether the label moves with appended nodes. */
            following: boolean;
            /** @description Whether the node is in the tree; otherwise it is in the stash or was undone. */
            isInTree: boolean;
            /** @description Name, unique in the session. */
            name: string;
            /** @description The labelled node. */
            nodeId: components["schemas"]["Id"];
        };
        /** @description The labels of a tree. */
        LabelsResponse: {
            /** @description Labels, sorted by name. */
            items: components["schemas"]["Label"][];
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /** @description A World Info entry; unknown fields are kept */
        LoreEntryResponse: {
            [key: string]: unknown;
        };
        LoreEntryResponsePage: {
            items: components["schemas"]["LoreEntryResponse"][];
            next: string | null;
        };
        /** @description How entries similar to the chat were found. */
        LoreSimilarity: {
            /** @description `vectors`, `words`, or both. */
            by: string[];
            /** @description The same with code and arguments. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Number of found entries. */
            found: number;
            /** @description Number of compared entries. */
            looked: number;
            /** @description Why vectors were not used. */
            problem?: string;
        };
        /** @description A trial of lorebooks: at a node of a session, or with a text alone. */
        LoreTest: {
            /** @description Additional lorebooks to scan. */
            lorebookIds?: components["schemas"]["Id"][];
            nodeId?: components["schemas"]["Id"] | null;
            sessionId?: components["schemas"]["Id"] | null;
            /** @description The next message of the session, or the only text without a session. */
            text?: string | null;
        };
        /** @description Which entries would fire, and why the others would not. */
        LoreTestResponse: {
            /** @description The scanned lorebooks: `{id, name, scope}`. */
            books: components["schemas"]["ScannedLorebook"][];
            /** @description Token budget for lore. */
            budget: number;
            /** @description The entries that fire, in order: `{book, uid, title, why, key?, tokens, text}`. */
            fired: components["schemas"]["LoreVerdict"][];
            /** @description What was aborted or could not be read. */
            notes: string[];
            /** @description Whether the budget was exceeded. */
            overflowed: boolean;
            /** @description Number of scan passes. */
            passes: number;
            /** @description The same with code and arguments; lines of plugins have neither. */
            problems: components["schemas"]["CodedMessage"][];
            /** @description Entries that did not match or are disabled; only the first of them. */
            silent: components["schemas"]["LoreVerdict"][];
            /** @description Total number of such entries. */
            silentCount: number;
            similar: components["schemas"]["LoreSimilarity"] | null;
            /** @description Entries that matched but do not fire: `{book, uid, title, why}` and details of the reason. */
            stopped: components["schemas"]["LoreVerdict"][];
        };
        /** @description The lorebook entries that were activated for a reply, and those that were stopped. */
        LoreTrace: components["schemas"]["OtherFields"] & {
            /** @description The scanned lorebooks. */
            books: components["schemas"]["ScannedLorebook"][];
            /** @description The activated entries. */
            fired: components["schemas"]["LoreVerdict"][];
            /** @description What was aborted or could not be read. */
            notes: string[];
            /** @description Whether the budget was exceeded. */
            overflowed: boolean;
            /** @description The same with code and arguments; absent in older records. */
            problems?: components["schemas"]["CodedMessage"][];
            /** @description Number of entries that did not match. */
            silent: number;
            similar?: components["schemas"]["LoreSimilarity"] | null;
            /** @description Entries that matched but were stopped. */
            stopped: components["schemas"]["LoreVerdict"][];
        };
        /** @description The result for one lorebook entry. */
        LoreVerdict: components["schemas"]["OtherFields"] & {
            /** @description Id of the lorebook. */
            book: string;
            /** @description The same with code and arguments. Older records have only the sentence. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description The key that matched. */
            key?: string;
            /** @description The plugin that activates it or keeps it out. */
            plugin?: string;
            /** @description Why a condition cannot be read. */
            problem?: string;
            /**
             * Format: double
             * @description How well the entry matches.
             */
            score?: number;
            /** @description Title of the entry. */
            title: string;
            /** @description Tokens of the text. */
            tokens?: number;
            /** @description Id of the entry. */
            uid: string;
            /** @description The reason, as a word. */
            why: string;
        };
        /** @description The bindings of a lorebook: where it is active. */
        LorebookBindingsResponse: {
            /** @description Active for replies of these characters, including those whose cards name it. */
            characterIds: components["schemas"]["Id"][];
            /** @description Active in all sessions of the owner. */
            everything: boolean;
            /** @description Active while one of these personas is played. */
            personaIds: components["schemas"]["Id"][];
            /** @description Active in these sessions. */
            sessionIds: components["schemas"]["Id"][];
        };
        /** @description Fields of a lorebook: all fields of a new one, or the fields to change. */
        LorebookFields: {
            /** @description The complete list of entries. An entry without `uid` is new. */
            entries?: components["schemas"]["LoreEntryResponse"][] | null;
            /** @description Name of the lorebook; required on creation. */
            name?: string | null;
            wordCharacters?: components["schemas"]["WordCharacters"] | null;
        };
        /** @description An imported lorebook. */
        LorebookImportResponse: components["schemas"]["LorebookResponse"] & {
            /** @description What was imported, and which parts work here. */
            report: components["schemas"]["ImportReportResponse"];
        };
        /** @description A lorebook. */
        LorebookResponse: {
            /** @description Creation or import time, ISO 8601 UTC. */
            createdAt: string;
            /** @description All entries; absent in lists. */
            entries?: components["schemas"]["LoreEntryResponse"][];
            /** @description Number of entries. */
            entryCount: number;
            /** @description Id of the lorebook. */
            id: components["schemas"]["Id"];
            /** @description All other fields of the lorebook; absent in lists. */
            metadata?: components["schemas"]["JsonObject"];
            /** @description Name of the lorebook. */
            name: string;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        LorebookResponsePage: {
            items: components["schemas"]["LorebookResponse"][];
            next: string | null;
        };
        /** @description The caller. */
        MeResponse: {
            /** @description Token that browsers send as `X-CSRF-Token` with writes. */
            csrf: string;
            deviceId: components["schemas"]["Id"] | null;
            /** @description Whether this server allows moving, copying, pruning, summarising and merging parts of a tree. */
            mayRearrange: boolean;
            /** @description `local` or `accounts`. */
            mode: string;
            /** @description Whether this server accepts paired devices of the local network. */
            servesHouse: boolean;
            /** @description The user of the request. */
            user: components["schemas"]["UserResponse"];
        };
        /** @description How many operations of a merge come from one node. The merge's own operations are not counted. */
        MergedNode: {
            /** @description The node. */
            nodeId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of its operations.
             */
            operations: number;
        };
        /** @description A model call that a plugin requests. */
        ModelCall: {
            /**
             * Format: int32
             * @description Maximum number of tokens of the answer.
             */
            maxTokens: number;
            /** @description The messages. */
            messages: components["schemas"]["ModelCallMessage"][];
            /** @description The model; null means that of the session. */
            model: string | null;
            /** @description Name of the call. */
            name: string;
        };
        /** @description One message of a model call. */
        ModelCallMessage: {
            /** @description `user`, `assistant` or `system`. */
            role: string;
            /** @description The text. */
            text: string;
        };
        /** @description An available model. */
        ModelResponse: {
            /**
             * Format: double
             * @description Price per reply token in the provider's currency; null if unknown.
             */
            completionPrice: number | null;
            /**
             * Format: int64
             * @description Context size in tokens, prompt and reply together; null if unknown.
             */
            contextLength: number | null;
            /** @description Model name in requests: `provider/model`, `plugin:<id>`, or an alias of the configuration. */
            id: string;
            /** @description Whether this is the default model. */
            isDefault: boolean;
            /** @description Display name. */
            name: string;
            /**
             * Format: double
             * @description Price per prompt token in the provider's currency; null if unknown.
             */
            promptPrice: number | null;
            /** @description The provider; `plugin` for narrator plugins, `models` for aliases. */
            provider: string;
            /** @description Models behind an alias, preferred first; empty if this is no alias. */
            standsFor: string[];
            tools: components["schemas"]["ToolMode"] | null;
            /** @description Why the model cannot be used; null if it can. */
            unusable: string | null;
        };
        /** @description A known service or program that serves models. */
        ModelServiceResponse: {
            /** @description Base URL of its API; empty = it differs for each user. */
            baseUrl: string;
            /** @description Id of the service, suggested as the id of its provider. */
            id: string;
            /** @description Page where a key is made; null if there is none. */
            keyUrl: string | null;
            /** @description API kind, one of `kinds`. */
            kind: string;
            /** @description Its name; empty = any server of this kind. */
            name: string;
            /** @description Whether it needs a key. */
            needsKey: boolean;
        };
        /** @description All available models. */
        ModelsResponse: {
            /** @description Model of sessions without a model of their own. */
            defaultModel: string;
            /** @description The models of all providers. */
            items: components["schemas"]["ModelResponse"][];
            /** @description Always null; the list has one page. */
            next: string | null;
            /** @description Providers whose model list could not be read. */
            problems: components["schemas"]["ProviderProblem"][];
        };
        /** @description A connection profile to create. */
        NewConnectionProfile: {
            /** @description Model; null = the server's default. */
            model?: string | null;
            /** @description Name of the profile, 1 to 100 characters; no other profile has it. */
            name: string;
            /** @description Model parameters. */
            params?: components["schemas"]["JsonObject"];
            presetId?: components["schemas"]["Id"] | null;
            /** @description Model that writes summaries; null = the model of the story. */
            summariesModel?: string | null;
            /** @description Model that writes the changes of values; null = the model of the reply. */
            valuesModel?: string | null;
        };
        /** @description A message to send. */
        NewMessage: {
            /** @description The text of the message. */
            content: string;
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            generate?: components["schemas"]["GenerateField"] | null;
            /** @description Whether HEAD moves to the new node; default true. */
            moveHead?: boolean | null;
            /** @description Name of the speaker; default: the name of the persona. */
            name?: string | null;
            onStale?: components["schemas"]["OnStale"] | null;
            /** @description Parent node. */
            parentId: components["schemas"]["Id"];
            personaId?: components["schemas"]["Id"] | null;
            role?: components["schemas"]["Role"] | null;
            /**
             * @description Time zone of the person who writes, for dates in prompts: an IANA name, or an offset such as `+02:00`. It is
             *     kept with the message. Default: that of the server.
             */
            timeZone?: string | null;
        };
        /** @description A session to create. */
        NewSession: {
            /** @description Characters of the session; the first speaks by default. */
            characterIds: components["schemas"]["Id"][];
            /** @description Lorebooks of the caller to link to the session, at most 64. */
            lorebookIds?: components["schemas"]["Id"][];
            mode?: components["schemas"]["SessionViewMode"] | null;
            /** @description Model; default: the one that the first character suggests. */
            model?: string | null;
            /** @description Model parameters. */
            params?: components["schemas"]["JsonObject"];
            /**
             * @description Persona of the user; null = none. Default: the one that is locked to the first character, else the default
             *     persona.
             */
            personaId?: string | null;
            /** @description Plugins; default: those that the first character suggests. */
            plugins?: components["schemas"]["SessionPluginFields"][] | null;
            profileId?: components["schemas"]["Id"] | null;
            /** @description Time zone of the person, for dates in greetings: an IANA name, or an offset such as `+02:00`. */
            timeZone?: string | null;
            /** @description Title; default: the name of the first character. */
            title?: string | null;
        };
        NoContent: null;
        /** @description The delta of one node of a branch. */
        NodeDeltaResponse: components["schemas"]["Delta"] & {
            /** @description Id of the node. */
            nodeId: components["schemas"]["Id"];
        };
        /** @description What is recorded about a node besides its text. Every field may be absent. */
        NodeMetadata: components["schemas"]["ReplyFacts"] & components["schemas"]["OtherFields"] & {
            /** @description The model call of a plugin whose answer made the node. */
            answers?: components["schemas"]["AnsweredCall"];
            /** @description The reply that this one continues. */
            continuedFrom?: components["schemas"]["Id"];
            /** @description The version from which this one was edited. */
            editedFrom?: components["schemas"]["Id"];
            /** @description The leaf of the branch that a merge took changes from. */
            mergedFrom?: components["schemas"]["Id"];
            /** @description How many operations of a merge come from which node. */
            mergedNodes?: components["schemas"]["MergedNode"][];
            /** @description The text as typed, if plugins changed it. */
            originalContent?: string;
            /** @description What the request set instead of the session's settings. */
            override?: components["schemas"]["GenerationOverride"];
            /** @description While the node is generated: `queued`, `waiting`, `thinking`, `streaming` or `values`. */
            phase?: string;
            /** @description Where a copy or an imported message comes from. */
            provenance?: components["schemas"]["Provenance"];
            /** @description Position in the queue, from 1, while `phase` is `queued`. */
            queuePosition?: number;
            /**
             * Format: int32
             * @description Stars from the user, 1 to 5.
             */
            rating?: number;
            /**
             * Format: double
             * @description The seed as sent; null if none was.
             */
            seed?: number | null;
            /** @description Imported data that has no place in a message. */
            sillytavern?: components["schemas"]["JsonObject"];
            /** @description The messages that a summary replaces. */
            summarizedFrom?: components["schemas"]["Id"][];
            /** @description The time zone of the person who wrote it, for dates in prompts: a name or an offset from UTC. */
            timeZone?: string;
            /** @description What the model said that writes the values. */
            values?: components["schemas"]["ValuesRecord"];
        };
        /** @description An operation with its node. */
        NodeOperation: components["schemas"]["WorldOperation"] & {
            /** @description The node that has it. */
            nodeId: components["schemas"]["Id"];
        };
        /** @description A node with the requested expansions. */
        NodeResponse: components["schemas"]["ChatMessageNode"] & {
            /** @description Delta of the node (`expand=delta`). */
            delta?: components["schemas"]["Delta"];
            /** @description Active schemas at the node (`expand=world`). */
            schemas?: components["schemas"]["WorldStateSchema"][];
            /** @description Trace of the node (`expand=trace`). */
            trace?: components["schemas"]["Trace"];
            /** @description State after the node (`expand=world`). */
            world?: components["schemas"]["World"];
        };
        /** @description Changes to the state of one node; absent fields stay. */
        NodeState: {
            effects?: components["schemas"]["Effects"] | null;
            /** @description Whether the text is part of prompts and of the chat view. */
            isEnabled?: boolean | null;
            /** @description Whether the node is marked as a reply that nobody has seen. */
            isUnread?: boolean | null;
            /**
             * Format: int32
             * @description Rating, 1 to 5 stars; null removes it.
             */
            rating?: number | null;
        };
        /** @description The state of one node. */
        NodeStateEvent: {
            /** @description Whether the delta is applied to the state. */
            effects: components["schemas"]["Effects"];
            /** @description Id of the node. */
            id: components["schemas"]["Id"];
            /** @description Whether the text is part of prompts. */
            isEnabled: boolean;
            /** @description Whether this is a reply that nobody has seen. */
            isUnread: boolean;
            /**
             * Format: int32
             * @description Rating, 1 to 5 stars; null if unrated.
             */
            rating: number | null;
        };
        /** @description The state of one node. */
        NodeStateResponse: {
            /** @description `on`: the delta is applied to the state; `muted`: it is ignored. */
            effects: components["schemas"]["Effects"];
            /** @description Id of the node. */
            id: components["schemas"]["Id"];
            /** @description Whether the text is part of prompts and of the chat view. */
            isEnabled: boolean;
            /** @description Whether this is a reply that nobody has seen. */
            isUnread: boolean;
            /**
             * Format: int32
             * @description Rating, 1 to 5 stars; null if unrated.
             */
            rating: number | null;
        };
        /** @description The new state of one or many nodes. For many nodes, values that are the same for all stand next to `ids`. */
        NodeStatesEvent: components["schemas"]["NodeStateEvent"] | {
            /** @description Whether the deltas are applied; absent if it differs between nodes. */
            effects?: components["schemas"]["Effects"];
            /** @description Ids of the nodes. */
            ids: components["schemas"]["Id"][];
            /** @description Whether the texts are part of prompts; absent if it differs between nodes. */
            isEnabled?: boolean;
            /** @description Each node with its own state. */
            nodes: components["schemas"]["NodeStateEvent"][];
        };
        /** @description The state of nodes after a change. */
        NodeStatesResponse: {
            /** @description Whether `worldChanges` is incomplete. */
            isCutShort: boolean;
            /** @description The nodes of the request. */
            nodes: components["schemas"]["NodeStateResponse"][];
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
            /** @description Changes of the state at HEAD and at labels, because deltas now count or no longer count; at most 200. */
            worldChanges: components["schemas"]["NodeWorldChangeResponse"][];
        };
        /** @description A change of the state at one node. */
        NodeWorldChangeResponse: {
            /** @description Value after; null if there is none. */
            after: components["schemas"]["Json"];
            /** @description Value before; null if there was none. */
            before: components["schemas"]["Json"];
            /** @description The node at which the state differs. */
            nodeId: components["schemas"]["Id"];
            /** @description JSON Pointer from `vars`. */
            path: string;
        };
        /** @description A visible line below a message. */
        Note: {
            /** @description Arguments of the code: texts and numbers by name. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code if the server wrote the line; absent otherwise. */
            code?: string;
            /** @description The plugin that wrote the line. */
            plugin: string;
            /** @description The text of the line. */
            text: string;
        };
        /**
         * @description Position of an author's note: after or before the main prompt, or between the last messages.
         * @enum {string}
         */
        NotePlace: "afterMain" | "beforeMain" | "inChat";
        /**
         * @description What to do if HEAD has moved: `refuse` answers `409 head_moved`, `append` writes below the current HEAD,
         *     `branch` writes a sibling at the requested place.
         * @enum {string}
         */
        OnStale: "refuse" | "append" | "branch";
        /** @description A partial update of an `openai` preset; everything it does not name stays unchanged. */
        OpenAiPresetChange: {
            /** @description Settings and samplers by body field; null removes one. */
            fields?: components["schemas"]["JsonObject"];
            /** @description The complete order. */
            order?: components["schemas"]["PresetOrderEntry"][] | null;
            /** @description Fields of `extensions.clotho`: `form`, `names`, `stop`, `models`, `shares`; null removes one. */
            own?: components["schemas"]["JsonObject"];
            /**
             * @description Prompts: `identifier` and the changed fields. An unknown identifier adds a prompt, at the end unless `order` is
             *     set.
             */
            prompts?: components["schemas"]["JsonObject"][];
            /** @description Identifiers of prompts to remove. Built-in prompts can only be disabled. */
            removed?: string[];
        };
        /** @description One entry of the operation log. */
        Operation: {
            actor: components["schemas"]["Id"] | null;
            /** @description Time of the operation, ISO 8601 UTC. */
            at: string;
            /** @description What changed, in order. */
            effects: components["schemas"]["OperationEffect"][];
            /** @description Kind of the operation. */
            kind: string;
            /**
             * Format: int64
             * @description Number in the session, consecutive from 1.
             */
            op: number;
            /**
             * Format: int64
             * @description First operation of the request that this one completes; otherwise its own number.
             */
            step: number;
        };
        /** @description One effect of an operation of the log: its first field names the effect. */
        OperationEffect: components["schemas"]["OtherFields"] & {
            /** @description For a purge: the nodes below it. */
            below?: components["schemas"]["Id"][];
            /** @description For a purge: the destroyed node. */
            purged?: components["schemas"]["Id"];
        };
        /** @description A problem of one operation of a tried hook. */
        OperationProblem: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable code. */
            code: string;
            /** @description The problem in one sentence. */
            message: string;
            /** @description Index of the operation. */
            operation: number;
            /** @description Path of the operation. */
            path: string;
        };
        /** @description A page of the operation log. */
        OperationsResponse: {
            /** @description Operations, oldest first. */
            items: components["schemas"]["Operation"][];
            /**
             * Format: int64
             * @description `since` for the next page; null if these are the newest.
             */
            next: number | null;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /** @description Other fields, which clients may ignore */
        OtherFields: unknown;
        /** @description A URL that a device opens to be paired. */
        PairingLink: {
            /** @description The URL. The code is in the fragment (after `#`), which browsers do not send and logs do not contain. */
            address: string;
            /** @description The URL as a QR code: one string per row, `1` = dark, `0` = light, without the quiet zone. */
            modules: string[];
        };
        /** @description A request for a pairing code. */
        PairingRequest: Record<string, never>;
        /** @description A pairing code for one device, with the URLs of this machine. */
        PairingResponse: {
            /** @description The code in the links. Empty in the replay of an idempotent request. */
            code: string;
            /** @description Expiry time of the code, ISO 8601 UTC. */
            expiresAt: string;
            /**
             * Format: int64
             * @description Seconds until the code expires.
             */
            expiresInS: number;
            /**
             * @description Pairing URLs, most likely first: the URL of the calling page (unless it is loopback), then those of this
             *     machine. Empty without a network, and in the replay of an idempotent request.
             */
            links: components["schemas"]["PairingLink"][];
            /**
             * @description The same as eight letters and digits to type, or sixteen after many wrong codes. Using either uses up both. Empty
             *     in the replay of an idempotent request.
             */
            shortCode: string;
        };
        /** @description What the model server of a session takes. */
        ParametersResponse: {
            /** @description Kind of its server; null like `model`. */
            kind: string | null;
            /** @description `provider/model` that is asked first; null if a plugin writes the replies or there is no such model. */
            model: string | null;
            /** @description Names of those parameters that are set, change something, and are not sent to this server. */
            notSent: string[];
            /** @description Names of the known parameters that the server does not take. */
            notTaken: string[];
            /** @description Parameters of the preset by name, with `max_tokens` as the length of replies; empty without one. */
            preset: components["schemas"]["JsonObject"];
        };
        /** @description One path of the state that differs. */
        PathChangeResponse: {
            /** @description Value after; absent if there is none. */
            after?: components["schemas"]["Json"];
            /** @description Value before; absent if there was none. */
            before?: components["schemas"]["Json"];
            /** @description JSON Pointer from `vars`. */
            path: string;
        };
        /** @description One requested permission. */
        Permission: {
            /** @description Name of the permission, as in `grants`. */
            name: string;
            /** @description What it allows, in the reader's language. */
            words: string;
        };
        /** @description The personas that new sessions get if a request names none. */
        PersonaChoicesResponse: {
            /** @description The default persona; null if there is none. */
            defaultId: string | null;
            /** @description Characters that a persona is locked to. */
            locks: components["schemas"]["PersonaLock"][];
        };
        /** @description Fields of a persona: all fields of a new one, or the fields to change. */
        PersonaFields: {
            /** @description URL of the avatar on this server; null removes it. */
            avatar?: string | null;
            /** @description Description of the persona. */
            description?: string | null;
            metadata?: components["schemas"]["JsonObject"] | null;
            /** @description Name of the persona; required on creation. */
            name?: string | null;
        };
        /** @description A persona that is locked to a character: new sessions with the character get it. */
        PersonaLock: {
            /** @description The character. */
            characterId: components["schemas"]["Id"];
            /** @description The persona. */
            personaId: components["schemas"]["Id"];
        };
        /** @description A persona that the user plays. */
        PersonaResponse: {
            /** @description URL of the avatar on this server; null if there is none. */
            avatar: string | null;
            /** @description Creation or import time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Description of the persona. */
            description: string;
            /** @description Id of the persona. */
            id: components["schemas"]["Id"];
            /** @description All other fields of the persona. */
            metadata: components["schemas"]["JsonObject"];
            /** @description Name of the persona; `{{user}}` in prompts. */
            name: string;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        PersonaResponsePage: {
            items: components["schemas"]["PersonaResponse"][];
            next: string | null;
        };
        /** @description The result of an import of personas. */
        PersonasImportResponse: {
            /** @description The personas that exist now. */
            items: components["schemas"]["PersonaResponse"][];
            /** @description What was imported, and which parts work here. */
            report: components["schemas"]["ImportReportResponse"];
        };
        /** @description Unsaved code to check. */
        PluginCheck: {
            /** @description Unsaved texts by path; they replace or add files. */
            files?: {
                [key: string]: string;
            };
        };
        /** @description The result of checking a plugin. */
        PluginChecked: {
            /** @description Hash of the checked code. */
            codeHash: string | null;
            error: components["schemas"]["ScriptError"] | null;
            /** @description The hooks that the plugin defines. */
            hooks: string[];
            /** @description Whether the plugin can run. */
            isOk: boolean;
            /** @description Probable mistakes that do not prevent it from running. */
            warnings: components["schemas"]["ScriptError"][];
        };
        /** @description One setting of a plugin. */
        PluginConfigField: {
            /** @description Allowed values of a text; absent = any text. */
            choices?: string[];
            /** @description Default value. */
            default: components["schemas"]["Json"];
            /** @description Help text, in the reader's language. */
            help: string;
            /** @description Display name, in the reader's language. */
            label: string;
            /**
             * Format: double
             * @description Maximum value.
             */
            max?: number;
            /**
             * Format: double
             * @description Minimum value.
             */
            min?: number;
            /** @description Key in `config`. */
            name: string;
            /** @description `integer`, `number`, `boolean`, `text` or `list`. */
            type: components["schemas"]["PluginConfigType"];
        };
        /**
         * @description The type of a setting of a plugin.
         * @enum {string}
         */
        PluginConfigType: "integer" | "number" | "boolean" | "text" | "list";
        /** @description One file of a plugin. */
        PluginFileResponse: {
            /** @description Size in bytes. */
            bytes: number;
            /** @description Text of the file; null if it is not text. */
            content: string | null;
            /** @description Path inside the plugin folder. */
            path: string;
        };
        /** @description The manifest of a plugin. */
        PluginManifest: components["schemas"]["OtherFields"] & {
            /** @description Its authors. */
            authors: string[];
            /** @description Its slash commands. */
            commands: components["schemas"]["Command"][];
            /** @description Id of the plugin. */
            id: string;
            /** @description Its licence. */
            license: string;
            /** @description Required plugins with their versions. */
            requires: {
                [key: string]: string;
            };
            /** @description The state that it owns. */
            state: components["schemas"]["PluginState"];
            /** @description Its tools for models. */
            tools: components["schemas"]["PluginTool"][];
            /** @description Version of the plugin. */
            version: string;
        };
        /**
         * @description Where a plugin comes from.
         * @enum {string}
         */
        PluginOrigin: "bundled" | "folder";
        /** @description The reference of the script API. */
        PluginReference: {
            /** @description Functions and properties that scripts can use, grouped by topic. */
            functions: components["schemas"]["PluginReferenceFunction"][];
            /** @description Functions that a script may define. */
            hooks: components["schemas"]["PluginReferenceHook"][];
            /** @description Names that the script language itself defines. */
            language: string[];
        };
        /** @description A function or property that scripts can use. */
        PluginReferenceFunction: {
            /** @description What the function does. */
            description: string;
            /** @description Topic of the function. */
            group: string;
            /** @description Whether it belongs to `ctx`. */
            isOfCtx: boolean;
            /** @description Whether it is a property, read without parentheses. */
            isProperty: boolean;
            /** @description Name without arguments. */
            name: string;
            /** @description Return type; empty for none. */
            result: string;
            /** @description Signature with argument types. */
            signature: string;
        };
        /** @description A function that a script may define. */
        PluginReferenceHook: {
            /** @description When and why the hook is called. */
            description: string;
            /** @description Name of the hook; for tools a prefix, followed by the tool's name. */
            name: string;
            /** @description Signature as written in a script. */
            signature: string;
            /** @description Whether the hook may write to the state and roll dice. */
            writes: boolean;
        };
        /** @description A branch along which a plugin runs again. */
        PluginReplay: {
            /** @description Whether to write the new deltas, as one step that undo takes back. Only possible with the active code. */
            accept?: boolean;
            /** @description Unsaved texts by path; they replace or add files. */
            files?: {
                [key: string]: string;
            };
            fromNodeId?: components["schemas"]["Id"] | null;
            leafId?: components["schemas"]["Id"] | null;
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
            /** @description The `shown` of the replay to accept; required with `accept`. */
            shown?: string | null;
            /** @description Unsaved text of the entry script. */
            source?: string | null;
        };
        /** @description The result of a replay. Nothing is written unless it was accepted. */
        PluginReplayed: {
            error: components["schemas"]["ScriptError"] | null;
            /** @description Whether this is the replay of an idempotent request, which only keeps `op`. */
            isCutShort?: boolean;
            /**
             * Format: int64
             * @description Number of the operation that accepted the replay; null if nothing was written.
             */
            op: number | null;
            /** @description The messages at which hooks ran, oldest first. */
            rows: components["schemas"]["ReplayPluginRow"][];
            /** @description What to send as `shown` to accept exactly this replay; null if the code cannot be loaded, or if it was accepted. */
            shown: string | null;
        };
        /** @description A plugin with all details. */
        PluginResponse: components["schemas"]["PluginSummaryResponse"] & {
            /** @description Hash of the active code. */
            codeHash: string | null;
            /** @description Settings of the plugin, as a form. */
            config: components["schemas"]["PluginConfigField"][];
            /** @description Paths of the plugin's files. */
            files: string[];
            manifest: components["schemas"]["PluginManifest"] | null;
            schema: components["schemas"]["JsonObject"] | null;
        };
        /** @description The state that a plugin owns. */
        PluginState: {
            /** @description Root of the state, as a JSON Pointer from `vars`. */
            root: string;
            /**
             * Format: int32
             * @description Version of the state.
             */
            version: number;
        };
        /** @description A plugin in a list. */
        PluginSummaryResponse: {
            /** @description What the plugin does, in the reader's language. */
            description: string;
            error: components["schemas"]["ScriptError"] | null;
            /** @description The hooks that the plugin defines. */
            hooks: string[];
            /** @description Id of the plugin. */
            id: string;
            /** @description Whether the plugin can run. */
            isOk: boolean;
            /** @description Whether it can be used as the model `plugin:<id>`. */
            narrates: boolean;
            /** @description `bundled` or `folder`. */
            origin: components["schemas"]["PluginOrigin"];
            /** @description Requested permissions, to be shown before it is enabled. */
            permissions: components["schemas"]["Permission"][];
            /** @description Display name, in the reader's language. */
            title: string;
            /** @description Version; null if the plugin cannot be read. */
            version: string | null;
            /** @description Probable mistakes that do not prevent it from running. */
            warnings: components["schemas"]["ScriptError"][];
        };
        PluginSummaryResponsePage: {
            items: components["schemas"]["PluginSummaryResponse"][];
            next: string | null;
        };
        /** @description The result of one test case. */
        PluginTestCaseResponse: {
            /** @description Whether the case has expectations. */
            expects: boolean;
            /** @description Unmet expectations and errors. */
            failures: components["schemas"]["PluginTestFailureResponse"][];
            /** @description File of the case in the plugin folder. */
            file: string;
            /** @description Whether all expectations are met. A case without expectations does not pass. */
            isPassed: boolean;
            /** @description Number of proposed operations; null if the case could not run. */
            operations: number | null;
            /**
             * Format: int64
             * @description Interpreter steps; null if the case could not run.
             */
            steps: number | null;
            /** @description Probable mistakes that do not fail the case. */
            warnings: string[];
        };
        /** @description One unmet expectation or error. */
        PluginTestFailureResponse: {
            error: components["schemas"]["ScriptError"] | null;
            /** @description Expected value; null without a comparison. */
            expected: string | null;
            /** @description Actual value; null without a comparison. */
            found: string | null;
            /**
             * Format: int32
             * @description Line of the expectation in the case file, from 1.
             */
            line: number | null;
            /** @description The compared key of `[expect]`; without a comparison, the whole message. */
            what: string;
        };
        /** @description The test results of a plugin. */
        PluginTested: {
            /** @description The test cases, sorted by file name. */
            cases: components["schemas"]["PluginTestCaseResponse"][];
            error: components["schemas"]["ScriptError"] | null;
            /** @description Number of cases that were not run because the time limit was reached. */
            left: number;
            /** @description Probable mistakes in the plugin that do not prevent it from running. */
            warnings: components["schemas"]["ScriptError"][];
        };
        /** @description A tool of a plugin. */
        PluginTool: {
            /** @description Description for models. */
            description: string;
            /** @description Name of the tool. */
            name: string;
        };
        /** @description The result of trying a hook. Nothing is written. */
        PluginTried: {
            /** @description Requested model calls: `{name, messages, maxTokens, model}`. */
            asks: components["schemas"]["ModelCall"][];
            error: components["schemas"]["ScriptError"] | null;
            /** @description Whether this is the replay of an idempotent request, which only keeps `usage`. */
            isCutShort?: boolean;
            /** @description Output of `print` and `debug`. */
            log: string[];
            /** @description Visible lines below the message. */
            notes: string[];
            /** @description Proposed operations, in order. */
            operations: components["schemas"]["WorldOperation"][];
            /** @description Operations that were clamped or skipped. */
            problems: components["schemas"]["OperationProblem"][];
            /**
             * @description Return value of the hook. `on_input`: `{text, reply, stop}` or `{refused}`. `narrate`: the pieces of the reply.
             *     `quick_replies`: a list of `{label, send}`. `plan`: `{inject, lore, unlore}`. `on_display`: the text. A tool:
             *     the answer for the model, or `{refused}`. Null for nothing.
             */
            result: components["schemas"]["Json"];
            /** @description Recorded random draws; those of the message are reused. */
            rolls: components["schemas"]["DiceRoll"][];
            summary: components["schemas"]["JsonObject"] | null;
            /** @description Cost of the call. */
            usage: components["schemas"]["TryHookUsage"];
            /** @description Warnings for the plugin author. */
            warnings: string[];
            /** @description Paths of `vars` that would change. */
            world: components["schemas"]["PathChangeResponse"][];
        };
        /** @description A hook or tool to try on a message of a session. */
        PluginTry: {
            arguments?: components["schemas"]["JsonObject"] | null;
            /** @description Unsaved texts by path; they replace or add files. */
            files?: {
                [key: string]: string;
            };
            /** @description Name of the hook; absent for a tool. */
            hook?: string | null;
            /**
             * @description The message. `on_input` takes a user message and `on_reply` a reply; both are read as they were, with the same
             *     dice. For a tool, the reply that calls it. For other hooks, the node at which the hook runs.
             */
            nodeId: components["schemas"]["Id"];
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
            /** @description Unsaved text of the entry script. */
            source?: string | null;
            /** @description Text that the hook reads instead of the message's text. */
            text?: string | null;
            /** @description Name of the tool in the manifest. */
            tool?: string | null;
        };
        /** @description One entry in the prompt order of a preset. */
        PresetOrderEntry: {
            /** @description Whether the prompt is enabled. */
            enabled: boolean;
            /** @description Identifier of the prompt. */
            identifier: string;
        };
        /**
         * @description What selected the preset of a prompt: the session, the model, or neither.
         * @enum {string}
         */
        PresetReason: "session" | "model" | "own";
        /** @description A preset. */
        PresetResponse: {
            /** @description The complete content; absent in lists. */
            body?: components["schemas"]["JsonObject"];
            /** @description Creation or import time, ISO 8601 UTC. */
            createdAt: string;
            /**
             * @description For presets that build prompts: all effective values by body field, with defaults for absent ones. Absent in
             *     lists.
             */
            effective?: components["schemas"]["JsonObject"];
            /** @description The same as `problem`: a code with arguments, and the sentence. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Name of the imported file; null if it was created here. */
            file: string | null;
            /** @description Id of the preset. */
            id: components["schemas"]["Id"];
            /**
             * @description Kind: `openai`, `textgen`, `kobold` and `novel` (prompt blocks and samplers), `instruct`, `context`,
             *     `sysprompt`, `reasoning` (templates), `regex`, `quickReplies`, `theme`, `group`, `variables`.
             */
            kind: string;
            /** @description Models that use the preset when a session has none: aliases or names, with `*` as a wildcard. */
            models: string[];
            /** @description Name of the preset. */
            name: string;
            /** @description For a `regex` preset with a body: why it never runs, such as an invalid pattern. It is stored anyway. */
            problem?: string;
            /** @description Whether the regex scripts of the preset run; `true` also if it has none. In lists, only of the kind `regex`. */
            regexScripts?: boolean;
            /**
             * @description What the imported preset wants and nobody has accepted or declined yet; absent = nothing. In lists, only of the
             *     kind `regex`.
             */
            requestedSettings?: components["schemas"]["RequestedScriptsResponse"];
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        PresetResponsePage: {
            items: components["schemas"]["PresetResponse"][];
            next: string | null;
        };
        /** @description The result of an import of presets. */
        PresetsImportResponse: {
            /** @description The presets that exist now. An identical one that already existed is returned instead of a copy. */
            items: components["schemas"]["PresetResponse"][];
            /** @description What was imported, and which parts work here. */
            report: components["schemas"]["ImportReportResponse"];
        };
        /** @description A request for a prompt preview. */
        Preview: {
            /** @description The message that would be written. */
            content?: string | null;
            /** @description Overrides the session's model. */
            model?: string | null;
            /** @description Overrides single parameters of the session. */
            params?: components["schemas"]["JsonObject"];
            /** @description The node below which the message would be written. Without `content`, the message to be answered. */
            parentId: components["schemas"]["Id"];
            presetId?: components["schemas"]["Id"] | null;
            /** @description Time zone of the person who writes the message; see the field of messages. */
            timeZone?: string | null;
        };
        /** @description Something that went wrong while a node was made. */
        Problem: {
            /** @description Arguments of the code: texts and numbers by name. Absent if there are none. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code of the problem. */
            code: string;
            /** @description The problem in one sentence. */
            message: string;
            /** @description The plugin concerned; absent if there is none. */
            plugin?: string;
        };
        /** @description One page of a branch. */
        Projection: {
            /** @description The messages, oldest first. */
            items: components["schemas"]["ChatMessageNode"][];
            /** @description Leaf of the branch. */
            leafId: components["schemas"]["Id"];
            next: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
            /** @description Why a plugin offers no quick replies. Problems of a message are in the message. */
            problems: components["schemas"]["Problem"][];
            /** @description Quick replies that plugins offer at the leaf. */
            quickReplies: components["schemas"]["QuickReply"][];
        };
        /** @description One block of a prompt. */
        PromptBlock: components["schemas"]["OtherFields"] & {
            /** @description Whether it was sent. */
            kept: boolean;
            /** @description Role of the message. */
            role?: components["schemas"]["Role"];
            /** @description Its place in the prompt; `plugin:<id>:<slot>` for the text of a plugin. */
            slot?: string;
            /** @description Where the text comes from. */
            source?: string;
            /** @description The text. */
            text: string;
            /** @description Number of tokens. */
            tokens?: number;
            /** @description Why it was not sent: `budget`, `duplicate` or `noPlace`. */
            why?: string;
        };
        /** @description The preset of a prompt. */
        PromptPreset: components["schemas"]["OtherFields"] & {
            /** @description What selected it. */
            by?: components["schemas"]["PresetReason"];
            /** @description Its id. */
            id?: string;
            /** @description The model that selected it. */
            model?: string;
            /** @description Its name. */
            name?: string;
        };
        /** @description The rolling summaries in a prompt. */
        PromptSummaries: components["schemas"]["OtherFields"] & {
            /** @description The summaries that were used. */
            texts?: components["schemas"]["PromptSummary"][];
        };
        /** @description One summary in a prompt. */
        PromptSummary: components["schemas"]["OtherFields"] & {
            /** @description Id of the summary. */
            id: string;
        };
        /** @description The chat template of a prompt. */
        PromptTemplate: {
            /** @description The same with code and arguments; absent in older records. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Its name. */
            name: string;
            /** @description Why it could not be used as it is. */
            problem?: string;
        };
        /** @description The size of a prompt. */
        PromptTokens: components["schemas"]["OtherFields"] & {
            /** @description A tokenizer, `server`, or an estimate. */
            by: string;
            /**
             * Format: int64
             * @description Number of tokens.
             */
            count: number;
        };
        /** @description Where a copy or an imported message comes from: the original, or a file. */
        Provenance: components["schemas"]["OtherFields"] & {
            /** @description The file of an import. */
            file?: string;
            /**
             * Format: int64
             * @description Line of the file, from 1.
             */
            line?: number | null;
            /** @description The original. */
            nodeId?: components["schemas"]["Id"];
            /** @description The session of the original. */
            sessionId?: components["schemas"]["Id"];
        };
        /**
         * @description Where a provider comes from.
         * @enum {string}
         */
        ProviderOrigin: "config" | "connected";
        /** @description A provider whose model list could not be read. */
        ProviderProblem: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable error code. */
            code: string;
            /** @description The error in one sentence. */
            message: string;
            /** @description Id of the provider. */
            provider: string;
        };
        /** @description A provider. */
        ProviderResponse: {
            /** @description Base URL of the API. */
            baseUrl: string;
            /**
             * Format: int32
             * @description Configured context length of its models in tokens; null = the server is asked.
             */
            contextTokens: number | null;
            /** @description The same as `unusable`: a code with arguments, and the sentence. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Whether a key is stored. The key itself is never returned. */
            hasKey: boolean;
            /** @description Id of the provider, the prefix of its models: `id/model`. */
            id: string;
            /** @description API kind, one of `kinds`. */
            kind: string;
            /** @description Configured model names; empty = the server is asked for its list. */
            models: string[];
            /** @description `config` if defined in `config.toml` and read-only here; otherwise `connected`. */
            origin: components["schemas"]["ProviderOrigin"];
            /** @description Why the provider cannot be used; null if it can. */
            unusable: string | null;
        };
        /** @description A model that a server lists. */
        ProviderTestModel: {
            /**
             * Format: int64
             * @description Context size in tokens, prompt and reply together; null if unknown.
             */
            contextLength: number | null;
            /** @description Model name without the provider prefix. */
            id: string;
        };
        /** @description What went wrong, in the provider's words, and what to do. */
        ProviderTestProblem: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable error code, as on nodes. */
            code: string;
            /** @description What the user can do about it. */
            hint: string;
            /** @description The error in one sentence. */
            message: string;
            /**
             * Format: int32
             * @description HTTP status of the provider's answer; null without an answer.
             */
            status: number | null;
        };
        /** @description A test reply of a model. */
        ProviderTestReply: {
            /**
             * Format: int64
             * @description Time to the first token, in milliseconds.
             */
            firstTokenMs: number;
            /** @description Start of the reply; empty if the model only sent reasoning. */
            text: string;
        };
        /** @description The result of testing a provider. */
        ProviderTestResponse: {
            /** @description Whether the test passed: a reply came, or the list came and no reply failed. */
            isOk: boolean;
            listProblem: components["schemas"]["ProviderTestProblem"] | null;
            /** @description Models that the server lists. */
            models: components["schemas"]["ProviderTestModel"][];
            reply: components["schemas"]["ProviderTestReply"] | null;
            replyProblem: components["schemas"]["ProviderTestProblem"] | null;
        };
        /** @description All providers. */
        ProvidersResponse: {
            /** @description Model of sessions without a model of their own. */
            defaultModel: string;
            /** @description Whether the default model was set here and overrides `config.toml`. */
            isChosen: boolean;
            /** @description Providers of the configuration first; each group in the order of definition. */
            items: components["schemas"]["ProviderResponse"][];
            /** @description Supported API kinds. */
            kinds: string[];
            /** @description Always null; the list has one page. */
            next: string | null;
            /** @description Known services and programs to connect. */
            services: components["schemas"]["ModelServiceResponse"][];
        };
        /** @description A quick reply that a plugin offers. */
        QuickReply: {
            /** @description Text on the button. */
            label: string;
            /** @description Id of the plugin. */
            plugin: string;
            /** @description Text of the message to send. */
            send: string;
        };
        /** @description Recall: finds messages and documents that are not in the prompt. */
        RecallSettingsFields: {
            /**
             * @description Document collections of the caller to search; no others are searched.
             * @default []
             */
            collections: string[];
            /** @description Whether to recall messages of the branch that no longer fit, and documents. */
            enabled: boolean;
        };
        /** @description One possible reply. */
        Record: {
            /** @description Whether nothing follows the reply yet. */
            candidate: boolean;
            /** @description Text of the reply. */
            content: string;
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Id of the reply. */
            id: components["schemas"]["Id"];
            /** @description Everything else, such as model, tokens and cost. */
            metadata: components["schemas"]["JsonObject"];
            /** @description Context node that it answers. */
            nodeId: components["schemas"]["Id"];
            /** @description Reasoning of the model. */
            reasoning: string | null;
            /** @description `generating`, `complete` or `error`. */
            status: string;
        };
        /** @description A recorded line below a message. */
        RecordedNote: {
            /** @description Arguments of the code: texts and numbers by name. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code if the server wrote the line; absent otherwise. */
            code?: string;
            /** @description The plugin that wrote the line. */
            plugin: string;
            /** @description The text of the line. */
            text: string;
        };
        /** @description A recorded problem; `code` is absent in older records. */
        RecordedProblem: components["schemas"]["CodedMessage"] & {
            /** @description The plugin concerned; absent if there is none. */
            plugin?: string;
        };
        /** @description A state operation of a copied node that the active rules refuse. */
        RefusedOperationResponse: {
            /** @description Arguments of the code: texts and numbers by name. */
            args: components["schemas"]["JsonObject"];
            /** @description Stable code of the reason. */
            code: string;
            /** @description Copied node. */
            nodeId: components["schemas"]["Id"];
            /** @description Path in the state. */
            path: string;
            /** @description Reason in one sentence. */
            reason: string;
        };
        /** @description Whether regex scripts of cards and presets may run in a session. The caller's own scripts always do. */
        RegexScriptsPermission: {
            /** @description Scripts of the speaking character's card. */
            card: boolean;
            /** @description Scripts of the preset. */
            preset: boolean;
        };
        /** @description Whether remote images of a card are loaded. */
        RemoteImagesPermission: {
            /** @description `true` or `false`; null = the user has not decided yet. */
            allowed: boolean | null;
        };
        /** @description One message at which a hook ran again. */
        ReplayPluginRow: {
            error: components["schemas"]["ScriptError"] | null;
            /** @description Name of the hook. */
            hook: string;
            /** @description Operations that it proposes now. */
            new: components["schemas"]["WorldOperation"][];
            /** @description Id of the message. */
            nodeId: components["schemas"]["Id"];
            /** @description Visible lines that it would write below the message. */
            notes: string[];
            /** @description Operations that the plugin proposed originally. */
            old: components["schemas"]["WorldOperation"][];
            summary: components["schemas"]["JsonObject"] | null;
            /** @description Differences of the state after the message: `before` is the stored state, `after` that of the replay. */
            world: components["schemas"]["PathChangeResponse"][];
        };
        /** @description A chunk of a running reply. */
        ReplyChunkEvent: {
            /** @description The new text. */
            contentChunk: string;
            id: components["schemas"]["Id"] | null;
            /** @description True if the chunk is all of the text, because earlier text turned out to be a thought; absent otherwise. */
            isWhole?: boolean;
            /** @description Length of the text before the chunk, in UTF-16 code units. */
            offset: number;
            /** @description New reasoning text. */
            reasoningChunk?: string;
            /** @description Length of the reasoning before the chunk, in UTF-16 code units. */
            reasoningOffset?: number;
        };
        /** @description Why a reply failed. */
        ReplyError: components["schemas"]["OtherFields"] & {
            /** @description Arguments of the code: texts and numbers by name. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code. */
            code: string;
            /** @description What the user can do about it. */
            hint?: string;
            /** @description The error in one sentence. */
            message: string;
        };
        /** @description The facts of one reply of a model or a narrator, also of a side call. Every field may be absent. */
        ReplyFacts: {
            /** @description The requested name, if it stands for several models. */
            alias?: string;
            /**
             * Format: int64
             * @description Prompt tokens that came from the cache of the provider; null if unknown.
             */
            cachedTokens?: number | null;
            /**
             * Format: double
             * @description The cost in the provider's currency, from 0; null if unknown.
             */
            cost?: number | null;
            /** @description The source of the cost: `provider`, `settings` or `prices`; null if the cost is unknown. */
            costFrom?: string | null;
            /** @description Why the reply failed; in a trace also why no prompt could be made. */
            error?: components["schemas"]["ReplyError"];
            /** @description Why the model stopped; `cancelled` if a user stopped it. Null if the server did not say. */
            finishReason?: string | null;
            /**
             * Format: int64
             * @description Time from request to the first text, in milliseconds; null if none came.
             */
            firstTokenMs?: number | null;
            /** @description Whether the text ends before the model was done. */
            isTruncated?: boolean;
            /**
             * Format: int64
             * @description Time from request to end, in milliseconds.
             */
            latencyMs?: number;
            /** @description The model that was asked; `plugin:<id>` for a plugin. */
            model?: string;
            /** @description The parameters as sent. */
            params?: components["schemas"]["JsonObject"];
            /** @description The models of the alias that failed before one answered. */
            passedOver?: components["schemas"]["SkippedModel"][];
            /**
             * Format: int64
             * @description Time in the queue, in milliseconds.
             */
            queuedMs?: number;
            /** @description The model as the provider calls it. */
            reportedModel?: string;
            /**
             * Format: double
             * @description What prompt caching saved, in the same currency.
             */
            saved?: number;
            /** @description The tokens, as the provider counted them. */
            tokenCount?: components["schemas"]["ReplyTokenCount"];
            /** @description The tools that the model called. */
            toolCalls?: components["schemas"]["ReplyToolCall"][];
        };
        /** @description The tokens of a request and its answer. */
        ReplyTokenCount: components["schemas"]["OtherFields"] & {
            /**
             * Format: int64
             * @description Reply tokens.
             */
            completion?: number;
            /**
             * Format: int64
             * @description Prompt tokens.
             */
            prompt?: number;
        };
        /** @description A call of a tool, as the model wrote it. */
        ReplyToolCall: components["schemas"]["OtherFields"] & {
            /** @description The arguments. They should be JSON, but can be invalid. */
            arguments: string;
            /** @description The provider's id of the call; empty if it gives none. */
            id: string;
            /** @description Name of the tool. */
            name: string;
        };
        /**
         * @description What an imported card or preset wants and its owner has neither accepted nor declined yet. To accept it, send
         *     `"regexScripts": true` with `PATCH`; to decline it, send `false`, or only `"requestedSettings": null`.
         */
        RequestedScriptsResponse: {
            /** @description `true`: its regex scripts want to run. */
            regexScripts: boolean;
        };
        /**
         * @description The settings that an imported file wants and that were not applied, because they may cost money, grant permissions or
         *     run scripts. To accept them, set them with `PATCH`, together with `"requestedSettings": null`, and the permissions
         *     with `PUT /api/sessions/{sid}/plugins`. To decline them, send only the null.
         */
        RequestedSettingsResponse: {
            /** @description The permissions that each plugin is to get, by the plugin's id; absent if there are none. */
            grants?: {
                [key: string]: string[];
            };
            /** @description Model of the session. */
            model?: string;
            /** @description Model parameters; absent if there are none. */
            params?: components["schemas"]["JsonObject"];
            /** @description Preset for prompts. It came with the file, or is a preset of this server. */
            presetId?: components["schemas"]["Id"];
            /** @description `true` if messages and documents are to be recalled; otherwise absent. */
            recall?: boolean;
            /** @description Which regex scripts want to run; absent if there are none. */
            regexScripts?: components["schemas"]["RegexScriptsPermission"];
            /** @description Automatic summaries; absent if there are to be none. */
            summaries?: components["schemas"]["SummarySettingsFields"];
            /** @description Model that writes the changes of values. */
            valuesModel?: string;
        };
        /** @description A request for alternative replies. */
        Reroll: {
            characterId?: components["schemas"]["Id"] | null;
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            /** @description Overrides the session's model. */
            model?: string | null;
            /** @description Whether HEAD moves to the new reply; default true. */
            moveHead?: boolean | null;
            /**
             * Format: int32
             * @description Number of replies, 1 to 16; default 1.
             */
            n?: number | null;
            /** @description Overrides single parameters of the session. */
            params?: components["schemas"]["JsonObject"];
        };
        /**
         * @description Role of a message.
         * @enum {string}
         */
        Role: "system" | "user" | "assistant";
        /** @description A scanned lorebook. */
        ScannedLorebook: {
            /** @description Id of the lorebook. */
            id: string;
            /** @description Its name. */
            name: string;
            /** @description Why it applies. */
            scope: string;
        };
        /** @description An error or warning about the code of a plugin. */
        ScriptError: {
            /** @description Arguments of the code: texts and numbers by name; absent if there are none. */
            args?: components["schemas"]["JsonObject"];
            /** @description Stable code; absent in older records. */
            code?: string;
            /**
             * Format: int32
             * @description Column, from 1.
             */
            column: number | null;
            /** @description The source around the error. */
            excerpt?: components["schemas"]["ExcerptLine"][];
            /** @description Path of the file. */
            file: string | null;
            /** @description The hook that ran. */
            hook: string | null;
            /** @description Kind of the error. */
            kind: string;
            /** @description The limit that was hit. */
            limit?: components["schemas"]["Json"];
            /**
             * Format: int32
             * @description Line, from 1.
             */
            line: number | null;
            /** @description The error in one sentence. */
            message: string;
            /** @description Id of the node at which it ran. */
            node: string | null;
            /** @description Number of operations of the call that are not applied. */
            opsDropped: number;
            /** @description Id of the plugin. */
            plugin: string;
            /** @description The call stack, innermost first. */
            stack: components["schemas"]["ScriptFrame"][];
            /**
             * Format: int64
             * @description Number of the turn at which it ran.
             */
            turn?: number;
            /** @description Version of the plugin; empty if unknown. */
            version: string;
        };
        /** @description One call of a stack. */
        ScriptFrame: {
            /**
             * Format: int32
             * @description Column, from 1.
             */
            column: number | null;
            /** @description Path of the file. */
            file: string;
            /** @description Name of the function. */
            function: string;
            /**
             * Format: int32
             * @description Line, from 1.
             */
            line: number | null;
        };
        /**
         * @description Macros in a pattern: not expanded, expanded as part of the pattern, or expanded literally.
         * @enum {string}
         */
        ScriptMacros: "plain" | "raw" | "escaped";
        /** @description What a regex script did to a prompt. */
        ScriptRun: {
            /** @description Arguments of the code: texts and numbers by name; absent if there are none. */
            args?: components["schemas"]["JsonObject"];
            /**
             * Format: int64
             * @description Number of changed texts.
             */
            changed: number;
            /** @description The same in one sentence. */
            message?: string;
            /** @description Name of the script. */
            name?: string;
            /** @description Where it belongs. */
            scope: components["schemas"]["ScriptScope"];
            /** @description Why it was left out: a stable code. */
            why?: string;
        };
        /**
         * @description Where a regex script belongs: to the caller, a preset or a character card.
         * @enum {string}
         */
        ScriptScope: "global" | "preset" | "card";
        /** @description Search results. */
        SearchAnswer: {
            /** @description Results in the requested order. */
            items: components["schemas"]["Hit"][];
            /** @description Hints about the query: it was cut, has no word, or names something unknown. */
            notes: components["schemas"]["SearchNoteResponse"][];
            /**
             * Format: int32
             * @description Progress of an index rebuild in percent; null if none is running. Messages not yet indexed are not found.
             */
            rebuilding: number | null;
            /** @description Whether the index lags behind the newest writes. */
            stale: boolean;
            /**
             * Format: int64
             * @description Duration in milliseconds.
             */
            tookMs: number;
            /** @description Total number of matches. */
            total: components["schemas"]["SearchTotalResponse"];
        };
        /**
         * @description A hint about a search query.
         * @enum {string}
         */
        SearchNoteCode: "no_word" | "cut" | "no_session" | "no_character";
        /** @description A hint about the query. */
        SearchNoteResponse: {
            /** @description `no_word`, `cut`, `no_session` or `no_character`. */
            code: components["schemas"]["SearchNoteCode"];
            /** @description Explanation for people. */
            message: string;
            /** @description The unknown name. */
            name: string | null;
        };
        /** @description An excerpt with highlighted matches. */
        SearchSnippetResponse: {
            /** @description Matches as ranges `[start, end)` in UTF-16 code units. */
            marks: components["schemas"]["SnippetMark"][];
            /** @description The excerpt on one line. */
            text: string;
        };
        /** @description The total number of matches. */
        SearchTotalResponse: {
            /** @description Whether `value` is exact; otherwise it is a minimum. */
            exact: boolean;
            /**
             * Format: int64
             * @description Number of matches.
             */
            value: number;
        };
        /** @description A frame to a client. Clients ignore frames with an unknown `type`. */
        ServerFrame: {
            /** @description HEAD of the session. */
            leafId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of the newest operation.
             */
            op: number;
            /** @enum {string} */
            type: "hello";
        } | {
            /** @description The created node. */
            node: components["schemas"]["ChatMessageNode"];
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @enum {string} */
            type: "node.created";
        } | (components["schemas"]["ReplyChunkEvent"] & {
            /** @enum {string} */
            type: "node.content.updated";
        }) | {
            /** @description Node of the reply. */
            id: components["schemas"]["Id"];
            /** @description `queued`, `waiting`, `thinking` or `streaming`. */
            phase: string;
            /** @description Position in the queue, from 1, while `phase` is `queued`. */
            queuePosition?: number;
            /** @enum {string} */
            type: "node.progress";
        } | {
            /** @description The finished node. */
            node: components["schemas"]["ChatMessageNode"];
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @enum {string} */
            type: "node.completed";
            /** @description Delta of the node, with its effect on the state. */
            worldDelta: components["schemas"]["Delta"];
        } | (components["schemas"]["NodeStatesEvent"] & {
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
        } & {
            /** @enum {string} */
            type: "node.state.updated";
        }) | {
            contextNodeId: components["schemas"]["Id"] | null;
            /** @description The new HEAD. */
            leafId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @enum {string} */
            type: "head.moved";
        } | {
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @description The entry of the operation log. */
            operation: components["schemas"]["Operation"];
            /** @enum {string} */
            type: "tree.changed";
        } | {
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @description Changed settings, by the field names of a session. */
            session: components["schemas"]["JsonObject"];
            /** @description New title; absent if it did not change. */
            title?: string;
            /** @enum {string} */
            type: "session.updated";
        } | {
            /** @description Ids of the plugins, whether or not the session uses them. */
            ids: string[];
            /** @enum {string} */
            type: "plugins.changed";
        } | (components["schemas"]["DraftChunkEvent"] & {
            /** @enum {string} */
            type: "draft.updated";
        }) | {
            /** @enum {string} */
            type: "pong";
        } | {
            /** @description Code, message, hint and details of the error. */
            error: components["schemas"]["ErrorFields"];
            /** @enum {string} */
            type: "error";
        };
        /** @description A session: one story. */
        Session: {
            /** @description HEAD of the session. */
            activeLeafId: components["schemas"]["Id"];
            authorsNote: components["schemas"]["AuthorsNoteFields"] | null;
            /** @description Which version of its card the session uses for each character; only in the answer for one session. */
            cards?: components["schemas"]["SessionCard"][];
            /** @description Characters of the session; the first speaks by default. */
            characterIds: components["schemas"]["Id"][];
            /** @description The nearest context node at or above HEAD; only in the answer for one session. */
            contextNodeId?: components["schemas"]["Id"];
            /** @description Size of the session. */
            counts: components["schemas"]["Counts"];
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            /** @description Folder in the list of sessions; null = no folder. */
            folder: string | null;
            /** @description Id of the session. */
            id: components["schemas"]["Id"];
            /** @description Whether the session stands above the others in lists. */
            isPinned: boolean;
            /** @description View on the page: `tree` or `linear`. */
            mode: components["schemas"]["SessionViewMode"];
            /** @description Model of the session; null = the server's default. */
            model: string | null;
            /**
             * Format: int64
             * @description Number of the newest operation.
             */
            op: number;
            /** @description Owner of the session. */
            ownerId: components["schemas"]["Id"];
            /** @description Model parameters. */
            params: components["schemas"]["JsonObject"];
            personaId: components["schemas"]["Id"] | null;
            /** @description Plugins of the session. */
            plugins: components["schemas"]["SessionPluginFields"][];
            presetId: components["schemas"]["Id"] | null;
            /** @description Start of the newest message, as displayed; only in lists. */
            preview?: string;
            /** @description The same mistakes as code, arguments and sentence. */
            problems?: components["schemas"]["CodedMessage"][];
            profileId: components["schemas"]["Id"] | null;
            /** @description Whether the settings differ from those of this profile now; false without a profile. */
            profileIsChanged: boolean;
            /** @description Recall of messages and documents that are not in the prompt. */
            recall: components["schemas"]["RecallSettingsFields"];
            /** @description Whether regex scripts of cards and of the preset run. */
            regexScripts: components["schemas"]["RegexScriptsPermission"];
            requestedSettings: components["schemas"]["RequestedSettingsResponse"] | null;
            /** @description Root node of the tree. */
            rootNodeId: components["schemas"]["Id"];
            /** @description Automatic summaries of messages that are not in the prompt. */
            summaries: components["schemas"]["SummarySettingsFields"];
            /** @description Tags of the session, in alphabetical order. */
            tags: string[];
            /** @description Title of the session. */
            title: string;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
            /** @description Model that writes the changes of values after each reply; null = the model of the reply does. */
            valuesModel: string | null;
            /** @description Probable mistakes in the new settings, such as models that their provider does not list. */
            warnings?: string[];
        };
        /** @description The card that a session uses for one of its characters. */
        SessionCard: {
            /** @description The character. */
            characterId: components["schemas"]["Id"];
            /** @description Whether the character has another card now than the session uses. */
            hasNewer: boolean;
            /**
             * Format: int64
             * @description Newest version of the character; null if the character is in the trash or deleted.
             */
            newestVersion: number | null;
            /**
             * Format: int64
             * @description Version of its card that prompts use; null = a card that is none of its versions here.
             */
            version: number | null;
        };
        /** @description A folder or a tag of sessions. */
        SessionGroupResponse: {
            /**
             * Format: int64
             * @description Number of sessions that are not in the trash.
             */
            count: number;
            /** @description Its name. */
            name: string;
        };
        /** @description The folders or the tags of the caller's sessions, in alphabetical order. */
        SessionGroupsResponse: {
            /** @description The folders or tags. */
            items: components["schemas"]["SessionGroupResponse"][];
        };
        SessionPage: {
            items: components["schemas"]["Session"][];
            next: string | null;
        };
        /** @description The settings of one plugin in a session. */
        SessionPluginFields: {
            /** @description Settings of the plugin. */
            config?: components["schemas"]["JsonObject"];
            /** @description Whether the plugin is enabled; default true. */
            enabled?: boolean;
            /** @description Granted permissions; `[]` = none, absent = all that the manifest requests. */
            grants?: string[] | null;
            /** @description Id of the plugin. */
            id: string;
            /** @description Permissions that the user has declined and is not asked for again; absent = unchanged. */
            refused?: string[] | null;
        };
        SessionPluginFieldsList: components["schemas"]["SessionPluginFields"][];
        /** @description A regex script of a session. */
        SessionScriptResponse: {
            /** @description The regular expression to find, at most 2000 characters. */
            find: string;
            /** @description Whether the session permits the script. */
            isAllowed: boolean;
            /** @description Whether it changes the display. */
            isForDisplay: boolean;
            /** @description Whether it changes prompts. */
            isForPrompts: boolean;
            /** @description Whether the script is enabled. */
            isOn: boolean;
            /** @description Name of the script. */
            name: string;
            /** @description The replacement text, at most 2000 characters. */
            replace: string;
            /** @description Source: `global` (the caller's own), `preset` or `card`. */
            scope: components["schemas"]["ScriptScope"];
            /** @description Name of the preset or character it belongs to; empty for the caller's own. */
            whose: string;
        };
        /** @description The regex scripts of a session in execution order, including those that are not permitted. */
        SessionScriptsResponse: {
            /** @description The scripts, at most 1000. */
            items: components["schemas"]["SessionScriptResponse"][];
        };
        /**
         * @description View of a session on the page.
         * @enum {string}
         */
        SessionViewMode: "tree" | "linear";
        /**
         * @description A change of several sessions.
         * @enum {string}
         */
        SessionsAction: "delete" | "move" | "tag" | "untag" | "pin" | "unpin";
        /** @description The default model to set. */
        SetDefaultModelRequest: {
            /** @description `provider/model`, an alias of the configuration or `plugin:<id>`; null = the value in `config.toml`. */
            model?: string | null;
        };
        /** @description The result of setting the plugins of a session. */
        SetPluginsResponse: {
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
            /** @description The plugins of the session. */
            plugins: components["schemas"]["SessionPluginFields"][];
            /** @description The same mistakes as code, arguments and sentence. */
            problems: components["schemas"]["CodedMessage"][];
            /** @description Probable mistakes, such as commands that several plugins define. */
            warnings: string[];
        };
        /** @description The position of a node among its siblings. */
        Siblings: {
            /** @description Number of siblings, including the node. */
            count: number;
            /** @description All siblings in creation order, including the node. */
            ids: components["schemas"]["Id"][];
            /** @description Index from 0. */
            index: number;
        };
        /** @description A model that failed before another one answered. */
        SkippedModel: components["schemas"]["CodedMessage"] & components["schemas"]["OtherFields"] & {
            /** @description The model. */
            model: string;
        };
        /** @description Start and end of a match */
        SnippetMark: [
            number,
            number
        ];
        /** @description What a request wrote and started. */
        Started: {
            /** @description Placeholders of the replies. */
            generations: components["schemas"]["ChatMessageNode"][];
            node: components["schemas"]["ChatMessageNode"] | null;
            /**
             * Format: int64
             * @description Number of the operation.
             */
            op: number;
        };
        /** @description The stash of a session. */
        StashResponse: {
            /** @description Fragments, the last pruned first. */
            items: components["schemas"]["Fragment"][];
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /**
         * @description Status of a node: a reply starts as `generating` and ends as `complete` or `error`.
         * @enum {string}
         */
        Status: "generating" | "complete" | "error";
        /** @description The summaries of a branch. */
        SummariesResponse: {
            /** @description The same as code, arguments and sentence; absent otherwise. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description Whether a summary of the session is being written right now. */
            isWorking: boolean;
            /** @description Summaries in the order of their messages; chapters follow the summaries that they were made of. */
            items: components["schemas"]["Summary"][];
            /** @description Why no summary can be written; null otherwise. */
            problem?: string;
        };
        /** @description A request to draft a summary. */
        SummariseRequest: {
            /** @description Overrides the session's model. */
            model?: string | null;
            /** @description Consecutive messages of one branch, in any order; at most 2000. */
            nodeIds: components["schemas"]["Id"][];
            /** @description Overrides single parameters of the session. */
            params?: components["schemas"]["JsonObject"];
        };
        /** @description A summary of consecutive messages of a branch. */
        Summary: {
            /** @description The text; an empty one is never put into a prompt. */
            content: string;
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            firstId: components["schemas"]["Id"] | null;
            /** @description Id of the summary. */
            id: components["schemas"]["Id"];
            /** @description Whether a user has edited the text. */
            isEdited: boolean;
            /** @description Whether the messages have changed since; then no prompt uses the summary. */
            isStale: boolean;
            lastId: components["schemas"]["Id"] | null;
            /**
             * Format: int32
             * @description 1 for a summary of messages; a chapter has the level of its parts plus one.
             */
            level: number;
            /** @description How it was made: `model`, `tokenCount`, `cost` and other fields of a reply's metadata. */
            metadata: components["schemas"]["JsonObject"];
            /** @description All summarised messages, oldest first. */
            nodeIds: components["schemas"]["Id"][];
            /** @description The plugin that proposed it; null for a summary of the server. */
            plugin: string | null;
        };
        /** @description Automatic summaries: messages that no longer fit into prompts are summarised in the background. */
        SummarySettingsFields: {
            /** @description Whether summaries are made. */
            enabled: boolean;
            /**
             * Format: int32
             * @description Number of message tokens per summary, 100 to 50000; null = the server's default.
             */
            every?: number | null;
            /** @description Model that writes the summaries; null = the session's model. */
            model?: string | null;
        };
        /** @description A provider to test before it is added. */
        TestNewProviderRequest: {
            /** @description Base URL of the API. */
            baseUrl: string;
            /** @description Id of an existing provider that is being changed; its stored key is used if `key` is absent. */
            id?: string | null;
            /** @description API key: absent = the stored one, null = none. */
            key?: string | null;
            /** @description API kind. */
            kind: string;
            /** @description Model for a test reply; absent = only the model list is requested. */
            model?: string | null;
        };
        /** @description A test of an existing provider. */
        TestProviderRequest: {
            /** @description Model name without the provider prefix; absent = only the model list is requested. */
            model?: string | null;
        };
        /** @description Timings of a reply in milliseconds since the request; null while not reached. */
        Timings: {
            /**
             * Format: int64
             * @description Time to the first token.
             */
            firstToken: number | null;
            /**
             * Format: int64
             * @description Time in the queue; absent if the reply started at once.
             */
            queued?: number;
            /**
             * Format: int64
             * @description Time to the end.
             */
            total: number | null;
        };
        /** @description Tokens that models read and wrote. */
        TokenTotalsResponse: {
            /**
             * Format: int64
             * @description Reply tokens.
             */
            completion: number;
            /**
             * Format: int64
             * @description Prompt tokens.
             */
            prompt: number;
        };
        /**
         * @description How tools are offered to a model.
         * @enum {string}
         */
        ToolMode: "native" | "words" | "none";
        /** @description A server that refused a request because of its tools. */
        ToolsRefusal: components["schemas"]["OtherFields"] & {
            /** @description The model. */
            model: string;
            /** @description Why it refused. */
            why: string;
        };
        /** @description The trace of a reply: how it was made. */
        Trace: components["schemas"]["TraceHead"] & {
            /**
             * @description Blocks of the prompt, including those left out: `{slot, role, source, text, tokens, kept, why?}`. `why` is
             *     `budget`, `duplicate` or `noPlace`. The slot of a plugin's text is `plugin:<id>:<slot>`.
             */
            blueprint: components["schemas"]["PromptBlock"][];
            /** @description Nodes whose texts were sent, oldest first. */
            history: components["schemas"]["TraceNodeResponse"][];
            /** @description Whether `messages` equals the sent messages byte for byte. */
            isExact: boolean;
            /** @description Messages as they were sent. */
            messages: components["schemas"]["TraceMessageResponse"][];
            /**
             * @description What plugins planned before the prompt was built, in execution order: `{plugin, version, hook, injected, lore,
             *     unlore, warnings, log, micros, operations, error}`. Absent if no plugin plans.
             */
            plan?: components["schemas"]["HookRun"][];
            /** @description What did not fit and what failed, including plugins that ran no hook because they are disabled or missing. */
            problems: components["schemas"]["RecordedProblem"][];
            /** @description Recorded random draws. */
            rolls: components["schemas"]["DiceRoll"][];
            /** @description Hooks that ran on the reply. */
            rules: components["schemas"]["HookRun"][];
            /** @description Timings of the reply. */
            timings: components["schemas"]["Timings"];
            /**
             * @description Tools that plugins offered, and in `used` the calls of the model, in order: `{plugin, hook, arguments, answer |
             *     refused}`. Absent if none was offered.
             */
            tools?: components["schemas"]["TraceTools"];
            usage: components["schemas"]["TraceUsageResponse"] | null;
        };
        /** @description A node of another session. */
        TraceForeignNode: {
            /** @description Always true. */
            elsewhere: boolean;
        };
        /** @description What a trace records besides its blocks and messages. Every field may be absent. */
        TraceHead: components["schemas"]["ReplyFacts"] & components["schemas"]["OtherFields"] & {
            /** @description The hash of the messages as sent. */
            hash?: string;
            /** @description The tags whose contents are hidden from models. */
            hideTags?: string[];
            historyCut?: components["schemas"]["HistoryCut"] | null;
            /** @description The active entries of lorebooks. */
            lore?: components["schemas"]["LoreTrace"];
            /** @description What macros put into the prompt. */
            macros?: components["schemas"]["JsonObject"];
            /** @description The parameters that were not sent as they were set, because the server refuses them: a code, and why. */
            parameters?: components["schemas"]["CodedMessage"][];
            /** @description The preset of the prompt, and why it was used. */
            preset?: components["schemas"]["PromptPreset"];
            /** @description The recalled passages. */
            recall?: components["schemas"]["JsonObject"];
            /** @description The regex scripts that changed something or were left out. */
            scripts?: components["schemas"]["ScriptRun"][];
            /** @description The rolling summaries in the prompt. */
            summaries?: components["schemas"]["PromptSummaries"];
            /** @description The chat template that joined the prompt into one text. */
            template?: components["schemas"]["PromptTemplate"];
            /** @description The size of the prompt, and who counted it. */
            tokens?: components["schemas"]["PromptTokens"];
            /**
             * Format: int64
             * @description The estimated tokens of the prompt.
             */
            tokensEstimated?: number;
            /** @description The model that refused tools, so that they are in the text. */
            toolsInWords?: components["schemas"]["ToolsRefusal"];
            /** @description The request to the model that writes the values. */
            values?: components["schemas"]["ValuesCall"];
        };
        /** @description One message as sent to a model. */
        TraceMessageResponse: {
            /** @description Text of the message. */
            content: string;
            /** @description Speaker, if the provider received it as a field. */
            name?: string;
            /** @description Role of the message. */
            role: string;
        };
        /** @description A node whose text was sent. */
        TraceNodeResponse: components["schemas"]["Id"] | components["schemas"]["TracePurgedNode"] | components["schemas"]["TraceForeignNode"];
        /** @description A purged node. */
        TracePurgedNode: {
            /** @description BLAKE3 hash of the text in hex; null if unknown. */
            hash: string | null;
            /** @description Always true. */
            purged: boolean;
        };
        /** @description The tools that plugins offered, and the calls of the model. */
        TraceTools: {
            /** @description The tools: their names, or in a preview the definitions for the model. */
            offered: components["schemas"]["Json"][];
            /** @description The calls, in order. */
            used: components["schemas"]["HookRun"][];
        };
        /** @description Token counts of the model server. */
        TraceUsageResponse: {
            /**
             * Format: int64
             * @description Reply tokens.
             */
            completion: number | null;
            /**
             * Format: int64
             * @description Prompt tokens.
             */
            prompt: number | null;
        };
        /**
         * @description The kind of an item in the trash.
         * @enum {string}
         */
        TrashItemKind: "session" | "character" | "persona" | "lorebook" | "preset";
        /** @description A deleted item that can be restored. */
        TrashItemResponse: {
            /** @description Id of the item, which it keeps after a restore. */
            id: components["schemas"]["Id"];
            /** @description Kind of the item. */
            kind: components["schemas"]["TrashItemKind"];
            /** @description Title of a session; name of a character, persona, lorebook or preset. */
            name: string;
            /**
             * Format: int64
             * @description Number of messages on all branches of a session; null for other kinds.
             */
            nodes: number | null;
            /** @description Deletion time, ISO 8601 UTC. */
            trashedAt: string;
            /** @description Time until which it can be restored, ISO 8601 UTC. */
            until: string;
        };
        TrashItemResponsePage: {
            items: components["schemas"]["TrashItemResponse"][];
            next: string | null;
        };
        /**
         * @description One tree edit: `prune {nodeId, name?}`, `graft {nodeId | fragmentId, targetId, mode, fromSessionId?}`, `rename
         *     {fragmentId, name}`, `label {nodeId, name, following?}`, `unlabel {name}`, `summarise {nodeIds, content}`, `merge
         *     {fromLeafId, ontoLeafId, nodeIds?, resolve?}`, `purge {nodeId | fragmentId, confirm}`.
         */
        TreeEditRequest: {
            /** @description Must be true to delete permanently. */
            confirm?: boolean | null;
            /** @description Text of the summary. */
            content?: string | null;
            /** @description Whether the label moves with appended nodes. */
            following?: boolean | null;
            /** @description The fragment to edit. */
            fragmentId?: string | null;
            fromLeafId?: components["schemas"]["Id"] | null;
            fromSessionId?: components["schemas"]["Id"] | null;
            /** @description `move` or `copy`; default `move`. */
            mode?: string | null;
            /** @description Name of a fragment or label; null removes the name of a fragment. */
            name?: string | null;
            nodeId?: components["schemas"]["Id"] | null;
            /** @description Consecutive messages of one branch, in any order. */
            nodeIds?: components["schemas"]["Id"][] | null;
            ontoLeafId?: components["schemas"]["Id"] | null;
            /** @description Name of the edit: `prune`, `graft`, `rename`, `label`, `unlabel`, `summarise`, `merge` or `purge`. */
            op?: string;
            resolve?: components["schemas"]["JsonObject"] | null;
            targetId?: components["schemas"]["Id"] | null;
        };
        /** @description A list of tree edits; either all are applied or none. */
        TreeEditsRequest: {
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            /** @description 1 to 500 edits, applied in this order. */
            operations: components["schemas"]["TreeEditRequest"][];
        };
        /** @description The result of tree edits. */
        TreeEditsResponse: {
            /** @description Branches that leave a summarised run before its end, so that the summary also hides texts of theirs. */
            affected: components["schemas"]["AffectedBranchesResponse"];
            /** @description Fragments created by the edits, in order. */
            fragmentIds: string[];
            /** @description Whether `worldChanges` or `refused` is incomplete. */
            isCutShort: boolean;
            /** @description Nodes created by the edits, in order: the top of each copy, each summary, the end of each merge. */
            nodeIds: components["schemas"]["Id"][];
            /**
             * Format: int64
             * @description Number of the operation; the newest one if nothing changed.
             */
            op: number;
            /** @description Operations of copies from another session that the active rules here refuse; at most 200. */
            refused: components["schemas"]["RefusedOperationResponse"][];
            /** @description Changes of the state at HEAD, at labels and at the tops of moved parts; at most 200. */
            worldChanges: components["schemas"]["NodeWorldChangeResponse"][];
        };
        TreeResponse: components["schemas"]["ChatHistoryTree"] | components["schemas"]["TreeSkeleton"];
        /** @description The outline of a tree as columns: entry n of each column belongs to node n. Parents precede their children. */
        TreeSkeleton: {
            /** @description HEAD of the session. */
            activeLeafId: components["schemas"]["Id"];
            /** @description Number of nodes. */
            count: number;
            /** @description Creation time of the session, ISO 8601 UTC. */
            createdAt: string;
            /** @description Flags of each node, as a sum of 1, 2, 4 and 8 in the order of `legend.flags`. */
            flags: number[];
            /** @description Node ids. */
            ids: components["schemas"]["Id"][];
            /** @description Kind of each node, as an index into `legend.kinds`. */
            kinds: number[];
            /** @description Labels on nodes. */
            labels: components["schemas"]["Label"][];
            /** @description Names for the numbers in the columns. */
            legend: components["schemas"]["TreeSkeletonLegend"];
            /**
             * Format: int64
             * @description Number of the newest operation.
             */
            op: number;
            /** @description Index of each node's parent in `ids`; -1 for the root. */
            parents: number[];
            /** @description The first 80 characters of each displayed text. */
            previews: string[];
            /** @description Role of each node, as an index into `legend.roles`. */
            roles: number[];
            /** @description Root node of the tree. */
            rootNodeId: components["schemas"]["Id"];
            /** @description Id of the session. */
            sessionId: components["schemas"]["Id"];
            /** @description Pruned fragments outside the tree. */
            stash: components["schemas"]["Fragment"][];
            /** @description Status of each node, as an index into `legend.statuses`. */
            statuses: number[];
            /** @description Title of the session. */
            title: string;
            /** @description Time of the last change, ISO 8601 UTC. */
            updatedAt: string;
        };
        /** @description Names for the numbers of an outline. */
        TreeSkeletonLegend: {
            /** @description Flag names for 1, 2, 4 and 8. */
            flags: string[];
            /** @description Kind names by number. */
            kinds: string[];
            /** @description Role names by number. */
            roles: string[];
            /** @description Status names by number. */
            statuses: string[];
        };
        /** @description The cost of one hook call. */
        TryHookUsage: {
            /**
             * Format: int64
             * @description Peak heap size in bytes.
             */
            heapPeak: number;
            /**
             * Format: int64
             * @description CPU time in microseconds.
             */
            micros: number;
            /**
             * Format: int64
             * @description Interpreter steps.
             */
            operations: number;
        };
        /** @description One turn: a context node, with the state just before the model speaks, and its possible replies. */
        Turn: {
            /** @description Id of the context node. */
            contextNodeId: components["schemas"]["Id"];
            /** @description Creation time, ISO 8601 UTC. */
            createdAt: string;
            defaultGeneration: components["schemas"]["Id"] | null;
            /** @description Events confirmed so far on this branch. */
            eventHistory: components["schemas"]["JsonObject"][];
            /** @description Whether the full state is stored at this node. */
            isKeyframe: boolean;
            parentId: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description How many messages of the branch recall and summaries can use at this turn: those up to the context
             *     node. Null while both are off.
             */
            ragPosition: number | null;
            /** @description All replies in creation order. */
            records: components["schemas"]["Record"][];
            /** @description `user`, or `system` for narration and the root. */
            role: string;
            selectedRecordId: components["schemas"]["Id"] | null;
            shownRecordId: components["schemas"]["Id"] | null;
            /**
             * Format: int32
             * @description Number of the turn.
             */
            turn: number;
            /** @description Text of the context node; empty for the root. */
            userContent: string;
        };
        TurnList: components["schemas"]["Turn"][];
        /** @description A request to undo or redo. */
        UndoRequest: {
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
        };
        /** @description The result of undo or redo. */
        UndoResponse: {
            /** @description Whether `worldChanges` is incomplete. */
            isCutShort: boolean;
            /** @description Kind of that step: `message`, `prune`, …. */
            kind: string;
            /** @description HEAD after the operation. */
            leafId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of the operation that undo or redo wrote.
             */
            op: number;
            /**
             * Format: int64
             * @description First operation of the step that was undone or redone.
             */
            step: number;
            /** @description Changes of the state at HEAD, at labels and at the tops of moved parts; at most 200. */
            worldChanges: components["schemas"]["NodeWorldChangeResponse"][];
        };
        /** @description Fields of a connection profile to change. Stories that have chosen it keep their settings. */
        UpdateConnectionProfileRequest: {
            /** @description New model; null = the server's default. */
            model?: string | null;
            /** @description New name. */
            name?: string | null;
            params?: components["schemas"]["JsonObject"] | null;
            /** @description New preset; null = the server's default. */
            presetId?: string | null;
            /** @description New model of summaries; null = the model of the story. */
            summariesModel?: string | null;
            /** @description New model of values; null = the model of the reply. */
            valuesModel?: string | null;
        };
        /** @description Changes to a device. */
        UpdateDeviceRequest: {
            /** @description New display name, 1 to 80 characters. */
            name: string;
        };
        /** @description Changes to a lorebook entry. */
        UpdateLoreEntryRequest: {
            /** @description The fields to change. */
            entry: components["schemas"]["LoreEntryResponse"];
            expectedEntry?: components["schemas"]["LoreEntryResponse"] | null;
        };
        /** @description The new bindings of a lorebook. At least one field is required; absent fields become false or empty. */
        UpdateLorebookBindingsRequest: {
            /** @description Active for replies of these characters. Characters that are left out lose it, even if their cards name it. */
            characterIds?: components["schemas"]["Id"][];
            /** @description Active in all sessions of the owner. */
            everything?: boolean;
            /** @description Active while one of these personas is played. */
            personaIds?: components["schemas"]["Id"][];
            /** @description Active in these sessions. */
            sessionIds?: components["schemas"]["Id"][];
        };
        /** @description Changes to the state of one of many nodes; absent fields stay. */
        UpdateNodeStateItem: {
            effects?: components["schemas"]["Effects"] | null;
            /** @description Whether the text is part of prompts and of the chat view. */
            isEnabled?: boolean | null;
            /** @description Id of the node. */
            nodeId: components["schemas"]["Id"];
        };
        /** @description Changes to the state of many nodes, as one operation. */
        UpdateNodeStatesRequest: {
            /** @description One item per node, at most 2000. */
            updates: components["schemas"]["UpdateNodeStateItem"][];
        };
        /** @description Fields of a preset to change. The kind cannot change. */
        UpdatePresetRequest: {
            body?: components["schemas"]["JsonObject"] | null;
            change?: components["schemas"]["OpenAiPresetChange"] | null;
            expected?: components["schemas"]["ExpectedPresetFields"] | null;
            /** @description New name. */
            name?: string | null;
            /** @description Whether the regex scripts of the preset run. Ends the question of an imported preset. */
            regexScripts?: boolean | null;
            requestedSettings?: components["schemas"]["JsonObject"] | null;
        };
        /** @description Changes to a provider; absent fields stay. */
        UpdateProviderRequest: {
            /** @description Base URL of the API. A change of the host requires the key again. */
            baseUrl?: string | null;
            /**
             * Format: int32
             * @description Context length of its models in tokens: absent = unchanged, null = the server is asked.
             */
            contextTokens?: number | null;
            /** @description API key: absent = unchanged, null = removed. */
            key?: string | null;
            /** @description API kind. */
            kind?: string | null;
            /** @description Model names; empty = ask the server for its list. */
            models?: string[] | null;
        };
        /** @description Fields of a session to change. */
        UpdateSessionRequest: {
            authorsNote?: components["schemas"]["AuthorsNoteFields"] | null;
            /** @description Folder in the list of sessions, at most 100 characters; null = no folder. */
            folder?: string | null;
            /** @description Whether the session stands above the others in lists. */
            isPinned?: boolean | null;
            mode?: components["schemas"]["SessionViewMode"] | null;
            /** @description New model; null = the server's default. */
            model?: string | null;
            params?: components["schemas"]["JsonObject"] | null;
            /**
             * @description A preset whose parameters the session takes over: they replace all that a preset can set, and others stay. Of
             *     kind `openai`, `textgen`, `kobold` or `novel`. Not together with `params`.
             */
            paramsFrom?: string | null;
            /** @description Persona of the user; null = none. */
            personaId?: string | null;
            /** @description Preset for prompts, of kind `openai`; null = the server's default. */
            presetId?: string | null;
            /**
             * @description Connection profile whose settings the session takes over, in the same write; settings of the request itself come
             *     first. null = no profile; the settings stay.
             */
            profileId?: string | null;
            recall?: components["schemas"]["RecallSettingsFields"] | null;
            regexScripts?: components["schemas"]["RegexScriptsPermission"] | null;
            requestedSettings?: components["schemas"]["JsonObject"] | null;
            summaries?: components["schemas"]["SummarySettingsFields"] | null;
            /** @description All tags of the session, at most 50 of at most 60 characters each. */
            tags?: string[] | null;
            /** @description New title. */
            title?: string | null;
            /** @description Model that writes the changes of values after each reply; null = the model of the reply does. */
            valuesModel?: string | null;
        };
        /** @description A new text for a summary. */
        UpdateSummaryRequest: {
            /** @description The text. With an empty one, the messages have no summary. */
            content: string;
        };
        /** @description A manual change of the state. */
        UpdateWorldRequest: {
            expectedLeafId?: components["schemas"]["Id"] | null;
            /**
             * Format: int64
             * @description Alternative precondition: the newest operation that the client saw.
             */
            expectedOp?: number | null;
            /** @description State operations, in order: `{op, path, value?, key?, from?, why?}`. */
            operations: components["schemas"]["JsonObject"][];
        };
        /** @description Token, time and cost totals of all replies, including those in the stash and undone ones. Copies add nothing. */
        UsageTotalsResponse: {
            /**
             * Format: int64
             * @description Number of other background calls, for plugins and values; their tokens, time and cost are included.
             */
            asides: number;
            /**
             * Format: int64
             * @description Number of replies with a price too large to add, which `cost` excludes.
             */
            beyondCost: number;
            /**
             * Format: int64
             * @description Prompt tokens that model servers read from their cache.
             */
            cachedTokens: number;
            /**
             * Format: double
             * @description Total cost in the provider's currency; null if no reply has a price.
             */
            cost: number | null;
            /**
             * Format: int64
             * @description Sum of the times from request to end, in milliseconds.
             */
            latencyMs: number;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
            /**
             * Format: int64
             * @description Number of ended replies.
             */
            replies: number;
            /**
             * Format: double
             * @description Amount saved by prompt caches, in the same currency; null if unknown.
             */
            saved: number | null;
            /**
             * Format: int64
             * @description Number of background summaries; their tokens, time and cost are included.
             */
            summaries: number;
            /** @description Tokens as counted by the model servers. */
            tokenCount: components["schemas"]["TokenTotalsResponse"];
            /**
             * Format: int64
             * @description Number of replies without a price, which `cost` excludes.
             */
            withoutCost: number;
        };
        /** @description A version of a character's card for a session. */
        UseCard: {
            /** @description One of the characters of the session. */
            characterId: components["schemas"]["Id"];
            /**
             * Format: int64
             * @description Number of the version; absent = the newest.
             */
            version?: number | null;
        };
        /** @description A user of this server. */
        UserResponse: {
            /** @description Id of the user. */
            id: components["schemas"]["Id"];
            /** @description Display name. */
            name: string;
            /** @description `owner`, `admin` or `user`. */
            role: string;
        };
        /** @description The request to the model that writes the values. Facts of the call, such as its tokens, stand beside these. */
        ValuesCall: components["schemas"]["OtherFields"] & {
            /** @description Why there are none, as one sentence. */
            error?: string;
            /** @description The same with code and arguments. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description The messages as sent. */
            messages?: components["schemas"]["ValuesMessage"][];
            /** @description The model. */
            model?: string;
            /** @description Its commands. */
            text?: string;
            /**
             * Format: int64
             * @description Number of requests.
             */
            tries?: number;
        };
        /** @description One message to the model that writes the values. */
        ValuesMessage: components["schemas"]["OtherFields"] & {
            /** @description Text of the message. */
            content: string;
            /** @description Role of the message. */
            role: string;
        };
        /** @description What the model said that writes the values. Facts of the call, such as its tokens, stand beside these. */
        ValuesRecord: components["schemas"]["OtherFields"] & {
            /** @description Why there are none, as one sentence. */
            error?: string;
            /** @description The same with code and arguments. */
            failure?: components["schemas"]["CodedMessage"];
            /** @description The model. */
            model?: string;
            /** @description Its commands. */
            text?: string;
        };
        /** @description The value after one node. */
        VariablePoint: {
            /**
             * Format: int32
             * @description Number of edges from the root.
             */
            depth: number;
            /** @description The node after which the value was read. */
            nodeId: components["schemas"]["Id"];
            /**
             * Format: int32
             * @description Turn number of the node.
             */
            turn: number;
            /** @description The value; null if there is none. */
            value: components["schemas"]["Json"];
        };
        /** @description The history of one value along one branch. */
        VariableSeries: {
            /** @description Leaf of the branch. */
            leafId: components["schemas"]["Id"];
            /** @description JSON Pointer from `vars`. */
            path: string;
            /** @description The value after each node, oldest first. */
            points: components["schemas"]["VariablePoint"][];
        };
        /** @description The history of values along branches. */
        VariablesResponse: {
            /** @description One series for each pair of branch and path, in the requested order. */
            items: components["schemas"]["VariableSeries"][];
            /** @description Cursor for the nodes further down; null at the end of all branches. */
            next: string | null;
            /**
             * Format: int64
             * @description Number of the newest operation of the session.
             */
            op: number;
        };
        /**
         * @description Which characters are parts of words: letters of any script, or ASCII ones as in SillyTavern.
         * @enum {string}
         */
        WordCharacters: "unicode" | "ascii";
        /** @description The state at a node. */
        World: {
            /** @description Events: `{text, tags, node}`. */
            events: components["schemas"]["Json"][];
            /** @description Active entries and timers of lorebooks. */
            lore: components["schemas"]["JsonObject"];
            /** @description The rolling summary. */
            summary: string;
            /** @description Values of plugins and stories. */
            vars: components["schemas"]["JsonObject"];
        };
        /** @description A path of `vars` at which two states differ. */
        WorldDifferenceResponse: {
            /** @description Value on the first branch; absent if there is none. */
            from?: components["schemas"]["Json"];
            /** @description The operations below the common ancestor that touch this path, a path above it or one inside it. */
            operations: components["schemas"]["DiffOperations"];
            /** @description JSON Pointer from `vars`. */
            path: string;
            /** @description Value on the second branch; absent if there is none. */
            to?: components["schemas"]["Json"];
        };
        /** @description Global lorebook settings: how all lorebooks of an owner are scanned. Absent fields get their defaults. */
        WorldInfoSettingsFields: {
            /**
             * @description Maximum number of tokens for lore, 0 to 10000000; default 0 = no limit.
             * @default 0
             */
            budgetCap: number;
            /**
             * Format: double
             * @description Share of the prompt for lore, in percent from 0 to 100; default 25.
             * @default 25
             */
            budgetPercent: number;
            /**
             * @description Case-sensitive keys; default false. Entries can override it.
             * @default false
             */
            caseSensitive: boolean;
            /**
             * @description In an inclusion group, the entry with the most matching keys wins; default false.
             * @default false
             */
            groupScoring: boolean;
            /**
             * @description Scan messages with the names of their speakers; default true.
             * @default true
             */
            includeNames: boolean;
            /**
             * @description Keys of one word match whole words only; default true. Entries can override it.
             * @default true
             */
            matchWholeWords: boolean;
            /**
             * @description Maximum number of scan passes, including the first, 0 to 1000; default 0 = no limit.
             * @default 0
             */
            maxRecursionSteps: number;
            /**
             * @description Scan older messages until this many entries are active, 0 to 1000; default 0 = off.
             * @default 0
             */
            minActivations: number;
            /**
             * Format: int64
             * @description Maximum number of messages to scan for `minActivations`, 0 to 1000; default 0 = all.
             * @default 0
             */
            minActivationsDepth: number;
            /**
             * @description Texts of active entries can activate other entries; default true.
             * @default true
             */
            recursive: boolean;
            /**
             * Format: int64
             * @description Number of newest messages to scan, 0 to 1000; default 2. Entries can override it.
             * @default 2
             */
            scanDepth: number;
            /**
             * @description Settings for activating entries by similarity, without a key.
             * @default {
             *       "entries": 5,
             *       "messages": 2,
             *       "threshold": 25,
             *       "all": false
             *     }
             */
            similar: components["schemas"]["WorldInfoVectorSettings"];
            /**
             * @description Order of entries from different sources; default `characterFirst`.
             * @default characterFirst
             */
            strategy: components["schemas"]["WorldInfoStrategy"];
        };
        /**
         * @description Order of entries from different sources.
         * @enum {string}
         */
        WorldInfoStrategy: "evenly" | "characterFirst" | "globalFirst";
        /**
         * @description Activation of entries by similarity to recent messages. Uses vectors if an embedding model is configured and vectors
         *     exist, otherwise shared words.
         */
        WorldInfoVectorSettings: {
            /**
             * @description Compare all entries, not only those marked `vectorized`; default false.
             * @default false
             */
            all: boolean;
            /**
             * @description Maximum number of entries, 0 to 100; default 5, 0 = none.
             * @default 5
             */
            entries: number;
            /**
             * @description Number of newest messages to compare with, 1 to 100; default 2.
             * @default 2
             */
            messages: number;
            /**
             * Format: int32
             * @description Minimum cosine similarity in percent, 0 to 100; default 25.
             * @default 25
             */
            threshold: number;
        };
        /** @description An operation on the state at a node. */
        WorldOperation: {
            /** @description Who proposed it: a plugin, `user` or `server`. */
            by?: string;
            /** @description Old path for `move`. */
            from?: string;
            /** @description The section, unless it is `vars`: `lore`, `summary` or `events`. */
            in?: string;
            /** @description Key for `insert`. */
            key?: string;
            /** @description `add`, `set`, `remove`, `insert`, `append`, `take` or `move`. */
            op: string;
            /** @description JSON Pointer from the top of the section. */
            path: string;
            /** @description The value, if the operation takes one. */
            value?: components["schemas"]["Json"];
            /** @description The reason, for people. */
            why?: string;
        };
        /** @description The state after a node. */
        WorldResponse: {
            /** @description Id of the node. */
            nodeId: components["schemas"]["Id"];
            /** @description Schemas that are active at the node. */
            schemas: components["schemas"]["WorldStateSchema"][];
            /** @description The state: `{vars, lore, summary, events}`. */
            world: components["schemas"]["World"];
        };
        /** @description The schema of one root of the state. */
        WorldStateSchema: {
            /** @description Hidden paths as JSON Pointers from `vars`: those that the schema hides always, or until a condition holds. */
            hidden: string[];
            /** @description The plugin that owns the schema. */
            plugin: string;
            /** @description Root that the schema governs, as a JSON Pointer from `vars`. */
            root: string;
            /** @description The schema, a subset of JSON Schema. */
            schema: components["schemas"]["JsonObject"];
            /** @description Title of the schema; otherwise the title of the plugin. */
            title: string | null;
        };
        /** @description The new content of a plugin file. */
        WritePluginFileRequest: {
            /** @description The complete text. */
            content: string;
        };
        /** @description The state of a plugin after one of its files changed. */
        WritePluginFileResponse: {
            /** @description Hash of the active code. */
            codeHash: string | null;
            error: components["schemas"]["ScriptError"] | null;
            /**
             * @description Whether the plugin was reloaded from its current files. If not, the previous code stays active and `error` says
             *     why.
             */
            isInForce: boolean;
            /** @description Path of the written file. */
            path: string;
            /** @description Probable mistakes that do not prevent it from running. */
            warnings: components["schemas"]["ScriptError"][];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
