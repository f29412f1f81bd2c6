import { expect, test } from 'vitest'
import { isInNetworks, networkOf, normalizeNetwork, parseNetworks } from './network.ts'

test('the network of an address: an IPv4 address, or 64 bits of an IPv6 address', () => {
  const networks = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:0DB8:0001:0002::9': '2001:db8:1:2::/64',
    '2001:db8::9': '2001:db8:0:0::/64',
    '2001:db8:1:2::': '2001:db8:1:2::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::1': '0:0:0:0::/64',
    // Azure's gateway and others add the port of the connection.
    '192.0.2.1:49152': '192.0.2.1',
    '[2001:db8:1:2::9]:443': '2001:db8:1:2::/64',
    '[2001:db8:1:2::9]': '2001:db8:1:2::/64',
    '': 'unknown',
    unknown: 'unknown',
    '_hidden-17': 'unknown',
    '192.0.2.1:port': 'unknown',
    '192.0.2.256': 'unknown',
    '3221225985': 'unknown',
  }
  for (const [address, network] of Object.entries(networks)) expect(networkOf(address)).toBe(network)
})

test('a network is written with its first address, and an address alone is one', () => {
  const normalized = {
    '10.0.0.0/8': '10.0.0.0/8',
    '10.1.2.3/8': '10.0.0.0/8',
    '192.0.2.7': '192.0.2.7/32',
    '0.0.0.0/0': '0.0.0.0/0',
    '2001:DB8:0::1/32': '2001:db8::/32',
    '2001:db8::9': '2001:db8::9/128',
    '::/0': '::/0',
    // What no caller can have, or no one means
    '::ffff:10.0.0.0/104': null,
    'fe80::1%eth0/64': null,
    '10.0.0.0/33': null,
    '10.0.0.0/-1': null,
    '10.0.0.0/8/8': null,
    '10.0.0/8': null,
    '010.0.0.0/8': null,
    '167772160/8': null,
    '0x0a000000/8': null,
    '2001:db8::/129': null,
    'example.com/8': null,
    '10.0.0.0/': null,
    '/8': null,
    '': null,
  }
  for (const [text, network] of Object.entries(normalized))
    expect([text, normalizeNetwork(text)]).toEqual([text, network])
})

test('an address is in a network of the same family, also as an IPv4-mapped one', () => {
  const networks = parseNetworks(['10.0.0.0/8', '192.0.2.7/32', '2001:db8::/32'])
  const inside = ['10.255.0.1', '::ffff:10.0.0.1', '192.0.2.7', '2001:db8:ffff::1', '10.0.0.1:443']
  const outside = ['11.0.0.1', '192.0.2.8', '2001:db9::1', 'unknown', '', null]
  for (const address of inside) expect([address, isInNetworks(address, networks)]).toEqual([address, true])
  for (const address of outside) expect([address, isInNetworks(address, networks)]).toEqual([address, false])
  expect(isInNetworks('203.0.113.1', parseNetworks(['::/0']))).toBe(false)
  expect(isInNetworks('203.0.113.1', parseNetworks(['0.0.0.0/0']))).toBe(true)
})
