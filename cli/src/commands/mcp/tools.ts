import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import type { Client } from '../../api/client.ts'
import { findDeployment, listDeployments, toInput } from '../../api/find-deployment.ts'
import { listCatalog } from '../../api/list-catalog.ts'
import { toDeploymentRequest } from '../variant.ts'
import {
  explainDeployment,
  summarizeDeployment,
  summarizeInvoices,
  summarizeModels,
  summarizePlan,
  summarizeUsage,
} from './summaries.ts'

const model = z.string().describe('Name of a model of the catalog, such as qwen2.5-instruct')
const deployment = z
  .string()
  .describe('Id of a deployment, its unique beginning, its alias, or the model name that only one has')
const variant = {
  model,
  format: z.string().optional().describe('Format of the weights'),
  size: z.string().optional().describe('Parameters in billions, such as 7'),
  quantization: z.string().optional().describe('Quantization of the weights'),
  minContext: z.int().positive().optional().describe('The longest request that it must serve, in tokens'),
}
const noInput = z.object({})
/** Log lines that explain a failure */
const logLines = 40

/** Adds the tools that change nothing. */
export function addReadingTools(server: McpServer, client: Client): void {
  const add = <Schema extends z.ZodObject>(
    name: string,
    description: string,
    inputSchema: Schema,
    read: (input: z.infer<Schema>) => Promise<unknown>,
  ) => {
    const facts = {
      description,
      inputSchema: inputSchema as z.ZodObject,
      annotations: { readOnlyHint: true },
    }
    server.registerTool(name, facts, async (input) => toResult(await read(input as z.infer<Schema>)))
  }
  add(
    'list_models',
    'List the models that can be deployed. A search that few models match also lists their variants.',
    z.object({ search: z.string().optional().describe('Words in the name, family, description or tags') }),
    async ({ search }) => summarizeModels(await listCatalog(client, { search })),
  )
  add(
    'plan_deployment',
    'Show the instance that a deployment would get, and its price',
    z.object(variant),
    async (input) => {
      const body = toDeploymentRequest(input.model, input)
      return summarizePlan(await client.call('POST', '/api/v1/model-deployments/plan', { body }))
    },
  )
  add('list_deployments', 'List the deployments that have not ended', noInput, async () =>
    (await listDeployments(client, { scope: 'own', active: true })).map(summarizeDeployment),
  )
  add(
    'explain_deployment',
    'Show the state of a deployment, what happened to it, and the end of its log: why it waits or failed',
    z.object({ deployment }),
    (input) => explain(client, input.deployment),
  )
  add('show_usage', 'Show the usage of the organization in the billing period', noInput, async () =>
    summarizeUsage(await client.call('GET', '/v1/billing/usage-summary')),
  )
  add('show_bill', 'Show the billing account and the invoices, for admins', noInput, async () => ({
    account: await client.call('GET', '/v1/billing/account'),
    invoices: summarizeInvoices(await client.call('GET', '/v1/billing/invoices')),
  }))
}

/** Adds the tools that cost money, or save it. */
export function addChangingTools(server: McpServer, client: Client): void {
  server.registerTool(
    'deploy_model',
    {
      description:
        'Deploy a model. It costs its price per hour until it sleeps or a person terminates it. plan_deployment shows the price.',
      inputSchema: z.object(variant),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
    },
    async (input) => {
      const body = toDeploymentRequest(input.model, input)
      const deployment = await client.call('POST', '/api/v1/model-deployments', { body })
      return toResult(summarizeDeployment(deployment))
    },
  )
  const addSwitch = (act: 'sleep' | 'wake', description: string) =>
    server.registerTool(
      `${act}_deployment`,
      {
        description,
        inputSchema: z.object({ deployment }),
        annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
      },
      async (input) => {
        const { id } = await findDeployment(client, input.deployment)
        const path = `/api/v1/model-deployments/{deployment_id}/${act}` as const
        return toResult(summarizeDeployment(await client.call('POST', path, toInput(id))))
      },
    )
  addSwitch('sleep', 'Put a deployment to sleep. It costs nothing then, and the next request wakes it.')
  addSwitch('wake', 'Wake a sleeping deployment. It costs its price per hour while it is awake.')
}

async function explain(client: Client, wanted: string) {
  const found = await findDeployment(client, wanted)
  const reference = toInput(found.id)
  const events = await client.call('GET', '/api/v1/model-deployments/{deployment_id}/events', reference)
  const log = await client
    .call('GET', '/api/v1/model-deployments/{deployment_id}/logs', {
      ...reference,
      query: { ...reference.query, tail: logLines },
    })
    // Not everybody who sees a deployment may read its log.
    .catch(() => ({ items: [] }))
  return explainDeployment(
    found,
    events.items,
    log.items.map(({ line }) => line),
  )
}

function toResult(value: unknown) {
  return { content: [{ type: 'text' as const, text: JSON.stringify(value) }] }
}
