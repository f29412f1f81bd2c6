import { expect, test } from 'vitest'
import { networkOf } from './network.ts'

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
