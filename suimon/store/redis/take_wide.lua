-- Part of the script that begins in take.lua.

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
