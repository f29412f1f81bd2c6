"""Anthropic's own package. Messages have no JSON schema here but that of a forced tool."""

from anthropic import Anthropic
from checks import *

client = Anthropic(max_retries=0)
asked = {"model": MODEL, "max_tokens": 64, "extra_body": {"temperature": 0}}
tool = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": CITY}


def ask(text, client=client, **more):
    messages = [{"role": "user", "content": text}]
    return client.messages.create(**{**asked, "messages": messages, **more})


def chat():
    return ask(SUM).content[0].text


def stream():
    with client.messages.stream(**asked, messages=[{"role": "user", "content": STORY}]) as answer:
        return list(answer.text_stream)


def tools():
    called = ask(QUESTION, tools=[tool])
    call = next(block for block in called.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)}
    history = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": called.content},
        {"role": "user", "content": [result]},
    ]
    answer = ask(QUESTION, messages=history, tools=[tool]).content[0].text
    return {"name": call.name, "arguments": call.input, "answer": answer}


def schema():
    number = {"name": "number", "input_schema": SCHEMA}
    return ask(NUMBER, tools=[number], tool_choice={"type": "tool", "name": "number"}).content[0].input


def count():
    return client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": SUM}]).input_tokens


def abort():
    with ask(COUNT, stream=True, max_tokens=1000, extra_body={}) as answer:
        for event in answer:
            if event.type == "content_block_delta":
                return "left"


def retry():
    return ask(SUM, client=client.with_options(max_retries=10), model=STARTING).content[0].text


def errors():
    return [failure(lambda: ask(SUM, model="none")), failure(lambda: ask(LONG))]


run(chat, stream, tools, schema, count, abort, retry, errors)
