import { expect, test } from 'vitest'
import { EmbeddingCheck } from './embedding-check.ts'

/** Checks a text that arrives in pieces of `size`. */
function check(text: string, texts: number | null, size = text.length): void {
  const body = new EmbeddingCheck(texts)
  for (let at = 0; at < text.length; at += size) body.take(Buffer.from(text.slice(at, at + size)))
  body.finish()
}

const item = (index: unknown, embedding: unknown) => ({ object: 'embedding', index, embedding })
const list = (...data: unknown[]) => JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 3 } })
const base64 = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer).toString('base64')

const valid: [string, number | null, string][] = [
  ['numbers', 2, list(item(0, [1, -0.5e-7]), item(1, [0.25, 3]))],
  ['numbers in another order', 2, list(item(1, [1, 2]), item(0, [3, 4]))],
  ['base64', 2, list(item(0, base64(1, 2)), item(1, base64(3, 4)))],
  ['one number each', 2, '{"data":[{"embedding" :\n[ 1 ],"index":0}, {"index":1,"embedding":[2]}]}'],
  ['no texts', 0, list()],
  ['an unknown number of texts', null, list(item(0, [1]), item(1, [2]))],
  ['sparse embeddings', 1, list(item(0, { 7: 0.5 }))],
  ['a text that looks like a member', 1, JSON.stringify({ x: '"embedding":[', data: [item(0, [1])] })],
]

test.each(valid)('%s are valid wherever the response is split', (_name, texts, text) => {
  for (let size = 1; size <= text.length; size += 1) expect(() => check(text, texts, size)).not.toThrow()
})

const invalid: [string, string, string][] = [
  ['two for three', list(item(0, [1, 2]), item(2, [1, 2])), '2 embeddings for 3 texts'],
  ['four for three', list(...[0, 1, 2, 3].map((index) => item(index, [1]))), '4 embeddings for 3 texts'],
  ['none', list(), '0 embeddings for 3 texts'],
  ['no list', '{"object":"list"}', 'no embeddings'],
  ['an index twice', list(item(0, [1]), item(1, [1]), item(1, [1])), 'two embeddings with the index 1'],
  ['no index', list(item(0, [1]), item(undefined, [1]), item(2, [1])), 'belongs to no text'],
  ['an index from 1', list(item(1, [1]), item(2, [1]), item(3, [1])), 'belongs to no text'],
  ['another length', list(item(0, [1, 2]), item(1, [1, 2]), item(2, [1])), 'lengths: 2 and 1 values'],
  [
    'another length in base64',
    list(...[2, 2, 1].map((n, i) => item(i, base64(...Array(n).fill(0))))),
    'lengths: 2 and 1',
  ],
  ['null among the numbers', list(item(0, [1]), item(1, [null]), item(2, [1])), 'no numbers'],
  ['NaN', list(item(0, [1]), item(1, ['x']), item(2, [1])).replace('"x"', 'NaN'), 'no numbers'],
  ['texts', list(item(0, [1]), item(1, ['1']), item(2, [1])), 'no numbers'],
  ['NaN in base64', list(item(0, base64(1)), item(1, base64(NaN)), item(2, base64(1))), 'no numbers'],
  [
    'infinity in base64',
    list(item(0, base64(1)), item(1, base64(-Infinity)), item(2, base64(1))),
    'no numbers',
  ],
  ['half a float', list(item(0, 'AACA'), item(1, base64(1)), item(2, base64(1))), '32-bit floats'],
  ['a list of lists', list(item(0, [[1]]), item(1, [[1]]), item(2, [[1]])), 'no numbers'],
  ['an empty embedding', list(item(0, [1]), item(1, []), item(2, [1])), 'without an embedding'],
  ['an empty text', list(item(0, ''), item(1, ''), item(2, '')), 'without an embedding'],
  ['null', list(item(0, [1]), item(1, null), item(2, [1])), 'without an embedding'],
  ['null as an item', list(item(0, [1]), null, item(2, [1])), 'belongs to no text'],
  ['the number of another one', list(item(0, [1]), item(1, 0), item(2, [1])), 'without an embedding'],
  ['an end within numbers', '{"data":[{"index":0,"embedding":[1,2', 'without an end'],
  ['an end within base64', '{"data":[{"index":0,"embedding":"AACA', 'without an end'],
  ['an end within the list', list(item(0, [1])).slice(0, -5), 'not valid JSON'],
]

test.each(invalid)('%s is invalid wherever the response is split', (_name, text, problem) => {
  for (let size = 1; size <= text.length; size += 1) expect(() => check(text, 3, size)).toThrow(problem)
})

test('a response without an end is rejected before it fills the memory', () => {
  for (const start of ['', '{"data":[{"embedding":"']) {
    const body = new EmbeddingCheck(1)
    body.take(Buffer.from(start))
    expect(() => {
      for (let written = 0; written < 200; written += 1) body.take(Buffer.alloc(100_000, 'x'))
    }).toThrow('too long')
  }
})
