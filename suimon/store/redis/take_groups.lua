-- Part of the script that begins in take.lua.

-- Patches: a record that the client has converted, or has taken from and takes back. It replaces
-- what is still byte for byte what the client saw, the expiry apart; else a take is given back in
-- part.
for i = 2, #ARGV, 4 do
  local k, expected, other, back = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if found[k] and sub(found[k], 1, -6) == expected then
    found[k] = other ~= '' and other .. NO_EXPIRY
    read(k)
    if other == '' then
      call('DEL', keys[k])
    else
      dirty[k], any_dirty = 1, true
    end
  elseif back ~= '' then
    if not S[k] then read(k) end
    local give_back = build_wide_step()
    give_back(k, back)
    if dirty[k] then
      keep(k)
      found[k] = call('GET', keys[k])
      read(k)
    end
  end
end

local said = {}
local groups = 0
local j, ask, op, wide, cs, cn, ls, ln, ap, aq, need, room = -1
-- A compact record in parts: what is the same for all that are written now, and for all of one rate.
local NOW_AND_RATE, RATE = '<c10I7c14I5', '<Bi5I4I7c14I5'
local head, rate = pack('<Bi5I4', 1, ts, tn), nil
local now = sub(head, 2)
local stuck  -- keys of groups that are undecided: what comes after them waits, too
local charges = {byte(batch, at, at + charge_count * 3 - 1)}
local last = charge_count * 3
at = 1
while at < last do
  local k, asked, flags = charges[at] + 1, charges[at + 1], charges[at + 2]
  groups = groups + 1
  if asked ~= j then
    j = asked
    ask = asks[j]
    op, wide, cs, cn, ls, ln, ap, aq, need, room =
      ask[1], ask[2], ask[3], ask[4], ask[5], ask[6], ask[7], ask[8], ask[9], ask[10]
    rate = ask.rate
  end
  local r = found[k]
  if flags == 3 and wide == 0 and op < 2 and not stuck and not dirty[k] and (not r or #r == 36) then
    -- One charge, alone on its key in this batch: nothing is remembered.
    at = at + 3
    local taken
    if not r then
      taken = room >= 0
      if taken and op == 0 and need > 0 then
        -- The same for all new keys.
        local record, word, text = ask[11], ask[12], ask[13]
        if not record then
          local expires
          expires, word, text = fresh(floor(ts + (tn + need / ap) / 1e9) + 2)
          record = pack(NOW_AND_RATE, head, need, rate, expires)
          ask[11], ask[12], ask[13] = record, word, text
        end
        call('SET', keys[k], record, word, text)
      end
    else
      local form, s, n, d, its_rate, e = unpack_struct(RATE, r)
      if its_rate == rate and form == 1 and n < 1e9 and d < EXACT and
        (s > cs or (s == cs and n >= cn)) and s < 9223372036 then
        local ds, dn = ts - s, tn - n
        if dn < 0 then ds, dn = ds - 1, dn + 1e9 end
        if ds >= 0 then
          local inflow = (ds * 1e9 + dn) * ap
          local debt = 0
          if inflow < d then debt = d - inflow end
          taken = debt <= room
          if taken and op == 0 and need > 0 then
            debt = debt + need
            local due = ts + (tn + debt / ap) / 1e9 + 2
            if e >= due and e <= due + LINGER and callers == 0 then
              -- In place: the form, the rate and the expiry are those that were read.
              call('SETRANGE', keys[k], '1', pack('<c9I7', now, debt))
            else
              keep_compact(k, ts, tn, debt, ap, aq)
            end
          end
        elseif callers == 0 then
          taken = d <= room
          if taken and op == 0 and need > 0 then
            keep_compact(k, s, n, d + need, ap, aq, e)
          end
        end
      end
    end
    if taken == nil then
      read(k)
      if not wide_step then build_wide_step() end
      taken = wide_step(k, ask, op)
      if taken == nil then stuck = {[k] = true} end
    end
    said[groups] = taken and '1' or taken == nil and '?' or '0'
  else
    -- A group: its charges in order; what they change is taken back when one is refused.
    local first, taken, undo = at, true, nil
    repeat
      k, asked, flags = charges[at] + 1, charges[at + 1], charges[at + 2]
      at = at + 3
      if taken then
        if asked ~= j then
          j = asked
          ask = asks[j]
          op, wide, cs, cn, ls, ln, ap, aq, need, room =
            ask[1], ask[2], ask[3], ask[4], ask[5], ask[6], ask[7], ask[8], ask[9], ask[10]
          rate = ask.rate
        end
        if not S[k] then read(k) end
        local s, n, d, p, was = S[k], N[k], D[k], P[k], dirty[k]
        local admitted
        local plain = wide == 0 and op < 2 and type(d) == 'number'
        if plain and p then
          plain = p == ap and Q[k] == aq and (was or s > cs or (s == cs and n >= cn))
        end
        if stuck and stuck[k] then
          admitted = nil
        elseif plain then
          local ds, dn = ts - s, tn - n
          if dn < 0 then ds, dn = ds - 1, dn + 1e9 end
          if ds >= 0 or callers == 0 then
            local debt = d
            if ds >= 0 then
              local inflow = (ds * 1e9 + dn) * ap
              if inflow < d then debt = d - inflow else debt = 0 end
            end
            admitted = debt <= room
            if admitted and op == 0 and need > 0 then
              undo = undo or {}
              local u = #undo
              undo[u + 1], undo[u + 2], undo[u + 3], undo[u + 4] = k, s, n, d
              undo[u + 5], undo[u + 6], undo[u + 7] = p or false, Q[k] or false, was or false
              if ds >= 0 then S[k], N[k] = ts, tn end
              D[k], P[k], Q[k] = debt + need, ap, aq
              dirty[k], any_dirty = 1, true
            end
          else
            plain = false
          end
        end
        if not plain and not (stuck and stuck[k]) then
          if not wide_step then build_wide_step() end
          undo = undo or {}
          local u = #undo
          undo[u + 1], undo[u + 2], undo[u + 3], undo[u + 4] = k, s, n, d
          undo[u + 5], undo[u + 6], undo[u + 7] = p or false, Q[k] or false, was or false
          admitted = wide_step(k, ask, op)
        end
        if not admitted then taken = admitted end
      end
    until flags ~= 0
    if not taken and undo then
      for u = #undo - 6, 1, -7 do
        local b = undo[u]
        S[b], N[b], D[b] = undo[u + 1], undo[u + 2], undo[u + 3]
        P[b], Q[b], dirty[b] = undo[u + 4] or nil, undo[u + 5] or nil, undo[u + 6] or nil
      end
    end
    if taken == nil then
      stuck = stuck or {}
      for c = first, at - 3, 3 do stuck[charges[c] + 1] = true end
    end
    said[groups] = taken and '1' or taken == nil and '?' or '0'
  end
end

if any_dirty then
  for k = 1, key_count do
    if dirty[k] then keep(k) end
  end
end

found[key_count + 1] = table.concat(said)
found[key_count + 2] = pack('<i5I4', ts, tn)
return found
