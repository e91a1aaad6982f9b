-- One step with the leases of a limiter: a sorted set of token -> deadline in milliseconds, by the server's clock.
--
-- KEYS[1]   the set
-- ARGV      what to do (take, renew, release), the token, how many may be held, the lease's length in milliseconds
--
-- Answers 1 when it was done: taken while there was room, renewed while it was still held, released while it was held.
-- Leases whose holder died are dropped by the next step of anybody.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local key, step, token = KEYS[1], ARGV[1], ARGV[2]
local limit, ttl = tonumber(ARGV[3]), tonumber(ARGV[4])

if step == 'release' then
  return redis.call('ZREM', key, token)
end

redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
if step == 'renew' then
  if not redis.call('ZSCORE', key, token) then
    return 0
  end
elseif redis.call('ZCARD', key) >= limit then
  return 0
end
redis.call('ZADD', key, now + ttl, token)
redis.call('PEXPIRE', key, ttl)
return 1
