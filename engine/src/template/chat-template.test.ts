import { expect, test } from 'vitest'
import { ChatTemplate } from './chat-template.ts'
import { readJson } from './to-value.ts'

const now = new Date(2026, 10, 8, 9, 5, 3)
const render = (source: string, variables: Record<string, unknown> = {}): string =>
  new ChatTemplate(source).render(variables, now)

/** Each expected text is what Jinja2 writes with the settings of transformers. */
test.each<[string, string, string, Record<string, unknown>?]>([
  [
    'constants',
    '{{ true }} {{ none }} {{ 1.0 }} {{ 100000000000000000000.0 }} {{ 1 / 4 }}',
    'True None 1.0 1e+20 0.25',
  ],
  ['a list and an object', '{{ [1, "a", none] }} {{ {"k": "it\'s"} }}', `[1, 'a', None] {'k': "it's"}`],
  ['string of an object', '{{ {"a": [true]} | string | upper }}', "{'A': [TRUE]}"],
  [
    'numbers as keys',
    '{% set d = {0: "a", 512: "b"} %}{{ d[512] }}{% for k, v in d | dictsort %}{{ k + 1 }}{% endfor %}',
    'b1513',
  ],
  ['min and max', '{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}', '13'],
  ['str.format', '{{ "<{}|{1}{{}}>".format("a", "b") }}', '<a|b{}>'],
  [
    'strip of characters',
    '[{{ "\n x\n".strip("\n") }}|{{ "xxaxx".lstrip("x") }}|{{ "a- ".rstrip("- ") }}]',
    '[ x|axx|a]',
  ],
  ['unpacking a tuple', '{% for a, b in [(1, 2), (3, 4)] %}{{ a * b }}{% endfor %}', '212'],
  ['selectattr of none', '{{ (none | selectattr("a") | list) | length }}', '0'],
  ['equal lists', '{{ [1, {"a": 2}] == [1, {"a": 2}] }} {{ none == missing }}', 'True False'],
  [
    'a missing value',
    '[{{ missing }}{{ missing | trim }}{{ missing | length }}{% for x in missing %}x{% endfor %}]',
    '[0]',
  ],
  ['a method before a member', '{{ given.items() | list | length }}', '1', { given: { items: 'x' } }],
  ['safe texts', '{{ "<b>" | safe + "<i>" }}', '<b>&lt;i&gt;'],
  [
    'tojson',
    '{{ given | tojson }}|{{ given | tojson(indent=2) }}',
    '{"a": [], "b": "é\\""}|{\n  "a": [],\n  "b": "é\\""\n}',
    { given: { a: [], b: 'é"' } },
  ],
  ['length in characters', '{{ "a😀" | length }}', '2'],
  ['the time', '{{ strftime_now("%d %b %Y, %-d %B, %H:%M:%S") }}', '08 Nov 2026, 8 November, 09:05:03'],
])('%s', (_what, source, expected, variables) => {
  expect(render(source, variables)).toBe(expected)
})

test('JSON keeps its numbers and the order of its members', () => {
  const text = '{"2": 2512292042121000001, "1": [10.00, 1e400, -0], "x": "\\u00e9"}'
  expect(render('{{ given | tojson }}|{{ given["2"] }}', { given: readJson(text) })).toBe(
    `${text.replace('\\u00e9', 'é')}|2512292042121000001`,
  )
})

test.each([
  ['{{ raise_exception("no tools") }}', 'no tools'],
  ['{{ missing.member }}', 'no attributes'],
  ['{{ "a" + 1 }}', "can't add"],
  ['{{ "a" | unheard_of }}', 'unheard_of'],
  ['{{ none | tojson | nothing() }}', 'nothing'],
  ['{{ range(1000000000) }}', 'too long'],
  ['{{ strftime_now("%Q") }}', '%Q'],
])('%s throws', (source, message) => {
  expect(() => render(source)).toThrow(message)
})
