-- What wrk sends: wrk -s load.lua URL -- KIND METHOD BODY-FILE TOKEN-FILE CLIENTS [PAUSE]
--   KIND     plain | me (a bearer token from the file) | refresh (each token is exchanged once, its successor goes on)
--            | known (a browser's cookie from the file)
--   CLIENTS  many (every request comes from another address) | one | a number (so many take turns; not `refresh`)
--   PAUSE    milliseconds before each request of a connection, for a probe that is no load itself
-- It ends with one line for the script: RESULT requests seconds above-399 broken p50-ms p99-ms

local threads = 0

function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end

local function lines(name)
    local all = {}
    for line in io.lines(name) do all[#all + 1] = line end
    return all
end

local kind, method, body, tokens, clients
local sent = 0
-- The requests of clients that take turns, written once: what writing them costs would hide what serving them does.
local turns

local function address(place)
    return string.format("24.%d.%d.%d", math.floor(place / 65536) % 256, math.floor(place / 256) % 256, place % 256)
end

-- Who it is that asks, where that is told by a header.
local function proven(headers, place)
    if kind == "me" then
        headers["Authorization"] = "Bearer " .. tokens[place % #tokens + 1]
    elseif kind == "known" then
        headers["Cookie"] = tokens[1]
    end
    return headers
end

local function written(headers)
    headers["Host"] = "localhost"
    if body then headers["Content-Type"] = "application/json" end
    return wrk.format(method, nil, headers, body)
end

function init(args)
    kind, method, clients = args[1], args[2], args[5]
    body = args[3] ~= "-" and io.open(args[3]):read("*a") or nil
    local all = args[4] ~= "-" and lines(args[4]) or {}
    tokens = {}
    for place, token in ipairs(all) do
        if kind ~= "refresh" or place % 2 == number % 2 then tokens[#tokens + 1] = token end
    end
    if tonumber(clients) then
        turns = {}
        for place = 0, tonumber(clients) - 1 do
            turns[place + 1] = written(proven({ ["X-Forwarded-For"] = address(place) }, place))
        end
    end
    if args[6] then
        local pause = tonumber(args[6])
        delay = function() return pause end
    end
    if kind == "refresh" then
        response = function(status, _, answer)
            local token = answer:match('"refresh_token":"([^"]+)"')
            if status == 200 and token then tokens[#tokens + 1] = token end
        end
    end
end

local function client()
    if clients == "one" then return "24.0.0.1" end
    sent = sent + 1
    return address(number * 4194304 + sent)
end

function request()
    if turns then
        sent = sent + 1
        return turns[sent % #turns + 1]
    end
    local headers = { ["Host"] = "localhost", ["X-Forwarded-For"] = client() }
    local content = body
    if content then headers["Content-Type"] = "application/json" end
    proven(headers, sent)
    if kind == "refresh" then
        content = '{"refresh_token":"' .. (table.remove(tokens, 1) or "none-left") .. '"}'
        headers["Content-Type"] = "application/json"
    end
    return wrk.format(method, nil, headers, content)
end

function done(summary, latency, _)
    local errors = summary.errors
    local broken = errors.connect + errors.read + errors.write + errors.timeout
    io.write(string.format("RESULT %d %.3f %d %d %.2f %.2f\n", summary.requests, summary.duration / 1e6, errors.status,
        broken, latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
