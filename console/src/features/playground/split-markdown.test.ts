import { expect, it } from 'vitest'
import { splitMarkdown } from './split-markdown.ts'

it('cuts between paragraphs, and loses nothing', () => {
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
])('leaves %s whole', (_what, source) => {
  expect(splitMarkdown(source)).toEqual([source])
})
