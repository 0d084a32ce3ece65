//! The allocator: decides which candidates a prompt keeps. Pure: of a text, it sees only whether it is empty.
//!
//! The stages take their tokens one after another ([`AllocationStage`]), whatever the order of gathering. What is
//! required is always kept. Everything else is kept as far as the budget allows, or left out with a reason.

use std::collections::BTreeMap;

use super::budget::PromptBudget;
use super::candidate::{AllocationStage, PromptCandidate};
use super::{HistoryTruncation, OmittedText};
use crate::prompt::{OmitReason, PromptTokenLimits, TokenOverflow};

/// The limits of one prompt, in tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllocationLimits {
    pub budget: PromptTokenLimits,
    /// Tokens that are always reserved.
    pub reserve: usize,
    /// Further tokens that are reserved if the history is cut, for texts that stand for its messages.
    pub cut_reserve: usize,
    /// Estimated tokens of the newest message; the reserve leaves it room.
    pub newest: usize,
    /// Estimated tokens of the newest message and of the texts inside the chat; the reserve leaves them room, too.
    pub chat: usize,
    /// Largest number of tokens of examples.
    pub max_examples: usize,
    /// Tokens that examples leave to the history; `None` = the default.
    pub min_history: Option<usize>,
    /// How to cut a history that is too long.
    pub truncation: HistoryTruncation,
}

/// What a prompt keeps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PromptAllocation {
    /// In the order in which they stand.
    pub kept: Vec<PromptCandidate>,
    /// The examples first, then the texts inside the chat.
    pub omitted: Vec<OmittedText>,
    /// Number of kept history messages: the newest ones.
    pub history: usize,
    /// Whether older messages are left out.
    pub is_cut: bool,
    /// Tokens that are taken.
    pub tokens: usize,
    /// Tokens that stay reserved.
    pub reserve: usize,
}

/// Checks that the required candidates fit the limits.
///
/// # Errors
/// Returns an error if they do not.
pub(super) fn check_required(limits: PromptTokenLimits, candidates: &[PromptCandidate]) -> Result<(), TokenOverflow> {
    let mut budget = PromptBudget::new(limits);
    let required = candidates.iter().filter(|candidate| candidate.stage == AllocationStage::Required);
    required.for_each(|candidate| budget.spend(candidate.tokens));
    budget.check()
}

/// Allocates the budget. `history` gives the messages, newest first; it is asked for the next one only while there is
/// room.
///
/// If the whole history fits, nothing is reserved for texts that stand for its messages. So a text that is made later
/// cuts no prompt that was whole.
pub(super) fn allocate(
    limits: &AllocationLimits,
    candidates: Vec<PromptCandidate>,
    history: &mut dyn Iterator<Item = PromptCandidate>,
) -> PromptAllocation {
    if limits.cut_reserve == 0 {
        return allocate_once(limits, candidates, history);
    }
    // A message is rendered once, because its macros may write.
    let mut rendered = Vec::new();
    let whole =
        allocate_once(limits, candidates.clone(), &mut (&mut *history).inspect(|one| rendered.push(one.clone())));
    if !whole.is_cut {
        return whole;
    }
    let limits = AllocationLimits { reserve: limits.reserve.saturating_add(limits.cut_reserve), ..*limits };
    allocate_once(&limits, candidates, &mut rendered.into_iter().chain(history))
}

