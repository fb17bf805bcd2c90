-- Decides a batch of groups of charges, each all or none, as core/joint.h does: the same integers.
--
-- KEYS: the records that the batch touches. ARGV[1]: the batch, ARGV[2...]: patches, four each
-- (suimon/store/redis/batch.cc writes both). Answers with the records from which it started, the
-- word on every group (1 taken, 0 refused, ? undecided) and the instant of it all.
--
-- Lua's numbers are doubles. Below 2^53 they are exact, and a sum or product of whole numbers that
-- comes out below 2^53 has been exact; larger numbers are tables of six limbs of 24 bits. Most
-- charges never meet one, so what counts with them is not even built until one does.

local call, unpack_struct, pack, byte, floor, format =
  redis.call, struct.unpack, struct.pack, string.byte, math.floor, string.format
local keys, batch = KEYS, ARGV[1]
local EXACT = 9007199254740992
local COMPACT, WIDE = '<Bi5I4I7I7I7', '<Bi5I4I3I3I3I3I3I3I3I3I3I3I3I3'

local found = call('MGET', unpack(keys))
local key_count = #keys

local callers, ts, tn, ask_count, charge_count, at = unpack_struct('<Bi5I4I2I2', batch)
if callers == 0 then
  local time = call('TIME')
  ts, tn = tonumber(time[1]), time[2] * 1000
end

-- What is asked for: op, wide, changed (s, n), since (s, n), p, q, need, room.
local asks = {}
for j = 0, ask_count - 1 do
  local ask = {unpack_struct('<BBi5I4i5I4', batch, at)}
  at = ask[7]
  if ask[2] == 0 then
    ask[7], ask[8], ask[9], ask[10], at = unpack_struct('<dddd', batch, at)
  else
    ask.text, at = unpack_struct('<c54', batch, at)
  end
  asks[j] = ask
end

-- Records by key: the instant (seconds, nanoseconds), the debt and the parameters in which it is
-- told. A number is a double or, from 2^53 on, limbs.
local S, N, D, P, Q = {}, {}, {}, {}, {}
local dirty = {}  -- 1: to be written
local any_dirty = false

local ASK_TAKE, ASK_PEEK, ASK_UP_TO, ASK_GIVE_BACK, ASK_FORCE = 0, 1, 2, 3, 4

-- When a record goes: after the millisecond in which it is full, and two for what a double rounds.
-- As text, for Redis itself takes two microseconds to write a number.
local expiry, last_full, last_text = callers == 0 and 'PXAT' or 'PX', nil, nil
local function full(s, n, debt, p)
  local left = debt / p / 1000000
  if callers == 0 then
    left = floor(s * 1000 + n / 1000000 + left) + 3
  else
    -- The caller's clock may stand still; real time gives it an hour on top.
    left = floor(left) + 3600003
  end
  if left ~= last_full then
    if left > 9e15 then left = 9e15 end
    last_full, last_text = left, format('%d', left)
  end
  return last_text
end

local function keep_wide(k, s, n, d, p, q)
  local function limbs(x)
    if type(x) == 'table' then return x end
    local low = x % 16777216
    local rest = (x - low) / 16777216
    return {low, rest % 16777216, floor(rest / 16777216), 0, 0, 0}
  end
  local function double(x)
    return ((((x[6] * 16777216 + x[5]) * 16777216 + x[4]) * 16777216 + x[3]) * 16777216 + x[2])
      * 16777216 + x[1]
  end
  d, p, q = limbs(d), limbs(p), limbs(q)
  local record = pack(WIDE, 2, s, n, d[1], d[2], d[3], d[4], d[5], d[6], p[1], p[2], p[3], q[1],
    q[2], q[3])
  call('SET', keys[k], record, expiry, full(s, n, double(d), double(p)))
end

local function keep(k, s, n, d, p, q)
  if type(d) == 'number' and type(p) == 'number' and type(q) == 'number' then
    call('SET', keys[k], pack(COMPACT, 1, s, n, d, p, q), expiry, full(s, n, d, p))
  else
    keep_wide(k, s, n, d, p, q)
  end
end

