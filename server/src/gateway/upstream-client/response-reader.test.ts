import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AnswerReader } from './answer-reader.ts'
import type { AnswerHead } from './client.ts'

interface Heard {
  heads: AnswerHead[]
  body: string
  whole: boolean
  excess: number
  keepsAlive: boolean | undefined
  error: string | null
}

/** Reads what is written to one buffer piece by piece, as connections do. */
function read(bytes: Buffer, cuts: readonly number[] = [], { reads = false } = {}): Heard {
  const heads: AnswerHead[] = []
  const body: Buffer[] = []
  const reader = new AnswerReader({
    onHead(head) {
      heads.push(head)
      return reads ? Buffer.alloc(100) : null
    },
    onBody: (piece) => void body.push(Buffer.from(piece)),
    onEnd: () => {},
    onFailure: () => {},
  })
  const shared = Buffer.alloc(bytes.length)
  let error: string | null = null
  let excess = 0
  const edges = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].toSorted((a, b) => a - b)
  try {
    for (const [index, end] of edges.slice(1).entries()) {
      const length = bytes.copy(shared, 0, edges[index], end)
      if (reader.whole) excess += length
      else if (reader.room !== null && reader.room.length >= length) {
        const { room } = reader
        shared.copy(room, 0, 0, length)
        reader.read(room.subarray(0, length))
      } else if (length > 0) reader.read(shared.subarray(0, length))
    }
  } catch (thrown) {
    error = (thrown as Error).message
  }
  return {
    heads,
    body: Buffer.concat(body).toString('latin1'),
    whole: reader.whole,
    excess: excess + reader.excess,
    keepsAlive: reader.head?.keepsAlive,
    error,
  }
}

const readText = (text: string) => read(Buffer.from(text, 'latin1'))
const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

test('a head: known headers in lower case, the first of doubled ones, and the length', () => {
  const { heads, whole } = readText(
    `${ok}Content-Type: \t application/json \r\nX-Request-ID:r\r\nset-cookie: a=b\r\nx-request-id: s\r\ncontent-length: 0\r\n\r\n`,
  )
  expect(heads).toMatchObject([
    { status: 200, headers: { 'content-type': 'application/json', 'x-request-id': 'r' }, length: 0 },
  ])
  expect(heads[0]?.headers).not.toHaveProperty('set-cookie')
  expect(whole).toBe(true)
})

