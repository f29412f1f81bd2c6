import { expect, test } from 'vitest'
import { formatForPeople } from './readable-log.ts'

const plain = (_style: unknown, text: string) => text
const time = new Date(2026, 0, 2, 3, 4, 5).getTime()
const format = (fields: object) =>
  formatForPeople(JSON.stringify({ level: 30, time, name: 'berth', pid: 1, hostname: 'h', ...fields }), plain)

test.each([
  [
    'an event',
    { msg: 'database migrated', migrations: ['a', 'b'] },
    '03:04:05 database migrated migrations=["a","b"]\n',
  ],
  [
    'a request',
    {
      msg: 'request',
      reqId: 'r',
      method: 'POST',
      route: '/v1/x',
      status: 201,
      ms: 45,
      model: 'm',
      usage: null,
    },
    '03:04:05 POST /v1/x 201 in 45 ms model=m\n',
  ],
  [
    'an error, with its message and without its stack',
    { level: 50, msg: 'request failed', err: { type: 'Error', message: 'no\nluck', stack: 'Error: at x' } },
    '03:04:05 error: request failed (no luck)\n',
  ],
  [
    'an error without a message',
    { level: 40, msg: 'lost', err: { message: '', code: 'E1' } },
    '03:04:05 warning: lost (E1)\n',
  ],
  ['a successful read: nothing', { msg: 'request', method: 'GET', route: '/x', status: 200, ms: 1 }, ''],
  [
    'a failed read',
    { msg: 'request', method: 'GET', route: '/x', status: 404, ms: 1 },
    '03:04:05 GET /x 404 in 1 ms\n',
  ],
])('%s', (_what, fields, line) => {
  expect(format(fields)).toBe(line)
})

test('texts of callers can’t control the terminal', () => {
  expect(format({ msg: 'a\u001b[2Jb', model: 'c\u009b2Jd\r\ne' })).toBe('03:04:05 a [2Jb model=c 2Jd e\n')
})

test('the event of a start shows the address, the data folder and the engines', () => {
  const ready = {
    address: 'http://localhost:8080',
    dataDirectory: '/data',
    engines: ['llama.cpp', 'vLLM 0.33.0'],
  }
  const text = format({ msg: 'listening on http://localhost:8080', ready })
  expect(text.split('\n').map((line) => line.trim())).toEqual([
    '03:04:05 listening on http://localhost:8080',
    '',
    'Berth is ready',
    '',
    'Open     http://localhost:8080',
    'Data     /data',
    'Engines  llama.cpp, vLLM 0.33.0',
    'Stop     Ctrl-C',
    '',
    '',
  ])
})
