-- Decides a batch of groups of charges, each all or none, as core/joint.h does: the same integers.
--
-- KEYS: the records that the batch touches. ARGV[1]: the batch, ARGV[2...]: patches, four each
-- (suimon/store/redis/batch.cc writes both). Answers with the records from which it started, the
-- word on every group (1 taken, 0 refused, ? undecided) and the instant of it all.
--
-- Lua's numbers are doubles. Below 2^53 they are exact, and a sum or product of whole numbers that
-- comes out below 2^53 has been exact; larger numbers are tables of six limbs of 24 bits. Most
-- charges never meet one, so what counts with them is not even built until one does.
--
-- The script is this file, take_wide.lua and take_groups.lua in one.

local call, unpack_struct, pack, byte, sub, floor, format =
  redis.call, struct.unpack, struct.pack, string.byte, string.sub, math.floor, string.format
local keys, batch = KEYS, ARGV[1]
local EXACT = 9007199254740992
local LARGE = 1024  -- far from any record
local NO_EXPIRY = '\0\0\0\0\0'
local COMPACT, WIDE = '<Bi5I4I7I7I7I5', '<Bi5I4I3I3I3I3I3I3I3I3I3I3I3I3I5'

local found = call('MGET', unpack(keys))
local key_count = #keys

local callers, ts, tn, ask_count, charge_count, at = unpack_struct('<Bi5I4I2I2', batch)
if callers == 0 then
  local time = call('TIME')
  ts, tn = tonumber(time[1]), time[2] * 1000
end

-- What is asked for: op, wide, changed (s, n), since (s, n), p, q, need, room; and p and q as a
-- compact record has them.
local asks = {}
for j = 0, ask_count - 1 do
  local ask = {unpack_struct('<BBi5I4i5I4', batch, at)}
  at = ask[7]
  if ask[2] == 0 then
    ask[7], ask[8], ask[9], ask[10], at = unpack_struct('<dddd', batch, at)
    ask.rate = pack('<I7I7', ask[7], ask[8])
  else
    ask.text, at = unpack_struct('<c54', batch, at)
  end
  asks[j] = ask
end

-- Records by key: the instant (seconds, nanoseconds), the debt and the parameters in which it is
-- told, and the second in which it expires. A number is a double or, from 2^53 on, limbs.
local S, N, D, P, Q, E = {}, {}, {}, {}, {}, {}
local dirty = {}  -- 1: to be written
local any_dirty = false

local ASK_TAKE, ASK_PEEK, ASK_UP_TO, ASK_GIVE_BACK, ASK_FORCE = 0, 1, 2, 3, 4

-- A record expires LINGER seconds after it is full again. A write that finds some of them left leaves
-- the expiry as it is, which costs Redis half of setting one. What doubles round is within the two
-- seconds of `due`.
local LINGER, FOR_EVER = 8, 1e12
local told, told_text
local function fresh(due)
  local expires, word = due + LINGER, 'EXAT'
  -- The caller's clock may stand still; real time gives it an hour on top.
  if callers ~= 0 then expires, word = due - ts + 3600, 'EX' end
  if expires > FOR_EVER then expires = FOR_EVER end
  -- As text, for Redis itself takes two microseconds to write a number.
  if expires ~= told then told, told_text = expires, format('%d', expires) end
  return expires, word, told_text
end

-- Writes a record whose expiry is `e`, if it has one.
local function keep_compact(k, s, n, d, p, q, e)
  local due = s + (n + d / p) / 1e9 + 2
  if e and e >= due and e <= due + LINGER and callers == 0 then
    -- In place, and all of it: what was read is of this form, too, and nothing expires meanwhile.
    call('SETRANGE', keys[k], '0', pack(COMPACT, 1, s, n, d, p, q, e))
  else
    local expires, word, text = fresh(floor(due))
    call('SET', keys[k], pack(COMPACT, 1, s, n, d, p, q, expires), word, text)
  end
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
  local expires, word, text = fresh(floor(s + (n + double(d) / double(p)) / 1e9) + 2)
  local record = pack(WIDE, 2, s, n, d[1], d[2], d[3], d[4], d[5], d[6], p[1], p[2], p[3], q[1],
    q[2], q[3], expires)
  call('SET', keys[k], record, word, text)
end

local function keep(k)
  local d, p, q = D[k], P[k], Q[k]
  if type(d) == 'number' and type(p) == 'number' and type(q) == 'number' then
    keep_compact(k, S[k], N[k], d, p, q, E[k])
  else
    keep_wide(k, S[k], N[k], d, p, q)
  end
end

-- Whether it is an instant of 64 bits of nanoseconds.
local function known(s, n)
  return (s > -9223372037 or (s == -9223372037 and n >= 145224192)) and
    (s < 9223372036 or (s == 9223372036 and n <= 854775807))
end

-- Whether S..Q of the key hold something; what is no record of ours is nothing.
local function read(k)
  local r = found[k]
  if r then
    local size = #r
    if size == 36 then
      local form, s, n, d, p, q, e = unpack_struct(COMPACT, r)
      if form == 1 and n < 1e9 and known(s, n) and d < EXACT and p < EXACT and q < EXACT and
        p > 0 and q > 0 then
        S[k], N[k], D[k], P[k], Q[k], E[k] = s, n, d, p, q, e
        return
      end
    elseif size == 51 then
      local form, s, n, d1, d2, d3, d4, d5, d6, p1, p2, p3, q1, q2, q3 = unpack_struct(WIDE, r)
      if form == 2 and n < 1e9 and known(s, n) and p3 < 65536 and q3 < 65536 and p1 + p2 + p3 > 0 and
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
  if r and #r > LARGE then
    -- Somebody put it there. It would be read and sent again for every look.
    call('DEL', keys[k])
    found[k] = false
  end
  S[k], N[k], D[k], P[k], E[k] = -9223372037, 145224192, 0, nil, nil
end