test.each([
  [`${ok}content-length: 2\r\n\r\n{}`, '{}', true, true],
  [`HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}`, '{}', true, true],
  [`HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}`, '{}', true, false],
  [`${ok}content-length: 2\r\nconnection: x, Close\r\n\r\n{}`, '{}', true, false],
  [`${ok}\r\n{}`, '{}', false, false],
  [`HTTP/1.1 204 No Content\r\ncontent-length: 7\r\n\r\n`, '', true, true],
  [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\na: b\r\n\r\n${ok}content-length: 1\r\n\r\n1`,
    '1',
    true,
    true,
  ],
  [`${chunked}2\r\n{}\r\n0\r\n\r\n`, '{}', true, true],
  [`${chunked}1;a=b;c="d"\r\n{\r\n0001\r\n}\r\n00;x\r\nx-t: 1\r\ny: 2\r\n\r\n`, '{}', true, true],
  [`${chunked}A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n`, '01234567890123456789', true, true],
])('%j has its end where it should', (text, body, whole, keepsAlive) => {
  expect(readText(text)).toMatchObject({ body, whole, keepsAlive, excess: 0, error: null })
  expect(readText(`${text}HTTP`).excess).toBe(whole ? 4 : 0)
})

test.each([
  'HTTP/1.1 200 OK\n',
  'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}',
  'HTTP/2 200 OK\r\n\r\n',
  'HTTP/1.1 099 OK\r\n\r\n',
  'HTTP/1.1 20 OK\r\n\r\n',
  'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n',
  'SSH-2.0-x',
  ' HTTP/1.1 200 OK\r\n\r\n',
  '\r\nHTTP/1.1 200 OK\r\n\r\n',
  `${ok}a: b\rc: d\r\n\r\n`,
  `${ok}a: b\nc: d\r\n\r\n`,
  `${ok}a : b\r\n\r\n`,
  `${ok}: b\r\n\r\n`,
  `${ok} a: b\r\n\r\n`,
  `${ok}a: b\r\n c: d\r\n\r\n`,
  `${ok}a: \0\r\n\r\n`,
  `${ok}a\r\n\r\n`,
  `${ok}content-length: 1\r\ncontent-length: 1\r\n\r\n1`,
  `${ok}content-length: 1, 1\r\n\r\n1`,
  `${ok}content-length: +1\r\n\r\n1`,
  `${ok}content-length: 0x1\r\n\r\n1`,
  `${ok}content-length: \r\n\r\n1`,
  `${ok}content-length: 9999999999999999\r\n\r\n1`,
  `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  `${ok}transfer-encoding: identity\r\n\r\n`,
  'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  `${chunked}zz\r\n`,
  `${chunked}\r\n`,
  `${chunked}+1\r\n1\r\n`,
  `${chunked}0x1\r\n1\r\n`,
  `${chunked}1 \r\n1\r\n`,
  `${chunked}1\n1\r\n`,
  `${chunked}1\r\n12\r\n`,
  `${chunked}1\r\n1\n`,
  `${chunked}1;a\nb\r\n1\r\n`,
  `${chunked}fffffffffffff\r\n`,
  `${chunked}0\r\nx: y\nz: 1\r\n\r\n`,
  `${chunked}0\r\n\n`,
  `${chunked}1;${'x'.repeat(17_000)}`,
  `${chunked}0\r\n${'x: y\r\n'.repeat(5_000)}`,
  `${ok}${'x: y\r\n'.repeat(5_000)}`,
])('%j is refused, however it is cut', (text) => {
  const bytes = Buffer.from(text, 'latin1')
  const { error } = readText(text)
  expect(error).toMatch(/^the engine’s answer /)
  if (text.length > 200) return
  for (let cut = 1; cut < bytes.length; cut += 1) expect(read(bytes, [cut]).error).not.toBeNull()
})

test('what came before a chunk that is none has been told', () => {
  expect(readText(`${chunked}2\r\n{}\r\nzz`)).toMatchObject({ body: '{}', error: expect.any(String) })
})

const bytesOf = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const chunk = fc
  .tuple(
    bytesOf.filter((data) => data !== ''),
    fc.constantFrom('', ';a', ';a=b;c="d"'),
  )
  .map(([data, extension]) => ({ data, wire: `${data.length.toString(16)}${extension}\r\n${data}\r\n` }))
const answer = fc.oneof(
  bytesOf.map((data) => ({ data, wire: `${ok}content-length: ${data.length}\r\n\r\n${data}`, whole: true })),
  bytesOf.map((data) => ({ data, wire: `${ok}content-type: x\r\n\r\n${data}`, whole: false })),
  fc.tuple(fc.array(chunk, { maxLength: 6 }), fc.constantFrom('', 'x: y\r\n')).map(([chunks, trailer]) => ({
    data: chunks.map(({ data }) => data).join(''),
    wire: `${chunked}${chunks.map(({ wire }) => wire).join('')}0\r\n${trailer}\r\n`,
    whole: true,
  })),
)

test('an answer is the same however its bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
      answer,
      fc.constantFrom('', 'HTTP/1.1 200 OK\r\n'),
      fc.array(fc.nat(), { maxLength: 12 }),
      (before, { data, wire, whole }, more, cuts) => {
        const bytes = Buffer.from(before + wire + (whole ? more : ''), 'latin1')
        const expected = { body: data, whole, excess: whole ? more.length : 0, error: null }
        for (const heard of [read(bytes), read(bytes, cuts)]) {
          expect(heard).toMatchObject(expected)
          expect(heard.heads).toHaveLength(1)
        }
        for (let cut = 1; cut < bytes.length; cut += 1) expect(read(bytes, [cut])).toMatchObject(expected)
        expect(read(bytes, [...bytes.keys()])).toMatchObject(expected)
        expect(read(bytes, cuts, { reads: true })).toMatchObject(expected)
      },
    ),
    { numRuns: 60 },
  )
})

test('whatever comes, it is an answer or refused, the same however it is cut', () => {
  const parts = ['HTTP/1.1 200 OK', '\r\n', '\r', '\n', ':', 'content-length', 'transfer-encoding', 'chunked']
  const noise = fc.array(fc.oneof(fc.constantFrom(...parts, '0', '1', 'a', ';', ' '), bytesOf), {
    maxLength: 14,
  })
  fc.assert(
    fc.property(fc.constantFrom('', ok, chunked), noise, (start, pieces) => {
      const bytes = Buffer.from(start + pieces.join(''), 'latin1')
      const { body, whole, error } = read(bytes)
      const once = read(bytes, [...bytes.keys()])
      expect([once.body, once.whole, once.error === null]).toEqual([body, whole, error === null])
    }),
    { numRuns: 500 },
  )
})
