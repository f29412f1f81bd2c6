import { z } from 'zod'

/** Response schema of a successful request without a body. */
export const noContent = z.null().describe('Done')

/** The events of a stream: each is named `event`, if the stream names its events, and has `data` as JSON. */
interface Events {
  event?: string
  data: z.ZodType
  /** Further content of the stream */
  note: string
}

/** Response schema of a route that responds with JSON or with server-sent events, for OpenAPI. */
export function jsonOrEvents<Body extends z.ZodType>(body: Body, { event, data, note }: Events): Body {
  const id = z.globalRegistry.get(data)?.id
  const name = event === undefined ? 'each event' : `each \`event: ${event}\``
  const properties = {
    ...(event !== undefined && { event: { enum: [event] } }),
    data: { $ref: `#/components/schemas/${id}` },
  }
  const stream = z.string().meta({
    description: `Server-sent events: ${name} has a ${id} as JSON in \`data\`. ${note}`,
    contentMediaType: 'text/event-stream',
    contentSchema: { type: 'array', items: { type: 'object', properties } },
  })
  return jsonOr(body, 'text/event-stream', stream)
}

/** Response schema of a route that responds with JSON or with a CSV file, for OpenAPI. */
export function jsonOrCsv<Body extends z.ZodType>(body: Body): Body {
  return jsonOr(body, 'text/csv', z.string().describe('A header line and one line for each item'))
}

function jsonOr<Body extends z.ZodType>(body: Body, mediaType: string, other: z.ZodType): Body {
  return {
    description: body.description,
    content: { 'application/json': { schema: body }, [mediaType]: { schema: other } },
  } as unknown as Body
}
