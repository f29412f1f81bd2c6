import { expect, test } from 'vitest'
import { chooseAddress } from './choose-address.ts'

const ipv4 = (address: string) => [{ address, family: 'IPv4' as const }]
const lo = ipv4('127.0.0.1')

test.each([
  [{ lo, eth0: ipv4('10.0.0.5'), docker0: ipv4('172.17.0.1') }, { address: '10.0.0.5' }],
  [{ lo, tailscale0: ipv4('100.101.2.3') }, { address: '100.101.2.3' }],
  [
    { lo, eth0: ipv4('10.0.0.5'), eth1: ipv4('192.168.1.5') },
    { refusal: expect.stringMatching(/several addresses: 10\.0\.0\.5, 192\.168\.1\.5\..*--address/) },
  ],
  [
    { lo, eth0: ipv4('203.0.114.7') },
    { refusal: expect.stringMatching(/no private IPv4 address\. Its addresses: 203\.0\.114\.7\./) },
  ],
  [{ lo }, { refusal: expect.stringContaining('Its addresses: none.') }],
])('without a wish, the only private address of a network: %j', (interfaces, chosen) => {
  expect(chooseAddress(null, interfaces)).toEqual(chosen)
})

test('a given address must be one of this machine', () => {
  const interfaces = { lo, eth0: ipv4('203.0.114.7') }
  expect(chooseAddress('203.0.114.7', interfaces)).toEqual({ address: '203.0.114.7' })
  expect(chooseAddress('127.0.0.2', interfaces)).toEqual({ address: '127.0.0.2' })
  for (const given of ['10.0.0.9', '::1', 'host', '']) {
    expect(chooseAddress(given, interfaces)).toMatchObject({
      refusal: expect.stringContaining('is no IPv4 address'),
    })
  }
})