-- Whether S..Q of the key hold something; what is no record of ours is nothing.
local function read(k)
  local r = found[k]
  if r then
    local size = #r
    if size == 31 then
      local form, s, n, d, p, q = unpack_struct(COMPACT, r)
      if form == 1 and n < 1e9 and d < EXACT and p < EXACT and q < EXACT and p > 0 and q > 0 then
        S[k], N[k], D[k], P[k], Q[k] = s, n, d, p, q
        return
      end
    elseif size == 46 then
      local form, s, n, d1, d2, d3, d4, d5, d6, p1, p2, p3, q1, q2, q3 = unpack_struct(WIDE, r)
      if form == 2 and n < 1e9 and p3 < 65536 and q3 < 65536 and p1 + p2 + p3 > 0 and
        q1 + q2 + q3 > 0 and (d6 < 16 or (d6 == 16 and d1 + d2 + d3 + d4 + d5 == 0)) then
        local function norm(a1, a2, a3, a4, a5, a6)
          if a3 < 32 and a4 + a5 + a6 == 0 then return (a3 * 16777216 + a2) * 16777216 + a1 end
          return {a1, a2, a3, a4, a5, a6}
        end
        S[k], N[k] = s, n
        D[k] = norm(d1, d2, d3, d4, d5, d6)
        P[k], Q[k] = norm(p1, p2, p3, 0, 0, 0), norm(q1, q2, q3, 0, 0, 0)
        return
      end
    end
  end
  S[k], N[k], D[k], P[k] = -9223372037, 145224192, 0, nil
end

