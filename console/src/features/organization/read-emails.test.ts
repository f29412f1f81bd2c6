import { expect, test } from 'vitest'
import { readEmails } from './read-emails.ts'

test.each([
  ['', []],
  [' \n, ', []],
  ['ada@example.com', ['ada@example.com']],
  [
    'ada@example.com\nGrace@example.com,alan@x; z@y\r\n',
    ['ada@example.com', 'Grace@example.com', 'alan@x', 'z@y'],
  ],
  ['ada@example.com ADA@example.com', ['ada@example.com']],
])('%j has the addresses %j', (typed, emails) => {
  expect(readEmails(typed)).toEqual(emails)
})
