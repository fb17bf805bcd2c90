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
