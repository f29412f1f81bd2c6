"""Instructor, which makes objects of answers, with OpenAI's package and with Anthropic's."""

import anthropic
import instructor
import openai
from checks import *
from pydantic import BaseModel

asked = {"model": MODEL, "temperature": 0, "max_tokens": 64}


class Number(BaseModel):
    n: int


class Weather(BaseModel):
    """Get the weather of a city."""

    city: str


class Story(BaseModel):
    lines: list[str]


def ask(text, kind, mode=instructor.Mode.TOOLS, retries=0, **more):
    client = instructor.from_openai(openai.OpenAI(max_retries=retries), mode=mode)
    messages = [{"role": "user", "content": text}]
    given = {**asked, "messages": messages, "response_model": kind, "max_retries": 0, **more}
    return client.chat.completions.create(**given)


def tools():
    return ask(QUESTION, Weather).model_dump()


def schema():
    return ask(NUMBER, Number, instructor.Mode.JSON_SCHEMA).model_dump()


def stream():
    partial = instructor.Partial[Number]
    return [piece.model_dump() for piece in ask(NUMBER, partial, instructor.Mode.JSON_SCHEMA, stream=True)]


def abort():
    story = instructor.Partial[Story]
    for _ in ask(COUNT, story, instructor.Mode.JSON_SCHEMA, stream=True, max_tokens=1000):
        return "left"


def messages():
    client = instructor.from_anthropic(anthropic.Anthropic(max_retries=0))
    given = {"messages": [{"role": "user", "content": NUMBER}], "response_model": Number, "max_retries": 0}
    return client.messages.create(model=MODEL, max_tokens=64, **given).model_dump()


def retry():
    return ask(NUMBER, Number, retries=10, model=STARTING).model_dump()


def errors():
    return [failure(lambda: ask(SUM, Number, model="none")), failure(lambda: ask(LONG, Number))]


run(tools, schema, stream, abort, messages, retry, errors)