-- The same step for numbers of any size. Built when it is first needed.
local wide_step
local function build_wide_step()
  local B = 16777216
  local ZERO = {0, 0, 0, 0, 0, 0}
  local MOST = {0, 0, 0, 0, 0, 16}  -- 2^124

  local function limbs(x)
    if type(x) == 'table' then return x end
    local low = x % B
    local rest = (x - low) / B
    return {low, rest % B, floor(rest / B), 0, 0, 0}
  end
  local function norm(x)
    if x[3] < 32 and x[4] + x[5] + x[6] == 0 then return (x[3] * B + x[2]) * B + x[1] end
    return x
  end
  local function less(x, y)
    for i = 6, 1, -1 do
      if x[i] ~= y[i] then return x[i] < y[i] end
    end
    return false
  end
  local function add(x, y)
    local z, carry = {}, 0
    for i = 1, 6 do
      local sum = x[i] + y[i] + carry
      if sum >= B then z[i], carry = sum - B, 1 else z[i], carry = sum, 0 end
    end
    return z
  end
  local function sub(x, y)  -- x >= y
    local z, borrow = {}, 0
    for i = 1, 6 do
      local rest = x[i] - y[i] - borrow
      if rest < 0 then z[i], borrow = rest + B, 1 else z[i], borrow = rest, 0 end
    end
    return z
  end
  local function mul(x, y)  -- both below 2^72
    local z, carry = {}, 0
    local x1, x2, x3, y1, y2, y3 = x[1], x[2], x[3], y[1], y[2], y[3]
    local columns = {x1 * y1, x1 * y2 + x2 * y1, x1 * y3 + x2 * y2 + x3 * y1, x2 * y3 + x3 * y2,
      x3 * y3, 0}
    for i = 1, 6 do
      local sum = columns[i] + carry
      local low = sum % B
      z[i], carry = low, (sum - low) / B
    end
    return z
  end
  local function divide(x, y)  -- y below 2^72 and not 0: the quotient and the rest
    local y1, y2, y3 = y[1], y[2], y[3]
    local divisor = (y3 * B + y2) * B + y1
    local z, r1, r2, r3 = {}, 0, 0, 0
    for i = 6, 1, -1 do
      local r4
      r4, r3, r2, r1 = r3, r2, r1, x[i]
      -- A guess, at most one off, and what it leaves.
      local digit = floor((((r4 * B + r3) * B + r2) * B + r1) / divisor)
      local t = r1 - digit * y1
      r1 = t % B
      t = r2 - digit * y2 + (t - r1) / B
      r2 = t % B
      t = r3 - digit * y3 + (t - r2) / B
      r3 = t % B
      r4 = r4 + (t - r3) / B
      while r4 < 0 do
        digit = digit - 1
        t = r1 + y1
        r1 = t % B
        t = r2 + y2 + (t - r1) / B
        r2 = t % B
        t = r3 + y3 + (t - r2) / B
        r3 = t % B
        r4 = r4 + (t - r3) / B
      end
      while r4 > 0 or r3 > y3 or (r3 == y3 and (r2 > y2 or (r2 == y2 and r1 >= y1))) do
        digit = digit + 1
        t = r1 - y1
        r1 = t % B
        t = r2 - y2 + (t - r1) / B
        r2 = t % B
        t = r3 - y3 + (t - r2) / B
        r3 = t % B
        r4 = r4 + (t - r3) / B
      end
      z[i] = digit
    end
    return z, {r1, r2, r3, 0, 0, 0}
  end
  local function at_most(x, y) if less(y, x) then return y end return x end

  local function same(x, y)
    if type(x) ~= type(y) then return false end
    if type(x) == 'number' then return x == y end
    return x[1] == y[1] and x[2] == y[2] and x[3] == y[3]
  end
  local function before(s1, n1, s2, n2) return s1 < s2 or (s1 == s2 and n1 < n2) end

  -- What flows in between two instants, the second of which is not the earlier one.
  local function flow(s1, n1, s2, n2, p)
    local s, n = s2 - s1, n2 - n1
    if n < 0 then s, n = s - 1, n + 1e9 end
    return mul(add(mul(limbs(s), limbs(1e9)), limbs(n)), limbs(p))
  end
  local function debt_at(s, n, d, p, now_s, now_n)
    if before(now_s, now_n, s, n) then
      return at_most(add(d, at_most(flow(now_s, now_n, s, n, p), MOST)), MOST)
    end
    local inflow = flow(s, n, now_s, now_n, p)
    if not less(inflow, d) then return ZERO end
    return sub(d, inflow)
  end

  local function open(ask)
    local a = {unpack_struct('<I3I3I3I3I3I3I3I3I3I3I3I3I3I3I3I3I3I3', ask.text)}
    ask[7] = norm({a[1], a[2], a[3], 0, 0, 0})
    ask[8] = norm({a[4], a[5], a[6], 0, 0, 0})
    ask[9] = {a[7], a[8], a[9], a[10], a[11], a[12]}
    ask[10] = {a[13], a[14], a[15], a[16], a[17], a[18]}
    ask.text = nil
  end

  -- True when admitted, false when refused, nil when the client must convert the record first.
  wide_step = function(k, ask, op)
    if ask.text then open(ask) end
    local s, n, d, p, q = S[k], N[k], limbs(D[k]), P[k], Q[k]
    local ap, aq = ask[7], ask[8]
    if not p then p, q = ap, aq end
    local alike = same(p, ap) and same(q, aq)
    if P[k] and not dirty[k] then
      if before(s, n, ask[3], ask[4]) then return nil end
      if not alike and before(s, n, ask[5], ask[6]) then return nil end
    end
    local now_s, now_n = ts, tn
    local late = before(ts, tn, s, n)
    if late and callers == 0 then now_s, now_n, late = s, n, false end
    if not alike then
      -- Another tier's: the debt in tokens is kept, rounded up.
      local from_s, from_n = now_s, now_n
      if late then from_s, from_n = s, n end
      local debt = debt_at(s, n, d, p, from_s, from_n)
      local tokens, rest = divide(debt, limbs(q))
      if less({0, 0, 8192, 0, 0, 0}, tokens) then tokens = {0, 0, 8192, 0, 0, 0} end
      local parts, over = divide(mul(rest, limbs(aq)), limbs(q))
      if less(ZERO, over) then parts = add(parts, {1, 0, 0, 0, 0, 0}) end
      s, n, d = from_s, from_n, at_most(add(mul(tokens, limbs(aq)), parts), MOST)
      p, q = ap, aq
    end
    local debt = debt_at(s, n, d, p, now_s, now_n)
    local need, room = limbs(ask[9]), ask[10]
    local after = debt
    if op == ASK_GIVE_BACK then
      after = less(need, debt) and sub(debt, need) or ZERO
    elseif op == ASK_FORCE then
      after = at_most(add(debt, need), MOST)
    elseif op == ASK_UP_TO then
      room = limbs(room)
      if less(debt, room) then
        local there = sub(room, debt)
        if less(there, need) then
          local _, part = divide(there, limbs(q))
          need = sub(there, part)
        end
        after = add(debt, need)
      end
    else
      if type(room) == 'number' and room < 0 then return false end
      room = limbs(room)
      if room[6] == 16777215 or less(room, debt) then return false end
      if op == ASK_TAKE then after = add(debt, need) end
    end
    if not less(debt, after) and not less(after, debt) then return true end
    if not late then
      s, n, d = now_s, now_n, after
    elseif not less(after, debt) then
      d = at_most(add(d, sub(after, debt)), MOST)
    else
      local given = sub(debt, after)
      d = less(given, d) and sub(d, given) or ZERO
    end
    S[k], N[k], D[k], P[k], Q[k] = s, n, norm(d), p, q
    dirty[k], any_dirty = 1, true
    return true
  end

  -- Gives back what a take at (s, n) of `need` units has left of itself, in its own parameters.
  return function(k, text)
    if not P[k] then return end
    local a = {unpack_struct('<i5I4I3I3I3I3I3I3I3I3I3I3I3I3', text)}
    local p, q = norm({a[3], a[4], a[5], 0, 0, 0}), norm({a[6], a[7], a[8], 0, 0, 0})
    if not (same(p, P[k]) and same(q, Q[k])) then return end
    local now_s, now_n = ts, tn
    if callers == 0 and before(ts, tn, S[k], N[k]) then now_s, now_n = S[k], N[k] end
    local need = {a[9], a[10], a[11], a[12], a[13], a[14]}
    if before(a[1], a[2], now_s, now_n) then
      local gone = flow(a[1], a[2], now_s, now_n, p)
      if not less(gone, need) then return end
      need = sub(need, gone)
    end
    local ask = {ASK_GIVE_BACK, 1, -1e10, 0, -1e10, 0, p, q, need, 0}
    wide_step(k, ask, ASK_GIVE_BACK)
  end
