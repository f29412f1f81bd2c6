"""The chat format: the template stored in the GGUF file, and the same rendering in Python for training."""

import json

TEMPLATE = r"""{%- set first = messages[0].content if messages and messages[0].role == 'system' else '' %}
{%- if first or tools %}
{{- '<|system|>' + first }}
{%- if tools %}
{{- ('\n' if first else '') + 'You can call these tools:' }}
{%- for tool in tools %}
{{- '\n' + tool.function.name + '(' }}
{%- if tool.function.parameters and tool.function.parameters.properties %}
{%- for name in tool.function.parameters.properties %}{{- (', ' if not loop.first else '') + name }}{%- endfor %}
{%- endif %}
{{- ')' + (': ' + tool.function.description if tool.function.description else '') }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|assistant|>' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- ('\n' if message.content or not loop.first else '') + '<tool_call>\n{"name": "' + call.function.name }}
{{- '", "arguments": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>' }}
{%- elif not (message.role == 'system' and loop.first) %}
{{- '<|' + message.role + '|>' + message.content + '<|im_end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}"""


def render(messages, tools=()):
    """Renders a dialogue as a list of (text, learned). `learned` marks the text that the model generates."""
    parts = []
    if messages[0]['role'] == 'system' or tools:
        first = messages[0]['content'] if messages[0]['role'] == 'system' else ''
        text = '<|system|>' + first
        if tools:
            text += ('\n' if first else '') + 'You can call these tools:'
            for tool in tools:
                function = tool['function']
                names = ', '.join(function['parameters']['properties'])
                text += f'\n{function["name"]}({names}): {function["description"]}'
        parts.append((text + '<|im_end|>', False))
    for message in messages:
        if message['role'] == 'assistant':
            parts.append(('<|assistant|>', False))
            calls = [call['function'] for call in message.get('tool_calls', [])]
            texts = [message['content'] or ''] + [tool_call(call['name'], json.loads(call['arguments'])) for call in calls]
            parts.append(('\n'.join(filter(None, texts)) + '<|im_end|>', True))
        elif message['role'] != 'system':
            parts.append((f'<|{message["role"]}|>{message["content"]}<|im_end|>', False))
    return parts


def tool_call(name, arguments):
    """Renders a tool call as the model generates it."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'
