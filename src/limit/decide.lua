-- One decision over one or more buckets, asked in order, stopping at the first refusal that counts. The twin of
-- `algorithm/`: all arithmetic is in whole numbers below 2^53, which doubles hold exactly.
--
-- KEYS[i]       the bucket's key
-- ARGV[i]       its quota, window in microseconds, burst, cost, 1 when a refusal does not end the decision, and the
--               algorithm's name
-- ARGV[n + 1]   the time in microseconds; only tests send it, otherwise it is the server's own
--
-- Answers, for each bucket that was asked: 1 admitted or 0 refused, what remains, the rest in microseconds, and the
-- state (its moment and two numbers); then the time, or 0 when none was needed.
--
-- Both are packed: lists of numbers, each a text by itself, take client and server longer than everything else about a
-- decision. The formats below say how long each number is; the most significant byte is first.
--
-- `fixed`: a string with an integer count; its TTL is the rest of the window, and its only clock.
-- `log`: a list of the admitted hits' times. The others: a string of three numbers with colons between.
-- A refused hit leaves what was counted as it was; an integer key without a (sane) TTL gets a whole window.

local ASK, ANSWER, TIME = '>I4I8I4I4I1s', '>i1i8i8i8i8i8', '>i8'
local given = ARGV[#KEYS + 1]
local now = given and tonumber(given) or nil

local function moment()
  if not now then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  end
  return now
end

local function text(number)
  return string.format('%.0f', number)
end

local function floor(a, b)
  return (a - math.fmod(a, b)) / b
end

local function ceil(a, b)
  local over = math.fmod(a, b)
  if over > 0 then
    return (a - over) / b + 1
  end
  return a / b
end

-- A key of another type answers with an error table, a foreign text does not match: both count as nothing.
local function held(key)
  local value = redis.pcall('GET', key)
  if type(value) ~= 'string' then
    return nil
  end
  local a, b, c = string.match(value, '^(%d+):(%d+):(%d+)$')
  return tonumber(a or ''), tonumber(b or ''), tonumber(c or '')
end

local function keep(key, fresh, a, b, c)
  redis.call('SET', key, text(a) .. ':' .. text(b) .. ':' .. text(c), 'PX', text(math.max(1, ceil(fresh, 1000))))
end

-- Redis runs this file anew for each decision: an algorithm that nobody asks for is not even made.
local function algorithm(name)
  if name == 'fixed' then
    return function(key, quota, window, _, cost)
      window = window / 1000
      -- Counted first and taken back when it was too much: an admission asks nothing else but the rest of the window.
      local count = redis.pcall('INCRBY', key, cost)
      if type(count) ~= 'number' or count < cost then
        -- Another type, and a text that no counter wrote, count as nothing.
        redis.call('SET', key, cost)
        count = cost
      end
      local rest = redis.call('PTTL', key)
      if rest < 0 or rest > window then
        redis.call('PEXPIRE', key, window)
        rest = window
      end
      if count <= quota then
        return 1, quota - count, rest * 1000, 0, count, 0
      end
      count = count - cost
      if count == 0 then
        redis.call('DEL', key)
      else
        redis.call('DECRBY', key, cost)
      end
      return 0, math.max(0, quota - count), rest * 1000, 0, math.min(count, 4294967295), 0
    end
  end
  if name == 'gcra' then
    return function(key, quota, window, burst, cost)
      local now = moment()
      local tat, ticks = held(key)
      local full = burst * window
      local spent = 0
      if tat and tat >= now then
        spent = math.min((tat - now) * quota + math.min(ticks, quota - 1), full)
      end
      local wanted = spent + cost * window
      if wanted > full then
        return 0, floor(full - spent, window), ceil(wanted - full, quota), tat or 0, ticks or 0, 0
      end
      local back = ceil(wanted, quota)
      tat, ticks = now + floor(wanted, quota), math.fmod(wanted, quota)
      keep(key, back, tat, ticks, 0)
      return 1, floor(full - wanted, window), back, tat, ticks, 0
    end
  end
  if name == 'bucket' then
    return function(key, quota, window, burst, cost)
      local now = moment()
      local stamp, missing = held(key)
      local full = burst * window
      if stamp and stamp <= now + ceil(full, quota) then
        now = math.max(now, stamp)
        missing = math.min(math.max(0, missing - (now - stamp) * quota), full)
      else
        missing = 0
      end
      local tokens = full - missing
      local price = cost * window
      if tokens < price then
        return 0, floor(tokens, window), ceil(price - tokens, quota), now, missing, 0
      end
      missing = missing + price
      local back = ceil(missing, quota)
      keep(key, back, now, missing, 0)
      return 1, floor(tokens - price, window), back, now, missing, 0
    end
  end
  if name == 'log' then
    return function(key, quota, window, burst, cost)
      local now = moment()
      local len = redis.pcall('LLEN', key)
      if type(len) ~= 'number' then
        redis.call('DEL', key)
        len = 0
      end
      local function at(index)
        return tonumber(redis.call('LINDEX', key, index)) or 0
      end
      if len > 0 then
        local newest = at(-1)
        if newest > now + window then
          redis.call('DEL', key)
          len = 0
        else
          now = math.max(now, newest)
        end
      end
      -- How many have left the window: a search by halves, for the times are in order.
      local left, upper = 0, len
      while left < upper do
        local middle = math.floor((left + upper) / 2)
        if at(middle) + window <= now then
          left = middle + 1
        else
          upper = middle
        end
      end
      local running = len - left
      if running + cost <= quota then
        local value = text(now)
        for _ = 1, cost do
          redis.call('RPUSH', key, value)
        end
        redis.call('LTRIM', key, -(running + cost), -1)
        redis.call('PEXPIRE', key, text(ceil(window, 1000)))
        return 1, quota - running - cost, at(0) + window - now, now, running + cost, 0
      end
      local rest = window
      if cost <= quota then
        rest = at(left + running + cost - quota - 1) + window - now
      end
      return 0, math.max(0, quota - running), rest, now, running, 0
    end
  end
  -- Both sliding windows.
  return function(key, quota, window, burst, cost)
    local now = moment()
    local start, current, previous = held(key)
    if start and now < start + window and start <= now + window then
      -- The window that runs.
    elseif start and now >= start and now < start + 2 * window then
      start, current, previous = start + window, 0, current
    else
      start, current, previous = now, 0, 0
      if name == 'sliding-epoch' then
        start = now - math.fmod(now, window)
      end
    end
    local behind = math.max(0, start - now)
    local elapsed = math.max(0, now - start)
    local budget = quota * window
    local used = previous * (window - elapsed) + current * window
    local left = math.max(0, budget - used)
    local wanted = cost * window
    -- Until a cost fits that does not fit now, if nothing else comes.
    local function room_for(cost, current)
      local total = (current + cost) * window
      if total <= budget then
        return ceil(previous * (window - elapsed) + total - budget, math.max(previous, 1))
      end
      return window - elapsed + ceil(total - budget, math.max(current, 1))
    end
    if wanted <= left then
      keep(key, behind + 2 * window - elapsed, start, current + cost, previous)
      local remaining = floor(left - wanted, window)
      local rest = window - elapsed
      if remaining == 0 then
        rest = room_for(1, current + cost)
      end
      return 1, remaining, behind + rest, start, current + cost, previous
    end
    local rest = window
    if cost <= quota then
      rest = room_for(cost, current)
    end
    return 0, floor(left, window), behind + rest, start, current, previous
  end
end

local answer = ''
local last, decide
for i, key in ipairs(KEYS) do
  local quota, window, burst, cost, goes_on, name = struct.unpack(ASK, ARGV[i])
  if name ~= last then
    last, decide = name, algorithm(name)
  end
  local admitted, remaining, rest, state, one, two = decide(key, quota, window, burst, cost)
  answer = answer .. struct.pack(ANSWER, admitted, remaining, rest, state, one, two)
  if admitted == 0 and goes_on == 0 then
    break
  end
end
return answer .. struct.pack(TIME, now or 0)
