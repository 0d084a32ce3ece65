// Who makes a world sees what it hides; who plays in it does not.
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