/// Allocates the budget with the reserve that is always there.
fn allocate_once(
    limits: &AllocationLimits,
    candidates: Vec<PromptCandidate>,
    history: &mut dyn Iterator<Item = PromptCandidate>,
) -> PromptAllocation {
    let mut stages = AllocationStages::new(candidates);
    let mut budget = PromptBudget::new(limits.budget);
    let (mut kept, mut examples) = (Vec::new(), ExampleAllocation::default());
    // What is sent whatever its size, and the reserve beside it.
    for stage in [AllocationStage::Required, AllocationStage::Continuation] {
        spend_all(stages.take(stage), &mut budget, &mut kept);
    }
    budget.reserve(limits.reserve, limits.newest);
    // Examples before the history. They leave it its share, or a quarter of the room, but at least its newest message.
    let pinned = stages.take(AllocationStage::PinnedExamples);
    examples.fit(pinned, &mut budget, limits, limits.min_history.unwrap_or_default());
    let share = limits.newest.max(limits.min_history.unwrap_or(budget.total() / 4));
    examples.fit(stages.take(AllocationStage::LeadingExamples), &mut budget, limits, share);
    // The newest message, whatever its size; then the texts that fit; then older messages until one does not fit.
    budget.reserve(budget.reserved(), limits.chat);
    spend_all(stages.take(AllocationStage::Filler), &mut budget, &mut kept);
    let mut said = HistoryAllocation::default();
    said.spend(history.next(), &mut budget);
    let mut omitted = Vec::new();
    for text in stages.take(AllocationStage::ChatText).into_iter().rev() {
        if text.is_empty() || budget.try_take(text.tokens) { kept.push(text) } else { omitted.push(text) }
    }
    let is_cut = said.fit(history, &mut budget);
    if let (true, HistoryTruncation::Steps(began)) = (is_cut, limits.truncation) {
        said.truncate_in_steps(began, &mut budget);
    }
    // Examples after the history.
    examples.fit(stages.take(AllocationStage::TrailingExamples), &mut budget, limits, 0);
    // Everything in the order of the prompt.
    let history = said.messages.len();
    kept.extend(examples.kept.into_iter().chain(said.messages));
    kept.sort_by_key(|candidate| candidate.order);
    let omitted = examples.omitted.into_iter().chain(omitted);
    let omitted = omitted.flat_map(|candidate| candidate.omit(OmitReason::Budget)).collect();
    PromptAllocation { kept, omitted, history, is_cut, tokens: budget.spent(), reserve: budget.reserved() }
}

/// The candidates of each stage, in the order of the prompt.
struct AllocationStages(BTreeMap<AllocationStage, Vec<PromptCandidate>>);

impl AllocationStages {
    fn new(candidates: Vec<PromptCandidate>) -> Self {
        let mut stages: BTreeMap<AllocationStage, Vec<PromptCandidate>> = BTreeMap::new();
        for candidate in candidates {
            stages.entry(candidate.stage).or_default().push(candidate);
        }
        stages.values_mut().for_each(|stage| stage.sort_by_key(|candidate| candidate.order));
        Self(stages)
    }

    fn take(&mut self, stage: AllocationStage) -> Vec<PromptCandidate> {
        self.0.remove(&stage).unwrap_or_default()
    }
}

/// Spends tokens even over budget.
fn spend_all(candidates: Vec<PromptCandidate>, budget: &mut PromptBudget, kept: &mut Vec<PromptCandidate>) {
    candidates.iter().for_each(|candidate| budget.spend(candidate.tokens));
    kept.extend(candidates);
}

/// The examples that fit, and the rest.
#[derive(Default)]
struct ExampleAllocation {
    kept: Vec<PromptCandidate>,
    omitted: Vec<PromptCandidate>,
}

impl ExampleAllocation {
    /// Takes whole blocks in order, until one does not fit or exceeds their share.
    fn fit(&mut self, blocks: Vec<PromptCandidate>, budget: &mut PromptBudget, limits: &AllocationLimits, left: usize) {
        let mut own = budget.with_reserve(left).with_cap(limits.max_examples);
        let count = blocks.iter().take_while(|block| own.try_take(block.tokens)).count();
        budget.spend(own.spent().saturating_sub(budget.spent()));
        let mut blocks = blocks.into_iter();
        self.kept.extend(blocks.by_ref().take(count));
        self.omitted.extend(blocks);
    }
}

/// The kept messages of the history, newest first.
#[derive(Default)]
struct HistoryAllocation {
    messages: Vec<PromptCandidate>,
}

