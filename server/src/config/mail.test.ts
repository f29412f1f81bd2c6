import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const publicUrl = 'https://berth.example.com/models'

test('without MAIL_URL emails go to files, from an address at the host of PUBLIC_URL', () => {
  const from = { name: 'Berth', address: 'berth@berth.example.com' }
  expect(readConfig({ PUBLIC_URL: publicUrl }).mail).toMatchObject({ url: null, from })
})

test.each([
  'smtp://mail.example.com',
  'smtps://ada:open%20sesame@mail.example.com:465',
  'smtp://127.0.0.1:25',
])('MAIL_URL accepts %s', (url) => {
  expect(readConfig({ MAIL_URL: url }).mail.url).toBe(url)
})

test.each(['mail.example.com', 'https://ada:hush@mail.example.com', 'smtp://', 'smtp:///path', 'hush'])(
  'MAIL_URL rejects %s without repeating it',
  (url) => {
    expect(() => readConfig({ MAIL_URL: url })).toThrow(/MAIL_URL: /)
    expect(() => readConfig({ MAIL_URL: url })).not.toThrow(/hush/)
  },
)

test.each([
  ['ada@example.com', { name: '', address: 'ada@example.com' }],
  ['Ada Lovelace <ada@example.com>', { name: 'Ada Lovelace', address: 'ada@example.com' }],
  ['"Lovelace, Ada" <ada@example.com>', { name: 'Lovelace, Ada', address: 'ada@example.com' }],
  ['<ada@example.com>', { name: '', address: 'ada@example.com' }],
])('MAIL_FROM accepts %s', (text, from) => {
  expect(readConfig({ MAIL_FROM: text }).mail.from).toEqual(from)
})

test.each([
  'ada',
  'Ada ada@example.com',
  'a@b, c@d',
  'Ada <ada@example.com> <eve@example.com>',
  'Ada\nBcc: <a@b>',
])('MAIL_FROM rejects %j', (text) => {
  expect(() => readConfig({ MAIL_FROM: text })).toThrow(/MAIL_FROM: must be an email address/)
})

test.each([
  [{}, false],
  [{ REGISTRATION: 'invited' }, false],
  [{ MAIL_URL: 'smtp://mail' }, false],
  [{ MAIL_URL: 'smtp://mail', EMAIL_CONFIRMATION: 'required' }, true],
  [{ MAIL_URL: 'smtp://mail', REGISTRATION: 'domains:example.com' }, false],
  [{ MAIL_URL: 'smtp://mail', REGISTRATION: 'domains:example.com', EMAIL_CONFIRMATION: 'Required' }, true],
  [{ MAIL_URL: 'smtp://mail', EMAIL_CONFIRMATION: 'off' }, false],
])('%j: whether emails must be verified is %s', (settings, required) => {
  expect(readConfig(settings).requiresEmailVerification).toBe(required)
})
