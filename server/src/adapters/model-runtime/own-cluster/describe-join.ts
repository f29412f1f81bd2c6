import type { JoinInstructions } from '../../../ports/own-cluster.ts'
import type { ClusterRecord } from './cluster-record.ts'

/** The ports of a cluster on the supervisor's host. */
export function portsOf({ port }: Pick<ClusterRecord, 'port'>): {
  api: number
  supervisor: number
  worker: number
} {
  return { api: port, supervisor: port + 1, worker: port + 2 }
}

/** The address of a cluster's API. */
export function originOf({ address, port }: Pick<ClusterRecord, 'address' | 'port'>): string {
  return `http://${address}:${port}`
}

/** How another machine joins a cluster. */
export function describeJoin(record: ClusterRecord): JoinInstructions {
  const join = (extras: string) =>
    `pipx run --spec 'xinference[${extras}]==${record.version}' xinference-worker -e ${originOf(record)} -H <address>`
  const { api, supervisor, worker } = portsOf(record)
  return {
    commands: [
      { machines: 'with GPUs', command: join('vllm,llama-cpp') },
      { machines: 'without GPUs', command: join('llama-cpp') },
    ],
    notes: [
      `Let the machines reach each other's TCP ports: here ${api} to ${worker}, and those above 1023 that models get.`,
      `Close them to everyone else: the key protects port ${api} only, and who reaches ${supervisor}, ${worker} or a model's port can run programs on your machines.`,
      'The machines talk plain http. On a network that you do not trust, connect them with WireGuard or Tailscale, and start the cluster with --address and the address there.',
    ],
  }
}
