import { expect, it } from 'vitest'
import { splitMarkdown } from './split-markdown.ts'

it('splits between paragraphs and keeps all text', () => {
  const source = '# Title\n\nOne\ntwo\n\nThree\n'
  expect(splitMarkdown(source)).toEqual(['# Title\n', 'One\ntwo\n', 'Three\n'])
  expect(splitMarkdown(source).join('\n')).toBe(source)
})

it.each([
  ['fenced code', '```py\na\n\nb\n~~~\n\nc\n```'],
  ['a longer fence', '````\n```\n\nb\n````'],
  ['an open fence', '```\na\n\nb'],
  ['a loose list', '1. a\n\n2. b\n\n   more'],
  ['an indented block', 'a\n\n    code'],
  ['a link definition', '[a]\n\nb\n\n[a]: https://example.com'],
])('does not split %s', (_what, source) => {
  expect(splitMarkdown(source)).toEqual([source])
})
