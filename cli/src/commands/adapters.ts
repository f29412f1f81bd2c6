import type { Deployment } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import { findDeployment, toInput } from '../api/find-deployment.ts'
import { findLoras } from '../api/find-loras.ts'
import type { Context } from '../base/context.ts'
import { formatBytes } from '../base/format.ts'

/** Lists the LoRAs of a deployment, or replaces them with those that are named. */
export async function adapters(
  { env, output }: Context,
  wanted: string,
  names: readonly string[],
): Promise<void> {
  const client = await connectClient(env)
  const found = await findDeployment(client, wanted)
  const deployment = names.length === 0 ? found : await setLoras(client, found, names)
  output.result(deployment.adapters, () => {
    const none = `${deployment.model_name} serves no LoRAs. \`berth import\` and \`berth upload\` add some.`
    output.table(['LORA', 'RANK', 'SIZE', 'STATE'], deployment.adapters.map(describe), none)
  })
}

type Lora = Deployment['adapters'][number]

function describe({ model_name: name, rank, weight_bytes: bytes, ready }: Lora): string[] {
  return [name, String(rank), formatBytes(bytes), ready ? 'ready' : 'starting']
}

async function setLoras(
  client: Client,
  { id, model_name: base, model_type: type }: Deployment,
  names: readonly string[],
): Promise<Deployment> {
  const isNone = names.length === 1 && names[0] === 'none'
  const ids = isNone ? [] : await findLoras(client, { base, type }, names)
  return client.call('PATCH', '/api/v1/model-deployments/{deployment_id}', {
    ...toInput(id),
    body: { adapters: ids },
  })
}
