// The command that shows or hides the hidden values of a state: authors see them, players do not.
import { t } from "../lib/i18n.ts";
import { setShowsHidden, showsHidden, notify } from "../model/page.ts";
import { session } from "../model/session-store.ts";
import { register } from "./commands.ts";

register({
  id: "page.creator",
  label: "command.creator",
  icon: "eye",
  scope: "page",
  enabled: () => session.value !== null,
  run: () => {
    setShowsHidden(!showsHidden.peek());
    notify({ tone: "quiet", text: t(showsHidden.peek() ? "secret.shown" : "secret.notShown") });
  },
});
