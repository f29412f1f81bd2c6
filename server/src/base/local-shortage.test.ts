import { expect, test } from 'vitest'
import { findShortage } from './local-shortage.ts'

const failed = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more })

test.each<[string, Error, string | null]>([
  ['a table of files that is full', failed('EMFILE'), 'file descriptors'],
  ['that of the host', failed('ENFILE'), 'file descriptors'],
  ['memory', failed('ENOMEM'), 'memory'],
  ['memory of sockets', failed('ENOBUFS'), 'memory'],
  ['processes', failed('EAGAIN', { syscall: 'spawn node' }), 'processes'],
  ['a file that is locked', failed('EAGAIN', { syscall: 'lock' }), null],
  ['a refused connection', failed('ECONNREFUSED'), null],
  ['a cause', new Error('fetch failed', { cause: failed('EMFILE') }), 'file descriptors'],
  [
    'one of several addresses',
    new AggregateError([failed('ECONNREFUSED'), failed('EMFILE')]),
    'file descriptors',
  ],
])('%s', (_what, error, shortage) => expect(findShortage(error)).toBe(shortage))

test('a cause that is its own cause ends', () => {
  const error = new Error('loop')
  error.cause = error
  expect(findShortage(error)).toBeNull()
})
