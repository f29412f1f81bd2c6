"""OpenAI's own package."""

import json

from checks import *
from openai import OpenAI

client = OpenAI(max_retries=0)
asked = {"model": MODEL, "temperature": 0, "max_tokens": 64}


def ask(text, **more):
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(**{**asked, "messages": messages, **more})


def chat():
    return ask(SUM).choices[0].message.content


def stream():
    return [chunk.choices[0].delta.content or "" for chunk in ask(STORY, stream=True) if chunk.choices]


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


def responses():
    return client.responses.create(model=MODEL, input=SUM, temperature=0, max_output_tokens=64).output_text


def embeddings():
    return client.embeddings.create(model=EMBEDDING, input=SHIP).data[0].embedding


def abort():
    with ask(COUNT, stream=True, max_tokens=1000, temperature=1) as answer:
        for _ in answer:
            return "left"


def retry():
    return client.with_options(max_retries=10).chat.completions.create(
        **{**asked, "model": STARTING}, messages=[{"role": "user", "content": SUM}]
    ).choices[0].message.content


def errors():
    return [failure(lambda: ask(SUM, model="none")), failure(lambda: ask(LONG))]


run(chat, stream, tools, schema, responses, embeddings, abort, retry, errors)
