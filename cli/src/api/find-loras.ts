import { CommandError } from '../base/errors.ts'
import type { Client } from './client.ts'

/** The ids of LoRAs of a model, which are named by their model name or id. */
export async function findLoras(
  client: Client,
  { base, type }: { base: string; type: string },
  names: readonly string[],
): Promise<string[]> {
  const { items } = await client.call('GET', '/api/v1/deployable-models', { query: { model_type: type } })
  const known = items.filter(({ base_model: each }) => each === base)
  return names.map((name) => {
    const found = known.find(({ id, model_name: each }) => each === name || id === name)
    if (found !== undefined) return found.id
    const list = known.map(({ model_name: each }) => each).join(', ')
    throw new CommandError(
      `The catalog has no LoRA ${name} of ${base}. ${list === '' ? 'It has none at all.' : `It has ${list}.`}`,
    )
  })
}
