"""LiteLLM as a library."""

import json
import os

import litellm
from checks import *

litellm.telemetry = False
os.environ["OPENAI_API_BASE"] = os.environ["OPENAI_BASE_URL"]
asked = {"model": f"openai/{MODEL}", "temperature": 0, "max_tokens": 64, "num_retries": 0, "max_retries": 0}


def ask(text, **more):
    messages = [{"role": "user", "content": text}]
    return litellm.completion(**{**asked, "messages": messages, **more})


def chat():
    return ask(SUM).choices[0].message.content


def stream():
    return [chunk.choices[0].delta.content or "" for chunk in ask(STORY, stream=True)]


def tools():
    given = {"tools": [{"type": "function", "function": TOOL}]}
    message = ask(QUESTION, **given).choices[0].message
    call = message.tool_calls[0]
    arguments = json.loads(call.function.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": get_weather(**arguments)}
    history = [{"role": "user", "content": QUESTION}, message, result]
    answer = ask(QUESTION, messages=history, **given).choices[0].message.content
    return {"name": call.function.name, "arguments": arguments, "answer": answer}


def schema():
    format = {"type": "json_schema", "json_schema": {"name": "number", "schema": SCHEMA, "strict": True}}
    return json.loads(ask(NUMBER, response_format=format).choices[0].message.content)


def messages():
    return litellm.completion(
        **{**asked, "model": f"anthropic/{MODEL}"},
        api_base=os.environ["ANTHROPIC_BASE_URL"],
        api_key=os.environ["ANTHROPIC_AUTH_TOKEN"],
        messages=[{"role": "user", "content": SUM}],
    ).choices[0].message.content


def embeddings():
    return litellm.embedding(model=f"openai/{EMBEDDING}", input=[SHIP]).data[0]["embedding"]


def abort():
    answer = ask(COUNT, stream=True, max_tokens=1000, temperature=1)
    next(answer)
    answer.completion_stream.close()
    return "left"


def retry():
    return ask(SUM, model=f"openai/{STARTING}", max_retries=10).choices[0].message.content


def errors():
    return [failure(lambda: ask(SUM, model="openai/none")), failure(lambda: ask(LONG))]


run(chat, stream, tools, schema, messages, embeddings, abort, retry, errors)
