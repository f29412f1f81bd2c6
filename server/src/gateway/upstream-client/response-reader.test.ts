import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ResponseReader } from './response-reader.ts'
import type { ResponseHead } from './upstream.ts'

interface Received {
  heads: ResponseHead[]
  body: string
  complete: boolean
  excess: number
  keepsAlive: boolean | undefined
  error: string | null
}

/** Reads the bytes in pieces through one shared buffer, as connections do. */
function read(bytes: Buffer, cuts: readonly number[] = [], { intoOwnBuffer = false } = {}): Received {
  const heads: ResponseHead[] = []
  const body: Buffer[] = []
  const reader = new ResponseReader({
    onHead(head) {
      heads.push(head)
      return intoOwnBuffer ? Buffer.alloc(100) : null
    },
    onBody: (piece) => void body.push(Buffer.from(piece)),
    onEnd: () => {},
    onError: () => {},
  })
  const shared = Buffer.alloc(bytes.length)
  let error: string | null = null
  let excess = 0
  const edges = [...cuts.map((cut) => cut % (bytes.length + 1)), 0, bytes.length].toSorted((a, b) => a - b)
  try {
    for (const [index, end] of edges.slice(1).entries()) {
      const length = bytes.copy(shared, 0, edges[index], end)
      if (reader.isComplete) excess += length
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
    complete: reader.isComplete,
    excess: excess + reader.excess,
    keepsAlive: reader.isHeadPending ? undefined : reader.keepsAlive,
    error,
  }
}

const readText = (text: string) => read(Buffer.from(text, 'latin1'))
const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

test('a head contains the kept headers in lower case, the first of duplicates, and the length', () => {
  const { heads, complete } = readText(
    `${ok}Content-Type: \t application/json \r\nX-Request-ID:r\r\nset-cookie: a=b\r\nx-request-id: s\r\ncontent-length: 0\r\n\r\n`,
  )
  expect(heads).toMatchObject([
    { status: 200, headers: { 'content-type': 'application/json', 'x-request-id': 'r' }, length: 0 },
  ])
  expect(heads[0]?.headers).not.toHaveProperty('set-cookie')
  expect(complete).toBe(true)
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
])('the end of %j is detected', (text, body, complete, keepsAlive) => {
  expect(readText(text)).toMatchObject({ body, complete, keepsAlive, excess: 0, error: null })
  expect(readText(`${text}HTTP`).excess).toBe(complete ? 4 : 0)
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
])('%j is rejected at every split', (text) => {
  const bytes = Buffer.from(text, 'latin1')
  const { error } = readText(text)
  expect(error).toMatch(/^the upstream response /)
  if (text.length > 200) return
  for (let cut = 1; cut < bytes.length; cut += 1) expect(read(bytes, [cut]).error).not.toBeNull()
})

test('data before a malformed chunk is passed on', () => {
  expect(readText(`${chunked}2\r\n{}\r\nzz`)).toMatchObject({ body: '{}', error: expect.any(String) })
})

const bytesOf = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1'))
const chunk = fc
  .tuple(
    bytesOf.filter((data) => data !== ''),
    fc.constantFrom('', ';a', ';a=b;c="d"'),
  )
  .map(([data, extension]) => ({ data, wire: `${data.length.toString(16)}${extension}\r\n${data}\r\n` }))
const response = fc.oneof(
  bytesOf.map((data) => ({
    data,
    wire: `${ok}content-length: ${data.length}\r\n\r\n${data}`,
    complete: true,
  })),
  bytesOf.map((data) => ({ data, wire: `${ok}content-type: x\r\n\r\n${data}`, complete: false })),
  fc.tuple(fc.array(chunk, { maxLength: 6 }), fc.constantFrom('', 'x: y\r\n')).map(([chunks, trailer]) => ({
    data: chunks.map(({ data }) => data).join(''),
    wire: `${chunked}${chunks.map(({ wire }) => wire).join('')}0\r\n${trailer}\r\n`,
    complete: true,
  })),
)

test('a response reads the same at every split', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
      response,
      fc.constantFrom('', 'HTTP/1.1 200 OK\r\n'),
      fc.array(fc.nat(), { maxLength: 12 }),
      (before, { data, wire, complete }, more, cuts) => {
        const bytes = Buffer.from(before + wire + (complete ? more : ''), 'latin1')
        const expected = { body: data, complete, excess: complete ? more.length : 0, error: null }
        for (const received of [read(bytes), read(bytes, cuts)]) {
          expect(received).toMatchObject(expected)
          expect(received.heads).toHaveLength(1)
        }
        for (let cut = 1; cut < bytes.length; cut += 1) expect(read(bytes, [cut])).toMatchObject(expected)
        expect(read(bytes, [...bytes.keys()])).toMatchObject(expected)
        expect(read(bytes, cuts, { intoOwnBuffer: true })).toMatchObject(expected)
      },
    ),
    { numRuns: 60 },
  )
})

test('arbitrary bytes are read or rejected the same way at every split', () => {
  const parts = ['HTTP/1.1 200 OK', '\r\n', '\r', '\n', ':', 'content-length', 'transfer-encoding', 'chunked']
  const noise = fc.array(fc.oneof(fc.constantFrom(...parts, '0', '1', 'a', ';', ' '), bytesOf), {
    maxLength: 14,
  })
  fc.assert(
    fc.property(fc.constantFrom('', ok, chunked), noise, (start, pieces) => {
      const bytes = Buffer.from(start + pieces.join(''), 'latin1')
      const { body, complete, error } = read(bytes)
      const byteByByte = read(bytes, [...bytes.keys()])
      expect([byteByByte.body, byteByByte.complete, byteByByte.error === null]).toEqual([
        body,
        complete,
        error === null,
      ])
    }),
    { numRuns: 500 },
  )
})
