import { BlockList } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import { buildPolicySpec } from './network-policy.ts'

type Settings = Parameters<typeof buildPolicySpec>[2]

const settings: Settings = {
  huggingFace: { endpoint: 'https://huggingface.co', token: null },
  proxy: { http: null, https: null, exceptions: null },
  privateNetworks: [],
  server: { url: 'http://berth.berth.svc', port: 8080 },
}
const spec = {
  engineId: '01a1f829-f5d2-744f-b788-baaa79e8fa26',
  variant: { weights: { kind: 'url', url: 'https://example.com/m.gguf' } },
} as EngineSpec

/** True if the policy lets an engine open a connection. */
function isReachable(address: string, port: number, changes: Partial<Settings> = {}): boolean {
  const family = address.includes(':') ? 'ipv6' : 'ipv4'
  const contains = (cidrs: readonly string[]) => {
    const list = new BlockList()
    // A list would match IPv4 addresses with networks of IPv6, too.
    for (const cidr of cidrs.filter((each) => each.includes(':') === (family === 'ipv6'))) {
      const [network = '', prefix] = cidr.split('/')
      list.addSubnet(network, Number(prefix), family)
    }
    return list.check(address, family)
  }
  const { egress = [] } = buildPolicySpec(spec, 1, { ...settings, ...changes })
  return egress.some(({ to, ports }) => {
    const blocks = to?.flatMap(({ ipBlock }) => ipBlock ?? [])
    const isPort = ports?.some((each) => each.port === port && each.protocol === 'TCP')
    return isPort && (blocks?.some(({ cidr, except = [] }) => contains([cidr]) && !contains(except)) ?? true)
  })
}

test.each(['8.8.8.8', '172.15.0.1', '192.167.1.1', '2606:4700::1111'])(
  '%s is reachable by https',
  (address) => {
    expect(isReachable(address, 443)).toBe(true)
    expect(isReachable(address, 80)).toBe(false)
  },
)

test.each([
  '169.254.169.254',
  '127.0.0.1',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.1',
  '100.100.100.200',
  '::1',
  'fd00:ec2::254',
  'fe80::1',
])('the private address %s is not', (address) => {
  expect(isReachable(address, 443)).toBe(false)
})

test('a network of the operator, and a hub or proxy with an IP address', () => {
  const privateNetworks = ['10.20.0.0/16', 'fd12::/48']
  expect(isReachable('10.20.1.1', 443, { privateNetworks })).toBe(true)
  expect(isReachable('fd12::1', 443, { privateNetworks })).toBe(true)
  expect(isReachable('10.21.1.1', 443, { privateNetworks })).toBe(false)
  const huggingFace = { endpoint: 'http://10.0.0.9:8080', token: null }
  expect(isReachable('10.0.0.9', 8080, { huggingFace })).toBe(true)
  expect(isReachable('10.0.0.8', 8080, { huggingFace })).toBe(false)
  const proxy = { http: null, https: 'http://[fd12::3]:3128', exceptions: null }
  expect(isReachable('fd12::3', 3128, { proxy })).toBe(true)
  expect(isReachable('fd12::4', 3128, { proxy })).toBe(false)
})

describe('an engine that loads an uploaded file', () => {
  const upload = {
    ...spec,
    variant: { weights: { kind: 'upload', sha256: 'a', fileName: 'm.gguf' } },
  } as EngineSpec
  const listEgress = (url: string, changes: Partial<Settings> = {}) =>
    buildPolicySpec(upload, 1, { ...settings, server: { url, port: 8080 }, ...changes }).egress?.slice(1)

  test.each(['http://berth', 'http://berth.berth.svc', 'https://berth.berth.svc.cluster.local:8443'])(
    'reaches only DNS and the pods of the server at %s',
    (url) => {
      const to = [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'berth' } } }]
      expect(listEgress(url)).toEqual([{ to, ports: [{ port: 8080, protocol: 'TCP' }] }])
    },
  )

  test('reaches only the address of a server outside of the cluster', () => {
    const to = [{ ipBlock: { cidr: '10.0.0.9/32' } }]
    expect(listEgress('http://10.0.0.9:9000')).toEqual([{ to, ports: [{ port: 9000, protocol: 'TCP' }] }])
  })

  test('reaches public servers and the operator’s networks at the port of a name', () => {
    const [rule] = listEgress('https://berth.example.com', { privateNetworks: ['10.20.0.0/16'] })!
    expect(rule!.ports).toEqual([{ port: 443, protocol: 'TCP' }])
    expect(rule!.to).toContainEqual({ ipBlock: { cidr: '10.20.0.0/16' } })
    expect(rule!.to).toContainEqual({ ipBlock: expect.objectContaining({ cidr: '0.0.0.0/0' }) })
  })
})

test('names are resolved anywhere, and several pods of one engine reach each other', () => {
  expect(isReachable('10.96.0.10', 53)).toBe(true)
  const own = {
    podSelector: { matchLabels: expect.objectContaining({ 'berth.dev/instance-id': spec.engineId }) },
  }
  expect(buildPolicySpec(spec, 2, settings).egress).toContainEqual({ to: [own] })
  expect(buildPolicySpec(spec, 1, settings).egress).not.toContainEqual({ to: [own] })
})
