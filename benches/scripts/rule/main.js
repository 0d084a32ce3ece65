const HIT = "(?i)\\b(?<who>[A-Z]\\w+) takes (?<n>\\d+) damage";
const HEAL = "(?i)\\brecovers? (?<n>\\d+) (?:hp|health)";
const LOOT = "(?i)\\bpicks? up (?:an? |the )?(?<item>[a-z][a-z ]{1,30})";

function armour() {
  let sum = 0;
  for (const piece of ["helmet", "mail", "shield"]) {
    sum += get(`armour/${piece}`, 0);
  }
  return sum;
}

globalThis.on_reply = () => {
  for (const m of find_all(HIT)) {
    if (m.who === "Alice") {
      const rest = Math.max(parseInt(m.n, 10) - armour(), 0);
      add("hp", -rest, `took ${rest} damage`);
    }
  }
  for (const m of find_all(HEAL)) {
    add("hp", parseInt(m.n, 10), "recovered");
  }
  for (const m of find_all(LOOT)) {
    add(`pack/${m.item}`, 1, "picked up");
  }
  if (get("hp", 0) <= 10) {
    const luck = roll("1d6");
    set("down", luck <= 3, luck > 3 ? "stays up" : "falls");
    note("Alice is badly hurt.");
  }
};
