"""pydantic-ai, with chats and with responses."""

import asyncio

from checks import *
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, Embedder, ModelSettings, NativeOutput
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider


class Number(BaseModel):
    n: int


def provider(retries=0):
    return OpenAIProvider(openai_client=AsyncOpenAI(max_retries=retries))


def agent(name=MODEL, kind=OpenAIChatModel, retries=0, settings=None, **more):
    settings = settings or ModelSettings(temperature=0, max_tokens=64)
    return Agent(kind(name, provider=provider(retries)), model_settings=settings, retries=0, **more)


def ask(text, **more):
    return agent(**more).run_sync(text).output


def chat():
    return ask(SUM)


def responses():
    return ask(SUM, kind=OpenAIResponsesModel)


def stream():
    async def collect():
        async with agent().run_stream(STORY) as result:
            return [piece async for piece in result.stream_text(delta=True, debounce_by=None)]

    return asyncio.run(collect())


def tools():
    result = agent(tools=[get_weather]).run_sync(QUESTION)
    parts = [part for message in result.all_messages() for part in message.parts]
    call = next(part for part in parts if part.part_kind == "tool-call")
    return {"name": call.tool_name, "arguments": call.args_as_dict(), "answer": result.output}


def schema():
    return ask(NUMBER, output_type=NativeOutput(Number, strict=True)).model_dump()


def embeddings():
    model = OpenAIEmbeddingModel(EMBEDDING, provider=provider())
    return list(Embedder(model).embed_query_sync(SHIP).embeddings[0])


def abort():
    async def leave():
        settings = ModelSettings(temperature=1, max_tokens=1000)
        async with agent(settings=settings).run_stream(COUNT) as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                return "left"

    return asyncio.run(leave())


def retry():
    return ask(SUM, name=STARTING, retries=10)


def errors():
    return [failure(lambda: ask(SUM, name="none")), failure(lambda: ask(LONG))]


run(chat, responses, stream, tools, schema, embeddings, abort, retry, errors)
