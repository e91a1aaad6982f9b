"""FastAPI behind one of its limiters: PEER names it, QUOTA is what a client may do in a minute, REDIS_URL where it
counts ("-": in memory). uvicorn takes the client from X-Forwarded-For, as the service does, and believes loopback alone.
"""

import os
from contextlib import asynccontextmanager

from fastapi import Depends, FastAPI, Request

PEER = os.environ["PEER"]
QUOTA = int(os.environ["QUOTA"])
REDIS_URL = os.environ["REDIS_URL"]


@asynccontextmanager
async def lifespan(_: FastAPI):
    if PEER == "fastapi-limiter":
        from fastapi_limiter import FastAPILimiter
        from redis.asyncio import Redis

        await FastAPILimiter.init(Redis.from_url(REDIS_URL))
    yield


app = FastAPI(lifespan=lifespan)


def answer() -> dict[str, str]:
    return {"status": "ok"}


def alcazaba_cache():
    from fastapi_alcazaba import Cache

    if REDIS_URL == "-":
        from fastapi_alcazaba.backends.inmemory import InMemoryBackend

        # Without a bound: with its own of 10,000 it would forget clients that are counted.
        return Cache(InMemoryBackend(max_size=None))
    from fastapi_alcazaba.backends.redis import RedisBackend
    from redis.asyncio import Redis

    return Cache(RedisBackend(Redis.from_url(REDIS_URL)))


match PEER:
    case "alcazaba":
        from fastapi_alcazaba import FastAPIRateLimiter

        limiter = FastAPIRateLimiter(times=QUOTA, minutes=1, name="bench", cache=alcazaba_cache())

        @app.get("/", dependencies=[Depends(limiter)])
        async def by_alcazaba():
            return answer()

    case "schedule":
        # As `compare` has them: /NAME-QUOTA-MILLISECONDS-COST.
        from fastapi_alcazaba import FastAPIRateLimiter

        cache = alcazaba_cache()
        for path in os.environ["ROUTES"].split():
            name, quota, window, cost = path.removeprefix("/").split("-")
            limiter = FastAPIRateLimiter(
                times=int(quota), milliseconds=int(window), cost=int(cost), name=name, cache=cache
            )
            app.get(path, dependencies=[Depends(limiter)])(answer)

    case "slowapi":
        from slowapi import Limiter, _rate_limit_exceeded_handler
        from slowapi.errors import RateLimitExceeded
        from slowapi.util import get_remote_address

        limiter = Limiter(key_func=get_remote_address)
        app.state.limiter = limiter
        app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)

        @app.get("/")
        @limiter.limit(f"{QUOTA}/minute")
        async def by_slowapi(request: Request):
            return answer()

    case "fastapi-limiter":
        from fastapi_limiter.depends import RateLimiter

        @app.get("/", dependencies=[Depends(RateLimiter(times=QUOTA, minutes=1))])
        async def by_fastapi_limiter():
            return answer()

    case _:
        raise SystemExit(f"no peer named {PEER}")
