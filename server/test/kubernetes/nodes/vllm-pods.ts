import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeTestBed } from './support.ts'
import { startWeightServer } from './weight-server.ts'
import type { WeightServer } from './weight-server.ts'

/** An image on at least one node with `vllm` for the CPU; empty without one */
export const vllmImage = process.env['TEST_VLLM_IMAGE'] ?? ''
/** The folder of the bundled model as a Hugging Face repository */
const model = process.env['TEST_VLLM_MODEL'] ?? ''
/** vLLM needs minutes to start on a busy machine. */
export const vllmPatience = { timeout: 840_000, interval: 500 }

/** Where vLLM can run: a Hub with the bundled model as `berth/tiny`, and a node that has the image. */
export async function openVllm({ weights, cluster }: NodeTestBed): Promise<{
  hub: WeightServer
  nodeSelector: Record<string, string>
}> {
  const files = Object.fromEntries(readdirSync(model).map((name) => [name, join(model, name)]))
  const hub = await startWeightServer(new URL(weights.url).hostname, files)
  const { items } = await cluster.admin.core.listNode()
  const node = items.find(({ status }) => status?.images?.some(({ names }) => names?.includes(vllmImage)))
  const hostname = node?.metadata?.labels?.['kubernetes.io/hostname'] ?? ''
  return { hub, nodeSelector: { 'kubernetes.io/hostname': hostname } }
}
