import { expect, test } from 'vitest'
import {
  createLookup,
  createRedirectLookup,
  literalAddress,
  mayReach,
  readPlainHost,
  UnreachableAddressError,
} from './outgoing-addresses.ts'
import { resolveRedirect } from './resolve-redirect.ts'

const https = new URL('https://alerts.example.com')
const http = new URL('http://alerts.example.com')

test.each([
  '127.0.0.1',
  '127.8.8.8',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:a9fe:a9fe',
  '64:ff9b::a9fe:a9fe',
  'fe80::1',
  'fd00:ec2::254',
  'fec0::1',
  'ff02::1',
  '2002:7f00:1::',
  '2001:db8::1',
  'no address',
])('%s belongs to the network of the server', (address) => {
  expect(mayReach(https, address, [])).toBe(false)
})

test.each(['93.184.215.14', '2606:2800:21f:cb07::1'])('%s is public: with https only', (address) => {
  expect(mayReach(https, address, [])).toBe(true)
  expect(mayReach(http, address, ['10.0.0.0/8'])).toBe(false)
})

test('addresses in the networks of the operator may be reached, with http too', () => {
  const networks = ['10.0.0.0/8', 'fd00::/8']
  for (const address of ['10.1.2.3', 'fd00::1', '::ffff:10.1.2.3']) {
    expect(mayReach(https, address, networks)).toBe(true)
    expect(mayReach(http, address, networks)).toBe(true)
  }
  expect(mayReach(https, '192.168.1.1', networks)).toBe(false)
})

/** Texts that mean the server's own network, and the host that they hide. */
const attacks: [url: string, host: string][] = [
  ['https://169.254.169.254/latest/meta-data', '169.254.169.254'],
  ['https://127.1/', '127.0.0.1'],
  ['https://0x7f000001/', '127.0.0.1'],
  ['https://2130706433/', '127.0.0.1'],
  ['https://017700000001/', '127.0.0.1'],
  ['https://0300.0250.0.1/', '192.168.0.1'],
  ['https://①⑥⑨.②⑤④.①⑥⑨.②⑤④/', '169.254.169.254'],
  ['https://127。0。0。1/', '127.0.0.1'],
  ['https://[::1]:8443/', '::1'],
  ['https://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
  ['https://[::ffff:a9fe:a9fe]/', '::ffff:a9fe:a9fe'],
  ['https://[64:ff9b::a9fe:a9fe]/', '64:ff9b::a9fe:a9fe'],
  ['https://[fd00:ec2::254]/', 'fd00:ec2::254'],
  ['https://public.example@10.0.0.1/', '10.0.0.1'],
  ['https://public.example\\@10.0.0.1/', ''],
  ['https://public.example:443@10.0.0.1/', '10.0.0.1'],
  ['https://0/', '0.0.0.0'],
]

test.each(attacks)('%s reaches nothing as webhook, redirect or medium', (text, host) => {
  const url = new URL(text)
  if (host !== '') {
    expect(literalAddress(url)).toBe(host)
    expect(mayReach(url, host, [])).toBe(false)
    expect(resolveRedirect(new URL('https://public.example/'), text)).toBeNull()
  }
  const isPlain = new Set(['public.example', 'localhost']).has(readPlainHost(text) ?? '')
  expect(isPlain).toBe(false)
})

test.each(['https://127.0.0.1.example.com/', 'https://localhost./', 'https://localhost.example/'])(
  '%s names a host, which is checked when it is resolved',
  (url) => {
    expect(literalAddress(new URL(url))).toBeNull()
  },
)

/** A resolver that has one answer after the other. */
function answering(...answers: string[][]): NonNullable<Parameters<typeof createLookup>[1]> {
  return (_hostname, _options, callback) => {
    const addresses = answers.length > 1 ? answers.shift()! : answers[0]!
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
}

function ask(lookup: ReturnType<typeof createLookup>, hostname: string): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  lookup(hostname, {}, (error, address) => resolve(error ?? address))
  return promise
}

const isAllowed = (address: string) => mayReach(https, address, [])

test('a name with an address that may not be reached is refused before a connection', async () => {
  expect(await ask(createLookup(isAllowed), 'localhost')).toBeInstanceOf(UnreachableAddressError)
  const mixed = createLookup(isAllowed, answering(['93.184.215.14', '10.0.0.1']))
  expect(await ask(mixed, 'rebinding.example')).toBeInstanceOf(UnreachableAddressError)
})

test('a name that resolves elsewhere the second time is refused the second time', async () => {
  const lookup = createLookup(isAllowed, answering(['93.184.215.14'], ['169.254.169.254']))
  expect(await ask(lookup, 'rebinding.example')).toBe('93.184.215.14')
  expect(await ask(lookup, 'rebinding.example')).toBeInstanceOf(UnreachableAddressError)
})

test('a server with public addresses redirects to public addresses only, one inside to any', async () => {
  const resolve =
    (hub: string): NonNullable<Parameters<typeof createLookup>[1]> =>
    (hostname, options, callback) =>
      answering([hostname === 'hub.example' ? hub : '10.0.0.1'])(hostname, options, callback)
  const hub = new URL('https://hub.example')
  const outside = createRedirectLookup(hub, resolve('93.184.215.14'))
  expect(await ask(outside, 'hub.example')).toBe('93.184.215.14')
  expect(await ask(outside, 'files.example')).toBeInstanceOf(UnreachableAddressError)
  const inside = createRedirectLookup(hub, resolve('10.0.0.9'))
  expect(await ask(inside, 'files.example')).toBe('10.0.0.1')
})
