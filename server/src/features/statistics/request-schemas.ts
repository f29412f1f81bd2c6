import { z } from 'zod'
import { count, entityId, queryInteger, queryList, text, timestamp } from '../../http/schemas.ts'
import { deploymentQuery } from '../deployments/schemas.ts'
import type { RequestFilter, RequestPlace, RequestRow } from '../metering/list-requests.ts'

const status = z
  .string()
  .regex(/^[1-5](\d\d|xx)$/, 'Must be a status such as 429, or a class such as 4xx.')
  .meta({ examples: ['429', '5xx'] })

const cursor = z
  .string()
  .regex(/^\d{1,15}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'Is not a cursor of this list.')

export const requestsQuery = z.object({
  model: text({ min: 1, max: 200 }).optional().describe('Only requests to this model'),
  status: queryList(status)
    .optional()
    .describe('Only requests with one of these statuses; `4xx` stands for all from 400 to 499'),
  from: timestamp.optional().describe('Only requests that arrived at or after this time'),
  to: timestamp.optional().describe('Only requests that arrived before this time'),
  limit: queryInteger({ min: 1, max: 500 }).default(100).describe('Maximum number of items'),
  cursor: cursor.optional().describe('`next_cursor` of the page before'),
})

export const deploymentRequestsQuery = requestsQuery.extend(deploymentQuery.shape)

const fields = {
  id: z.string().describe('The `x-request-id` of the response'),
  at: timestamp.describe('When the request arrived'),
  deployment: z
    .object({
      id: z.string().describe('Its id'),
      name: z.string().describe('Its alias, or else its model'),
    })
    .nullable()
    .describe('null if the request reached none'),
  model: z.string().describe('The model or LoRA; the name in the request if it reached no deployment'),
  route: z.string().describe('Such as `/v1/chat/completions`'),
  status: z.int().describe('HTTP status of the response; 499 if the caller left before'),
  input_tokens: count.nullable().describe('null if no tokens were counted'),
  cached_tokens: count
    .nullable()
    .describe(
      'The part of the input that the engine had cached; null if the engine does not tell, or if the deployment is shared and others might have asked it',
    ),
  output_tokens: count.nullable().describe('null if no tokens were counted'),
  time_to_first_token_ms: count
    .nullable()
    .describe('From the arrival to the start of the engine’s response; null if it did not stream'),
  duration_ms: count.describe('From the arrival to the end of the engine’s response'),
  cost: z
    .string()
    .nullable()
    .describe('Of the tokens, at the prices of the hour; not rounded. Time of instances is not in it')
    .meta({ examples: ['0.000125'] }),
  client: z.string().nullable().describe('The caller’s `User-Agent`, up to 120 characters'),
  retry: count.describe('Earlier attempts, by the header `x-stainless-retry-count`'),
  caller_left: z.boolean().describe('The caller left before the engine’s response was complete'),
}

const requestItem = z
  .object(fields)
  .meta({ id: 'LoggedRequest', description: 'A request to a model, without its content' })

const deploymentRequestItem = z
  .object({
    ...fields,
    user: z
      .object({
        id: entityId.describe('Id of the user'),
        name: z.string().describe('Their name'),
        email: z.string().describe('Their email'),
      })
      .describe('The caller'),
  })
  .meta({ id: 'LoggedDeploymentRequest', description: 'A request to a deployment, without its content' })

const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item).describe('Newest first'),
    next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last one'),
    currency: z
      .string()
      .describe('Of `cost`')
      .meta({ examples: ['usd'] }),
  })

export const requestsBody = listOf(requestItem).meta({ id: 'LoggedRequests', description: 'Your requests' })
export const deploymentRequestsBody = listOf(deploymentRequestItem).meta({
  id: 'LoggedDeploymentRequests',
  description: 'Requests to a deployment',
})

export function toRequestFilter(
  { model, status: statuses = [], from, to, cursor: after }: z.output<typeof requestsQuery>,
  of: RequestFilter['of'],
): RequestFilter {
  return {
    of,
    model,
    statuses: statuses.map((each) => [Number(each.replace('xx', '00')), Number(each.replace('xx', '99'))]),
    from: from === undefined ? undefined : new Date(from),
    to: to === undefined ? undefined : new Date(to),
    after: after === undefined ? null : readCursor(after),
  }
}

function readCursor(text: string): RequestPlace {
  const [at, id] = text.split('_')
  return { at: new Date(Number(at)), id: id! }
}

export function toNextCursor(items: readonly RequestRow[], hasMore: boolean): string | null {
  const last = items.at(-1)
  return hasMore && last !== undefined ? `${last.at.getTime()}_${last.id}` : null
}

export function toRequestItem(row: RequestRow): z.infer<typeof requestItem> {
  const { deploymentId, deploymentName } = row
  return {
    id: row.id,
    at: row.at.toISOString(),
    deployment: deploymentId === null ? null : { id: deploymentId, name: deploymentName ?? '' },
    model: row.model,
    route: row.route,
    status: row.status,
    input_tokens: row.inputTokens,
    cached_tokens: row.cachedTokens,
    output_tokens: row.outputTokens,
    time_to_first_token_ms: row.firstTokenMilliseconds,
    duration_ms: row.durationMilliseconds,
    cost: row.cost,
    client: row.client,
    retry: row.retry,
    caller_left: row.callerLeft,
  }
}

export function toDeploymentRequestItem(row: RequestRow): z.infer<typeof deploymentRequestItem> {
  return { ...toRequestItem(row), user: { id: row.userId, name: row.userName, email: row.userEmail } }
}
