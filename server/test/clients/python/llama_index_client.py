"""LlamaIndex with its packages for servers that are like OpenAI's."""

import os

from checks import *
from llama_index.core.bridge.pydantic import BaseModel
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike

connection = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}


class Number(BaseModel):
    n: int


def model(**more):
    asked = {"model": MODEL, "temperature": 0, "max_tokens": 64, "max_retries": 0, "context_window": 2048}
    kind = {"is_chat_model": True, "is_function_calling_model": True, "should_use_structured_outputs": True}
    return OpenAILike(**{**asked, **kind, **connection, **more})


def said(text):
    return [ChatMessage(role=MessageRole.USER, content=text)]


def chat():
    return model().chat(said(SUM)).message.content


def stream():
    return [piece.delta or "" for piece in model().stream_chat(said(STORY))]


def tools():
    weather = FunctionTool.from_defaults(get_weather)
    llm = model()
    called = llm.chat_with_tools([weather], user_msg=QUESTION)
    call = llm.get_tool_calls_from_response(called)[0]
    result = ChatMessage(
        role=MessageRole.TOOL,
        content=get_weather(**call.tool_kwargs),
        additional_kwargs={"tool_call_id": call.tool_id},
    )
    answer = llm.chat([*said(QUESTION), called.message, result]).message.content
    return {"name": call.tool_name, "arguments": call.tool_kwargs, "answer": answer}


def schema():
    return model().as_structured_llm(Number).chat(said(NUMBER)).raw.model_dump()


def completions():
    return model(is_chat_model=False).complete("The capital of France is").text


def embeddings():
    return OpenAILikeEmbedding(model_name=EMBEDDING, **connection).get_text_embedding(SHIP)


def abort():
    answer = model(max_tokens=1000, temperature=1).stream_chat(said(COUNT))
    next(answer)
    answer.close()
    return "left"


def retry():
    return model(model=STARTING, max_retries=10).chat(said(SUM)).message.content


def errors():
    return [failure(lambda: model(model="none").chat(said(SUM))), failure(lambda: model().chat(said(LONG)))]


run(chat, stream, tools, schema, completions, embeddings, abort, retry, errors)
