import { expect, test } from 'vitest'
import { createLookup, literalAddress, mayReach, UnreachableAddressError } from './webhook-addresses.ts'

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

test.each([
  ['https://127.1/', '127.0.0.1'],
  ['https://0x7f000001/', '127.0.0.1'],
  ['https://2130706433/', '127.0.0.1'],
  ['https://[::1]:8443/', '::1'],
  ['https://127.0.0.1.example.com/', null],
])('the address in %s is %s', (url, address) => {
  expect(literalAddress(new URL(url))).toBe(address)
})

test('a name with an address that may not be reached is refused before a connection', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>()
  createLookup((address) => mayReach(https, address, []))('localhost', { all: true }, resolve)
  expect(await promise).toBeInstanceOf(UnreachableAddressError)
})
