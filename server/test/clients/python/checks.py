"""What the scripts of the clients share: SCRIPT.py STARTING, under `berth run`. STARTING is the id of a deployment that still starts."""

import json
import sys
import traceback

MODEL = "berth-tiny"
EMBEDDING = "berth-tiny-embedding"
STARTING = sys.argv[1]

SUM = "What is 27 + 15?"
STORY = "Tell me a story about a fox."
COUNT = "Count from 1 to 500."
QUESTION = "What is the weather in Paris?"
NUMBER = "Give me a number."
LONG = "a b " * 20_000
SHIP = "a ship"

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "description": "Get the weather of a city.", "parameters": CITY}


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"It is sunny in {city}."


def describe(error: BaseException) -> list:
    """The class of an error, its status and its text."""
    return [type(error).__name__, getattr(error, "status_code", None), str(error)]


def failure(call) -> list:
    """Describes the error of a call."""
    try:
        return ["no error", None, repr(call())]
    except Exception as error:
        return describe(error)


def run(*checks) -> None:
    """Prints what each check returned as JSON, or the trace of its error."""
    results = {}
    for check in checks:
        try:
            results[check.__name__] = check()
        except Exception:
            results[check.__name__] = traceback.format_exc()
    print(json.dumps(results))
