"""Streams and completes one answer with pydantic-ai: pydantic_ai_usage.py BASE_URL MODEL. Prints what it counted."""

import asyncio
import json
import os
import sys

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

base_url, model = sys.argv[1:]
client = AsyncOpenAI(
    base_url=base_url, api_key="unused", default_headers={"cookie": os.environ["BERTH_COOKIE"]}
)
agent = Agent(OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client)))


def counted(result):
    usage = result.usage() if callable(result.usage) else result.usage
    return {"input": usage.input_tokens, "output": usage.output_tokens}


async def main():
    async with agent.run_stream("Tell me a story about a fox.") as stream:
        pieces = [piece async for piece in stream.stream_text(delta=True, debounce_by=None)]
        streamed = counted(stream)
    whole = counted(await agent.run("What is 27 + 15?"))
    print(json.dumps({"pieces": len(pieces), "streamed": streamed, "whole": whole}))


asyncio.run(main())
