local HIT = [[(?i)\b(?<who>[A-Z]\w+) takes (?<n>\d+) damage]]
local HEAL = [[(?i)\brecovers? (?<n>\d+) (?:hp|health)]]
local LOOT = [[(?i)\bpicks? up (?:an? |the )?(?<item>[a-z][a-z ]{1,30})]]

local function armour()
  local sum = 0
  for _, piece in ipairs({ "helmet", "mail", "shield" }) do
    sum = sum + get("armour/" .. piece, 0)
  end
  return sum
end

function on_reply()
  for _, m in ipairs(find_all(HIT)) do
    if m.who == "Alice" then
      local rest = tonumber(m.n) - armour()
      if rest < 0 then rest = 0 end
      add("hp", -rest, "took " .. rest .. " damage")
    end
  end
  for _, m in ipairs(find_all(HEAL)) do
    add("hp", tonumber(m.n), "recovered")
  end
  for _, m in ipairs(find_all(LOOT)) do
    add("pack/" .. m.item, 1, "picked up")
  end
  if get("hp", 0) <= 10 then
    local luck = roll("1d6")
    if luck > 3 then set("down", false, "stays up") else set("down", true, "falls") end
    note("Alice is badly hurt.")
  end
end
