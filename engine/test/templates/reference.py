"""Renders conversations with chat templates as transformers' apply_chat_template does.

Reads {"templates": {name: source}, "conversations": {name: context}} from standard input and writes
{name: {conversation: {"text": ...} or {"error": ...}}}. The settings of the environment are those of
transformers/utils/chat_template_utils.py.
"""
import json
import sys

from jinja2.exceptions import TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """Transformers' `{% generation %}` block, which only marks what a model answered."""

    tags = {'generation'}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(['name:endgeneration'], drop_needle=True)


def raise_exception(message):
    raise TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def main():
    given = json.load(sys.stdin)
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters['tojson'] = tojson
    environment.globals['raise_exception'] = raise_exception
    environment.globals['strftime_now'] = lambda form: given['now'].get(form, form)
    results = {}
    for name, source in given['templates'].items():
        results[name] = {}
        for conversation, context in given['conversations'].items():
            try:
                rendered = environment.from_string(source).render(**context)
                results[name][conversation] = {'text': rendered}
            except Exception as error:
                results[name][conversation] = {'error': f'{type(error).__name__}: {error}'}
    json.dump(results, sys.stdout)


main()