impl HistoryAllocation {
    /// Takes a message whatever its size.
    fn spend(&mut self, message: Option<PromptCandidate>, budget: &mut PromptBudget) {
        budget.spend(message.as_ref().map_or(0, |message| message.tokens));
        self.messages.extend(message);
    }

    /// Takes messages until one does not fit; returns whether there is one.
    fn fit(&mut self, history: &mut dyn Iterator<Item = PromptCandidate>, budget: &mut PromptBudget) -> bool {
        for message in history {
            if !message.is_empty() && !budget.try_take(message.tokens) {
                return true;
            }
            self.messages.push(message);
        }
        false
    }

    /// Returns the tokens of the messages before a history index.
    fn tokens_before(&self, began: usize) -> usize {
        let older = self.messages.iter().filter(|message| message.history_index().is_some_and(|at| at < began));
        older.map(|message| message.tokens).sum()
    }

    /// Cuts a full history in steps; the newest message stays.
    fn truncate_in_steps(&mut self, began: Option<usize>, budget: &mut PromptBudget) {
        let began = began.filter(|began| self.messages.iter().any(|message| message.history_index() == Some(*began)));
        // Drop a start that was chosen for a smaller room: most of the current room would stay empty.
        let began = began.filter(|began| !budget.is_under_half_without(self.tokens_before(*began)));
        while self.messages.len() > 1 {
            let Some(oldest) = self.messages.last() else { return };
            let goes = match began {
                Some(began) => oldest.history_index().is_none_or(|at| at < began),
                None => budget.is_mostly_used(),
            };
            if !goes {
                return;
            }
            budget.give_back(oldest.tokens);
            self.messages.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::candidate::{CandidateKind, PromptOrder};
    use super::super::{MessageSource, PromptMessage};
    use super::AllocationStage::{
        ChatText, Continuation, Filler, History, LeadingExamples, PinnedExamples, Required, TrailingExamples,
    };
    use super::*;
    use clotho_core::tree::Role;
    use proptest::prelude::*;

    /// The part where the history stands.
    const CHAT: usize = 9;
    /// Tokens that a request takes besides its messages.
    const OVERHEAD: usize = 3;

    fn candidate(stage: AllocationStage, order: PromptOrder, tokens: usize) -> PromptCandidate {
        let messages = vec![PromptMessage::from_part(Role::System, format!("{stage:?} {order:?}"), "text")];
        PromptCandidate { kind: CandidateKind::Message, order, stage, tokens, messages }
    }

    /// Messages with these tokens, newest first.
    fn message_candidates(tokens: &[usize]) -> Vec<PromptCandidate> {
        let message = |(at, tokens): (usize, &usize)| {
            let from = vec![MessageSource::History(history_index(at))];
            let order = PromptOrder::after(CHAT, history_index(at));
            let messages = vec![PromptMessage { role: Role::User, name: None, text: "said".into(), sources: from }];
            PromptCandidate { messages, ..candidate(History, order, *tokens) }
        };
        tokens.iter().enumerate().map(message).collect()
    }

    /// The history index of a message: the newest has the highest one.
    const fn history_index(at: usize) -> usize {
        100 - at
    }

    fn limits(total: usize) -> AllocationLimits {
        AllocationLimits {
            budget: PromptTokenLimits { context: total + OVERHEAD, reply: 0 },
            reserve: 0,
            cut_reserve: 0,
            newest: 0,
            chat: 0,
            max_examples: usize::MAX,
            min_history: None,
            truncation: HistoryTruncation::Exact,
        }
    }

    /// Each stage takes its tokens before the next one.
    #[test]
    fn allocation_takes_stages_in_order() {
        let texts = |stages: &[(AllocationStage, usize)]| {
            let text = |(at, (stage, tokens)): (usize, &(AllocationStage, usize))| {
                candidate(*stage, PromptOrder::part(at), *tokens)
            };
            stages.iter().enumerate().map(text).collect::<Vec<_>>()
        };
        let check = |total: usize, stages: &[(AllocationStage, usize)], said: &[usize], expected: (&[usize], usize)| {
            let allocation = allocate(&limits(total), texts(stages), &mut message_candidates(said).into_iter());
            let is_kept = |at: &usize| allocation.kept.iter().any(|kept| kept.order == PromptOrder::part(*at));
            let kept: Vec<usize> = (0..stages.len()).filter(is_kept).collect();
            assert_eq!((kept.as_slice(), allocation.history), expected, "{total} {stages:?} {said:?}");
            assert_eq!(allocation.omitted.len(), stages.len() - kept.len());
        };
        // The newest message is kept whatever its size; so is what is required.
        check(10, &[(Required, 8)], &[90, 1], (&[0], 1));
        check(10, &[(Required, 8), (Continuation, 50), (Filler, 50)], &[], (&[0, 1, 2], 0));
        // Texts inside the chat go before older messages, the newest text first, each by itself.
        check(10, &[(ChatText, 4), (ChatText, 9), (ChatText, 4)], &[2, 1], (&[0, 2], 1));
        // Leading examples leave a quarter to the history, trailing ones take what is left.
        check(40, &[(LeadingExamples, 20), (LeadingExamples, 11), (LeadingExamples, 1)], &[1; 20], (&[0], 20));
        check(10, &[(TrailingExamples, 4), (TrailingExamples, 4)], &[3, 1], (&[0], 2));
        check(10, &[(PinnedExamples, 4), (PinnedExamples, 6)], &[3, 1], (&[0, 1], 1));
    }

    /// The shares of a preset limit examples, and the reserve leaves room for the newest message.
    #[test]
    fn allocation_keeps_shares() {
        let examples = || [0, 1, 2].map(|at| candidate(LeadingExamples, PromptOrder::part(at), 10)).to_vec();
        let check = |limits: AllocationLimits, expected: (usize, usize)| {
            let allocation = allocate(&limits, examples(), &mut message_candidates(&[5]).into_iter());
            assert_eq!((allocation.kept.len() - 1, allocation.reserve), expected, "{limits:?}");
        };
        check(limits(100), (3, 0));
        check(AllocationLimits { max_examples: 25, ..limits(100) }, (2, 0));
        check(AllocationLimits { min_history: Some(85), ..limits(100) }, (1, 0));
        check(AllocationLimits { reserve: 60, newest: 5, ..limits(100) }, (3, 60));
        check(AllocationLimits { reserve: 99, newest: 5, ..limits(100) }, (0, 95));
        check(AllocationLimits { reserve: 99, newest: 5, chat: 30, ..limits(100) }, (0, 70));
    }

    /// The reserve for texts that stand for cut messages exists only if messages are cut. Each message is rendered
    /// once.
    #[test]
    fn allocation_whole_history_needs_no_cut_reserve() {
        let check = |said: &[usize], reserve: usize, expected: (usize, usize)| {
            let limits = AllocationLimits { reserve, cut_reserve: 30, ..limits(100) };
            let limits = AllocationLimits { truncation: HistoryTruncation::Steps(None), ..limits };
            let mut asked = Vec::new();
            let mut history = message_candidates(said).into_iter().inspect(|one| asked.push(one.history_index()));
            let allocation = allocate(&limits, Vec::new(), &mut history);
            assert_eq!((allocation.history, allocation.reserve), expected, "{said:?} {reserve}");
            let mut once = asked.clone();
            once.dedup();
            assert_eq!(once, asked);
        };
        check(&[10; 10], 0, (10, 0));
        check(&[10; 9], 10, (9, 10));
        check(&[10; 10], 10, (4, 40));
        check(&[10; 11], 0, (5, 30));
        check(&[90, 1], 0, (2, 0));
        check(&[], 0, (0, 0));
    }

    /// A message that does not fit is the last one that is rendered.
    #[test]
    fn allocation_asks_only_for_messages_with_room() {
        let mut asked = 0;
        let mut history = message_candidates(&[4, 4, 4, 4, 4]).into_iter().inspect(|_| asked += 1);
        assert_eq!(allocate(&limits(10), Vec::new(), &mut history).history, 2);
        assert_eq!(asked, 3);
    }

    /// `domain.md` 6.3: a full history begins where the last one did, or is cut to three quarters.
    #[test]
    fn allocation_cuts_history_in_steps() {
        let check = |began: Option<usize>, expected: usize| {
            let limits = AllocationLimits { truncation: HistoryTruncation::Steps(began), ..limits(100) };
            assert_eq!(allocate(&limits, Vec::new(), &mut message_candidates(&[10; 20]).into_iter()).history, expected);
        };
        check(None, 7);
        check(Some(history_index(7)), 8);
        check(Some(history_index(2)), 7);
        check(Some(history_index(15)), 7);
    }

    fn any_stage() -> impl Strategy<Value = AllocationStage> {
        prop_oneof![
            Just(Required),
            Just(Continuation),
            Just(LeadingExamples),
            Just(Filler),
            Just(ChatText),
            Just(TrailingExamples)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// What must be sent stays, the rest stays within the budget, and what is left out has a reason. The order of
        /// gathering does not matter.
        #[test]
        fn allocation_random_candidates_stay_within_budget(
            texts in proptest::collection::vec((any_stage(), 0_usize..60), 0..12).prop_map(|texts| {
                let text = |(at, (stage, tokens))| candidate(stage, PromptOrder::part(at), tokens);
                texts.into_iter().enumerate().map(text).collect::<Vec<_>>()
            }).prop_flat_map(|texts| (Just(texts.clone()), Just(texts).prop_shuffle())),
            said in proptest::collection::vec(0_usize..40, 0..12),
            (total, (reserve, cut_reserve), shares) in
                (0_usize..400, (0_usize..100, 0_usize..100), (0_usize..200, proptest::option::of(0_usize..200))),
            truncation in prop_oneof![
                Just(HistoryTruncation::Exact),
                proptest::option::of(85_usize..=100).prop_map(HistoryTruncation::Steps)
            ],
        ) {
            let (texts, shuffled) = texts;
            let tokens = |wanted: &[AllocationStage]| {
                texts.iter().filter(|text| wanted.contains(&text.stage)).map(|text| text.tokens).sum::<usize>()
            };
            let newest = said.first().copied().unwrap_or_default() + tokens(&[Filler]);
            let (max_examples, min_history) = shares;
            let chat = newest + tokens(&[ChatText]);
            let limits = AllocationLimits {
                reserve, cut_reserve, newest, chat, max_examples, min_history, truncation, ..limits(total)
            };
            let allocation = allocate(&limits, texts.clone(), &mut message_candidates(&said).into_iter());
            // What must be sent is kept.
            let is_kept = |text: &PromptCandidate| allocation.kept.contains(text);
            let is_forced = |text: &&PromptCandidate| matches!(text.stage, Required | Continuation | Filler);
            prop_assert!(texts.iter().filter(is_forced).all(is_kept));
            prop_assert_eq!(allocation.history > 0, !said.is_empty());
            // The rest is within the budget.
            let forced = tokens(&[Required, Continuation]) + newest;
            prop_assert!(allocation.tokens <= total.max(forced), "{allocation:?}");
            prop_assert!(forced > total || allocation.tokens + allocation.reserve <= total, "{allocation:?}");
            prop_assert_eq!(allocation.tokens, allocation.kept.iter().map(|kept| kept.tokens).sum::<usize>());
            // Everything is kept or left out for a reason.
            prop_assert_eq!(allocation.kept.len() + allocation.omitted.len(), texts.len() + allocation.history);
            prop_assert!(allocation.omitted.iter().all(|omitted| omitted.reason == OmitReason::Budget));
            prop_assert!(allocation.kept.is_sorted_by_key(|kept| kept.order));
            // The order of gathering does not matter.
            prop_assert_eq!(allocation, allocate(&limits, shuffled, &mut message_candidates(&said).into_iter()));
        }
    }
}
