import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Engine } from '../engine.ts'
import type { Addresses, PageSecrets } from '../secrets.ts'
import { findObject } from '../store.ts'
import type { ObjectType, ObjectTypes } from '../store.ts'
import { html, sendPage } from './html.ts'
import type { Html } from './html.ts'

export interface PageContext {
  engine: Engine
  secrets: PageSecrets
  addresses: Addresses
  /** The origin that the console has */
  publicOrigin: string
}

/** Something that a person is told on a page of its own. */
export class PageError extends Error {
  readonly status: number
  readonly title: string
  constructor(status: number, title: string, message: string) {
    super(message)
    this.status = status
    this.title = title
  }
}

/** The object whose secret stands in the address. */
export async function findBySecret<T extends ObjectType>(
  { engine, secrets }: PageContext,
  type: T,
  request: FastifyRequest,
): Promise<ObjectTypes[T]> {
  const { secret = '' } = request.params as { secret?: string }
  const id = secrets.read(secret)
  const object = id === null ? null : await findObject(engine.db, type, id)
  if (object === null) {
    throw new PageError(404, 'There is nothing here', 'This address is not right, or what it led to is gone.')
  }
  return object
}

/** The address of this request without its query, for the forms of its page. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? ''
}

export function formOf(request: FastifyRequest): Record<string, string> {
  return (request.body ?? {}) as Record<string, string>
}

export function show(
  { publicOrigin }: PageContext,
  reply: FastifyReply,
  title: string,
  body: Html,
  status = 200,
): FastifyReply {
  return sendPage(reply, publicOrigin, status, title, body)
}

export function showError(context: PageContext, reply: FastifyReply, error: unknown): FastifyReply {
  if (error instanceof PageError) {
    return show(
      context,
      reply,
      error.title,
      html`<section>
        <h1>${error.title}</h1>
        <p>${error.message}</p>
      </section>`,
      error.status,
    )
  }
  const { statusCode = 500, message } = error as { statusCode?: number; message: string }
  const isOurs = statusCode >= 500
  if (isOurs) reply.request.log.error({ err: error }, 'a page of the payment sandbox failed')
  const told = isOurs ? 'Something went wrong on our side.' : message
  return show(
    context,
    reply,
    'This did not work',
    html`<section>
      <h1>This did not work</h1>
      <p>${told}</p>
    </section>`,
    statusCode,
  )
}
