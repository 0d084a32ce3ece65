// The command that shows or hides the hidden values of a state: authors see them, players do not.
import { t } from "../lib/i18n.ts";
import { letSeeAll, seesAll, tell } from "../model/page.ts";
import { session } from "../model/story.ts";
import { register } from "./commands.ts";

register({
  id: "page.creator",
  label: "command.creator",
  icon: "eye",
  scope: "page",
  enabled: () => session.value !== null,
  run: () => {
    letSeeAll(!seesAll.peek());
    tell({ tone: "quiet", text: t(seesAll.peek() ? "secret.shown" : "secret.notShown") });
  },
});
