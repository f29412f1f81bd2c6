import type { Endpoint, EndpointCheck } from '../../../console/src/contract.ts'
import type { Client } from '../api/client.ts'
import { connectClient } from '../api/connect.ts'
import type { Context } from '../base/context.ts'
import { CommandError } from '../base/errors.ts'
import { readSecret } from '../base/prompt.ts'

const path = '/api/v1/endpoints'
const onePath = '/api/v1/endpoints/{endpoint_id}'

interface AddOptions {
  keyStdin?: boolean
  header?: string
  model?: string[]
  inputPrice?: string
  outputPrice?: string
}

/** Lists the endpoints of the organization. */
export async function listEndpoints({ env, output }: Context): Promise<void> {
  const client = await connectClient(env)
  const { items } = await client.call('GET', path)
  output.result(items, () => {
    output.table(
      ['NAME', 'STATUS', 'MODELS', 'ADDRESS'],
      items.map(({ name, status, models, base_url: address }) => [
        name,
        status,
        String(models.length),
        address ?? '',
      ]),
      'No endpoints. `berth endpoints add` adds one.',
    )
  })
}

/** Adds an endpoint, and says what the check found. */
export async function addEndpoint(
  { env, output }: Context,
  name: string,
  address: string,
  { keyStdin, header, model, inputPrice, outputPrice }: AddOptions,
): Promise<void> {
  if ((inputPrice === undefined) !== (outputPrice === undefined)) {
    throw new CommandError('Name both --input-price and --output-price, or neither.')
  }
  const client = await connectClient(env)
  const endpoint = await client.call('POST', path, {
    body: {
      name,
      base_url: address,
      key: keyStdin ? await readSecret() : null,
      header: header ?? null,
      models: model?.map((each) => ({ name: each })) ?? null,
      prices:
        inputPrice === undefined || outputPrice === undefined
          ? null
          : { input: inputPrice, output: outputPrice },
    },
  })
  output.result(endpoint, () => output.note(`Added ${endpoint.name}. ${describe(endpoint)}`))
}

/** Asks an endpoint for its models and one token. */
export async function checkEndpoint({ env, output }: Context, name: string): Promise<void> {
  const client = await connectClient(env)
  const { id } = await findEndpoint(client, name)
  const check = await client.call('POST', `${onePath}/check`, { path: { endpoint_id: id } })
  output.result(check, () => output.note([describe(check.endpoint), ...describeAnswer(check)].join(' ')))
}

/** Deletes an endpoint with its key. */
export async function removeEndpoint({ env, output }: Context, name: string): Promise<void> {
  const client = await connectClient(env)
  const endpoint = await findEndpoint(client, name)
  await client.call('DELETE', onePath, { path: { endpoint_id: endpoint.id } })
  output.result(endpoint, () => output.note(`Deleted ${endpoint.name}.`))
}

function describe({ status, status_message: message, models }: Endpoint): string {
  return status === 'ready'
    ? `It answers, and has ${models.length === 1 ? '1 model' : `${models.length} models`}.`
    : `It is ${status}: ${message ?? ''}`
}

function describeAnswer({ answer }: EndpointCheck): string[] {
  return answer === null
    ? []
    : [`${answer.model ?? answer.asked} took ${answer.milliseconds} ms for one token.`]
}

/** An endpoint by its name, ignoring case. */
async function findEndpoint(client: Client, name: string): Promise<Endpoint> {
  const { items } = await client.call('GET', path)
  const endpoint = items.find((each) => each.name.toLowerCase() === name.toLowerCase())
  if (endpoint) return endpoint
  throw new CommandError(
    `Your organization has no endpoint called ${name}. \`berth endpoints ls\` lists them.`,
  )
}
