-- Fixed windows: one decision over one or more buckets, asked in order, stopping at the first refusal.
--
-- KEYS[i]        the bucket's key: a string with an integer count; its TTL is the rest of the window
-- ARGV[2i - 1]   how many the window admits
-- ARGV[2i]       the window's length in milliseconds
--
-- Answers three integers for each bucket that was asked: 1 admitted or 0 refused, the count, the rest of the
-- window in milliseconds. A refused hit writes nothing, except that a key without a (sane) TTL gets a whole window.
-- The time is the server's own, through the TTL.

local answer = {}

for i, key in ipairs(KEYS) do
  local quota = tonumber(ARGV[2 * i - 1])
  local window = tonumber(ARGV[2 * i])

  -- A key of another type answers with an error table, a foreign text does not match: both are replaced.
  local held = redis.pcall('GET', key)
  local count = nil
  if type(held) == 'string' and (held == '0' or string.match(held, '^[1-9]%d*$')) then
    count = tonumber(held)
  end

  local rest = window
  if count then
    rest = redis.call('PTTL', key)
    if rest < 0 or rest > window then
      redis.call('PEXPIRE', key, window)
      rest = window
    end
  end

  local admitted = 1
  if (count or 0) >= quota then
    admitted = 0
    count = count or 0
  elseif count then
    count = redis.call('INCR', key)
  else
    count = 1
    redis.call('SET', key, 1, 'PX', window)
  end

  answer[#answer + 1] = admitted
  answer[#answer + 1] = math.min(count, 4294967295)
  answer[#answer + 1] = rest
  if admitted == 0 then
    break
  end
end

return answer
