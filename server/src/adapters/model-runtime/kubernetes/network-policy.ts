import { isIP } from 'node:net'
import type {
  V1NetworkPolicyEgressRule,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1NetworkPolicySpec,
} from '@kubernetes/client-node'
import type { EngineSpec } from '../../../ports/model-runtime.ts'
import { enginePort, labels, podLabels } from './names.ts'
import type { KubernetesRuntimeSettings } from './settings.ts'

type Settings = Pick<KubernetesRuntimeSettings, 'huggingFace' | 'proxy' | 'privateNetworks' | 'server'>

/** Networks without public servers: private, link-local (clouds' metadata), shared, reserved (RFC 6890) */
const privateV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
]
const privateV6 = ['::1/128', 'fc00::/7', 'fe80::/10']

/**
 * Allows traffic from Berth's pods, and to DNS, public servers, listed private networks, a hub or proxy with
 * an IP address, and its own pods. An engine with an uploaded file reaches this server instead of others.
 */
export function buildPolicySpec(spec: EngineSpec, nodes: number, settings: Settings): V1NetworkPolicySpec {
  const own = { podSelector: { matchLabels: podLabels(spec) } }
  return {
    ...own,
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        _from: [berthPods],
        ports: [{ port: enginePort, protocol: 'TCP' }],
      },
      ...(nodes > 1 ? [{ _from: [own] }] : []),
    ],
    egress: [
      {
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      spec.variant.weights.kind === 'upload' && settings.server !== null
        ? allowServer(settings.server, settings)
        : allowDownloads(settings),
      ...(nodes > 1 ? [{ to: [own] }] : []),
    ],
  }
}

function allowDownloads({ huggingFace, proxy, privateNetworks }: Settings): V1NetworkPolicyEgressRule {
  const urls = [huggingFace.endpoint, proxy.http, proxy.https].flatMap((address) =>
    address === null ? [] : [new URL(address)],
  )
  const ports = [...new Set([443, ...urls.map(portOf)])]
  const networks = [...new Set([...privateNetworks, ...urls.flatMap(toNetwork)])]
  return { to: [...publicServers, ...networks.map(toPeer)], ports: ports.map(toPort) }
}

/** A policy holds for the addresses of pods, not for that of their Service. */
function allowServer(
  { url, port }: NonNullable<Settings['server']>,
  { privateNetworks }: Settings,
): V1NetworkPolicyEgressRule {
  const address = new URL(url)
  if (/^[^.:]+$|\.svc(\.|$)/.test(address.hostname)) return { to: [berthPods], ports: [toPort(port)] }
  const own = toNetwork(address).map(toPeer)
  const to = own.length > 0 ? own : [...publicServers, ...privateNetworks.map(toPeer)]
  return { to, ports: [toPort(portOf(address))] }
}

const berthPods: V1NetworkPolicyPeer = { podSelector: { matchLabels: { [labels.name]: 'berth' } } }

const publicServers: V1NetworkPolicyPeer[] = [
  { ipBlock: { cidr: '0.0.0.0/0', except: privateV4 } },
  { ipBlock: { cidr: '::/0', except: privateV6 } },
]

function toPeer(cidr: string): V1NetworkPolicyPeer {
  return { ipBlock: { cidr } }
}

function toPort(port: number): V1NetworkPolicyPort {
  return { port, protocol: 'TCP' }
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
}

/** The network of a URL's address; nothing for a name. */
function toNetwork({ hostname }: URL): string[] {
  const host = hostname.replace(/^\[|\]$/g, '')
  const version = isIP(host)
  return version === 0 ? [] : [`${host}/${version === 4 ? 32 : 128}`]
}
