//! The services that turns share, in groups. A function takes the groups that it needs; only what arranges a whole turn
//! takes all of them.

use std::sync::Arc;

use crate::turn::prompts::PromptServices;
use crate::turn::rules::RuleServices;
use crate::turn::running::RunningWork;
use crate::turn::storage::TreeStorage;

/// All services of turns.
pub(crate) struct TurnServices {
    pub storage: Arc<TreeStorage>,
    pub rules: Arc<RuleServices>,
    pub prompts: Arc<PromptServices>,
    pub work: Arc<RunningWork>,
}