end

-- Patches: a record that the client has converted, or has taken from and takes back. It replaces
-- what is still byte for byte what the client saw; else a take is given back in part.
for i = 2, #ARGV, 4 do
  local k, expected, other, back = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  if found[k] == expected then
    found[k] = other ~= '' and other
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
      keep(k, S[k], N[k], D[k], P[k], Q[k])
      found[k] = call('GET', keys[k])
    end
  end
end

local said = {}
local groups = 0
local j, ask, op, wide, cs, cn, ls, ln, ap, aq, need, room = -1
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
  end
  local r = found[k]
  if flags == 3 and wide == 0 and op < 2 and not stuck and not dirty[k] and (not r or #r == 31) then
    -- One charge, alone on its key in this batch: nothing is remembered.
    at = at + 3
    local taken
    if not r then
      taken = room >= 0
      if taken and op == 0 and need > 0 then
        -- The same for all new keys.
        local record = ask[11]
        if not record then
          record = pack(COMPACT, 1, ts, tn, need, ap, aq)
          ask[11], ask[12] = record, full(ts, tn, need, ap)
        end
        call('SET', keys[k], record, expiry, ask[12])
      end
    else
      local form, s, n, d, p, q = unpack_struct(COMPACT, r)
      if p == ap and q == aq and form == 1 and n < 1e9 and d < EXACT and
        (s > cs or (s == cs and n >= cn)) then
        local ds, dn = ts - s, tn - n
        if dn < 0 then ds, dn = ds - 1, dn + 1e9 end
        if ds >= 0 then
          local inflow = (ds * 1e9 + dn) * p
          local debt = 0
          if inflow < d then debt = d - inflow end
          taken = debt <= room
          if taken and op == 0 and need > 0 then
            debt = debt + need
            call('SET', keys[k], pack(COMPACT, 1, ts, tn, debt, p, q), expiry,
              full(ts, tn, debt, p))
          end
        elseif callers == 0 then
          taken = d <= room
          if taken and op == 0 and need > 0 then keep(k, s, n, d + need, p, q) end
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
    if dirty[k] then keep(k, S[k], N[k], D[k], P[k], Q[k]) end
  end
end

found[key_count + 1] = table.concat(said)
found[key_count + 2] = pack('<i5I4', ts, tn)
return found
