import type { Model } from '../../../../console/src/contract.ts'
import type { Client } from '../../api/client.ts'
import { CommandError } from '../../base/errors.ts'

/** The model that a program gets: the one with a name or a deployment's id, or the first that chats. */
export async function chooseModel(client: Client, name: string | undefined): Promise<Model> {
  const { data } = await client.call('GET', '/v1/models')
  if (name === undefined) {
    const first = data.find(({ type }) => type === 'chat')
    if (first) return first
    throw new CommandError('No model that chats is running. Run `berth deploy MODEL --wait` first.')
  }
  const named = data.find(({ id, deployments }) => id === name || deployments.includes(name))
  if (named) return { ...named, id: name }
  const names = data.map(({ id }) => id).join(', ')
  throw new CommandError(`${name} is not running. Running models: ${names === '' ? 'none' : names}.`)
}
