"""LangChain with its packages for OpenAI and Anthropic."""

from checks import *
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

asked = {"model": MODEL, "temperature": 0, "max_tokens": 64, "max_retries": 0}


def model(**more):
    return ChatOpenAI(**{**asked, **more})


def chat():
    return model().invoke(SUM).text


def stream():
    return [chunk.text for chunk in model().stream(STORY)]


def tools():
    weather = tool(get_weather)
    able = model().bind_tools([weather])
    question = HumanMessage(QUESTION)
    called = able.invoke([question])
    call = called.tool_calls[0]
    answer = able.invoke([question, called, weather.invoke(call)]).text
    return {"name": call["name"], "arguments": call["args"], "answer": answer}


def schema():
    return model().with_structured_output({"title": "number", **SCHEMA}, method="json_schema").invoke(NUMBER)


def responses():
    return model(use_responses_api=True).invoke(SUM).text


def messages():
    import os

    key = os.environ["ANTHROPIC_AUTH_TOKEN"]
    return ChatAnthropic(**asked, api_key=key, base_url=os.environ["ANTHROPIC_BASE_URL"]).invoke(SUM).text


def embeddings():
    return OpenAIEmbeddings(model=EMBEDDING, check_embedding_ctx_length=False).embed_query(SHIP)


def abort():
    answer = model(max_tokens=1000, temperature=1).stream(COUNT)
    next(answer)
    answer.close()
    return "left"


def retry():
    return model(model=STARTING, max_retries=10).invoke(SUM).text


def errors():
    return [failure(lambda: model(model="none").invoke(SUM)), failure(lambda: model().invoke(LONG))]


def tokens():
    """By default LangChain sends the ids of OpenAI's tokenizer."""
    return failure(lambda: OpenAIEmbeddings(model=EMBEDDING, max_retries=0).embed_query(SHIP))


run(chat, stream, tools, schema, responses, messages, embeddings, abort, retry, errors)
