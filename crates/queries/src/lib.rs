//! The read side: what answers a question about stored data, for HTTP, the command line and other protocols.
//!
//! A query is a plain function or a small struct. It takes only what it needs, such as a
//! [`StoreReader`](clotho_store::StoreReader) or the search index, and typed options. It returns typed values and its
//! own errors. It knows no request, no status code and no JSON of a client.
//!
//! - [`search`]: messages of all branches that match a query
//! - [`sessions`], [`tree`], [`branches`], [`projection`], [`turns`]: a session, its tree, and one or more branches of it
//! - [`nodes`], [`worlds`], [`variables`]: one node and its state, and the history of values
//! - [`transcript`]: a branch as a text
//! - [`workshop`]: files of plugins, and plugins with unsaved texts
//! - [`lookup`], [`node_view`], [`error`]: what the queries share
//!
//! To add a query: put it in the file of its subject, with its input and output types. The callers turn parameters
//! into the input, and the output into their own format.

pub mod branches;
pub mod error;
pub mod lookup;
pub mod node_view;
pub mod nodes;
pub mod projection;
pub mod search;
pub mod sessions;
pub mod transcript;
pub mod tree;
pub mod turns;
pub mod variables;
pub mod workshop;
pub mod worlds;
