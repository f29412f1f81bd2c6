"""OpenAI's Agents SDK, which uses responses unless told otherwise."""

import asyncio
import json

from agents import Agent, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner
from agents import function_tool, set_tracing_disabled
from checks import *
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)


class Number(BaseModel):
    n: int


def agent(kind=OpenAIResponsesModel, name=MODEL, retries=0, settings=None, **more):
    model = kind(name, AsyncOpenAI(max_retries=retries))
    settings = settings or ModelSettings(temperature=0, max_tokens=64)
    return Agent(name="Tester", model=model, model_settings=settings, **more)


def ask(text, **more):
    return asyncio.run(Runner.run(agent(**more), text)).final_output


def chat():
    return ask(SUM)


def completions():
    return ask(SUM, kind=OpenAIChatCompletionsModel)


def stream():
    async def collect():
        result = Runner.run_streamed(agent(), STORY)
        return [
            event.data.delta
            async for event in result.stream_events()
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
        ]

    return asyncio.run(collect())


def tools():
    result = asyncio.run(Runner.run(agent(tools=[function_tool(get_weather)]), QUESTION, max_turns=4))
    call = next(item.raw_item for item in result.new_items if item.type == "tool_call_item")
    return {"name": call.name, "arguments": json.loads(call.arguments), "answer": result.final_output}


def schema():
    return ask(NUMBER, output_type=Number).model_dump()


def abort():
    async def leave():
        result = Runner.run_streamed(agent(settings=ModelSettings(max_tokens=1000)), COUNT)
        async for event in result.stream_events():
            if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
                result.cancel()
                return "left"

    return asyncio.run(leave())


def retry():
    return ask(SUM, name=STARTING, retries=10)


def errors():
    return [failure(lambda: ask(SUM, name="none")), failure(lambda: ask(LONG))]


run(chat, completions, stream, tools, schema, abort, retry, errors)
